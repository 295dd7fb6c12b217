//! Records of files, in any [`Order`] → batches of records, or of columns, in order, on several threads.
//!
//! As [`scan`](crate::pipeline::scan), but that no record is looked for: where each lies is known, so a batch says itself
//! what it is of, and each thread computes, reads, checks and decodes batches of its own. So a pass can begin at
//! any of its batches as soon as at the first.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::pipeline::batch_part::BatchPart;
use crate::pipeline::block_cache::BlockCache;
use crate::pipeline::order::Order;
use crate::pipeline::output::{BatchInput, Output, budget};
use crate::pipeline::pick::indices_of;
use crate::pipeline::scan::Scan;
use crate::record::{BufferPool, Records};
use crate::runtime::ordered_workers::Ordered;

pub use crate::pipeline::pick::Pick;
pub use crate::pipeline::pool::Pool;

/// Reads batches, and makes of them what `output` says; each thread has an output of its own.
///
/// # Errors
/// There are fewer records; the system cannot start a thread. Errors of files come with their
/// batches.
pub fn gather<O>(pick: &Pick, mut output: impl FnMut() -> O) -> Result<Scan<O::Batch>>
where
    O: Output + Send + 'static,
{
    let (records, there) = (pick.order.records(), pick.pool.len() as u64);
    if records > there {
        return Err(Error::spec(format!(
            "an order of {records} records is asked for of {there}"
        )));
    }
    pick.pool.prepare();
    let cells = BlockCache::of(pick).map(Arc::new);
    let (mut batches, begun) = (Batches::new(pick), cells.clone());
    let next = move || {
        let positions = batches.next()?;
        if let Some(cells) = &begun {
            cells.begin(&positions);
        }
        Some(positions)
    };
    let make = || {
        let cells = cells.clone();
        let (mut output, mut reader) = (output(), Reader::new(pick, cells.clone()));
        move |positions: Range<u64>| {
            let result = output.make(&mut Gathered {
                reader: &mut reader,
                positions: positions.clone(),
            });
            if let Some(cells) = &cells {
                cells.end(&positions);
            }
            result
        }
    };
    Ordered::within(
        pick.threads,
        budget(pick.threads, pick.most_ahead),
        next,
        make,
    )
}

/// The records of a batch, by their positions in the order. They are checked when they are read.
struct Gathered<'a> {
    reader: &'a mut Reader,
    positions: Range<u64>,
}

impl BatchInput for Gathered<'_> {
    fn count(&self) -> usize {
        let len = self.positions.end - self.positions.start;
        usize::try_from(len).unwrap_or(usize::MAX)
    }

    fn records(&mut self, range: Range<usize>) -> Result<Records> {
        let at = |index: usize| self.positions.start + index as u64;
        self.reader.records(at(range.start)..at(range.end))
    }

    fn with_parts<T>(&mut self, take: impl FnOnce(&[BatchPart]) -> Result<T>) -> Result<T> {
        take(&[self.reader.part(self.positions.clone())?])
    }

    fn verify(&self) -> bool {
        false
    }
}

/// The positions of batch after batch.
struct Batches {
    start: u64,
    size: u64,
    end: u64,
    drop_remainder: bool,
}

impl Batches {
    fn new(pick: &Pick) -> Self {
        let size = pick.batch.max(1) as u64;
        Self {
            start: pick.first_batch.saturating_mul(size),
            size,
            end: pick.order.len().unwrap_or(u64::MAX),
            drop_remainder: pick.drop_remainder,
        }
    }

    fn next(&mut self) -> Option<Range<u64>> {
        let left = self.end.checked_sub(self.start).filter(|&left| left > 0)?;
        if left < self.size && self.drop_remainder {
            return None;
        }
        let start = self.start;
        self.start += left.min(self.size);
        Some(start..self.start)
    }
}

/// What reads a batch at a time.
struct Reader {
    pool: Pool,
    order: Order,
    epoch: u64,
    /// What the records are taken from, if they are not read one by one.
    cells: Option<Arc<BlockCache>>,
    buffers: BufferPool,
    /// Which records the batch has.
    records: Vec<u64>,
    indices: Vec<usize>,
}

impl Reader {
    fn new(pick: &Pick, cells: Option<Arc<BlockCache>>) -> Self {
        Self {
            cells,
            pool: pick.pool.clone(),
            order: pick.order.clone(),
            epoch: pick.epoch,
            buffers: BufferPool::default(),
            records: Vec::new(),
            indices: Vec::new(),
        }
    }

    fn records(&mut self, positions: Range<u64>) -> Result<Records> {
        let part = self.part(positions)?;
        // Records that are read one by one are checked as they are.
        part.records(0..part.len(), &mut self.buffers, false)
    }

    fn part(&mut self, positions: Range<u64>) -> Result<BatchPart> {
        if let Some(cells) = &self.cells
            && let Some(picked) = cells.pick(positions.clone())?
        {
            return Ok(BatchPart::Picked(picked));
        }
        self.records.clear();
        self.order.fill(positions, self.epoch, &mut self.records)?;
        indices_of(&self.records, &mut self.indices)?;
        let records = self.pool.read_alone(&self.indices, &mut self.buffers);
        records.map(BatchPart::Read)
    }
}
