//! Writing a gzip file of members that say how long they are, on several threads.
//!
//! Frames are collected until a member is complete. The first members are compressed where they are
//! collected, because most files are small; then threads are started, and members come back from them in
//! order, to be written by whoever brings the next one.

use std::sync::mpsc::{Sender, channel};

use crate::error::{Error, ErrorKind, Result};
use crate::record::codec::gzip_member::{self, COMPLETE, LARGEST};
use crate::record::codec::libdeflate::Packer;
use crate::record::write::destination::Destination;
use crate::runtime::interrupt::Pulse;
use crate::runtime::memory::{try_extend, try_reserve};
use crate::runtime::ordered_workers::Ordered;

/// Members that a file has before threads are worth their while.
const ALONE: usize = 2;

/// More threads than these would wait for the one that brings the frames.
const MOST_THREADS: usize = 256;

/// Frames on their way into members.
pub struct Members {
    level: i32,
    threads: usize,
    pending: Vec<u8>,
    /// How many frames begin in `pending`.
    frames: u32,
    /// How many members there are so far, those in the making included.
    count: usize,
    packer: Packer,
    ready: Vec<u8>,
    pool: Option<Pool>,
    pulse: Pulse,
}

impl Members {
    /// Members of this level of compression, -1 to 9, on that many threads; one is the caller's own.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Spec`] for another level.
    pub fn new(level: i32, threads: usize) -> Result<Self> {
        if !(-1..=9).contains(&level) {
            return Err(Error::spec(format!("level must be 0 to 9, not {level}")));
        }
        let level = if level == -1 { 6 } else { level };
        Ok(Self {
            level,
            threads: threads.min(MOST_THREADS),
            pending: Vec::new(),
            frames: 0,
            count: 0,
            packer: Packer::new(level)?,
            ready: Vec::new(),
            pool: None,
            pulse: Pulse::start(),
        })
    }

    /// How many bytes can be added without completing a member.
    pub fn room(&self) -> usize {
        COMPLETE.saturating_sub(self.pending.len() + 1)
    }

    /// Begins a frame of that many bytes: it is kept in one piece, if that is possible at all.
    pub fn begin(&mut self, length: usize, file: &mut Destination) -> Result<()> {
        if !self.pending.is_empty() && length > LARGEST - self.pending.len() {
            self.complete(file)?;
        }
        self.frames += 1;
        Ok(())
    }

    /// Adds some bytes of the frame.
    #[inline]
    pub fn push(&mut self, bytes: &[u8], file: &mut Destination) -> Result<()> {
        let mut rest = bytes;
        while let Some((head, after)) = rest.split_at_checked(LARGEST - self.pending.len()) {
            if after.is_empty() {
                break;
            }
            try_extend(&mut self.pending, head)?;
            self.complete(file)?;
            rest = after;
        }
        try_extend(&mut self.pending, rest)?;
        Ok(())
    }

    /// Ends the frame. What is left of one that was cut is a member too.
    pub fn end(&mut self, file: &mut Destination) -> Result<()> {
        if self.pending.len() >= COMPLETE || self.frames == 0 {
            return self.complete(file);
        }
        Ok(())
    }

    /// Writes all members, the last one however small. With `anything`, a file without records holds an
    /// empty member at least.
    pub fn flush(&mut self, file: &mut Destination, anything: bool) -> Result<()> {
        if !self.pending.is_empty() {
            self.complete(file)?;
        }
        if anything && self.count == 0 {
            file.write_all(gzip_member::EMPTY)?;
        }
        while let Some(member) = self.pool.as_mut().map_or(Ok(None), Pool::wait)? {
            write(&member, file)?;
        }
        Ok(())
    }

    /// What is pending is a member; writes those that are ready.
    fn complete(&mut self, file: &mut Destination) -> Result<()> {
        self.pulse.check()?;
        self.count += 1;
        if self.count > ALONE && self.threads > 1 && self.pool.is_none() {
            self.pool = Some(Pool::start(self.threads, self.level)?);
        }
        let frames = std::mem::take(&mut self.frames);
        if let Some(pool) = &mut self.pool {
            let mut next = Vec::new();
            try_reserve(&mut next, COMPLETE * 9 / 8)?;
            let content = std::mem::replace(&mut self.pending, next);
            pool.put(Job { content, frames });
            while let Some(member) = pool.next()? {
                write(&member, file)?;
            }
            return Ok(());
        }
        self.ready.clear();
        gzip_member::pack(&mut self.packer, &self.pending, frames, &mut self.ready)?;
        self.pending.clear();
        write(&self.ready, file)
    }
}

/// Writes a member so that TensorFlow finds what is after it.
fn write(member: &[u8], file: &mut Destination) -> Result<()> {
    let start = file.position();
    if gzip_member::ends_badly(start + member.len() as u64)
        && let Some(other) = gzip_member::with_another_end(member, start)
    {
        return file.write_all(&other);
    }
    file.write_all(member)
}

/// A member to be compressed.
struct Job {
    content: Vec<u8>,
    frames: u32,
}

/// A member, or that there was no memory for it.
type Packed = Result<Vec<u8>, ErrorKind>;

/// Threads that compress.
struct Pool {
    /// None once the pool is gone, or was left to the process that it belongs to.
    parts: Option<(Sender<Job>, Ordered<Packed>)>,
    threads: usize,
    in_flight: usize,
    process: u32,
}

/// How many members may be on their way before one is waited for.
fn in_flight(threads: usize) -> usize {
    2 * threads
}

impl Pool {
    fn start(threads: usize, level: i32) -> Result<Self> {
        let mut packers = Vec::new();
        for _ in 0..threads {
            packers.push(Packer::new(level)?);
        }
        let (jobs, waiting) = channel();
        let worker = || {
            let mut packer = packers.pop();
            move |job: Job| {
                let mut member = Vec::new();
                if let Some(packer) = &mut packer {
                    gzip_member::pack(packer, &job.content, job.frames, &mut member)?;
                }
                Ok(member)
            }
        };
        let ahead = in_flight(threads) + 1;
        let members = Ordered::start(threads, ahead, move || waiting.recv().ok(), worker)?;
        Ok(Self {
            parts: Some((jobs, members)),
            threads,
            in_flight: 0,
            process: std::process::id(),
        })
    }

    fn put(&mut self, job: Job) {
        if let Some((jobs, _)) = self
            .parts
            .as_ref()
            .filter(|_| self.process == std::process::id())
        {
            // If nobody is there to take it, waiting for the result will tell.
            let _ = jobs.send(job);
        }
        self.in_flight += 1;
    }

    /// The next member, if it is ready, or if it has to be waited for because there are enough.
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if self.in_flight > in_flight(self.threads) {
            return self.wait();
        }
        let Some((_, members)) = &mut self.parts else {
            return Ok(None);
        };
        let member = members.ready_result()?;
        self.in_flight -= usize::from(member.is_some());
        Ok(member.transpose()?)
    }

    /// The next member, if there is to be one.
    fn wait(&mut self) -> Result<Option<Vec<u8>>> {
        let Some((_, members)) = self.parts.as_mut().filter(|_| self.in_flight > 0) else {
            return Ok(None);
        };
        let member = members.next_result()?;
        self.in_flight -= 1;
        Ok(member.transpose()?)
    }
}

impl Drop for Pool {
    /// Ends the jobs first, so that no thread waits for one. In a fork neither exists, and what they were
    /// doing when it happened cannot be known: it is not touched.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.parts.take());
        } else if let Some((jobs, members)) = self.parts.take() {
            drop(jobs);
            drop(members);
        }
    }
}
