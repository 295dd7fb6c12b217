//! `tfrecs._core`: the Rust core for Python.
//!
//! A file here only converts arguments, releases the interpreter, calls the core and maps the
//! error; policy and defaults live in Python. Files are named as in the core, where it has such a
//! file.

use pyo3::prelude::*;
use tfrecs_core::runtime::memory::Memory;

mod arrays;
mod error;
mod examples;
mod files;
mod interpreter;
mod media;
mod pipeline;

/// For the buffers of batches, which are large and come again and again.
#[global_allocator]
static MEMORY: Memory = Memory::new();

/// The native part of tfrecs.
#[pymodule(gil_used = false)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::error::listen_to_signals();
        crate::interpreter::forks::prepare(module.py())?;
        crate::interpreter::forks::listen(module.py())
    }

    #[pymodule_export]
    use crate::arrays::columns::{PyBuffer, PyColumns};
    #[pymodule_export]
    use crate::arrays::decode::{decode_batch, decode_sequence_batch, name_hint};
    #[pymodule_export]
    use crate::arrays::encode::{encode_batch, encode_sequence_batch};
    #[pymodule_export]
    use crate::arrays::lists::split_lists;
    #[pymodule_export]
    use crate::arrays::raw::decode_raw;
    #[pymodule_export]
    use crate::arrays::rows::{coordinates, first_outside, side_by_side, sparse_column};
    #[pymodule_export]
    use crate::arrays::sparse::sparse_indices;
    #[pymodule_export]
    use crate::arrays::tensor::{parse_tensors, serialize_strings, tensor_header};
    #[pymodule_export]
    use crate::examples::event::PyEventDecoder;
    #[pymodule_export]
    use crate::examples::example::{
        decode_example, decode_sequence_example, encode_example, encode_sequence_example,
        message_kind,
    };
    #[pymodule_export]
    use crate::files::foreign::PyForeign;
    #[pymodule_export]
    use crate::files::indexed::{PyIndexedFile, PyIndexing, count_records, keep_open};
    #[pymodule_export]
    use crate::files::reader::{PyIteration, PyReader, compression_named, compression_of_name};
    #[pymodule_export]
    use crate::files::records::{PyRecords, pick_records};
    #[pymodule_export]
    use crate::files::salvage::PySalvage;
    #[pymodule_export]
    use crate::files::samples::{PySamples, file_identity};
    #[pymodule_export]
    use crate::files::sequence::PySequence;
    #[pymodule_export]
    use crate::files::whole::{PyWholeFile, finish_set, is_locked, publish_set};
    #[pymodule_export]
    use crate::files::writer::{PyWriter, digest_file, find_temporaries};
    #[pymodule_export]
    use crate::interpreter::turn::{PyExclusive, PyTurn};
    #[pymodule_export]
    use crate::media::png::decode_png;
    #[pymodule_export]
    use crate::media::resize::resize_image;
    #[pymodule_export]
    use crate::pipeline::gather::PyGather;
    #[pymodule_export]
    use crate::pipeline::meter::{PyMeter, PyWatch};
    #[pymodule_export]
    use crate::pipeline::options::{PyBatching, PyOutput, PyReadOptions};
    #[pymodule_export]
    use crate::pipeline::order::PyOrder;
    #[pymodule_export]
    use crate::pipeline::scan::PyScan;
}
