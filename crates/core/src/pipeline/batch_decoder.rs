//! Parts of a batch → columns.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::example::Decode;
use crate::example::decode::values::Outlook;
use crate::example::record_error::{RecordError, for_each_group};
use crate::pipeline::batch_part::BatchPart;
use crate::pipeline::sound::joined;
use crate::record::{Extent, Picked, Records};
use crate::runtime::memory;
use crate::runtime::simd::fetch;

/// Decodes one batch after the other.
pub(crate) struct BatchDecoder<D> {
    decoder: D,
    /// Records that were found are read to here.
    scratch: Vec<u8>,
    verify: bool,
}

/// So much is read at once, so that it is still in the processor's cache when it is decoded.
const PIECE: usize = 256 << 10;

/// Records of more bytes, on average, are as well read where they lie.
const LARGEST_COPIED: usize = 4 << 10;

/// How many records ahead of the copy one is prefetched from memory.
const SOON: usize = 4;

impl<D: Decode> BatchDecoder<D> {
    /// With a decoder of its own.
    pub fn new(decoder: D) -> Self {
        Self {
            decoder,
            scratch: Vec::new(),
            verify: false,
        }
    }

    /// The columns of a batch, and where its records come from; `verify`: whether it checks their data.
    pub fn decode(&mut self, parts: &[BatchPart], verify: bool) -> Result<(D::Batch, Records)> {
        self.verify = verify;
        let outlook = outlook_of(parts);
        check_room(&outlook)?;
        self.decoder.begin(outlook);
        let mut row = 0;
        for part in parts {
            match part {
                BatchPart::Read(records) => self.push(records, &mut row)?,
                BatchPart::Found(extent) => self.read_and_push(extent, &mut row)?,
                BatchPart::Picked(picked) => self.push_picked(picked, &mut row)?,
            }
        }
        let columns = self.decoder.finish();
        let columns = columns.map_err(|error| Error::spec(error.to_string()))?;
        Ok((
            columns,
            joined(parts.iter().map(BatchPart::places).collect())?,
        ))
    }

    fn read_and_push(&mut self, extent: &Extent, row: &mut usize) -> Result<()> {
        let mut some: Range<usize> = 0..0;
        while some.end < extent.len() {
            some = extent.some(some.end, PIECE);
            let records = extent.read(some.clone(), std::mem::take(&mut self.scratch))?;
            self.push(&records, row)?;
            self.scratch = records.into_buffer().unwrap_or_default();
        }
        Ok(())
    }

    fn push_picked(&mut self, picked: &Picked, row: &mut usize) -> Result<()> {
        let pushed = for_each_group(picked.iter(), |group, first| {
            let side_by_side = side_by_side(group, &mut self.scratch);
            self.decoder.push(&side_by_side, *row + first)
        });
        pushed.map_err(|error| match error.index {
            Some(index) => picked.locate(index, error.error),
            None => error.error,
        })?;
        *row += picked.len();
        Ok(())
    }

    fn push(&mut self, records: &Records, row: &mut usize) -> Result<()> {
        let pushed = for_each_group(records.iter(), |group, first| {
            if self.verify {
                let verified = records.verify(first..first + group.len());
                verified.map_err(RecordError::located)?;
            }
            self.decoder.push(group, *row + first)
        });
        *row += records.len();
        pushed.map_err(|error| match error.index {
            Some(index) => records.locate(index, error.error),
            None => error.error,
        })
    }
}

/// Records that lie anywhere, copied to where they lie one after the other, if they are small: what is read more
/// than once is found faster there.
fn side_by_side<'a>(group: &[&'a [u8]], room: &'a mut Vec<u8>) -> Vec<&'a [u8]> {
    let bytes: usize = group.iter().map(|record| record.len()).sum();
    if bytes / group.len().max(1) > LARGEST_COPIED {
        return group.to_vec();
    }
    room.clear();
    room.reserve(bytes);
    for (number, record) in group.iter().enumerate() {
        if let Some(later) = group.get(number + SOON) {
            fetch(later);
        }
        room.extend_from_slice(record);
    }
    let mut rest = room.as_slice();
    let next = |record: &&[u8]| {
        let (copy, after) = rest.split_at_checked(record.len()).unwrap_or_default();
        rest = after;
        copy
    };
    group.iter().map(next).collect()
}

/// Fails if there is no memory for columns of that many records, which grow without asking: as many bytes as the records
/// have, doubled as they grow, and some for each row.
fn check_room(outlook: &Outlook) -> Result<()> {
    let for_rows = outlook.rows.saturating_mul(EACH_ROW);
    memory::check_room(outlook.bytes.saturating_mul(2).saturating_add(for_rows))
}

/// Splits, masks and numbers of a row, as far as they have more bytes than in the record.
const EACH_ROW: usize = 64;

fn outlook_of(parts: &[BatchPart]) -> Outlook {
    Outlook {
        rows: parts.iter().map(BatchPart::len).sum(),
        bytes: parts.iter().map(|part| part.bytes().1).sum(),
        first: parts.first().map_or(0, |part| part.bytes().0),
    }
}
