//! The values of one feature in every row: how many bytes they take, and the bytes.
#![allow(
    clippy::inline_always,
    reason = "a call for each value would cost more than what it does"
)]

use std::ops::Range;

use arrow_array::OffsetSizeTrait;

use super::cpu::Cpu;
use super::put_varints::put_varints;
use crate::example::encode::batch::slots::{Chunk, Slot};
use crate::example::encode::columns::Rows;
use crate::example::encode::field::{FIRST, field_len};
use crate::example::encode::strings::{Joined, Strings};
use crate::example::wire::varint_len;

/// The values of one feature. Rows that are not there have values, and nobody uses them.
pub trait Content {
    /// The values in a row.
    type Row;

    /// Looks at the rows that will be asked for next.
    #[inline(always)]
    fn prepare(&mut self, _: impl Cpu, _: Range<usize>) {}

    /// The values in these rows, and how many bytes they take; too few if some cannot be.
    fn rows(&self, rows: Range<usize>) -> impl Iterator<Item = (Self::Row, usize)>;

    /// Adds values that take `size` bytes.
    fn put(&self, cpu: impl Cpu, values: Self::Row, size: usize, slot: &mut Slot<'_>)
    -> Option<()>;

    /// Adds a head, and values that take `size` bytes.
    #[inline(always)]
    fn put_with(
        &self,
        cpu: impl Cpu,
        head: (&Chunk, u8),
        values: Self::Row,
        size: usize,
        slot: &mut Slot<'_>,
    ) -> Option<()> {
        slot.put_chunk(head.0, head.1)?;
        self.put(cpu, values, size, slot)
    }

    /// How many bytes that many rows can take at most, if nothing is taken twice.
    fn most(&self, rows: usize) -> usize;
}

/// The most bytes of a varint.
const LONGEST: usize = 10;

/// An integer a row.
pub struct Int<'a>(pub &'a [i64]);

impl Content for Int<'_> {
    type Row = u64;

    #[inline(always)]
    fn rows(&self, rows: Range<usize>) -> impl Iterator<Item = (u64, usize)> {
        let values = self.0.get(rows).unwrap_or_default().iter();
        values.map(|value| (value.cast_unsigned(), varint_len(value.cast_unsigned())))
    }

    #[inline(always)]
    fn put(&self, cpu: impl Cpu, value: u64, _: usize, slot: &mut Slot<'_>) -> Option<()> {
        slot.put_varint_by(cpu, value)
    }

    #[inline(always)]
    fn put_with(
        &self,
        cpu: impl Cpu,
        head: (&Chunk, u8),
        value: u64,
        size: usize,
        slot: &mut Slot<'_>,
    ) -> Option<()> {
        slot.put_with_varint(cpu, head, value, size)
    }

    fn most(&self, rows: usize) -> usize {
        rows.saturating_mul(LONGEST)
    }
}

/// A byte string a row.
impl<O: OffsetSizeTrait> Content for Joined<'_, O> {
    /// Where it begins.
    type Row = usize;

    #[inline(always)]
    fn rows(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let after = rows.start.saturating_add(1)..=rows.end;
        let starts = self.offsets.get(rows).unwrap_or_default().iter();
        let ends = self.offsets.get(after).unwrap_or_default();
        starts.zip(ends).map(|(start, end)| {
            let (start, end) = (start.as_usize(), end.as_usize());
            (start, end.wrapping_sub(start))
        })
    }

    #[inline(always)]
    fn put(&self, _: impl Cpu, start: usize, length: usize, slot: &mut Slot<'_>) -> Option<()> {
        slot.put_all(self.bytes.get(start..)?.get(..length)?)
    }

    #[inline(always)]
    fn put_with(
        &self,
        _: impl Cpu,
        head: (&Chunk, u8),
        start: usize,
        length: usize,
        slot: &mut Slot<'_>,
    ) -> Option<()> {
        slot.put_with_string(head, self.bytes, start, length)
    }

    fn most(&self, _: usize) -> usize {
        self.bytes.len()
    }
}

/// A byte string a row, wherever it is.
pub struct Text<'a>(pub &'a [&'a [u8]]);

impl<'a> Content for Text<'a> {
    type Row = &'a [u8];

    #[inline(always)]
    fn rows(&self, rows: Range<usize>) -> impl Iterator<Item = (&'a [u8], usize)> {
        let strings = self.0.get(rows).unwrap_or_default().iter();
        strings.map(|string| (*string, string.len()))
    }

    #[inline(always)]
    fn put(&self, _: impl Cpu, string: &'a [u8], _: usize, slot: &mut Slot<'_>) -> Option<()> {
        slot.put_all(string)
    }

    fn most(&self, _: usize) -> usize {
        self.0.iter().map(|string| string.len()).sum()
    }
}

/// Any number of floats a row.
pub struct Floats<'a> {
    pub rows: &'a Rows,
    pub values: &'a [f32],
}

impl<'a> Content for Floats<'a> {
    type Row = &'a [f32];

    #[inline(always)]
    fn rows(&self, rows: Range<usize>) -> impl Iterator<Item = (&'a [f32], usize)> {
        rows.map_while(|row| {
            let values = self.values.get(self.rows.range(row)?)?;
            Some((values, size_of_val(values)))
        })
    }

    #[inline(always)]
    fn put(&self, _: impl Cpu, values: &'a [f32], _: usize, slot: &mut Slot<'_>) -> Option<()> {
        slot.put_floats(values)
    }

    fn most(&self, _: usize) -> usize {
        size_of_val(self.values)
    }
}

/// The sizes of some rows' values, which are worth keeping.
#[derive(Default)]
struct Sizes {
    first: usize,
    sizes: Vec<usize>,
}

impl Sizes {
    #[inline(always)]
    fn set(&mut self, rows: Range<usize>, size: impl Fn(usize) -> usize) {
        self.first = rows.start;
        self.sizes.clear();
        self.sizes.extend(rows.map(size));
    }

    #[inline(always)]
    fn get(&self, row: usize) -> Option<usize> {
        self.sizes.get(row.checked_sub(self.first)?).copied()
    }
}

/// Any number of integers a row.
pub struct Ints<'a> {
    rows: &'a Rows,
    values: &'a [i64],
    sizes: Sizes,
}

impl<'a> Ints<'a> {
    pub fn new(rows: &'a Rows, values: &'a [i64]) -> Self {
        Self {
            rows,
            values,
            sizes: Sizes::default(),
        }
    }
}

impl<'a> Content for Ints<'a> {
    type Row = &'a [i64];

    #[inline(always)]
    fn prepare(&mut self, cpu: impl Cpu, rows: Range<usize>) {
        let values = |row| self.values.get(self.rows.range(row)?);
        self.sizes
            .set(rows, |row| cpu.varints_len(values(row).unwrap_or_default()));
    }

    #[inline(always)]
    fn rows(&self, rows: Range<usize>) -> impl Iterator<Item = (&'a [i64], usize)> {
        rows.map_while(|row| {
            Some((
                self.values.get(self.rows.range(row)?)?,
                self.sizes.get(row)?,
            ))
        })
    }

    #[inline(always)]
    fn put(&self, cpu: impl Cpu, values: &'a [i64], _: usize, slot: &mut Slot<'_>) -> Option<()> {
        put_varints(cpu, values, slot)
    }

    fn most(&self, _: usize) -> usize {
        self.values.len().saturating_mul(LONGEST)
    }
}

/// Any number of byte strings a row, each with its tag and length.
pub struct Texts<'a> {
    rows: &'a Rows,
    values: &'a Strings<'a>,
    sizes: Sizes,
}

impl<'a> Texts<'a> {
    pub fn new(rows: &'a Rows, values: &'a Strings<'a>) -> Self {
        Self {
            rows,
            values,
            sizes: Sizes::default(),
        }
    }
}

impl Content for Texts<'_> {
    type Row = Range<usize>;

    #[inline(always)]
    fn prepare(&mut self, _: impl Cpu, rows: Range<usize>) {
        let length = |index| self.values.get(index).unwrap_or_default().len();
        self.sizes.set(rows, |row| {
            let places = self.rows.range(row).unwrap_or_default();
            places.map(|index| field_len(length(index))).sum()
        });
    }

    #[inline(always)]
    fn rows(&self, rows: Range<usize>) -> impl Iterator<Item = (Range<usize>, usize)> {
        rows.map_while(|row| Some((self.rows.range(row)?, self.sizes.get(row)?)))
    }

    #[inline(always)]
    fn put(
        &self,
        _: impl Cpu,
        mut places: Range<usize>,
        _: usize,
        slot: &mut Slot<'_>,
    ) -> Option<()> {
        places.try_for_each(|index| {
            let string = self.values.get(index)?;
            slot.put_tag(FIRST, string.len())?;
            slot.put_all(string)
        })
    }

    fn most(&self, _: usize) -> usize {
        let strings = self.values.len().saturating_mul(1 + LONGEST);
        strings.saturating_add(self.values.bytes())
    }
}
