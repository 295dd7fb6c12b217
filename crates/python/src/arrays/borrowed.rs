//! Python's buffers as Arrow's memory.
//!
//! Memory that is only looked at during a call need not be copied. Somebody may write to it at the same
//! time from another thread, as to any array that NumPy itself works on without the interpreter: then
//! what is read is any of the values that were there.
#![allow(
    unsafe_code,
    reason = "Arrow refers to memory that is not its own; it says why that is sound"
)]

use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use crate::error::wrong_type;

/// What becomes of memory that is handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// It is copied.
    Copied,
    /// It is referred to, where it lies in one piece, and kept alive.
    Borrowed,
}

impl Memory {
    /// The elements of a contiguous buffer.
    pub fn of<T: Element + ArrowNativeType>(
        self,
        py: Python<'_>,
        buffer: PyBuffer<T>,
    ) -> PyResult<ScalarBuffer<T>> {
        match buffer.as_slice_ptr() {
            Some(elements) if self == Self::Borrowed => Ok(refer(elements, buffer)),
            _ => Ok(ScalarBuffer::from(buffer.to_vec(py)?)),
        }
    }
}

/// A view of a contiguous buffer of just this type; a `TypeError` if it is something else.
pub fn view<T: Element>(buffer: &Bound<'_, PyAny>) -> PyResult<PyBuffer<T>> {
    PyBuffer::<T>::get(buffer).map_err(|error| {
        if !error.is_instance_of::<PyBufferError>(buffer.py()) {
            return error;
        }
        let (wanted, given) = (std::any::type_name::<T>(), buffer.get_type());
        let given = given
            .name()
            .map_or_else(|_| "something else".into(), |name| name.to_string());
        wrong_type(format!(
            "expected a contiguous buffer of {wanted}, not {given}"
        ))
    })
}

/// The elements of a contiguous buffer of just this type, where they lie.
pub fn borrow<T: Element + ArrowNativeType>(
    buffer: &Bound<'_, PyAny>,
) -> PyResult<ScalarBuffer<T>> {
    Memory::Borrowed.of(buffer.py(), view::<T>(buffer)?)
}

fn refer<T: Element + ArrowNativeType>(
    elements: NonNull<[T]>,
    buffer: PyBuffer<T>,
) -> ScalarBuffer<T> {
    let length = elements.len() * size_of::<T>();
    let owner = Arc::new(AssertUnwindSafe(buffer));
    // SAFETY: these are the buffer's elements, which stay where they are for as long as it is held. It
    // has checked that they lie as their type must.
    let memory = unsafe { Buffer::from_custom_allocation(elements.cast(), length, owner) };
    ScalarBuffer::from(memory)
}
