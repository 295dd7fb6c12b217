//! One column while it is being filled, row by row, straight in its final buffers.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeListArray, Float32Array, Int64Array, LargeBinaryArray, LargeListArray,
    NullArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field};

use super::message::{self, Feature};
use super::spec::{Default, FeatureSpec, Kind, Layout};
use super::wire::WireError;
use crate::error::{Error, Result};

/// The values of all rows so far, one behind the other.
enum Values {
    /// No row has had a value yet, and nobody said of which kind they are.
    Unknown,
    /// Byte strings: their bytes, and where each ends (with a leading 0).
    Bytes(Vec<u8>, Vec<i64>),
    Float32(Vec<f32>),
    Int64(Vec<i64>),
}

impl Values {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Bytes => Self::Bytes(Vec::new(), vec![0]),
            Kind::Float32 => Self::Float32(Vec::new()),
            Kind::Int64 => Self::Int64(Vec::new()),
        }
    }

    fn kind(&self) -> Option<Kind> {
        match self {
            Self::Unknown => None,
            Self::Bytes(..) => Some(Kind::Bytes),
            Self::Float32(_) => Some(Kind::Float32),
            Self::Int64(_) => Some(Kind::Int64),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        match self {
            Self::Unknown => 0,
            Self::Bytes(_, ends) => ends.len() - 1,
            Self::Float32(values) => values.len(),
            Self::Int64(values) => values.len(),
        }
    }

    fn truncate(&mut self, len: usize) {
        match self {
            Self::Unknown => {}
            Self::Bytes(data, ends) => {
                ends.truncate(len + 1);
                data.truncate(
                    ends.last()
                        .map_or(0, |&end| usize::try_from(end).unwrap_or(0)),
                );
            }
            Self::Float32(values) => values.truncate(len),
            Self::Int64(values) => values.truncate(len),
        }
    }

    /// Makes room for `times` what there is, but for no more than `limit` values or bytes: a first
    /// row says much about the others, and nothing that could be believed blindly.
    #[cold]
    fn reserve_likewise(&mut self, times: usize, limit: usize) {
        if let Self::Bytes(data, _) = self {
            data.reserve(data.len().saturating_mul(times).min(limit));
        }
        self.reserve(self.len().saturating_mul(times).min(limit));
    }

    fn reserve(&mut self, values: usize) {
        match self {
            Self::Unknown => {}
            Self::Bytes(_, ends) => ends.reserve(values),
            Self::Float32(all) => all.reserve(values),
            Self::Int64(all) => all.reserve(values),
        }
    }

    /// Appends the values of a list in a record.
    #[inline]
    fn push_list(&mut self, list: &[u8]) -> Result<(), WireError> {
        match self {
            Self::Unknown => Ok(()),
            Self::Bytes(data, ends) => {
                let mut push = |value: &[u8]| {
                    data.extend_from_slice(value);
                    ends.push(as_offset(data.len()));
                };
                match message::only_bytes(list) {
                    Some(value) => push(value),
                    None => message::for_each_bytes(list, push)?,
                }
                Ok(())
            }
            Self::Float32(values) => message::push_floats(list, values),
            Self::Int64(values) => message::push_int64s(list, values),
        }
    }

    fn push_default(&mut self, default: &Default) {
        match (self, default) {
            (Self::Bytes(data, ends), Default::Bytes(defaults)) => {
                for value in defaults {
                    data.extend_from_slice(value);
                    ends.push(as_offset(data.len()));
                }
            }
            (Self::Float32(values), Default::Float32(defaults)) => values.extend(defaults),
            (Self::Int64(values), Default::Int64(defaults)) => values.extend(defaults),
            // Whoever makes a spec gives the default its kind.
            _ => {}
        }
    }

    fn into_array(self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Unknown => Arc::new(NullArray::new(0)),
            Self::Bytes(data, ends) => {
                let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
                Arc::new(LargeBinaryArray::try_new(
                    offsets,
                    Buffer::from_vec(data),
                    None,
                )?)
            }
            Self::Float32(values) => Arc::new(Float32Array::new(values.into(), None)),
            Self::Int64(values) => Arc::new(Int64Array::new(values.into(), None)),
        })
    }
}

/// What keeps the current row from having values, but a later entry of the same name may mend.
#[derive(Clone, Copy)]
enum Trouble {
    /// A list of another kind.
    WrongKind(Kind),
    /// So many values.
    WrongCount(usize),
}

/// A column that is being filled.
///
/// A row is written as soon as its feature is read; [`Self::fill_row`] sees to the rows whose record
/// has no such feature, or none that fits. Faults are kept until then, because a later entry of the
/// same name replaces an earlier one, and its faults with it.
pub struct ColumnBuilder {
    values: Values,
    /// Elements a row, where that is fixed.
    elements: Option<usize>,
    /// How many rows are written.
    rows: usize,
    /// Where the last row written begins among the values.
    row_start: usize,
    /// Where each row ends among the values (with a leading 0), where that is not fixed.
    row_splits: Vec<i64>,
    /// Which rows have the feature, where it may be missing.
    present: Vec<bool>,
    trouble: Option<Trouble>,
    /// How many rows there will be, and from how many bytes.
    expected: (usize, usize),
    /// The row from which the kind was learned, if it was not given.
    learned_in: Option<usize>,
    layout: Layout,
    name: String,
}

impl ColumnBuilder {
    /// A column for a feature that was asked for, with room for `rows` rows from `bytes` of input.
    #[must_use]
    pub fn new(spec: &FeatureSpec, rows: usize, bytes: usize) -> Self {
        let mut column = Self::with(
            spec.name.clone(),
            spec.layout.clone(),
            Values::new(spec.kind),
        );
        column.expected = (rows, bytes);
        match &spec.layout {
            Layout::Fixed { shape, .. } => {
                let elements = shape
                    .iter()
                    .fold(1usize, |all, &size| all.saturating_mul(size));
                column.elements = Some(elements);
            }
            Layout::Ragged => {
                column.row_splits.reserve(rows);
                column.present.reserve(rows);
            }
        }
        column
    }

    /// A column for a feature that turned up in row `row`.
    #[must_use]
    pub fn found(name: &str, row: usize) -> Self {
        let mut column = Self::with(name.to_owned(), Layout::Ragged, Values::Unknown);
        column.row_splits.resize(row + 1, 0);
        column.present.resize(row, false);
        column.rows = row;
        column
    }

    fn with(name: String, layout: Layout, values: Values) -> Self {
        Self {
            values,
            elements: None,
            rows: 0,
            row_start: 0,
            row_splits: vec![0],
            present: Vec::new(),
            trouble: None,
            expected: (0, 0),
            learned_in: None,
            layout,
            name,
        }
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
    /// What is wrong with the bytes.
    #[inline]
    pub fn set(&mut self, row: usize, feature: &[u8]) -> Result<()> {
        if self.has_row(row) || self.trouble.is_some() {
            self.forget_row(row);
        }
        match self.read(row, feature) {
            Ok(()) => Ok(()),
            Err(error) => Err(Error::from(error).at_feature(&self.name)),
        }
    }

    #[inline]
    fn read(&mut self, row: usize, feature: &[u8]) -> Result<(), WireError> {
        if let Some((kind, list)) = message::only_list(feature) {
            return self.read_list(row, kind, list);
        }
        match Feature::parse(feature)?.list {
            None => Ok(()),
            Some((kind, list)) => self.read_list(row, kind, &list),
        }
    }

    #[inline]
    fn read_list(&mut self, row: usize, kind: Kind, list: &[u8]) -> Result<(), WireError> {
        if matches!(self.values, Values::Unknown) {
            self.values = Values::new(kind);
            self.learned_in = Some(row);
        }
        if self.values.kind() != Some(kind) {
            self.trouble = Some(Trouble::WrongKind(kind));
            return Ok(());
        }
        self.row_start = self.values.len();
        self.values.push_list(list)?;
        match self.elements {
            Some(elements) => {
                let found = self.values.len() - self.row_start;
                if found != elements {
                    self.trouble = Some(Trouble::WrongCount(found));
                    self.values.truncate(self.row_start);
                    return Ok(());
                }
            }
            None => self.end_ragged_row(true),
        }
        if self.rows == 0 {
            self.values
                .reserve_likewise(self.expected.0, self.expected.1);
        }
        self.rows += 1;
        Ok(())
    }

    #[inline]
    fn end_ragged_row(&mut self, present: bool) {
        self.row_splits.push(as_offset(self.values.len()));
        self.present.push(present);
    }

    /// Takes back what an earlier entry of the same name has left.
    #[cold]
    fn forget_row(&mut self, row: usize) {
        self.trouble = None;
        if self.has_row(row) {
            self.rows = row;
            self.values.truncate(self.row_start);
            if self.elements.is_none() {
                self.row_splits.pop();
                self.present.pop();
            }
        }
        if self.learned_in == Some(row) {
            self.values = Values::Unknown;
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
        match (&self.layout, self.trouble) {
            (_, Some(Trouble::WrongKind(kind))) => return Err(self.wrong_kind(kind)),
            (_, Some(Trouble::WrongCount(found))) => return Err(self.wrong_count(found)),
            (
                Layout::Fixed {
                    default: Some(default),
                    ..
                },
                None,
            ) => {
                self.values.push_default(default);
            }
            (Layout::Fixed { default: None, .. }, None) => return Err(self.missing()),
            (Layout::Ragged, None) => self.end_ragged_row(false),
        }
        self.rows += 1;
        Ok(())
    }

    #[cold]
    fn missing(&self) -> Error {
        let dtype = self.values.kind().map_or("", Kind::dtype);
        self.fault(format!(
            "(data type: {dtype}) is required but could not be found"
        ))
    }

    #[cold]
    fn wrong_kind(&self, found: Kind) -> Error {
        let (found, expected) = (found.dtype(), self.values.kind().map_or("", Kind::dtype));
        self.fault(match self.layout {
            Layout::Fixed { .. } => {
                format!("Data types don't match. Data type: {found} but expected type: {expected}")
            }
            Layout::Ragged => {
                format!("Data types don't match. Expected type: {expected}, Actual type: {found}")
            }
        })
    }

    #[cold]
    fn wrong_count(&self, size: usize) -> Error {
        let noun = self.values.kind().map_or("", Kind::noun);
        let Layout::Fixed { shape, .. } = &self.layout else {
            return self.fault(String::new());
        };
        let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
        self.fault(format!(
            "Number of {noun} values != expected.  Values size: {size} but output shape: [{}]",
            shape.join(",")
        ))
    }

    fn fault(&self, text: String) -> Error {
        Error::content(text).at_feature(&self.name)
    }

    /// The finished column of `rows` rows.
    ///
    /// # Errors
    /// None that the builder's own rules allow; Arrow checks them once more.
    pub fn finish(self, rows: usize) -> Result<(Field, ArrayRef), ArrowError> {
        let name = self.name;
        let (array, nullable): (ArrayRef, bool) = match (self.layout, self.values) {
            (Layout::Fixed { shape, .. }, values) => (
                fixed_size_lists(values.into_array()?, &shape, rows, None)?,
                false,
            ),
            (Layout::Ragged, Values::Unknown) => (Arc::new(NullArray::new(rows)), true),
            (Layout::Ragged, values) => {
                let values = values.into_array()?;
                let present = BooleanBuffer::from(self.present);
                let nulls = Some(NullBuffer::new(present)).filter(|nulls| nulls.null_count() > 0);
                let item = Arc::new(Field::new("item", values.data_type().clone(), false));
                let splits = OffsetBuffer::new(ScalarBuffer::from(self.row_splits));
                (
                    Arc::new(LargeListArray::try_new(item, splits, values, nulls)?),
                    true,
                )
            }
        };
        Ok((Field::new(name, array.data_type().clone(), nullable), array))
    }
}

/// A length in memory is at most `isize::MAX`.
#[inline]
fn as_offset(length: usize) -> i64 {
    length.cast_signed() as i64
}

/// `values` as `rows` rows of `shape`: lists of a fixed size in lists of a fixed size.
///
/// # Errors
/// Too few or too many values, or a dimension beyond Arrow's limit of 2^31 - 1.
pub fn fixed_size_lists(
    values: ArrayRef,
    shape: &[usize],
    rows: usize,
    nulls: Option<&NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let mut array = values;
    for (axis, &size) in shape.iter().enumerate().rev() {
        let outer = shape.get(..axis).unwrap_or_default().iter();
        let len = outer.fold(rows, |all, &size| all.saturating_mul(size));
        let item = Arc::new(Field::new("item", array.data_type().clone(), false));
        let size = i32::try_from(size).map_err(|_| too_large(size))?;
        let nulls = nulls.cloned().filter(|_| axis == 0);
        let lists = FixedSizeListArray::try_new_with_length(item, size, array, nulls, len)?;
        array = Arc::new(lists);
    }
    Ok(array)
}

fn too_large(size: usize) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("{size} is too large for {:?}", DataType::Int32))
}
