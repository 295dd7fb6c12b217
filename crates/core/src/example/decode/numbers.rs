//! Numbers of every type that is not that of the lists they are read from: converted while reading.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{ArrayRef, FixedSizeBinaryArray, Float16Array, Float64Array, PrimitiveArray};
use arrow_buffer::Buffer;
use arrow_schema::ArrowError;
use half::vec::HalfFloatVecExt;
use half::{bf16, f16};

use crate::example::message;
use crate::example::spec::{DType, Default};
use crate::example::wire::WireError;
use crate::runtime::simd;

mod rounding;
#[cfg(test)]
mod tests;

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

/// What came of reading a list: the first value that does not fit, if any.
pub type Read = Result<Option<Misfit>, WireError>;

/// Numbers of a type that is not that of the lists they are read from.
pub trait Numbers: Send {
    /// How many there are.
    fn count(&self) -> usize;
    /// Forgets all after the first `len`.
    fn truncate(&mut self, len: usize);
    /// Makes room for that many more.
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

/// No numbers of type `dtype`; none for the types that lists are read to as they are.
#[must_use]
pub fn of(dtype: DType) -> Option<Box<dyn Numbers>> {
    Some(match dtype {
        DType::Bytes | DType::Float32 | DType::Int64 => return None,
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
    })
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
        i8::try_from(value).ok().filter(|&value| value & 1 == value)
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
fn push_int64s<T: std::default::Default>(
    list: &[u8],
    out: &mut Vec<T>,
    convert: impl Fn(i64) -> Option<T>,
) -> Read {
    let mut misfit = None;
    message::for_each_int64s(list, |values| {
        if values.len() < MANY || !push_all(values, out, &convert) {
            for &value in values {
                match convert(value) {
                    Some(converted) => out.push(converted),
                    None => misfit = misfit.or(Some(Misfit::Int64(value))),
                }
            }
        }
    })?;
    Ok(misfit)
}

/// From how many values on converting them side by side pays.
const MANY: usize = 16;

/// Appends what `convert` makes of all values, or nothing if one does not fit: so that no value has to
/// wait for whether the one before did.
#[inline]
fn push_all<T: std::default::Default>(
    values: &[i64],
    out: &mut Vec<T>,
    convert: impl Fn(i64) -> Option<T>,
) -> bool {
    let before = out.len();
    let all_fit = simd::widest(
        #[inline(always)]
        || {
            let mut all_fit = true;
            out.extend(values.iter().map(|&value| {
                let converted = convert(value);
                all_fit &= converted.is_some();
                converted.unwrap_or_default()
            }));
            all_fit
        },
    );
    if !all_fit {
        out.truncate(before);
    }
    all_fit
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
    #[inline]
    fn of(value: f32) -> Self {
        Self::from_bits(rounding::to_f16(value))
    }

    fn is_infinite(self) -> bool {
        self.is_infinite()
    }

    fn into_array(values: Vec<Self>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(Float16Array::new(values.into(), None)))
    }
}

impl Float for bf16 {
    #[inline]
    fn of(value: f32) -> Self {
        Self::from_bits(rounding::to_bf16(value))
    }

    fn is_infinite(self) -> bool {
        self.is_infinite()
    }

    fn into_array(values: Vec<Self>) -> Result<ArrayRef, ArrowError> {
        let bytes = Buffer::from_vec(values.reinterpret_into());
        Ok(Arc::new(FixedSizeBinaryArray::try_new(2, bytes, None)?))
    }
}

struct Floats<T>(PhantomData<T>);

impl<T: Float> Conversion for Floats<T> {
    type To = T;

    fn push_list(list: &[u8], out: &mut Vec<T>) -> Read {
        let mut misfit = None;
        message::for_each_floats(list, |floats| {
            if !push_floats(floats, out) {
                misfit = misfit.or_else(|| first_misfit::<T>(floats));
            }
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

/// Appends all values, converted: whether none became infinite that was not.
#[inline]
fn push_floats<T: Float>(floats: &[[u8; 4]], out: &mut Vec<T>) -> bool {
    if floats.len() < MANY {
        return extend(floats, out);
    }
    simd::widest(
        #[inline(always)]
        || extend(floats, out),
    )
}

#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "to be compiled for the vectors of who calls it"
)]
fn extend<T: Float>(floats: &[[u8; 4]], out: &mut Vec<T>) -> bool {
    let mut all_fit = true;
    out.extend(floats.iter().map(|bytes| {
        let value = f32::from_le_bytes(*bytes);
        let rounded = T::of(value);
        all_fit &= !rounded.is_infinite() | !value.is_finite();
        rounded
    }));
    all_fit
}

#[cold]
fn first_misfit<T: Float>(floats: &[[u8; 4]]) -> Option<Misfit> {
    let mut values = floats.iter().map(|bytes| f32::from_le_bytes(*bytes));
    let misfit = values.find(|&value| T::of(value).is_infinite() && value.is_finite());
    misfit.map(Misfit::Float32)
}
