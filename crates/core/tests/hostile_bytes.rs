//! Any bytes in: a result, or an error with a position. Never a panic, never a wrong record.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that fails may panic, its helpers too"
)]

use std::io::Cursor;

use proptest::prelude::*;
use tfrecs_core::example::encode::FeatureValues;
use tfrecs_core::example::{DType, ExampleEncoder, FeatureSpec, Layout, decode, encode_columns};
use tfrecs_core::record::codec::zlib::{Deflater, Flush};
use tfrecs_core::record::format::frame;
use tfrecs_core::record::{Compression, DeflateOptions, ReadOptions, RecordReader};
use tfrecs_core::{Category, Error};

const CODECS: [Compression; 3] = [Compression::None, Compression::Gzip, Compression::Zlib];

fn file_of(codec: Compression, records: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = Vec::new();
    for record in records {
        stream.extend(frame::header(record.len() as u64));
        stream.extend(record);
        stream.extend(frame::footer(record));
    }
    if codec == Compression::None {
        return stream;
    }
    let mut out = Vec::new();
    let mut deflater = Deflater::new(codec, &DeflateOptions::default()).unwrap();
    deflater.compress(&stream, &mut out, Flush::Finish).unwrap();
    out
}

fn read(file: &[u8], options: ReadOptions) -> (Vec<Vec<u8>>, Option<Error>) {
    let mut records = Vec::new();
    let mut reader = match RecordReader::new(Box::new(Cursor::new(file.to_vec())), options) {
        Ok(reader) => reader,
        Err(kind) => return (records, Some(kind)),
    };
    loop {
        match reader.next_record() {
            Ok(Some(record)) => records.push(record.to_vec()),
            Ok(None) => return (records, None),
            Err(error) => return (records, Some(error)),
        }
    }
}

/// Changes to a file: at each place (as a part of its length) what to do with how many bytes.
fn damage(file: &mut Vec<u8>, changes: &[(f64, u8, Vec<u8>)]) {
    for (place, what, bytes) in changes {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )]
        let at = (place * file.len() as f64) as usize;
        let end = (at + bytes.len()).min(file.len());
        match what % 4 {
            0 => file.truncate(at),
            1 => drop(file.splice(at..at, bytes.iter().copied())),
            2 => drop(file.drain(at..end)),
            _ => drop(file.splice(at..end, bytes.iter().copied())),
        }
    }
}

fn records() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6)
}

fn changes() -> impl Strategy<Value = Vec<(f64, u8, Vec<u8>)>> {
    prop::collection::vec(
        (
            0.0..1.0,
            any::<u8>(),
            prop::collection::vec(any::<u8>(), 1..9),
        ),
        1..4,
    )
}

/// Records in the original order, perhaps with some left out.
fn is_subsequence(found: &[Vec<u8>], of: &[Vec<u8>]) -> bool {
    let mut rest = of.iter();
    found.iter().all(|record| rest.any(|other| other == record))
}

fn specs() -> [FeatureSpec; 3] {
    let fixed = |size| Layout::Fixed {
        shape: vec![size],
        default: None,
    };
    [
        (DType::Int64, fixed(2)),
        (DType::Bytes, Layout::Ragged { shape: vec![] }),
        (DType::Float32, Layout::Ragged { shape: vec![] }),
    ]
    .map(|(dtype, layout)| FeatureSpec {
        name: "a".to_owned(),
        dtype,
        layout,
    })
}

fn check_decoding(record: &[u8]) {
    let specs = specs();
    for spec in [
        None,
        Some(&specs[..1]),
        Some(&specs[1..2]),
        Some(&specs[2..]),
    ] {
        match decode([record, record].into_iter(), spec) {
            Ok(batch) => assert_eq!(batch.num_rows(), 2),
            Err(error) => {
                assert_eq!(error.index, Some(0), "{}", error.error);
                assert_eq!(error.error.category(), Category::Parse);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for compression in [None, Some(CODECS[0]), Some(CODECS[1]), Some(CODECS[2])] {
            let (found, error) = read(&bytes, ReadOptions { compression, ..ReadOptions::default() });
            prop_assert!(found.is_empty(), "a record with two right checksums by chance?");
            prop_assert_eq!(error.is_none(), bytes.is_empty());
        }
    }

    #[test]
    fn damaged_files_give_no_record_that_was_never_written(
        records in records(), changes in changes(), codec in prop::sample::select(&CODECS[..]),
    ) {
        let mut file = file_of(codec, &records);
        damage(&mut file, &changes);
        let (found, error) = read(&file, ReadOptions::default());
        // Cutting out or doubling just a whole record is possible, if unlikely; making one is not.
        prop_assert!(found.iter().all(|record| records.contains(record)));
        if let Some(error) = error {
            prop_assert!(matches!(
                error.category(), Category::Corrupt | Category::Truncated | Category::NotTfRecord
            ), "{}", error);
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn a_cut_file_gives_the_first_records(
        records in records(), part in 0.0..1.0, codec in prop::sample::select(&CODECS[..]),
    ) {
        let mut file = file_of(codec, &records);
        damage(&mut file, &[(part, 0, Vec::new())]);
        let (found, _) = read(&file, ReadOptions::default());
        prop_assert!(is_subsequence(&found, &records));
        prop_assert_eq!(&found[..], &records[..found.len()]);
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        check_decoding(&bytes);
    }

    #[test]
    fn damaged_examples_are_decoded_or_refused(
        ints in prop::collection::vec(any::<i64>(), 0..4),
        floats in prop::collection::vec(any::<f32>(), 0..4),
        text in ".{0,8}",
        changes in changes(),
    ) {
        let mut encoder = ExampleEncoder::default();
        encoder.feature(b"a", FeatureValues::Int64(&ints));
        encoder.feature(text.as_bytes(), FeatureValues::Float32(&floats));
        encoder.feature(b"b", FeatureValues::Bytes(&[text.as_bytes()]));
        let mut record = encoder.finish();
        damage(&mut record, &changes);
        check_decoding(&record);
    }

    #[test]
    fn what_was_encoded_is_encoded_again(
        rows in prop::collection::vec((prop::collection::vec(any::<i64>(), 1..4), ".{0,8}"), 0..5),
    ) {
        let records: Vec<Vec<u8>> = rows.iter().map(|(ints, text)| {
            let mut encoder = ExampleEncoder::default();
            encoder.feature(b"ints", FeatureValues::Int64(ints));
            encoder.feature(b"text", FeatureValues::Bytes(&[text.as_bytes()]));
            encoder.finish()
        }).collect();
        let batch = decode(records.iter().map(Vec::as_slice), None).unwrap();
        let (bytes, ends) = encode_columns(&batch).unwrap();
        prop_assert_eq!(bytes, records.concat());
        prop_assert_eq!(ends.len(), records.len());
    }
}
