//! Buffers of one dimension → the values of a feature: integers and floats as they stand in memory.

use arrow_buffer::ArrowNativeType;
use pyo3::buffer::{Element, PyUntypedBuffer};
use pyo3::prelude::*;
use tfrecs_core::example::ListEncoder;

use super::values::{is_beyond, round};
use crate::arrays::borrowed::borrow;
use crate::interpreter::bytes::LONG;

/// Adds the elements of a buffer of one dimension that are integers or floats as they stand in memory;
/// false, and nothing added, for any other, and where one does not fit.
pub fn push_buffer(list: &mut ListEncoder, value: &Bound<'_, PyAny>) -> bool {
    let py = value.py();
    let Ok(buffer) = PyUntypedBuffer::get(value) else {
        return false;
    };
    if buffer.dimensions() != 1 {
        return false;
    }
    let pushed = match (buffer.format().to_bytes(), buffer.item_size()) {
        (b"l" | b"q", 8) => push_integers::<i64>(list, &buffer, value),
        (b"i" | b"l", 4) => push_integers::<i32>(list, &buffer, value),
        (b"h", 2) => push_integers::<i16>(list, &buffer, value),
        (b"b", 1) => push_integers::<i8>(list, &buffer, value),
        (b"I" | b"L", 4) => push_integers::<u32>(list, &buffer, value),
        (b"H", 2) => push_integers::<u16>(list, &buffer, value),
        (b"B", 1) => push_integers::<u8>(list, &buffer, value),
        (b"f", 4) => push_float32(list, &buffer, value),
        (b"d", 8) => push_float64(list, &buffer, value),
        _ => None,
    };
    buffer.release(py);
    if pushed.is_none() {
        list.clear();
    }
    pushed.is_some()
}

/// Calls `visit` with the elements of a buffer: of many, detached from the interpreter and where they lie.
fn with_elements<T: Element + ArrowNativeType, R: Send>(
    buffer: &PyUntypedBuffer,
    value: &Bound<'_, PyAny>,
    visit: impl FnOnce(&[T]) -> R + Send,
) -> Option<R> {
    let py = value.py();
    if buffer.len_bytes() < LONG {
        return Some(visit(&buffer.as_typed().ok()?.to_vec(py).ok()?));
    }
    let elements = borrow(value).ok()?;
    Some(py.detach(|| visit(&elements)))
}

fn push_integers<T: Element + ArrowNativeType + Into<i64>>(
    list: &mut ListEncoder,
    buffer: &PyUntypedBuffer,
    value: &Bound<'_, PyAny>,
) -> Option<()> {
    let push = |values: &[T]| list.extend_int64(values.iter().map(|&value| value.into()));
    with_elements(buffer, value, push)?.ok()
}

fn push_float32(
    list: &mut ListEncoder,
    buffer: &PyUntypedBuffer,
    value: &Bound<'_, PyAny>,
) -> Option<()> {
    with_elements(buffer, value, |values| list.extend_float32_slice(values))?.ok()
}

fn push_float64(
    list: &mut ListEncoder,
    buffer: &PyUntypedBuffer,
    value: &Bound<'_, PyAny>,
) -> Option<()> {
    with_elements(buffer, value, |values| extend_float64(list, values))?
}

fn extend_float64(list: &mut ListEncoder, values: &[f64]) -> Option<()> {
    let narrow: Vec<f32> = values.iter().map(|&value| round(value)).collect();
    let pairs = values.iter().zip(&narrow);
    // All are looked at, because that is quicker than to look whether to look on.
    let misfits = pairs.fold(0, |sum, (&value, &narrow)| {
        sum + u64::from(is_beyond(value, narrow))
    });
    list.extend_float32_slice(&narrow).ok()?;
    (misfits == 0).then_some(())
}
