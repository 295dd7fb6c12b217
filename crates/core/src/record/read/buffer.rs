//! The buffer of a reader: bytes come in at its end and go out at its front.
//!
//! A batch of records takes the buffer with it, so that no record is copied. What lies after the
//! batch is copied to the next buffer; when nobody holds the batch any more, its buffer is used
//! again, because the system clears new memory page by page, which costs as much as reading into it.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::record::codec::source::Source;
use crate::record::format::limits::FileLimits;
use crate::runtime::memory;

/// The least that a buffer holds, and grows by.
pub const CHUNK: usize = 512 << 10;

/// How much is read at once. What is read beyond the end of a batch is copied to the next buffer,
/// so this is little compared to a buffer, and much compared to the cost of a system call.
const PIECE: usize = 256 << 10;

/// The most that is reserved ahead for a batch before its bytes are there.
const MAX_AHEAD: usize = 32 << 20;

/// A buffer that holds that many bytes grows where it lies, unless there is an old one to continue with; one that
/// holds that many of a record that is not whole yet does so anyway.
const IN_PLACE: usize = 4 << 20;

/// The most that is copied in one go: signals wait as long as that takes.
const MOST_COPIED: usize = 64 << 20;

/// How many buffers of earlier batches are tracked: those that wait, and those with the consumer.
const MAX_TRACKED: usize = 6;

/// Bytes that were read and not handed out yet, after those that belong to a batch in the making.
#[derive(Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    /// Where the unread bytes begin.
    start: usize,
    /// Where they end.
    end: usize,
    /// How many bytes before `start` belong to the batch that is being read.
    held: usize,
    /// Bytes that a whole batch probably takes.
    expected: usize,
    buffers: BufferPool,
}

/// Buffers that went out with batches, and may come back.
#[derive(Default)]
pub struct BufferPool(Vec<Arc<Vec<u8>>>);

impl BufferPool {
    /// Tracks a buffer that goes out with a batch.
    pub fn track(&mut self, bytes: &Arc<Vec<u8>>) {
        if self.0.len() == MAX_TRACKED {
            self.0.remove(0);
        }
        self.0.push(Arc::clone(bytes));
    }

    /// At least `size` bytes: a recycled buffer that nobody else holds, or a new one, if there
    /// is memory for it.
    pub fn take(&mut self, size: usize) -> Option<Vec<u8>> {
        // A little more than asked for, so that it fits the next batch too.
        let or_new = || memory::zeros(size.saturating_add(size / 8));
        self.take_back(size).or_else(or_new)
    }

    /// As [`Self::take`], but a new one that may become huge has no more than `used` bytes yet, and memory
    /// reserved for the others.
    fn take_to_grow(&mut self, size: usize, used: usize) -> Option<Vec<u8>> {
        if size < MAX_AHEAD {
            return self.take(size);
        }
        if let Some(buffer) = self.take_back(size) {
            return Some(buffer);
        }
        let mut buffer = Vec::new();
        // A whole block of the allocator, which the system moves without copying it; see memory.rs.
        let block = size.checked_next_power_of_two()?;
        buffer.try_reserve_exact(block).ok()?;
        buffer.resize(used.min(size), 0);
        Some(buffer)
    }

    /// A recycled buffer of at least `size` bytes that nobody else holds.
    pub fn take_back(&mut self, size: usize) -> Option<Vec<u8>> {
        let fits = |buffer: &Arc<Vec<u8>>| {
            Arc::strong_count(buffer) == 1
                && (size..=size.saturating_mul(4)).contains(&buffer.len())
        };
        let place = self.0.iter().position(fits)?;
        Arc::try_unwrap(self.0.swap_remove(place)).ok()
    }
}

impl Buffer {
    /// Reads more from `source`: `missing` bytes and more where it is `known` that there are that many, within
    /// `limits`; what is unread begins at `offset`. Returns how many bytes came; 0 at the end.
    ///
    /// # Errors
    /// As for [`Source::read`]; there is no memory; more comes than `limits` allow.
    pub fn fill_from(
        &mut self,
        source: &mut Source,
        (missing, known): (usize, bool),
        limits: FileLimits,
        offset: u64,
    ) -> Result<usize, ErrorKind> {
        let done = offset + self.unread().len() as u64;
        let room = self.room(missing, known);
        let room = limits.room(room.map_err(ErrorKind::OutOfMemory)?, done);
        if room.is_empty() {
            // One byte more than is allowed shows that there is more.
            return match source.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(limits.too_much()),
            };
        }
        let count = source.read(room)?;
        self.filled(count);
        Ok(count)
    }
}

impl Buffer {
    /// The bytes not handed out yet.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// The same, to be changed.
    pub fn unread_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.start..self.end).unwrap_or_default()
    }

    /// The bytes at a range that [`Self::consume`] gave, before anything else was read.
    #[inline]
    pub fn at(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// Hands out the next `total` bytes, and says where `data` of them lies.
    #[inline]
    pub fn consume(&mut self, total: usize, data: Range<usize>) -> Range<usize> {
        let place = self.start + data.start..self.start + data.end;
        self.start += total;
        place
    }

    /// Room for at least one byte after the unread ones, which lack `missing` to be a record. Where
    /// those are `known` to come, there is room for all of them.
    ///
    /// # Errors
    /// The number of bytes that there is no memory for.
    pub fn room(&mut self, missing: usize, known: bool) -> Result<&mut [u8], usize> {
        self.make_room(missing, known)?;
        let limit = self
            .end
            .saturating_add(missing.max(PIECE))
            .min(self.bytes.len());
        Ok(self.bytes.get_mut(self.end..limit).unwrap_or_default())
    }

    /// Forgets the unread bytes.
    pub fn clear(&mut self) {
        (self.start, self.end, self.held) = (0, 0, 0);
    }

    /// Notes that `count` bytes of the room have been filled.
    pub fn filled(&mut self, count: usize) {
        self.end += count;
    }

    /// Begins a batch: from here on, what is handed out stays in the buffer.
    pub fn begin_batch(&mut self) {
        self.held = 0;
    }

    /// Counts the last `total` bytes handed out to the batch, and says how far after the batch's
    /// first byte the place `at` lies.
    #[inline]
    pub fn hold(&mut self, total: usize, at: usize) -> usize {
        let first = self.start - total - self.held;
        self.held += total;
        at - first
    }

    /// The bytes of the batch so far.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Says how many bytes the whole batch probably takes.
    pub fn expect(&mut self, whole: usize) {
        self.expected = whole.saturating_add(whole / 8).saturating_add(2 * PIECE);
    }

    /// Gives the bytes of the batch back: they are unread again.
    pub fn unhold(&mut self) {
        self.start -= self.held;
        self.held = 0;
    }

    /// Ends the batch: the buffer, and where in it the batch begins. The unread bytes stay, with room
    /// for `more` to come.
    pub fn take_batch(&mut self, more: bool) -> (Arc<Vec<u8>>, usize) {
        let first = self.start - self.held;
        let held = std::mem::take(&mut self.held);
        let unread = self.end - self.start;
        let ahead = if more {
            CHUNK.max(self.expected.min(MAX_AHEAD))
        } else {
            0
        };
        // Too little to give all of the buffer away for, or less than would stay.
        let is_small = held < self.bytes.len() / 4 || held < unread;
        if is_small && let Some(copy) = self.copied(first) {
            return (Arc::new(copy), 0);
        }
        let rest = self.buffers.take_to_grow(unread + ahead, unread + CHUNK);
        // Without memory for what is read ahead, there is room for what is unread at least.
        let mut rest = rest.unwrap_or_else(|| vec![0; unread]);
        self.copy_kept(&mut rest);
        self.start = 0;
        self.end = unread;
        let bytes = Arc::new(std::mem::replace(&mut self.bytes, rest));
        self.buffers.track(&bytes);
        (bytes, first)
    }

    /// A copy of the bytes of the batch, which begins at `first`, if there is memory for it.
    fn copied(&self, first: usize) -> Option<Vec<u8>> {
        let batch = self.bytes.get(first..self.start).unwrap_or_default();
        let mut copy = Vec::new();
        copy.try_reserve_exact(batch.len()).ok()?;
        copy.extend_from_slice(batch);
        Some(copy)
    }

    fn make_room(&mut self, missing: usize, known: bool) -> Result<(), usize> {
        let room = self.bytes.len() - self.end;
        if room >= missing.clamp(1, PIECE) {
            return Ok(());
        }
        let first = self.start - self.held;
        let have = self.end - first;
        if first >= CHUNK / 2 && have <= (self.bytes.len() / 2).min(MOST_COPIED) {
            self.bytes.copy_within(first..self.end, 0);
            self.moved_to_front();
        } else if !self.clear_more() {
            let announced = if known { missing } else { 0 };
            let growth = self.growth(have, announced);
            self.grow(growth, missing)
                .ok_or(have.saturating_add(growth))?;
        }
        Ok(())
    }

    /// Makes room for `growth` more bytes, where it lies or in another buffer.
    fn grow(&mut self, growth: usize, missing: usize) -> Option<()> {
        let first = self.start - self.held;
        let have = self.end - first;
        let size = have.saturating_add(growth);
        if have < IN_PLACE {
            let other = self.buffers.take_to_grow(size, have + CHUNK)?;
            self.go_on_in(other);
            return Some(());
        }
        // What is missing of one record is read once, so that no other buffer will do better.
        let may_copy = have <= MOST_COPIED && missing <= PIECE;
        // One that is not quite long enough may grow in its turn, and need not be cleared up to there.
        let worth = have.saturating_add(have / 2);
        if let Some(other) = may_copy.then(|| self.buffers.take_back(worth)).flatten() {
            self.go_on_in(other);
            return Some(());
        }
        let more = self.end.saturating_add(growth) - self.bytes.len();
        // The system moves large blocks without copying them, on Linux at least; see memory.rs.
        self.bytes.try_reserve_exact(more).ok()?;
        self.clear_more();
        Some(())
    }

    /// Takes some of the memory that is reserved, if there is any, and says whether. It is cleared just before it is
    /// filled, while it is in the processor's cache, and before it takes longer than signals may wait.
    fn clear_more(&mut self) -> bool {
        let length = self.bytes.len();
        let more = (self.bytes.capacity() - length).min(CHUNK);
        self.bytes.resize(length + more, 0);
        more > 0
    }

    /// Continues with another buffer, which begins with the bytes that are still needed.
    fn go_on_in(&mut self, mut other: Vec<u8>) {
        self.copy_kept(&mut other);
        self.bytes = other;
        self.moved_to_front();
    }

    /// What is still needed stands at the front now.
    fn moved_to_front(&mut self) {
        let first = self.start - self.held;
        self.start -= first;
        self.end -= first;
    }

    /// By how much a buffer that holds `have` bytes grows: with the bytes that have arrived, not
    /// with what a header announces, because announcing is cheap.
    fn growth(&self, have: usize, announced: usize) -> usize {
        let most = have.saturating_mul(2).saturating_add(MAX_AHEAD);
        let batch = self.expected.min(most).saturating_sub(have);
        let little = (have / 8).clamp(CHUNK, MAX_AHEAD);
        little.max(announced.min(most)).max(batch)
    }

    fn copy_kept(&self, to: &mut [u8]) {
        let kept = self.bytes.get(self.start - self.held..self.end);
        let kept = kept.unwrap_or_default();
        if let Some(head) = to.get_mut(..kept.len()) {
            head.copy_from_slice(kept);
        }
    }
}
