//! Having the system begin to put a file on the disk while it is still being written.
//!
//! A file is synced before it is published. If nothing has gone to the disk until then, all of that is
//! waiting; asked in time, the disk works while the records are still coming.
#![allow(
    unsafe_code,
    reason = "a system call that the standard library does not have"
)]

use std::fs::File;

/// Has the bytes of this part of the file begin their way to the disk, and does not wait for them. It is
/// advice: nobody need know whether it was taken.
#[cfg(target_os = "linux")]
pub fn begin(file: &File, offset: u64, length: u64) {
    use std::os::fd::AsRawFd;

    const SYNC_FILE_RANGE_WRITE: u32 = 2;
    let (Ok(offset), Ok(length)) = (i64::try_from(offset), i64::try_from(length)) else {
        return;
    };
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and no memory is passed.
    unsafe { sync_file_range(file.as_raw_fd(), offset, length, SYNC_FILE_RANGE_WRITE) };
}

#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn sync_file_range(file: i32, offset: i64, length: i64, flags: u32) -> i32;
}

/// Elsewhere the system has no such call.
#[cfg(not(target_os = "linux"))]
pub fn begin(_: &File, _: u64, _: u64) {}
