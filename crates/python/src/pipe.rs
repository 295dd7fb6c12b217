//! Opening named pipes, which waits for the other end.
//!
//! Rust's `File::open` goes on waiting after a signal; Python's `os.open` stops for Ctrl-C.

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

/// Opens `path` if it is a named pipe.
#[cfg(unix)]
#[allow(unsafe_code, reason = "Python hands a file over as a number")]
pub fn open(py: Python<'_>, path: &Path, end: End) -> PyResult<Option<File>> {
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;

    if !path
        .metadata()
        .is_ok_and(|metadata| metadata.file_type().is_fifo())
    {
        return Ok(None);
    }
    let os = py.import("os")?;
    let flags = match end {
        End::Read => os.getattr("O_RDONLY")?,
        End::Write => os.getattr("O_WRONLY")?,
    };
    let number = os.call_method1("open", (path, flags))?.extract()?;
    // SAFETY: os.open has just opened it, and nobody else knows the number.
    Ok(Some(File::from(unsafe { OwnedFd::from_raw_fd(number) })))
}

/// Only Unix has pipes with names in the file system.
#[cfg(not(unix))]
pub fn open(_: Python<'_>, _: &Path, _: End) -> PyResult<Option<File>> {
    Ok(None)
}
