//! What happens around a fork, without one: what is done for all threads is done before it or after it.
//!
//! A process of its own, because writers that are open in this process take themselves for a fork's copies from here on.

use std::sync::mpsc::{channel, sync_channel};
use std::thread;
use std::time::Duration;

use tfrecs_core::runtime::fork::{after_in_child, after_in_parent, apart, before, generation};

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
    let count = generation();
    before();
    after_in_child();
    assert_eq!((generation(), apart(|| 1)), (count + 1, 1));
}
