//! Batches of files, on several threads.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use pyo3::prelude::*;
use tfrecs_core::pipeline::scan::{Request, Skipped};
use tfrecs_core::record::salvage::SkippedRegion;

use crate::error::Raise;
use crate::files::salvage::region_of;
use crate::files::samples::PySamples;
use crate::pipeline::batches::Batches;
use crate::pipeline::meter::PyMeter;
use crate::pipeline::options::{PyBatching, PyOutput, PyReadOptions};

/// Iterates over batches; none after the last, or after an error.
#[pyclass(frozen, name = "Scan", module = "tfrecs._core")]
pub struct PyScan {
    batches: Batches,
    skipped: Option<Skipped>,
}

#[pymethods]
impl PyScan {
    /// Begins to read.
    #[new]
    #[pyo3(signature = (paths, read, batching, output, samples=None))]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        read: &PyReadOptions,
        batching: &PyBatching,
        output: &PyOutput,
        samples: Option<Bound<'_, PySamples>>,
    ) -> PyResult<Self> {
        let skipped = read.skip_corrupt.then(Skipped::default);
        let request = Request {
            paths,
            read: read.read,
            batch: batching.size,
            most_bytes: batching.most_bytes,
            drop_remainder: batching.drop_remainder,
            threads: batching.threads,
            most_ahead: batching.most_ahead,
            skipped: skipped.clone(),
            partial: output.is_partial(),
            samples: samples.map(|samples| Arc::clone(&samples.get().0)),
        };
        Ok(Self {
            batches: Batches::new(output.start(&request).or_raise(py)?),
            skipped,
        })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.batches.next(py)
    }

    /// Counts what comes from now on in `meter`.
    fn count_in(&self, meter: Py<PyMeter>) {
        self.batches.count_in(meter);
    }

    /// Stops the threads.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.batches.close(py)
    }

    /// What has been skipped since the last call: path, begin, end and reason of each region.
    fn take_skipped(&self, py: Python<'_>) -> PyResult<Vec<(OsString, u64, u64, PyErr)>> {
        let Some(skipped) = &self.skipped else {
            return Ok(Vec::new());
        };
        let lock = || skipped.lock().unwrap_or_else(PoisonError::into_inner);
        let mut regions = std::mem::take(&mut *lock());
        let as_tuple = |(path, region): &(PathBuf, SkippedRegion)| {
            let (begin, end, reason) = region_of(py, region)?;
            Ok((path.as_os_str().to_owned(), begin, end, reason))
        };
        let told: PyResult<Vec<_>> = regions.iter().map(as_tuple).collect();
        if told.is_err() {
            // A signal: they are reported the next time.
            let mut later = lock();
            regions.append(&mut later);
            *later = regions;
        }
        told
    }
}
