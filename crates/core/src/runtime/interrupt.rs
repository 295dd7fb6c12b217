//! Signals: what to do when one interrupts a system call, and when to ask for them in long work.
//!
//! The standard library would simply try an interrupted call again, and a program waiting at a pipe
//! could not be stopped. The host program installs a check instead.

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

static GO_ON: OnceLock<fn() -> bool> = OnceLock::new();

/// Has `go_on` called whenever a signal interrupts reading or writing: true tries again, false gives
/// up with [`io::ErrorKind::Interrupted`]. The first handler stays.
pub fn on_interrupt(go_on: fn() -> bool) {
    let _ = GO_ON.set(go_on);
}

/// Calls `attempt` until it is not interrupted.
pub(crate) fn retrying<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => check()?,
            done => return done,
        }
    }
}

/// Asks for signals every now and then in work that is all computation.
pub struct Pulse(Instant);

/// How often: seldom enough that asking costs nothing, even if it means to wait for a lock.
const PERIOD: Duration = Duration::from_millis(50);

impl Pulse {
    /// Begins to count time.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Whether it is time to ask.
    pub fn is_due(&mut self) -> bool {
        let due = self.0.elapsed() >= PERIOD;
        if due {
            self.0 = Instant::now();
        }
        due
    }

    /// Fails if it is time to ask, and a signal says so.
    ///
    /// # Errors
    /// [`io::ErrorKind::Interrupted`].
    pub fn check(&mut self) -> io::Result<()> {
        if self.is_due() { check() } else { Ok(()) }
    }
}

thread_local! {
    /// What says that this thread, which somebody else waits for, is not wanted any more.
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Makes this thread a worker: it leaves signals to whoever waits for it, and gives up when `stop` says so.
pub(crate) fn stop_by(stop: &Arc<AtomicBool>) {
    STOP.set(Some(Arc::clone(stop)));
}

/// Fails if a signal says so, or, in a worker, whoever waits for it.
pub(crate) fn check() -> io::Result<()> {
    let stop = STOP.with_borrow(|stop| stop.as_ref().map(|stop| stop.load(Ordering::Relaxed)));
    match stop {
        Some(true) => return Err(io::ErrorKind::Interrupted.into()),
        Some(false) => return Ok(()),
        None => {}
    }
    match GO_ON.get() {
        Some(go_on) if !go_on() => Err(io::ErrorKind::Interrupted.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_handler_it_tries_again() {
        let mut left = 3;
        let outcome = retrying(|| {
            left -= 1;
            if left > 0 {
                Err(io::ErrorKind::Interrupted.into())
            } else {
                Ok(7)
            }
        });
        assert_eq!((outcome.unwrap(), left), (7, 0));
    }
}
