//! One column of feature lists while it is being filled: of each record so many steps, and of each
//! step its values.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeListArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field};

use super::column::{ColumnBuilder, Place, nulls_of};
use super::message;
use super::spec::ListSpec;
use super::values::{Outlook, as_offset};
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
    /// A column for a feature list that was asked for, of `rows` records.
    #[must_use]
    pub fn new(spec: &ListSpec, rows: usize) -> Self {
        let steps = ColumnBuilder::new(&spec.step, Place::Step, Outlook::default());
        let mut column = Self::with(steps, spec.allow_missing);
        column.row_splits.reserve(rows);
        column.present.reserve(rows);
        column
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
        self.take_back(row);
        let first = self.steps.rows();
        let steps = &mut self.steps;
        let fault = &mut self.fault;
        message::for_each_step(feature_list, |feature| {
            if fault.is_some() {
                return Ok(());
            }
            let step = steps.rows();
            steps.set(step, feature)?;
            if !steps.has_row(step) {
                *fault = steps
                    .fault()
                    .map(|what| format!("step {}: {what}", step - first));
            }
            if fault.is_none() {
                steps.fill_row(step)?;
            }
            Ok(())
        })
        .map_err(|error: Error| error.at_feature(self.steps.name()))?;
        if self.fault.is_some() {
            self.steps.truncate(first);
        } else {
            self.end_row(true);
        }
        Ok(())
    }

    fn end_row(&mut self, present: bool) {
        self.row_splits.push(as_offset(self.steps.rows()));
        self.present.push(present);
    }

    /// Takes back what an earlier entry of the same name has left.
    fn take_back(&mut self, row: usize) {
        self.fault = None;
        if self.has_row(row) {
            self.row_splits.truncate(row + 1);
            self.present.truncate(row);
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
    pub fn finish(self) -> Result<(Field, ArrayRef), ArrowError> {
        let steps = self.steps.rows();
        let (item, values) = self.steps.finish(steps)?;
        let splits = OffsetBuffer::new(ScalarBuffer::from(self.row_splits));
        let (name, item) = (item.name().clone(), Arc::new(item.with_name("item")));
        let lists = LargeListArray::try_new(item, splits, values, nulls_of(self.present))?;
        Ok((
            Field::new(name, lists.data_type().clone(), true),
            Arc::new(lists),
        ))
    }
}
