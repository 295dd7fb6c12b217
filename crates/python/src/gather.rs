//! Batches of the records of a sequence, in any order, on several threads.

use pyo3::prelude::*;
use pyo3::types::{PyAnyMethods, PyTuple};
use tfrecs_core::Result;
use tfrecs_core::example::{ExampleDecoder, SequenceDecoder};
use tfrecs_core::pipeline::gather::{Pick, Pool, gather_both, gather_columns, gather_records};
use tfrecs_core::pipeline::order::{Order, Policy, Shard, Step};

use crate::batches::{Batches, Kind, Wanted};
use crate::error::{Raise, wrong_type};
use crate::meter::PyMeter;
use crate::records::PyRecords;
use crate::sequence::PySequence;

/// A step of an order, as Python hands it in: its name, and what it takes.
pub struct GivenStep(Step);

impl<'py> FromPyObject<'_, 'py> for GivenStep {
    type Error = PyErr;

    fn extract(step: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (name, given) = {
            let step = step.cast::<PyTuple>()?;
            (step.get_item(0)?, step.get_slice(1, step.len()))
        };
        let name: String = name.extract()?;
        Ok(Self(match name.as_str() {
            "records" => Step::Records(given.extract::<(u64,)>()?.0),
            "shuffle" => Step::Shuffle {
                seed: given.extract::<(u64,)>()?.0,
            },
            "repeat" => Step::Repeat(given.extract::<(Option<u64>,)>()?.0),
            "shard" => Step::Shard(shard_of(given.extract()?)?),
            "window" => {
                let (seed, size) = given.extract()?;
                Step::Window { seed, size }
            }
            "blocks" => {
                let (seed, size) = given.extract()?;
                Step::Blocks { seed, size }
            }
            "stripe" => {
                let (block, num, index) = given.extract()?;
                Step::Stripe { block, num, index }
            }
            "skip" => Step::Skip(given.extract::<(u64,)>()?.0),
            "take" => Step::Take(given.extract::<(u64,)>()?.0),
            _ => return Err(wrong_type(format!("there is no step {name:?}"))),
        }))
    }
}

fn shard_of((num, index, base, policy): (u64, u64, u64, String)) -> PyResult<Shard> {
    let policy = match policy.as_str() {
        "uneven" => Policy::Uneven,
        "drop" => Policy::Drop,
        "pad" => Policy::Pad,
        _ => return Err(wrong_type(format!("there is no policy {policy:?}"))),
    };
    Ok(Shard {
        num,
        index,
        base,
        policy,
    })
}

fn order_of(py: Python<'_>, steps: Vec<GivenStep>) -> PyResult<Order> {
    let steps: Vec<_> = steps.into_iter().map(|step| step.0).collect();
    Order::new(&steps).or_raise(py)
}

/// How many elements a pass has; none: it has no end.
#[pyfunction]
pub fn order_length(py: Python<'_>, steps: Vec<GivenStep>) -> PyResult<Option<u64>> {
    Ok(order_of(py, steps)?.len())
}

/// Which records come from place `start` on, up to `stop`, of the pass that these steps make.
#[pyfunction]
pub fn order_at(
    py: Python<'_>,
    steps: Vec<GivenStep>,
    start: u64,
    stop: u64,
    epoch: u64,
) -> PyResult<Vec<u64>> {
    let order = order_of(py, steps)?;
    let mut records = Vec::new();
    py.detach(|| order.fill(start..stop, epoch, &mut records))
        .or_raise(py)?;
    Ok(records)
}

/// Iterates over batches; none behind the last, or behind an error.
#[pyclass(frozen, name = "Gather", module = "tfrecs._core")]
pub struct PyGather(Batches);

#[pymethods]
impl PyGather {
    /// Begins to read.
    #[new]
    #[pyo3(signature = (pool, steps, epoch, batch, drop_remainder, first_batch, num_threads, features=None, lists=None, keep=false, most_ahead=None, partial=false))]
    #[allow(
        clippy::too_many_arguments,
        clippy::fn_params_excessive_bools,
        reason = "nobody but Dataset calls it"
    )]
    fn new(
        py: Python<'_>,
        pool: &Bound<'_, PyAny>,
        steps: Vec<GivenStep>,
        epoch: u64,
        batch: usize,
        drop_remainder: bool,
        first_batch: u64,
        num_threads: usize,
        features: Option<Bound<'_, PyTuple>>,
        lists: Option<Bound<'_, PyTuple>>,
        keep: bool,
        most_ahead: Option<usize>,
        partial: bool,
    ) -> PyResult<Self> {
        let pick = Pick {
            pool: pool_of(pool)?,
            order: order_of(py, steps)?,
            epoch,
            batch,
            drop_remainder,
            first_batch,
            threads: num_threads,
            most_ahead: most_ahead.unwrap_or(usize::MAX),
            partial,
        };
        let wanted = Wanted::of(features, lists, keep)?;
        let started = py.detach(|| start(&pick, &wanted));
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

fn start(pick: &Pick, wanted: &Wanted) -> Result<Kind> {
    let (features, lists) = (wanted.features.as_deref(), wanted.lists.as_deref());
    match (features, lists) {
        (None, None) => gather_records(pick).map(|scan| Kind::Records(scan, None)),
        (features, None) if wanted.keep => {
            gather_both(pick, || ExampleDecoder::new(features)).map(Kind::Examples)
        }
        (features, None) => {
            gather_columns(pick, || ExampleDecoder::new(features)).map(Kind::Examples)
        }
        (context, lists) => {
            gather_columns(pick, || SequenceDecoder::new(context, lists)).map(Kind::Sequences)
        }
    }
}
