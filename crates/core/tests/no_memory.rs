//! Allocation number n fails, for every n of those whose size follows the data: the operation says so, and of
//! which record; the process lives on, and no partial file is left.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails may panic, its helpers too"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tfrecs_core::pipeline::{
    output::RawRecords,
    scan::{Request, scan},
};
use tfrecs_core::record::codec::zlib::{Deflater, Flush};
use tfrecs_core::record::format::frame;
use tfrecs_core::record::salvage::{Piece, Salvage, SalvageOptions};
use tfrecs_core::record::{
    Compression, DeflateOptions, IndexedFile, ReadOptions, RecordReader, RecordWriter, Sequence,
    WriteOptions,
};
use tfrecs_core::{Category, Error, Result};

/// The system's allocator, which has no memory for one large block.
struct Failing;

/// What is large: all that comes from the length of a record; fixed buffers are smaller.
const LARGE: usize = 1 << 20;

/// How many large blocks come before the one that fails; none fails while this is zero.
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// The tests of this file run one after the other: the allocator is that of all of them.
static TURN: Mutex<()> = Mutex::new(());

/// Whether there is memory for a block of this size.
fn is_there(size: usize) -> bool {
    if size < LARGE {
        return true;
    }
    let count = |left: usize| left.checked_sub(1);
    LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count) != Ok(1)
}

#[allow(
    unsafe_code,
    reason = "a global allocator is unsafe to write; this one passes everything on"
)]
// SAFETY: every call is passed on to the system's allocator as it came, or answered as by one that has no memory.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_there(layout.size()) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promises are ours.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !is_there(layout.size()) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promises are ours.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_there(size) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promises are ours.
        unsafe { System.realloc(address, layout, size) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are ours.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// The sizes of the records of a file.
const SIZES: [usize; 5] = [10, 9_000_000, 100, 3_000_000, 5_000_000];

fn file() -> Vec<u8> {
    SIZES
        .iter()
        .flat_map(|&size| frame_of(&vec![7; size]))
        .collect()
}

fn frame_of(record: &[u8]) -> Vec<u8> {
    let header = frame::header(record.len() as u64);
    [&header[..], record, &frame::footer(record)].concat()
}

fn compressed(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut deflater = Deflater::new(Compression::Gzip, &DeflateOptions::default()).unwrap();
    deflater.compress(data, &mut out, Flush::Finish).unwrap();
    out
}

/// The sizes of the records that come, and what ends them.
type Outcome = (Vec<usize>, Option<Error>);

fn one_by_one(mut reader: RecordReader) -> Outcome {
    let mut found = Vec::new();
    loop {
        match reader.next_record() {
            Ok(Some(record)) => found.push(record.len()),
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(error)),
        }
    }
}

fn in_batches(mut reader: RecordReader) -> Outcome {
    let mut found = Vec::new();
    loop {
        match reader.read_batch(2) {
            Ok(batch) if batch.is_empty() => return (found, None),
            Ok(batch) => found.extend(batch.iter().map(<[u8]>::len)),
            Err(error) => return (found, Some(error)),
        }
    }
}

fn by_scan(path: &Path) -> Outcome {
    let request = Request {
        paths: vec![path.to_owned()],
        read: ReadOptions::default(),
        batch: 1,
        most_bytes: usize::MAX,
        drop_remainder: false,
        threads: 1,
        most_ahead: usize::MAX,
        skipped: None,
        partial: false,
        samples: None,
    };
    let (mut scan, mut found) = (
        scan(&request, || RawRecords { partial: false }).unwrap(),
        Vec::new(),
    );
    loop {
        match scan.next_result().unwrap() {
            Some(Ok(batch)) => found.extend(batch.records.iter().map(<[u8]>::len)),
            Some(Err(error)) => return (found, Some(error)),
            None => return (found, None),
        }
    }
}

/// Fails the first large block, the second, and so on, until there are no more.
fn each_failure(name: &str, read: impl Fn() -> Outcome) -> usize {
    let mut number = 0;
    loop {
        number += 1;
        LEFT.store(number, Ordering::Relaxed);
        let (found, error) = read();
        let is_over = LEFT.swap(0, Ordering::Relaxed) > 0;
        assert_eq!(found, SIZES.get(..found.len()).unwrap(), "{name}, {number}");
        let Some(error) = error else {
            // Nobody has to tell where there was another way.
            assert_eq!(found.len(), SIZES.len(), "{name}, {number}");
            if is_over {
                assert!(number > 1, "{name}: no large block");
                return number - 1;
            }
            continue;
        };
        assert_eq!(
            error.category(),
            Category::Memory,
            "{name}, {number}: {error}"
        );
        assert_eq!(
            error.record(),
            Some(found.len() as u64),
            "{name}, {number}: {error}"
        );
        assert!(error.offset().is_some(), "{name}, {number}: {error}");
    }
}

#[test]
fn a_block_that_is_not_there_is_an_error_with_a_position() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let save = |name: &str, content: &[u8]| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let plain = save("plain", &file());
    let gzip = save("gzip", &compressed(&file()));
    let open = |path: &Path| RecordReader::open(path, ReadOptions::default()).unwrap();
    let mut cases = 0;
    for path in [&plain, &gzip] {
        let name = path.display().to_string();
        cases += each_failure(&name, || one_by_one(open(path)));
        cases += each_failure(&format!("batches of {name}"), || in_batches(open(path)));
        cases += each_failure(&format!("a scan of {name}"), || by_scan(path));
    }
    let content: &'static [u8] = file().leak();
    cases += each_failure("a stream", || {
        let input = Box::new(Cursor::new(content));
        one_by_one(RecordReader::new(input, ReadOptions::default()).unwrap())
    });
    println!("torture: {cases} cases");
}

/// Fails each large block in turn, and returns how many there were: the answer is that of a run in which none
/// fails, or the error says that memory is missing.
fn every_block<T: PartialEq + std::fmt::Debug>(name: &str, work: impl Fn() -> Result<T>) -> usize {
    let wanted = work().unwrap();
    for number in 1.. {
        LEFT.store(number, Ordering::Relaxed);
        let found = work();
        let is_over = LEFT.swap(0, Ordering::Relaxed) > 0;
        match found {
            Ok(found) => assert!(found == wanted, "{name}, {number}"),
            Err(error) => assert_eq!(
                error.category(),
                Category::Memory,
                "{name}, {number}: {error}"
            ),
        }
        if is_over {
            assert!(number > 1, "{name}: no large block");
            return number - 1;
        }
    }
    unreachable!("{name} allocates without an end")
}

fn salvaged(path: &Path) -> Result<Vec<usize>> {
    let mut salvage = Salvage::open(path, SalvageOptions::default())?;
    let mut found = Vec::new();
    while let Some(piece) = salvage.next_piece(2)? {
        if let Piece::Records(records) = piece {
            found.extend(records.iter().map(<[u8]>::len));
        }
    }
    Ok(found)
}

/// The numbers of the records, and their sizes, by an index.
fn at_random(path: &Path) -> Result<Vec<usize>> {
    let file = IndexedFile::build(path, ReadOptions::default(), 1)?;
    let all = Sequence::new(vec![file.into()], ReadOptions::default(), 1);
    let mut found = Vec::new();
    for number in [4, 1, 0, 3] {
        let mut buffer = Vec::new();
        found.push(all.get(number, &mut buffer)?.len());
    }
    let batch = all.read(&[3, 1, 1])?;
    found.extend(batch.iter().map(<[u8]>::len));
    Ok(found)
}

/// Writes a file, and returns its size; after an error there is none.
fn written(path: &Path, record: &[u8]) -> Result<u64> {
    let write = || -> Result<()> {
        let mut writer = RecordWriter::open(path, WriteOptions::default())?;
        writer.write(record)?;
        writer.write(b"short")?;
        writer.close()
    };
    if let Err(error) = write() {
        assert!(!path.exists(), "a partial file: {error}");
        return Err(error);
    }
    let size = path.metadata().unwrap().len();
    std::fs::remove_file(path).unwrap();
    Ok(size)
}

#[test]
fn other_operations_say_it_too() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let mut damaged = file();
    damaged[2_000_000] ^= 1;
    let mut cases = 0;
    for (name, content) in [
        ("plain", file()),
        ("gzip", compressed(&file())),
        ("damaged", damaged.clone()),
        ("damaged gzip", compressed(&damaged)),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        cases += every_block(&format!("salvage of {name}"), || salvaged(&path));
        if !name.starts_with("damaged") {
            cases += every_block(&format!("random access to {name}"), || at_random(&path));
        }
    }
    let record = vec![7; SIZES[1]];
    // Uncompressed records are written as they are, without a block of their size.
    let path = folder.path().join("written.gz");
    cases += every_block("writing", || written(&path, &record));
    println!("torture: {cases} cases");
}
