//! What an order is one of: records of files, or records that lie in memory.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::record::{BufferPool, Records, Sequence};

/// Records, any of which can be had at once.
#[derive(Clone)]
pub enum Pool {
    /// They lie in files.
    Files(Arc<Sequence>),
    /// They lie in memory.
    Memory(Records),
}

impl Pool {
    /// How many records.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Files(sequence) => sequence.len(),
            Self::Memory(records) => records.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads the index of records in one file; see [`Sequence::prepare`].
    pub(crate) fn prepare(&self) {
        if let Self::Files(sequence) = self {
            sequence.prepare();
        }
    }

    /// The records at `indices`, in this order; those of files in a buffer of `buffers` if one is free.
    pub(crate) fn read_alone(
        &self,
        indices: &[usize],
        buffers: &mut BufferPool,
    ) -> Result<Records> {
        match self {
            Self::Files(sequence) => sequence.read_alone(indices, buffers),
            Self::Memory(records) => {
                let some = records.take(indices);
                some.ok_or_else(|| Error::spec("there is no such record"))
            }
        }
    }
}
