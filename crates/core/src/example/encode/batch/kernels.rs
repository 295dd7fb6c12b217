//! The loops over the rows of a block, compiled for the processors that there are.
#![allow(
    clippy::inline_always,
    reason = "what is compiled for a processor is what is inlined into a function for it"
)]
#![allow(
    unsafe_code,
    reason = "a function that uses certain instructions is called where they are known to be there"
)]

use std::ops::Range;

use arrow_buffer::NullBuffer;

#[cfg(target_arch = "x86_64")]
use super::cpu::X86;
use super::cpu::{Any, Cpu, Processor};
use crate::example::encode::batch::header::Head;
use crate::example::encode::batch::slots::Slot;
use crate::example::encode::batch::values::Content;

/// A feature's head, and which rows do not have the feature.
pub type Feature<'a> = (&'a Head<'a>, Option<&'a NullBuffer>);

/// Adds the lengths of a feature in these rows, head included, to `totals`.
pub fn measure(
    processor: Processor,
    feature: Feature<'_>,
    content: &mut impl Content,
    rows: Range<usize>,
    totals: &mut [usize],
) {
    match processor {
        Processor::Any => measure_by(Any, feature, content, rows, totals),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this processor has the instructions.
        Processor::X86(cpu) => unsafe { measure_by_x86(cpu, feature, content, rows, totals) },
    }
}

/// Adds a feature in these rows to their slots.
pub fn put(
    processor: Processor,
    feature: Feature<'_>,
    content: &impl Content,
    rows: Range<usize>,
    slots: &mut [Slot<'_>],
) -> Option<()> {
    match processor {
        Processor::Any => put_by(Any, feature, content, rows, slots),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this processor has the instructions.
        Processor::X86(cpu) => unsafe { put_by_x86(cpu, feature, content, rows, slots) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn measure_by_x86(
    cpu: X86,
    feature: Feature<'_>,
    content: &mut impl Content,
    rows: Range<usize>,
    totals: &mut [usize],
) {
    measure_by(cpu, feature, content, rows, totals);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn put_by_x86(
    cpu: X86,
    feature: Feature<'_>,
    content: &impl Content,
    rows: Range<usize>,
    slots: &mut [Slot<'_>],
) -> Option<()> {
    put_by(cpu, feature, content, rows, slots)
}

#[inline(always)]
fn measure_by(
    cpu: impl Cpu,
    (head, nulls): Feature<'_>,
    content: &mut impl Content,
    rows: Range<usize>,
    totals: &mut [usize],
) {
    content.prepare(cpu, rows.clone());
    let sizes = content.rows(rows.clone()).map(|(_, size)| size);
    let Some(nulls) = nulls else {
        return head.add_totals(sizes, totals);
    };
    for ((row, total), size) in rows.zip(totals).zip(sizes) {
        if has(nulls, row) {
            *total = total.saturating_add(head.total(size));
        }
    }
}

#[inline(always)]
fn put_by(
    cpu: impl Cpu,
    (head, nulls): Feature<'_>,
    content: &impl Content,
    rows: Range<usize>,
    slots: &mut [Slot<'_>],
) -> Option<()> {
    let values = content.rows(rows.clone());
    let Some(nulls) = nulls else {
        let mut slots = slots.iter_mut().zip(values);
        return slots.try_for_each(|(slot, (values, size))| {
            put_one(cpu, head, content, values, size, slot)
        });
    };
    for ((slot, (values, size)), row) in slots.iter_mut().zip(values).zip(rows) {
        if has(nulls, row) {
            put_one(cpu, head, content, values, size, slot)?;
        }
    }
    Some(())
}

#[inline(always)]
fn put_one<C: Content>(
    cpu: impl Cpu,
    head: &Head<'_>,
    content: &C,
    values: C::Row,
    size: usize,
    slot: &mut Slot<'_>,
) -> Option<()> {
    if head.is_short(size) {
        let last = head.put_lead(size, slot)?;
        return content.put_with(cpu, last, values, size, slot);
    }
    head.put_any(size, slot)?;
    content.put(cpu, values, size, slot)
}

#[inline(always)]
fn has(nulls: &NullBuffer, row: usize) -> bool {
    row < nulls.len() && nulls.is_valid(row)
}
