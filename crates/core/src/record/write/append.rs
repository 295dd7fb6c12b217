//! Appending: what stands at the end of the file, and whether more may follow.

use std::path::Path;

use crate::error::{Category, Error, ErrorKind, Result};
use crate::record::codec::compression::Compression;
use crate::record::read::reader::{ReadOptions, RecordReader};
use crate::runtime::interrupt::Pulse;

/// What stands at the end of a file that is to be appended to.
#[derive(Debug, Default)]
pub struct Tail {
    pub compression: Compression,
    /// How many whole records there are.
    pub records: u64,
    /// The length of what is sound; of a compressed file that was cut, all of it.
    pub length: u64,
    /// How many bytes of a torn record follow it.
    pub torn: u64,
    /// Whether a compressed stream was cut: after it nothing can be added.
    pub is_cut: bool,
}

impl Tail {
    /// What can be kept as it is: how many bytes, and how many of a torn record follow them. Without
    /// records it is nothing, because TensorFlow takes a gzip member without content for the end of the file.
    pub fn whole(&self) -> (u64, u64) {
        match (self.records, self.is_cut) {
            (0, true) => (0, self.length),
            (0, false) => (0, self.torn),
            _ => (self.length, self.torn),
        }
    }

    /// Reads all of `path`, checksums included: nothing is added after damage.
    pub fn of(path: &Path) -> Result<Self> {
        let mut reader = RecordReader::open(path, ReadOptions::default())?;
        let metadata = path.metadata();
        let size = metadata.map_err(|e| Error::from(e).with_path(path))?.len();
        let mut pulse = Pulse::start();
        let mut tail = Self {
            compression: reader.compression(),
            length: size,
            ..Self::default()
        };
        loop {
            match reader.next_record() {
                Ok(Some(_)) => pulse.check()?,
                Ok(None) => break,
                Err(error) if !is_torn(&error) => return Err(error),
                Err(_) if tail.compression != Compression::None => {
                    tail.is_cut = true;
                    break;
                }
                Err(_) => {
                    tail.length = reader.offset();
                    tail.torn = size.saturating_sub(tail.length);
                    break;
                }
            }
        }
        tail.records = reader.record();
        if tail.is_cut && size < KNOWN_BY {
            (tail.length, tail.torn, tail.is_cut) = (0, size, false);
        }
        Ok(tail)
    }

    /// The compression to continue with.
    pub fn agree(&self, path: &Path, asked: Option<Compression>) -> Result<Compression> {
        let found = self.compression;
        if self.length == 0 {
            return match asked {
                Some(asked) => Ok(asked),
                None => Ok(Compression::of_name(path)?.unwrap_or_default()),
            };
        }
        if asked.is_some_and(|asked| asked != found) {
            return Err(Error::spec(format!(
                "cannot append with compression_type {:?}: the file has {:?}",
                asked.unwrap_or_default().name(),
                found.name()
            ))
            .with_path(path));
        }
        if found == Compression::Zlib {
            return Err(Error::spec(
                "cannot append to a ZLIB file: the format has one stream, and readers ignore a \
                 second one; use GZIP",
            )
            .with_path(path));
        }
        Ok(found)
    }
}

/// How many bytes a file has that is certainly compressed.
const KNOWN_BY: u64 = 3;

/// Whether an interrupted writer may have left the file like this.
fn is_torn(error: &Error) -> bool {
    error.category() == Category::Truncated
        && !matches!(error.kind(), ErrorKind::ImpossibleLength(_))
}
