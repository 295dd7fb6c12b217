//! A part of a batch: records that lie in one file, read or only found.

use std::ops::Range;

use crate::error::Result;
use crate::record::{BufferPool, Extent, Picked, Records};

/// Records of a batch that lie in one file, and whose data nobody has checked yet.
pub enum BatchPart {
    /// They have been read.
    Read(Records),
    /// They have been found.
    Found(Extent),
    /// They have been read and checked, with others that are not of this batch.
    Picked(Picked),
}

impl BatchPart {
    /// How many records it has.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Read(records) => records.len(),
            Self::Found(extent) => extent.len(),
            Self::Picked(picked) => picked.len(),
        }
    }

    /// How many bytes the first record has, and all together.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        match self {
            Self::Read(records) => {
                let first = records.get(0).map_or(0, <[u8]>::len);
                (first, records.payload_bytes())
            }
            Self::Found(extent) => (extent.first(), extent.payload_bytes()),
            Self::Picked(picked) => {
                let first = picked.iter().next().map_or(0, <[u8]>::len);
                (first, picked.payload_bytes())
            }
        }
    }

    /// The records of `range`; what is out of range is left out.
    pub(crate) fn records(
        &self,
        range: Range<usize>,
        buffers: &mut BufferPool,
        verify: bool,
    ) -> Result<Records> {
        let records = match self {
            Self::Read(records) => records.slice(range),
            Self::Found(extent) => {
                // Without memory for it, reading says so, and of which record.
                let buffer = buffers.take(extent.bytes()).unwrap_or_default();
                let records = extent.read(range.start..range.end.min(extent.len()), buffer)?;
                records.recycle_to(buffers);
                records
            }
            Self::Picked(picked) => return Ok(picked.copied(buffers)?.slice(range)),
        };
        if verify {
            records.verify(0..records.len())?;
        }
        Ok(records)
    }

    /// Where they come from, without their content.
    pub(crate) fn places(&self) -> Records {
        match self {
            Self::Read(records) => records.places(),
            Self::Found(extent) => extent.places(),
            Self::Picked(picked) => picked.places(),
        }
    }
}
