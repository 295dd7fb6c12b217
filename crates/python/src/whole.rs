//! Metadata files that appear whole or not at all.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use tfrecs_core::record::whole::WholeFile;

use crate::error::Raise;

/// A complete temp file that publish() renames.
#[pyclass(frozen, name = "WholeFile", module = "tfrecs._core")]
pub struct PyWholeFile(Mutex<Option<WholeFile>>);

impl PyWholeFile {
    fn take(&self) -> Option<WholeFile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl PyWholeFile {
    /// Writes `content` beside `path`; with `sync`, it is on the disk then.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, content: &[u8], sync: bool) -> PyResult<Self> {
        let written = py.detach(|| WholeFile::write_beside(&path, content, sync));
        Ok(Self(Mutex::new(Some(written.or_raise(py)?))))
    }

    /// Gives it its name.
    fn publish(&self, py: Python<'_>) -> PyResult<()> {
        let file = self.take();
        py.detach(|| file.map_or(Ok(()), WholeFile::publish))
            .or_raise(py)
    }

    /// Removes it, if it has no name yet.
    fn discard(&self) {
        drop(self.take());
    }
}
