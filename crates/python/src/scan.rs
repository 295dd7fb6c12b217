//! Batches of files, on several threads.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::PoisonError;

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tfrecs_core::Result;
use tfrecs_core::example::{ExampleDecoder, SequenceDecoder};
use tfrecs_core::record::salvage::SkippedRegion;
use tfrecs_core::record::{ReadOptions, Records};
use tfrecs_core::scan::{Request, Scan, Skipped, scan_columns, scan_records};

use crate::columns::PyColumns;
use crate::decode::{SpecPieces, assemble};
use crate::error::Raise;
use crate::reader::{GivenLimits, compression_of, limits_of};
use crate::records::PyRecords;
use crate::salvage::region_of;
use crate::shared::Shared;

/// Iterates over batches; none behind the last, or behind an error.
#[pyclass(frozen, name = "Scan", module = "tfrecs._core")]
pub struct PyScan {
    kind: Shared<Option<Kind>>,
    skipped: Option<Skipped>,
}

/// What a batch is.
enum Kind {
    Records(Scan<Records>),
    Examples(Scan<(RecordBatch, Records)>),
    Sequences(Scan<((RecordBatch, RecordBatch), Records)>),
}

/// A batch.
enum Batch {
    Records(Records),
    Examples(RecordBatch, Records),
    Sequences(RecordBatch, RecordBatch, Records),
}

#[pymethods]
impl PyScan {
    /// Begins to read. A batch is Records if there is nothing to decode; else a tuple of Columns of the
    /// features (and, if there are lists, of those), and the places of the records as Records without
    /// content.
    #[new]
    #[pyo3(signature = (paths, batch, drop_remainder, threads, compression_type, verify, limits, most_bytes=None, features=None, lists=None, skip_corrupt=false))]
    #[allow(clippy::too_many_arguments, reason = "nobody but Dataset calls it")]
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
            skipped: skipped.clone(),
        };
        let features = assemble(features, SpecPieces::feature)?;
        let lists = assemble(lists, SpecPieces::list)?;
        let (features, lists) = (features.as_deref(), lists.as_deref());
        let started = match (features, lists) {
            (None, None) => scan_records(&request).map(Kind::Records),
            (features, None) => {
                scan_columns(&request, || ExampleDecoder::new(features)).map(Kind::Examples)
            }
            (context, lists) => {
                scan_columns(&request, || SequenceDecoder::new(context, lists)).map(Kind::Sequences)
            }
        };
        Ok(Self {
            kind: Shared::new(Some(started.or_raise(py)?)),
            skipped,
        })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        // Whoever takes what is ready, in a loop of C, never waits, and would never hear of a signal.
        py.check_signals()?;
        match py.detach(|| self.next_batch()).or_raise(py)? {
            None => Ok(None),
            Some(batch) => batch.hand_out(py).map(Some),
        }
    }

    /// Stops the threads.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.kind.enter().map(|mut kind| *kind = None))
            .or_raise(py)
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

impl PyScan {
    fn next_batch(&self) -> Result<Option<Batch>> {
        let mut kind = self.kind.enter()?;
        let next = kind.as_mut().map_or(Ok(None), Kind::next_batch);
        let is_over = match &next {
            Ok(batch) => batch.is_none(),
            Err(error) => !error.is_interrupt(),
        };
        if is_over {
            *kind = None;
        }
        next
    }
}

impl Kind {
    fn next_batch(&mut self) -> Result<Option<Batch>> {
        Ok(match self {
            Self::Records(scan) => scan.next_result()?.transpose()?.map(Batch::Records),
            Self::Examples(scan) => (scan.next_result()?.transpose()?)
                .map(|(columns, places)| Batch::Examples(columns, places)),
            Self::Sequences(scan) => (scan.next_result()?.transpose()?)
                .map(|((context, lists), places)| Batch::Sequences(context, lists, places)),
        })
    }
}

impl Batch {
    fn hand_out(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(match self {
            Self::Records(records) => Bound::new(py, PyRecords(records))?.into_any(),
            Self::Examples(columns, places) => (PyColumns(columns), PyRecords(places))
                .into_pyobject(py)?
                .into_any(),
            Self::Sequences(context, lists, places) => {
                (PyColumns(context), PyColumns(lists), PyRecords(places))
                    .into_pyobject(py)?
                    .into_any()
            }
        })
    }
}
