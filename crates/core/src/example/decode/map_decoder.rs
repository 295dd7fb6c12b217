//! The columns of a map while they are filled, record by record.
//!
//! Records go one of two ways. The short one takes some records at a time: it notes first where the values
//! of each column lie in them, and then fills one column after the other. Records with anything unusual
//! about them, and all records of such a group if anything is wrong with a value, go the long way, one by
//! one, which decides what they mean and what is wrong with them. The short way leaves nothing behind that
//! the long one would not.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema};

use super::column::{ColumnBuilder, Place};
use super::strict::Record;
use super::values::Outlook;
use crate::error::{Error, Result};
use crate::example::canonical::{self, Form};
use crate::example::decode::fast_path::value_offsets::{ColumnSlices, ValueOffsets};
use crate::example::decode::feature_list_column::StepsBuilder;
use crate::example::decode::key_predictor::Directory;
use crate::example::message::{self, Entry};
use crate::example::record_error::RecordError;
use crate::example::wire::Wire;

#[cfg(test)]
mod tests;

/// What is filled from the entries of a map in each record: a column of features, or of feature lists.
pub trait Column: Sized {
    /// About how many bytes a column and its place in the directory take beside the values.
    const OVERHEAD: usize;

    /// The field of a record that holds the map.
    const MAP: u32;

    /// A column for a name that turned up in row `row`.
    fn found(name: &str, row: usize) -> Self;
    /// Begins a batch.
    fn begin(&mut self, size: Outlook);
    /// Whether row `row` is written.
    fn has_row(&self, row: usize) -> bool;
    /// Takes the message of row `row`; of several, the last one counts.
    fn set(&mut self, row: usize, value: &[u8], form: Form) -> Result<()>;
    /// Writes the rows from `row` on, from messages of this form.
    fn set_rows(&mut self, row: usize, cells: ColumnSlices<'_>, form: Form) -> Result<()>;
    /// Takes rows back: there are only the first `rows` again.
    fn truncate(&mut self, rows: usize);
    /// Writes row `row`, if its record has not.
    fn fill_row(&mut self, row: usize) -> Result<()>;
    /// Ends the batch, which has that many rows.
    fn finish(&mut self, rows: usize) -> Result<(Field, ArrayRef), ArrowError>;
}

impl Column for ColumnBuilder {
    const OVERHEAD: usize = 720;

    const MAP: u32 = message::FIRST;

    fn found(name: &str, row: usize) -> Self {
        // Among lists, context and Example are the same.
        Self::found(name, Place::Example, row)
    }

    fn begin(&mut self, size: Outlook) {
        self.begin(size);
    }

    #[inline]
    fn has_row(&self, row: usize) -> bool {
        self.has_row(row)
    }

    #[inline]
    fn set(&mut self, row: usize, value: &[u8], form: Form) -> Result<()> {
        self.set(row, value, form)
    }

    fn set_rows(&mut self, row: usize, cells: ColumnSlices<'_>, form: Form) -> Result<()> {
        self.set_rows(row, cells, form)
    }

    fn truncate(&mut self, rows: usize) {
        self.truncate(rows);
    }

    fn fill_row(&mut self, row: usize) -> Result<()> {
        self.fill_row(row)
    }

    fn finish(&mut self, rows: usize) -> Result<(Field, ArrayRef), ArrowError> {
        self.finish(rows)
    }
}

impl Column for StepsBuilder {
    const OVERHEAD: usize = 1040;

    const MAP: u32 = message::SECOND;

    fn found(name: &str, row: usize) -> Self {
        Self::found(name, row)
    }

    fn begin(&mut self, size: Outlook) {
        self.begin(size.rows);
    }

    #[inline]
    fn has_row(&self, row: usize) -> bool {
        self.has_row(row)
    }

    #[inline]
    fn set(&mut self, row: usize, value: &[u8], form: Form) -> Result<()> {
        self.set(row, value, form)
    }

    fn set_rows(&mut self, row: usize, cells: ColumnSlices<'_>, form: Form) -> Result<()> {
        self.set_rows(row, cells, form)
    }

    fn truncate(&mut self, rows: usize) {
        self.truncate(rows);
    }

    fn fill_row(&mut self, row: usize) -> Result<()> {
        self.fill_row(row)
    }

    fn finish(&mut self, _rows: usize) -> Result<(Field, ArrayRef), ArrowError> {
        self.finish()
    }
}

/// What was seen of a record so far.
#[derive(Default)]
struct Seen {
    /// Where in the order the next name is expected.
    place: usize,
    /// How many columns have a row of it.
    rows: isize,
    /// How many entries were for these columns.
    entries: isize,
}

/// Columns that are being filled.
pub struct Decoder<C> {
    columns: Vec<C>,
    directory: Directory,
    places: ValueOffsets,
    /// How many records go the long way before the short one is tried again.
    distrust: usize,
    /// Whether names that turn up get a column.
    is_inferring: bool,
    /// The message as which all of a record is judged, if more than the columns count.
    judged_as: Option<Record>,
    size: Outlook,
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

/// Fewer records at a time cost more than they save.
const WORTHWHILE: usize = 4;

/// The most records that go the long way without being looked at.
const MOST_DISTRUST: usize = 32;

/// Where in a record a part of it begins.
#[inline]
fn offset_in(record: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr() - record.as_ptr().addr()
}

/// Sets row `row` of the column that the entry belongs to.
#[inline]
fn set_entry(column: &mut impl Column, row: usize, entry: &Entry<'_>) -> Result<()> {
    match entry.value.get() {
        Ok(value) => column.set(row, value, Form::Any),
        Err(error) => Err(Error::from(error).at_feature(entry.name()?)),
    }
}

impl<C: Column> Decoder<C> {
    /// Columns of these names; `None`: of all that turn up. Records that are broken elsewhere are refused too, if
    /// they are `judged_as` a message.
    pub fn new(
        columns: Option<impl Iterator<Item = (String, C)>>,
        judged_as: Option<Record>,
    ) -> Self {
        let mut decoder = Self {
            columns: Vec::new(),
            directory: Directory::default(),
            places: ValueOffsets::default(),
            distrust: 1,
            is_inferring: columns.is_none(),
            judged_as,
            size: Outlook::default(),
        };
        for (name, column) in columns.into_iter().flatten() {
            decoder
                .directory
                .add(name.as_bytes(), Some(decoder.columns.len()));
            decoder.columns.push(column);
        }
        decoder
    }

    /// Begins a batch.
    pub fn begin(&mut self, size: Outlook) {
        self.size = size;
        if self.is_inferring {
            self.columns.clear();
            self.directory = Directory::default();
        }
        for column in &mut self.columns {
            column.begin(size);
        }
    }

    /// Takes the entries of `records`, which are the rows of the batch from `row` on.
    ///
    /// # Errors
    /// What is wrong with the bytes, or does not fit a column, and in which of the records.
    pub fn decode_rows(&mut self, records: &[&[u8]], row: usize) -> Result<(), RecordError> {
        let mut done = 0;
        while let Some(rest) = records.get(done..)
            && !rest.is_empty()
        {
            // The first row goes the long way: it makes room for the others.
            let is_first = row + done == 0;
            let short = if is_first { 0 } else { self.gather(rest) };
            let group = rest.get(..short).unwrap_or_default();
            let long = if self.set_columns(group, row + done).is_ok() {
                done += short;
                // After a group that is not full is an unusual record; after a small one there are more.
                self.distrust = match short {
                    0..WORTHWHILE if !is_first => MOST_DISTRUST.min(2 * self.distrust),
                    _ => 1,
                };
                let is_full = short == ValueOffsets::room(self.columns.len());
                if is_full { 0 } else { self.distrust }
            } else {
                for column in &mut self.columns {
                    column.truncate(row + done);
                }
                short
            };
            for record in records.iter().skip(done).take(long) {
                let decoded = self.decode_row(record, row + done);
                decoded.map_err(|error| RecordError::at(done, error))?;
                done += 1;
            }
        }
        Ok(())
    }

    /// Notes where the values of the first of these records lie; of how many, before there is an unusual
    /// one, or no more room.
    fn gather(&mut self, records: &[&[u8]]) -> usize {
        let rows = ValueOffsets::room(self.columns.len()).min(records.len());
        if rows < WORTHWHILE {
            return 0;
        }
        self.places.clear(self.columns.len(), rows);
        let mut usual = 0;
        for record in records.iter().take(rows) {
            if self.note(record, usual).is_none() {
                break;
            }
            usual += 1;
        }
        usual
    }

    /// Notes where the values of a record lie; none if it is unusual.
    fn note(&mut self, record: &[u8], row: usize) -> Option<()> {
        let mut rest =
            canonical::only_map(record, C::MAP).filter(|_| ValueOffsets::can_be_in(record))?;
        let mut place = 0;
        while !rest.is_empty() {
            let at = offset_in(record, rest);
            if let Some(expected) = self.directory.expected(place)
                && let Some((start, end)) = expected.value_in(rest)
            {
                if let Some(column) = expected.column() {
                    self.places.note(column, row, at + start, end - start)?;
                }
                rest = rest.get(end..)?;
                place += 1;
                continue;
            }
            let mut map = Wire(rest);
            let (key, value) = canonical::take_entry(&mut map)?;
            let found = self.directory.find(place, key)?;
            if let Some(column) = found.column {
                let start = offset_in(record, value);
                self.places.note(column, row, start, value.len())?;
            }
            (rest, place) = (map.0, found.next);
        }
        Some(())
    }

    /// Fills every column from the records whose places are noted.
    fn set_columns(&mut self, records: &[&[u8]], row: usize) -> Result<()> {
        // What is unusual goes the long way, where the whole record is judged.
        let form = match self.judged_as {
            Some(_) => Form::Usual,
            None => Form::Any,
        };
        for (index, column) in self.columns.iter_mut().enumerate() {
            column.set_rows(row, self.places.of(index, records), form)?;
        }
        Ok(())
    }

    fn decode_row(&mut self, record: &[u8], row: usize) -> Result<()> {
        let mut seen = Seen::default();
        message::for_each_map(record, C::MAP, |map| self.decode_map(map, row, &mut seen))?;
        if let Some(message) = self.judged_as {
            let has_repeated = seen.entries > seen.rows;
            if has_repeated {
                // A list that a later one replaces may not have been read.
                message.check(record)?;
            } else {
                message.check_around_lists(record)?;
            }
        }
        if seen.rows.unsigned_abs() == self.columns.len() {
            return Ok(());
        }
        self.columns
            .iter_mut()
            .try_for_each(|column| column.fill_row(row))
    }

    fn decode_map(&mut self, mut map: Wire<'_>, row: usize, seen: &mut Seen) -> Result<()> {
        loop {
            if let Some(expected) = self.directory.expected(seen.place)
                && let Some((start, end)) = expected.value_in(map.0)
                && let Some((entry, rest)) = map.0.split_at_checked(end)
            {
                let column = expected.column();
                (map.0, seen.place) = (rest, seen.place + 1);
                let value = entry.get(start..).unwrap_or_default();
                self.set(column, row, seen, |column| {
                    column.set(row, value, Form::Any)
                })?;
                continue;
            }
            let Some(entry) = message::next_entry(&mut map)? else {
                return Ok(());
            };
            if let Some(found) = self.directory.find(seen.place, entry.key) {
                seen.place = found.next;
                self.set(found.column, row, seen, |column| {
                    set_entry(column, row, &entry)
                })?;
            } else {
                self.take_new(&entry, row, seen)?;
            }
        }
    }

    /// Sets row `row` of a column, if there is one.
    fn set(
        &mut self,
        column: Option<usize>,
        row: usize,
        seen: &mut Seen,
        set: impl FnOnce(&mut C) -> Result<()>,
    ) -> Result<()> {
        if let Some(column) = column.and_then(|index| self.columns.get_mut(index)) {
            seen.rows -= isize::from(column.has_row(row));
            set(column)?;
            seen.entries += 1;
            seen.rows += isize::from(column.has_row(row));
        }
        Ok(())
    }

    /// Takes an entry with a name that was not seen before.
    #[cold]
    fn take_new(&mut self, entry: &Entry<'_>, row: usize, seen: &mut Seen) -> Result<()> {
        if self.is_inferring {
            let has_row = self.add_column(entry, row)?;
            seen.entries += 1;
            seen.rows += isize::from(has_row);
        } else {
            self.directory.add_unasked(entry.key);
        }
        let found = self.directory.find(seen.place, entry.key);
        seen.place = found.map_or(seen.place, |found| found.next);
        Ok(())
    }

    /// Adds a column for a name that was not seen before; true if it has this row.
    fn add_column(&mut self, entry: &Entry<'_>, row: usize) -> Result<bool> {
        let index = self.columns.len();
        let cells = (index + 1).saturating_mul(self.size.rows);
        let limit = Limit::of(self.size.bytes, C::OVERHEAD);
        if index >= limit.columns || cells > limit.cells {
            return Err(Error::content(format!(
                "these {} records have at least {} different features, too many for a table of \
                 all of them: say which to decode",
                self.size.rows,
                index + 1
            )));
        }
        let mut column = C::found(entry.name()?, row);
        set_entry(&mut column, row, entry)?;
        let has_row = column.has_row(row);
        self.columns.push(column);
        self.directory.add(entry.key, Some(index));
        Ok(has_row)
    }

    /// Ends the batch.
    ///
    /// # Errors
    /// A shape beyond the limits of Arrow.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let mut fields = Vec::with_capacity(self.columns.len());
        let mut arrays = Vec::with_capacity(self.columns.len());
        for column in &mut self.columns {
            let (field, array) = column.finish(self.size.rows)?;
            fields.push(field);
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.size.rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
    }
}
