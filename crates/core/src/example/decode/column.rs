//! One column while it is being filled, row by row, straight in its final buffers.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, FixedSizeListArray, LargeListArray, NullArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field};

use super::numbers::Misfit;
use super::values::{Outlook, Values, as_offset};
use crate::error::{Error, Result};
use crate::example::canonical::{self, Form};
use crate::example::decode::fast_path::steps;
use crate::example::decode::fast_path::value_offsets::{Cell, ColumnSlices};
use crate::example::message::Feature;
use crate::example::spec::{DType, FeatureSpec, Kind, Layout, elements_of};
use crate::example::wire::{Wire, WireError};

/// What keeps the current row from having values, but a later entry of the same name may mend.
#[derive(Clone, Copy)]
enum Trouble {
    /// A list of another kind.
    WrongKind(Kind),
    /// A fixed number of values.
    WrongCount(usize),
    /// A value that the column's type cannot hold.
    Misfit(Misfit),
}

/// Where the features of a column stand, which decides what a Feature without any list means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In an Example: it is missing.
    Example,
    /// In the context of a `SequenceExample`: it is missing, but has no values where they are
    /// counted.
    Context,
    /// A step of a feature list: it is there, and has no values.
    Step,
}

/// A column that is being filled.
///
/// A row is written as soon as its feature is read; [`Self::fill_row`] sees to the rows whose record
/// has no such feature, or none that fits. Faults are kept until then, because a later entry of the
/// same name replaces an earlier one, and its faults with it.
pub struct ColumnBuilder {
    values: Values,
    /// Values an element: all of a row, where that is fixed, or of one of its elements.
    each: usize,
    /// How many rows are written.
    rows: usize,
    /// Where each row ends, in elements (with a leading 0), where that is not fixed.
    row_splits: Vec<i64>,
    /// Which rows have the feature, where it may be missing.
    present: Vec<bool>,
    trouble: Option<Trouble>,
    /// What is known of the records beforehand.
    outlook: Outlook,
    /// The row from which the kind was learned, if it was not given.
    learned_in: Option<usize>,
    place: Place,
    is_fixed: bool,
    layout: Layout,
    name: String,
}

impl ColumnBuilder {
    /// A column for a feature that was asked for.
    #[must_use]
    pub fn new(spec: &FeatureSpec, place: Place) -> Self {
        let values = Values::new(spec.dtype);
        Self::with(spec.name.clone(), spec.layout.clone(), place, values)
    }

    /// Begins a batch.
    pub fn begin(&mut self, outlook: Outlook) {
        self.rows = 0;
        self.trouble = None;
        self.outlook = outlook;
        if !self.is_fixed {
            self.row_splits.clear();
            self.row_splits.push(0);
            self.row_splits.reserve(outlook.rows);
            self.present.clear();
            self.present.reserve(outlook.rows);
        }
        if let Some(dtype) = self.values.dtype() {
            self.values = Values::new(dtype);
        }
    }

    /// A column for a feature that turned up in row `row`.
    #[must_use]
    pub fn found(name: &str, place: Place, row: usize) -> Self {
        let layout = Layout::Ragged { shape: Vec::new() };
        let mut column = Self::with(name.to_owned(), layout, place, Values::Unknown);
        column.row_splits.resize(row + 1, 0);
        column.present.resize(row, false);
        column.rows = row;
        column
    }

    fn with(name: String, layout: Layout, place: Place, values: Values) -> Self {
        let (Layout::Fixed { shape, .. } | Layout::Ragged { shape }) = &layout;
        Self {
            values,
            each: elements_of(shape),
            rows: 0,
            row_splits: vec![0],
            present: Vec::new(),
            trouble: None,
            outlook: Outlook::default(),
            learned_in: None,
            place,
            is_fixed: matches!(layout, Layout::Fixed { .. }),
            layout,
            name,
        }
    }

    /// The feature's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many rows are written.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether row `row` is written.
    #[must_use]
    #[inline]
    pub fn has_row(&self, row: usize) -> bool {
        self.rows > row
    }

    /// Takes the feature of row `row`; of several, the last one counts.
    ///
    /// # Errors
    /// What is wrong with the bytes; [`WireError::Unusual`].
    #[inline]
    pub fn set(&mut self, row: usize, feature: &[u8], form: Form) -> Result<()> {
        if self.has_row(row) || self.trouble.is_some() {
            self.truncate(row);
        }
        match self.read(row, feature, form) {
            Ok(()) => Ok(()),
            Err(error) => Err(Error::from(error).at_feature(&self.name)),
        }
    }

    /// Writes the rows from `row` on, which is the next one, from features of this form.
    ///
    /// # Errors
    /// What is wrong with the bytes, or does not fit the column; [`WireError::Unusual`].
    pub fn set_rows(
        &mut self,
        mut row: usize,
        mut cells: ColumnSlices<'_>,
        form: Form,
    ) -> Result<()> {
        loop {
            let short = self.take_short(cells.iter());
            row += short;
            cells = cells.skip(short);
            let Some(cell) = cells.iter().next() else {
                return Ok(());
            };
            if let Some(cell) = cell {
                self.set(row, cell.value(), form)?;
            }
            self.fill_row(row)?;
            row += 1;
            cells = cells.skip(1);
        }
    }

    /// Takes the features of the next rows as long as they are short ones without anything unusual; of how
    /// many.
    #[inline]
    fn take_short<'a>(&mut self, features: impl Iterator<Item = Option<Cell<'a>>>) -> usize {
        if self.trouble.is_some() || self.each == 0 {
            return 0;
        }
        let rows = if self.is_fixed {
            self.values.take_short(features, Some(self.each), |_| {})
        } else {
            let (each, splits, present) = (self.each, &mut self.row_splits, &mut self.present);
            // A ragged row has any number of elements of one value; of more, the long way counts them.
            let count = (each != 1).then_some(each);
            self.values.take_short(features, count, |values| {
                splits.push(as_offset(values / each));
                present.push(true);
            })
        };
        self.rows += rows;
        rows
    }

    /// Takes the steps that `list` begins with, as far as they are short and plain, each as a row.
    #[inline]
    pub fn take_run(&mut self, list: &mut Wire<'_>) {
        if self.trouble.is_some() || self.each == 0 {
            return;
        }
        if self.is_fixed {
            self.rows += steps::take(list, &mut self.values, Some(self.each), |_| {});
        } else if self.each == 1 {
            let (splits, present) = (&mut self.row_splits, &mut self.present);
            self.rows += steps::take(list, &mut self.values, None, |end| {
                splits.push(as_offset(end));
                present.push(true);
            });
        }
    }

    #[inline]
    fn read(&mut self, row: usize, feature: &[u8], form: Form) -> Result<(), WireError> {
        if let Some((kind, list)) = canonical::only_list(feature) {
            return self.read_list(row, kind, list, form);
        }
        if form == Form::Usual && !feature.is_empty() {
            return Err(WireError::Unusual);
        }
        match Feature::parse(feature)?.list {
            None => {
                match self.place {
                    Place::Context | Place::Step if self.is_fixed && self.each == 0 => {
                        self.end_row(true);
                    }
                    Place::Context | Place::Step if self.is_fixed => {
                        self.trouble = Some(Trouble::WrongCount(0));
                    }
                    _ => {}
                }
                Ok(())
            }
            // Of another kind, nobody reads them.
            Some((kind, _)) if self.values.kind().is_some_and(|own| own != kind) => {
                self.read_list(row, kind, &[], form)
            }
            Some((kind, list)) => self.read_list(row, kind, list.get()?, form),
        }
    }

    #[inline]
    fn read_list(
        &mut self,
        row: usize,
        kind: Kind,
        list: &[u8],
        form: Form,
    ) -> Result<(), WireError> {
        if matches!(self.values, Values::Unknown) {
            self.values = Values::new(kind.into());
            self.learned_in = Some(row);
        }
        if self.values.kind() != Some(kind) {
            self.trouble = Some(Trouble::WrongKind(kind));
            return Ok(());
        }
        let start = self.values.len();
        let misfit = self.values.push_list(list, form)?;
        let found = self.values.len() - start;
        let fits = if self.is_fixed {
            found == self.each
        } else {
            self.each == 1 || found.checked_rem(self.each) == Some(0)
        };
        if misfit.is_some() || !fits {
            self.trouble = Some(misfit.map_or(Trouble::WrongCount(found), Trouble::Misfit));
            self.values.truncate(start);
            return Ok(());
        }
        if self.rows == 0 {
            self.values.reserve_likewise(self.outlook);
        }
        self.end_row(true);
        Ok(())
    }

    #[inline]
    fn end_row(&mut self, present: bool) {
        self.rows += 1;
        if !self.is_fixed {
            self.end_list(present);
        }
    }

    fn end_list(&mut self, present: bool) {
        let end = if self.each == 1 {
            self.values.len()
        } else {
            self.values.len() / self.each.max(1)
        };
        self.row_splits.push(as_offset(end));
        self.present.push(present);
    }

    /// Takes rows back: there are only the first `rows` again.
    #[cold]
    pub fn truncate(&mut self, rows: usize) {
        self.trouble = None;
        if self.rows > rows {
            self.rows = rows;
            let elements = if self.is_fixed {
                rows
            } else {
                self.row_splits.truncate(rows + 1);
                self.present.truncate(rows);
                let end = self.row_splits.last().copied().unwrap_or(0);
                usize::try_from(end).unwrap_or(0)
            };
            self.values.truncate(elements * self.each);
        }
        if self.learned_in.is_some_and(|row| row >= rows) {
            self.values = Values::Unknown;
            self.learned_in = None;
        }
    }

    /// Writes row `row`, if its record has not: the default, or a missing row.
    ///
    /// # Errors
    /// What the record has, or has not, does not fit the column.
    pub fn fill_row(&mut self, row: usize) -> Result<()> {
        if self.has_row(row) {
            return Ok(());
        }
        if let Some(fault) = self.fault() {
            return Err(Error::content(fault).at_feature(&self.name));
        }
        if let Layout::Fixed {
            default: Some(default),
            ..
        } = &self.layout
        {
            self.values.push_default(default);
        }
        self.end_row(self.place == Place::Step);
        Ok(())
    }

    /// What is wrong with the row that is not written yet.
    #[must_use]
    #[cold]
    pub fn fault(&self) -> Option<String> {
        match (&self.layout, self.trouble) {
            (_, Some(Trouble::WrongKind(kind))) => Some(self.wrong_kind(kind)),
            (_, Some(Trouble::WrongCount(found))) => Some(self.wrong_count(found)),
            (_, Some(Trouble::Misfit(value))) => {
                let dtype = self.values.dtype().map_or("", DType::name);
                Some(format!("{value} does not fit {dtype}"))
            }
            (Layout::Fixed { default: None, .. }, None) => {
                let dtype = self.values.kind().map_or("", Kind::dtype);
                Some(format!(
                    "(data type: {dtype}) is required but could not be found"
                ))
            }
            (_, None) => None,
        }
    }

    fn wrong_kind(&self, found: Kind) -> String {
        let (found, expected) = (found.dtype(), self.values.kind().map_or("", Kind::dtype));
        if self.is_fixed {
            format!("Data types don't match. Data type: {found} but expected type: {expected}")
        } else {
            format!("Data types don't match. Expected type: {expected}, Actual type: {found}")
        }
    }

    fn wrong_count(&self, size: usize) -> String {
        let noun = self.values.kind().map_or("", Kind::noun);
        let (Layout::Fixed { shape, .. } | Layout::Ragged { shape }) = &self.layout;
        let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
        let shape = shape.join(",");
        if self.is_fixed {
            format!(
                "Number of {noun} values != expected.  Values size: {size} but output shape: \
                 [{shape}]"
            )
        } else {
            format!(
                "Number of {noun} values is not a multiple of stride length. Saw {size} values but \
                 output shape is: [?,{shape}]"
            )
        }
    }

    /// The finished column of `rows` rows. What is to be filled next begins with [`Self::begin`].
    ///
    /// # Errors
    /// None that the builder's own rules allow; Arrow checks them once more.
    pub fn finish(&mut self, rows: usize) -> Result<(Field, ArrayRef), ArrowError> {
        let Some(dtype) = self.values.dtype() else {
            let field = Field::new(&self.name, DataType::Null, true);
            return Ok((field, Arc::new(NullArray::new(rows))));
        };
        let values = std::mem::replace(&mut self.values, Values::new(dtype));
        let (item, values) = values.into_array()?;
        match &self.layout {
            Layout::Fixed { shape, .. } => {
                let (field, array) = fixed_size_lists(item, values, shape, rows, None)?;
                Ok((field.with_name(&self.name), array))
            }
            Layout::Ragged { shape } => {
                let elements = self.row_splits.last().copied().unwrap_or(0);
                let elements = usize::try_from(elements).unwrap_or(0);
                let splits = ScalarBuffer::from(std::mem::take(&mut self.row_splits));
                let (item, values) = fixed_size_lists(item, values, shape, elements, None)?;
                let (item, splits) = (Arc::new(item), OffsetBuffer::new(splits));
                let nulls = nulls_of(&self.present);
                let lists = LargeListArray::try_new(item, splits, values, nulls)?;
                let field = Field::new(&self.name, lists.data_type().clone(), true);
                Ok((field, Arc::new(lists)))
            }
        }
    }
}

/// Which rows are null, if any.
#[must_use]
pub fn nulls_of(present: &[bool]) -> Option<NullBuffer> {
    let nulls = NullBuffer::new(BooleanBuffer::from(present));
    Some(nulls).filter(|nulls| nulls.null_count() > 0)
}

/// `values` as `rows` rows of `shape`, lists of a fixed size in lists of a fixed size, and the field
/// that says so; `item` is that of the values.
///
/// # Errors
/// Too few or too many values, or a dimension beyond Arrow's limit of 2^31 - 1.
pub fn fixed_size_lists(
    item: Field,
    values: ArrayRef,
    shape: &[usize],
    rows: usize,
    nulls: Option<&NullBuffer>,
) -> Result<(Field, ArrayRef), ArrowError> {
    let (mut field, mut array) = (item, values);
    for (axis, &size) in shape.iter().enumerate().rev() {
        let len = rows.saturating_mul(elements_of(shape.get(..axis).unwrap_or_default()));
        let size = i32::try_from(size).map_err(|_| too_large(size))?;
        let nulls = nulls.cloned().filter(|_| axis == 0);
        let lists =
            FixedSizeListArray::try_new_with_length(Arc::new(field), size, array, nulls, len)?;
        field = Field::new("item", lists.data_type().clone(), false);
        array = Arc::new(lists);
    }
    Ok((field, array))
}

fn too_large(size: usize) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("{size} is too large for {:?}", DataType::Int32))
}
