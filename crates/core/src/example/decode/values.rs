//! The values of a column, one after the other, as they are read from the lists of records.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Int64Array, LargeBinaryArray, NullArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field};

use super::numbers::{self, Numbers, Read};
use crate::example::canonical::{self, Form};
use crate::example::decode::fast_path::feature::Short;
use crate::example::decode::fast_path::value_offsets::Cell;
use crate::example::message;
use crate::example::spec::{DType, Default, Kind};

/// What is known of the records before they are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outlook {
    /// How many there are.
    pub rows: usize,
    /// How many bytes they have together.
    pub bytes: usize,
    /// How many bytes the first one has.
    pub first: usize,
}

impl Outlook {
    /// Looks at `records`.
    #[must_use]
    pub fn of<'a>(records: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Self {
        Self {
            rows: records.len(),
            first: records.clone().next().map_or(0, <[u8]>::len),
            bytes: records.map(<[u8]>::len).sum(),
        }
    }

    /// How many more values to make room for, if the first record has `count`: as many in every
    /// other one, but no more than twice the proportion of the bytes that are left. A first record says
    /// much about the others, and nothing that could be believed blindly.
    #[must_use]
    pub fn more(self, count: usize) -> usize {
        count
            .saturating_mul(self.rows.saturating_sub(1))
            .min(self.in_proportion(count).saturating_mul(2))
    }

    /// How many more bytes to make room for, if the byte strings of the first record have `length`: in
    /// proportion to the bytes that are left, and some more, because growing means moving them.
    #[must_use]
    pub fn more_bytes(self, length: usize) -> usize {
        let hoped = self.in_proportion(length);
        hoped.saturating_add(hoped / 16)
    }

    fn in_proportion(self, count: usize) -> usize {
        let left = self.bytes.saturating_sub(self.first);
        count.saturating_mul(left) / self.first.max(1)
    }
}

/// The values of all rows so far.
pub enum Values {
    /// No row has had a value yet, and nobody said of which kind they are.
    Unknown,
    /// Byte strings: their bytes, and where each ends (with a leading 0).
    Bytes(Vec<u8>, Vec<i64>),
    /// As they are in a `FloatList`.
    Float32(Vec<f32>),
    /// As they are in an `Int64List`.
    Int64(Vec<i64>),
    /// Converted to another type.
    Converted(DType, Box<dyn Numbers>),
}

impl Values {
    /// No values of type `dtype`.
    #[must_use]
    pub fn new(dtype: DType) -> Self {
        match dtype {
            DType::Bytes => Self::Bytes(Vec::new(), vec![0]),
            DType::Float32 => Self::Float32(Vec::new()),
            DType::Int64 => Self::Int64(Vec::new()),
            other => {
                numbers::of(other).map_or(Self::Unknown, |numbers| Self::Converted(other, numbers))
            }
        }
    }

    /// Their type, if it is known.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Self::Unknown => None,
            Self::Bytes(..) => Some(DType::Bytes),
            Self::Float32(_) => Some(DType::Float32),
            Self::Int64(_) => Some(DType::Int64),
            Self::Converted(dtype, _) => Some(*dtype),
        }
    }

    /// The kind of the lists they are read from, if it is known.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> Option<Kind> {
        self.dtype().map(DType::kind)
    }

    /// How many there are.
    #[must_use]
    #[inline]
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        match self {
            Self::Unknown => 0,
            Self::Bytes(_, ends) => ends.len() - 1,
            Self::Float32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::Converted(_, numbers) => numbers.count(),
        }
    }

    /// Forgets all values after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        match self {
            Self::Unknown => {}
            Self::Bytes(data, ends) => {
                ends.truncate(len + 1);
                let end = ends
                    .last()
                    .map_or(0, |&end| usize::try_from(end).unwrap_or(0));
                data.truncate(end);
            }
            Self::Float32(values) => values.truncate(len),
            Self::Int64(values) => values.truncate(len),
            Self::Converted(_, numbers) => numbers.truncate(len),
        }
    }

    /// Makes room for the values of the other records, after those of the first.
    #[cold]
    pub fn reserve_likewise(&mut self, outlook: Outlook) {
        let more = outlook.more(self.len());
        match self {
            Self::Unknown => {}
            Self::Bytes(data, ends) => {
                data.reserve_exact(outlook.more_bytes(data.len()));
                ends.reserve_exact(more);
            }
            Self::Float32(values) => values.reserve_exact(more),
            Self::Int64(values) => values.reserve_exact(more),
            Self::Converted(_, numbers) => numbers.reserve(more),
        }
    }

    /// Appends the values of a list in a record.
    ///
    /// # Errors
    /// What is wrong with the bytes; [`Unusual`](crate::example::wire::WireError::Unusual).
    #[inline]
    pub fn push_list(&mut self, list: &[u8], form: Form) -> Read {
        canonical::check_numbers(self.kind(), list, form)?;
        match self {
            Self::Unknown => {}
            Self::Bytes(data, ends) => {
                let mut push = |value: &[u8]| {
                    data.extend_from_slice(value);
                    ends.push(as_offset(data.len()));
                };
                match canonical::only_bytes(list) {
                    Some(value) => push(value),
                    None if form == Form::Usual => canonical::for_each_bytes(list, push)?,
                    None => message::for_each_bytes(list, push)?,
                }
            }
            Self::Float32(values) => message::for_each_floats(list, |floats| {
                values.extend(floats.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            })?,
            Self::Int64(values) => message::push_int64s(list, values)?,
            Self::Converted(_, numbers) => return numbers.push_list(list),
        }
        Ok(None)
    }

    /// Appends the values of short features, up to the first that has to go the long way, and calls `end` with
    /// how many values there are after each; of how many. A `count` says how many values each must have.
    #[inline]
    pub fn take_short<'a>(
        &mut self,
        features: impl Iterator<Item = Option<Cell<'a>>>,
        count: Option<usize>,
        mut end: impl FnMut(usize),
    ) -> usize {
        let is = |found: usize| count.is_none_or(|count| count == found);
        match self {
            Self::Bytes(data, ends) if is(1) => take(features, |feature| {
                Short::of(feature, Kind::Bytes)?.push_bytes(data);
                ends.push(as_offset(data.len()));
                end(ends.len() - 1);
                Some(())
            }),
            Self::Int64(values) if is(1) => take(features, |feature| {
                values.push(Short::of(feature, Kind::Int64)?.int64()?);
                end(values.len());
                Some(())
            }),
            Self::Float32(values) => take(features, |feature| {
                let floats = Short::of(feature, Kind::Float32)?.floats()?;
                let floats = is(floats.len()).then_some(floats)?;
                values.extend(floats.iter().map(|bytes| f32::from_le_bytes(*bytes)));
                end(values.len());
                Some(())
            }),
            _ => 0,
        }
    }

    /// Appends the values of a default, which whoever makes a spec gives the right kind.
    pub fn push_default(&mut self, default: &Default) {
        match (self, default) {
            (Self::Bytes(data, ends), Default::Bytes(defaults)) => {
                for value in defaults {
                    data.extend_from_slice(value);
                    ends.push(as_offset(data.len()));
                }
            }
            (Self::Float32(values), Default::Float32(defaults)) => values.extend(defaults),
            (Self::Int64(values), Default::Int64(defaults)) => values.extend(defaults),
            (Self::Converted(_, numbers), default) => numbers.push_default(default),
            _ => {}
        }
    }

    /// The values as an array, and the field that says what it holds.
    ///
    /// # Errors
    /// None that these values allow; Arrow checks them once more.
    pub fn into_array(self) -> Result<(Field, ArrayRef), ArrowError> {
        let dtype = self.dtype();
        let array: ArrayRef = match self {
            Self::Unknown => Arc::new(NullArray::new(0)),
            Self::Bytes(data, ends) => {
                let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
                let data = Buffer::from_vec(data);
                Arc::new(LargeBinaryArray::try_new(offsets, data, None)?)
            }
            Self::Float32(values) => Arc::new(Float32Array::new(values.into(), None)),
            Self::Int64(values) => Arc::new(Int64Array::new(values.into(), None)),
            Self::Converted(_, numbers) => numbers.into_array()?,
        };
        Ok((item_field(dtype, array.data_type()), array))
    }
}

/// Calls `push` with the features, as long as they are there and it takes them; how many it took.
#[inline]
fn take<'a>(
    features: impl Iterator<Item = Option<Cell<'a>>>,
    mut push: impl FnMut(Cell<'a>) -> Option<()>,
) -> usize {
    let mut taken = 0;
    for feature in features {
        if feature.and_then(&mut push).is_none() {
            break;
        }
        taken += 1;
    }
    taken
}

/// Arrow's own extension type of booleans that are a byte each, as NumPy's are.
const BOOL8: &str = "arrow.bool8";
/// Arrow has no bfloat16: two bytes each.
const BFLOAT16: &str = "tfrecs.bfloat16";
const EXTENSION: &str = "ARROW:extension:name";

/// A field of values of type `dtype`; `None`: of what its storage says.
#[must_use]
pub fn item_field(dtype: Option<DType>, storage: &DataType) -> Field {
    let extension = match dtype {
        Some(DType::Bool) => BOOL8,
        Some(DType::BFloat16) => BFLOAT16,
        _ => return Field::new("item", storage.clone(), false),
    };
    let metadata = [(EXTENSION, extension), ("ARROW:extension:metadata", "")];
    Field::new("item", storage.clone(), false)
        .with_metadata(metadata.map(|(k, v)| (k.to_owned(), v.to_owned())))
}

/// The type of the values that `field` says its array holds; `None` if no column has such.
#[must_use]
pub fn dtype_of(field: &Field) -> Option<DType> {
    match field.data_type() {
        DataType::LargeBinary => Some(DType::Bytes),
        DataType::Int64 => Some(DType::Int64),
        DataType::Int32 => Some(DType::Int32),
        DataType::Int16 => Some(DType::Int16),
        DataType::Int8 if is_extension(field, BOOL8) => Some(DType::Bool),
        DataType::Int8 => Some(DType::Int8),
        DataType::UInt64 => Some(DType::UInt64),
        DataType::UInt32 => Some(DType::UInt32),
        DataType::UInt16 => Some(DType::UInt16),
        DataType::UInt8 => Some(DType::UInt8),
        DataType::Float32 => Some(DType::Float32),
        DataType::Float64 => Some(DType::Float64),
        DataType::Float16 => Some(DType::Float16),
        DataType::FixedSizeBinary(2) if is_extension(field, BFLOAT16) => Some(DType::BFloat16),
        _ => None,
    }
}

fn is_extension(field: &Field, name: &str) -> bool {
    field
        .metadata()
        .get(EXTENSION)
        .is_some_and(|found| found == name)
}

/// A length in memory is at most `isize::MAX`.
#[inline]
#[must_use]
pub fn as_offset(length: usize) -> i64 {
    length.cast_signed() as i64
}
