//! Work on several threads, its results in order: the one place of the core that starts threads.
//!
//! Jobs come from a source that one worker at a time asks; each worker then does its job by itself,
//! and the results are handed out in the order of the jobs. At most `ahead` results are waiting or
//! in the making, so a consumer that is slow, or gone, holds up the rest.
//!
//! The threads belong to the [`Ordered`] and end with it. There is no pool behind it that a fork
//! would tear apart; a forked child has the object without its threads, and is told so.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::interrupt;

/// How long waiting goes on before signals are asked for.
const PULSE: Duration = Duration::from_millis(50);

/// How long a dropped object waits for its threads. They end as soon as they notice; one that reads a
/// pipe into which nobody writes may never, and is left behind. Whoever was stopped by a signal has no time
/// to lose, and waits for one [`PULSE`].
const FAREWELL: Duration = Duration::from_millis(500);

/// How many threads of this process can run at the same time.
#[must_use]
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Does all `jobs`, on the caller's thread and on others beside it, and waits for them.
///
/// # Errors
/// The first error by the order of the jobs, of those that were begun; after one, no other job is.
pub fn in_parallel<J: Send>(
    threads: usize,
    jobs: Vec<J>,
    work: impl Fn(J) -> Result<()> + Sync,
) -> Result<()> {
    let others = threads.min(jobs.len()).saturating_sub(1);
    let stop = Arc::new(AtomicBool::new(false));
    let jobs = Mutex::new(jobs.into_iter().enumerate());
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
    let go = || {
        while !stop.load(Ordering::Relaxed)
            && let Some((number, job)) = next()
        {
            if let Err(error) = work(job) {
                stop.store(true, Ordering::Relaxed);
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                let is_first = failed.as_ref().is_none_or(|&(first, ref earlier)| {
                    // Those who were told to stop have nothing else to say.
                    earlier.is_interrupt() || number < first && !error.is_interrupt()
                });
                if is_first {
                    *failed = Some((number, error));
                }
            }
        }
    };
    thread::scope(|scope| {
        for number in 0..others {
            let name = format!("tfrecs-{number}");
            // Where there is no thread to be had, the others do more.
            let _ = thread::Builder::new().name(name).spawn_scoped(scope, || {
                interrupt::stop_by(&stop);
                go();
            });
        }
        go();
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(()), |(_, error)| Err(error))
}

/// Results of work on several threads, in order.
pub struct Ordered<T> {
    shared: Arc<Shared<T>>,
    process: u32,
    /// How long to wait for the threads in the end.
    farewell: Duration,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    /// A result has come, or a worker has gone.
    came: Condvar,
    /// There is room for another result, or nobody wants any more.
    room: Condvar,
    stop: Arc<AtomicBool>,
    /// Whoever waits for a result is to give up.
    closing: Arc<AtomicBool>,
    /// How many nanoseconds the threads have worked since somebody asked.
    worked: AtomicU64,
}

struct State<T> {
    /// The results from number `first` on, those in the making included.
    results: VecDeque<Option<T>>,
    /// The number of the result to hand out next.
    first: usize,
    /// How many results may be waiting or in the making.
    ahead: usize,
    /// How many jobs there are, once the source has said so.
    end: Option<usize>,
    /// How many threads are at work.
    workers: usize,
}

impl<T: Send + 'static> Ordered<T> {
    /// Starts `threads` workers, each with what `make_worker` makes, on the jobs of `source`.
    ///
    /// # Errors
    /// Of the operating system, if it has no thread to give.
    pub fn start<J, W>(
        threads: usize,
        ahead: usize,
        source: impl FnMut() -> Option<J> + Send + 'static,
        mut make_worker: impl FnMut() -> W,
    ) -> Result<Self>
    where
        J: Send + 'static,
        W: FnMut(J) -> T + Send + 'static,
    {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                results: VecDeque::new(),
                first: 0,
                ahead: ahead.max(1),
                end: None,
                workers: 0,
            }),
            came: Condvar::new(),
            room: Condvar::new(),
            stop: Arc::new(AtomicBool::new(false)),
            closing: Arc::new(AtomicBool::new(false)),
            worked: AtomicU64::new(0),
        });
        let ordered = Self {
            shared: Arc::clone(&shared),
            process: std::process::id(),
            farewell: FAREWELL,
        };
        let source = Arc::new(Mutex::new(Source {
            next: source,
            count: 0,
        }));
        for number in 0..threads.max(1) {
            let (source, work) = (Arc::clone(&source), make_worker());
            // Counted here, so that nobody finds none at work before they have begun.
            let at_work = AtWork::begin(&shared);
            thread::Builder::new()
                .name(format!("tfrecs-{number}"))
                .spawn(move || {
                    at_work.run(&source, work);
                    // With the last one the source goes, which may have threads of its own.
                    drop(source);
                    drop(at_work);
                })?;
        }
        Ok(ordered)
    }

    /// The next result, in the order of the jobs, waiting for it; `None` behind the last.
    ///
    /// # Errors
    /// If a signal says to stop, if a worker has failed, or in a forked child.
    pub fn next_result(&mut self) -> Result<Option<T>> {
        self.check_process()?;
        let mut state = self.shared.lock();
        loop {
            if let Some(result) = state.take_first() {
                self.shared.room.notify_all();
                return Ok(Some(result));
            }
            if state.end == Some(state.first) {
                return Ok(None);
            }
            if state.workers == 0 {
                return Err(Error::state("a thread has failed; this cannot go on"));
            }
            let waited = self.shared.came.wait_timeout(state, PULSE);
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() {
                drop(state);
                if self.shared.closing.load(Ordering::Relaxed) {
                    return Err(Error::state("another thread has closed this meanwhile"));
                }
                if let Err(signal) = interrupt::check() {
                    self.farewell = PULSE;
                    return Err(signal.into());
                }
                state = self.shared.lock();
            }
        }
    }

    /// The next result if it is there already.
    ///
    /// # Errors
    /// In a forked child.
    pub fn ready_result(&mut self) -> Result<Option<T>> {
        self.check_process()?;
        let result = self.shared.lock().take_first();
        if result.is_some() {
            self.shared.room.notify_all();
        }
        Ok(result)
    }

    /// What ends the waiting of another thread for a result, once it is true.
    #[must_use]
    pub fn closing(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.closing)
    }

    /// How long the threads have worked, all together, since this was asked last; not what they work at still.
    #[must_use]
    pub fn worked(&self) -> Duration {
        Duration::from_nanos(self.shared.worked.swap(0, Ordering::Relaxed))
    }

    fn check_process(&self) -> Result<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        Err(Error::state(
            "this was begun in another process, whose threads a fork does not have; begin anew here",
        ))
    }
}

impl<T> Drop for Ordered<T> {
    /// Stops the threads, and waits for them.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        self.shared.stop.store(true, Ordering::Relaxed);
        let mut state = self.shared.lock();
        self.shared.room.notify_all();
        let until = Instant::now() + self.farewell;
        while state.workers > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.shared.came.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<T> Shared<T> {
    /// A worker that panics holds no lock; what it leaves behind is in order.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until result `number` may be made; false if nobody wants it any more.
    fn wait_for_room(&self, number: usize) -> bool {
        let mut state = self.lock();
        while number >= state.first.saturating_add(state.ahead) && !self.stopped() {
            state = self
                .room
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        !self.stopped()
    }

    fn has_worked(&self, begun: Instant) {
        let time = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.worked.fetch_add(time, Ordering::Relaxed);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn put(&self, number: usize, result: T) {
        let mut state = self.lock();
        let place = number - state.first;
        while state.results.len() <= place {
            state.results.push_back(None);
        }
        if let Some(slot) = state.results.get_mut(place) {
            *slot = Some(result);
        }
        if place == 0 {
            self.came.notify_all();
        }
    }
}

impl<T> State<T> {
    fn take_first(&mut self) -> Option<T> {
        let result = self.results.front_mut()?.take()?;
        self.results.pop_front();
        self.first += 1;
        Some(result)
    }
}

struct Source<S> {
    next: S,
    /// How many jobs it has given.
    count: usize,
}

/// A worker's being there; when it goes, however it goes, the others hear of it.
struct AtWork<T>(Arc<Shared<T>>);

impl<T> AtWork<T> {
    fn begin(shared: &Arc<Shared<T>>) -> Self {
        shared.lock().workers += 1;
        Self(Arc::clone(shared))
    }

    fn run<J>(
        &self,
        source: &Mutex<Source<impl FnMut() -> Option<J>>>,
        mut work: impl FnMut(J) -> T,
    ) {
        interrupt::stop_by(&self.0.stop);
        while let Some((number, job)) = self.job(source) {
            let begun = Instant::now();
            let result = work(job);
            self.0.has_worked(begun);
            self.0.put(number, result);
        }
    }

    fn job<J>(&self, source: &Mutex<Source<impl FnMut() -> Option<J>>>) -> Option<(usize, J)> {
        // Poisoned: another worker failed in the source, which is not asked again.
        let mut source = source.lock().ok()?;
        let number = source.count;
        if !self.0.wait_for_room(number) {
            return None;
        }
        if self.0.lock().end.is_some() {
            return None;
        }
        let begun = Instant::now();
        let next = (source.next)();
        self.0.has_worked(begun);
        if let Some(job) = next {
            source.count += 1;
            return Some((number, job));
        }
        self.0.lock().end = Some(number);
        self.0.came.notify_all();
        None
    }
}

impl<T> Drop for AtWork<T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop.store(true, Ordering::Relaxed);
        }
        self.0.lock().workers -= 1;
        self.0.room.notify_all();
        self.0.came.notify_all();
    }
}

#[cfg(test)]
mod tests {
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
    fn dropped_early_it_leaves_no_thread_behind() {
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
        let mut all = Ordered::start(1, 1, || Some(()), stuck).unwrap();
        let closing = all.closing();
        let waiting = thread::spawn(move || all.next_result().unwrap_err().to_string());
        closing.store(true, Ordering::Relaxed);
        assert!(waiting.join().unwrap().contains("closed"));
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
}
