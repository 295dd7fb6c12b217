//! Columns → messages, a block of rows after the other: first, column by column, how long each message
//! will be; then, again column by column, the features into all of them.
//!
//! A column at a time, because then all that is known of it stays in registers; a block at a time,
//! because then its values are still near when they are looked at again, and so are the messages.

use std::ops::Range;

use arrow_buffer::NullBuffer;

use super::cpu::Processor;
use crate::error::Result;
use crate::example::encode::batch::header::{BLOCK, Form, Head};
use crate::example::encode::batch::kernels::{measure, put};
use crate::example::encode::batch::slots::{self, Slot};
use crate::example::encode::batch::values::{Content, Floats, Int, Ints, Text, Texts};
use crate::example::encode::columns::{Column, Rows, Values};
use crate::example::encode::field::{Encoded, Envelope, PULSE_BYTES};
use crate::example::encode::strings::{Joined, Strings};
use crate::example::spec::Kind;
use crate::runtime::interrupt::Pulse;

/// How many the first one has, by which the others go.
const FIRST_BLOCK: usize = 64;

/// About how many bytes of messages it has, if they are not larger each.
const BLOCK_BYTES: usize = 256 << 10;

/// Appends the messages of that many rows to `out`, each in its envelope.
pub fn encode(
    columns: &[Column<'_>],
    rows: usize,
    envelope: &Envelope,
    processor: Processor,
    out: &mut Encoded,
) -> Result<()> {
    let mut parts: Vec<Part<'_>> = columns.iter().filter_map(Part::of).collect();
    let (bytes, ends) = out;
    let (old, old_ends) = (bytes.len(), ends.len());
    let outcome = encode_parts(&mut parts, rows, envelope, processor, (bytes, ends));
    if outcome.is_err() {
        bytes.truncate(old);
        ends.truncate(old_ends);
    }
    outcome
}

fn encode_parts(
    parts: &mut [Part<'_>],
    rows: usize,
    envelope: &Envelope,
    processor: Processor,
    (bytes, ends): (&mut Vec<u8>, &mut Vec<usize>),
) -> Result<()> {
    ends.reserve(rows);
    let mut pulse = Pulse::start();
    let (mut first, mut asked_at, mut count) = (0, bytes.len(), FIRST_BLOCK);
    while first < rows {
        if bytes.len() - asked_at > PULSE_BYTES {
            asked_at = bytes.len();
            pulse.check()?;
        }
        let block = first..rows.min(first + count);
        let start = bytes.len();
        let begun = ends.len();
        ends.resize(begun + block.len(), 0);
        let lengths = ends.get_mut(begun..).unwrap_or_default();
        for part in &mut *parts {
            part.measure(processor, block.clone(), lengths);
        }
        let hoped = |length| hoped(parts, length, &block, rows, envelope);
        slots::append(bytes, lengths, envelope, hoped, |slots| {
            let mut parts = parts.iter();
            parts.try_for_each(|part| part.put(processor, block.clone(), slots))
        })?;
        first = block.end;
        let each = (bytes.len() - start) / block.len();
        count = (BLOCK_BYTES / each.max(1)).clamp(1, BLOCK);
    }
    Ok(())
}

/// How many bytes are still to come where those of a block are that many: about as many in the other rows,
/// but not more than the columns have values for.
fn hoped(
    parts: &[Part<'_>],
    length: usize,
    block: &Range<usize>,
    rows: usize,
    envelope: &Envelope,
) -> usize {
    let left = rows - block.start;
    let alike = length.div_ceil(block.len()).saturating_mul(left);
    let around = envelope.before + envelope.after + LONGEST_TAG;
    let most = parts.iter().map(|part| part.most(left));
    let most = most.fold(left.saturating_mul(around), usize::saturating_add);
    alike.saturating_add(alike / 8).min(most)
}

/// The most bytes of a tag and a length.
const LONGEST_TAG: usize = 11;

/// A column that some row has values of.
struct Part<'a> {
    head: Head<'a>,
    nulls: Option<&'a NullBuffer>,
    source: ValueSource<'a>,
}

enum ValueSource<'a> {
    Int(Int<'a>),
    Small(Joined<'a, i32>),
    Large(Joined<'a, i64>),
    Text(Text<'a>),
    Floats(Floats<'a>),
    Ints(Ints<'a>),
    Texts(Texts<'a>),
}

impl<'a> Part<'a> {
    /// What is to be written of a column, if anything is.
    fn of(column: &'a Column<'a>) -> Option<Self> {
        let (kind, form, source) = match (&column.values, &column.rows) {
            (Values::Missing, _) => return None,
            (Values::Int64(values), Rows::Each(1)) => {
                (Kind::Int64, Form::Packed, ValueSource::Int(Int(values)))
            }
            (Values::Int64(values), rows) => {
                let ints = Ints::new(rows, values);
                (Kind::Int64, Form::Packed, ValueSource::Ints(ints))
            }
            (Values::Float32(values), rows) => {
                let floats = Floats { rows, values };
                (Kind::Float32, Form::Packed, ValueSource::Floats(floats))
            }
            (Values::Bytes(strings), Rows::Each(1)) => {
                (Kind::Bytes, Form::One, ValueSource::of_strings(strings))
            }
            (Values::Bytes(strings), rows) => {
                let texts = Texts::new(rows, strings);
                (Kind::Bytes, Form::Many, ValueSource::Texts(texts))
            }
        };
        Some(Self {
            head: Head::new(column.name(), kind, form),
            nulls: column.nulls.as_ref().filter(|nulls| nulls.null_count() > 0),
            source,
        })
    }

    /// Adds the lengths of the feature in these rows to `totals`.
    fn measure(&mut self, processor: Processor, rows: Range<usize>, totals: &mut [usize]) {
        let feature = (&self.head, self.nulls);
        match &mut self.source {
            ValueSource::Int(content) => measure(processor, feature, content, rows, totals),
            ValueSource::Small(content) => measure(processor, feature, content, rows, totals),
            ValueSource::Large(content) => measure(processor, feature, content, rows, totals),
            ValueSource::Text(content) => measure(processor, feature, content, rows, totals),
            ValueSource::Floats(content) => measure(processor, feature, content, rows, totals),
            ValueSource::Ints(content) => measure(processor, feature, content, rows, totals),
            ValueSource::Texts(content) => measure(processor, feature, content, rows, totals),
        }
    }

    /// Adds the feature in these rows to their slots.
    fn put(&self, processor: Processor, rows: Range<usize>, slots: &mut [Slot<'_>]) -> Option<()> {
        let feature = (&self.head, self.nulls);
        match &self.source {
            ValueSource::Int(content) => put(processor, feature, content, rows, slots),
            ValueSource::Small(content) => put(processor, feature, content, rows, slots),
            ValueSource::Large(content) => put(processor, feature, content, rows, slots),
            ValueSource::Text(content) => put(processor, feature, content, rows, slots),
            ValueSource::Floats(content) => put(processor, feature, content, rows, slots),
            ValueSource::Ints(content) => put(processor, feature, content, rows, slots),
            ValueSource::Texts(content) => put(processor, feature, content, rows, slots),
        }
    }

    /// How many bytes the feature can take in that many rows.
    fn most(&self, rows: usize) -> usize {
        let values = match &self.source {
            ValueSource::Int(content) => content.most(rows),
            ValueSource::Small(content) => content.most(rows),
            ValueSource::Large(content) => content.most(rows),
            ValueSource::Text(content) => content.most(rows),
            ValueSource::Floats(content) => content.most(rows),
            ValueSource::Ints(content) => content.most(rows),
            ValueSource::Texts(content) => content.most(rows),
        };
        values.saturating_add(rows.saturating_mul(self.head.most()))
    }
}

impl<'a> ValueSource<'a> {
    fn of_strings(strings: &'a Strings<'a>) -> Self {
        match strings {
            Strings::Small(joined) => Self::Small(*joined),
            Strings::Large(joined) => Self::Large(*joined),
            Strings::Each(all) => Self::Text(Text(all)),
        }
    }
}
