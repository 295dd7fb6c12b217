//! Byte strings → the numbers that they are.

use pyo3::prelude::*;
use tfrecs_core::example::raw::{self, Lengths, RawSpec};
use tfrecs_core::example::record_error::RecordError;

use crate::arrays::columns::PyBuffer;
use crate::arrays::decode::locate;
use crate::error::raise;
use crate::files::records::Input;

/// The numbers of byte strings, one after the other: `size` bytes each, of which `swap` at a time
/// are reversed. The byte strings must all have one length (`fixed_length` None), are made so
/// (positive), or need not (0).
#[pyfunction]
pub fn decode_raw(
    values: &Bound<'_, PyAny>,
    dtype: &str,
    size: usize,
    swap: usize,
    fixed_length: Option<usize>,
) -> PyResult<PyBuffer> {
    let py = values.py();
    let values = Input::of(values)?;
    let lengths = match fixed_length {
        None => Lengths::Equal,
        Some(0) => Lengths::Any,
        Some(length) => Lengths::Fixed(length),
    };
    let spec = RawSpec {
        dtype,
        size,
        swap,
        lengths,
    };
    let decoded = py.detach(|| match &values {
        Input::Records(values) => raw::decode_raw(values.iter(), &spec),
        Input::Bytes(values) => raw::decode_raw(values.iter().map(AsRef::as_ref), &spec),
    });
    decoded
        .map(PyBuffer::values)
        .map_err(|error| raise(py, &found_in(&values, error)))
}

/// `error` with the place of the byte string that it was found in, if there are several.
pub fn found_in(values: &Input, error: RecordError) -> tfrecs_core::Error {
    match values {
        Input::Bytes(values) if values.len() == 1 => error.error,
        _ => locate(values, None, error),
    }
}
