//! The values of a column, one behind the other, as they are read from the lists of records.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Int64Array, LargeBinaryArray, NullArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field};

use super::message;
use super::numbers::{self, Numbers, Read};
use super::short::Short;
use super::spare::emptied;
use super::spec::{DType, Default, Kind};

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
    /// other one, but only in proportion to the bytes that are left. A first record says much about
    /// the others, and nothing that could be believed blindly.
    #[must_use]
    pub fn more(self, count: usize) -> usize {
        let left = self.bytes.saturating_sub(self.first);
        let by_bytes = count.saturating_mul(left) / self.first.max(1);
        count
            .saturating_mul(self.rows.saturating_sub(1))
            .min(by_bytes)
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
        Self::new_in(dtype, Vec::new())
    }

    /// No values of type `dtype`, in the memory of `spare` as far as it goes: the buffers of an array that
    /// [`Self::into_array`] made.
    #[must_use]
    pub fn new_in(dtype: DType, mut spare: Vec<Buffer>) -> Self {
        match dtype {
            DType::Bytes => {
                let data = emptied(spare.pop());
                let mut ends = emptied(spare.pop());
                ends.push(0);
                Self::Bytes(data, ends)
            }
            DType::Float32 => Self::Float32(emptied(spare.pop())),
            DType::Int64 => Self::Int64(emptied(spare.pop())),
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
                data.reserve_exact(outlook.more(data.len()));
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
    /// What is wrong with the bytes.
    #[inline]
    pub fn push_list(&mut self, list: &[u8]) -> Read {
        match self {
            Self::Unknown => {}
            Self::Bytes(data, ends) => {
                let mut push = |value: &[u8]| {
                    data.extend_from_slice(value);
                    ends.push(as_offset(data.len()));
                };
                match message::only_bytes(list) {
                    Some(value) => push(value),
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

    /// Appends the values of a short list, if they are plainly `count`, or of `any` number; false if they have
    /// to go the long way.
    #[inline]
    pub fn push_short(&mut self, list: &Short<'_>, count: usize, any: bool) -> bool {
        let is = |found: usize| any || count == found;
        match self {
            Self::Bytes(data, ends) if list.is(Kind::Bytes) && is(1) => {
                list.push_bytes(data, ends);
                true
            }
            Self::Int64(values) if list.is(Kind::Int64) && is(1) => {
                list.int64().map(|value| values.push(value)).is_some()
            }
            Self::Float32(values) if list.is(Kind::Float32) => match list.floats() {
                Some(floats) if is(floats.len()) => {
                    values.extend(floats.iter().map(|bytes| f32::from_le_bytes(*bytes)));
                    true
                }
                _ => false,
            },
            _ => false,
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
