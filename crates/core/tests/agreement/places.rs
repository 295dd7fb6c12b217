//! Where records are: what an index says, and what threads find that begin anywhere, beside one walk over
//! the file.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tfrecs_core::record::codec::zlib::{Deflater, Flush};
use tfrecs_core::record::format::{crc, frame};
use tfrecs_core::record::index::indexed_file::IndexedFile;
use tfrecs_core::record::index::indexed_records::Sequence;
use tfrecs_core::record::read::parallel_header_scan::each_start_in;
use tfrecs_core::record::{
    Compression, DeflateOptions, ReadOptions, RecordReader, index as stored,
};

use super::memory::peak_of;

/// Memory that an index may take, beyond that of its bytes.
const MEMORY: usize = 8 << 20;

/// A file that goes when this is dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn of(content: &[u8]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tfrecs-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn frame_of(record: &[u8]) -> Vec<u8> {
    let header = frame::header(record.len() as u64);
    [&header[..], record, &frame::footer(record)].concat()
}

/// The records of the file that an index is for; one holds another.
fn records() -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = (0..70_u8).map(|n| vec![n; usize::from(n % 23)]).collect();
    records[11] = frame_of(b"inside").repeat(3);
    records
}

/// Uses any bytes as an index.
///
/// ```text
/// byte     0 to 2: how the file is compressed; 8: the index is made up
/// bytes    to be XORed to the true index, and after it; but if it is made up:
/// uint64   how many records
/// uint64   where the last one ends
/// uint16   how many bytes are packed offsets, and
/// uint16   how many describe checkpoints
/// bytes    the blocks, packed offsets and checkpoints
/// ```
pub fn index(data: &[u8]) {
    let Some((&kind, rest)) = data.split_first() else {
        return;
    };
    let codecs = [Compression::None, Compression::Gzip, Compression::Zlib];
    let codec = codecs[usize::from(kind & 7) % 3];
    let records = records();
    let stream: Vec<u8> = records.iter().flat_map(|record| frame_of(record)).collect();
    let file = Temporary::of(&compressed(codec, &stream));
    let options = ReadOptions {
        compression: Some(codec),
        ..ReadOptions::default()
    };
    let built = IndexedFile::build(&file.0, options, 1).unwrap();
    let truth = built.to_bytes().unwrap();
    if kind & 8 == 0 {
        let changed = xored(&truth, rest);
        let is_other = changed != truth;
        if let Some(found) = IndexedFile::from_bytes(&file.0, &changed) {
            assert!(!is_other, "an index that is not the true one");
            assert_eq!(all(found), records);
        }
    } else if let Some(forged) = forged(truth, rest) {
        let (peak, found) = peak_of(|| IndexedFile::from_bytes(&file.0, &forged).map(any));
        assert!(peak < 32 * data.len() + MEMORY, "{peak} bytes of memory");
        // Right checksums can make up where records are, but not what is in them.
        for record in found.unwrap_or_default() {
            let frame = frame_of(&record);
            let is_there = stream.windows(frame.len()).any(|part| part == frame);
            assert!(is_there, "a record that is not in the file");
        }
    }
}

fn compressed(codec: Compression, stream: &[u8]) -> Vec<u8> {
    if codec == Compression::None {
        return stream.to_vec();
    }
    let mut out = Vec::new();
    let mut deflater = Deflater::new(codec, &DeflateOptions::default()).unwrap();
    deflater.compress(stream, &mut out, Flush::Finish).unwrap();
    out
}

fn xored(truth: &[u8], changes: &[u8]) -> Vec<u8> {
    let length = truth.len().max(changes.len());
    let at = |bytes: &[u8], place| bytes.get(place).copied().unwrap_or(0);
    (0..length)
        .map(|place| at(truth, place) ^ at(changes, place))
        .collect()
}

/// The index as these bytes say, with the right checksums.
fn forged(truth: Vec<u8>, data: &[u8]) -> Option<Vec<u8>> {
    let (numbers, rest) = data.split_first_chunk::<16>()?;
    let (lengths, body) = rest.split_first_chunk::<4>()?;
    let length = |at: usize| u64::from(u16::from_le_bytes([lengths[at], lengths[at + 1]]));
    let mut forged = truth;
    forged.truncate(stored::HEADER);
    forged[16..32].copy_from_slice(numbers);
    forged[52..56].copy_from_slice(&crc::masked(body).to_le_bytes());
    forged[56..64].copy_from_slice(&length(0).to_le_bytes());
    forged[64..72].copy_from_slice(&length(2).to_le_bytes());
    let sum = crc::masked(&forged[..stored::HEADER - 4]);
    forged[stored::HEADER - 4..].copy_from_slice(&sum.to_le_bytes());
    forged.extend_from_slice(body);
    Some(forged)
}

fn all(file: IndexedFile) -> Vec<Vec<u8>> {
    let sequence = Sequence::new(vec![Arc::new(file)], ReadOptions::default(), 1);
    let every: Vec<usize> = (0..sequence.len()).collect();
    let batch = sequence.read(&every).unwrap();
    batch.iter().map(<[u8]>::to_vec).collect()
}

/// What can be read of some records, one by one; and then some together.
fn any(file: IndexedFile) -> Vec<Vec<u8>> {
    let sequence = Sequence::new(vec![Arc::new(file)], ReadOptions::default(), 1);
    let some: Vec<usize> = (0..sequence.len().min(80)).collect();
    let mut room = Vec::new();
    let mut found = Vec::new();
    for &number in &some {
        if let Ok(place) = sequence.get(number, &mut room) {
            found.push(room[place].to_vec());
        }
    }
    if let Ok(batch) = sequence.read(&some) {
        found.extend(batch.iter().map(<[u8]>::to_vec));
    }
    found
}

/// Finds the records of a file in segments, and one by one.
///
/// ```text
/// byte   bytes of a segment, beside 16
/// parts of the file, after records enough for it to be worth cutting: a byte that says what, and
///   0 n  a record of n bytes
///   1 n  a record that holds records, which hold n bytes
///   2 n  a record of headers of n bytes
///   3 n  a header of n bytes, and nothing after it
///   else the next 8 bytes as they are
/// ```
pub fn ranges(data: &[u8]) {
    let Some((&segment, parts)) = data.split_first() else {
        return;
    };
    let mut content = frame_of(b"").repeat(70);
    described(parts, &mut content);
    let file = Temporary::of(&content);
    let (mut starts, mut expected) = (Vec::new(), Vec::new());
    let open = Arc::new(File::open(&file.0).unwrap());
    let size = content.len() as u64;
    let in_segments = each_start_in(&open, size, 2, u64::from(segment) + 16, |start| {
        starts.push(start);
    });
    let walked = each_start_in(&open, size, 1, 16, |start| expected.push(start));
    assert_eq!(in_segments.unwrap(), walked.unwrap());
    assert_eq!(starts, expected);
    assert_eq!(starts, read_through(&file.0));
}

/// Where the reader finds records, up to the end or to what is wrong.
fn read_through(path: &std::path::Path) -> Vec<u64> {
    let options = ReadOptions {
        compression: Some(Compression::None),
        verify: false,
        ..ReadOptions::default()
    };
    let mut reader = RecordReader::open(path, options).unwrap();
    let mut starts = Vec::new();
    loop {
        let start = reader.offset();
        match reader.next_record() {
            Ok(Some(_)) => starts.push(start),
            _ => return starts,
        }
    }
}

fn described(mut parts: &[u8], content: &mut Vec<u8>) {
    while let [what, rest @ ..] = parts {
        let length = rest.first().copied().unwrap_or(0);
        let header = || frame::header(u64::from(length));
        match what {
            0 => content.extend(frame_of(&vec![*what; usize::from(length)])),
            1 => content.extend(frame_of(&frame_of(&vec![7; usize::from(length)]).repeat(6))),
            2 => content.extend(frame_of(&header().repeat(9))),
            3 => content.extend(header()),
            _ => content.extend(&rest[..rest.len().min(8)]),
        }
        let taken = if *what < 4 { 1 } else { 8 };
        parts = rest.get(taken..).unwrap_or_default();
    }
}
