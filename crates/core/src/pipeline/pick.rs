//! Which records a pass over numbered records reads, in which order, and how.

use crate::error::{ErrorKind, Result};
use crate::pipeline::order::Order;
use crate::pipeline::pool::Pool;

/// What to read, and in which order.
#[derive(Clone)]
pub struct Pick {
    /// The records.
    pub pool: Pool,
    /// Which of them, and in which order.
    pub order: Order,
    /// The epoch to begin with.
    pub epoch: u64,
    /// How many records a batch has.
    pub batch: usize,
    /// Whether to leave out a last batch of fewer records.
    pub drop_remainder: bool,
    /// The number of the batch to begin with.
    pub first_batch: u64,
    /// How many threads work.
    pub threads: usize,
    /// How many bytes of records may be ahead, in batches; the one that is wanted next always is. Windows of more
    /// bytes are not held in memory where the records of one can be read one by one.
    pub most_ahead: usize,
}

pub(crate) fn indices_of(records: &[u64], indices: &mut Vec<usize>) -> Result<()> {
    indices.clear();
    let reserved = indices.try_reserve(records.len());
    reserved.map_err(|_| ErrorKind::OutOfMemory(records.len()))?;
    // A record beyond the address space cannot be held either: it fails when it is read.
    let as_index = |&record: &u64| usize::try_from(record).unwrap_or(usize::MAX);
    indices.extend(records.iter().map(as_index));
    Ok(())
}
