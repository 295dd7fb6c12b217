//! A lock that the interpreter can wait for: threads take turns.
//!
//! ```text
//! holder = 0          free: one compare-and-swap takes it, and nothing else happens
//! holder = me         error: a signal handler, or a function that makes an element, would wait for itself
//! holder = another    wait for `free`, and look after signals every 50 ms
//! ```
//!
//! If you change this: a fork copies the lock as it stands, and the threads that hold it or wait for it are not in the
//! child. So nothing here blocks on `gate`, which may stay locked there for ever, and a turn remembers how many forks
//! lay after the process that took it.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use tfrecs_core::runtime::fork;
use tfrecs_core::runtime::interrupt::Pulse;
use tfrecs_core::{Error, Result};

use crate::error::Raise;

/// How long waiting continues before signals are asked for.
const PERIOD: Duration = Duration::from_millis(50);

const NAP: Duration = Duration::from_millis(1);

/// How often the gate is tried. A waiter holds it for less than a microsecond.
const TRIES: usize = 100;

/// A lock that knows which thread holds it.
#[derive(Default)]
pub struct Turn {
    /// The holder's [`this_thread`], or 0.
    holder: AtomicUsize,
    /// How many forks lay after the process when it was taken.
    forks: AtomicU32,
    waiting: AtomicUsize,
    gate: Mutex<()>,
    free: Condvar,
}

/// A [`Turn`] that was taken; it ends when this is dropped.
pub struct Held<'a>(&'a Turn);

impl Turn {
    /// Takes the turn, from a thread that is not attached to the interpreter.
    ///
    /// # Errors
    /// If this thread has it already, if its holder did not survive a fork, or if a signal ends the wait.
    pub fn take(&self) -> Result<Held<'_>> {
        if !self.try_take() {
            self.refuse()?;
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let taken = self.wait();
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            taken?;
        }
        Ok(Held(self))
    }

    /// Takes it from a thread that is attached; it is not while it waits.
    ///
    /// # Errors
    /// As for [`take`](Self::take).
    pub fn take_attached(&self, py: Python<'_>) -> Result<Held<'_>> {
        if self.try_take() {
            return Ok(Held(self));
        }
        py.detach(|| self.take())
    }

    fn try_take(&self) -> bool {
        let (free, me) = (0, this_thread());
        let taken = (self.holder).compare_exchange(free, me, Ordering::SeqCst, Ordering::Relaxed);
        if taken.is_ok() {
            self.forks.store(fork::generation(), Ordering::Relaxed);
        }
        taken.is_ok()
    }

    fn refuse(&self) -> Result<()> {
        let holder = self.holder.load(Ordering::SeqCst);
        if holder == this_thread() {
            return Err(Error::state(
                "this thread is using it already; a function or a signal handler that is called meanwhile cannot",
            ));
        }
        if holder != 0 && self.forks.load(Ordering::Relaxed) != fork::generation() {
            return Err(Error::state(
                "another thread was using it when this process was forked; begin anew here",
            ));
        }
        Ok(())
    }

    fn wait(&self) -> Result<()> {
        let mut pulse = Pulse::start();
        loop {
            if let Some(gate) = self.try_gate() {
                if self.try_take() {
                    return Ok(());
                }
                drop(self.free.wait_timeout(gate, PERIOD));
            } else {
                nap();
            }
            if self.try_take() {
                return Ok(());
            }
            pulse.check()?;
        }
    }

    fn release(&self) {
        self.holder.store(0, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            // With the gate open, each waiter either finds the turn free or hears this.
            drop(self.try_gate());
            self.free.notify_one();
        }
    }

    /// Locks the gate, if no thread that is gone has locked it.
    fn try_gate(&self) -> Option<MutexGuard<'_, ()>> {
        for _ in 0..TRIES {
            match self.gate.try_lock() {
                Ok(gate) => return Some(gate),
                Err(TryLockError::Poisoned(error)) => return Some(PoisonError::into_inner(error)),
                Err(TryLockError::WouldBlock) => spin_loop(),
            }
        }
        None
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// Waits for a moment, where a fork has left the gate locked.
fn nap() {
    let gate = Mutex::new(());
    let _ = gate
        .lock()
        .map(|gate| drop(Condvar::new().wait_timeout(gate, NAP)));
}

/// A number that no other living thread has.
fn this_thread() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| std::ptr::from_ref(mark).addr())
}

/// A turn, for `with`.
#[pyclass(frozen, name = "Turn", module = "tfrecs._core")]
pub struct PyTurn(Turn);

#[pymethods]
impl PyTurn {
    #[new]
    fn new() -> Self {
        Self(Turn::default())
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        std::mem::forget(self.0.take_attached(py).or_raise(py)?); // until __exit__
        Ok(())
    }

    fn __exit__(
        &self,
        _exception: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _at: &Bound<'_, PyAny>,
    ) {
        if self.0.holder.load(Ordering::Relaxed) == this_thread() {
            self.0.release();
        }
    }
}

/// An iterator that threads share: a base for classes that make an element in `_next`, one thread at a time.
#[pyclass(frozen, subclass, name = "Exclusive", module = "tfrecs._core")]
pub struct PyExclusive {
    turn: Py<PyTurn>,
    /// What makes the elements in place of `_next`, which would cost more.
    source: OnceLock<Py<PyIterator>>,
}

/// The name of the method that makes the elements.
pub fn next_name(py: Python<'_>) -> &Bound<'_, PyString> {
    intern!(py, "_next")
}

#[pymethods]
impl PyExclusive {
    /// Takes any arguments: they are those of the class in Python.
    #[new]
    #[pyo3(signature = (*_arguments, **_named))]
    fn new(
        py: Python<'_>,
        _arguments: &Bound<'_, PyTuple>,
        _named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        Ok(Self {
            turn: Py::new(py, PyTurn::new())?,
            source: OnceLock::new(),
        })
    }

    /// What is held while an element is made.
    #[getter]
    fn _turn(&self, py: Python<'_>) -> Py<PyTurn> {
        self.turn.clone_ref(py)
    }

    /// Takes the elements of an iterator from now on; only the first one counts.
    fn _take_from(&self, source: Py<PyIterator>) {
        let _ = self.source.set(source);
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, it) = (slf.py(), slf.get());
        let _held = (it.turn.get().0.take_attached(py)).or_raise(py)?;
        match it.source.get() {
            Some(source) => source.bind(py).clone().next().transpose(),
            None => slf.call_method0(next_name(py)).map(Some),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.source
            .get()
            .map_or(Ok(()), |source| visit.call(source))
    }
}
