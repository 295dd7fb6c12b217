//! A hundred thousand forged headers, and what is read to cut a file of them into ranges: bytes are counted, not time.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use tfrecs_core::record::format::frame;
use tfrecs_core::record::read::header_scan::Next;
use tfrecs_core::record::read::parallel_header_scan::each_start_in;

const HEADERS: u64 = 100_000;
/// What is read is at most that many times the file.
const MOST: u64 = 5;

fn framed(record: &[u8]) -> Vec<u8> {
    let header = frame::header(record.len() as u64);
    [&header, record, &frame::footer(record)].concat()
}

/// How many bytes this process, which does nothing else, has read.
fn read_so_far() -> u64 {
    let counts = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = counts.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.unwrap().parse().unwrap()
}

/// Records of one size, each of headers that claim these lengths, and zeros.
fn file_of(parts: u64, length: impl Fn(u64) -> u64) -> Vec<u8> {
    let each = |number| [&frame::header(length(number))[..], &[0x55; 148]].concat();
    let short: Vec<u8> = (0..100).flat_map(|_| framed(b"short")).collect();
    let step = HEADERS / parts;
    let record = |part| {
        framed(
            &(part * step..(part + 1) * step)
                .flat_map(each)
                .collect::<Vec<_>>(),
        )
    };
    short
        .into_iter()
        .chain((0..parts).flat_map(record))
        .collect()
}

#[test]
fn cutting_reads_little() {
    let scattered = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let chained = |number: u64| 160 * (1 + number % 49) - 16;
    let files = [
        ("scattered", file_of(1, scattered)),
        ("chained", file_of(1, chained)),
        ("spread", file_of(1000, scattered)),
        ("chained and spread", file_of(1000, chained)),
    ];
    for (shape, bytes) in files {
        let place = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(place.path(), &bytes).unwrap();
        let file = Arc::new(place.reopen().unwrap());
        let size = bytes.len() as u64;
        for (threads, segment) in [(1, 1 << 20), (2, 1 << 20), (3, 4 << 20)] {
            let (before, mut records) = (read_so_far(), 0);
            let passed = each_start_in(&file, size, threads, segment, |_| records += 1).unwrap();
            let spent = read_so_far() - before;
            assert_eq!(
                (passed.end, passed.records, passed.next),
                (size, records, Next::End)
            );
            assert!(
                spent <= MOST * size,
                "{shape}, {threads} threads: {spent} of {size}"
            );
        }
    }
}
