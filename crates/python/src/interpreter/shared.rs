//! An object of the core after a lock that the interpreter can wait for.
//!
//! Signal handlers run in the middle of a call, on the thread that holds the lock. One that uses the
//! same object gets an error instead of waiting for itself for ever.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use tfrecs_core::Result;

use crate::interpreter::turn::{Held, Turn};

/// Something that one thread at a time uses.
pub struct Shared<T> {
    turn: Turn,
    /// Locked only by the thread whose turn it is, so that nobody waits for it.
    content: Mutex<T>,
}

/// The content of a [`Shared`], locked.
pub struct Guard<'a, T> {
    // In this order: the content is free before the turn ends.
    content: MutexGuard<'a, T>,
    _turn: Held<'a>,
}

impl<T> Shared<T> {
    /// Wraps `content`.
    pub fn new(content: T) -> Self {
        Self {
            turn: Turn::default(),
            content: Mutex::new(content),
        }
    }

    /// Locks from a thread that is not attached to the interpreter.
    pub fn enter(&self) -> Result<Guard<'_, T>> {
        self.turn.take().map(|turn| self.guard(turn))
    }

    /// Locks from a thread that is attached; it is not while it waits.
    pub fn enter_attached(&self, py: Python<'_>) -> Result<Guard<'_, T>> {
        self.turn.take_attached(py).map(|turn| self.guard(turn))
    }

    // A poisoned lock is of no interest: no call leaves a reader or a writer in a state of which the
    // next one could not tell what to do.
    fn guard<'a>(&'a self, turn: Held<'a>) -> Guard<'a, T> {
        Guard {
            content: self.content.lock().unwrap_or_else(PoisonError::into_inner),
            _turn: turn,
        }
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
