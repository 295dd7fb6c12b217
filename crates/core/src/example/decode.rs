//! Records → columns.
//!
//! Real files repeat themselves: record after record has the same features in the same order. So
//! the `Directory` remembers which feature stood at each position of the last record, and looks a
//! name up only where the next record differs.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema};

use super::column::{ColumnBuilder, Place};
use super::message::{self, Entry};
use super::spec::{FeatureSpec, ListSpec};
use super::steps::StepsBuilder;
use super::values::Outlook;
use crate::error::{Error, Result};
use crate::interrupt::Pulse;

/// An error, and the place among the records of the one it was found in (none if in the request).
#[derive(Debug)]
pub struct RecordError {
    /// The record's place.
    pub index: Option<usize>,
    /// What is wrong.
    pub error: Error,
}

impl From<ArrowError> for RecordError {
    fn from(error: ArrowError) -> Self {
        Self {
            index: None,
            error: Error::spec(error.to_string()),
        }
    }
}

/// Decodes Examples into columns: those of `spec`, in its order; without a spec one for every name
/// that turns up, in the order of their first appearance, as lists.
///
/// # Errors
/// Bytes that are no Example, features that do not fit the spec, or, without one, that have
/// different kinds in different records.
pub fn decode<'a>(
    records: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    spec: Option<&[FeatureSpec]>,
) -> Result<RecordBatch, RecordError> {
    let size = Outlook::of(records.clone());
    let mut features = features(spec, Place::Example, size);
    for_each_row(records, |record, row| features.decode_row(record, row))?;
    Ok(features.finish(size.rows)?)
}

/// Decodes `SequenceExample`s into the columns of their contexts and those of their feature lists:
/// as [`decode`], but that a feature list is a list of steps.
///
/// # Errors
/// Those of [`decode`].
pub fn decode_sequences<'a>(
    records: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    context: Option<&[FeatureSpec]>,
    lists: Option<&[ListSpec]>,
) -> Result<(RecordBatch, RecordBatch), RecordError> {
    let size = Outlook::of(records.clone());
    let mut context = features(context, Place::Context, size);
    let mut lists = match lists {
        Some(spec) => Decoder::of(
            spec.iter()
                .map(|list| (list.step.name.as_str(), StepsBuilder::new(list, size.rows))),
            size,
        ),
        None => Decoder::inferring(size),
    };
    for_each_row(records, |record, row| {
        context.decode_row(record, row)?;
        lists.decode_row(record, row)
    })?;
    Ok((context.finish(size.rows)?, lists.finish(size.rows)?))
}

fn features(spec: Option<&[FeatureSpec]>, place: Place, size: Outlook) -> Decoder<ColumnBuilder> {
    match spec {
        None => Decoder::inferring(size),
        Some(spec) => Decoder::of(
            spec.iter().map(|feature| {
                let column = ColumnBuilder::new(feature, place, size);
                (feature.name.as_str(), column)
            }),
            size,
        ),
    }
}

/// How many bytes are decoded between two looks at the clock.
const PULSE_BYTES: usize = 1 << 20;

pub(super) fn for_each_row<'a>(
    records: impl Iterator<Item = &'a [u8]>,
    mut decode_row: impl FnMut(&'a [u8], usize) -> Result<()>,
) -> Result<(), RecordError> {
    let (mut pulse, mut unasked) = (Pulse::start(), 0);
    for (index, record) in records.enumerate() {
        unasked += record.len() + 1;
        if unasked > PULSE_BYTES {
            unasked = 0;
            pulse.check().map_err(|error| RecordError {
                index: None,
                error: error.into(),
            })?;
        }
        decode_row(record, index).map_err(|error| RecordError {
            index: Some(index),
            error,
        })?;
    }
    Ok(())
}

/// What is filled from the entries of a map in each record: a column of features, or of feature lists.
trait Column: Sized {
    /// About how many bytes a column and its place in the directory take beside the values.
    const OVERHEAD: usize;

    fn for_each_entry<'a>(
        record: &'a [u8],
        visit: impl FnMut(Entry<'a>) -> Result<()>,
    ) -> Result<()>;
    fn found(name: &str, row: usize) -> Self;
    fn has_row(&self, row: usize) -> bool;
    fn set(&mut self, row: usize, value: &[u8]) -> Result<()>;
    fn fill_row(&mut self, row: usize) -> Result<()>;
    fn finish(self, rows: usize) -> Result<(Field, ArrayRef), ArrowError>;
}

impl Column for ColumnBuilder {
    const OVERHEAD: usize = 640;

    fn for_each_entry<'a>(
        record: &'a [u8],
        visit: impl FnMut(Entry<'a>) -> Result<()>,
    ) -> Result<()> {
        message::for_each_feature(record, visit)
    }

    fn found(name: &str, row: usize) -> Self {
        // Among lists, context and Example are the same.
        Self::found(name, Place::Example, row)
    }

    #[inline]
    fn has_row(&self, row: usize) -> bool {
        self.has_row(row)
    }

    #[inline]
    fn set(&mut self, row: usize, value: &[u8]) -> Result<()> {
        self.set(row, value)
    }

    fn fill_row(&mut self, row: usize) -> Result<()> {
        self.fill_row(row)
    }

    fn finish(self, rows: usize) -> Result<(Field, ArrayRef), ArrowError> {
        self.finish(rows)
    }
}

impl Column for StepsBuilder {
    const OVERHEAD: usize = 960;

    fn for_each_entry<'a>(
        record: &'a [u8],
        visit: impl FnMut(Entry<'a>) -> Result<()>,
    ) -> Result<()> {
        message::for_each_feature_list(record, visit)
    }

    fn found(name: &str, row: usize) -> Self {
        Self::found(name, row)
    }

    #[inline]
    fn has_row(&self, row: usize) -> bool {
        self.has_row(row)
    }

    #[inline]
    fn set(&mut self, row: usize, value: &[u8]) -> Result<()> {
        self.set(row, value)
    }

    fn fill_row(&mut self, row: usize) -> Result<()> {
        self.fill_row(row)
    }

    fn finish(self, _rows: usize) -> Result<(Field, ArrayRef), ArrowError> {
        self.finish()
    }
}

struct Decoder<C> {
    columns: Vec<C>,
    directory: Directory,
    /// How much columns that nobody asked for may take; `None` with a spec.
    limit: Option<Limit>,
    rows: usize,
}

/// How many columns, and cells of all columns, may be inferred. A table has a cell for each of its
/// columns in every row: records that all have different names would otherwise take memory that
/// grows with the square of their number.
struct Limit {
    columns: usize,
    cells: usize,
}

impl Limit {
    /// A few, and as many as the size of the input justifies: a column takes `each` bytes beside its
    /// values, a cell 9.
    fn of(bytes: usize, each: usize) -> Self {
        Self {
            columns: (bytes.saturating_mul(32) / each).saturating_add(1 << 14),
            cells: bytes.saturating_mul(3).max(1 << 21),
        }
    }
}

/// Sets row `row` of the column that the entry belongs to.
#[inline]
fn set_entry(column: &mut impl Column, row: usize, entry: &Entry<'_>) -> Result<()> {
    match entry.value.get() {
        Ok(value) => column.set(row, value),
        Err(error) => Err(Error::from(error).at_feature(entry.name()?)),
    }
}

impl<C: Column> Decoder<C> {
    fn of<'a>(spec: impl Iterator<Item = (&'a str, C)>, size: Outlook) -> Self {
        let mut by_name = HashMap::new();
        let mut columns = Vec::new();
        for (name, column) in spec {
            by_name.insert(name.as_bytes().to_vec(), columns.len());
            columns.push(column);
        }
        Self {
            columns,
            directory: Directory {
                by_name,
                positions: Vec::new(),
            },
            limit: None,
            rows: size.rows,
        }
    }

    fn inferring(size: Outlook) -> Self {
        Self {
            limit: Some(Limit::of(size.bytes, C::OVERHEAD)),
            ..Self::of(std::iter::empty(), size)
        }
    }

    fn decode_row(&mut self, record: &[u8], row: usize) -> Result<()> {
        let mut position = 0;
        let mut written = 0;
        C::for_each_entry(record, |entry| {
            let place = position;
            position += 1;
            let Some(index) = self.directory.find(place, entry.key) else {
                if self.limit.is_some() {
                    let has_row = self.add_column(&entry, place, row)?;
                    written += isize::from(has_row);
                }
                return Ok(());
            };
            if let Some(column) = self.columns.get_mut(index) {
                written -= isize::from(column.has_row(row));
                set_entry(column, row, &entry)?;
                written += isize::from(column.has_row(row));
            }
            Ok(())
        })?;
        if written.unsigned_abs() == self.columns.len() {
            return Ok(());
        }
        self.columns
            .iter_mut()
            .try_for_each(|column| column.fill_row(row))
    }

    /// Adds a column for a name that was not seen before; true if it has this row.
    #[cold]
    fn add_column(&mut self, entry: &Entry<'_>, position: usize, row: usize) -> Result<bool> {
        let index = self.columns.len();
        let cells = (index + 1).saturating_mul(self.rows);
        let limit = self.limit.as_ref();
        if limit.is_some_and(|limit| index >= limit.columns || cells > limit.cells) {
            return Err(Error::content(format!(
                "these {} records have at least {} different features, too many for a table of \
                 all of them: say which to decode",
                self.rows,
                index + 1
            )));
        }
        let mut column = C::found(entry.name()?, row);
        set_entry(&mut column, row, entry)?;
        let has_row = column.has_row(row);
        self.columns.push(column);
        self.directory.add(position, entry.key, index);
        Ok(has_row)
    }

    fn finish(self, rows: usize) -> Result<RecordBatch, ArrowError> {
        let mut fields = Vec::with_capacity(self.columns.len());
        let mut arrays = Vec::with_capacity(self.columns.len());
        for column in self.columns {
            let (field, array) = column.finish(rows)?;
            fields.push(field);
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
    }
}

/// Which column a name belongs to.
struct Directory {
    by_name: HashMap<Vec<u8>, usize>,
    /// The names at each position of the last record, and their columns (none: not asked for).
    positions: Vec<(Vec<u8>, Option<usize>)>,
}

/// Positions beyond this are looked up by name every time.
const MAX_POSITIONS: usize = 1 << 16;

impl Directory {
    #[inline]
    fn find(&mut self, position: usize, key: &[u8]) -> Option<usize> {
        match self.positions.get(position) {
            Some((name, column)) if name == key => *column,
            _ => self.look_up(position, key),
        }
    }

    fn look_up(&mut self, position: usize, key: &[u8]) -> Option<usize> {
        let column = self.by_name.get(key).copied();
        if let Some((name, at)) = self.positions.get_mut(position) {
            name.clear();
            name.extend_from_slice(key);
            *at = column;
        } else if position == self.positions.len() && position < MAX_POSITIONS {
            self.positions.push((key.to_vec(), column));
        }
        column
    }

    fn add(&mut self, position: usize, key: &[u8], column: usize) {
        self.by_name.insert(key.to_vec(), column);
        self.look_up(position, key);
    }
}
