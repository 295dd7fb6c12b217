//! Records of files, in any [`Order`] → batches of records, or of columns, in order, on several threads.
//!
//! As [`scan`](crate::pipeline::scan), but that no record is looked for: where each lies is known, so a batch says itself
//! what it is of, and each thread computes, reads, checks and decodes batches of its own. So a pass can begin at
//! any of its batches as soon as at the first.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::example::Decode;
use crate::pipeline::block_cache::Cells;
use crate::pipeline::order::Order;
use crate::pipeline::pick::indices_of;
use crate::pipeline::scan::{Part, Scan, Sound, Weighed, Worker, room, up_to_error};
use crate::record::{Lent, Records};
use crate::runtime::ordered_workers::Ordered;

pub use crate::pipeline::pick::Pick;
pub use crate::pipeline::pool::Pool;

/// Reads batches of records.
///
/// # Errors
/// There are fewer records; the system cannot start a thread. Errors of files come with
/// their batches.
pub fn gather_records(pick: &Pick) -> Result<Scan<Sound>> {
    let partial = pick.partial;
    start(pick, |mut reader| {
        move |positions: Range<u64>| {
            let len = usize::try_from(positions.end - positions.start).unwrap_or(usize::MAX);
            let at = |index: usize| positions.start + index as u64;
            up_to_error(len, partial, |range| {
                reader.records(at(range.start)..at(range.end))
            })
        }
    })
}

/// Decodes batches into columns, each thread with a decoder that `make` makes. With the columns come the
/// places of their records, as records without content.
///
/// # Errors
/// As for [`gather_records`].
pub fn gather_columns<D>(
    pick: &Pick,
    mut make: impl FnMut() -> D,
) -> Result<Scan<(D::Batch, Records)>>
where
    D: Decode<Batch: Send + 'static> + Send + 'static,
{
    start(pick, |mut reader| {
        let mut worker = Worker::new(make(), false);
        move |positions| worker.decode(&[reader.part(positions)?])
    })
}

/// As [`gather_columns`], but with the columns come the records themselves.
///
/// # Errors
/// As for [`gather_records`].
pub fn gather_both<D>(pick: &Pick, mut make: impl FnMut() -> D) -> Result<Scan<(D::Batch, Records)>>
where
    D: Decode<Batch: Send + 'static> + Send + 'static,
{
    start(pick, |mut reader| {
        let mut worker = Worker::new(make(), false);
        move |positions| worker.decode_kept(reader.records(positions)?)
    })
}

fn start<T, W>(pick: &Pick, mut make: impl FnMut(Reader) -> W) -> Result<Scan<T>>
where
    T: Weighed + Send + 'static,
    W: FnMut(Range<u64>) -> Result<T> + Send + 'static,
{
    let (records, there) = (pick.order.records(), pick.pool.len() as u64);
    if records > there {
        return Err(Error::spec(format!(
            "an order of {records} records is asked for of {there}"
        )));
    }
    pick.pool.prepare();
    let cells = Cells::of(pick).map(Arc::new);
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
        let mut work = make(Reader::new(pick, cells.clone()));
        move |positions: Range<u64>| {
            let result = work(positions.clone());
            if let Some(cells) = &cells {
                cells.end(&positions);
            }
            result
        }
    };
    Ordered::within(
        pick.threads,
        room(pick.threads, pick.most_ahead),
        next,
        make,
    )
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
    cells: Option<Arc<Cells>>,
    lent: Lent,
    /// Which records the batch has.
    records: Vec<u64>,
    indices: Vec<usize>,
}

impl Reader {
    fn new(pick: &Pick, cells: Option<Arc<Cells>>) -> Self {
        Self {
            cells,
            pool: pick.pool.clone(),
            order: pick.order.clone(),
            epoch: pick.epoch,
            lent: Lent::default(),
            records: Vec::new(),
            indices: Vec::new(),
        }
    }

    fn records(&mut self, positions: Range<u64>) -> Result<Records> {
        let part = self.part(positions)?;
        // Records that are read one by one are checked as they are.
        part.records(0..part.len(), &mut self.lent, false)
    }

    fn part(&mut self, positions: Range<u64>) -> Result<Part> {
        if let Some(cells) = &self.cells
            && let Some(picked) = cells.pick(positions.clone())?
        {
            return Ok(Part::Picked(picked));
        }
        self.records.clear();
        self.order.fill(positions, self.epoch, &mut self.records)?;
        indices_of(&self.records, &mut self.indices)?;
        let records = self.pool.read_alone(&self.indices, &mut self.lent);
        records.map(Part::Read)
    }
}
