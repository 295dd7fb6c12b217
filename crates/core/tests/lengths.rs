//! Whatever has a length has as many items as it gives; and what a file that shrinks while it is read still holds.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that fails may panic, its helpers too"
)]

use std::fs::File;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tfrecs_core::ErrorKind;
use tfrecs_core::pipeline::gather::Pool;
use tfrecs_core::record::format::frame::{FOOTER, HEADER, footer, header};
use tfrecs_core::record::index::indexed_file::{IndexedFile, count};
use tfrecs_core::record::{HeaderScanner, Picked, ReadOptions, RecordReader, Records, Sequence};

/// Few and many: segments are cut, and index blocks are full, beyond 64 records.
const COUNTS: [usize; 6] = [0, 1, 2, 63, 65, 1000];

fn record(number: usize) -> Vec<u8> {
    vec![b'x'; number % 7]
}

fn frames_of(records: usize) -> Vec<u8> {
    let framed = |number| {
        let data = record(number);
        [&header(data.len() as u64)[..], &data, &footer(&data)].concat()
    };
    (0..records).flat_map(framed).collect()
}

fn saved(folder: &Path, records: usize) -> PathBuf {
    let path = folder.join(records.to_string());
    std::fs::write(&path, frames_of(records)).unwrap();
    path
}

fn in_memory(records: usize) -> Records {
    let options = ReadOptions::default();
    let mut reader = RecordReader::new(Box::new(Cursor::new(frames_of(records))), options).unwrap();
    reader.read_batch(records + 1).unwrap()
}

#[test]
fn files_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    for records in COUNTS {
        let path = saved(folder.path(), records);
        for threads in [1, 3] {
            let found = count(&path, ReadOptions::default(), threads);
            assert_eq!(found.unwrap(), records as u64);
        }
    }
}

#[test]
fn indexed_files_have_a_length() {
    let (folder, options) = (tempfile::tempdir().unwrap(), ReadOptions::default());
    let (mut files, mut total) = (Vec::new(), 0);
    for records in COUNTS {
        let file = IndexedFile::build(&saved(folder.path(), records), options, 2).unwrap();
        assert_eq!(file.len(), records as u64);
        assert_eq!(file.is_empty(), records == 0);
        assert_eq!(file.index().unwrap().len(), records);
        files.push(Arc::new(file));
        total += records;
        let sequence = Arc::new(Sequence::new(files.clone(), options, 1));
        assert_eq!(sequence.len(), total);
        assert_eq!(sequence.is_empty(), total == 0);
        let pool = Pool::Files(sequence);
        assert_eq!((pool.len(), pool.is_empty()), (total, total == 0));
    }
}

#[test]
fn records_in_memory_have_a_length() {
    for count in COUNTS {
        let records = in_memory(count);
        assert_eq!((records.len(), records.is_empty()), (count, count == 0));
        assert_eq!(records.iter().count(), count);
        assert_eq!(
            records.payload_bytes(),
            (0..count).map(|n| n % 7).sum::<usize>()
        );
        let pool = Pool::Memory(records.clone());
        assert_eq!((pool.len(), pool.is_empty()), (count, count == 0));
        let picks: Vec<(u32, u32)> = (0..count)
            .step_by(2)
            .map(|n| (0, u32::try_from(n).unwrap()))
            .collect();
        let picked = Picked::new(vec![records], picks);
        assert_eq!(picked.len(), count.div_ceil(2));
        assert_eq!(picked.is_empty(), count == 0);
        assert_eq!(picked.iter().count(), count.div_ceil(2));
    }
}

#[test]
fn a_file_cut_anywhere_while_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let records = 9;
    let path = saved(folder.path(), records);
    let whole = std::fs::read(&path).unwrap();
    let mut ends = vec![0];
    for number in 0..records {
        ends.push(ends[number] + HEADER + record(number).len() + FOOTER);
    }
    for cut in 0..whole.len() {
        std::fs::write(&path, &whole).unwrap();
        let size = whole.len() as u64;
        let shared: Arc<Path> = Arc::from(path.as_path());
        let mut header_scanner =
            HeaderScanner::new(File::open(&path).unwrap(), &shared, size, 0, 0);
        let extent = header_scanner.find(records, usize::MAX).unwrap().unwrap();
        assert_eq!(extent.len(), records);
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(cut as u64)
            .unwrap();
        let error = extent.read(0..records, Vec::new()).err().unwrap();
        let sound = ends.iter().filter(|&&end| end <= cut).count() - 1;
        assert_eq!(error.record(), Some(sound as u64), "cut at {cut}");
        assert_eq!(error.offset(), Some(ends[sound] as u64), "cut at {cut}");
        let length = record(sound).len();
        let have = cut.saturating_sub(ends[sound] + HEADER);
        let (need, have) = ((length + FOOTER) as u64, have as u64);
        assert_eq!(error.kind(), &ErrorKind::TruncatedRecord { need, have });
        let before = extent.read(0..sound.max(1), Vec::new());
        assert_eq!(before.is_ok(), sound > 0, "cut at {cut}");
    }
}
