//! What a step of a pass has given, and how long that took.
//!
//! A step asks the one before it, which asks the one before that, all on one thread. So each thread notes how long the
//! steps before took of the time of the one that asks; what is left is its own.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyIterator;
use pyo3::{PyTraverseError, PyVisit};

thread_local! {
    /// Nanoseconds of the present step that went to steps before it.
    static BEFORE: Cell<u64> = const { Cell::new(0) };
    /// Nanoseconds in which it waited for threads of its own.
    static IDLE: Cell<u64> = const { Cell::new(0) };
}

/// Counts of one step; any number of threads add to them. Times are in nanoseconds.
#[pyclass(frozen, name = "Meter", module = "tfrecs._core")]
#[derive(Default)]
pub struct PyMeter {
    elements: AtomicU64,
    taken: AtomicU64,
    own: AtomicU64,
    waited: AtomicU64,
    worked: AtomicU64,
    records: AtomicU64,
    bytes: AtomicU64,
}

#[pymethods]
impl PyMeter {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Elements; seconds taken, own, waited and worked; records, and their bytes.
    ///
    /// Taken is how long those who asked for elements have waited for them; own, how much of that the step itself was
    /// at work; waited, how long it has waited for the steps before it; worked, how long threads of its own have, all
    /// together.
    fn read(&self) -> (u64, f64, f64, f64, f64, u64, u64) {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        let time = |of| Duration::from_nanos(count(of)).as_secs_f64();
        (
            count(&self.elements),
            time(&self.taken),
            time(&self.own),
            time(&self.waited),
            time(&self.worked),
            count(&self.records),
            count(&self.bytes),
        )
    }

    /// A thread of the step has waited that many nanoseconds for the steps before, and then worked.
    fn add_work(&self, waited: u64, worked: u64) {
        self.waited.fetch_add(waited, Ordering::Relaxed);
        self.worked.fetch_add(worked, Ordering::Relaxed);
    }

    /// Adds nanoseconds that the caller of the step has waited for its threads.
    #[staticmethod]
    fn add_idle(idle: u64) {
        IDLE.set(IDLE.get() + idle);
    }

    /// Elements were left out, which took that many nanoseconds.
    fn add_skipped(&self, taken: u64) {
        self.taken.fetch_add(taken, Ordering::Relaxed);
        self.own.fetch_add(taken, Ordering::Relaxed);
    }
}

impl PyMeter {
    /// Adds a batch that was read: its records, how long somebody waited for it, and what threads have worked meanwhile.
    pub fn add_batch(&self, (records, bytes): (usize, usize), waited: Duration, worked: Duration) {
        let taken = nanoseconds(waited);
        self.records.fetch_add(records as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.taken.fetch_add(taken, Ordering::Relaxed);
        self.worked
            .fetch_add(nanoseconds(worked), Ordering::Relaxed);
        BEFORE.set(BEFORE.get() + taken);
    }
}

/// An iterator over what another gives, which counts. It costs less than a tenth of a microsecond an element.
#[pyclass(frozen, subclass, name = "Watch", module = "tfrecs._core")]
pub struct PyWatch {
    watched: Py<PyIterator>,
    meter: Py<PyMeter>,
}

#[pymethods]
impl PyWatch {
    #[new]
    fn new(watched: Py<PyIterator>, meter: Py<PyMeter>) -> Self {
        Self { watched, meter }
    }

    /// What is watched.
    #[getter]
    fn watched(&self, py: Python<'_>) -> Py<PyIterator> {
        self.watched.clone_ref(py)
    }

    /// What counts.
    #[getter]
    fn meter(&self, py: Python<'_>) -> Py<PyMeter> {
        self.meter.clone_ref(py)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (before, idle) = (BEFORE.replace(0), IDLE.replace(0));
        let begun = Instant::now();
        let next = self.watched.bind(py).clone().next();
        let taken = nanoseconds(begun.elapsed());
        let (waited, rested) = (BEFORE.get(), IDLE.get());
        BEFORE.set(before + taken);
        IDLE.set(idle);
        let meter = self.meter.get();
        meter.taken.fetch_add(taken, Ordering::Relaxed);
        let own = taken.saturating_sub(waited + rested);
        meter.own.fetch_add(own, Ordering::Relaxed);
        meter.waited.fetch_add(waited, Ordering::Relaxed);
        if matches!(next, Some(Ok(_))) {
            meter.elements.fetch_add(1, Ordering::Relaxed);
        }
        next.transpose()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.watched)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
