//! Bytes for Python, for which there may be no memory.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// From so many bytes on, missing memory is worth an exception of its own kind; below, it is a panic.
const LARGE: usize = 64 << 10;

/// A copy of `content`.
#[inline]
pub fn bytes_of<'py>(py: Python<'py>, content: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    if content.len() < LARGE {
        return Ok(PyBytes::new(py, content));
    }
    PyBytes::new_with(py, content.len(), |room| {
        room.copy_from_slice(content);
        Ok(())
    })
}
