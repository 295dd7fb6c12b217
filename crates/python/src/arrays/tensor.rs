//! Tensors in byte strings.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tfrecs_core::Error;
use tfrecs_core::example::tensor::types::TensorType;
use tfrecs_core::example::tensor::{self, TensorValues};

use crate::arrays::columns::PyBuffer;
use crate::arrays::raw::found_in;
use crate::error::{Raise, raise};
use crate::files::records::Input;

/// Reads tensors of one type and shape: the type's name, the shape, the values of all one after the
/// other, and the offsets of byte strings or None.
#[pyfunction]
pub fn parse_tensors<'py>(
    records: &Bound<'py, PyAny>,
    dtype: Option<&str>,
    max_bytes: Option<usize>,
) -> PyResult<(
    &'static str,
    Bound<'py, PyTuple>,
    PyBuffer,
    Option<PyBuffer>,
)> {
    let py = records.py();
    let dtype = dtype.map(type_of).transpose().or_raise(py)?;
    let records = Input::of(records)?;
    let parsed = py.detach(|| match &records {
        Input::Records(records) => tensor::parse(records.iter(), dtype, max_bytes),
        Input::Bytes(records) => tensor::parse(records.iter().map(AsRef::as_ref), dtype, max_bytes),
    });
    let tensors = parsed.map_err(|error| raise(py, &found_in(&records, error)))?;
    let (values, offsets) = match tensors.values {
        TensorValues::Numbers(values) => (values, None),
        TensorValues::Strings(offsets, data) => (data, Some(PyBuffer::structure(offsets))),
    };
    let shape = PyTuple::new(py, tensors.shape)?;
    Ok((tensors.dtype.name, shape, PyBuffer::values(values), offsets))
}

/// All of a tensor's bytes but its values, which follow as they lie in memory: `size` bytes.
#[pyfunction]
pub fn tensor_header(
    py: Python<'_>,
    dtype: &str,
    shape: Vec<u64>,
    size: usize,
) -> PyResult<Cow<'static, [u8]>> {
    let dtype = type_of(dtype).or_raise(py)?;
    Ok(tensor::header(dtype, &shape, size).into())
}

/// A tensor of byte strings.
#[pyfunction]
pub fn serialize_strings(
    shape: Vec<u64>,
    values: &Bound<'_, PyAny>,
) -> PyResult<Cow<'static, [u8]>> {
    let py = values.py();
    let values = Input::of(values)?;
    let serialized = py.detach(|| match &values {
        Input::Records(values) => tensor::serialize_strings(&shape, values.iter()),
        Input::Bytes(values) => tensor::serialize_strings(&shape, values.iter().map(AsRef::as_ref)),
    });
    Ok(serialized.into())
}

fn type_of(name: &str) -> Result<&'static TensorType, Error> {
    TensorType::of_name(name)
        .ok_or_else(|| Error::spec(format!("there is no tensor of dtype {name}")))
}
