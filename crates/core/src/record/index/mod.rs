//! Where each record of a file begins: one to three bytes a record, and any of them at once.
//!
//! Records tend to be about equally long. So of each only its distance is kept from where it would begin if
//! those of its block were, in as few bits as the largest distance of the block takes.
//!
//! `docs/format.md` describes the file byte by byte. An index is disposable: one that does not fit its file,
//! or itself, is made anew.

use std::ops::Range;

use crate::error::Result;
use crate::record::codec::checkpoints::Checkpoints;
use crate::record::codec::compression::Compression;
use crate::record::format::crc;
pub use crate::record::storage::identity::Fingerprint;
use crate::runtime::memory::{try_extend, try_reserve};
use offsets::{bits, expected, folded, pack_bits, unfolded};

pub mod file_access;
pub mod indexed_file;
pub mod indexed_records;
mod offsets;
pub(crate) mod read_plan;

const MAGIC: [u8; 8] = *b"TFRINDEX";
const VERSION: u32 = 2;

/// The length of the header.
pub const HEADER: usize = 80;

/// How many records share a block, and how many bytes that takes beside its distances.
const BLOCK: (usize, usize) = (64, 16);

/// What the header of an index says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How the file is compressed.
    pub compression: Compression,
    /// How many records it has.
    pub records: u64,
    /// Where the last one ends, in the stream of frames.
    pub end: u64,
    /// What the file was when the index was made.
    pub of: Fingerprint,
    /// How many bytes of packed distances there are.
    packed: u64,
    /// How many bytes describe checkpoints.
    checkpoints: u64,
    /// The masked CRC-32C of all that follows the header.
    sum: u32,
}

/// Where each record of a file begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    records: usize,
    end: u64,
    /// The blocks, the packed distances, and the checkpoints, as they stand in a file.
    body: Vec<u8>,
    /// Where in the body the packed distances, and what describes checkpoints, begin.
    packed: usize,
    after: usize,
    checkpoints: Checkpoints,
}

impl Index {
    /// How many records there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Where the last record ends, in the stream of frames.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Where the frame of record `number` lies.
    #[inline]
    #[must_use]
    pub fn get(&self, number: usize) -> Option<Range<u64>> {
        let start = self.start(number)?;
        let next = number + 1;
        let end = if next == self.records {
            self.end
        } else {
            self.start(next)?
        };
        Some(start..end)
    }

    #[inline]
    fn start(&self, number: usize) -> Option<u64> {
        let (block, place) = (number / BLOCK.0, number % BLOCK.0);
        let (first, rest) = self.block(block).filter(|_| number < self.records)?;
        let count = BLOCK.0.min(self.records - block * BLOCK.0);
        let next = self.block(block + 1).map_or(self.end, |(next, _)| next);
        let width = usize::from(rest.to_le_bytes()[0]);
        let packed = self.packed.checked_add(usize::try_from(rest >> 8).ok()?)?;
        let distance = bits(self.body.get(packed..)?, place * width, width)?;
        Some(expected(first, next, place, count).wrapping_add(unfolded(distance)))
    }

    /// Where a block's first record begins; and how many bits its distances have, and where they are.
    #[inline]
    fn block(&self, number: usize) -> Option<(u64, u64)> {
        let at = number.checked_mul(BLOCK.1)?;
        let block = self.body.get(..self.packed)?.get(at..)?;
        let (first, rest) = block.split_first_chunk()?;
        let rest = rest.first_chunk()?;
        Some((u64::from_le_bytes(*first), u64::from_le_bytes(*rest)))
    }

    /// The number of the first record that begins at `offset` or after it.
    #[must_use]
    pub fn first_from(&self, offset: u64) -> usize {
        let (mut low, mut high) = (0, self.records);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.start(middle).is_some_and(|start| start < offset) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// From where the file can be inflated, if it is compressed.
    #[must_use]
    pub fn checkpoints(&self) -> &Checkpoints {
        &self.checkpoints
    }

    /// The index as it stands in a file.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn to_bytes(&self, compression: Compression, of: Fingerprint) -> Result<Vec<u8>> {
        let mut header = Vec::new();
        try_reserve(&mut header, HEADER + self.body.len())?;
        header.extend(MAGIC);
        header.extend(VERSION.to_le_bytes());
        header.extend(number_of(compression).to_le_bytes());
        header.extend((self.records as u64).to_le_bytes());
        header.extend(self.end.to_le_bytes());
        header.extend(of.size.to_le_bytes());
        header.extend(of.modified.to_le_bytes());
        header.extend(of.samples.to_le_bytes());
        header.extend(crc::masked(&self.body).to_le_bytes());
        header.extend(((self.after - self.packed) as u64).to_le_bytes());
        header.extend(((self.body.len() - self.after) as u64).to_le_bytes());
        header.extend([0; 4]);
        header.extend(crc::masked(&header).to_le_bytes());
        header.extend_from_slice(&self.body);
        Ok(header)
    }

    /// The index with this summary and this body; none if they do not belong together.
    #[must_use]
    pub fn new(summary: &Summary, body: Vec<u8>) -> Option<Self> {
        let records = usize::try_from(summary.records).ok()?;
        let packed = records.div_ceil(BLOCK.0).checked_mul(BLOCK.1)?;
        let after = packed.checked_add(usize::try_from(summary.packed).ok()?)?;
        let stored = body.get(after..)?;
        if stored.len() as u64 != summary.checkpoints || crc::masked(&body) != summary.sum {
            return None;
        }
        let checkpoints = match stored {
            [] => Checkpoints::default(),
            stored => Checkpoints::from_bytes(stored)?,
        };
        Some(Self {
            records,
            end: summary.end,
            body,
            packed,
            after,
            checkpoints,
        })
    }
}

impl Summary {
    /// What this header of an index says; none if it is none, or damaged.
    #[must_use]
    pub fn from_bytes(header: &[u8; HEADER]) -> Option<Self> {
        let (fields, sum) = header.split_last_chunk::<4>()?;
        if u32::from_le_bytes(*sum) != crc::masked(fields) {
            return None;
        }
        let mut fields = Fields(fields);
        if fields.take()? != MAGIC || fields.u32()? != VERSION {
            return None;
        }
        let compression = *KINDS.get(usize::try_from(fields.u32()?).ok()?)?;
        let (records, end) = (fields.u64()?, fields.u64()?);
        let of = Fingerprint {
            size: fields.u64()?,
            modified: fields.u64()?.cast_signed(),
            samples: fields.u32()?,
        };
        let sum = fields.u32()?;
        Some(Self {
            compression,
            records,
            end,
            of,
            packed: fields.u64()?,
            checkpoints: fields.u64()?,
            sum,
        })
    }

    /// How many bytes follow the header.
    #[must_use]
    pub fn body(&self) -> Option<u64> {
        let blocks = self
            .records
            .div_ceil(BLOCK.0 as u64)
            .checked_mul(BLOCK.1 as u64)?;
        blocks
            .checked_add(self.packed)?
            .checked_add(self.checkpoints)
    }
}

/// Compressions by their numbers.
const KINDS: [Compression; 3] = [Compression::None, Compression::Gzip, Compression::Zlib];

fn number_of(compression: Compression) -> u32 {
    match compression {
        Compression::None => 0,
        Compression::Gzip => 1,
        Compression::Zlib => 2,
    }
}

/// Numbers one after the other.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

/// Makes an index of offsets that ascend.
pub struct Builder {
    records: usize,
    blocks: Vec<u8>,
    packed: Vec<u8>,
    /// Where the records begin that are in no block yet.
    starts: Vec<u64>,
    /// Whether there was memory for all blocks: reported at the end, not for each record.
    room: Result<()>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            records: 0,
            blocks: Vec::new(),
            packed: Vec::new(),
            starts: Vec::new(),
            room: Ok(()),
        }
    }
}

impl Builder {
    /// The next record begins at `start`.
    #[inline]
    pub fn push(&mut self, start: u64) {
        if self.starts.len() == BLOCK.0 {
            self.pack(start);
        }
        self.starts.push(start);
    }

    /// The last record ends at `end`; these are the checkpoints, if the file is compressed.
    ///
    /// # Errors
    /// There was no memory for some of it.
    pub fn finish(mut self, end: u64, checkpoints: Checkpoints) -> Result<Index> {
        self.pack(end);
        self.room?;
        let mut body = self.blocks;
        let packed = body.len();
        try_extend(&mut body, &self.packed)?;
        let after = body.len();
        if !checkpoints.is_empty() {
            try_extend(&mut body, &checkpoints.to_bytes()?)?;
        }
        Ok(Index {
            records: self.records,
            end,
            body,
            packed,
            after,
            checkpoints,
        })
    }

    /// Makes room for one more block.
    fn reserve(&mut self) -> Result<()> {
        try_reserve(&mut self.blocks, BLOCK.1)?;
        try_reserve(&mut self.packed, BLOCK.0 * size_of::<u64>() + 1)?;
        Ok(())
    }

    /// Packs the records that are in no block; after them begins what begins at `next`.
    fn pack(&mut self, next: u64) {
        let Some(&first) = self.starts.first() else {
            return;
        };
        let count = self.starts.len();
        let folded = |(place, start): (usize, &u64)| {
            folded(start.wrapping_sub(expected(first, next, place, count)))
        };
        let distances: Vec<u64> = self.starts.iter().enumerate().map(folded).collect();
        let all = distances.iter().fold(0, |all, one| all | one);
        let width = u64::BITS - all.leading_zeros();
        self.room = std::mem::replace(&mut self.room, Ok(())).and_then(|()| self.reserve());
        if self.room.is_err() {
            self.starts.clear();
            return;
        }
        let place = self.packed.len() as u64;
        self.blocks.extend(first.to_le_bytes());
        self.blocks
            .extend((u64::from(width) | place << 8).to_le_bytes());
        pack_bits(&distances, width, &mut self.packed);
        self.records += count;
        self.starts.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn index_of(lengths: &[u64]) -> (Index, Vec<Range<u64>>) {
        let (mut builder, mut places, mut at) = (Builder::default(), Vec::new(), 0);
        for length in lengths {
            builder.push(at);
            places.push(at..at + length);
            at += length;
        }
        (builder.finish(at, Checkpoints::default()).unwrap(), places)
    }

    fn any_lengths() -> impl Strategy<Value = Vec<u64>> {
        let length = prop_oneof![
            16_u64..300,
            16_u64..300_000,
            (4_u32..45).prop_map(|power| 1 << power),
        ];
        prop::collection::vec(length, 0..300)
    }

    const OF: Fingerprint = Fingerprint {
        size: 123,
        modified: -5,
        samples: 7,
    };

    fn read(bytes: &[u8]) -> Option<(Index, Summary)> {
        let (header, body) = bytes.split_first_chunk()?;
        let summary = Summary::from_bytes(header)?;
        if summary.body() != Some(body.len() as u64) {
            return None;
        }
        Some((Index::new(&summary, body.to_vec())?, summary))
    }

    proptest! {
        #[test]
        fn every_record_is_found(lengths in any_lengths(), offset in 0_u64..20_000) {
            let (index, places) = index_of(&lengths);
            prop_assert_eq!(index.len(), lengths.len());
            let found: Vec<_> = (0..lengths.len()).map(|it| index.get(it).unwrap()).collect();
            prop_assert_eq!(index.get(lengths.len()), None);
            let first = places.iter().position(|place| place.start >= offset);
            prop_assert_eq!(index.first_from(offset), first.unwrap_or(places.len()));
            prop_assert_eq!(found, places);
            let bytes = index.to_bytes(Compression::Zlib, OF).unwrap();
            let (again, summary) = read(&bytes).unwrap();
            prop_assert_eq!(summary.of, OF);
            prop_assert_eq!(summary.compression, Compression::Zlib);
            prop_assert_eq!(summary.records, lengths.len() as u64);
            prop_assert_eq!(again, index);
        }

        #[test]
        fn a_byte_that_changed_or_is_not_there_is_noticed(
            lengths in any_lengths(),
            at in any::<prop::sample::Index>(),
            by in 1_u8..,
        ) {
            let mut bytes = index_of(&lengths).0.to_bytes(Compression::None, OF).unwrap();
            let at = at.index(bytes.len());
            prop_assert_eq!(read(&bytes[..at]), None);
            bytes[at] ^= by;
            prop_assert_eq!(read(&bytes), None);
        }

        /// A hostile index may have right checksums.
        #[test]
        fn any_body_is_survived(
            records in 0_u64..200, packed in 0_u64..300, body in prop::collection::vec(any::<u8>(), 0..400),
        ) {
            let blocks = records.div_ceil(64) * 16;
            let checkpoints = (body.len() as u64).saturating_sub(blocks + packed);
            let summary = Summary {
                compression: Compression::None, records, end: 7, of: OF, packed, checkpoints,
                sum: crc::masked(&body),
            };
            if let Some(index) = Index::new(&summary, body) {
                for number in 0..=index.len() {
                    let _ = index.get(number);
                }
                let _ = index.first_from(99);
            }
        }
    }

    #[test]
    fn equally_long_records_take_next_to_nothing() {
        let bytes = index_of(&vec![776; 100_000]).0;
        let bytes = bytes.to_bytes(Compression::None, OF).unwrap();
        assert!(bytes.len() < 100_000 / 64 * 17 + 200, "{}", bytes.len());
    }

    #[test]
    fn records_of_a_table_take_little_more_than_a_byte_each() {
        let lengths: Vec<u64> = (0..100_000).map(|it| 700 + it * it % 149).collect();
        let bytes = index_of(&lengths)
            .0
            .to_bytes(Compression::None, OF)
            .unwrap();
        assert!(bytes.len() < 160_000, "{}", bytes.len());
    }
}
