//! Rows of different lengths, as dense and as sparse tensors have them.

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use pyo3::prelude::*;
use tfrecs_core::example::sparse::rows;

use crate::arrays::borrowed::borrow;
use crate::arrays::columns::{Parts, PyBuffer, PyColumns, memory_of};
use crate::error::{no_memory, wrong_type};

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

/// Column `index`, of lists of scalars, as a sparse tensor: its values, the offsets of byte strings or
/// None, for each value its row and its place in that row, and the length of the longest row.
#[pyfunction]
pub fn sparse_column(
    py: Python<'_>,
    columns: &PyColumns,
    index: usize,
) -> PyResult<(PyBuffer, Option<PyBuffer>, PyBuffer, i64)> {
    let (field, array) = columns.at(index)?;
    let parts = Parts::of(field, array);
    let [splits] = parts.splits.as_slice() else {
        return Err(wrong_type("no lists, or lists of lists"));
    };
    let splits = ScalarBuffer::<i64>::from(splits.clone());
    let place = |split: Option<&i64>| split.map_or(0, |&split| split.as_usize());
    let (start, end) = (place(splits.first()), place(splits.last()));
    let (indices, longest) = py.detach(|| {
        let indices = rows::coordinates(&splits, end - start);
        (Buffer::from_vec(indices), rows::longest(&splits))
    });
    let (_, values, offsets) = memory_of(parts.field, &parts.values.slice(start, end - start));
    Ok((
        PyBuffer::values(values),
        offsets.map(PyBuffer::structure),
        PyBuffer::values(indices),
        longest,
    ))
}

/// The first line of a table of indices (int64) with one outside of `shape`, or None.
#[pyfunction]
pub fn first_outside(
    py: Python<'_>,
    indices: &Bound<'_, PyAny>,
    shape: Vec<i64>,
) -> PyResult<Option<usize>> {
    let indices = borrow::<i64>(indices)?;
    Ok(py.detach(|| rows::first_outside(&indices, &shape)))
}
