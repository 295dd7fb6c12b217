//! Bytes and lists for Python: large ones are made so that other threads can run meanwhile.

use std::mem::MaybeUninit;
use std::{ptr, slice};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// From that many bytes on, missing memory is worth an exception of its own kind; below, it is a panic.
const LARGE: usize = 64 << 10;

/// From that many bytes on, copying takes longer than a thread that wants to run must wait anyway: some 5 ms.
pub const LONG: usize = 8 << 20;

/// Returns a copy of `content`.
#[inline]
pub fn bytes_of<'py>(py: Python<'py>, content: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    if content.len() < LARGE {
        return Ok(PyBytes::new(py, content));
    }
    large_bytes_of(py, content)
}

#[cold]
#[allow(
    unsafe_code,
    reason = "PyO3 fills new bytes with zeros first, which takes as long as the copy"
)]
fn large_bytes_of<'py>(py: Python<'py>, content: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let len = content.len();
    // SAFETY: a new object of this length (which a slice's never is too large for), or null with an exception set.
    let bytes = unsafe {
        let bytes = ffi::PyBytes_FromStringAndSize(ptr::null(), len.cast_signed());
        Bound::from_owned_ptr_or_err(py, bytes)?.cast_into::<PyBytes>()?
    };
    // SAFETY: that many bytes, to which nothing else refers yet: bytes are not known to the garbage collector. And
    // bytes with values are as good as bytes without.
    let (room, content) = unsafe {
        let start = ffi::PyBytes_AsString(bytes.as_ptr()).cast::<MaybeUninit<u8>>();
        let content = content.as_ptr().cast::<MaybeUninit<u8>>();
        (
            slice::from_raw_parts_mut(start, len),
            slice::from_raw_parts(content, len),
        )
    };
    aside(py, len, || room.copy_from_slice(content));
    Ok(bytes)
}

/// Does work on that many bytes, detached from the interpreter if they are many.
#[inline]
pub fn aside<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    if bytes < LONG {
        work()
    } else {
        py.detach(work)
    }
}

/// Returns a list of values.
#[inline]
pub fn list_of<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    values: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
) -> PyResult<Bound<'py, PyList>> {
    let values = values.into_iter();
    if values.len() <= Pace::ITEMS {
        return PyList::new(py, values);
    }
    long_list_of(py, values)
}

/// Makes the list in pieces, because the garbage collector shows a list to other threads as soon as there is one.
#[cold]
fn long_list_of<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    mut values: impl ExactSizeIterator<Item = T>,
) -> PyResult<Bound<'py, PyList>> {
    let (list, mut pace) = (PyList::empty(py), Pace::default());
    while values.len() > 0 {
        let piece = PyList::new(py, values.by_ref().take(Pace::ITEMS))?;
        list.set_slice(list.len(), list.len(), piece.as_any())?;
        pace.after(py, Pace::ITEMS)?;
    }
    Ok(list)
}

/// Lets other threads run now and then while much is made in Python, and looks for Ctrl-C.
pub struct Pace {
    left: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { left: Self::ITEMS }
    }
}

impl Pace {
    /// Making that many objects takes about a millisecond.
    pub const ITEMS: usize = 1 << 15;

    /// Copying that many bytes takes about as long as making an object.
    const ITEM_BYTES: usize = 128;

    /// Says that that many objects were made.
    ///
    /// # Errors
    /// An exception raised by a signal handler, such as `KeyboardInterrupt`.
    #[inline]
    pub fn after(&mut self, py: Python<'_>, items: usize) -> PyResult<()> {
        self.left = self.left.saturating_sub(items);
        if self.left > 0 {
            return Ok(());
        }
        self.left = Self::ITEMS;
        py.detach(|| ());
        py.check_signals()
    }

    /// Says that an object of that many bytes was made.
    ///
    /// # Errors
    /// As for [`Self::after`].
    #[inline]
    pub fn after_bytes(&mut self, py: Python<'_>, len: usize) -> PyResult<()> {
        self.after(py, 1 + len / Self::ITEM_BYTES)
    }
}

/// Returns a list of copies.
pub fn list_of_bytes<'a, 'py>(
    py: Python<'py>,
    contents: impl Iterator<Item = &'a [u8]>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let mut pace = Pace::default();
    contents
        .map(|content| {
            pace.after_bytes(py, content.len())?;
            bytes_of(py, content)
        })
        .collect()
}
