//! Batches of records or of columns, as they come from several threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use tfrecs_core::pipeline::scan::Scan;
use tfrecs_core::pipeline::sound::Sound;
use tfrecs_core::record::Records;
use tfrecs_core::{Category, Error, Result};

use crate::arrays::columns::PyColumns;
use crate::error::Raise;
use crate::files::records::PyRecords;
use crate::interpreter::shared::Shared;
use crate::pipeline::meter::PyMeter;

/// Batches; `None` after the last, after a file's error, and once they are closed.
pub struct Batches {
    kind: Shared<Option<Kind>>,
    /// Tells who waits for a batch that it will not come.
    closing: Arc<AtomicBool>,
    /// Where to count them.
    meter: OnceLock<Py<PyMeter>>,
}

/// What a batch is.
pub enum Kind {
    /// Records, and the error after the last of them.
    Records(Scan<Sound>, Option<Error>),
    Examples(Scan<(RecordBatch, Records)>),
    Sequences(Scan<((RecordBatch, RecordBatch), Records)>),
}

/// A batch.
enum Batch {
    Records(Records),
    Examples(RecordBatch, Records),
    Sequences(RecordBatch, RecordBatch, Records),
}

impl Batches {
    pub fn new(kind: Kind) -> Self {
        Self {
            closing: kind.closing(),
            kind: Shared::new(Some(kind)),
            meter: OnceLock::new(),
        }
    }

    /// Counts what comes from now on.
    pub fn count_in(&self, meter: Py<PyMeter>) {
        let _ = self.meter.set(meter);
    }

    /// The next one: Records if there is nothing to decode; else a tuple of Columns of the features (and, if
    /// there are lists, of those), and the places of the records as Records without content.
    pub fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        // A loop in C that takes ready batches never waits, and so would never see a signal.
        py.check_signals()?;
        match py.detach(|| self.next_batch()).or_raise(py)? {
            None => Ok(None),
            Some(batch) => batch.hand_out(py).map(Some),
        }
    }

    /// Stops the threads; another thread that waits for a batch gets an error instead.
    pub fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.closing.store(true, Ordering::Relaxed);
        py.detach(|| self.kind.enter().map(|mut kind| *kind = None))
            .or_raise(py)
    }

    fn next_batch(&self) -> Result<Option<Batch>> {
        let mut kind = self.kind.enter()?;
        let next = match (kind.as_mut(), self.meter.get()) {
            (None, _) => Ok(None),
            (Some(kind), None) => kind.next_batch(),
            (Some(kind), Some(meter)) => kind.counted(meter.get()),
        };
        let is_over = match &next {
            Ok(batch) => batch.is_none(),
            // The content of a record is wrong, not the file: the next batch may be sound.
            Err(error) => !error.is_interrupt() && error.category() != Category::Parse,
        };
        if is_over {
            *kind = None;
        }
        next
    }
}

impl Kind {
    fn closing(&self) -> Arc<AtomicBool> {
        match self {
            Self::Records(scan, _) => scan.closing(),
            Self::Examples(scan) => scan.closing(),
            Self::Sequences(scan) => scan.closing(),
        }
    }

    /// How long the threads have worked.
    fn worked(&self) -> Duration {
        match self {
            Self::Records(scan, _) => scan.worked(),
            Self::Examples(scan) => scan.worked(),
            Self::Sequences(scan) => scan.worked(),
        }
    }

    fn counted(&mut self, meter: &PyMeter) -> Result<Option<Batch>> {
        let begun = Instant::now();
        let next = self.next_batch();
        let size = match &next {
            Ok(Some(batch)) => batch.size(),
            _ => (0, 0),
        };
        meter.add_batch(size, begun.elapsed(), self.worked());
        next
    }

    fn next_batch(&mut self) -> Result<Option<Batch>> {
        Ok(match self {
            Self::Records(scan, later) => {
                if let Some(error) = later.take() {
                    return Err(error);
                }
                scan.next_result()?.transpose()?.map(|sound| {
                    *later = sound.error;
                    Batch::Records(sound.records)
                })
            }
            Self::Examples(scan) => (scan.next_result()?.transpose()?)
                .map(|(columns, places)| Batch::Examples(columns, places)),
            Self::Sequences(scan) => (scan.next_result()?.transpose()?)
                .map(|((context, lists), places)| Batch::Sequences(context, lists, places)),
        })
    }
}

impl Batch {
    /// How many records it was made of, and how many bytes they have.
    fn size(&self) -> (usize, usize) {
        match self {
            Self::Records(records)
            | Self::Examples(_, records)
            | Self::Sequences(_, _, records) => (records.len(), records.payload_bytes()),
        }
    }

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
