//! Files with their indices.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tfrecs_core::Result;
use tfrecs_core::record::ReadOptions;
use tfrecs_core::record::index::file_access;
use tfrecs_core::record::index::indexed_file::{self, IndexedFile};
use tfrecs_core::runtime::ordered_workers::Ordered;

use crate::error::Raise;
use crate::files::reader::{GivenLimits, compression_of, limits_of};
use crate::interpreter::bytes::bytes_of;
use crate::interpreter::shared::Shared;

/// A file, and where each of its records is.
#[pyclass(frozen, name = "IndexedFile", module = "tfrecs._core")]
pub struct PyIndexedFile(pub Arc<IndexedFile>);

impl From<IndexedFile> for PyIndexedFile {
    fn from(file: IndexedFile) -> Self {
        Self(Arc::new(file))
    }
}

/// Goes over all records of files, and hands out each file with its index, in order.
#[pyclass(frozen, name = "Indexing", module = "tfrecs._core")]
pub struct PyIndexing(Shared<Ordered<Result<IndexedFile>>>);

#[pymethods]
impl PyIndexing {
    #[new]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        compression_type: &str,
        threads: usize,
        limits: GivenLimits,
    ) -> PyResult<Self> {
        let options = ReadOptions {
            compression: compression_of(compression_type).or_raise(py)?,
            verify: false,
            limits: limits_of(limits),
        };
        let started = indexed_file::build_all(paths, options, threads);
        Ok(Self(Shared::new(started.or_raise(py)?)))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyIndexedFile>> {
        let next = py.detach(|| self.0.enter()?.next_result()?.transpose());
        Ok(next.or_raise(py)?.map(PyIndexedFile::from))
    }
}

/// The number of records in a file, by their headers where that can be done.
#[pyfunction]
pub fn count_records(
    py: Python<'_>,
    path: PathBuf,
    compression_type: &str,
    threads: usize,
    limits: GivenLimits,
) -> PyResult<u64> {
    let options = ReadOptions {
        compression: compression_of(compression_type).or_raise(py)?,
        verify: false,
        limits: limits_of(limits),
    };
    py.detach(|| indexed_file::count(&path, options, threads))
        .or_raise(py)
}

/// Keeps at most that many files of sequences open from now on.
#[pyfunction]
pub fn keep_open(most: usize) {
    file_access::keep_open(most);
}

#[pymethods]
impl PyIndexedFile {
    /// The index that is kept in the file `stored`; None if it is none, or of another file; if it `was_found`, and
    /// not named by whoever reads, also if it is a stranger's; if it `is_local`, also if the file was replaced.
    #[staticmethod]
    #[pyo3(signature = (path, stored, was_found, is_local=false))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        stored: PathBuf,
        was_found: bool,
        is_local: bool,
    ) -> Option<Self> {
        py.detach(|| IndexedFile::load(&path, &stored, was_found, is_local))
            .map(Self::from)
    }

    /// The index that these bytes are; None if they are none, or of another file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, path: PathBuf, index: &[u8]) -> Option<Self> {
        py.detach(|| IndexedFile::from_bytes(&path, index))
            .map(Self::from)
    }

    /// The index that a text of offsets and lengths gives; None if it does not fit the file.
    #[staticmethod]
    fn from_text(py: Python<'_>, path: PathBuf, text: &str) -> Option<Self> {
        py.detach(|| IndexedFile::from_text(&path, text))
            .map(Self::from)
    }

    /// The index as it is kept in a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.to_bytes()).or_raise(py)?;
        bytes_of(py, &bytes)
    }

    /// Writes the index to a file, whole or not at all: as it is, or as a text of offsets and lengths.
    /// One that `is_local` stays on this machine, and is of this very file, not of a copy.
    #[pyo3(signature = (place, as_text, is_local=false))]
    fn save(&self, py: Python<'_>, place: PathBuf, as_text: bool, is_local: bool) -> PyResult<()> {
        py.detach(|| self.0.save(&place, as_text, is_local))
            .or_raise(py)
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.0.len()).unwrap_or(usize::MAX)
    }

    /// The file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.0.path().to_path_buf()
    }

    /// The file, wherever the process goes.
    #[getter]
    fn absolute(&self) -> PathBuf {
        self.0.absolute().to_path_buf()
    }

    /// How it is compressed: "", "GZIP" or "ZLIB".
    #[getter]
    fn compression_type(&self) -> &'static str {
        self.0.compression().name()
    }

    /// How many bytes the file has.
    #[getter]
    fn size(&self) -> u64 {
        self.0.size()
    }

    /// Where the last record ends.
    fn end(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(py.detach(|| self.0.index()).or_raise(py)?.end())
    }

    /// The number of the first record that begins at an offset or after it, and where that record begins.
    fn first_from(&self, py: Python<'_>, offset: u64) -> PyResult<(usize, u64)> {
        let index = py.detach(|| self.0.index()).or_raise(py)?;
        let first = index.first_from(offset);
        Ok((
            first,
            index.get(first).map_or(index.end(), |place| place.start),
        ))
    }
}
