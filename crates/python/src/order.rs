//! The order of the values of a sparse tensor.

use arrow_buffer::{Buffer, ScalarBuffer};
use pyo3::prelude::*;
use tfrecs_core::example::order::{is_ordered, order_rows as order_within};

use crate::borrowed::borrow;
use crate::columns::PyBuffer;

/// The places (int64) of values such that within each row they ascend by their indices; None if they do
/// so already, as most writers write them.
#[pyfunction]
pub fn order_rows(
    py: Python<'_>,
    row_splits: &Bound<'_, PyAny>,
    keys: Vec<Bound<'_, PyAny>>,
) -> PyResult<Option<PyBuffer>> {
    let row_splits = borrow::<i64>(row_splits)?;
    let keys: Vec<ScalarBuffer<i64>> = keys.iter().map(borrow).collect::<PyResult<_>>()?;
    let keys: Vec<&[i64]> = keys.iter().map(AsRef::as_ref).collect();
    let order = py.detach(|| {
        let is_needed = !is_ordered(&row_splits, &keys);
        is_needed.then(|| order_within(&row_splits, &keys))
    });
    Ok(order.map(|order| PyBuffer::values(Buffer::from_vec(order))))
}
