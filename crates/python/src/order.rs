//! The order of the values of a sparse tensor.

use arrow_buffer::Buffer;
use pyo3::prelude::*;
use tfrecs_core::example::order::order_rows as order_within;

use crate::columns::{PyBuffer, copy};

/// The places (int64) of values such that within each row they ascend by their indices.
#[pyfunction]
pub fn order_rows(
    py: Python<'_>,
    row_splits: &Bound<'_, PyAny>,
    keys: Vec<Bound<'_, PyAny>>,
) -> PyResult<PyBuffer> {
    let row_splits = copy::<i64>(py, row_splits)?;
    let keys: Vec<Vec<i64>> = keys
        .iter()
        .map(|key| copy::<i64>(py, key))
        .collect::<PyResult<_>>()?;
    let keys: Vec<&[i64]> = keys.iter().map(Vec::as_slice).collect();
    let order = py.detach(|| order_within(&row_splits, &keys));
    Ok(PyBuffer::values(Buffer::from_vec(order)))
}
