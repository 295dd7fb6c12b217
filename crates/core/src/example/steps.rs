//! One column of feature lists while it is being filled: of each record so many steps, and of each
//! step its values.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeListArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field};

use super::column::{ColumnBuilder, Place, nulls_of};
use super::message;
use super::places::{Cell, Cells};
use super::spec::ListSpec;
use super::values::{Outlook, as_offset};
use super::wire::Wire;
use crate::error::{Error, Result};

/// A column of feature lists: the steps of all records are the rows of a column of their own.
pub struct StepsBuilder {
    steps: ColumnBuilder,
    /// Where each record's steps end (with a leading 0).
    row_splits: Vec<i64>,
    /// Which records have the list.
    present: Vec<bool>,
    /// What is wrong with the current record's list, if a later one of the same name does not mend
    /// it.
    fault: Option<String>,
    allow_missing: bool,
}

impl StepsBuilder {
    /// A column for a feature list that was asked for.
    #[must_use]
    pub fn new(spec: &ListSpec) -> Self {
        Self::with(
            ColumnBuilder::new(&spec.step, Place::Step),
            spec.allow_missing,
        )
    }

    /// Begins a batch of `rows` records.
    pub fn begin(&mut self, rows: usize) {
        self.steps.begin(Outlook::default());
        self.row_splits.clear();
        self.row_splits.push(0);
        self.row_splits.reserve(rows);
        self.present.clear();
        self.present.reserve(rows);
        self.fault = None;
    }

    /// A column for a feature list that turned up in record `row`.
    #[must_use]
    pub fn found(name: &str, row: usize) -> Self {
        let mut column = Self::with(ColumnBuilder::found(name, Place::Step, 0), true);
        column.row_splits.resize(row + 1, 0);
        column.present.resize(row, false);
        column
    }

    fn with(steps: ColumnBuilder, allow_missing: bool) -> Self {
        Self {
            steps,
            row_splits: vec![0],
            present: Vec::new(),
            fault: None,
            allow_missing,
        }
    }

    /// Whether the list of record `row` is written.
    #[must_use]
    #[inline]
    pub fn has_row(&self, row: usize) -> bool {
        self.present.len() > row
    }

    /// Takes the feature list of record `row`; of several, the last one counts.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn set(&mut self, row: usize, feature_list: &[u8]) -> Result<()> {
        self.truncate(row);
        let first = self.steps.rows();
        self.take_steps(feature_list, first)
            .map_err(|error| error.at_feature(self.steps.name()))?;
        if self.fault.is_some() {
            self.steps.truncate(first);
        } else {
            self.end_row(true);
        }
        Ok(())
    }

    fn take_steps(&mut self, feature_list: &[u8], first: usize) -> Result<()> {
        let mut rest = Wire(feature_list);
        while self.fault.is_none() {
            if self.take_short(&mut rest) {
                continue;
            }
            let Some(feature) = message::next_step(&mut rest)? else {
                return Ok(());
            };
            self.take_step(feature, first)?;
        }
        // Nobody wants the rest, but it must be sound.
        while message::next_step(&mut rest)?.is_some() {}
        Ok(())
    }

    /// Takes a step off the list, if it is short and plain; false, and nothing has changed, if not.
    #[inline]
    fn take_short(&mut self, list: &mut Wire<'_>) -> bool {
        // The first step goes the long way, which makes room for the others.
        let &[0x0a, len @ 0..0x80, ref bytes @ ..] = list.0 else {
            return false;
        };
        let len = usize::from(len);
        let Some(rest) = bytes.get(len..) else {
            return false;
        };
        let step = std::iter::once(Some(Cell { len, bytes }));
        let done = self.steps.rows() > 0 && self.steps.take_short(step) == 1;
        if done {
            list.0 = rest;
        }
        done
    }

    fn take_step(&mut self, feature: &[u8], first: usize) -> Result<()> {
        let step = self.steps.rows();
        self.steps.set(step, feature)?;
        if !self.steps.has_row(step) {
            let fault = self.steps.fault();
            self.fault = fault.map(|what| format!("step {}: {what}", step - first));
        }
        if self.fault.is_none() {
            self.steps.fill_row(step)?;
        }
        Ok(())
    }

    fn end_row(&mut self, present: bool) {
        self.row_splits.push(as_offset(self.steps.rows()));
        self.present.push(present);
    }

    /// Writes the rows from `row` on, which is the next one.
    ///
    /// # Errors
    /// What is wrong with the bytes, or does not fit the column.
    pub fn set_rows(&mut self, row: usize, cells: Cells<'_>) -> Result<()> {
        for (place, cell) in cells.iter().enumerate() {
            if let Some(cell) = cell {
                self.set(row + place, cell.value())?;
            }
            self.fill_row(row + place)?;
        }
        Ok(())
    }

    /// Takes rows back: there are only the first `rows` again.
    pub fn truncate(&mut self, rows: usize) {
        self.fault = None;
        if self.has_row(rows) {
            self.row_splits.truncate(rows + 1);
            self.present.truncate(rows);
            let steps = self.row_splits.last().copied().unwrap_or(0);
            self.steps.truncate(usize::try_from(steps).unwrap_or(0));
        }
    }

    /// Writes row `row`, if its record has not: no steps.
    ///
    /// # Errors
    /// The list does not fit the column, or is missing and required.
    pub fn fill_row(&mut self, row: usize) -> Result<()> {
        if self.has_row(row) {
            return Ok(());
        }
        let missing = "the feature list is required but could not be found (allow_missing=True takes \
                       its absence for a list of no steps)";
        match self.fault.take() {
            Some(fault) => Err(Error::content(fault).at_feature(self.steps.name())),
            None if !self.allow_missing => {
                Err(Error::content(missing).at_feature(self.steps.name()))
            }
            None => {
                self.end_row(false);
                Ok(())
            }
        }
    }

    /// The finished column.
    ///
    /// # Errors
    /// None that the builder's own rules allow; Arrow checks them once more.
    pub fn finish(&mut self) -> Result<(Field, ArrayRef), ArrowError> {
        let (item, values) = self.steps.finish(self.steps.rows())?;
        let splits = OffsetBuffer::new(ScalarBuffer::from(std::mem::take(&mut self.row_splits)));
        let (name, item) = (item.name().clone(), Arc::new(item.with_name("item")));
        let lists = LargeListArray::try_new(item, splits, values, nulls_of(&self.present))?;
        Ok((
            Field::new(name, lists.data_type().clone(), true),
            Arc::new(lists),
        ))
    }
}
