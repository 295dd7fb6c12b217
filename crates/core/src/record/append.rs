//! Appending: what stands at the end of the file, and whether more may follow.

use std::path::Path;

use super::compression::Compression;
use super::reader::{ReadOptions, RecordReader};
use crate::error::{Category, Error, ErrorKind, Result};

/// What stands at the end of a file that is to be appended to.
#[derive(Default)]
pub struct Tail {
    compression: Compression,
    /// The length of what is sound.
    pub length: u64,
    /// How many bytes of a torn record follow it.
    pub torn: u64,
}

impl Tail {
    /// Reads all of `path`, checksums included: nothing is added behind damage.
    pub fn of(path: &Path) -> Result<Self> {
        let mut reader = RecordReader::open(path, ReadOptions::default())?;
        let compression = reader.compression();
        let size = path
            .metadata()
            .map_err(|e| Error::from(e).with_path(path))?
            .len();
        loop {
            match reader.next_record() {
                Ok(Some(_)) => {}
                Ok(None) => {
                    return Ok(Self {
                        compression,
                        length: size,
                        torn: 0,
                    });
                }
                Err(error) if Self::is_torn(&error, compression) => {
                    let length = reader.offset();
                    return Ok(Self {
                        compression,
                        length,
                        torn: size - length,
                    });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// A record that an interrupted writer left half written, where it can simply be cut off.
    fn is_torn(error: &Error, compression: Compression) -> bool {
        error.category() == Category::Truncated
            && compression == Compression::None
            && !matches!(error.kind(), ErrorKind::ImpossibleLength(_))
    }

    /// The compression to go on with.
    pub fn agree(&self, path: &Path, asked: Option<Compression>) -> Result<Compression> {
        let found = self.compression;
        if self.length == 0 {
            return Ok(asked.unwrap_or_else(|| Compression::of_suffix(path)));
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
