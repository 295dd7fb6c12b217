//! The columns of a map while they are filled, record by record.
//!
//! An entry goes one of two ways. The short one is for entries that have the same name as the one at their
//! place in the last record, and hold a short feature without anything unusual: most of most files.
//! It gives up, before anything is changed, on whatever is otherwise; then the long way decides
//! what it is, and what is wrong with it.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema};

use super::column::{ColumnBuilder, Place};
use super::directory::Directory;
use super::message::{self, Entry};
use super::short::Short;
use super::steps::StepsBuilder;
use super::values::Outlook;
use super::wire::Wire;
use crate::error::{Error, Result};

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
    fn set(&mut self, row: usize, value: &[u8]) -> Result<()>;
    /// Takes a short feature; false if it has to go the long way.
    fn set_short(&mut self, row: usize, feature: &Short<'_>) -> bool;
    /// Writes row `row`, if its record has not.
    fn fill_row(&mut self, row: usize) -> Result<()>;
    /// Ends the batch, which has so many rows.
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
    fn set(&mut self, row: usize, value: &[u8]) -> Result<()> {
        self.set(row, value)
    }

    #[inline]
    fn set_short(&mut self, row: usize, feature: &Short<'_>) -> bool {
        self.set_short(row, feature)
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
    fn set(&mut self, row: usize, value: &[u8]) -> Result<()> {
        self.set(row, value)
    }

    fn set_short(&mut self, _row: usize, _feature: &Short<'_>) -> bool {
        false
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
    entries: usize,
    /// How many columns have a row of it.
    rows: isize,
}

/// Columns that are being filled.
pub struct Decoder<C> {
    columns: Vec<C>,
    directory: Directory,
    /// Whether names that turn up get a column.
    is_inferring: bool,
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

/// Sets row `row` of the column that the entry belongs to.
#[inline]
fn set_entry(column: &mut impl Column, row: usize, entry: &Entry<'_>) -> Result<()> {
    match entry.value.get() {
        Ok(value) => column.set(row, value),
        Err(error) => Err(Error::from(error).at_feature(entry.name()?)),
    }
}

impl<C: Column> Decoder<C> {
    /// Columns of these names; `None`: of all that turn up.
    pub fn new(columns: Option<impl Iterator<Item = (String, C)>>) -> Self {
        let mut decoder = Self {
            columns: Vec::new(),
            directory: Directory::default(),
            is_inferring: columns.is_none(),
            size: Outlook::default(),
        };
        for (name, column) in columns.into_iter().flatten() {
            decoder
                .directory
                .add(name.as_bytes(), decoder.columns.len());
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

    /// Takes the entries of `record`, which is number `row` of the batch.
    ///
    /// # Errors
    /// What is wrong with the bytes, or does not fit a column.
    #[inline]
    pub fn decode_row(&mut self, record: &[u8], row: usize) -> Result<()> {
        let mut seen = Seen::default();
        message::for_each_map(record, C::MAP, |map| self.decode_map(map, row, &mut seen))?;
        if seen.rows.unsigned_abs() == self.columns.len() {
            return Ok(());
        }
        self.columns
            .iter_mut()
            .try_for_each(|column| column.fill_row(row))
    }

    fn decode_map(&mut self, mut map: Wire<'_>, row: usize, seen: &mut Seen) -> Result<()> {
        loop {
            if !self.take_short(&mut map, row, seen) {
                let Some(entry) = message::next_entry(&mut map)? else {
                    return Ok(());
                };
                self.set(&entry, row, seen)?;
            }
            seen.entries += 1;
        }
    }

    /// Takes an entry off the map, the short way; false, and nothing has changed, if it has to go the
    /// long one.
    #[inline]
    fn take_short(&mut self, map: &mut Wire<'_>, row: usize, seen: &mut Seen) -> bool {
        let Some(again) = self.directory.same_again(seen.entries, *map) else {
            return false;
        };
        let Some(rest) = again.behind.get(again.left..) else {
            return false;
        };
        let Some(feature) = Short::parse(again.behind, again.left) else {
            return false;
        };
        if let Some(column) = again.column.and_then(|index| self.columns.get_mut(index)) {
            if !column.set_short(row, &feature) {
                return false;
            }
            seen.rows += 1;
        }
        map.0 = rest;
        true
    }

    fn set(&mut self, entry: &Entry<'_>, row: usize, seen: &mut Seen) -> Result<()> {
        let Some(index) = self.directory.find(seen.entries, entry.key) else {
            if self.is_inferring {
                let has_row = self.add_column(entry, seen.entries, row)?;
                seen.rows += isize::from(has_row);
            }
            return Ok(());
        };
        if let Some(column) = self.columns.get_mut(index) {
            seen.rows -= isize::from(column.has_row(row));
            set_entry(column, row, entry)?;
            seen.rows += isize::from(column.has_row(row));
        }
        Ok(())
    }

    /// Adds a column for a name that was not seen before; true if it has this row.
    #[cold]
    fn add_column(&mut self, entry: &Entry<'_>, position: usize, row: usize) -> Result<bool> {
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
        self.directory.add(entry.key, index);
        self.directory.look_up(position, entry.key);
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
