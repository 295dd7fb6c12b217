//! Files → batches of records, or of columns, in order, on several threads: where records and columns meet.
//!
//! One thread at a time finds where the next batch lies: it reads small records, and of large ones
//! only the headers. The rest (reading large records, checksums, decoding) each thread does for a
//! batch of its own.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::error::{Error, Result};
use crate::pipeline::batch_part::BatchPart;
use crate::pipeline::output::{BatchInput, Output, budget};
use crate::pipeline::sound::joined;
use crate::record::salvage::SkippedRegion;
use crate::record::storage::identity::Samples;
use crate::record::{BufferPool, ReadOptions, Records};
use crate::runtime::ordered_workers::Ordered;
use shard::Shard;

mod shard;

/// What to read, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// The files, one after the other.
    pub paths: Vec<PathBuf>,
    /// How to read them.
    pub read: ReadOptions,
    /// How many records a batch has; batches continue across the ends of files.
    pub batch: usize,
    /// How many bytes of records are enough for a batch, even if they are fewer.
    pub most_bytes: usize,
    /// Whether to leave out a last batch of fewer records.
    pub drop_remainder: bool,
    /// How many threads work.
    pub threads: usize,
    /// How many bytes of records may be ahead, in batches; the one that is wanted next always is.
    pub most_ahead: usize,
    /// Where to put what is skipped of damaged files; if nowhere, damage is an error.
    pub skipped: Option<Skipped>,
    /// Collects the samples of each file when it is opened.
    pub samples: Option<Arc<Samples>>,
    /// Whether the records before an error come before it, as a batch of fewer: for raw records.
    pub partial: bool,
}

/// Regions of damaged files that were skipped, in order.
pub type Skipped = Arc<Mutex<Vec<(PathBuf, SkippedRegion)>>>;

impl Request {
    /// Whether workers check the data. Where damage is skipped, it was checked before.
    fn verifies(&self) -> bool {
        self.read.verify && self.skipped.is_none()
    }
}

/// Batches in order. After an error there is nothing more.
pub type Scan<T> = Ordered<Result<T>>;

/// Reads batches, and makes of them what `output` says; each thread has an output of its own.
///
/// # Errors
/// The system cannot start a thread. Errors of files come with their batches.
pub fn scan<O>(request: &Request, mut output: impl FnMut() -> O) -> Result<Scan<O::Batch>>
where
    O: Output + Send + 'static,
{
    let (mut feed, verify) = (Feed::new(request), request.verifies());
    Ordered::within(
        request.threads,
        budget(request.threads, request.most_ahead),
        move || feed.next_batch().transpose(),
        || {
            let (mut output, mut buffers) = (output(), BufferPool::default());
            move |parts: Result<Vec<BatchPart>>| {
                output.make(&mut Scanned {
                    parts: parts?,
                    buffers: &mut buffers,
                    verify,
                })
            }
        },
    )
}

/// The records of a batch, in parts that nobody has checked yet.
struct Scanned<'a> {
    parts: Vec<BatchPart>,
    buffers: &'a mut BufferPool,
    verify: bool,
}

impl BatchInput for Scanned<'_> {
    fn count(&self) -> usize {
        self.parts.iter().map(BatchPart::len).sum()
    }

    fn records(&mut self, range: Range<usize>) -> Result<Records> {
        let (mut read, mut begin) = (Vec::with_capacity(self.parts.len()), 0);
        for part in &self.parts {
            let start = range.start.saturating_sub(begin);
            let end = range.end.saturating_sub(begin).min(part.len());
            if start < end {
                read.push(part.records(start..end, self.buffers, self.verify)?);
            }
            begin += part.len();
        }
        joined(read)
    }

    fn with_parts<T>(&mut self, take: impl FnOnce(&[BatchPart]) -> Result<T>) -> Result<T> {
        take(&self.parts)
    }

    fn verify(&self) -> bool {
        self.verify
    }
}

/// What finds the parts of batches.
struct Feed {
    paths: std::iter::Enumerate<std::vec::IntoIter<PathBuf>>,
    samples: Option<Arc<Samples>>,
    read: ReadOptions,
    batch: usize,
    most_bytes: usize,
    drop_remainder: bool,
    skipped: Option<Skipped>,
    partial: bool,
    shard: Option<Shard>,
    /// An error to raise after the parts before it, whose own errors may be more precise.
    later: Option<Error>,
    has_failed: bool,
}

impl Feed {
    fn new(request: &Request) -> Self {
        Self {
            paths: request.paths.clone().into_iter().enumerate(),
            samples: request.samples.clone(),
            read: ReadOptions {
                verify: false,
                ..request.read
            },
            batch: request.batch.max(1),
            most_bytes: request.most_bytes.max(1),
            drop_remainder: request.drop_remainder,
            skipped: request.skipped.clone(),
            partial: request.partial,
            shard: None,
            later: None,
            has_failed: false,
        }
    }

    fn next_batch(&mut self) -> Result<Option<Vec<BatchPart>>> {
        if self.has_failed {
            return Ok(None);
        }
        let parts = self.next_parts();
        self.has_failed = parts.is_err();
        parts
    }

    fn next_parts(&mut self) -> Result<Option<Vec<BatchPart>>> {
        let (mut parts, mut missing, mut bytes) = (Vec::new(), self.batch, self.most_bytes);
        while missing > 0 && bytes > 0 && self.later.is_none() {
            match self.next_part(missing, bytes) {
                Ok(Some(part)) => {
                    missing -= part.len();
                    bytes = bytes.saturating_sub(part.bytes().1);
                    parts.push(part);
                }
                Ok(None) => break,
                Err(error) if self.partial || error.is_shrunk() => self.later = Some(error),
                Err(error) => return Err(error),
            }
        }
        let is_wanted = missing == 0 || !self.drop_remainder;
        match self.later.take_if(|_| parts.is_empty() || !is_wanted) {
            Some(error) => Err(error),
            None => Ok(Some(parts).filter(|parts| is_wanted && !parts.is_empty())),
        }
    }

    fn next_part(&mut self, n: usize, bytes: usize) -> Result<Option<BatchPart>> {
        loop {
            if let Some(shard) = &mut self.shard
                && let Some(part) = shard.next_part(n, bytes)?
            {
                return Ok(Some(part));
            }
            let Some((number, path)) = self.paths.next() else {
                return Ok(None);
            };
            if let Some(samples) = &self.samples {
                samples.note(number);
            }
            self.shard = Some(Shard::open(&path, self.read, self.skipped.as_ref())?);
        }
    }
}
