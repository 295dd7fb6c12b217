//! Open named pipes, and descriptors by path (`/dev/stdout`).
//!
//! A named pipe waits for its other end: Rust's `File::open` keeps waiting after a signal; Python's `os.open` stops
//! for Ctrl-C. `/dev/stdout` may be a file that other processes write too, so it is written in place, never replaced.

use std::fs::File;
use std::path::Path;

use pyo3::prelude::*;

/// Which end of a pipe to open.
#[derive(Clone, Copy)]
pub enum End {
    /// The one that bytes come out of.
    Read,
    /// The one that bytes go into.
    Write,
}

/// Opens `path` if it is a named pipe, or, to write, the name of a descriptor.
#[cfg(unix)]
#[allow(unsafe_code, reason = "Python hands a file over as a number")]
pub fn open(py: Python<'_>, path: &Path, end: End) -> PyResult<Option<File>> {
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;

    let os = py.import("os")?;
    if let (End::Write, Some(number)) = (end, descriptor_of(path)) {
        let twin = os.call_method1("dup", (number,))?.extract()?;
        // SAFETY: os.dup has just made this descriptor; nothing else owns it.
        return Ok(Some(File::from(unsafe { OwnedFd::from_raw_fd(twin) })));
    }
    if !path
        .metadata()
        .is_ok_and(|metadata| metadata.file_type().is_fifo())
    {
        return Ok(None);
    }
    let flags = match end {
        End::Read => os.getattr("O_RDONLY")?,
        End::Write => os.getattr("O_WRONLY")?,
    };
    let number = os.call_method1("open", (path, flags))?.extract()?;
    // SAFETY: os.open has just opened it, and nobody else knows the number.
    Ok(Some(File::from(unsafe { OwnedFd::from_raw_fd(number) })))
}

/// The number of the descriptor that `path` is a name of.
#[cfg(unix)]
fn descriptor_of(path: &Path) -> Option<i32> {
    match path.to_str()? {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        name => {
            let number = (name.strip_prefix("/dev/fd/")).or(name.strip_prefix("/proc/self/fd/"));
            number?.parse().ok()
        }
    }
}

/// Only Unix has pipes with names in the file system.
#[cfg(not(unix))]
pub fn open(_: Python<'_>, _: &Path, _: End) -> PyResult<Option<File>> {
    Ok(None)
}
