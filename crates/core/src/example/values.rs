//! The values of a column, one behind the other, as they are read from the lists of records.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    ArrayRef, FixedSizeBinaryArray, Float16Array, Float32Array, Float64Array, Int64Array,
    LargeBinaryArray, NullArray, PrimitiveArray,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field};
use half::{bf16, f16};

use super::message;
use super::spec::{DType, Default, Kind};
use super::wire::WireError;

/// A number in a record that the column's type cannot hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Misfit {
    /// From an `Int64List`.
    Int64(i64),
    /// From a `FloatList`.
    Float32(f32),
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int64(value) => value.fmt(f),
            Self::Float32(value) => write!(f, "{value:e}"),
        }
    }
}

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

/// What came of reading a list: the first value that does not fit, if any.
type Read = Result<Option<Misfit>, WireError>;

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
        let numbers: Box<dyn Numbers> = match dtype {
            DType::Bytes => return Self::Bytes(Vec::new(), vec![0]),
            DType::Float32 => return Self::Float32(Vec::new()),
            DType::Int64 => return Self::Int64(Vec::new()),
            DType::Int32 => converted::<Integers<Int32Type>>(),
            DType::Int16 => converted::<Integers<Int16Type>>(),
            DType::Int8 => converted::<Integers<Int8Type>>(),
            DType::UInt64 => converted::<Integers<UInt64Type>>(),
            DType::UInt32 => converted::<Integers<UInt32Type>>(),
            DType::UInt16 => converted::<Integers<UInt16Type>>(),
            DType::UInt8 => converted::<Integers<UInt8Type>>(),
            DType::Bool => converted::<Truth>(),
            DType::Float64 => converted::<Floats<f64>>(),
            DType::Float16 => converted::<Floats<f16>>(),
            DType::BFloat16 => converted::<Floats<bf16>>(),
        };
        Self::Converted(dtype, numbers)
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
            Self::Int64(values) => {
                // A local vector, so that its length can stay in a register.
                let mut all = std::mem::take(values);
                let read = message::for_each_int64(list, |value| all.push(value));
                *values = all;
                read?;
            }
            Self::Converted(_, numbers) => return numbers.push_list(list),
        }
        Ok(None)
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

/// Numbers of a type that is not that of the lists they are read from.
pub trait Numbers: Send {
    /// How many there are.
    fn count(&self) -> usize;
    /// Forgets all after the first `len`.
    fn truncate(&mut self, len: usize);
    /// Makes room for so many more.
    fn reserve(&mut self, more: usize);
    /// Appends the values of a list; of those that do not fit, tells the first.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    fn push_list(&mut self, list: &[u8]) -> Read;
    /// Appends the values of a default.
    fn push_default(&mut self, default: &Default);
    /// The values as an array.
    ///
    /// # Errors
    /// None that these values allow.
    fn into_array(self: Box<Self>) -> Result<ArrayRef, ArrowError>;
}

/// How numbers of a type are made of those in a list.
trait Conversion: Send {
    type To: Copy + Send;

    fn push_list(list: &[u8], out: &mut Vec<Self::To>) -> Read;
    fn push_default(default: &Default, out: &mut Vec<Self::To>);
    fn into_array(values: Vec<Self::To>) -> Result<ArrayRef, ArrowError>;
}

struct Converted<C: Conversion>(Vec<C::To>);

impl<C: Conversion> Numbers for Converted<C> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    fn reserve(&mut self, more: usize) {
        self.0.reserve_exact(more);
    }

    fn push_list(&mut self, list: &[u8]) -> Read {
        C::push_list(list, &mut self.0)
    }

    fn push_default(&mut self, default: &Default) {
        C::push_default(default, &mut self.0);
    }

    fn into_array(self: Box<Self>) -> Result<ArrayRef, ArrowError> {
        C::into_array(self.0)
    }
}

fn converted<C: Conversion + 'static>() -> Box<dyn Numbers> {
    Box::new(Converted::<C>(Vec::new()))
}

/// A type of integers in which not every int64 has a place.
trait Integer: ArrowPrimitiveType + Send {
    fn of(value: i64) -> Option<Self::Native>;
}

impl<T: ArrowPrimitiveType<Native: TryFrom<i64>> + Send> Integer for T {
    #[inline]
    fn of(value: i64) -> Option<Self::Native> {
        value.try_into().ok()
    }
}

struct Integers<T>(PhantomData<T>);

impl<T: Integer> Conversion for Integers<T> {
    type To = T::Native;

    fn push_list(list: &[u8], out: &mut Vec<T::Native>) -> Read {
        push_int64s(list, out, T::of)
    }

    fn push_default(default: &Default, out: &mut Vec<T::Native>) {
        out.extend(int64s_of(default).iter().filter_map(|&value| T::of(value)));
    }

    fn into_array(values: Vec<T::Native>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), None)))
    }
}

/// 0 and 1, a byte each.
struct Truth;

impl Truth {
    fn of(value: i64) -> Option<i8> {
        match value {
            0 => Some(0),
            1 => Some(1),
            _ => None,
        }
    }
}

impl Conversion for Truth {
    type To = i8;

    fn push_list(list: &[u8], out: &mut Vec<i8>) -> Read {
        push_int64s(list, out, Self::of)
    }

    fn push_default(default: &Default, out: &mut Vec<i8>) {
        out.extend(int64s_of(default).iter().copied().filter_map(Self::of));
    }

    fn into_array(values: Vec<i8>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(PrimitiveArray::<Int8Type>::new(
            values.into(),
            None,
        )))
    }
}

/// Appends what `convert` makes of the values of an `Int64List`.
#[inline]
fn push_int64s<T>(list: &[u8], out: &mut Vec<T>, convert: impl Fn(i64) -> Option<T>) -> Read {
    let mut misfit = None;
    let mut all = std::mem::take(out);
    let read = message::for_each_int64(list, |value| match convert(value) {
        Some(converted) => all.push(converted),
        None => misfit = misfit.or(Some(Misfit::Int64(value))),
    });
    *out = all;
    read.map(|()| misfit)
}

fn int64s_of(default: &Default) -> &[i64] {
    match default {
        Default::Int64(values) => values,
        _ => &[],
    }
}

/// A type that float32 values are widened or rounded to.
trait Float: Copy + Send + 'static {
    fn of(value: f32) -> Self;
    fn is_infinite(self) -> bool;
    fn into_array(values: Vec<Self>) -> Result<ArrayRef, ArrowError>;
}

impl Float for f64 {
    fn of(value: f32) -> Self {
        value.into()
    }

    fn is_infinite(self) -> bool {
        self.is_infinite()
    }

    fn into_array(values: Vec<Self>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(Float64Array::new(values.into(), None)))
    }
}

impl Float for f16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn is_infinite(self) -> bool {
        self.is_infinite()
    }

    fn into_array(values: Vec<Self>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(Float16Array::new(values.into(), None)))
    }
}

impl Float for bf16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn is_infinite(self) -> bool {
        self.is_infinite()
    }

    fn into_array(values: Vec<Self>) -> Result<ArrayRef, ArrowError> {
        let words: Vec<u16> = values.into_iter().map(Self::to_bits).collect();
        let bytes = Buffer::from_vec(words);
        Ok(Arc::new(FixedSizeBinaryArray::try_new(2, bytes, None)?))
    }
}

struct Floats<T>(PhantomData<T>);

impl<T: Float> Conversion for Floats<T> {
    type To = T;

    fn push_list(list: &[u8], out: &mut Vec<T>) -> Read {
        let mut misfit = None;
        message::for_each_floats(list, |floats| {
            out.extend(floats.iter().map(|bytes| {
                let value = f32::from_le_bytes(*bytes);
                let rounded = T::of(value);
                if rounded.is_infinite() && value.is_finite() {
                    misfit = misfit.or(Some(Misfit::Float32(value)));
                }
                rounded
            }));
        })?;
        Ok(misfit)
    }

    fn push_default(default: &Default, out: &mut Vec<T>) {
        if let Default::Float32(values) = default {
            out.extend(values.iter().map(|&value| T::of(value)));
        }
    }

    fn into_array(values: Vec<T>) -> Result<ArrayRef, ArrowError> {
        T::into_array(values)
    }
}

/// A length in memory is at most `isize::MAX`.
#[inline]
#[must_use]
pub fn as_offset(length: usize) -> i64 {
    length.cast_signed() as i64
}
