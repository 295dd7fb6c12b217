//! Batches of files, on several threads.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tfrecs_core::Result;
use tfrecs_core::example::{ExampleDecoder, SequenceDecoder};
use tfrecs_core::pipeline::scan::{Request, Skipped, scan_both, scan_columns, scan_records};
use tfrecs_core::record::ReadOptions;
use tfrecs_core::record::salvage::SkippedRegion;

use crate::batches::{Batches, Kind, Wanted};
use crate::error::Raise;
use crate::meter::PyMeter;
use crate::reader::{GivenLimits, compression_of, limits_of};
use crate::salvage::region_of;
use crate::samples::PySamples;

/// Iterates over batches; none behind the last, or behind an error.
#[pyclass(frozen, name = "Scan", module = "tfrecs._core")]
pub struct PyScan {
    batches: Batches,
    skipped: Option<Skipped>,
}

#[pymethods]
impl PyScan {
    /// Begins to read.
    #[new]
    #[pyo3(signature = (paths, batch, drop_remainder, threads, compression_type, verify, limits, most_bytes=None, features=None, lists=None, skip_corrupt=false, keep=false, most_ahead=None, partial=false, samples=None))]
    #[allow(
        clippy::too_many_arguments,
        clippy::fn_params_excessive_bools,
        reason = "nobody but Dataset calls it"
    )]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        batch: usize,
        drop_remainder: bool,
        threads: usize,
        compression_type: &str,
        verify: bool,
        limits: GivenLimits,
        most_bytes: Option<usize>,
        features: Option<Bound<'_, PyTuple>>,
        lists: Option<Bound<'_, PyTuple>>,
        skip_corrupt: bool,
        keep: bool,
        most_ahead: Option<usize>,
        partial: bool,
        samples: Option<Bound<'_, PySamples>>,
    ) -> PyResult<Self> {
        let skipped = skip_corrupt.then(Skipped::default);
        let request = Request {
            paths,
            read: ReadOptions {
                compression: compression_of(compression_type).or_raise(py)?,
                verify,
                limits: limits_of(limits),
            },
            batch,
            most_bytes: most_bytes.unwrap_or(usize::MAX),
            drop_remainder,
            threads,
            most_ahead: most_ahead.unwrap_or(usize::MAX),
            skipped: skipped.clone(),
            partial,
            samples: samples.map(|samples| Arc::clone(&samples.get().0)),
        };
        let started = start(&request, &Wanted::of(features, lists, keep)?);
        Ok(Self {
            batches: Batches::new(started.or_raise(py)?),
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
            // A signal: they are told the next time.
            let mut later = lock();
            regions.append(&mut later);
            *later = regions;
        }
        told
    }
}

fn start(request: &Request, wanted: &Wanted) -> Result<Kind> {
    let (features, lists) = (wanted.features.as_deref(), wanted.lists.as_deref());
    match (features, lists) {
        (None, None) => scan_records(request).map(|scan| Kind::Records(scan, None)),
        (features, None) if wanted.keep => {
            scan_both(request, || ExampleDecoder::new(features)).map(Kind::Examples)
        }
        (features, None) => {
            scan_columns(request, || ExampleDecoder::new(features)).map(Kind::Examples)
        }
        (context, lists) => {
            scan_columns(request, || SequenceDecoder::new(context, lists)).map(Kind::Sequences)
        }
    }
}
