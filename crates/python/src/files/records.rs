//! Batches of records.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_buffer::Buffer;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyIterator, PyType};
use tfrecs_core::Error;
use tfrecs_core::error::counted;
use tfrecs_core::record::{BufferPool, Digest, Picked, Records};

use crate::arrays::borrowed::borrow;
use crate::arrays::columns::PyBuffer;
use crate::arrays::places::Places;
use crate::error::{Raise, raise, wrong_type};
use crate::interpreter::bytes::{aside, bytes_of, list_of_bytes};

/// A batch of records: a sequence of bytes over one buffer.
///
/// Example:
///     >>> import tfrecs
///     >>> records = tfrecs.Records([b"a", b"bc", b""])
///     >>> len(records), records[1], records[-2:].tolist(), records.nbytes
///     (3, b'bc', [b'bc', b''], 3)
#[pyclass(frozen, name = "Records", module = "tfrecs._core")]
pub struct PyRecords(pub Records);

#[pymethods]
impl PyRecords {
    #[new]
    fn new(records: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (py, records) = (records.py(), Input::of(records)?);
        Ok(Self(match records {
            Input::Records(records) => records,
            Input::Bytes(records) => {
                let nbytes = records.iter().map(|record| record.len()).sum();
                aside(py, nbytes, || records.iter().map(AsRef::as_ref).collect())
            }
        }))
    }

    /// Records that lie one after the other in `data`, from one offset to the next.
    #[staticmethod]
    fn from_buffers(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        offsets: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let data = crate::arrays::columns::copy::<u8>(py, data)?;
        let offsets = crate::arrays::columns::copy::<i64>(py, offsets)?;
        let in_order = offsets.is_sorted() && offsets.first().is_none_or(|&first| first == 0);
        let ends: Result<Vec<usize>, _> = offsets
            .iter()
            .skip(1)
            .map(|&end| usize::try_from(end))
            .collect();
        let ends = ends.unwrap_or_default();
        if !in_order || ends.last().is_some_and(|&end| end > data.len()) {
            return Err(wrong_type(
                "offsets must begin with 0, ascend, and end within the data",
            ));
        }
        Ok(Self(Records::contiguous(data, ends)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        let some = match Places::of(index, self.0.len())? {
            Places::One(place) => {
                let record = self.0.get(place).unwrap_or_default();
                return Ok(bytes_of(py, record)?.into_any());
            }
            Places::Range(range) => self.0.slice(range),
            Places::Some(places) => self.0.take(&places).unwrap_or_default(),
        };
        Ok(Bound::new(py, Self(some))?.into_any())
    }

    fn __iter__(&self) -> PyRecordsIterator {
        PyRecordsIterator {
            records: self.0.clone(),
            next: AtomicUsize::new(0),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        match Input::of(other) {
            Ok(Input::Records(other)) => self.0.iter().eq(other.iter()),
            Ok(Input::Bytes(other)) => self.0.iter().eq(other.iter().map(AsRef::as_ref)),
            Err(_) => false,
        }
    }

    /// The bytes of all records together.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.payload_bytes()
    }

    /// All records as a list of bytes.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        list_of_bytes(py, self.0.iter())
    }

    /// The key of each record, its file and (if `numbered`) its number there, one after the other, and where each ends
    /// (int64, with a leading 0).
    fn _keys(&self, py: Python<'_>, numbered: bool) -> (PyBuffer, PyBuffer) {
        let (keys, ends) = py.detach(|| self.0.keys(numbered));
        (
            PyBuffer::values(Buffer::from_vec(keys)),
            PyBuffer::structure(Buffer::from_vec(ends)),
        )
    }

    /// The same records, each of which knows its number here if it came from no file.
    fn _numbered(&self) -> Self {
        Self(self.0.numbered())
    }

    /// The same records, which came from `path` and have these numbers there.
    #[allow(clippy::needless_pass_by_value, reason = "Python hands them in")]
    fn _named(&self, path: PathBuf, numbers: Vec<u64>) -> PyResult<Self> {
        if numbers.len() != self.0.len() {
            let (found, wanted) = (self.0.len(), numbers.len() as u64);
            let wanted = counted(wanted, "record");
            return Err(wrong_type(format!("of {wanted} asked for, {found} came")));
        }
        Ok(Self(self.0.named(&path, &numbers)))
    }

    /// How many records there are, how many bytes they have, and a checksum of them in order.
    fn _digest(&self, py: Python<'_>) -> (u64, u64, u32) {
        let mut digest = Digest::default();
        py.detach(|| self.0.iter().for_each(|record| digest.add(record)));
        (digest.records, digest.bytes, digest.checksum)
    }

    /// Pickles the records, without where they came from.
    fn __reduce__(slf: Bound<'_, Self>) -> PyResult<(Bound<'_, PyType>, (Pickled<'_>,))> {
        Ok((slf.get_type(), (slf.get().tolist(slf.py())?,)))
    }

    /// A ParseError in record `index` (called `name`), which says where that record stands.
    #[pyo3(signature = (index, reason, feature=None, name=None))]
    fn parse_error(
        &self,
        py: Python<'_>,
        index: usize,
        reason: String,
        feature: Option<&str>,
        name: Option<&str>,
    ) -> PyErr {
        let mut error = Error::content(reason);
        if let Some(feature) = feature {
            error = error.at_feature(feature);
        }
        if let Some(name) = name {
            error = error.with_name(name);
        }
        raise(py, &self.0.locate(index, error))
    }

    fn __repr__(&self) -> String {
        format!(
            "Records({}, {})",
            counted(self.0.len() as u64, "record"),
            counted(self.0.payload_bytes() as u64, "byte")
        )
    }
}

/// Some of the records of each batch, by their places there (int64 buffers), in one batch of their own.
#[pyfunction]
pub fn pick_records(
    py: Python<'_>,
    batches: Vec<(PyRef<'_, PyRecords>, Bound<'_, PyAny>)>,
) -> PyResult<PyRecords> {
    let (mut parts, mut picks) = (Vec::new(), Vec::new());
    for (records, places) in batches {
        let part = as_u32(parts.len());
        let places = borrow::<i64>(&places)?;
        picks.extend(places.iter().map(|&place| (part, as_u32(place))));
        parts.push(records.0.clone());
    }
    let picked = py.detach(|| Picked::new(parts, picks).copied(&mut BufferPool::default()));
    picked.map(PyRecords).or_raise(py)
}

fn as_u32(number: impl TryInto<u32>) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}

/// Iterates over records.
#[pyclass(frozen, name = "RecordsIterator", module = "tfrecs._core")]
pub struct PyRecordsIterator {
    records: Records,
    next: AtomicUsize,
}

#[pymethods]
impl PyRecordsIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        let record = self.records.get(place);
        record.map(|record| bytes_of(py, record)).transpose()
    }
}

/// What is pickled of records.
type Pickled<'py> = Vec<Bound<'py, PyBytes>>;

/// Records as a caller may give them.
pub enum Input {
    /// Ours.
    Records(Records),
    /// Python's.
    Bytes(Vec<PyBackedBytes>),
}

impl Input {
    /// Takes [`PyRecords`] or any iterable of bytes.
    pub fn of(records: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(records) = records.cast::<PyRecords>() {
            return Ok(Self::Records(records.get().0.clone()));
        }
        let mut all = Vec::new();
        for record in Self::iterate(records)? {
            all.push(to_bytes(&record?)?);
        }
        Ok(Self::Bytes(all))
    }

    /// Iterates over anything but a single record, whose bytes are hardly meant.
    pub fn iterate<'py>(records: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
        if records.is_instance_of::<PyBytes>() {
            return Err(wrong_type(
                "expected a sequence of records, got one bytes object",
            ));
        }
        records.try_iter()
    }
}

fn to_bytes(record: &Bound<'_, PyAny>) -> PyResult<PyBackedBytes> {
    record.extract().map_err(|_| {
        let found = record
            .get_type()
            .name()
            .map_or(String::new(), |name| name.to_string());
        wrong_type(format!("a record must be bytes, not {found}"))
    })
}

/// How many records, and about how many bytes of them, are taken from an iterator at a time.
const SOME: (usize, usize) = (4096, 4 << 20);

/// The next records of an iterator; none at its end.
pub fn next_some(records: &mut Bound<'_, PyIterator>) -> PyResult<Vec<PyBackedBytes>> {
    let (mut some, mut bytes) = (Vec::new(), 0);
    while some.len() < SOME.0 && bytes < SOME.1 {
        let Some(record) = records.next() else { break };
        let record = to_bytes(&record?)?;
        bytes += record.len();
        some.push(record);
    }
    Ok(some)
}
