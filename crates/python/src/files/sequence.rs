//! The records of several files as one sequence.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use tfrecs_core::Error;
use tfrecs_core::record::{ReadOptions, Records, Sequence};

use crate::arrays::places::{Places, of_many};
use crate::error::{Raise, wrong_type};
use crate::files::indexed::PyIndexedFile;
use crate::files::reader::{GivenLimits, limits_of};
use crate::files::records::PyRecords;
use crate::interpreter::bytes::{bytes_of, list_of_bytes};

/// Records of files, any of them: a base for a class whose `[]` would cost too much.
#[pyclass(frozen, subclass, name = "RecordSequence", module = "tfrecs._core")]
pub struct PySequence(Mutex<SequenceState>);

/// A read keeps the files open until it is done, even if another thread closes them meanwhile.
enum SequenceState {
    New,
    Open(Arc<Sequence>),
    Closed,
}

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
        Self(Mutex::new(SequenceState::New))
    }

    /// Is the records of `files` from now on, one after the other.
    fn _over(
        &self,
        py: Python<'_>,
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
        let sequence = Sequence::new(files, options, threads).with_memory_map(memory_map);
        self.change_to(py, SequenceState::Open(Arc::new(sequence)));
    }

    /// Is closed from now on, and lets go of the files.
    fn _close(&self, py: Python<'_>) {
        self.change_to(py, SequenceState::Closed);
    }

    /// How many bytes the records of all files have, frames and all, if any of the files is compressed.
    fn _inflated(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        let sequence = self.sequence(py)?;
        if !sequence.is_compressed() {
            return Ok(None);
        }
        py.detach(|| sequence.stream_bytes()).or_raise(py).map(Some)
    }

    /// Of each file the checksum of samples of its bytes.
    fn _samples(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        Ok(self.sequence(py)?.samples())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.sequence(py)?.len())
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        let places = match Places::of(index, self.__len__(py)?)? {
            Places::One(place) => return Ok(self.one(py, place)?.into_any()),
            Places::Range(range) => range.collect(),
            Places::Some(places) => places,
        };
        Ok(Bound::new(py, PyRecords(self.many(py, &places)?))?.into_any())
    }

    /// The records of a batch, as PyTorch asks for them.
    fn __getitems__<'py>(&self, indices: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let py = indices.py();
        let places = of_many(indices, self.__len__(py)?)?;
        let records = self.many(py, &places)?;
        list_of_bytes(py, records.iter())
    }
}

impl PySequence {
    fn with<R>(&self, py: Python<'_>, look: impl FnOnce(&mut SequenceState) -> R) -> R {
        let state = self.0.lock_py_attached(py);
        look(&mut state.unwrap_or_else(PoisonError::into_inner))
    }

    fn change_to(&self, py: Python<'_>, state: SequenceState) {
        let old = self.with(py, |place| std::mem::replace(place, state));
        py.detach(|| drop(old)); // not while it is locked, because closing files can take long
    }

    /// The records, unless it is closed.
    pub fn sequence(&self, py: Python<'_>) -> PyResult<Arc<Sequence>> {
        self.with(py, |state| match state {
            SequenceState::Open(sequence) => Ok(Arc::clone(sequence)),
            SequenceState::New => Err(wrong_type("it was never opened")),
            SequenceState::Closed => {
                let text = "IndexedRecords is closed; tfrecs.open() opens its files again.";
                Err(Error::state(text)).or_raise(py)
            }
        })
    }

    fn one<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyBytes>> {
        let sequence = self.sequence(py)?;
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
        let sequence = self.sequence(py)?;
        py.detach(|| sequence.read(places)).or_raise(py)
    }
}
