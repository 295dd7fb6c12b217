//! Columns: Arrow's inside, buffers for NumPy outside.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, FixedSizeBinaryArray, Float16Array, Int8Array,
    LargeBinaryArray, LargeListArray, PrimitiveArray, RecordBatch, RecordBatchOptions, StructArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::buffer::{Element, ElementType, PyUntypedBuffer};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyTuple, PyType};
use tfrecs_core::Error;
use tfrecs_core::example::DType;
use tfrecs_core::example::decode::column::fixed_size_lists;
use tfrecs_core::example::decode::values::{dtype_of, item_field};

use crate::arrays::arrow;
use crate::arrays::borrowed::{Memory, view};
use crate::error::{Raise, wrong_type};

/// The elements of a contiguous buffer of just this type.
pub fn copy<T: Element>(py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    view::<T>(buffer)?.to_vec(py)
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
    pub fn values(memory: Buffer) -> Self {
        Self {
            memory,
            writable: true,
        }
    }

    /// What says where the values of a row are, which Arrow relies on.
    pub fn structure(memory: Buffer) -> Self {
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
    /// Columns of `rows` rows from pieces, copied: for each a tuple of name, values (a buffer of
    /// numbers, or of byte strings' bytes), offsets of byte strings or None, shape of an element, row
    /// splits of each level of lists, outermost first, missing rows (uint8 buffer) or None.
    ///
    /// `borrowed` values are not copied: for columns that do not outlive a call.
    #[staticmethod]
    #[pyo3(signature = (rows, columns, borrowed=false))]
    fn build(
        py: Python<'_>,
        rows: usize,
        columns: Vec<Pieces<'_>>,
        borrowed: bool,
    ) -> PyResult<Self> {
        let memory = if borrowed {
            Memory::Borrowed
        } else {
            Memory::Copied
        };
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for column in columns {
            let name = column.0.clone();
            let (field, array) = column.assemble(py, rows, memory)?;
            fields.push(field.with_name(name).with_nullable(true));
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

    /// The pieces of column `index`: NumPy's name of its dtype, or "bytes"; its values; the offsets
    /// of byte strings or None; the shape of an element; the row splits of each level of lists,
    /// outermost first; which rows are there (a byte each) or None for all.
    fn column<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyTuple>> {
        let (field, array) = self.at(index)?;
        let present = array.logical_nulls().map(|nulls| {
            let bytes: Vec<u8> = nulls.iter().map(u8::from).collect();
            PyBuffer::structure(Buffer::from_vec(bytes))
        });
        let parts = Parts::of(field, array);
        let (dtype, values, offsets) = memory_of(parts.field, parts.values);
        (
            dtype,
            PyBuffer::values(values),
            offsets.map(PyBuffer::structure),
            PyTuple::new(py, parts.shape)?,
            PyTuple::new(py, parts.splits.into_iter().map(PyBuffer::structure))?,
            present,
        )
            .into_pyobject(py)
    }

    /// The values of column `index`, which has neither lists nor byte strings.
    fn values(&self, index: usize) -> PyResult<PyBuffer> {
        let (field, array) = self.at(index)?;
        let parts = Parts::of(field, array);
        Ok(PyBuffer::values(memory_of(parts.field, parts.values).1))
    }

    /// Column `index` alone, as a pair of Arrow capsules.
    fn column_to_arrow<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyTuple>> {
        let (field, array) = self.at(index)?;
        arrow::export_column(py, field, &array.to_data())
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

impl PyColumns {
    /// The field and the values of a column.
    pub fn at(&self, index: usize) -> PyResult<(&Field, &ArrayRef)> {
        let fields = self.0.schema_ref().fields();
        fields
            .get(index)
            .map(AsRef::as_ref)
            .zip(self.0.columns().get(index))
            .ok_or_else(|| wrong_type("no such column"))
    }
}

/// A column taken apart: the values below all lists, and where the lists begin and end.
pub struct Parts<'a> {
    pub field: &'a Field,
    pub values: &'a dyn Array,
    shape: Vec<i32>,
    pub splits: Vec<Buffer>,
}

impl<'a> Parts<'a> {
    pub fn of(field: &'a Field, array: &'a dyn Array) -> Self {
        let (mut shape, mut splits) = (Vec::new(), Vec::new());
        let (mut field, mut values) = (field, array);
        loop {
            match field.data_type() {
                DataType::LargeList(item) => {
                    let lists = values.as_list::<i64>();
                    splits.push(lists.offsets().inner().inner().clone());
                    (field, values) = (item, lists.values().as_ref());
                }
                DataType::FixedSizeList(item, size) => {
                    shape.push(*size);
                    (field, values) = (item, values.as_fixed_size_list().values().as_ref());
                }
                DataType::Null => {
                    splits.push(Buffer::from_vec(vec![0i64; values.len() + 1]));
                    break;
                }
                _ => break,
            }
        }
        Self {
            field,
            values,
            shape,
            splits,
        }
    }
}

/// The memory of an array of scalars: dtype, values, offsets.
pub fn memory_of(field: &Field, leaf: &dyn Array) -> (&'static str, Buffer, Option<Buffer>) {
    let Some(dtype) = dtype_of(field) else {
        return (
            DType::Float32.name(),
            Buffer::from_vec(Vec::<f32>::new()),
            None,
        );
    };
    if let Some(values) = leaf.as_binary_opt::<i64>() {
        let offsets = values.offsets().inner().inner().clone();
        return (dtype.name(), values.values().clone(), Some(offsets));
    }
    if let Some(values) = usual_values(leaf) {
        return (dtype.name(), values, None);
    }
    let data = leaf.to_data();
    let values = data.buffers().first().cloned().unwrap_or_default();
    let width = data.data_type().primitive_width().unwrap_or(2);
    let values = values.slice_with_length(data.offset() * width, data.len() * width);
    (dtype.name(), values, None)
}

/// The values of the types that records have, without the detour over all that an array can be.
fn usual_values(leaf: &dyn Array) -> Option<Buffer> {
    if let Some(values) = leaf.as_primitive_opt::<Int64Type>() {
        return Some(values.values().inner().clone());
    }
    let values = leaf.as_primitive_opt::<Float32Type>()?;
    Some(values.values().inner().clone())
}

/// A column as Python hands it in; see [`PyColumns::build`].
#[derive(FromPyObject)]
struct Pieces<'py>(
    String,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Vec<usize>,
    Vec<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
);

impl Pieces<'_> {
    fn assemble(self, py: Python<'_>, rows: usize, memory: Memory) -> PyResult<(Field, ArrayRef)> {
        let Self(name, values, offsets, shape, splits, missing) = self;
        if !is_plain_array(&values)?
            && let Some(array) = arrow::import_column(&values)?
        {
            return Ok((item_field(None, array.data_type()), array));
        }
        let values = read_values(py, &values, offsets.as_ref(), memory)?;
        let splits = splits
            .iter()
            .map(|splits| copy::<i64>(py, splits))
            .collect::<PyResult<Vec<_>>>()?;
        let missing = missing
            .map(|missing| copy::<u8>(py, &missing))
            .transpose()?;
        let nulls = missing.map(|missing| {
            NullBuffer::new(BooleanBuffer::collect_bool(missing.len(), |row| {
                missing[row] == 0
            }))
        });
        let array =
            values.and_then(|(item, values)| lists(item, values, shape, splits, nulls, rows));
        array
            .map_err(|error| inconsistent(&error).at_feature(&name))
            .or_raise(py)
    }
}

/// Whether it is one of NumPy's own arrays, which does not need to be asked whether it is Arrow's.
fn is_plain_array(values: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(values.get_type().is(plain_array(values.py())?))
}

/// The type of NumPy's own arrays.
pub fn plain_array(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static PLAIN: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    PLAIN.import(py, "numpy", "ndarray")
}

fn read_values(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    offsets: Option<&Bound<'_, PyAny>>,
    memory: Memory,
) -> PyResult<Result<(Field, ArrayRef), ArrowError>> {
    if let Some(offsets) = offsets {
        let data = memory.of(py, view::<u8>(values)?)?;
        let offsets = copy::<i64>(py, offsets)?;
        if !offsets.is_sorted() || offsets.first().is_none_or(|&first| first < 0) {
            return Err(wrong_type("offsets must not descend"));
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        let array = LargeBinaryArray::try_new(offsets, data.into_inner(), None);
        return Ok(array.map(|array| of_storage(Arc::new(array))));
    }
    if let Some(array) = usual(py, values, memory)? {
        return Ok(Ok(of_storage(array)));
    }
    unusual(py, values)?
        .map(Ok)
        .ok_or_else(|| wrong_type("values of a type that no column has"))
}

/// The values, if they are of one of the types that buffers have.
fn usual(py: Python<'_>, values: &Bound<'_, PyAny>, memory: Memory) -> PyResult<Option<ArrayRef>> {
    let Ok(buffer) = PyUntypedBuffer::get(values) else {
        return Ok(None);
    };
    let read = match ElementType::from_format(buffer.format()) {
        ElementType::SignedInteger { bytes: 8 } => primitive::<Int64Type>,
        ElementType::SignedInteger { bytes: 4 } => primitive::<Int32Type>,
        ElementType::SignedInteger { bytes: 2 } => primitive::<Int16Type>,
        ElementType::SignedInteger { bytes: 1 } => primitive::<Int8Type>,
        ElementType::UnsignedInteger { bytes: 8 } => primitive::<UInt64Type>,
        ElementType::UnsignedInteger { bytes: 4 } => primitive::<UInt32Type>,
        ElementType::UnsignedInteger { bytes: 2 } => primitive::<UInt16Type>,
        ElementType::UnsignedInteger { bytes: 1 } => primitive::<UInt8Type>,
        ElementType::Float { bytes: 4 } => primitive::<Float32Type>,
        ElementType::Float { bytes: 8 } => primitive::<Float64Type>,
        _ => return Ok(None),
    };
    read(py, buffer, memory)
}

/// An array whose type says all.
fn of_storage(array: ArrayRef) -> (Field, ArrayRef) {
    (item_field(None, array.data_type()), array)
}

/// The values, if they are of one of the types that buffers do not have, or not alike.
fn unusual(py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<Option<(Field, ArrayRef)>> {
    let Ok(dtype) = values.getattr("dtype") else {
        return Ok(None);
    };
    let storage_of = |name: &str| values.call_method1("view", (name,));
    let (dtype, array): (_, ArrayRef) = match dtype.getattr("name")?.extract::<&str>()? {
        "bool" => {
            let bytes = copy::<i8>(py, &storage_of("int8")?)?;
            (DType::Bool, Arc::new(Int8Array::from(bytes)))
        }
        "float16" => {
            let words = Buffer::from_vec(copy::<u16>(py, &storage_of("uint16")?)?);
            let halves = Float16Array::new(ScalarBuffer::from(words), None);
            (DType::Float16, Arc::new(halves))
        }
        "bfloat16" => {
            let words = Buffer::from_vec(copy::<u16>(py, &storage_of("uint16")?)?);
            let pairs = FixedSizeBinaryArray::try_new(2, words, None);
            let pairs = pairs.map_err(|error| inconsistent(&error)).or_raise(py)?;
            (DType::BFloat16, Arc::new(pairs))
        }
        _ => return Ok(None),
    };
    Ok(Some((item_field(Some(dtype), array.data_type()), array)))
}

/// The values, if they are of this type in this machine's order of bytes.
fn primitive<T: ArrowPrimitiveType<Native: Element>>(
    py: Python<'_>,
    values: PyUntypedBuffer,
    memory: Memory,
) -> PyResult<Option<ArrayRef>> {
    let Ok(values) = values.into_typed::<T::Native>() else {
        return Ok(None);
    };
    let values = memory.of(py, values)?;
    Ok(Some(Arc::new(PrimitiveArray::<T>::new(values, None))))
}

/// The values as rows: of the same shape each, then between the splits of each level.
fn lists(
    item: Field,
    values: ArrayRef,
    mut shape: Vec<usize>,
    splits: Vec<Vec<i64>>,
    nulls: Option<NullBuffer>,
    rows: usize,
) -> Result<(Field, ArrayRef), ArrowError> {
    let Some(innermost) = splits.last() else {
        if shape.is_empty() && nulls.is_some() {
            shape.push(1); // a list around each value can be missing
        }
        return fixed_size_lists(item, values, &shape, rows, nulls.as_ref());
    };
    let elements = innermost
        .last()
        .map_or(0, |&end| usize::try_from(end).unwrap_or(0));
    let elements = if shape.is_empty() {
        values.len()
    } else {
        elements
    };
    let (mut item, mut array) = fixed_size_lists(item, values, &shape, elements, None)?;
    for (level, splits) in splits.into_iter().enumerate().rev() {
        let nulls = nulls.clone().filter(|_| level == 0);
        if !splits.is_sorted() || splits.first().is_none_or(|&first| first < 0) {
            return Err(ArrowError::InvalidArgumentError(
                "row_splits must not descend".into(),
            ));
        }
        let splits = OffsetBuffer::new(ScalarBuffer::from(splits));
        let lists = LargeListArray::try_new(Arc::new(item), splits, array, nulls)?;
        item = Field::new("item", lists.data_type().clone(), false);
        array = Arc::new(lists);
    }
    Ok((item, array))
}

fn inconsistent(error: &ArrowError) -> Error {
    Error::spec(format!("the columns are not consistent: {error}"))
}
