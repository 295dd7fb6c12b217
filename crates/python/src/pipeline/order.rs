//! The order of records in a pass.

use pyo3::prelude::*;
use tfrecs_core::pipeline::order::{Order, OrderStep, Policy, Shard, shuffle_blocks};

use crate::error::{Raise, wrong_type};

/// An order of records that is computed; each method returns the order that a further step makes of it.
#[pyclass(frozen, name = "Order", module = "tfrecs._core")]
pub struct PyOrder {
    steps: Vec<OrderStep>,
    pub order: Order,
}

impl PyOrder {
    fn of(py: Python<'_>, steps: Vec<OrderStep>) -> PyResult<Self> {
        let order = Order::new(&steps).or_raise(py)?;
        Ok(Self { steps, order })
    }

    fn then(&self, py: Python<'_>, step: OrderStep) -> PyResult<Self> {
        Self::of(py, [&self.steps[..], &[step]].concat())
    }
}

#[pymethods]
impl PyOrder {
    /// `records` records, in order.
    #[new]
    fn new(py: Python<'_>, records: u64) -> PyResult<Self> {
        Self::of(py, vec![OrderStep::Records(records)])
    }

    /// All of them in another order in each epoch. Compressed records, which have `inflated` bytes, are shuffled by
    /// blocks: see `shuffle_blocks`.
    #[pyo3(signature = (seed, inflated=None))]
    fn shuffle(&self, py: Python<'_>, seed: u64, inflated: Option<u64>) -> PyResult<Self> {
        match inflated {
            None => self.then(py, OrderStep::Shuffle { seed }),
            Some(bytes) => {
                let steps = shuffle_blocks(seed, self.order.records(), bytes);
                Self::of(py, [&self.steps[..], &steps[..]].concat())
            }
        }
    }

    /// In another order in each epoch; none gets farther than one and a half times `size`.
    fn window(&self, py: Python<'_>, seed: u64, size: u64) -> PyResult<Self> {
        self.then(py, OrderStep::Window { seed, size })
    }

    /// Blocks of `size` in another order in each epoch.
    fn blocks(&self, py: Python<'_>, seed: u64, size: u64) -> PyResult<Self> {
        self.then(py, OrderStep::Blocks { seed, size })
    }

    /// `count` passes; None: without end.
    #[pyo3(signature = (count))]
    fn repeat(&self, py: Python<'_>, count: Option<u64>) -> PyResult<Self> {
        self.then(py, OrderStep::Repeat(count))
    }

    /// Every `num`-th, from `base + index` on; `remainder` is "uneven", "drop" or "pad".
    fn shard(
        &self,
        py: Python<'_>,
        num: u64,
        index: u64,
        base: u64,
        remainder: &str,
    ) -> PyResult<Self> {
        let policy = match remainder {
            "uneven" => Policy::Uneven,
            "drop" => Policy::Drop,
            "pad" => Policy::Pad,
            _ => return Err(wrong_type(format!("there is no policy {remainder:?}"))),
        };
        let shard = Shard {
            num,
            index,
            base,
            policy,
        };
        self.then(py, OrderStep::Shard(shard))
    }

    /// Every `num`-th block of `block` elements, from number `index` on.
    fn stripe(&self, py: Python<'_>, block: u64, num: u64, index: u64) -> PyResult<Self> {
        self.then(py, OrderStep::Stripe { block, num, index })
    }

    /// Those after the first `count`.
    fn skip(&self, py: Python<'_>, count: u64) -> PyResult<Self> {
        self.then(py, OrderStep::Skip(count))
    }

    /// The first `count`.
    fn take(&self, py: Python<'_>, count: u64) -> PyResult<Self> {
        self.then(py, OrderStep::Take(count))
    }

    /// How many elements a pass has; None: it has no end.
    #[getter]
    fn length(&self) -> Option<u64> {
        self.order.len()
    }

    /// Which records come from place `start` on, up to `stop`, in the pass of this epoch.
    fn records(&self, py: Python<'_>, start: u64, stop: u64, epoch: u64) -> PyResult<Vec<u64>> {
        let mut records = Vec::new();
        py.detach(|| self.order.fill(start..stop, epoch, &mut records))
            .or_raise(py)?;
        Ok(records)
    }
}
