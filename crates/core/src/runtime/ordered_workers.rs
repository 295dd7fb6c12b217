//! Work on several threads, its results in order: the one place of the core that starts threads.
//!
//! Jobs come from a source that one worker at a time asks; each worker then does its job by itself,
//! and the results are handed out in the order of the jobs. At most `ahead` results are waiting or
//! in the making, so a consumer that is slow, or gone, holds up the rest.
//!
//! The threads belong to the [`Ordered`] and end with it. There is no pool after it that a fork
//! would tear apart; a forked child has the object without its threads, and is told so.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::runtime::{interrupt, memory};

/// How long waiting continues before signals are asked for.
const PULSE: Duration = Duration::from_millis(50);

/// How long a dropped object waits for its threads. They end as soon as they see it; one that reads a
/// pipe into which nobody writes may never, and is left running. After a signal the wait is one [`PULSE`].
const FAREWELL: Duration = Duration::from_millis(500);

/// Memory that a new thread needs: its stack and the system's bookkeeping. If it is missing, the process dies after
/// the thread has started.
const FOR_A_THREAD: usize = 6 << 20;

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
            if memory::check_room(FOR_A_THREAD).is_err() {
                break;
            }
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

fn spawn(number: usize, job: impl FnOnce() + Send + 'static) -> Result<()> {
    memory::check_room(FOR_A_THREAD)?;
    let name = format!("tfrecs-{number}");
    let started = thread::Builder::new().name(name).spawn(job);
    started
        .map(drop)
        .map_err(|error| ErrorKind::NoThread(error.to_string()).into())
}

/// How much may be waiting, or in the making.
pub struct Budget<T> {
    /// How many results may wait.
    pub results: usize,
    /// Results of that many bytes together, if they are as large as the largest so far. The one that is wanted next
    /// may always be made.
    pub bytes: usize,
    /// How many bytes a result has.
    pub weigh: fn(&T) -> usize,
}

/// Results of work on several threads, in order.
pub struct Ordered<T> {
    shared: Arc<Shared<T>>,
    process: u32,
    /// How long to wait for the threads in the end.
    farewell: Duration,
}

struct Shared<T> {
    state: Mutex<WorkState<T>>,
    /// A result has come, or a worker has gone.
    came: Condvar,
    /// There is room for another result, or nobody wants any more.
    budget: Condvar,
    stop: Arc<AtomicBool>,
    /// Set when all waits for a result must end.
    closing: Arc<AtomicBool>,
    /// How many nanoseconds the threads have worked since somebody asked.
    worked: AtomicU64,
}

struct WorkState<T> {
    /// The results from number `first` on, those in the making included.
    results: VecDeque<Option<(T, usize)>>,
    /// The number of the result to hand out next.
    first: usize,
    budget: Budget<T>,
    /// How many bytes the results have that wait, and the largest so far.
    waiting: usize,
    largest: usize,
    /// How many are in the making.
    making: usize,
    /// How many jobs there are, once the source has said so.
    end: Option<usize>,
    /// How many threads are at work.
    workers: usize,
}

impl<T: Send + 'static> Ordered<T> {
    /// Starts `threads` workers, each with what `make_worker` makes, on the jobs of `source`.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start<J, W>(
        threads: usize,
        ahead: usize,
        source: impl FnMut() -> Option<J> + Send + 'static,
        make_worker: impl FnMut() -> W,
    ) -> Result<Self>
    where
        J: Send + 'static,
        W: FnMut(J) -> T + Send + 'static,
    {
        let budget = Budget {
            results: ahead,
            bytes: usize::MAX,
            weigh: |_| 0,
        };
        Self::within(threads, budget, source, make_worker)
    }

    /// The same, with a budget for results.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn within<J, W>(
        threads: usize,
        budget: Budget<T>,
        source: impl FnMut() -> Option<J> + Send + 'static,
        mut make_worker: impl FnMut() -> W,
    ) -> Result<Self>
    where
        J: Send + 'static,
        W: FnMut(J) -> T + Send + 'static,
    {
        let shared = Arc::new(Shared {
            state: Mutex::new(WorkState {
                results: VecDeque::new(),
                first: 0,
                budget,
                waiting: 0,
                largest: 0,
                making: 0,
                end: None,
                workers: 0,
            }),
            came: Condvar::new(),
            budget: Condvar::new(),
            stop: Arc::new(AtomicBool::new(false)),
            closing: Arc::new(AtomicBool::new(false)),
            worked: AtomicU64::new(0),
        });
        let ordered = Self {
            shared: Arc::clone(&shared),
            process: std::process::id(),
            farewell: FAREWELL,
        };
        let source = Arc::new(Mutex::new(JobSource {
            next: source,
            count: 0,
        }));
        for number in 0..threads.max(1) {
            let (source, work) = (Arc::clone(&source), make_worker());
            // Counted here, so that nobody finds none at work before they have begun.
            let at_work = AtWork::begin(&shared);
            let job = move || {
                at_work.run(&source, work);
                // With the last one the source goes, which may have threads of its own.
                drop(source);
                drop(at_work);
            };
            match spawn(number, job) {
                // Fewer do the work.
                Err(_) if number > 0 => break,
                started => started?,
            }
        }
        Ok(ordered)
    }

    /// The next result, in the order of the jobs, waiting for it; `None` after the last.
    ///
    /// # Errors
    /// If a signal says to stop, if a worker has failed, or in a forked child.
    pub fn next_result(&mut self) -> Result<Option<T>> {
        self.check_process()?;
        let mut state = self.shared.lock();
        loop {
            if let Some(result) = state.take_first() {
                self.shared.budget.notify_all();
                return Ok(Some(result));
            }
            if state.end == Some(state.first) {
                return Ok(None);
            }
            if state.workers == 0 {
                return Err(Error::state("a thread has failed; this cannot continue"));
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
            self.shared.budget.notify_all();
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
        self.shared.budget.notify_all();
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
    fn lock(&self) -> MutexGuard<'_, WorkState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until result `number` may be made; false if nobody wants it any more.
    fn wait_for_room(&self, number: usize) -> bool {
        let mut state = self.lock();
        while !state.has_room(number) && !self.stopped() {
            state = self
                .budget
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
        let bytes = (state.budget.weigh)(&result);
        while state.results.len() <= place {
            state.results.push_back(None);
        }
        if let Some(slot) = state.results.get_mut(place) {
            *slot = Some((result, bytes));
        }
        state.making -= 1;
        state.waiting += bytes;
        if bytes > 0 && state.largest == 0 {
            // Now that one is known there may be room.
            self.budget.notify_all();
        }
        state.largest = state.largest.max(bytes);
        if place == 0 {
            self.came.notify_all();
        }
    }
}

impl<T> WorkState<T> {
    fn take_first(&mut self) -> Option<T> {
        let (result, bytes) = self.results.front_mut()?.take()?;
        self.results.pop_front();
        self.first += 1;
        self.waiting -= bytes;
        Some(result)
    }

    /// Whether result `number` may be made.
    fn has_room(&self, number: usize) -> bool {
        if number <= self.first || self.budget.bytes == usize::MAX {
            return number < self.first.saturating_add(self.budget.results.max(1));
        }
        let more = self.largest.saturating_mul(self.making + 1);
        number < self.first.saturating_add(self.budget.results)
            && self.largest > 0
            && self.waiting.saturating_add(more) <= self.budget.bytes
    }
}

struct JobSource<S> {
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
        source: &Mutex<JobSource<impl FnMut() -> Option<J>>>,
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

    fn job<J>(&self, source: &Mutex<JobSource<impl FnMut() -> Option<J>>>) -> Option<(usize, J)> {
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
            self.0.lock().making += 1;
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
        self.0.budget.notify_all();
        self.0.came.notify_all();
    }
}

#[cfg(test)]
mod tests;
