//! No allocation that the input does not justify: a global allocator counts, and hostile input
//! announces what is not there.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that fails may panic, its helpers too"
)]

#[path = "agreement/memory.rs"]
mod memory;

mod wire_bytes;

use std::io::{Cursor, Write};
use std::sync::{Mutex, PoisonError};

use memory::{Counting, peak_of};
use tfrecs_core::Category;
use tfrecs_core::example::event::scalars::{EventDecoder, Wanted};
use tfrecs_core::example::example_list::split_lists;
use tfrecs_core::example::{DType, FeatureSpec, Layout as Columns, decode};
use tfrecs_core::record::codec::zlib::{Deflater, Flush};
use tfrecs_core::record::format::frame;
use tfrecs_core::record::{Compression, DeflateOptions, ReadOptions, RecordReader};
use wire_bytes::delimited;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The tests of this file take turns: they share one counter.
static TURN: Mutex<()> = Mutex::new(());

const MB: usize = 1_000_000;

fn frame_of(record: &[u8]) -> Vec<u8> {
    let mut file = frame::header(record.len() as u64).to_vec();
    file.extend(record);
    file.extend(frame::footer(record));
    file
}

fn compressed(codec: Compression, data: Vec<u8>) -> Vec<u8> {
    if codec == Compression::None {
        return data;
    }
    let mut out = Vec::new();
    let mut deflater = Deflater::new(codec, &DeflateOptions::default()).unwrap();
    deflater.compress(&data, &mut out, Flush::Finish).unwrap();
    out
}

#[derive(Clone, Copy, Debug)]
enum Way {
    /// A file, the length of which is known.
    File,
    /// A stream that ends when it ends.
    Stream,
}

/// Reads `file` to its end or its fault, and says how many records there were.
fn drain(path: &std::path::Path, file: &[u8], way: Way) -> (usize, Option<Category>) {
    let options = ReadOptions::default();
    let mut reader = match way {
        Way::File => RecordReader::open(path, options).unwrap(),
        Way::Stream => RecordReader::new(Box::new(Cursor::new(file.to_vec())), options).unwrap(),
    };
    let mut records = 0;
    loop {
        match reader.next_record() {
            Ok(Some(_)) => records += 1,
            Ok(None) => return (records, None),
            Err(error) => return (records, Some(error.category())),
        }
    }
}

fn measured(folder: &tempfile::TempDir, file: &[u8], way: Way) -> (usize, Option<Category>) {
    let path = folder.path().join("file");
    std::fs::File::create(&path)
        .unwrap()
        .write_all(file)
        .unwrap();
    let (peak, (_, outcome)) = peak_of(|| drain(&path, file, way));
    (peak, outcome)
}

fn lengths() -> impl Iterator<Item = u64> {
    (20..=64u32).flat_map(|k| {
        (-4i128..=4).filter_map(move |delta| u64::try_from((1i128 << k) + delta).ok())
    })
}

#[test]
fn a_length_without_bytes_takes_no_memory() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    for codec in [Compression::None, Compression::Gzip, Compression::Zlib] {
        for way in [Way::File, Way::Stream] {
            let sound = compressed(codec, frame_of(b"a few bytes"));
            let (steady, outcome) = measured(&folder, &sound, way);
            assert_eq!(outcome, None);
            for length in lengths() {
                let mut file = frame::header(length).to_vec();
                file.extend(b"a few bytes");
                let (peak, outcome) = measured(&folder, &compressed(codec, file), way);
                assert_eq!(
                    outcome,
                    Some(Category::Truncated),
                    "{codec:?} {way:?} {length}"
                );
                assert!(
                    peak < steady + MB,
                    "{codec:?} {way:?} {length}: {peak} bytes, and {steady} for a sound file"
                );
                assert!(peak < 3 * MB, "{codec:?} {way:?} {length}: {peak} bytes");
            }
        }
    }
}

#[test]
fn a_length_with_some_bytes_takes_memory_for_those() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    for there in [100_000, 3_000_000, 20_000_000] {
        for length in [1 << 26, 1 << 40, u64::MAX - 16, u64::MAX] {
            let mut file = frame::header(length).to_vec();
            file.extend(vec![7; there]);
            for codec in [Compression::None, Compression::Gzip] {
                let data = compressed(codec, file.clone());
                let (peak, outcome) = measured(&folder, &data, Way::Stream);
                assert_eq!(outcome, Some(Category::Truncated));
                // The stream itself is a copy here, and a buffer that grows is there twice.
                let limit = data.len() + there * 5 / 2 + 4 * MB;
                assert!(peak < limit, "{codec:?} {length}, {there} bytes: {peak}");
            }
            let (peak, outcome) = measured(&folder, &file, Way::File);
            assert_eq!(outcome, Some(Category::Truncated));
            assert!(peak < 3 * MB, "{length}, {there} bytes: {peak}");
        }
    }
}

#[test]
fn a_batch_larger_than_the_file_takes_memory_for_the_file() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for records in [1, 10, 10_000] {
        let file: Vec<u8> = (0..records)
            .flat_map(|_| frame_of(b"a few bytes"))
            .collect();
        for n in [1_000, 1 << 40, usize::MAX] {
            let input = Box::new(Cursor::new(file.clone()));
            let mut reader = RecordReader::new(input, ReadOptions::default()).unwrap();
            let (peak, batch) = peak_of(|| reader.read_batch(n).unwrap());
            assert_eq!(batch.len(), records.min(n));
            let limit = 4 * file.len() + 4 * MB;
            assert!(
                peak < limit,
                "{records} records, batch of {n}: {peak} bytes"
            );
        }
    }
}

/// A field that announces more than it holds, at every place of a message.
fn inflated_lengths(message: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    (0..message.len()).map(|place| {
        let mut damaged = message[..place].to_vec();
        damaged.extend([0xff, 0xff, 0xff, 0xff, 0x7f]);
        damaged.extend(&message[place + 1..]);
        damaged
    })
}

fn spec(name: &str, dtype: DType, layout: Columns) -> FeatureSpec {
    FeatureSpec {
        name: name.to_owned(),
        dtype,
        layout,
    }
}

/// An Example of one feature "a", with `list` in field `kind`.
fn example(kind: u8, list: &[u8]) -> Vec<u8> {
    let feature = delimited(0x12, &delimited(kind, list));
    let entry = [delimited(0x0a, b"a"), feature].concat();
    delimited(0x0a, &delimited(0x0a, &entry))
}

#[test]
fn a_message_takes_memory_for_what_is_in_it() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let million = vec![1; 1 << 20];
    let lists: [(u8, Vec<u8>); 4] = [
        (0x1a, delimited(0x0a, &million)),    // a million integers
        (0x12, delimited(0x0a, &million)),    // a quarter of a million floats
        (0x0a, [0x0a, 0x00].repeat(1 << 19)), // half a million empty strings
        (0x0a, delimited(0x0a, &million)),    // one long string
    ];
    for (kind, list) in lists {
        let message = example(kind, &list);
        let (peak, decoded) = peak_of(|| decode([message.as_slice()].into_iter(), None));
        assert!(decoded.is_ok());
        let limit = 32 * message.len() + MB;
        assert!(
            peak < limit,
            "kind {kind}: {peak} for {} bytes",
            message.len()
        );
    }
}

#[test]
fn announced_fields_take_no_memory() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let message = example(0x1a, &delimited(0x0a, &[1, 2, 3, 4, 5]));
    let fixed = Columns::Fixed {
        shape: vec![5],
        default: None,
    };
    let specs = [spec("a", DType::Int64, fixed)];
    for damaged in inflated_lengths(&message) {
        for spec in [None, Some(&specs[..])] {
            let (peak, _) = peak_of(|| decode([damaged.as_slice()].into_iter(), spec).is_ok());
            assert!(peak < MB, "{peak}");
        }
    }
}

#[test]
fn a_shape_that_no_record_has_takes_no_memory() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let message = example(0x1a, &delimited(0x0a, &[1, 2, 3]));
    for size in [1 << 20, 1 << 30, i32::MAX as usize, 1 << 40] {
        for dtype in [DType::Int64, DType::Float32, DType::Bytes] {
            let shape = vec![size];
            let specs = [spec(
                "a",
                dtype,
                Columns::Fixed {
                    shape,
                    default: None,
                },
            )];
            let records = vec![message.as_slice(); 100];
            let (peak, decoded) = peak_of(|| decode(records.into_iter(), Some(&specs)));
            assert!(decoded.is_err());
            assert!(peak < MB, "{size} {dtype:?}: {peak}");
        }
    }
}

#[test]
fn shapes_whose_product_overflows_are_an_error() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let message = example(0x1a, &delimited(0x0a, &[1, 2, 3]));
    for shape in [
        vec![1 << 40, 1 << 40],
        vec![usize::MAX, 2],
        vec![1 << 32, 1 << 32],
    ] {
        let specs = [spec(
            "a",
            DType::Int64,
            Columns::Fixed {
                shape,
                default: None,
            },
        )];
        assert!(decode([message.as_slice()].into_iter(), Some(&specs)).is_err());
        let none: [&[u8]; 0] = [];
        assert!(decode(none.into_iter(), Some(&specs)).is_err());
    }
}

/// What the first record has is no promise of the others: many columns, and then empty records.
#[test]
fn a_full_record_before_empty_ones_takes_memory_in_proportion() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for (columns, empty) in [(1, 0), (4, 10), (100, 10), (100, 100)] {
        for (tag, dtype) in [(0x1a, DType::Int64), (0x0a, DType::Bytes)] {
            let list = match dtype {
                DType::Int64 => delimited(0x0a, &vec![1; (1 << 20) / columns + 1]),
                _ => [0x0a, 0x00].repeat((1 << 19) / columns),
            };
            let names: Vec<String> = (0..columns).map(|n| n.to_string()).collect();
            let entries: Vec<u8> = names
                .iter()
                .map(|name| {
                    [
                        delimited(0x0a, name.as_bytes()),
                        delimited(0x12, &delimited(tag, &list)),
                    ]
                })
                .flat_map(|entry| delimited(0x0a, &entry.concat()))
                .collect();
            let full = delimited(0x0a, &entries);
            let specs: Vec<_> = names
                .iter()
                .map(|name| spec(name, dtype, Columns::Ragged { shape: vec![] }))
                .collect();
            let mut records = vec![full.as_slice()];
            records.resize(1 + empty, &[]);
            let (peak, decoded) = peak_of(|| decode(records.into_iter(), Some(&specs)));
            assert!(decoded.is_ok());
            assert!(
                peak < 32 * full.len() + MB,
                "{columns} {empty} {dtype:?}: {peak}"
            );
        }
    }
}

#[test]
fn many_names_take_memory_in_proportion() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for (count, padding) in [(2000, ""), (100_000, ""), (100_000, "0123456789")] {
        let entries: Vec<u8> = (0..count)
            .map(|n| format!("{n}{padding}").into_bytes())
            .flat_map(|name| delimited(0x0a, &delimited(0x0a, &name)))
            .collect();
        let message = delimited(0x0a, &entries);
        let (peak, decoded) = peak_of(|| decode([message.as_slice()].into_iter(), None));
        assert_eq!(decoded.is_ok(), count == 2000 || !padding.is_empty());
        let limit = 32 * message.len() + 10 * MB; // 2^14 columns are always allowed
        assert!(peak < limit, "{peak} for {} bytes", message.len());
    }
}

#[test]
fn records_that_all_have_other_names_are_refused_before_they_take_much() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let records: Vec<Vec<u8>> = (0..20_000u32)
        .map(|n| {
            delimited(
                0x0a,
                &delimited(0x0a, &delimited(0x0a, &n.to_string().into_bytes())),
            )
        })
        .collect();
    let (peak, decoded) = peak_of(|| decode(records.iter().map(Vec::as_slice), None));
    assert!(decoded.is_err());
    assert!(peak < 500 * MB, "{peak}");
}

#[test]
fn lists_of_examples_take_memory_in_proportion() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let lists: [Vec<u8>; 3] = [
        [0x0a, 0x00].repeat(1 << 19), // half a million empty examples
        delimited(0x12, b"\x08a").repeat(1 << 18), // a context in many pieces
        delimited(0x0a, &vec![0; 1 << 20]), // one large example
    ];
    for list in lists {
        let records = [list.as_slice()];
        let (peak, split) = peak_of(|| split_lists(records.into_iter()));
        assert!(split.is_ok());
        let limit = 32 * list.len() + MB;
        assert!(peak < limit, "{peak} for {} bytes", list.len());
        for damaged in inflated_lengths(&list[list.len().saturating_sub(40)..]) {
            let (peak, _) = peak_of(|| split_lists([damaged.as_slice()].into_iter()).is_ok());
            assert!(peak < MB, "{peak}");
        }
    }
}

/// An Event of `count` summaries with these fields.
fn event(count: usize, value: &[u8]) -> Vec<u8> {
    delimited(0x2a, &delimited(0x0a, value).repeat(count))
}

#[test]
fn events_take_memory_in_proportion() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let count = 1 << 17;
    let named = delimited(0x4a, &delimited(0x0a, &delimited(0x0a, &[b'x'; 1000])));
    let values: [Vec<u8>; 4] = [
        vec![0x15, 0, 0, 0, 0], // a number without a name
        vec![0x2a, 0],          // an empty histogram
        vec![0x42, 2, 0x08, 1], // a tensor of no value
        [delimited(0x42, b""), named].concat(),
    ];
    for value in values {
        // The last is only repeated where the plugin's name is not.
        let record = event(if value.len() > 100 { 1 } else { count }, &value);
        let again = event(count, &[0x42, 0]);
        let records = [record.as_slice(), again.as_slice()];
        let (peak, _) = peak_of(|| {
            let mut decoder = EventDecoder::new(Wanted::default());
            let pushed = decoder.push(records.into_iter());
            (pushed.is_ok(), decoder.take())
        });
        let limit = 32 * (record.len() + again.len()) + MB;
        assert!(peak < limit, "{peak} of {limit}");
    }
}

#[test]
fn many_tags_take_memory_in_proportion() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let plugin = delimited(0x4a, &delimited(0x0a, &delimited(0x0a, b"p")));
    let values: Vec<u8> = (0..100_000u32)
        .flat_map(|n| {
            let tag = delimited(0x0a, n.to_string().as_bytes());
            delimited(0x0a, &[tag, plugin.clone(), delimited(0x42, b"")].concat())
        })
        .collect();
    let record = delimited(0x2a, &values);
    let (peak, columns) = peak_of(|| {
        let mut decoder = EventDecoder::new(Wanted::default());
        assert!(decoder.push([record.as_slice()].into_iter()).is_ok());
        decoder.take().unwrap()
    });
    assert_eq!(columns.num_rows(), 100_000);
    assert!(
        peak < 32 * record.len() + MB,
        "{peak} for {} bytes",
        record.len()
    );
}
