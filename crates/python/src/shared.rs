//! An object of the core behind a lock that the interpreter can wait for.
//!
//! Signal handlers run in the middle of a call, on the thread that holds the lock. One that uses the
//! same object gets an error instead of waiting for itself for ever.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use tfrecs_core::{Error, Result};

/// A lock that knows which thread holds it.
pub struct Shared<T> {
    content: Mutex<T>,
    /// The holder's [`this_thread`], or 0.
    holder: AtomicUsize,
}

/// The content of a [`Shared`], locked.
pub struct Guard<'a, T> {
    content: MutexGuard<'a, T>,
    holder: &'a AtomicUsize,
}

impl<T> Shared<T> {
    /// Wraps `content`.
    pub fn new(content: T) -> Self {
        Self {
            content: Mutex::new(content),
            holder: AtomicUsize::new(0),
        }
    }

    /// Locks from a thread that is not attached to the interpreter.
    pub fn enter(&self) -> Result<Guard<'_, T>> {
        self.refuse_reentry()?;
        Ok(self.guard(self.content.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Locks from a thread that is attached; it is not while it waits.
    pub fn enter_attached(&self, py: Python<'_>) -> Result<Guard<'_, T>> {
        self.refuse_reentry()?;
        let content = self.content.lock_py_attached(py);
        Ok(self.guard(content.unwrap_or_else(PoisonError::into_inner)))
    }

    // A poisoned lock is of no interest: no call leaves a reader or a writer in a state of which the
    // next one could not tell what to do.
    fn guard<'a>(&'a self, content: MutexGuard<'a, T>) -> Guard<'a, T> {
        self.holder.store(this_thread(), Ordering::Relaxed);
        Guard {
            content,
            holder: &self.holder,
        }
    }

    fn refuse_reentry(&self) -> Result<()> {
        if self.holder.load(Ordering::Relaxed) == this_thread() {
            return Err(Error::state(
                "it is in use by this very thread, in a signal handler",
            ));
        }
        Ok(())
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.holder.store(0, Ordering::Relaxed);
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.content
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.content
    }
}

/// A number that no other living thread has.
fn this_thread() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| std::ptr::from_ref(mark).addr())
}
