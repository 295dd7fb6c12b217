//! Python's buffers as Arrow's memory.
//!
//! Memory that is only looked at during a call need not be copied. Somebody may write to it at the same
//! time from another thread, as to any array that NumPy itself works on without the interpreter: then
//! what is read is any of the values that were there.
#![allow(
    unsafe_code,
    reason = "memory that is somebody else's is read, or written to; each use says why that is sound"
)]

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use pyo3::buffer::{Element, PyBuffer};
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

/// The elements of a contiguous buffer of just this type, where they lie.
pub fn borrow<T: Element + ArrowNativeType>(
    buffer: &Bound<'_, PyAny>,
) -> PyResult<ScalarBuffer<T>> {
    Memory::Borrowed.of(buffer.py(), PyBuffer::<T>::get(buffer)?)
}

/// The bytes of a contiguous buffer, to write to.
pub fn cells<'a>(buffer: &'a PyBuffer<u8>) -> PyResult<&'a [Cell<u8>]> {
    let bytes = buffer.as_slice_ptr().filter(|_| !buffer.readonly());
    let bytes = bytes.ok_or_else(|| wrong_type("needed is memory in one piece, writable"))?;
    // SAFETY: these are the buffer's bytes, which stay where they are for as long as it is held, and may
    // be written to. A `Cell` lies in memory as what is in it.
    Ok(unsafe { &*(bytes.as_ptr() as *const [Cell<u8>]) })
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
