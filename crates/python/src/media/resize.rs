//! Images in another size.

use arrow_buffer::Buffer;
use pyo3::prelude::*;
use tfrecs_core::image::resize::{Pixels, resize};

use crate::arrays::borrowed::borrow;
use crate::arrays::columns::PyBuffer;
use crate::error::Raise;

/// The samples of an image with another height and width.
#[pyfunction]
pub fn resize_image(
    samples: &Bound<'_, PyAny>,
    shape: (u32, u32, u8),
    size: (u32, u32),
    filter: &str,
) -> PyResult<PyBuffer> {
    let py = samples.py();
    let memory = borrow::<u8>(samples)?;
    let image = Pixels {
        height: shape.0,
        width: shape.1,
        channels: shape.2,
        samples: &memory,
    };
    let resized = py.detach(|| resize(image, size.1, size.0, filter));
    Ok(PyBuffer::values(Buffer::from_vec(resized.or_raise(py)?)))
}
