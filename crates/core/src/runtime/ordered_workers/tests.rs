//! Work on several threads: its order, its bounds and its end.

use super::*;

fn counting(end: usize) -> impl FnMut() -> Option<usize> + Send + 'static {
    let mut jobs = 0..end;
    move || jobs.next()
}

fn squares(threads: usize, ahead: usize, end: usize) -> Ordered<usize> {
    let worker = || {
        |job: usize| {
            if job.is_multiple_of(7) {
                thread::yield_now();
            }
            job * job
        }
    };
    Ordered::start(threads, ahead, counting(end), worker).unwrap()
}

#[test]
fn results_come_in_the_order_of_the_jobs() {
    for threads in 1..=5 {
        for ahead in [0, 1, 2, 9] {
            for end in [0, 1, 2, 100] {
                let mut all = squares(threads, ahead, end);
                for job in 0..end {
                    assert_eq!(all.next_result().unwrap(), Some(job * job));
                }
                assert_eq!(all.next_result().unwrap(), None);
                assert_eq!(all.next_result().unwrap(), None);
                assert_eq!(all.ready_result().unwrap(), None);
            }
        }
    }
}

#[test]
fn no_more_than_so_many_jobs_are_begun_ahead() {
    let begun = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&begun);
    let source = move || {
        *counted.lock().unwrap() += 1;
        Some(())
    };
    let mut all = Ordered::start(3, 4, source, || |()| ()).unwrap();
    for taken in 0..50 {
        assert!(*begun.lock().unwrap() <= taken + 4);
        all.next_result().unwrap();
    }
}

#[test]
fn dropped_early_it_leaves_no_thread_after() {
    for taken in [0, 1, 5] {
        let mut all = squares(3, 2, usize::MAX);
        for _ in 0..taken {
            all.next_result().unwrap();
        }
        let shared = Arc::clone(&all.shared);
        drop(all);
        assert_eq!(shared.lock().workers, 0);
    }
}

#[test]
fn who_waits_is_told_when_it_is_closed() {
    let (never, wanted) = std::sync::mpsc::channel::<()>();
    let wanted = Arc::new(Mutex::new(wanted));
    let stuck = || {
        let wanted = Arc::clone(&wanted);
        move |()| {
            let _ = wanted.lock().unwrap().recv();
        }
    };
    let all = Ordered::start(1, 1, || Some(()), stuck).unwrap();
    let closing = all.closing();
    let all = Mutex::new(all);
    let job = |is_waiting| {
        if is_waiting {
            let told = all.lock().unwrap().next_result();
            assert!(told.unwrap_err().to_string().contains("closed"));
        } else {
            closing.store(true, Ordering::Relaxed);
        }
        Ok(())
    };
    in_parallel(2, vec![true, false], job).unwrap();
    drop(never);
}

#[test]
fn how_long_was_worked_is_told_once() {
    let slow = || |()| thread::sleep(Duration::from_millis(5));
    let mut jobs = 0..3;
    let mut all = Ordered::start(2, 4, move || jobs.next().map(drop), slow).unwrap();
    while all.next_result().unwrap().is_some() {}
    assert!(all.worked() >= Duration::from_millis(15));
    assert_eq!(all.worked(), Duration::ZERO);
}

#[test]
fn work_that_asks_for_signals_hears_that_it_is_not_wanted_any_more() {
    let endless = || |()| while interrupt::check().is_ok() {};
    let all = Ordered::start(2, 2, || Some(()), endless).unwrap();
    let shared = Arc::clone(&all.shared);
    drop(all);
    assert_eq!(shared.lock().workers, 0);
}

#[test]
fn a_worker_or_a_source_that_fails_ends_it_with_an_error() {
    let mut all = Ordered::start(3, 4, counting(100), || {
        |job: usize| assert!(job != 10, "on purpose")
    })
    .unwrap();
    let outcome = loop {
        match all.next_result() {
            Ok(Some(())) => {}
            other => break other,
        }
    };
    assert!(outcome.unwrap_err().to_string().contains("has failed"));
    let source = || -> Option<()> { panic!("on purpose") };
    let mut all = Ordered::start(2, 4, source, || |()| ()).unwrap();
    assert!(all.next_result().is_err());
}

#[test]
fn no_more_bytes_wait_than_may() {
    for threads in 1..=4 {
        for most in [0, 100, 250, 1000] {
            let begun = Arc::new(Mutex::new(0));
            let counted = Arc::clone(&begun);
            let source = move || {
                *counted.lock().unwrap() += 1;
                Some(())
            };
            let budget = Budget {
                results: 64,
                bytes: most,
                weigh: |()| 100,
            };
            let mut all = Ordered::within(threads, budget, source, || |()| ()).unwrap();
            for taken in 0..200 {
                // The one that is wanted next may always be made.
                assert!(*begun.lock().unwrap() <= taken + (most / 100).max(1));
                all.next_result().unwrap();
            }
        }
    }
}
