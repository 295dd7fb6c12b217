//! The records of several files as one sequence: any of them, alone or many together.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::error::{Error, ErrorKind, Result};
use crate::record::codec::checkpoints::Seeker;
use crate::record::codec::compression::Compression;
use crate::record::format::frame::{self, FOOTER, HEADER};
use crate::record::format::limits::FileLimits;
use crate::record::index::file_access::Access;
use crate::record::index::indexed_file::IndexedFile;
use crate::record::index::read_plan::{AT_ONCE, in_order, room_for};
use crate::record::read::buffer::BufferPool;
use crate::record::read::reader::ReadOptions;
use crate::record::read::records::{Origin, Records, Span};
use crate::runtime::interrupt::Pulse;
use crate::runtime::ordered_workers::in_parallel;

mod files;

/// Records that lie so near to each other are read together with what is between them: that takes less time
/// than another read.
const NEAR: usize = 4 << 10;

/// The most that is read together, unless it is one record.
const MOST: u64 = 1 << 20;

/// How many reads ahead the memory that one copies from is prefetched.
const SOON: usize = 4;

/// From how many bytes on another thread pays.
const WORTH_A_THREAD: usize = 512 << 10;

/// What a frame has beside its record.
const FRAME: u64 = (HEADER + FOOTER) as u64;

/// How many seekers are kept; one takes 200 KB.
const SEEKERS: usize = 16;

/// The records of several files.
pub struct Sequence {
    files: Vec<Arc<IndexedFile>>,
    /// The number in the sequence of the first record after each file.
    ends: Vec<usize>,
    options: ReadOptions,
    threads: usize,
    /// Whether files are read as memory.
    memory_map: bool,
    /// Buffers of batches, which may come back.
    buffers: Mutex<BufferPool>,
    /// What has inflated single records, and may continue from there, and of which file; the last one at the end.
    seekers: Mutex<Vec<(usize, Seeker)>>,
}

/// A record that is wanted.
struct Wanted<'a> {
    file: &'a IndexedFile,
    which: usize,
    /// Its number in its file, and where its frame lies there.
    number: usize,
    place: Range<u64>,
    /// Which of those wanted it is.
    slot: usize,
}

/// Wanted records that are read together.
struct Run<'a> {
    file: &'a IndexedFile,
    which: usize,
    place: Range<u64>,
    wanted: Range<usize>,
}

impl Sequence {
    /// The records of `files`, one after the other; how the files are compressed they know themselves.
    #[must_use]
    pub fn new(files: Vec<Arc<IndexedFile>>, options: ReadOptions, threads: usize) -> Self {
        let mut end = 0_usize;
        let ends = files.iter().map(|file| {
            end = end.saturating_add(usize::try_from(file.len()).unwrap_or(usize::MAX));
            end
        });
        Self {
            ends: ends.collect(),
            files,
            options,
            threads,
            memory_map: false,
            buffers: Mutex::default(),
            seekers: Mutex::default(),
        }
    }

    /// Whether files that are not compressed are read as memory: faster for small records that lie in the page
    /// cache, and the end of the process if a file is cut, or its disk fails, in the middle of a read.
    #[must_use]
    pub fn with_memory_map(mut self, memory_map: bool) -> Self {
        self.memory_map = memory_map;
        self
    }

    /// How many records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads record `index` into `buffer`, checks it, and says where in the buffer its data is.
    ///
    /// # Errors
    /// What is wrong with the record or its file; there is no such record.
    pub fn get(&self, index: usize, buffer: &mut Vec<u8>) -> Result<Range<usize>> {
        let (which, file, number) = self.find(index)?;
        let place = self.place_of(file, number)?;
        let located = |error: Error| located(error, file, number, place.start);
        let length = length_of(&place);
        resize(buffer, length).map_err(located)?;
        let access = file.access(self.memory_map, self.take_seeker(which));
        let mut access = access.map_err(located)?;
        let data = again_from_a_checkpoint(&mut access, |access| {
            let filled = access.fill(buffer, place.start).map_err(located)?;
            if filled < length {
                return Err(located(cut_off(&place).into()));
            }
            frame::checked(buffer, self.options.verify).map_err(|kind| located(kind.into()))
        });
        self.keep_seeker(which, access.into_seeker());
        data
    }

    /// A seeker for a single read, to continue where the last one of this file was; none for whoever comes at the
    /// same time, or was forked meanwhile.
    fn take_seeker(&self, which: usize) -> Option<Seeker> {
        let mut kept = self.seekers.try_lock().ok()?;
        let place = kept.iter().rposition(|it| it.0 == which)?;
        Some(kept.remove(place).1)
    }

    /// Keeps a seeker for the next single read.
    fn keep_seeker(&self, which: usize, seeker: Option<Seeker>) {
        if let Some(seeker) = seeker
            && let Ok(mut kept) = self.seekers.try_lock()
        {
            if kept.len() >= SEEKERS {
                kept.remove(0);
            }
            kept.push((which, seeker));
        }
    }

    /// The records at `indices`, in this order, in one buffer.
    ///
    /// # Errors
    /// As of [`Self::get`].
    pub fn read(&self, indices: &[usize]) -> Result<Records> {
        let wanted = self.wanted(indices)?;
        let records = self.read_wanted(&wanted, self.threads, |size| self.take_buffer(size))?;
        if let Ok(mut buffers) = self.buffers.try_lock() {
            records.recycle_to(&mut buffers);
        }
        Ok(records)
    }

    /// The same, by the caller's thread alone, in a buffer of `buffers` if one is free.
    ///
    /// # Errors
    /// As of [`Self::get`].
    pub fn read_alone(&self, indices: &[usize], buffers: &mut BufferPool) -> Result<Records> {
        let records = self.read_into(indices, |size| buffers.take(size))?;
        records.recycle_to(buffers);
        Ok(records)
    }

    /// The same, in a buffer of at least as many bytes as it is asked for.
    ///
    /// # Errors
    /// As of [`Self::get`].
    pub fn read_into(
        &self,
        indices: &[usize],
        take_buffer: impl FnOnce(usize) -> Option<Vec<u8>>,
    ) -> Result<Records> {
        let wanted = self.wanted(indices)?;
        self.read_wanted(&wanted, 1, take_buffer)
    }

    /// Where the records at `indices` are, in this order.
    fn wanted(&self, indices: &[usize]) -> Result<Vec<Wanted<'_>>> {
        let order = in_order(indices)?;
        let (mut wanted, mut pulse) = (room_for(order.len())?, Pulse::start());
        for some in order.chunks(AT_ONCE / 8) {
            pulse.check()?;
            for &(index, slot) in some {
                let (which, file, number) = self.find(index)?;
                let place = self.place_of(file, number)?;
                wanted.push(Wanted {
                    file,
                    which,
                    number,
                    place,
                    slot,
                });
            }
        }
        Ok(wanted)
    }

    fn read_wanted(
        &self,
        wanted: &[Wanted<'_>],
        threads: usize,
        take_buffer: impl FnOnce(usize) -> Option<Vec<u8>>,
    ) -> Result<Records> {
        let runs = runs_of(wanted)?;
        let total = (runs.iter()).fold(0_usize, |sum, run| {
            sum.saturating_add(length_of(&run.place))
        });
        let mut buffer = take_buffer(total).ok_or(ErrorKind::OutOfMemory(total))?;
        let room = buffer.get_mut(..total).unwrap_or_default();
        let jobs = self.jobs_of(&runs, room, threads);
        in_parallel(threads, jobs, |job| self.work(job, wanted))?;
        records_of(Arc::new(buffer), wanted, &runs)
    }

    /// Reads the runs of a job, and checks the records that are wanted of them.
    fn work(&self, job: Job<'_>, wanted: &[Wanted<'_>]) -> Result<()> {
        let (mut room, mut pulse) = (job.room, Pulse::start());
        for runs in job.runs.chunk_by(|one, next| one.which == next.which) {
            let mut access = self.access(runs, wanted)?;
            for (number, run) in runs.iter().enumerate() {
                if let Some(later) = runs.get(number + SOON) {
                    access.expect(&later.place);
                }
                let (here, rest) = room.split_at_mut(length_of(&run.place).min(room.len()));
                room = rest;
                let wanted = wanted.get(run.wanted.clone()).unwrap_or_default();
                again_from_a_checkpoint(&mut access, |access| {
                    self.read_run(run, here, wanted, access)
                })?;
                pulse.check()?;
            }
        }
        Ok(())
    }

    /// Opens the file of some runs.
    fn access<'a>(&self, runs: &[Run<'a>], wanted: &[Wanted<'a>]) -> Result<Access<'a>> {
        let run = runs.first().map(|run| (run.file, run.wanted.start));
        let (file, first) = run.ok_or_else(|| Error::state("nothing is to be read"))?;
        file.access(self.memory_map, None)
            .map_err(|error| match wanted.get(first) {
                Some(it) => located(error, it.file, it.number, it.place.start),
                None => error,
            })
    }

    fn read_run(
        &self,
        run: &Run<'_>,
        room: &mut [u8],
        wanted: &[Wanted<'_>],
        access: &mut Access<'_>,
    ) -> Result<()> {
        let filled = access.fill(room, run.place.start);
        for it in wanted {
            let located = |error: Error| located(error, it.file, it.number, it.place.start);
            // An error in the middle of a run of reads does not say at which record it was.
            let filled = filled.as_ref().map_err(|error| located(error.clone()))?;
            let start = usize::try_from(it.place.start - run.place.start).unwrap_or(usize::MAX);
            let end = start.saturating_add(length_of(&it.place));
            let frame = room.get(..*filled).and_then(|read| read.get(start..end));
            let frame = frame.ok_or_else(|| located(cut_off(&it.place).into()))?;
            frame::checked(frame, self.options.verify).map_err(|kind| located(kind.into()))?;
        }
        Ok(())
    }

    /// Divides the work so that each thread has some jobs, unless it is too little.
    fn jobs_of<'a>(&self, runs: &'a [Run<'a>], room: &'a mut [u8], threads: usize) -> Vec<Job<'a>> {
        if threads <= 1 {
            return vec![Job { runs, room }];
        }
        // A read costs about as much as that many bytes, and more where all is inflated from the checkpoint before.
        let weight =
            |run: &Run<'_>| length_of(&run.place) + run.file.cost_of_a_read(self.memory_map);
        let total: usize = runs.iter().map(weight).sum();
        let share = (total / (4 * threads)).max(WORTH_A_THREAD);
        let (mut jobs, mut runs, mut room) = (Vec::new(), runs, room);
        while !runs.is_empty() {
            let (mut count, mut sum, mut bytes) = (0, 0, 0);
            for run in runs {
                if sum >= share {
                    break;
                }
                count += 1;
                sum += weight(run);
                bytes += length_of(&run.place);
            }
            let (some, other_runs) = runs.split_at(count);
            let (here, rest) = room.split_at_mut(bytes.min(room.len()));
            jobs.push(Job {
                runs: some,
                room: here,
            });
            (runs, room) = (other_runs, rest);
        }
        jobs
    }

    fn take_buffer(&self, size: usize) -> Option<Vec<u8>> {
        match self.buffers.try_lock() {
            Ok(mut buffers) => buffers.take(size),
            // Another thread uses it, or did when this process was forked: do without.
            Err(_) => BufferPool::default().take(size),
        }
    }

    /// Where the frame of a record lies, if it is not longer than is allowed.
    fn place_of(&self, file: &IndexedFile, number: usize) -> Result<Range<u64>> {
        let place = file.index()?.get(number);
        let place = place.filter(|place| {
            let length = place.end.checked_sub(place.start);
            length.is_some_and(|length| length >= FRAME) && place.end <= file.most()
        });
        let place =
            place.ok_or_else(|| Error::state("its index is damaged").with_path(file.path()))?;
        let is_plain = file.compression() == Compression::None;
        let limits = FileLimits::new(self.options.limits, is_plain, !is_plain);
        let checked = limits.check_record(place.end - place.start - FRAME, usize::MAX);
        checked.map_err(|kind| located(kind.into(), file, number, place.start))?;
        Ok(place)
    }

    /// Which file record `index` is in, and which of its records it is.
    fn find(&self, index: usize) -> Result<(usize, &IndexedFile, usize)> {
        let which = self.ends.partition_point(|&end| end <= index);
        let before = which.checked_sub(1).and_then(|it| self.ends.get(it));
        let file = self.files.get(which);
        let file = file.ok_or_else(|| Error::spec(format!("there is no record {index}")))?;
        Ok((which, file, index - before.unwrap_or(&0)))
    }
}

/// Reads; and once more without what a seeker has passed, if that goes wrong: damage that can be inflated spoils
/// what comes after it, up to the next checkpoint.
fn again_from_a_checkpoint<T>(
    access: &mut Access<'_>,
    mut read: impl FnMut(&mut Access<'_>) -> Result<T>,
) -> Result<T> {
    let went_on = access.continues();
    match read(access) {
        Err(error) if went_on && !error.is_interrupt() => {
            access.begin_again();
            read(access)
        }
        result => result,
    }
}

fn runs_of<'a>(wanted: &[Wanted<'a>]) -> Result<Vec<Run<'a>>> {
    let (mut runs, mut pulse): (Vec<Run<'a>>, _) = (Vec::new(), Pulse::start());
    for (number, it) in wanted.iter().enumerate() {
        if number % AT_ONCE == 0 {
            pulse.check()?;
        }
        if let Some(run) = runs.last_mut().filter(|run| run.can_take(it)) {
            run.place.end = run.place.end.max(it.place.end);
            run.wanted.end = number + 1;
        } else {
            runs.push(Run {
                file: it.file,
                which: it.which,
                place: it.place.clone(),
                wanted: number..number + 1,
            });
        }
    }
    Ok(runs)
}

fn records_of(bytes: Arc<Vec<u8>>, wanted: &[Wanted<'_>], runs: &[Run<'_>]) -> Result<Records> {
    let nothing = Span {
        start: 0,
        len: 0,
        number: 0,
        file: 0,
    };
    let mut spans = room_for(wanted.len())?;
    spans.resize(wanted.len(), nothing);
    let (mut origins, mut begin) = (Vec::with_capacity(runs.len()), 0);
    let mut pulse = Pulse::start();
    for (number, run) in (0..).zip(runs) {
        if origins.len() % AT_ONCE == 0 {
            pulse.check()?;
        }
        for it in wanted.get(run.wanted.clone()).unwrap_or_default() {
            let after = usize::try_from(it.place.start - run.place.start).unwrap_or(0);
            let len = length_of(&it.place);
            if let Some(span) = spans.get_mut(it.slot) {
                *span = Span {
                    start: begin + after + HEADER,
                    len: len - HEADER - FOOTER,
                    number: it.number as u64,
                    file: number,
                };
            }
        }
        origins.push(Origin {
            path: Some(Arc::clone(run.file.path())),
            buffer_offset: Some(run.place.start.wrapping_sub(begin as u64)),
        });
        begin += length_of(&run.place);
    }
    Ok(Records::new(bytes, spans, origins))
}

/// Runs that one thread reads, and where to.
struct Job<'a> {
    runs: &'a [Run<'a>],
    room: &'a mut [u8],
}

impl Run<'_> {
    fn can_take(&self, it: &Wanted<'_>) -> bool {
        let is_inside = it.place.end <= self.place.end;
        let most = self.place.start.saturating_add(MOST);
        it.which == self.which
            && it.place.start >= self.place.start
            && it.place.start <= self.place.end.saturating_add(NEAR as u64)
            && (is_inside || it.place.end <= most)
    }
}

fn length_of(place: &Range<u64>) -> usize {
    usize::try_from(place.end - place.start).unwrap_or(usize::MAX)
}

fn resize(buffer: &mut Vec<u8>, size: usize) -> Result<()> {
    reserve(buffer, size.saturating_sub(buffer.len()))?;
    buffer.resize(size, 0);
    Ok(())
}

/// Makes room for that many bytes more, if there is memory for them.
fn reserve(buffer: &mut Vec<u8>, more: usize) -> Result<()> {
    let reserved = buffer.try_reserve_exact(more);
    reserved.map_err(|_| ErrorKind::OutOfMemory(more).into())
}

/// What to say where the file ends before the record does that was there once.
fn cut_off(place: &Range<u64>) -> ErrorKind {
    ErrorKind::TruncatedRecord {
        need: place.end - place.start - HEADER as u64,
        have: 0,
    }
}

fn located(error: Error, file: &IndexedFile, number: usize, offset: u64) -> Error {
    let error = error.at_record(number as u64).at_offset(offset);
    error.with_path(file.path())
}
