//! The header of a feature: what stands before its values in a map of features.
//!
//! ```text
//!   0a 0e   0a 03 61 67 65   12 07   1a 05   0a 03   07 ac 02
//!   entry   key: "age"       feature list    content values [7, 300]
//!      ^                        ^       ^       ^
//!      0b + 3                   04 + 3  02 + 3  00 + 3
//! ```
//!
//! Four of these bytes are lengths. As long as each fits into one byte, all of them grow with the values, byte for byte.
//! So for almost every feature the header is a constant plus the number of bytes of the values in four places: one
//! addition of vectors. Where a length takes two bytes, the header is written field by field.
//!
//! If you change this: the bytes must stay those of protobuf's own writer with sorted keys
//! (`tests/parsing/test_golden.py`), and a header may write up to a whole chunk beyond its end (`slots.rs` keeps room).
#![allow(
    clippy::inline_always,
    reason = "a call for each value would cost more than what it does"
)]

use crate::example::encode::batch::slots::{CHUNK, Chunk, Slot};
use crate::example::encode::field::{FIRST, SECOND, field_len};
use crate::example::spec::Kind;

/// How many rows a block has at most.
pub const BLOCK: usize = 512;

/// How the values are packed in their list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Numbers: one field, or none where there are no values.
    Packed,
    /// One byte string.
    One,
    /// Any number of byte strings, each with its own tag and length.
    Many,
}

/// The head of a feature: what of it is always the same.
pub struct Head<'a> {
    name: &'a [u8],
    kind: Kind,
    form: Form,
    /// What stands before the last piece, in whole ones.
    lead: Vec<Chunk>,
    last: Chunk,
    length: usize,
    /// The sizes of values with which every length fits into a byte: that many from the least on.
    least: usize,
    short: usize,
}

impl<'a> Head<'a> {
    /// The head of features of this name.
    pub fn new(name: &'a [u8], kind: Kind, form: Form) -> Self {
        let mut head = Self {
            name,
            kind,
            form,
            lead: Vec::new(),
            last: Chunk::default(),
            length: 0,
            least: usize::from(form == Form::Packed),
            short: 0,
        };
        // Of no values in one field: the lengths from the innermost to the outermost.
        let list = if form == Form::Many { 0 } else { 2 };
        let entry = 2 + name.len() + 2 + 2 + list;
        if let Ok(entry_byte @ ..0x80) = u8::try_from(entry) {
            head.short = 0x80 - entry - head.least;
            head.draw(entry_byte, list == 2);
        }
        head
    }

    fn draw(&mut self, entry: u8, content: bool) {
        let list = if content { 2 } else { 0 };
        let name_length = u8::try_from(self.name.len()).unwrap_or_default();
        let mut bytes = vec![
            (FIRST, false),
            (entry, true),
            (FIRST, false),
            (name_length, false),
        ];
        bytes.extend(self.name.iter().map(|&byte| (byte, false)));
        bytes.extend([(SECOND, false), (list + 2, true)]);
        bytes.extend([(self.kind.tag(), false), (list, true)]);
        if content {
            bytes.extend([(FIRST, false), (0, true)]);
        }
        self.length = bytes.len();
        self.lead = bytes.chunks(CHUNK).map(Chunk::new).collect();
        self.last = self.lead.pop().unwrap_or(self.last);
    }

    /// Whether all lengths around values of `size` bytes fit into a byte each.
    #[inline(always)]
    pub fn is_short(&self, size: usize) -> bool {
        size.wrapping_sub(self.least) < self.short
    }

    /// About the most bytes that it takes.
    pub fn most(&self) -> usize {
        // Six tags, and as many lengths of up to five bytes, or ten where values are that large.
        self.name.len() + 6 * (1 + 5)
    }

    /// The bytes of features around values of these sizes, head included, are added to `totals`.
    #[inline(always)]
    pub fn add_totals(&self, sizes: impl Iterator<Item = usize>, totals: &mut [usize]) {
        let mut all_short = true;
        let mut kept = [0; BLOCK];
        let kept = kept.get_mut(..totals.len()).unwrap_or_default();
        for (kept, size) in kept.iter_mut().zip(sizes) {
            *kept = size;
            all_short &= self.is_short(size);
        }
        if all_short {
            for (total, size) in totals.iter_mut().zip(kept) {
                *total = total.wrapping_add(self.length + *size);
            }
            return;
        }
        for (total, &mut size) in totals.iter_mut().zip(kept) {
            *total = total.saturating_add(self.total(size));
        }
    }

    /// The bytes of a feature around values of this size, head included.
    pub fn total(&self, size: usize) -> usize {
        if self.is_short(size) {
            self.length + size
        } else {
            field_len(self.entry(size))
        }
    }

    fn list(&self, size: usize) -> usize {
        match self.form {
            Form::Packed if size == 0 => 0,
            Form::Packed | Form::One => field_len(size),
            Form::Many => size,
        }
    }

    fn entry(&self, size: usize) -> usize {
        field_len(self.name.len()) + field_len(field_len(self.list(size)))
    }

    /// Adds the head of values of this size, which is short, but for its last chunk and what that grows
    /// by.
    #[inline(always)]
    pub fn put_lead(&self, size: usize, slot: &mut Slot<'_>) -> Option<(&Chunk, u8)> {
        let [by, ..] = size.to_le_bytes();
        for chunk in &self.lead {
            slot.put_chunk(chunk, by)?;
        }
        Some((&self.last, by))
    }

    /// Adds the head of values of any size.
    #[inline(never)]
    pub fn put_any(&self, size: usize, slot: &mut Slot<'_>) -> Option<()> {
        let list = self.list(size);
        slot.put_tag(FIRST, self.entry(size))?;
        slot.put_tag(FIRST, self.name.len())?;
        slot.put_all(self.name)?;
        slot.put_tag(SECOND, field_len(list))?;
        slot.put_tag(self.kind.tag(), list)?;
        if self.form == Form::One || (self.form == Form::Packed && size > 0) {
            return slot.put_tag(FIRST, size);
        }
        Some(())
    }
}
