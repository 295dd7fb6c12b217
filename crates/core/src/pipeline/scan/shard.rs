//! A file of a scan, read part by part.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use super::Skipped;
use crate::error::Result;
use crate::pipeline::batch_part::BatchPart;
use crate::record::read::header_scan::LARGE;
use crate::record::salvage::{Piece, Salvage, SalvageOptions};
use crate::record::{HeaderScanner, ReadOptions, RecordReader};

/// A file that is being read.
pub(crate) enum Shard {
    /// Its first damage is an error.
    Strict(Box<Strict>),
    /// Its damage is skipped.
    Lenient(Box<Salvage>, PathBuf, Skipped),
}

impl Shard {
    pub(crate) fn open(path: &Path, read: ReadOptions, skipped: Option<&Skipped>) -> Result<Self> {
        let Some(skipped) = skipped else {
            return Ok(Self::Strict(Box::new(Strict::new(RecordReader::open(
                path, read,
            )?))));
        };
        let options = SalvageOptions {
            compression: read.compression,
            limits: read.limits,
            ..SalvageOptions::default()
        };
        let salvage = Box::new(Salvage::open(path, options)?);
        Ok(Self::Lenient(salvage, path.to_owned(), Arc::clone(skipped)))
    }

    pub(crate) fn next_part(&mut self, n: usize, bytes: usize) -> Result<Option<BatchPart>> {
        let (salvage, path, skipped) = match self {
            Self::Strict(strict) => return strict.next_part(n, bytes),
            Self::Lenient(salvage, path, skipped) => (salvage, path, skipped),
        };
        while let Some(piece) = salvage.next_piece(n)? {
            match piece {
                Piece::Records(records) => return Ok(Some(BatchPart::Read(records))),
                Piece::Skipped(region) => {
                    let mut skipped = skipped.lock().unwrap_or_else(PoisonError::into_inner);
                    skipped.push((path.clone(), region));
                }
            }
        }
        Ok(None)
    }
}

/// A file that is read up to its first damage.
pub(crate) struct Strict {
    reader: RecordReader,
    header_scanner: Option<HeaderScanner>,
    /// Whether hopping has come to something that only the reader knows what to say about.
    reads_on: bool,
}

impl Strict {
    fn new(reader: RecordReader) -> Self {
        Self {
            reader,
            header_scanner: None,
            reads_on: false,
        }
    }

    fn next_part(&mut self, n: usize, bytes: usize) -> Result<Option<BatchPart>> {
        if let Some(mut header_scanner) = self.header_scanner.take() {
            if let Some(extent) = header_scanner.find(n, bytes)? {
                self.header_scanner = Some(header_scanner);
                return Ok(Some(BatchPart::Found(extent)));
            }
            self.reads_on = true;
            self.reader
                .seek(header_scanner.offset(), header_scanner.record())?;
        }
        let records = self.reader.read_some(n, bytes)?;
        if records.is_empty() {
            return Ok(None);
        }
        if !self.reads_on && (records.payload_bytes() / records.len()) as u64 >= LARGE {
            self.header_scanner = self.reader.header_scanner();
        }
        Ok(Some(BatchPart::Read(records)))
    }
}
