//! Features and columns → records.

use std::collections::HashSet;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Field;

use self::columns::Column;
use self::cpu::Processor;
use self::steps::StepsColumn;
use super::spec::Kind;
use super::wire::{push_varint, varint_len};
use crate::error::{Error, Result, counted};
use crate::interrupt::Pulse;

#[cfg(test)]
mod agreement;
mod columns;
mod content;
mod cpu;
mod head;
mod list;
mod loops;
mod room;
mod rows;
mod steps;
mod strings;

pub use self::list::ListEncoder;

/// The values of one feature.
#[derive(Clone, Copy, Debug)]
pub enum FeatureValues<'a> {
    /// No list at all: a Feature without a kind.
    None,
    /// A `BytesList`.
    Bytes(&'a [&'a [u8]]),
    /// A `FloatList`.
    Float32(&'a [f32]),
    /// An `Int64List`.
    Int64(&'a [i64]),
    /// A list of this kind in the form of the wire: its packed numbers, or its byte strings with their
    /// tags and lengths. A [`ListEncoder`] makes them.
    Encoded(Kind, &'a [u8]),
}

/// Tag of a length-delimited field 1.
const FIRST: u8 = 0x0a;
/// Tag of a length-delimited field 2.
const SECOND: u8 = 0x12;

impl FeatureValues<'_> {
    fn kind(self) -> Option<Kind> {
        match self {
            Self::None => None,
            Self::Bytes(_) => Some(Kind::Bytes),
            Self::Float32(_) => Some(Kind::Float32),
            Self::Int64(_) => Some(Kind::Int64),
            Self::Encoded(kind, _) => Some(kind),
        }
    }

    fn is_packed(self) -> bool {
        matches!(self.kind(), Some(Kind::Float32 | Kind::Int64))
    }

    /// The bytes of the packed values, or of all byte strings with their tags and lengths.
    #[inline]
    fn content_len(self) -> usize {
        match self {
            Self::None => 0,
            Self::Bytes(values) => values.iter().map(|value| field_len(value.len())).sum(),
            Self::Float32(values) => values.len() * 4,
            Self::Int64(values) => values.iter().map(|v| varint_len(v.cast_unsigned())).sum(),
            Self::Encoded(_, content) => content.len(),
        }
    }

    fn list_len(self, content: usize) -> usize {
        if content > 0 && self.is_packed() {
            field_len(content)
        } else {
            content
        }
    }

    fn push_list(self, content: usize, out: &mut Vec<u8>) {
        if content > 0 && self.is_packed() {
            push_header(out, FIRST, content);
        }
        match self {
            Self::None => {}
            Self::Bytes(values) => {
                for value in values {
                    push_field(out, FIRST, value);
                }
            }
            Self::Float32(values) => {
                out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            }
            Self::Int64(values) => {
                for value in values {
                    push_varint(out, value.cast_unsigned());
                }
            }
            Self::Encoded(_, content) => out.extend_from_slice(content),
        }
    }

    fn feature_len(self, content: usize) -> usize {
        self.kind().map_or(0, |_| field_len(self.list_len(content)))
    }

    fn push_feature(self, content: usize, out: &mut Vec<u8>) {
        if let Some(kind) = self.kind() {
            push_header(out, kind.tag(), self.list_len(content));
            self.push_list(content, out);
        }
    }
}

/// A length-delimited field with `length` bytes in it, all told.
fn field_len(length: usize) -> usize {
    1 + varint_len(length as u64) + length
}

fn push_header(out: &mut Vec<u8>, tag: u8, length: usize) {
    out.push(tag);
    push_varint(out, length as u64);
}

fn push_field(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    push_header(out, tag, bytes.len());
    out.extend_from_slice(bytes);
}

/// Room for the header of the features, whose length is known last.
const GAP: usize = 11;

/// Builds one Example, or one `SequenceExample`, feature by feature.
#[derive(Default)]
pub struct ExampleEncoder {
    /// Behind a [`GAP`], if there are any.
    features: Vec<u8>,
    feature_lists: Vec<u8>,
    steps: Vec<u8>,
}

impl ExampleEncoder {
    /// Adds a feature.
    #[inline]
    pub fn feature(&mut self, name: &[u8], values: FeatureValues<'_>) {
        if self.features.is_empty() {
            self.features.resize(GAP, 0);
        }
        push_entry(&mut self.features, name, values);
    }

    /// Adds a step to the feature list that [`Self::feature_list`] will name.
    pub fn step(&mut self, values: FeatureValues<'_>) {
        let content = values.content_len();
        push_header(&mut self.steps, FIRST, values.feature_len(content));
        values.push_feature(content, &mut self.steps);
    }

    /// Adds a feature list of the steps so far, and begins the next one.
    pub fn feature_list(&mut self, name: &[u8]) {
        let entry = field_len(name.len()) + field_len(self.steps.len());
        push_header(&mut self.feature_lists, FIRST, entry);
        push_field(&mut self.feature_lists, FIRST, name);
        push_field(&mut self.feature_lists, SECOND, &self.steps);
        self.steps.clear();
    }

    /// The message, and back to the beginning.
    pub fn finish(&mut self) -> Vec<u8> {
        let length = field_len(self.features().len()) + field_len(self.feature_lists.len());
        let mut message = Vec::with_capacity(length);
        self.finish_into(&mut message);
        message
    }

    /// The message where it lies. What has to come next is [`Self::reset`].
    pub fn finish_here(&mut self) -> &[u8] {
        let start = self.close_gap();
        if !self.feature_lists.is_empty() {
            push_field(&mut self.features, SECOND, &self.feature_lists);
        }
        self.features.get(start..).unwrap_or_default()
    }

    /// Puts the header of the features, if there are any, right before them, and says where it begins.
    fn close_gap(&mut self) -> usize {
        let (length, end) = (self.features().len(), self.features.len());
        if length == 0 {
            return end;
        }
        push_header(&mut self.features, FIRST, length);
        let start = GAP - (self.features.len() - end);
        self.features.copy_within(end.., start);
        self.features.truncate(end);
        start
    }

    fn features(&self) -> &[u8] {
        self.features.get(GAP..).unwrap_or_default()
    }

    /// Back to the beginning, whatever has come; of the memory, `most` bytes are kept at each place.
    pub fn reset(&mut self, most: usize) {
        for buffer in [&mut self.features, &mut self.feature_lists, &mut self.steps] {
            buffer.clear();
            buffer.shrink_to(most);
        }
    }

    /// Appends the message to `out`, and goes back to the beginning.
    fn finish_into(&mut self, out: &mut Vec<u8>) {
        if !self.features().is_empty() {
            push_field(out, FIRST, self.features());
        }
        if !self.feature_lists.is_empty() {
            push_field(out, SECOND, &self.feature_lists);
        }
        self.features.clear();
        self.feature_lists.clear();
    }
}

#[inline]
fn push_entry(out: &mut Vec<u8>, name: &[u8], values: FeatureValues<'_>) {
    let content = values.content_len();
    let feature = values.feature_len(content);
    let entry = field_len(name.len()) + field_len(feature);
    out.reserve(field_len(entry));
    push_header(out, FIRST, entry);
    push_field(out, FIRST, name);
    push_header(out, SECOND, feature);
    values.push_feature(content, out);
}

/// How many bytes are encoded between two looks at the clock.
const PULSE_BYTES: usize = 1 << 20;

/// Messages one behind the other, and where each ends.
pub type Encoded = (Vec<u8>, Vec<usize>);

/// What stands around each message.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    /// Bytes before it.
    pub before: usize,
    /// Bytes behind it.
    pub after: usize,
    /// Is called with each message in its envelope, which is all zeros, and fills that in.
    pub seal: fn(&mut [u8]),
}

impl Envelope {
    /// Nothing around them.
    pub const NONE: Self = Self {
        before: 0,
        after: 0,
        seal: |_| {},
    };
}

/// Encodes every row of `batch` as an Example. A null is a missing feature.
///
/// # Errors
/// Columns of a type that no feature has, nulls inside lists, and numbers out of range, each with
/// the column and the row.
pub fn encode_columns(batch: &RecordBatch) -> Result<Encoded> {
    let mut out = Encoded::default();
    append_columns(batch, &Envelope::NONE, &mut out)?;
    Ok(out)
}

/// Appends every row of `batch` as an Example in an envelope to `out`, which after an error is as it
/// was. The ends are those of the envelopes.
///
/// # Errors
/// As for [`encode_columns`].
pub fn append_columns(batch: &RecordBatch, envelope: &Envelope, out: &mut Encoded) -> Result<()> {
    let columns = columns_of(batch, Column::of)?;
    let processor = Processor::found();
    rows::encode(&columns, batch.num_rows(), envelope, processor, out)
}

/// Encodes every row of `context` and the same row of `lists` as a `SequenceExample`. A column of
/// `lists` has lists of steps; a null is a missing feature or feature list.
///
/// # Errors
/// Those of [`encode_columns`], and tables of different lengths.
pub fn encode_sequence_columns(context: &RecordBatch, lists: &RecordBatch) -> Result<Encoded> {
    let rows = context.num_rows();
    if rows != lists.num_rows() {
        return Err(Error::spec(format!(
            "the context has {}, and the feature lists have {}",
            counted(rows as u64, "row"),
            lists.num_rows()
        )));
    }
    let columns = columns_of(context, Column::of)?;
    let lists = columns_of(lists, StepsColumn::of)?;
    let mut strings = Vec::new();
    encode_rows(rows, |encoder, row| {
        push_features(encoder, &columns, row, &mut strings);
        for list in &lists {
            if list.visit_steps(row, &mut strings, |values| encoder.step(values)) {
                encoder.feature_list(list.name());
            }
        }
    })
}

fn push_features<'a>(
    encoder: &mut ExampleEncoder,
    columns: &[Column<'a>],
    row: usize,
    strings: &mut Vec<&'a [u8]>,
) {
    for column in columns {
        if let Some(values) = column.row(row, strings) {
            encoder.feature(column.name(), values);
        }
    }
}

/// Every column of `batch`, looked into.
fn columns_of<'a, C>(
    batch: &'a RecordBatch,
    look: impl Fn(&'a Field, &'a ArrayRef) -> Result<C>,
) -> Result<Vec<C>> {
    let mut columns = Vec::with_capacity(batch.num_columns());
    let mut names = HashSet::new();
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        if !names.insert(field.name()) {
            let error = Error::spec("two columns have this name; of a record only one would count");
            return Err(error.at_feature(field.name()));
        }
        columns.push(look(field, array)?);
    }
    Ok(columns)
}

fn encode_rows(
    rows: usize,
    mut push_row: impl FnMut(&mut ExampleEncoder, usize),
) -> Result<Encoded> {
    let mut encoder = ExampleEncoder::default();
    let (mut out, mut ends) = (Vec::new(), Vec::with_capacity(rows));
    let (mut pulse, mut asked_at) = (Pulse::start(), 0);
    for row in 0..rows {
        if out.len() - asked_at > PULSE_BYTES {
            asked_at = out.len();
            pulse.check()?;
        }
        push_row(&mut encoder, row);
        encoder.finish_into(&mut out);
        ends.push(out.len());
    }
    Ok((out, ends))
}
