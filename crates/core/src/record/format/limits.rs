//! How much a file may make its reader hold, and how much it may make it do.
//!
//! An uncompressed file bounds itself: nobody reserves memory for a record that is longer than what is
//! left of its file. A few kilobytes of gzip can hold megabytes, and a pipe says nothing about its length;
//! there only a number can say what is too much. The numbers that hold by default are for nobody to meet
//! by accident.

use crate::error::ErrorKind;

/// The most that a reader takes from one file; what is more is an error.
///
/// ```
/// use tfrecs_core::record::{Limits, ReadOptions};
///
/// let limits = Limits { max_record_bytes: Some(1 << 20), ..Limits::default() };
/// let options = ReadOptions { limits, ..ReadOptions::default() };
/// assert_eq!(options.limits.max_record_bytes, Some(1 << 20));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The longest record, in bytes. `None` is [`MAX_RECORD_BYTES`] where the size of the file does not
    /// bound its records (in compressed files, and in what has no size), and no limit where it does.
    pub max_record_bytes: Option<u64>,
    /// The most bytes that may come out of a compressed file; `None` is [`MAX_DECOMPRESSED_BYTES`].
    pub max_decompressed_bytes: Option<u64>,
}

/// The longest record, in bytes, of a compressed file or a pipe, unless somebody says otherwise: 4 GiB.
pub const MAX_RECORD_BYTES: u64 = 4 << 30;

/// The most bytes that may come out of a compressed file, unless somebody says otherwise: 1 TiB, some ten
/// minutes of work.
pub const MAX_DECOMPRESSED_BYTES: u64 = 1 << 40;

/// How many bytes of a record that is too long are read before it is refused: a file that ends
/// before is cut off, or lies about its length, and that is the better thing to say.
const PROOF: usize = 32 << 20;

/// [`Limits`], of one file.
#[derive(Clone, Copy)]
pub struct FileLimits {
    record: u64,
    decompressed: u64,
}

impl FileLimits {
    /// The limits of a file that does or does not bound its records by its size, and is or is not
    /// compressed.
    pub fn new(limits: Limits, is_bounded: bool, is_compressed: bool) -> Self {
        let of_record = if is_bounded {
            u64::MAX
        } else {
            MAX_RECORD_BYTES
        };
        let of_file = limits
            .max_decompressed_bytes
            .unwrap_or(MAX_DECOMPRESSED_BYTES);
        Self {
            record: limits.max_record_bytes.unwrap_or(of_record),
            decompressed: if is_compressed { of_file } else { u64::MAX },
        }
    }

    /// Refuses a record of `length` bytes if that is too much, and `there` bytes of it show that it is meant.
    pub fn check_record(self, length: u64, there: usize) -> Result<(), ErrorKind> {
        let is_meant = there >= PROOF || there as u64 >= length;
        if length > self.record && is_meant {
            return Err(ErrorKind::RecordLimit {
                length,
                limit: self.record,
            });
        }
        Ok(())
    }

    /// The longest record.
    pub fn record(self) -> u64 {
        self.record
    }

    /// How much of `room` may be filled after the first `done` bytes.
    pub fn room(self, room: &mut [u8], done: u64) -> &mut [u8] {
        let left = usize::try_from(self.decompressed.saturating_sub(done)).unwrap_or(usize::MAX);
        let count = room.len().min(left);
        room.get_mut(..count).unwrap_or_default()
    }

    /// What is wrong with a file out of which more comes.
    pub fn too_much(self) -> ErrorKind {
        ErrorKind::DecompressedLimit(self.decompressed)
    }
}
