//! PNG images.

use arrow_buffer::Buffer;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tfrecs_core::image::png;

use crate::arrays::columns::PyBuffer;
use crate::error::Raise;

/// The samples of a PNG image, height, width and channels, and whether samples have 16 bits.
#[pyfunction]
pub fn decode_png(
    py: Python<'_>,
    data: PyBackedBytes,
    max_pixels: u64,
) -> PyResult<(PyBuffer, (u32, u32, u8), bool)> {
    let image = py.detach(|| png::decode(&data, max_pixels)).or_raise(py)?;
    let shape = (image.height, image.width, image.channels);
    let memory = PyBuffer::values(Buffer::from_vec(image.samples));
    Ok((memory, shape, image.deep))
}
