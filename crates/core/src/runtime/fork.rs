//! What a fork must not fall into, and how many lie after this process.
//!
//! A fork copies the open files first and the memory some milliseconds later, while the other threads continue: what one
//! of them opens and notes in between stands in the child's memory as an open file, and is none, or with its
//! number soon another one. So what is made by any thread and kept for all is made [`apart`] from forks.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

static GATE: RwLock<()> = RwLock::new(());

static GENERATION: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The gate, shut by the thread that is about to fork.
    static SHUT: RefCell<Option<RwLockWriteGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Does something that no fork falls into: each lies before it or after it. It must be short, and not fork itself.
pub fn apart<T>(make: impl FnOnce() -> T) -> T {
    // The thread that forks waits for nobody: what it does on the way, itself, no fork falls into.
    let is_shut_by_me = SHUT.with_borrow(Option::is_some);
    let _open = (!is_shut_by_me).then(|| GATE.read().unwrap_or_else(PoisonError::into_inner));
    make()
}

/// Says that this thread is about to fork: waits for what is being made [`apart`], and lets nothing begin.
pub fn before() {
    SHUT.with_borrow_mut(|shut| {
        if shut.is_none() {
            *shut = Some(GATE.write().unwrap_or_else(PoisonError::into_inner));
        }
    });
}

/// Says that this thread has forked, or failed to, and that this is the parent.
pub fn after_in_parent() {
    SHUT.take();
}

/// Says that this process is the child of a fork. Its copies of writers then know at once that they are
/// copies; without being told, they only find out before they touch their file.
pub fn after_in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    SHUT.take();
}

/// How many forks this process is away from the first one that has told of them.
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}
