//! Reading files.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use tfrecs_core::record::read::reader::Step;
use tfrecs_core::record::{Compression, Limits, ReadOptions, RecordReader};
use tfrecs_core::runtime::interrupt::Pulse;
use tfrecs_core::{Error, Result};

use crate::error::{Raise, check_signals, raise};
use crate::files::pipe;
use crate::files::records::PyRecords;
use crate::interpreter::bytes::bytes_of;
use crate::interpreter::shared::Shared;

/// A compression by any of its names; `"auto"` for none in particular.
pub fn compression_of(name: &str) -> Result<Option<Compression>> {
    if name.eq_ignore_ascii_case("auto") {
        return Ok(None);
    }
    Compression::named(name).map(Some)
}

/// `compression_named(name)`: TensorFlow's name of it; "auto" stays.
#[pyfunction]
pub fn compression_named(py: Python<'_>, name: &str) -> PyResult<&'static str> {
    let found = compression_of(name).or_raise(py)?;
    Ok(found.map_or("auto", Compression::name))
}

/// `compression_of_name(path)`: what the ending of a file's name says, or None.
#[pyfunction]
pub fn compression_of_name(py: Python<'_>, path: PathBuf) -> PyResult<Option<&'static str>> {
    let found = Compression::of_name(&path).or_raise(py)?;
    Ok(found.map(Compression::name))
}

/// `max_record_bytes` and `max_decompressed_bytes`, as Python's side gives them to whatever reads files.
pub type GivenLimits = (Option<u64>, Option<u64>);

/// The same for the core.
pub fn limits_of((max_record_bytes, max_decompressed_bytes): GivenLimits) -> Limits {
    Limits {
        max_record_bytes,
        max_decompressed_bytes,
    }
}

/// Reads the records of one file.
#[pyclass(frozen, name = "Reader", module = "tfrecs._core")]
pub struct PyReader(Shared<Option<RecordReader>>);

fn opened(reader: &mut Option<RecordReader>) -> Result<&mut RecordReader> {
    reader.as_mut().ok_or_else(closed)
}

fn closed() -> Error {
    Error::state("Reader is closed.")
}

#[pymethods]
impl PyReader {
    #[new]
    #[pyo3(signature = (path, compression_type, verify, limits=(None, None)))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        compression_type: &str,
        verify: bool,
        limits: GivenLimits,
    ) -> PyResult<Self> {
        let located = |error: Error| error.with_path(&path);
        let compression = compression_of(compression_type)
            .map_err(located)
            .or_raise(py)?;
        let options = ReadOptions {
            compression,
            verify,
            limits: limits_of(limits),
        };
        let reader = match pipe::open(py, &path, pipe::End::Read)? {
            Some(pipe) => py.detach(|| RecordReader::from_file(pipe, &path, options)),
            None => py.detach(|| RecordReader::open(&path, options)),
        };
        let reader = reader.or_raise(py)?;
        Ok(Self(Shared::new(Some(reader))))
    }

    /// How the file is compressed: "", "GZIP" or "ZLIB".
    #[getter]
    fn compression_type(&self, py: Python<'_>) -> PyResult<&'static str> {
        let mut guard = self.0.enter_attached(py).or_raise(py)?;
        Ok(opened(&mut guard).or_raise(py)?.compression().name())
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        loop {
            {
                let mut guard = self.0.enter_attached(py).or_raise(py)?;
                let reader = opened(&mut guard).or_raise(py)?;
                match reader.step().or_raise(py)? {
                    Step::Record(range) => {
                        return bytes_of(py, reader.bytes(range)).map(Some);
                    }
                    Step::End => return Ok(None),
                    Step::NeedBytes => {}
                }
            }
            py.detach(|| opened(&mut *self.0.enter()?)?.fill())
                .or_raise(py)?;
            py.check_signals()?;
        }
    }

    /// The next records, at most `n`; none at the end.
    fn read_batch(&self, py: Python<'_>, n: usize) -> PyResult<PyRecords> {
        py.detach(|| {
            let mut guard = self.0.enter().map_err(to_exception)?;
            let reader = opened(&mut guard).map_err(to_exception)?;
            let mut batch = reader.begin_batch(n);
            let mut pulse = Pulse::start();
            loop {
                let more = reader.extend_batch(&mut batch).map_err(to_exception);
                let checked = match more {
                    Ok(true) => check_pulse(&mut pulse).map(|()| true),
                    complete => complete,
                };
                match checked {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        reader.cancel_batch(&batch);
                        return Err(error);
                    }
                }
            }
            Ok(PyRecords(reader.finish_batch(batch)))
        })
    }

    /// Skips at most `n` records and says how many there were.
    fn skip(&self, py: Python<'_>, n: usize) -> PyResult<usize> {
        py.detach(|| {
            let mut guard = self.0.enter().map_err(to_exception)?;
            let reader = opened(&mut guard).map_err(to_exception)?;
            let mut pulse = Pulse::start();
            for done in 0..n {
                loop {
                    match reader.step().map_err(to_exception)? {
                        Step::Record(_) => break,
                        Step::End => return Ok(done),
                        Step::NeedBytes => reader.fill().map_err(to_exception)?,
                    }
                    check_pulse(&mut pulse)?;
                }
            }
            Ok(n)
        })
    }

    /// The number of the next record and its offset in the stream of frames.
    fn tell(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let mut guard = self.0.enter_attached(py).or_raise(py)?;
        let reader = opened(&mut guard).or_raise(py)?;
        Ok((reader.record(), reader.offset()))
    }

    /// Continues with record number `record`, which begins at `begin`, and ends where the range does.
    fn read_between(&self, py: Python<'_>, begin: u64, end: u64, record: u64) -> PyResult<()> {
        let mut guard = self.0.enter_attached(py).or_raise(py)?;
        let reader = opened(&mut guard).or_raise(py)?;
        reader.seek(begin, record).or_raise(py)?;
        reader.end_at(end);
        Ok(())
    }

    /// Lets reading continue where the file has grown since.
    fn resume(&self, py: Python<'_>) -> PyResult<()> {
        let mut guard = self.0.enter_attached(py).or_raise(py)?;
        opened(&mut guard).or_raise(py)?.resume();
        Ok(())
    }

    /// Panics while it reads, as a mistake in the core would: for the test that this is an exception, and
    /// that the reader can be used again.
    fn _panic(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| -> Result<()> {
            let mut guard = self.0.enter()?;
            let reader = opened(&mut guard)?;
            panic!("on purpose, at record {}", reader.record());
        })
        .or_raise(py)
    }

    /// Closes the file.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        *self.0.enter_attached(py).or_raise(py)? = None;
        Ok(())
    }
}

/// Iterates over what a reader reads: a base for a class whose methods would cost too much.
#[pyclass(frozen, subclass, name = "Iteration", module = "tfrecs._core")]
pub struct PyIteration(Mutex<Option<Py<PyReader>>>);

impl PyIteration {
    fn with<R>(&self, py: Python<'_>, look: impl FnOnce(&mut Option<Py<PyReader>>) -> R) -> R {
        let reader = self.0.lock_py_attached(py);
        look(&mut reader.unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyIteration {
    /// Takes any arguments: they are those of the class in Python.
    #[new]
    #[pyo3(signature = (*_arguments, **_named))]
    fn new(_arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> Self {
        Self(Mutex::new(None))
    }

    /// Iterates over the records of `reader` from now on.
    fn _iterate_over(&self, py: Python<'_>, reader: Py<PyReader>) {
        let old = self.with(py, |place| place.replace(reader));
        drop(old); // not while it is locked, because closing a file can take long
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        match self.with(py, |reader| {
            reader.as_ref().map(|reader| reader.clone_ref(py))
        }) {
            Some(reader) => reader.get().__next__(py),
            None => Err(closed()).or_raise(py),
        }
    }
}

fn to_exception(error: Error) -> PyErr {
    Python::attach(|py| raise(py, &error))
}

/// Looks after signals, if it is time to.
fn check_pulse(pulse: &mut Pulse) -> PyResult<()> {
    if pulse.is_due() {
        check_signals()
    } else {
        Ok(())
    }
}
