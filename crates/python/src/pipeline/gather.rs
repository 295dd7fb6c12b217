//! Batches of the records of a sequence, in any order, on several threads.

use pyo3::prelude::*;
use tfrecs_core::pipeline::gather::{Pick, Pool};

use crate::error::Raise;
use crate::files::records::PyRecords;
use crate::files::sequence::PySequence;
use crate::pipeline::batches::Batches;
use crate::pipeline::meter::PyMeter;
use crate::pipeline::options::{PyBatching, PyOutput};
use crate::pipeline::order::PyOrder;

/// Iterates over batches; none after the last, or after an error.
#[pyclass(frozen, name = "Gather", module = "tfrecs._core")]
pub struct PyGather(Batches);

#[pymethods]
impl PyGather {
    /// Begins to read, with batch number `first_batch` of the pass of this epoch.
    #[new]
    fn new(
        py: Python<'_>,
        pool: &Bound<'_, PyAny>,
        order: &PyOrder,
        epoch: u64,
        first_batch: u64,
        batching: &PyBatching,
        output: &PyOutput,
    ) -> PyResult<Self> {
        let pick = Pick {
            pool: pool_of(pool)?,
            order: order.order.clone(),
            epoch,
            batch: batching.size,
            drop_remainder: batching.drop_remainder,
            first_batch,
            threads: batching.threads,
            most_ahead: batching.most_ahead,
        };
        let started = py.detach(|| output.start(&pick));
        Ok(Self(Batches::new(started.or_raise(py)?)))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.next(py)
    }

    /// Counts what comes from now on in `meter`.
    fn count_in(&self, meter: Py<PyMeter>) {
        self.0.count_in(meter);
    }

    /// Stops the threads.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.close(py)
    }
}

/// Records of files, or in memory.
fn pool_of(pool: &Bound<'_, PyAny>) -> PyResult<Pool> {
    if let Ok(records) = pool.cast::<PyRecords>() {
        return Ok(Pool::Memory(records.get().0.clone()));
    }
    let sequence = pool.cast::<PySequence>()?;
    Ok(Pool::Files(sequence.get().sequence(pool.py())?))
}
