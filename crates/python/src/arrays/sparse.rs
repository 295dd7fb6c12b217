//! The order of the values of a sparse tensor.

use arrow_buffer::{Buffer, ScalarBuffer};
use pyo3::prelude::*;
use tfrecs_core::example::sparse::order::{is_ordered, order_rows};
use tfrecs_core::example::sparse::rows::indices;

use crate::arrays::borrowed::borrow;
use crate::arrays::columns::PyBuffer;

/// The indices (int64) of values, of each the number of its row and one of each of `keys`; and the places
/// (int64) of the values. Within each row they ascend by their indices. No places if all values are
/// where they were: if that is so already, as most writers write them, or `already_sorted` says not to look.
#[pyfunction]
pub fn sparse_indices(
    py: Python<'_>,
    row_splits: &Bound<'_, PyAny>,
    keys: Vec<Bound<'_, PyAny>>,
    already_sorted: bool,
) -> PyResult<(PyBuffer, Option<PyBuffer>)> {
    let row_splits = borrow::<i64>(row_splits)?;
    let keys: Vec<ScalarBuffer<i64>> = keys.iter().map(borrow).collect::<PyResult<_>>()?;
    let keys: Vec<&[i64]> = keys.iter().map(AsRef::as_ref).collect();
    let (indices, order) = py.detach(|| {
        let is_right = already_sorted || is_ordered(&row_splits, &keys);
        let order = (!is_right).then(|| order_rows(&row_splits, &keys));
        (indices(&row_splits, &keys, order.as_deref()), order)
    });
    let buffer = |numbers| PyBuffer::values(Buffer::from_vec(numbers));
    Ok((buffer(indices), order.map(buffer)))
}
