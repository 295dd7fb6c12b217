//! Records → columns.
//!
//! Real files repeat themselves: record after record has the same features in the same order. So
//! the `Directory` remembers which feature stood at each position of the last record, and looks a
//! name up only where the next record differs.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Schema};

use super::column::ColumnBuilder;
use super::message::{self, Entry};
use super::spec::FeatureSpec;
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
    let rows = records.len();
    let bytes = records.clone().map(<[u8]>::len).sum();
    let mut decoder = match spec {
        Some(spec) => Decoder::of(spec, rows, bytes),
        None => Decoder::inferring(rows, bytes),
    };
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
        decoder
            .decode_row(record, index)
            .map_err(|error| RecordError {
                index: Some(index),
                error,
            })?;
    }
    Ok(decoder.finish(rows)?)
}

/// How many bytes are decoded between two looks at the clock.
const PULSE_BYTES: usize = 1 << 20;

struct Decoder {
    columns: Vec<ColumnBuilder>,
    directory: Directory,
    /// How many cells columns that nobody asked for may have in all; `None` with a spec.
    cell_limit: Option<usize>,
    rows: usize,
}

/// Cells that inferred columns may always have; beyond that, their number must be justified by
/// the size of the input. Records that all have different names would otherwise take memory that
/// grows with the square of their number.
const FREE_CELLS: usize = 1 << 21;

impl Decoder {
    fn of(spec: &[FeatureSpec], rows: usize, bytes: usize) -> Self {
        let columns: Vec<_> = spec
            .iter()
            .map(|feature| ColumnBuilder::new(feature, rows, bytes))
            .collect();
        let by_name = spec
            .iter()
            .enumerate()
            .map(|(i, f)| (f.name.clone().into_bytes(), i))
            .collect();
        let directory = Directory {
            by_name,
            positions: Vec::new(),
        };
        Self {
            columns,
            directory,
            cell_limit: None,
            rows,
        }
    }

    fn inferring(rows: usize, bytes: usize) -> Self {
        let directory = Directory {
            by_name: HashMap::new(),
            positions: Vec::new(),
        };
        let cell_limit = Some(FREE_CELLS.max(bytes.saturating_mul(3)));
        Self {
            columns: Vec::new(),
            directory,
            cell_limit,
            rows,
        }
    }

    fn decode_row(&mut self, record: &[u8], row: usize) -> Result<()> {
        let mut position = 0;
        let mut written = 0;
        message::for_each_feature(record, |entry| {
            let place = position;
            position += 1;
            let Some(index) = self.directory.find(place, entry.key) else {
                return if self.cell_limit.is_some() {
                    self.add_column(&entry, place, row)
                } else {
                    Ok(())
                };
            };
            if let Some(column) = self.columns.get_mut(index) {
                written -= isize::from(column.has_row(row));
                column.set(row, &entry.value)?;
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

    #[cold]
    fn add_column(&mut self, entry: &Entry<'_>, position: usize, row: usize) -> Result<()> {
        let index = self.columns.len();
        let cells = (index + 1).saturating_mul(self.rows);
        if self.cell_limit.is_some_and(|limit| cells > limit) {
            return Err(Error::content(format!(
                "these {} records have at least {} different features, too many for a table of \
                 all of them: say which to decode",
                self.rows,
                index + 1
            )));
        }
        let mut column = ColumnBuilder::found(entry.name()?, row);
        column.set(row, &entry.value)?;
        self.columns.push(column);
        self.directory.add(position, entry.key, index);
        Ok(())
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
