//! Metadata files that appear whole or not at all.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use tfrecs_core::record::write::destination;
use tfrecs_core::record::write::files::publication::{self, Steps};
use tfrecs_core::record::write::files::whole_file::WholeFile;

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

    /// Leaves it to whoever publishes it.
    fn leave(&self) {
        if let Some(file) = self.take() {
            file.leave();
        }
    }

    /// Its path until it has its name.
    #[getter]
    fn temporary_path(&self) -> Option<OsString> {
        let file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let path = file.as_ref().and_then(WholeFile::temporary_path);
        path.map(|path| path.as_os_str().to_owned())
    }
}

/// Renames (from, to), files to remove afterwards, and whether to sync each step to the disk.
type GivenSteps = (Vec<(PathBuf, PathBuf)>, Vec<PathBuf>, bool);

fn steps_of((moves, old, sync): GivenSteps) -> Steps {
    Steps { moves, old, sync }
}

/// Publishes the files of a set, with journals.
#[pyfunction]
pub fn publish_set(
    py: Python<'_>,
    journals: Vec<Bound<'_, PyWholeFile>>,
    steps: GivenSteps,
) -> PyResult<()> {
    let journals = journals
        .iter()
        .filter_map(|file| file.get().take())
        .collect();
    let steps = steps_of(steps);
    py.detach(|| publication::publish(journals, &steps))
        .or_raise(py)
}

/// Does what a journal says, whose writer is gone.
#[pyfunction]
pub fn finish_set(py: Python<'_>, journal: PathBuf, steps: GivenSteps) -> PyResult<()> {
    let steps = steps_of(steps);
    py.detach(|| publication::finish(&journal, &steps))
        .or_raise(py)
}

/// Whether somebody has the file open and locked.
#[pyfunction]
pub fn is_locked(py: Python<'_>, path: PathBuf) -> bool {
    py.detach(|| destination::is_locked(&path))
}
