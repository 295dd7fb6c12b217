//! Reads at an offset, whatever the position of the file is.

use std::fs::File;

use crate::error::{Error, Result};
use crate::runtime::interrupt::retrying;

/// Reads from `offset` on until `room` is full or the file ends, and says how many bytes that were.
///
/// # Errors
/// Any I/O error, with the offset.
pub(crate) fn fill(file: &File, room: &mut [u8], offset: u64) -> Result<usize> {
    let mut filled = 0;
    while let Some(rest) = room.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let at = offset + filled as u64;
        match retrying(|| read_at(file, rest, at)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) => return Err(Error::from(error).at_offset(at)),
        }
    }
    Ok(filled)
}

#[cfg(unix)]
pub(crate) fn read_at(file: &File, room: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, room, offset)
}

#[cfg(windows)]
pub(crate) fn read_at(file: &File, room: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, room, offset)
}
