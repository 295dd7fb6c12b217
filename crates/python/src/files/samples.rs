//! By what files are known again.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use tfrecs_core::record::storage::identity::{Samples, local_identity};

use crate::error::Raise;

/// Samples of a list of files: each is sampled once, when it is first opened or asked for.
#[pyclass(frozen, name = "Samples", module = "tfrecs._core")]
pub struct PySamples(pub Arc<Samples>);

#[pymethods]
impl PySamples {
    #[new]
    fn new(paths: Vec<PathBuf>) -> Self {
        Self(Arc::new(Samples::new(paths)))
    }

    /// The checksums of the samples of the files `begin` to `end`; 0 of what is no regular file.
    fn of(&self, py: Python<'_>, begin: usize, end: usize, threads: usize) -> PyResult<Vec<u32>> {
        py.detach(|| self.0.of(begin..end, threads)).or_raise(py)
    }

    /// Takes over what was sampled of all files.
    fn take_over(&self, found: Vec<u32>) {
        self.0.take_over(&found);
    }

    /// The files to sample: first and last of each range.
    fn ranges(&self) -> Vec<(usize, usize)> {
        let ranges = self.0.ranges();
        ranges.into_iter().map(|it| (it.start, it.end)).collect()
    }
}

/// Fingerprint of a file on this machine: size, time of change, samples (with the inode);
/// None if it is no regular file.
#[pyfunction]
pub fn file_identity(py: Python<'_>, path: PathBuf) -> PyResult<Option<(u64, i64, u32)>> {
    py.detach(|| local_identity(&path)).or_raise(py)
}
