//! `tfrecs._core`: the Rust core for Python.
//!
//! A file here only converts arguments, releases the interpreter, calls the core and maps the
//! error; policy and defaults live in Python. Files are named as in the core, where it has such a
//! file.

use pyo3::prelude::*;
use tfrecs_core::runtime::memory::Memory;

mod arrow;
mod batches;
mod borrowed;
mod bytes;
mod columns;
mod decode;
mod encode;
mod error;
mod event;
mod example;
mod foreign;
mod forks;
mod gather;
mod indexed;
mod lists;
mod meter;
mod options;
mod order;
mod pipe;
mod places;
mod png;
mod raw;
mod reader;
mod records;
mod resize;
mod rows;
mod salvage;
mod samples;
mod scan;
mod sequence;
mod shared;
mod sparse;
mod tensor;
mod turn;
mod whole;
mod writer;

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
        crate::forks::prepare(module.py())?;
        crate::forks::listen(module.py())
    }

    #[pymodule_export]
    use crate::columns::{PyBuffer, PyColumns};
    #[pymodule_export]
    use crate::decode::{decode_batch, decode_sequence_batch, name_hint};
    #[pymodule_export]
    use crate::encode::{encode_batch, encode_sequence_batch};
    #[pymodule_export]
    use crate::event::PyEventDecoder;
    #[pymodule_export]
    use crate::example::{
        decode_example, decode_sequence_example, encode_example, encode_sequence_example,
        message_kind,
    };
    #[pymodule_export]
    use crate::foreign::PyForeign;
    #[pymodule_export]
    use crate::gather::PyGather;
    #[pymodule_export]
    use crate::indexed::{PyIndexedFile, PyIndexing, count_records, keep_open};
    #[pymodule_export]
    use crate::lists::split_lists;
    #[pymodule_export]
    use crate::meter::{PyMeter, PyWatch};
    #[pymodule_export]
    use crate::options::{PyBatching, PyOutput, PyReadOptions};
    #[pymodule_export]
    use crate::order::PyOrder;
    #[pymodule_export]
    use crate::png::decode_png;
    #[pymodule_export]
    use crate::raw::decode_raw;
    #[pymodule_export]
    use crate::reader::{PyIteration, PyReader, compression_named, compression_of_name};
    #[pymodule_export]
    use crate::records::{PyRecords, pick_records};
    #[pymodule_export]
    use crate::resize::resize_image;
    #[pymodule_export]
    use crate::rows::{coordinates, first_outside, side_by_side, sparse_column};
    #[pymodule_export]
    use crate::salvage::PySalvage;
    #[pymodule_export]
    use crate::samples::{PySamples, file_identity};
    #[pymodule_export]
    use crate::scan::PyScan;
    #[pymodule_export]
    use crate::sequence::PySequence;
    #[pymodule_export]
    use crate::sparse::sparse_indices;
    #[pymodule_export]
    use crate::tensor::{parse_tensors, serialize_strings, tensor_header};
    #[pymodule_export]
    use crate::turn::{PyExclusive, PyTurn};
    #[pymodule_export]
    use crate::whole::{PyWholeFile, finish_set, is_locked, publish_set};
    #[pymodule_export]
    use crate::writer::{PyWriter, digest_file, find_temporaries};
}
