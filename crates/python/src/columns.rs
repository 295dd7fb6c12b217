//! Columns: Arrow's inside, buffers for NumPy outside.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Float32Array, Int64Array, LargeBinaryArray, LargeListArray, RecordBatch,
    RecordBatchOptions, StructArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::buffer::{Element, PyBuffer as BufferView};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use tfrecs_core::Error;
use tfrecs_core::example::column::fixed_size_lists;

use crate::arrow;
use crate::error::{Raise, wrong_type};

/// The elements of a contiguous buffer of just this type.
pub fn copy<T: Element>(py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    BufferView::<T>::get(buffer)?.to_vec(py)
}

/// Memory of a column, for `numpy.frombuffer`.
#[pyclass(frozen, name = "Buffer", module = "tfrecs._core")]
pub struct PyBuffer {
    memory: Buffer,
    writable: bool,
}

impl PyBuffer {
    /// The values of a column. Arrays over them can be written to: libraries such as PyTorch refuse
    /// or warn about arrays that cannot, and any value is as good as any other.
    fn values(memory: Buffer) -> Self {
        Self {
            memory,
            writable: true,
        }
    }

    /// What says where the values of a row are, which Arrow relies on.
    fn structure(memory: Buffer) -> Self {
        Self {
            memory,
            writable: false,
        }
    }
}

#[pymethods]
#[allow(unsafe_code, reason = "the buffer protocol fills in a C structure")]
impl PyBuffer {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let PyBuffer { memory, writable } = slf.get();
        let readonly = c_int::from(!writable);
        let address = memory.as_ptr().cast_mut().cast::<c_void>();
        let length = memory.len().cast_signed();
        // SAFETY: `view` is the interpreter's, and the memory lives as long as `slf`, to which the view
        // keeps a reference.
        let filled =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), address, length, readonly, flags) };
        match filled {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}

/// Columns of equal length.
#[pyclass(frozen, name = "Columns", module = "tfrecs._core")]
pub struct PyColumns(pub RecordBatch);

#[pymethods]
impl PyColumns {
    /// Columns of `rows` rows from pieces, copied: for each a tuple of name, values (int64, float32
    /// or uint8 buffer), offsets of byte strings or None, shape of a row or None, row splits or None,
    /// missing rows (uint8 buffer) or None.
    #[staticmethod]
    fn build(py: Python<'_>, rows: usize, columns: Vec<Pieces<'_>>) -> PyResult<Self> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for column in columns {
            let name = column.0.clone();
            let array = column.assemble(py, rows)?;
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options);
        Ok(Self(
            batch.map_err(|error| inconsistent(&error)).or_raise(py)?,
        ))
    }

    /// How many rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    /// The columns' names.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0
            .schema_ref()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    /// The pieces of column `index`: "int64", "float32" or "bytes"; its values; the offsets of byte
    /// strings or None; the shape of a row or None; the row splits or None; which rows are there
    /// (a byte each) or None for all.
    fn column<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyTuple>> {
        let Some(array) = self.0.columns().get(index) else {
            return Err(wrong_type("no such column"));
        };
        let present = array.logical_nulls().map(|nulls| {
            let bytes: Vec<u8> = nulls.iter().map(u8::from).collect();
            PyBuffer::structure(Buffer::from_vec(bytes))
        });
        let (leaf, shape, splits) = take_apart(array);
        let (kind, values, offsets) = memory_of(leaf);
        let shape = shape.map(|shape| PyTuple::new(py, shape)).transpose()?;
        (
            kind,
            PyBuffer::values(values),
            offsets.map(PyBuffer::structure),
            shape,
            splits.map(PyBuffer::structure),
            present,
        )
            .into_pyobject(py)
    }

    /// Column `index` alone, as a pair of Arrow capsules.
    fn column_to_arrow<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyTuple>> {
        match self.0.columns().get(index) {
            Some(array) => arrow::export_array(py, &array.to_data()),
            None => Err(wrong_type("no such column")),
        }
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::export_schema(py, &self.0)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema); // The interface lets a producer ignore it.
        arrow::export_array(py, &StructArray::from(self.0.clone()).into_data())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        arrow::export_stream(py, &self.0)
    }
}

/// The values below the lists of a column; the shape of a row, or where the rows end.
fn take_apart(array: &ArrayRef) -> (&dyn Array, Option<Vec<i32>>, Option<Buffer>) {
    if let Some(lists) = array.as_list_opt::<i64>() {
        let splits = lists.offsets().inner().inner().clone();
        return (lists.values().as_ref(), None, Some(splits));
    }
    if matches!(array.data_type(), DataType::Null) {
        let splits = Buffer::from_vec(vec![0i64; array.len() + 1]);
        return (array.as_ref(), None, Some(splits));
    }
    let mut shape = Vec::new();
    let mut leaf: &dyn Array = array.as_ref();
    while let Some(lists) = leaf.as_fixed_size_list_opt() {
        shape.push(lists.value_length());
        leaf = lists.values().as_ref();
    }
    (leaf, Some(shape), None)
}

/// The memory of an array of scalars: kind, values, offsets.
fn memory_of(leaf: &dyn Array) -> (&'static str, Buffer, Option<Buffer>) {
    if let Some(values) = leaf.as_primitive_opt::<Int64Type>() {
        return ("int64", values.values().inner().clone(), None);
    }
    if let Some(values) = leaf.as_primitive_opt::<Float32Type>() {
        return ("float32", values.values().inner().clone(), None);
    }
    if let Some(values) = leaf.as_binary_opt::<i64>() {
        let offsets = values.offsets().inner().inner().clone();
        return ("bytes", values.values().clone(), Some(offsets));
    }
    ("float32", Buffer::from_vec(Vec::<f32>::new()), None)
}

/// A column as Python hands it in; see [`PyColumns::build`].
#[derive(FromPyObject)]
struct Pieces<'py>(
    String,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Option<Vec<usize>>,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
);

impl Pieces<'_> {
    fn assemble(self, py: Python<'_>, rows: usize) -> PyResult<ArrayRef> {
        let Self(name, values, offsets, shape, splits, missing) = self;
        if let Some(array) = arrow::import_column(&values)? {
            return Ok(array);
        }
        let values = read_values(py, &values, offsets.as_ref())?;
        let splits = splits.map(|splits| copy::<i64>(py, &splits)).transpose()?;
        let missing = missing
            .map(|missing| copy::<u8>(py, &missing))
            .transpose()?;
        let nulls = missing.map(|missing| {
            NullBuffer::new(BooleanBuffer::collect_bool(missing.len(), |row| {
                missing[row] == 0
            }))
        });
        let array = values.and_then(|values| lists(values, shape, splits, nulls, rows));
        array
            .map_err(|error| inconsistent(&error).at_feature(&name))
            .or_raise(py)
    }
}

fn read_values(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    offsets: Option<&Bound<'_, PyAny>>,
) -> PyResult<Result<ArrayRef, ArrowError>> {
    if let Some(offsets) = offsets {
        let data = Buffer::from_vec(copy::<u8>(py, values)?);
        let offsets = copy::<i64>(py, offsets)?;
        if !offsets.is_sorted() || offsets.first().is_none_or(|&first| first < 0) {
            return Err(wrong_type("offsets must not descend"));
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        return Ok(LargeBinaryArray::try_new(offsets, data, None).map(|a| Arc::new(a) as ArrayRef));
    }
    if let Ok(values) = copy::<i64>(py, values) {
        return Ok(Ok(Arc::new(Int64Array::from(values))));
    }
    Ok(Ok(Arc::new(Float32Array::from(copy::<f32>(py, values)?))))
}

/// The values as rows: between `splits`, or of the same shape each.
fn lists(
    values: ArrayRef,
    shape: Option<Vec<usize>>,
    splits: Option<Vec<i64>>,
    nulls: Option<NullBuffer>,
    rows: usize,
) -> Result<ArrayRef, ArrowError> {
    let item = Arc::new(Field::new("item", values.data_type().clone(), true));
    if let Some(splits) = splits {
        if !splits.is_sorted() || splits.first().is_none_or(|&first| first < 0) {
            return Err(ArrowError::InvalidArgumentError(
                "row_splits must not descend".into(),
            ));
        }
        let splits = OffsetBuffer::new(ScalarBuffer::from(splits));
        return Ok(Arc::new(LargeListArray::try_new(
            item, splits, values, nulls,
        )?));
    }
    let mut shape = shape.unwrap_or_default();
    if shape.is_empty() && nulls.is_some() {
        shape.push(1); // a list around each value can be missing
    }
    fixed_size_lists(values, &shape, rows, nulls.as_ref())
}

fn inconsistent(error: &ArrowError) -> Error {
    Error::spec(format!("the columns are not consistent: {error}"))
}
