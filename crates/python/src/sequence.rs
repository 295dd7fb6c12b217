//! The records of several files as one sequence.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use tfrecs_core::record::{ReadOptions, Records, Sequence};

use crate::bytes::bytes_of;
use crate::error::{Raise, wrong_type};
use crate::indexed::PyIndexedFile;
use crate::places::{Places, of_many};
use crate::reader::{GivenLimits, limits_of};
use crate::records::PyRecords;

/// Records of files, any of them: a base for a class whose `[]` would cost too much.
#[pyclass(frozen, subclass, name = "RecordSequence", module = "tfrecs._core")]
pub struct PySequence(OnceLock<Sequence>);

thread_local! {
    /// Where single records are read to, so that none needs memory of its own.
    static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Room for a larger record is not kept.
const KEPT: usize = 1 << 20;

#[pymethods]
impl PySequence {
    /// Takes any arguments: they are those of the class in Python.
    #[new]
    #[pyo3(signature = (*_arguments, **_named))]
    fn new(_arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> Self {
        Self(OnceLock::new())
    }

    /// Is the records of `files` from now on, one behind the other.
    fn _over(
        &self,
        files: Vec<PyRef<'_, PyIndexedFile>>,
        verify: bool,
        threads: usize,
        limits: GivenLimits,
        memory_map: bool,
    ) {
        let files = files.iter().map(|file| Arc::clone(&file.0)).collect();
        let options = ReadOptions {
            compression: None,
            verify,
            limits: limits_of(limits),
        };
        let sequence = Sequence::new(files, options, threads);
        let _ = self.0.set(sequence.with_memory_map(memory_map));
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.sequence()?.len())
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        let places = match Places::of(index, self.__len__()?)? {
            Places::One(place) => return Ok(self.one(py, place)?.into_any()),
            Places::Range(range) => range.collect(),
            Places::Some(places) => places,
        };
        Ok(Bound::new(py, PyRecords(self.many(py, &places)?))?.into_any())
    }

    /// The records of a batch, as PyTorch asks for them.
    fn __getitems__<'py>(&self, indices: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let py = indices.py();
        let places = of_many(indices, self.__len__()?)?;
        let records = self.many(py, &places)?;
        records.iter().map(|record| bytes_of(py, record)).collect()
    }
}

impl PySequence {
    fn sequence(&self) -> PyResult<&Sequence> {
        self.0
            .get()
            .ok_or_else(|| wrong_type("it was never opened"))
    }

    fn one<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyBytes>> {
        let sequence = self.sequence()?;
        // Taken out, because a signal handler may come to the same place.
        let mut room = ROOM.take();
        let read = py.detach(|| sequence.get(place, &mut room));
        let record = read.map(|data| bytes_of(py, room.get(data).unwrap_or_default()));
        if room.capacity() <= KEPT {
            ROOM.set(room);
        }
        record.or_raise(py)?
    }

    fn many(&self, py: Python<'_>, places: &[usize]) -> PyResult<Records> {
        let sequence = self.sequence()?;
        py.detach(|| sequence.read(places)).or_raise(py)
    }
}
