//! The buffer of a reader: bytes come in at its end and go out at its front.
//!
//! A batch of records takes the buffer with it, so that no record is copied. What lies behind the
//! batch is copied to the next buffer; when nobody holds the batch any more, its buffer is used
//! again, because the system clears new memory page by page, which costs as much as reading into it.

use std::ops::Range;
use std::sync::Arc;

use crate::memory;

/// The least that a buffer holds, and grows by.
pub const CHUNK: usize = 512 << 10;

/// How much is read at once. What is read beyond the end of a batch is copied to the next buffer,
/// so this is little compared to a buffer, and much compared to the cost of a system call.
const PIECE: usize = 256 << 10;

/// The most that is reserved ahead for a batch before its bytes are there.
const MAX_AHEAD: usize = 32 << 20;

/// A buffer that holds so many bytes of a record that is not whole yet grows where it lies.
const IN_PLACE: usize = 4 << 20;

/// How many buffers of earlier batches are kept an eye on: those that wait, and those with the consumer.
const MAX_LENT: usize = 6;

/// Bytes that were read and not handed out yet, behind those that belong to a batch in the making.
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
    lent: Lent,
}

/// Buffers that went out with batches, and may come back.
#[derive(Default)]
pub struct Lent(Vec<Arc<Vec<u8>>>);

impl Lent {
    /// Keeps an eye on a buffer that goes out.
    pub fn lend(&mut self, bytes: &Arc<Vec<u8>>) {
        if self.0.len() == MAX_LENT {
            self.0.remove(0);
        }
        self.0.push(Arc::clone(bytes));
    }

    /// At least `size` bytes: a buffer that was lent and is nobody else's any more, or a new one, if there
    /// is memory for it.
    pub fn take(&mut self, size: usize) -> Option<Vec<u8>> {
        // A little more than asked for, so that it fits the next batch too.
        let or_new = || memory::zeros(size.saturating_add(size / 8));
        self.take_back(size).or_else(or_new)
    }

    /// At least `size` bytes that were lent and are nobody else's any more.
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
    /// The bytes not handed out yet.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
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

    /// Room for at least one byte behind the unread ones, which lack `missing` to be a record. Where
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

    /// So many bytes of the room have been filled.
    pub fn filled(&mut self, count: usize) {
        self.end += count;
    }

    /// Begins a batch: from here on, what is handed out stays in the buffer.
    pub fn begin_batch(&mut self) {
        self.held = 0;
    }

    /// Counts the last `total` bytes handed out to the batch, and says how far behind the batch's
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
        let rest = (!is_small).then(|| self.lent.take(unread + ahead));
        let Some(mut rest) = rest.flatten() else {
            let batch = self.bytes.get(first..self.start).unwrap_or_default();
            return (Arc::new(batch.to_vec()), 0);
        };
        self.copy_kept(&mut rest);
        self.start = 0;
        self.end = unread;
        let bytes = Arc::new(std::mem::replace(&mut self.bytes, rest));
        self.lent.lend(&bytes);
        (bytes, first)
    }

    fn make_room(&mut self, missing: usize, known: bool) -> Result<(), usize> {
        let room = self.bytes.len() - self.end;
        if room >= missing.clamp(1, PIECE) {
            return Ok(());
        }
        let first = self.start - self.held;
        let have = self.end - first;
        if first >= CHUNK / 2 && have <= self.bytes.len() / 2 {
            self.bytes.copy_within(first..self.end, 0);
        } else {
            let announced = if known { missing } else { 0 };
            let size = have.saturating_add(self.growth(have, announced));
            // What is missing of one record is read once, so that no other buffer will do better.
            let in_place = have >= IN_PLACE && missing > PIECE;
            if in_place {
                self.lengthen(size)
            } else {
                self.exchange(size)
            }
            .ok_or(size)?;
        }
        self.start = self.held;
        self.end = have;
        Ok(())
    }

    /// Makes the buffer `size` bytes long where it lies, so that it is not there twice, and moves the bytes
    /// that are still needed to its front.
    fn lengthen(&mut self, size: usize) -> Option<()> {
        let more = size.saturating_sub(self.bytes.len());
        // The system moves large blocks without copying them.
        self.bytes.try_reserve_exact(more).ok()?;
        self.bytes.copy_within(self.start - self.held..self.end, 0);
        self.bytes.resize(size.max(self.bytes.len()), 0);
        Some(())
    }

    /// Goes on with another buffer of `size` bytes, which begins with those that are still needed.
    fn exchange(&mut self, size: usize) -> Option<()> {
        let mut other = self.lent.take(size)?;
        self.copy_kept(&mut other);
        self.bytes = other;
        Some(())
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
