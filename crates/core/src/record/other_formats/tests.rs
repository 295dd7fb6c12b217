//! Against models that have all of the bytes at once.

use std::io::Write;

use proptest::prelude::*;
use tempfile::NamedTempFile;

use super::*;

fn file_of(content: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    file
}

fn options(format: Format) -> ForeignOptions {
    ForeignOptions {
        format,
        compression: Some(Compression::None),
        limits: Limits::default(),
    }
}

/// As `TensorFlow` reads them.
fn lines_of(content: &[u8]) -> Vec<Vec<u8>> {
    let without = |line: &[u8]| line.iter().copied().filter(|&byte| byte != b'\r').collect();
    let mut lines: Vec<Vec<u8>> = content.split(|&byte| byte == b'\n').map(without).collect();
    if lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    lines
}

fn read_all(reader: &mut ForeignReader, n: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let (records, _) = reader.read_some(n, usize::MAX).unwrap();
        if records.is_empty() {
            return all;
        }
        all.extend(records.iter().map(<[u8]>::to_vec));
    }
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r".to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
        // More than is read at once.
        Just(vec![b'x'; 300_000]),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lines_are_those_of_the_model(content in text(), n in 1_usize..5, header in 0_u64..3) {
        let file = file_of(&content);
        let format = Format::Lines { header };
        let mut reader = ForeignReader::open(file.path(), options(format)).unwrap();
        let lines = lines_of(&content);
        let kept = lines.iter().skip(usize::try_from(header).unwrap());
        prop_assert_eq!(read_all(&mut reader, n), kept.cloned().collect::<Vec<_>>());
    }

    #[test]
    fn any_place_can_be_gone_on_from(content in text(), n in 1_usize..4) {
        let file = file_of(&content);
        let format = Format::Lines { header: 0 };
        let mut reader = ForeignReader::open(file.path(), options(format)).unwrap();
        let (lines, mut done) = (lines_of(&content), 0);
        loop {
            let (record, offset) = reader.tell();
            let mut again = ForeignReader::open(file.path(), options(format)).unwrap();
            again.seek(record, offset).unwrap();
            prop_assert_eq!(&read_all(&mut again, 2)[..], &lines[done..]);
            let (records, _) = reader.read_some(n, usize::MAX).unwrap();
            if records.is_empty() {
                break;
            }
            done += records.len();
        }
    }

    #[test]
    fn bytes_are_cut_the_same_however_they_come(content in text(), cuts in prop::collection::vec(0_usize..40, 0..4)) {
        // A line is looked for in more and more of the bytes.
        let mut whole = content.clone();
        let expected = cut_line(&mut whole, 0, true);
        let mut searched = 0;
        for cut in cuts {
            let there = cut.min(content.len()).max(searched);
            let mut some = content[..there].to_vec();
            match cut_line(&mut some, searched, false) {
                Cut::More(more) => searched = more,
                found => {
                    prop_assert_eq!(found, expected.clone());
                    return Ok(());
                }
            }
        }
        let mut whole = content.clone();
        prop_assert_eq!(cut_line(&mut whole, searched, true), expected);
    }

    #[test]
    fn records_of_one_length_fill_a_file_or_not(body in 0_usize..50, record in 1_usize..6, header in 0_u64..4, footer in 0_usize..4) {
        let size = body + footer + usize::try_from(header).unwrap();
        let content: Vec<u8> = (0..=u8::MAX).take(size).collect();
        let file = file_of(&content);
        let opened = ForeignReader::open(file.path(), options(Format::Fixed { header, record, footer }));
        if body % record > 0 {
            prop_assert_eq!(opened.err().unwrap().category(), crate::Category::Truncated);
            return Ok(());
        }
        let first = usize::try_from(header).unwrap();
        let expected: Vec<Vec<u8>> = content[first..first + body].chunks(record).map(<[u8]>::to_vec).collect();
        prop_assert_eq!(read_all(&mut opened.unwrap(), 3), expected);
    }
}
