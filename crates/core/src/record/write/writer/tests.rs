//! Writing to a disk that fails, and that loses its power.

mod failures;
mod power;

use std::path::Path;

use super::{Compression, DeflateOptions, Mode, RecordWriter, Records, Result, WriteOptions};
use crate::record::RecordReader;
use crate::record::write::files::fs::Disk;

/// A way to write a file.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub compression: Compression,
    pub mode: Mode,
    pub in_place: bool,
    /// On how many threads; none is one stream of zlib's.
    pub threads: Option<usize>,
    /// Whether the file is finished first, and gets another name than it was opened for.
    pub is_shard: bool,
}

pub const PLAIN: Kind = Kind {
    compression: Compression::None,
    mode: Mode::Replace,
    in_place: false,
    threads: Some(1),
    is_shard: false,
};

/// All ways.
pub fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    for (compression, threads) in [
        (Compression::None, Some(1)),
        (Compression::None, Some(2)),
        (Compression::Gzip, Some(1)),
        (Compression::Gzip, Some(3)),
        (Compression::Gzip, None),
        (Compression::Zlib, None),
    ] {
        let kind = Kind {
            compression,
            threads,
            ..PLAIN
        };
        for mode in [Mode::Replace, Mode::Create, Mode::Append] {
            if mode != Mode::Append || compression != Compression::Zlib {
                kinds.push(Kind { mode, ..kind });
                kinds.push(Kind {
                    mode,
                    in_place: true,
                    ..kind
                });
            }
        }
        kinds.push(Kind {
            is_shard: true,
            ..kind
        });
    }
    kinds
}

impl Kind {
    pub fn options(&self) -> WriteOptions {
        let deflate = DeflateOptions {
            level: 1,
            ..DeflateOptions::default()
        };
        WriteOptions {
            deflate,
            compression: Some(self.compression),
            member_threads: self.threads,
            mode: self.mode,
            in_place: self.in_place,
            ..WriteOptions::default()
        }
    }

    /// A file of this kind that has these records.
    pub fn file_of(&self, path: &Path, records: &[Vec<u8>]) -> Vec<u8> {
        let kind = Kind {
            mode: Mode::Replace,
            ..*self
        };
        let mut writer = RecordWriter::open(path, kind.options()).unwrap();
        writer.write_all(records.iter().map(Vec::as_slice)).unwrap();
        writer.close().unwrap();
        std::fs::read(path).unwrap()
    }

    pub fn open(&self, disk: &Disk, path: &Path) -> Result<RecordWriter> {
        RecordWriter::open_on(disk, path, &self.options())
    }
}

/// Numbers that do not compress well, always the same.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// A batch of records in their frames, as encoders make them.
pub fn batch(records: &[Vec<u8>]) -> Records {
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for record in records {
        let start = bytes.len();
        bytes.resize(start + record.len() + 16, 0);
        bytes[start + 12..start + 12 + record.len()].copy_from_slice(record);
        crate::record::format::frame::seal(&mut bytes[start..]);
        ends.push(bytes.len());
    }
    Records::framed(bytes, ends)
}

/// The records of a file up to an error, and whether there was none.
pub fn readable(bytes: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let input = std::io::Cursor::new(bytes.to_vec());
    let mut records = Vec::new();
    let Ok(mut reader) = RecordReader::new(Box::new(input), crate::record::ReadOptions::default())
    else {
        return (records, false);
    };
    loop {
        match reader.next_record() {
            Ok(Some(record)) => records.push(record.to_vec()),
            Ok(None) => return (records, true),
            Err(_) => return (records, false),
        }
    }
}
