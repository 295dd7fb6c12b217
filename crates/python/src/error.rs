//! The only place that makes Python exceptions.

use std::cell::Cell;
use std::path::Path;

use pyo3::exceptions::{PyIndexError, PyKeyboardInterrupt, PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use tfrecs_core::error::counted;
use tfrecs_core::runtime::interrupt::on_interrupt;
use tfrecs_core::{Category, Error, ErrorKind};

/// The exception for an error of the core.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    exception_of(py, error).unwrap_or_else(|failure| failure)
}

/// The same for whoever hands it out as a value: while it is made, Python runs, and a signal handler may raise
/// something else.
pub fn exception_of(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    if error.is_interrupt()
        && let Some(signal) = SIGNAL.take()
    {
        return Ok(signal);
    }
    let class = class_of(py, error)?;
    let details = PyDict::new(py);
    details.set_item("path", error.path().map(Path::as_os_str))?;
    details.set_item("record", error.record())?;
    details.set_item("offset", error.offset())?;
    details.set_item("feature", error.feature())?;
    details.set_item("reason", error.kind().to_string())?;
    if let ErrorKind::Io(_, errno, _) = error.kind() {
        details.set_item("errno", *errno)?;
    }
    Ok(PyErr::from_value(
        class.call((error.to_string(),), Some(&details))?,
    ))
}

fn class_of<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyType>> {
    let name = match error.category() {
        Category::Corrupt => "CorruptRecordError",
        Category::Truncated => "TruncatedFileError",
        Category::NotTfRecord => "NotTFRecordError",
        Category::Parse => "ParseError",
        Category::Spec => "SpecError",
        Category::State => "StateError",
        Category::Limit => "LimitError",
        Category::Memory => "OutOfMemoryError",
        Category::Io => match error.kind() {
            ErrorKind::Io(std::io::ErrorKind::NotFound, ..) => "MissingFileError",
            ErrorKind::Io(std::io::ErrorKind::IsADirectory, ..) => "DirectoryError",
            ErrorKind::Io(std::io::ErrorKind::AlreadyExists, ..) => "ExistingFileError",
            ErrorKind::Io(std::io::ErrorKind::PermissionDenied, ..) => "DeniedFileError",
            _ => "FileError",
        },
    };
    Ok(py
        .import("tfrecs.errors")?
        .getattr(name)?
        .cast_into::<PyType>()?)
}

thread_local! {
    /// What a signal handler raised while the core was waiting.
    static SIGNAL: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Lets the core be interrupted by Ctrl-C and by other signals whose handlers raise.
pub fn listen_to_signals() {
    on_interrupt(|| match check_signals() {
        Ok(()) => true,
        Err(signal) => {
            SIGNAL.set(Some(signal));
            false
        }
    });
}

/// Lets a signal such as Ctrl-C become an exception.
///
/// Python hears signals on its main thread only. When that has ended, it waits for the others, which are told here:
/// one that waits for what never comes would hold up the end of the process.
pub fn check_signals() -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        let ends = (py.import("threading")?).getattr_opt("_SHUTTING_DOWN")?;
        if ends.map_or(Ok(false), |ends| ends.is_truthy())? {
            return Err(PyKeyboardInterrupt::new_err("the process ends"));
        }
        Ok(())
    })
}

/// The core's result as Python's.
pub trait Raise<T> {
    /// Maps an error to its exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> Raise<T> for Result<T, Error> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, &error))
    }
}

/// A `TypeError`.
pub fn wrong_type(text: impl Into<String>) -> PyErr {
    PyTypeError::new_err(text.into())
}

/// A `MemoryError`.
pub fn no_memory() -> PyErr {
    PyMemoryError::new_err("there is no memory for so large an array")
}

/// An `IndexError`.
pub fn no_such_index(index: impl std::fmt::Display, len: usize) -> PyErr {
    let records = counted(len as u64, "record");
    PyIndexError::new_err(format!("index {index} is out of range for {records}"))
}
