//! Rows of different lengths, as dense and as sparse tensors have them.

use arrow_buffer::Buffer;
use pyo3::buffer::PyBuffer as BufferView;
use pyo3::prelude::*;
use tfrecs_core::example::rows;

use crate::borrowed::{borrow, cells};
use crate::columns::PyBuffer;

/// Copies rows of `values` (bytes), which lie between `row_splits`, to the left of the rows of `table`
/// (bytes): an element has `element` bytes, a row of the table `row`.
#[pyfunction]
pub fn put_rows(
    values: &Bound<'_, PyAny>,
    row_splits: &Bound<'_, PyAny>,
    element: usize,
    row: usize,
    table: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (values, row_splits) = (borrow::<u8>(values)?, borrow::<i64>(row_splits)?);
    let table = BufferView::<u8>::get(table)?;
    rows::put_rows(&values, &row_splits, element, row, cells(&table)?);
    Ok(())
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
