//! Memory for many messages that are written at the same time, a feature of each after the other.
//!
//! A short copy of unknown length costs more than a longer one of known length: so a piece is written
//! whole, and what of it is too much is overwritten by the next one, as long as there is room for it
//! before something that is there already.
#![allow(
    unsafe_code,
    reason = "memory that is to be filled need not be cleared before; each use says why it is sound"
)]
#![allow(
    clippy::inline_always,
    reason = "a call for each value would cost more than what it does"
)]

use std::io;
use std::marker::PhantomData;
use std::ops::Range;

use super::cpu::{Any, Cpu};
use crate::error::{Error, Result};
use crate::example::encode::field::{Envelope, FIRST, field_len};
use crate::example::wire::varint_len;

/// Where a message lies after the end of a buffer.
struct RowPlace {
    start: usize,
    features: Range<usize>,
    end: usize,
}

impl RowPlace {
    fn after(start: usize, length: usize, envelope: &Envelope) -> Option<Self> {
        let tag = match length {
            0 => 0,
            length => field_len(length).checked_sub(length)?,
        };
        let features = start.checked_add(envelope.before)?.checked_add(tag)?;
        let after = features.checked_add(length)?;
        Some(Self {
            start,
            features: features..after,
            end: after.checked_add(envelope.after)?,
        })
    }
}

/// Appends messages whose features have these lengths, each in its envelope: `put` puts the features
/// into their slots. In place of the lengths come the ends of the envelopes. About `hoped` bytes, these
/// included, are still to come.
///
/// # Errors
/// If there is no memory, or the features do not have these lengths.
pub fn append(
    out: &mut Vec<u8>,
    features: &mut [usize],
    envelope: &Envelope,
    hoped: impl FnOnce(usize) -> usize,
    put: impl FnOnce(&mut [Slot<'_>]) -> Option<()>,
) -> Result<()> {
    let mut places = Vec::with_capacity(features.len());
    let mut length = 0;
    for &of_one in &*features {
        let place = RowPlace::after(length, of_one, envelope).ok_or_else(too_long)?;
        length = place.end;
        places.push(place);
    }
    reserve(out, length, hoped(length))?;
    let old = out.len();
    let spare = out.spare_capacity_mut().get_mut(..length);
    let memory = spare.ok_or_else(changed)?.as_mut_ptr().cast();
    // SAFETY: that many bytes can be written, and the places follow each other up to there.
    unsafe { fill(memory, &places, envelope, put) }.ok_or_else(changed)?;
    // SAFETY: they are initialized now.
    unsafe { out.set_len(old + length) };
    for (end, place) in features.iter_mut().zip(places) {
        *end = old + place.end;
    }
    Ok(())
}

/// Makes room for `needed` bytes after those in `out`, and if there is none, for `hoped`.
fn reserve(out: &mut Vec<u8>, needed: usize, hoped: usize) -> Result<()> {
    if out.capacity() - out.len() >= needed {
        return Ok(());
    }
    // At least half as much again, so that growing does not cost more than filling.
    let wanted = needed.max(hoped).max(out.len() / 2);
    let reserved = out
        .try_reserve_exact(wanted)
        .or_else(|_| out.try_reserve_exact(needed));
    reserved.map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory).into())
}

fn too_long() -> Error {
    Error::spec("the records would be longer than any memory")
}

/// What alone can be wrong where the lengths do not fit the values.
fn changed() -> Error {
    Error::state("the columns were changed while they were encoded")
}

/// Initializes all of `memory`, or fails.
///
/// # Safety
/// The places follow each other without a gap from the beginning of the memory, and all can be written.
unsafe fn fill(
    memory: *mut u8,
    places: &[RowPlace],
    envelope: &Envelope,
    put: impl FnOnce(&mut [Slot<'_>]) -> Option<()>,
) -> Option<()> {
    let slot = |range: Range<usize>| Slot {
        // SAFETY: both are in the memory, or at its end.
        at: unsafe { memory.add(range.start) },
        // SAFETY: as above.
        limit: unsafe { memory.add(range.end) },
        memory: PhantomData,
    };
    // What is between a message's features and the next one's comes later, and may be overwritten.
    let nexts = places.iter().skip(1).map(|next| next.features.start);
    let limits = nexts.chain(places.last().map(|last| last.end));
    let starts = places.iter().map(|place| place.features.start);
    let mut slots: Vec<_> = starts
        .zip(limits)
        .map(|(from, to)| slot(from..to))
        .collect();
    put(&mut slots)?;
    for (place, filled) in places.iter().zip(slots) {
        // From where it began to where it is, a slot is initialized.
        if filled.at.addr() != memory.addr() + place.features.end {
            return None;
        }
        let length = place.features.len();
        slot(place.start..place.features.start).put_preamble(envelope.before, length)?;
        slot(place.features.end..place.end).put_zeros(envelope.after)?;
        // SAFETY: the three parts of the message were filled just now, and nothing refers to them.
        let message = unsafe {
            std::slice::from_raw_parts_mut(memory.add(place.start), place.end - place.start)
        };
        (envelope.seal)(message);
    }
    Some(())
}

/// The place of one message's features.
///
/// Invariants: from where the slot began up to `at` everything is initialized; `at` is not after
/// `limit`; and up to there everything can be written.
pub struct Slot<'a> {
    at: *mut u8,
    limit: *mut u8,
    memory: PhantomData<&'a mut [u8]>,
}

/// How many bytes a [`Chunk`] has at most.
pub const CHUNK: usize = 16;

/// Bytes that stand before values, some of which grow with the values.
///
/// Invariant: not more than [`CHUNK`] are used.
#[derive(Clone, Copy, Default)]
pub struct Chunk {
    fixed: [u8; CHUNK],
    /// All ones in the bytes that grow.
    grows: [u8; CHUNK],
    used: usize,
}

impl Chunk {
    /// The first of these bytes; each with whether it grows.
    pub fn new(bytes: &[(u8, bool)]) -> Self {
        let mut chunk = Self::default();
        let places = chunk.fixed.iter_mut().zip(&mut chunk.grows);
        for ((fixed, grows), (byte, does_grow)) in places.zip(bytes) {
            *fixed = *byte;
            *grows = if *does_grow { !0 } else { 0 };
            chunk.used += 1;
        }
        chunk
    }

    #[inline(always)]
    fn grown(&self, by: u8) -> [u8; CHUNK] {
        let mut bytes = self.fixed;
        for (byte, grows) in bytes.iter_mut().zip(&self.grows) {
            *byte = byte.wrapping_add(grows & by);
        }
        bytes
    }
}

impl Slot<'_> {
    #[inline(always)]
    fn left(&self) -> usize {
        self.limit.addr() - self.at.addr()
    }

    /// Adds all of these bytes.
    #[inline]
    pub fn put_all(&mut self, bytes: &[u8]) -> Option<()> {
        if self.left() < bytes.len() {
            return None;
        }
        // SAFETY: there is room for them before the limit; and what nobody can read yet, they are not.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at, bytes.len()) };
        // SAFETY: as above.
        self.at = unsafe { self.at.add(bytes.len()) };
        Some(())
    }

    /// Adds the first `used` of these bytes.
    #[inline(always)]
    pub fn put_wide(&mut self, bytes: &[u8; 64], used: usize) -> Option<()> {
        if self.left() < bytes.len() {
            return self.put_all(bytes.get(..used)?);
        }
        // SAFETY: there is room for all of them before the limit.
        unsafe { self.at.cast::<[u8; 64]>().write_unaligned(*bytes) };
        // SAFETY: as above.
        self.at = unsafe { self.at.add(used.min(bytes.len())) };
        Some(())
    }

    /// Adds numbers as they lie in a message.
    #[inline]
    pub fn put_floats(&mut self, values: &[f32]) -> Option<()> {
        if cfg!(target_endian = "big") {
            let mut values = values.iter();
            return values.try_for_each(|value| self.put_all(&value.to_le_bytes()));
        }
        // SAFETY: any number is four bytes, which can be read as such.
        let bytes =
            unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) };
        self.put_all(bytes)
    }

    /// Adds a varint.
    #[inline(always)]
    pub fn put_varint_by(&mut self, cpu: impl Cpu, value: u64) -> Option<()> {
        let length = varint_len(value);
        if length > 8 || self.left() < 8 {
            return self.put_any_varint(value);
        }
        // SAFETY: there is room for eight bytes before the limit.
        unsafe {
            let varint = varint_of(cpu, value, length);
            self.at.cast::<u64>().write_unaligned(varint);
            self.at = self.at.add(length);
        }
        Some(())
    }

    #[inline(never)]
    fn put_any_varint(&mut self, mut value: u64) -> Option<()> {
        while value >= 0x80 {
            let [low, ..] = value.to_le_bytes();
            self.put_all(&[low | 0x80])?;
            value >>= 7;
        }
        let [last, ..] = value.to_le_bytes();
        self.put_all(&[last])
    }

    /// Adds a field's tag and its length.
    #[inline]
    pub fn put_tag(&mut self, tag: u8, length: usize) -> Option<()> {
        if let [short @ ..0x80, 0, 0, 0, 0, 0, 0, 0] = (length as u64).to_le_bytes() {
            return self.put_all(&[tag, short]);
        }
        self.put_all(&[tag])?;
        self.put_varint_by(Any, length as u64)
    }

    /// Adds the bytes of a chunk that has grown by this.
    #[inline(always)]
    pub fn put_chunk(&mut self, chunk: &Chunk, by: u8) -> Option<()> {
        if self.left() < CHUNK {
            return self.put_part(chunk, by);
        }
        // SAFETY: there is room for all of it before the limit, and not more of it is used.
        unsafe {
            self.at
                .cast::<[u8; CHUNK]>()
                .write_unaligned(chunk.grown(by));
            self.at = self.at.add(chunk.used);
        }
        Some(())
    }

    #[cold]
    fn put_part(&mut self, chunk: &Chunk, by: u8) -> Option<()> {
        self.put_all(chunk.grown(by).get(..chunk.used)?)
    }

    /// Adds a chunk and a varint of this length, with one look at the limit.
    #[inline(always)]
    pub fn put_with_varint(
        &mut self,
        cpu: impl Cpu,
        (chunk, by): (&Chunk, u8),
        value: u64,
        length: usize,
    ) -> Option<()> {
        if length > 8 || self.left() < CHUNK + size_of::<u64>() {
            return self.put_and_varint(chunk, by, value);
        }
        // SAFETY: there is room for both before the limit, and not more of them is used.
        unsafe {
            self.at
                .cast::<[u8; CHUNK]>()
                .write_unaligned(chunk.grown(by));
            let after = self.at.add(chunk.used);
            after
                .cast::<u64>()
                .write_unaligned(varint_of(cpu, value, length));
            self.at = after.add(length);
        }
        Some(())
    }

    #[cold]
    fn put_and_varint(&mut self, chunk: &Chunk, by: u8, value: u64) -> Option<()> {
        self.put_part(chunk, by)?;
        self.put_any_varint(value)
    }

    /// Adds a chunk and the `length` bytes from `start` on, with one look at the limit.
    #[inline(always)]
    pub fn put_with_string(
        &mut self,
        (chunk, by): (&Chunk, u8),
        bytes: &[u8],
        start: usize,
        length: usize,
    ) -> Option<()> {
        let string = bytes.get(start..start.wrapping_add(16));
        let Some(string) = string.filter(|_| length <= 16 && self.left() >= CHUNK + 16) else {
            let string = bytes.get(start..)?.get(..length)?;
            return self.put_and_string(chunk, by, string);
        };
        // SAFETY: there is room for both before the limit, and not more of them is used.
        unsafe {
            self.at
                .cast::<[u8; CHUNK]>()
                .write_unaligned(chunk.grown(by));
            let after = self.at.add(chunk.used);
            after.copy_from_nonoverlapping(string.as_ptr(), 16);
            self.at = after.add(length);
        }
        Some(())
    }

    #[inline(never)]
    fn put_and_string(&mut self, chunk: &Chunk, by: u8, string: &[u8]) -> Option<()> {
        self.put_chunk(chunk, by)?;
        self.put_all(string)
    }

    /// Adds what stands before that many bytes of features.
    fn put_preamble(&mut self, before: usize, features: usize) -> Option<()> {
        self.put_zeros(before)?;
        if features == 0 {
            return Some(());
        }
        self.put_tag(FIRST, features)
    }

    fn put_zeros(&mut self, count: usize) -> Option<()> {
        (0..count / 4).try_for_each(|_| self.put_all(&[0; 4]))?;
        (0..count % 4).try_for_each(|_| self.put_all(&[0]))
    }
}

/// A varint of one to eight bytes. Every byte but the last continues.
#[inline(always)]
fn varint_of(cpu: impl Cpu, value: u64, length: usize) -> u64 {
    let more = 0x0080_8080_8080_8080 & ((1 << ((8 * length).wrapping_sub(8) & 63)) - 1);
    (cpu.spread(value) | more).to_le()
}
