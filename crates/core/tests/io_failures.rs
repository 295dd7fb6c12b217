//! Reading number n fails, for every n: what came before is delivered, the error says where, it is met
//! again, and no thread is left behind.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that fails may panic, its helpers too"
)]

use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tfrecs_core::record::codec::zlib::{Deflater, Flush};
use tfrecs_core::record::format::frame;
use tfrecs_core::record::{
    Compression, DeflateOptions, ReadOptions, RecordReader, RecordWriter, WriteOptions,
};
use tfrecs_core::{Category, Error};

/// What happens at one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// It fails, and so does every other.
    Always,
    /// It fails, and others would not.
    Once,
    /// A signal comes.
    Signal,
    /// The file is at its end.
    End,
    /// From now on, a few bytes come at a time.
    Short,
}

const FAILURES: [Failure; 5] = [
    Failure::Always,
    Failure::Once,
    Failure::Signal,
    Failure::End,
    Failure::Short,
];

/// The error number of EIO.
const EIO: i32 = 5;

/// A file of which one read fails.
struct Failing {
    content: Cursor<Arc<[u8]>>,
    failure: Failure,
    /// How many reads are left until then.
    left: usize,
    has_failed: Arc<AtomicBool>,
    /// Lives as long as this is in use.
    _token: Arc<()>,
}

impl Read for Failing {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.left > 0 {
            self.left -= 1;
            return self.content.read(room);
        }
        let is_first = !self.has_failed.swap(true, Ordering::Relaxed);
        match self.failure {
            Failure::Always => Err(io::Error::from_raw_os_error(EIO)),
            Failure::Once if is_first => Err(io::Error::from_raw_os_error(EIO)),
            Failure::Signal if is_first => Err(io::ErrorKind::Interrupted.into()),
            Failure::End => Ok(0),
            Failure::Short => {
                let few = room.len().min(999);
                self.content.read(&mut room[..few])
            }
            Failure::Once | Failure::Signal => self.content.read(room),
        }
    }
}

/// What is read, and how.
struct Scenario {
    name: &'static str,
    file: Arc<[u8]>,
    on_threads: bool,
    /// Each how many reads fail once.
    step: usize,
}

/// Bytes that do not compress, so that a file takes many reads.
fn noise(size: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..size).map(|_| next()).collect()
}

fn records(bytes: usize) -> Vec<Vec<u8>> {
    let sizes = [0, 1, 700, 30, 5000, 90_000, 12].iter().cycle();
    let (mut rest, mut all) = (&noise(bytes)[..], Vec::new());
    for &size in sizes {
        let Some((record, after)) = rest.split_at_checked(size) else {
            return all;
        };
        all.push(record.to_vec());
        rest = after;
    }
    all
}

fn frames(records: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = Vec::new();
    for record in records {
        stream.extend(frame::header(record.len() as u64));
        stream.extend(record);
        stream.extend(frame::footer(record));
    }
    stream
}

fn in_one_stream(codec: Compression, records: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut deflater = Deflater::new(codec, &DeflateOptions::default()).unwrap();
    deflater
        .compress(&frames(records), &mut out, Flush::Finish)
        .unwrap();
    out
}

fn in_members(records: &[Vec<u8>]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gz");
    let options = WriteOptions {
        compression: Some(Compression::Gzip),
        ..WriteOptions::default()
    };
    let mut writer = RecordWriter::open(&path, options).unwrap();
    for record in records {
        writer.write(record).unwrap();
    }
    writer.close().unwrap();
    std::fs::read(&path).unwrap()
}

fn scenarios() -> Vec<(Scenario, Vec<Vec<u8>>)> {
    let (little, much) = (records(150_000), records(4_800_000));
    let scenario = |name, file: Vec<u8>, on_threads, step| Scenario {
        name,
        file: file.into(),
        on_threads,
        step,
    };
    let gzip = in_one_stream(Compression::Gzip, &much);
    let members = in_members(&much);
    vec![
        (scenario("plain", frames(&much), false, 1), much.clone()),
        (
            scenario("gzip", in_one_stream(Compression::Gzip, &little), false, 1),
            little.clone(),
        ),
        (
            scenario("zlib", in_one_stream(Compression::Zlib, &much), false, 3),
            much.clone(),
        ),
        (
            scenario("gzip, a thread ahead", gzip, true, 5),
            much.clone(),
        ),
        (scenario("members", in_members(&little), false, 1), little),
        (scenario("members on threads", members, true, 1), much),
    ]
}

/// The records that come, and what ends them; then that nothing more comes, and nobody is left.
fn read(scenario: &Scenario, failure: Failure, left: usize) -> (bool, Vec<Vec<u8>>, Option<Error>) {
    let (has_failed, token) = (Arc::new(AtomicBool::new(false)), Arc::new(()));
    let input = Box::new(Failing {
        content: Cursor::new(Arc::clone(&scenario.file)),
        failure,
        left,
        has_failed: Arc::clone(&has_failed),
        _token: Arc::clone(&token),
    });
    let (found, error) = drain(scenario, input);
    assert_eq!(Arc::strong_count(&token), 1, "a thread is left behind");
    (has_failed.load(Ordering::Relaxed), found, error)
}

fn drain(scenario: &Scenario, input: Box<Failing>) -> (Vec<Vec<u8>>, Option<Error>) {
    let options = ReadOptions::default();
    let opened = if scenario.on_threads {
        RecordReader::on_threads(input, options)
    } else {
        RecordReader::new(input, options)
    };
    let mut found = Vec::new();
    let mut reader = match opened {
        Ok(reader) => reader,
        Err(error) => return (found, Some(error)),
    };
    loop {
        match reader.read_batch(50) {
            Ok(batch) if batch.is_empty() => return (found, None),
            Ok(batch) => found.extend(batch.iter().map(<[u8]>::to_vec)),
            Err(error) => {
                for _ in 0..3 {
                    let again = reader.next_record().unwrap_err();
                    assert_eq!(again.to_string(), error.to_string());
                }
                return (found, Some(error));
            }
        }
    }
}

/// What a file has that ends after as many reads: as much must come out of one that fails there.
fn before(scenario: &Scenario, left: usize) -> Vec<Vec<u8>> {
    read(scenario, Failure::End, left).1
}

fn check_error(error: Option<Error>, records: &[Vec<u8>], found: usize, category: Category) {
    let error = error.unwrap();
    assert_eq!(error.category(), category, "{error}");
    assert_eq!(error.record(), Some(found as u64), "{error}");
    let offset = frames(&records[..found]).len() as u64;
    assert_eq!(error.offset(), Some(offset), "{error}");
}

fn check(scenario: &Scenario, records: &[Vec<u8>], failure: Failure, left: usize) -> bool {
    let (has_failed, found, error) = read(scenario, failure, left);
    let name = format!("{}, {failure:?}, read {left}", scenario.name);
    assert!(found[..] == records[..found.len()], "{name}");
    match failure {
        _ if !has_failed => assert!(error.is_none() && found.len() == records.len(), "{name}"),
        Failure::Signal | Failure::Short => {
            assert!(error.is_none(), "{name}: {error:?}");
            assert_eq!(found.len(), records.len(), "{name}");
        }
        Failure::End if error.is_none() => {
            // At its first byte, or after its last; or between two records, or members of them.
            let is_one_stream =
                !["plain", "members", "members on threads"].contains(&scenario.name);
            let is_part = !found.is_empty() && found.len() < records.len();
            assert!(
                !(is_one_stream && is_part),
                "{name}: {} records",
                found.len()
            );
        }
        Failure::End => check_error(error, records, found.len(), Category::Truncated),
        Failure::Always | Failure::Once => {
            assert_eq!(found.len(), before(scenario, left).len(), "{name}");
            check_error(error, records, found.len(), Category::Io);
        }
    }
    has_failed
}

#[test]
fn every_read_that_fails_is_told_and_costs_nothing_that_came_before() {
    let mut cases = 0;
    for (scenario, records) in scenarios() {
        for failure in FAILURES {
            // The first reads and the rest, in which one is as any other.
            let few = (0..scenario.step).chain((scenario.step..).step_by(scenario.step));
            let count = few
                .take_while(|&left| check(&scenario, &records, failure, left))
                .count();
            assert!(count > 1, "{}: {count} reads", scenario.name);
            cases += count;
        }
    }
    println!("torture: {cases} cases");
}
