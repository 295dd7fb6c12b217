//! What a fork must not fall into, and how many lie behind this process.
//!
//! A fork copies the open files first and the memory some milliseconds later, while the other threads go on: what one
//! of them opens and notes in between stands in the child's memory as an open file, and is none, or with its
//! number soon another one. So what is made by any thread and kept for all is made [`apart`] from forks.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

static GATE: RwLock<()> = RwLock::new(());

static BEHIND: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The gate, shut by the thread that is about to fork.
    static SHUT: RefCell<Option<RwLockWriteGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Does something that no fork falls into: each lies before it or behind it. It must be short, and not fork itself.
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
    BEHIND.fetch_add(1, Ordering::Relaxed);
    SHUT.take();
}

/// How many forks this process is away from the first one that has told of them.
pub fn behind() -> u32 {
    BEHIND.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{channel, sync_channel};
    use std::thread;
    use std::time::Duration;

    use super::{after_in_child, after_in_parent, apart, before, behind};

    #[test]
    fn a_fork_waits_for_what_is_being_made_and_lets_nothing_begin() {
        let (told, tell) = channel();
        let (go_on, wait) = sync_channel::<()>(0);
        let says = told.clone();
        let maker = thread::spawn(move || {
            apart(|| {
                says.send("making").unwrap();
                wait.recv().unwrap();
                says.send("made").unwrap();
            });
        });
        assert_eq!(tell.recv(), Ok("making"));
        let says = told.clone();
        let (forked, fork) = sync_channel::<()>(0);
        let forking = thread::spawn(move || {
            before();
            before(); // whatever forks within a fork's preparations
            apart(|| says.send("forking").unwrap());
            fork.recv().unwrap();
            says.send("forked").unwrap();
            after_in_parent();
        });
        thread::sleep(Duration::from_millis(20));
        assert!(tell.try_recv().is_err(), "the fork has not waited");
        go_on.send(()).unwrap();
        assert_eq!((tell.recv(), tell.recv()), (Ok("made"), Ok("forking")));
        let late = thread::spawn(move || apart(|| told.send("late").unwrap()));
        thread::sleep(Duration::from_millis(20));
        assert!(tell.try_recv().is_err(), "something has begun in the fork");
        forked.send(()).unwrap();
        assert_eq!((tell.recv(), tell.recv()), (Ok("forked"), Ok("late")));
        for it in [maker, forking, late] {
            it.join().unwrap();
        }
        let count = behind();
        before();
        after_in_child();
        assert_eq!((behind(), apart(|| 1)), (count + 1, 1));
    }
}
