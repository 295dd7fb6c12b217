//! Rows of different lengths, as dense and as sparse tensors have them.

use arrow_buffer::Buffer;
use pyo3::prelude::*;
use tfrecs_core::example::rows;

use crate::borrowed::borrow;
use crate::columns::PyBuffer;
use crate::error::no_memory;

/// Rows of `values` (bytes), which lie between `row_splits`, as those of a table (bytes) of `longest` elements
/// each: what they lack is `filler`, an element.
#[pyfunction]
pub fn side_by_side(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    row_splits: &Bound<'_, PyAny>,
    longest: usize,
    filler: &[u8],
) -> PyResult<PyBuffer> {
    let (values, row_splits) = (borrow::<u8>(values)?, borrow::<i64>(row_splits)?);
    let table = py.detach(|| rows::side_by_side(&values, &row_splits, longest, filler));
    let table = table.ok_or_else(no_memory)?;
    Ok(PyBuffer::values(Buffer::from_vec(table)))
}

/// For each of `values` values (int64) its row and its place in that row.
#[pyfunction]
pub fn coordinates(
    py: Python<'_>,
    row_splits: &Bound<'_, PyAny>,
    values: usize,
) -> PyResult<PyBuffer> {
    let row_splits = borrow::<i64>(row_splits)?;
    let all = py.detach(|| rows::coordinates(&row_splits, values));
    Ok(PyBuffer::values(Buffer::from_vec(all)))
}
