//! What the records of a file are, in three numbers: how many, how many bytes, and a checksum of them in order.
//!
//! The checksum is the CRC-32C of what an uncompressed file has of each record beside its data: for each
//! record in order its length (8 bytes, little-endian) and the masked CRC-32C of its data (4 bytes,
//! little-endian). It is the same however the file is compressed, and it changes when a record is changed,
//! lost, doubled or moved.

use std::path::Path;

use crate::error::Result;
use crate::record::codec::compression::Compression;
use crate::record::format::frame::{self, FOOTER, HEADER};
use crate::record::read::reader::{ReadOptions, RecordReader};
use crate::record::read::records::Records;
use crate::runtime::interrupt::Pulse;

/// The digest of some records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// How many.
    pub records: u64,
    /// How many bytes of data they have.
    pub bytes: u64,
    /// The checksum.
    pub checksum: u32,
}

impl Digest {
    /// Adds a record.
    pub fn add(&mut self, record: &[u8]) {
        self.add_frame(record.len() as u64, frame::footer(record));
    }

    /// Adds a record of which the checksum is known.
    #[inline]
    pub fn add_frame(&mut self, length: u64, footer: [u8; FOOTER]) {
        let [l0, l1, l2, l3, l4, l5, l6, l7] = length.to_le_bytes();
        let [c0, c1, c2, c3] = footer;
        let both = [l0, l1, l2, l3, l4, l5, l6, l7, c0, c1, c2, c3];
        self.checksum = crc32c::crc32c_append(self.checksum, &both);
        self.records += 1;
        self.bytes = self.bytes.wrapping_add(length);
    }

    /// Adds a batch of records. Of those that lie in their frames, the checksums there are taken for true.
    pub fn add_batch(&mut self, records: &Records) {
        let Some(mut frames) = records.frames() else {
            records.iter().for_each(|record| self.add(record));
            return;
        };
        for record in records.iter() {
            let Some((first, rest)) = frames.split_at_checked(HEADER + record.len() + FOOTER)
            else {
                return;
            };
            if let Some((_, footer)) = first.split_last_chunk() {
                self.add_frame(record.len() as u64, *footer);
            }
            frames = rest;
        }
    }

    /// The digest of all records of a file, whose checksums are verified.
    ///
    /// # Errors
    /// As reading the file.
    pub fn of_file(path: &Path, compression: Option<Compression>) -> Result<Self> {
        let options = ReadOptions {
            compression,
            ..ReadOptions::default()
        };
        let mut reader = RecordReader::open(path, options)?;
        let (mut digest, mut pulse) = (Self::default(), Pulse::start());
        loop {
            let records = reader.read_batch(AT_ONCE)?;
            if records.is_empty() {
                return Ok(digest);
            }
            pulse.check()?;
            digest.add_batch(&records);
        }
    }
}

/// How many records are read at once.
const AT_ONCE: usize = 1 << 12;
