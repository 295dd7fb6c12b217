//! Arrow's `PyCapsule` interface: columns in and out of any library, without copying.
#![allow(
    unsafe_code,
    reason = "the interface passes C structures by address; each use says why it is sound"
)]

use std::ffi::CStr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{
    Array, ArrayReader, ArrayRef, RecordBatch, RecordBatchIterator, StructArray, make_array,
    new_empty_array,
};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType, Field};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use tfrecs_core::Error;

use crate::error::Raise;

mod depth;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

fn refused(error: &ArrowError) -> Error {
    let text = error.to_string();
    // Polars gives an array of nulls a buffer, which Arrow's layout of it does not have.
    let remedy = if text.contains("datatype \"Null\"") {
        " (a column without any value: drop it, or cast it to the type it is meant to have)"
    } else {
        ""
    };
    Error::spec(format!("Arrow: {text}{remedy}"))
}

/// The schema of `batch` as a capsule.
pub fn export_schema<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(batch.schema_ref().as_ref());
    let schema = schema.map_err(|error| refused(&error)).or_raise(py)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// An array as a pair of capsules: schema and array.
pub fn export_array<'py>(py: Python<'py>, data: &ArrayData) -> PyResult<Bound<'py, PyTuple>> {
    let (array, schema) = to_ffi(data).map_err(|error| refused(&error)).or_raise(py)?;
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    PyTuple::new(py, [schema, array])
}

/// A column as a pair of capsules; `field` says what its type alone does not.
pub fn export_column<'py>(
    py: Python<'py>,
    field: &Field,
    data: &ArrayData,
) -> PyResult<Bound<'py, PyTuple>> {
    let schema = FFI_ArrowSchema::try_from(field);
    let schema = schema.map_err(|error| refused(&error)).or_raise(py)?;
    let array = FFI_ArrowArray::new(data);
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    PyTuple::new(py, [schema, array])
}

/// `batch` as a stream of one batch.
pub fn export_stream<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyCapsule>> {
    let batches = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    let stream = FFI_ArrowArrayStream::new(Box::new(batches));
    PyCapsule::new_with_value(py, stream, STREAM)
}

/// The batches of an object with `__arrow_c_stream__` or `__arrow_c_array__`, if it has either.
pub fn import(object: &Bound<'_, PyAny>) -> PyResult<Option<ArrowBatches>> {
    if object.hasattr("__arrow_c_stream__")? {
        return import_stream(object).map(|stream| Some(ArrowBatches::Stream(stream)));
    }
    if object.hasattr("__arrow_c_array__")? {
        return import_array(object).map(|batch| Some(ArrowBatches::One(batch)));
    }
    Ok(None)
}

/// Batches from another library.
pub enum ArrowBatches {
    /// A single one.
    One(RecordBatch),
    /// As many as there are.
    Stream(ArrayStreamReader),
}

impl ArrowBatches {
    /// All of them. The producer may need the interpreter: call this without it.
    pub fn collect(self) -> Result<Vec<RecordBatch>, Error> {
        let mut all = Vec::new();
        self.for_each(|batch| {
            all.push(batch.clone());
            Ok(())
        })?;
        Ok(all)
    }

    /// Calls `visit` with every batch. The producer may need the interpreter: call this without it.
    pub fn for_each(
        self,
        mut visit: impl FnMut(&RecordBatch) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Self::One(batch) => visit(&batch),
            Self::Stream(mut batches) => batches.try_for_each(|batch| {
                let rows = batch.map_err(|error| refused(&error))?;
                visit(&to_table(rows.to_data())?)
            }),
        }
    }
}

fn import_stream(object: &Bound<'_, PyAny>) -> PyResult<ArrayStreamReader> {
    let py = object.py();
    let capsule = object
        .call_method0("__arrow_c_stream__")?
        .cast_into::<PyCapsule>()?;
    let stream = capsule
        .pointer_checked(Some(STREAM))?
        .cast::<FFI_ArrowArrayStream>();
    // SAFETY: the capsule's name promises an ArrowArrayStream; it is moved out here, which leaves a
    // released one behind, as the interface prescribes.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    check_depth(&mut stream).or_raise(py)?;
    let reader = ArrayStreamReader::try_new(stream);
    reader.map_err(|error| refused(&error)).or_raise(py)
}

/// Refuses a stream of columns that are nested too deeply, before the reader takes its schema apart.
fn check_depth(stream: &mut FFI_ArrowArrayStream) -> Result<(), Error> {
    let Some(get_schema) = stream.get_schema().filter(|_| stream.release().is_some()) else {
        return Ok(()); // the reader reports it
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: a stream that is not released answers this call, and fills in the empty schema.
    let failed = unsafe { get_schema(stream, &raw mut schema) } != 0;
    if failed || schema.release().is_none() {
        return Ok(()); // the reader asks again and reports why
    }
    depth::check(&schema)
}

fn import_array(object: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    to_table(import_data(object)?).or_raise(object.py())
}

/// The rows of a struct array as a table, in which no row can be missing.
fn to_table(rows: ArrayData) -> Result<RecordBatch, Error> {
    if matches!(rows.data_type(), DataType::Struct(_)) && rows.null_count() == 0 {
        return Ok(RecordBatch::from(StructArray::from(rows)));
    }
    let found = rows.data_type();
    Err(Error::spec(format!(
        "expected a table (a struct array without nulls), got {found}"
    )))
}

fn import_data(object: &Bound<'_, PyAny>) -> PyResult<ArrayData> {
    let pair = object
        .call_method0("__arrow_c_array__")?
        .cast_into::<PyTuple>()?;
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = (
        pair.get_item(0)?.cast_into()?,
        pair.get_item(1)?.cast_into()?,
    );
    let schema = schema
        .pointer_checked(Some(SCHEMA))?
        .cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: the capsules' names promise the two structures; the array is moved out, which leaves
    // a released one behind, and the schema is only read while its capsule lives.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    if array.is_released() {
        let text = "Arrow: the array was handed over before";
        return Err(Error::spec(text)).or_raise(object.py());
    }
    // SAFETY: as above.
    let schema = unsafe { schema.as_ref() };
    depth::check(schema).or_raise(object.py())?;
    // SAFETY: as above.
    let data = unsafe { from_ffi(array, schema) };
    data.map_err(|error| refused(&error)).or_raise(object.py())
}

/// A column of another library: an array, or a stream of arrays (a chunked array, a series), if the
/// object is either.
pub fn import_column(object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    if object.hasattr("__arrow_c_array__")? {
        return Ok(Some(make_array(import_data(object)?)));
    }
    if !object.hasattr("__arrow_c_stream__")? {
        return Ok(None);
    }
    let chunks = import_stream(object)?;
    let data_type = chunks.field().data_type().clone();
    let joined = chunks
        .map(|chunk| chunk.map(|array| array.to_data()))
        .collect::<Result<Vec<_>, _>>()
        .and_then(|chunks| join(&data_type, &chunks));
    joined
        .map(Some)
        .map_err(|error| refused(&error))
        .or_raise(object.py())
}

fn join(data_type: &DataType, chunks: &[ArrayData]) -> Result<ArrayRef, ArrowError> {
    if chunks.is_empty() {
        return Ok(new_empty_array(data_type));
    }
    let rows = chunks.iter().map(ArrayData::len).sum();
    let mut all = MutableArrayData::new(chunks.iter().collect(), false, rows);
    for (index, chunk) in chunks.iter().enumerate() {
        all.try_extend(index, 0, chunk.len())?;
    }
    Ok(make_array(all.freeze()))
}
