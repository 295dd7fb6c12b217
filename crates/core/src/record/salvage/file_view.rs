//! Any bytes of a file, through a few blocks of it in memory; and the checksum of any piece.

use std::fs::File;

use crate::error::{ErrorKind, Result};
use crate::record::format::crc::{self, prefix};
use crate::record::format::frame::{self, FOOTER, HEADER};
use crate::record::storage::read_at;
use crate::runtime::interrupt::Pulse;
use crate::runtime::memory::{self, try_push};

/// How much is read at once.
const BLOCK: u64 = 256 << 10;
/// A block continues so far into the next one, so that a header is never cut in two.
const OVERLAP: usize = 16;
/// How many blocks are kept.
const KEPT: usize = 16;
/// The checksum of fewer bytes is made of them all: of more it would cost too much where thousands of headers are forged.
const DIRECT: u64 = 1 << 10;
/// The most checksums that are remembered.
const MARKS: u64 = 1 << 20;
/// After that many looks it is asked for the time, and then for signals: to ask may take longer than to look.
const LOOKS: u32 = 64;
/// How much of a record is read before it is asked again.
const PIECE: usize = 16 << 20;

/// A file that can be looked at anywhere.
pub struct View {
    file: File,
    size: u64,
    /// The block used last comes first.
    blocks: Vec<Block>,
    sums: Sums,
    pulse: Pulse,
    looks: u32,
}

struct Block {
    number: u64,
    bytes: Vec<u8>,
}

/// Registers of checksums at every `stride`th byte after `base`, as far as anybody has asked.
struct Sums {
    base: u64,
    stride: u64,
    marks: Vec<u32>,
}

impl View {
    /// The first `size` bytes of `file`. Checksums are wanted from `base` on only.
    pub fn new(file: File, size: u64, base: u64) -> Self {
        let stride = (size.saturating_sub(base) / MARKS).next_power_of_two();
        Self {
            file,
            size,
            blocks: Vec::new(),
            sums: Sums {
                base,
                stride: stride.max(64),
                marks: vec![0],
            },
            pulse: Pulse::start(),
            looks: 0,
        }
    }

    /// The same file, with blocks of its own, and checksums from `base` on.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn part(&self, base: u64) -> Result<Self> {
        Ok(Self::new(self.file.try_clone()?, self.size, base))
    }

    /// How many bytes there are.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes from `offset` on: sixteen at least, unless the file ends before.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn at(&mut self, offset: u64) -> Result<&[u8]> {
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(LOOKS) {
            self.heed_signals()?;
        }
        let number = offset / BLOCK;
        self.bring(number)?;
        let start = usize::try_from(offset % BLOCK).unwrap_or(usize::MAX);
        let block = self.blocks.first();
        Ok(block
            .and_then(|block| block.bytes.get(start..))
            .unwrap_or_default())
    }

    /// For work that continues for long without a look at another place.
    ///
    /// # Errors
    /// If a signal says to stop.
    pub fn heed_signals(&mut self) -> Result<()> {
        Ok(self.pulse.check()?)
    }

    /// Makes this block the first of those kept.
    fn bring(&mut self, number: u64) -> Result<()> {
        let found = self.blocks.iter().position(|block| block.number == number);
        if let Some(place) = found {
            if place > 0 {
                self.blocks.swap(0, place);
            }
            return Ok(());
        }
        self.heed_signals()?;
        let spare = if self.blocks.len() < KEPT {
            None
        } else {
            self.blocks.pop()
        };
        let mut bytes = spare.map(|block| block.bytes).unwrap_or_default();
        let start = number * BLOCK;
        let room = (BLOCK + OVERLAP as u64).min(self.size.saturating_sub(start));
        let room = usize::try_from(room).unwrap_or_default();
        let reserved = bytes.try_reserve(room.saturating_sub(bytes.len()));
        reserved.map_err(|_| ErrorKind::OutOfMemory(room))?;
        bytes.resize(room, 0);
        let count = read_at::fill(&self.file, &mut bytes, start)?;
        work::add(count as u64);
        // A file that has become shorter meanwhile reads as zeros there.
        bytes.get_mut(count..).unwrap_or_default().fill(0);
        self.blocks.insert(0, Block { number, bytes });
        Ok(())
    }

    /// All bytes of a piece, of which the caller knows that it is no longer than it should be.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn read(&mut self, begin: u64, end: u64) -> Result<Vec<u8>> {
        let size = usize::try_from(end.saturating_sub(begin)).unwrap_or_default();
        let mut bytes = memory::try_zeros(size)?;
        let mut at = begin;
        for piece in bytes.chunks_mut(PIECE) {
            self.heed_signals()?;
            read_at::fill(&self.file, piece, at)?;
            at += piece.len() as u64;
            work::add(piece.len() as u64);
        }
        Ok(bytes)
    }

    /// The length that a header at `offset` announces, if its checksum holds.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn header(&mut self, offset: u64) -> Result<Option<u64>> {
        let bytes = self.at(offset)?;
        let header = bytes.first_chunk::<HEADER>();
        work::add(HEADER as u64);
        Ok(header.and_then(|header| frame::parse_header(header).ok()))
    }

    /// The next place from `offset` on at which the header of a record is sound that ends at `end` at the latest.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn next_header(&mut self, mut offset: u64, end: u64) -> Result<Option<u64>> {
        while let Some(left) = end.checked_sub(offset + (HEADER + FOOTER) as u64) {
            let most =
                usize::try_from((BLOCK - offset % BLOCK).min(left + 1)).unwrap_or(usize::MAX);
            if let Some(found) = first_header(self.at(offset)?, most, left) {
                work::add(found as u64);
                return Ok(Some(offset + found as u64));
            }
            work::add(most as u64);
            offset += most as u64;
        }
        Ok(None)
    }

    /// Whether the four bytes at `end` are the checksum of those from `begin` to there.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn holds(&mut self, begin: u64, end: u64) -> Result<bool> {
        if end < begin || end + FOOTER as u64 > self.size {
            return Ok(false);
        }
        let length = usize::try_from(end - begin).unwrap_or(usize::MAX);
        if end - begin < DIRECT
            && let Some((piece, after)) = self.at(begin)?.split_at_checked(length)
            && let Some(footer) = after.first_chunk::<FOOTER>()
        {
            work::add(end - begin);
            return Ok(crc::masked(piece) == u32::from_le_bytes(*footer));
        }
        let before = self.register(begin)?;
        let (mark, from) = self.mark(end)?;
        let (after, footer) = self.last(mark, from, end)?;
        let checksum = prefix::masked_between(before, after, end - begin);
        Ok(checksum == u32::from_le_bytes(footer))
    }

    /// The register at `end`, which it is `mark` before at `from`, and the four bytes there.
    fn last(&mut self, mark: u32, from: u64, end: u64) -> Result<(u32, [u8; FOOTER])> {
        if self.has(from) && self.has(end) {
            let after = self.extend(mark, from, end)?;
            let footer = self.at(end)?.first_chunk().copied();
            return Ok((after, footer.unwrap_or_default()));
        }
        // What is far away is read by itself: thousands of headers may each claim another end.
        let last = self.read(from, end + FOOTER as u64)?;
        work::add(end - from);
        let (piece, footer) = last.split_last_chunk().unwrap_or((&[], &[0; FOOTER]));
        Ok((prefix::extend(mark, piece), *footer))
    }

    /// Whether the block of this offset is in memory.
    fn has(&self, offset: u64) -> bool {
        let number = offset / BLOCK;
        self.blocks.iter().any(|block| block.number == number)
    }

    /// The register of the checksum of all from the base up to `offset`.
    fn register(&mut self, offset: u64) -> Result<u32> {
        let (mark, from) = self.mark(offset)?;
        self.extend(mark, from, offset)
    }

    /// The register at the last place before `offset` at which it is remembered, and that place.
    fn mark(&mut self, offset: u64) -> Result<(u32, u64)> {
        let Sums { base, stride, .. } = self.sums;
        let full = offset.saturating_sub(base) / stride;
        while (self.sums.marks.len() as u64) <= full {
            let last = self.sums.marks.last().copied().unwrap_or_default();
            let from = base + (self.sums.marks.len() as u64 - 1) * stride;
            let next = self.extend(last, from, from + stride)?;
            try_push(&mut self.sums.marks, next)?;
        }
        let place = usize::try_from(full).unwrap_or(usize::MAX);
        let mark = self.sums.marks.get(place).copied().unwrap_or_default();
        Ok((mark, base + full * stride))
    }

    fn extend(&mut self, mut register: u32, mut from: u64, to: u64) -> Result<u32> {
        while from < to {
            let room = (BLOCK - from % BLOCK).min(to - from);
            let bytes = self.at(from)?;
            let piece = bytes.get(..usize::try_from(room).unwrap_or(usize::MAX));
            register = prefix::extend(register, piece.unwrap_or_default());
            work::add(room);
            from += room;
        }
        Ok(register)
    }
}

/// The first of that many places at which a header stands, the first of them `left` before the last in the file.
/// The length is looked at first, because hardly anything that is none has one that fits; and its last byte
/// before that, of eight places at once, because it must be zero.
fn first_header(bytes: &[u8], places: usize, left: u64) -> Option<usize> {
    (0..places).step_by(8).find_map(|eight| {
        let last = bytes.get(eight + 7..).and_then(<[u8]>::first_chunk);
        if last.is_some_and(|last| !has_zero(u64::from_le_bytes(*last))) {
            return None;
        }
        (eight..places.min(eight + 8)).find(|&place| {
            let there = bytes.get(place..).unwrap_or_default();
            let length = there
                .first_chunk()
                .map(|length| u64::from_le_bytes(*length));
            length.is_some_and(|length| length <= left.saturating_sub(place as u64))
                && there
                    .first_chunk::<HEADER>()
                    .is_some_and(|header| frame::parse_header(header).is_ok())
        })
    })
}

/// Whether one of the eight bytes is zero.
fn has_zero(word: u64) -> bool {
    word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080 != 0
}

#[cfg(not(test))]
mod work {
    pub fn add(_: u64) {}
}

/// How many bytes have been read, looked through and summed: tests say how much is too much.
#[cfg(test)]
pub mod work {
    use std::cell::Cell;

    thread_local!(static DONE: Cell<u64> = const { Cell::new(0) });

    pub fn done() -> u64 {
        DONE.get()
    }

    pub fn add(bytes: u64) {
        DONE.set(done() + bytes);
    }
}
