//! Arrow arrays of any type that a feature can have, as rows of feature values.

use std::borrow::Cow;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, OffsetSizeTrait};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};
use half::bf16;

use super::field::FeatureValues;
use super::strings::Strings;
use crate::error::{Error, Result};
use crate::example::decode::values::dtype_of;
use crate::example::spec::DType;

/// A column, ready to be encoded.
pub struct Column<'a> {
    pub(crate) name: &'a str,
    pub(crate) values: Values<'a>,
    pub(crate) rows: Rows,
    pub(crate) nulls: Option<NullBuffer>,
}

pub enum Values<'a> {
    Bytes(Strings<'a>),
    Float32(Cow<'a, [f32]>),
    Int64(Cow<'a, [i64]>),
    Missing,
}

/// Which values belong to a row.
pub enum Rows {
    /// This many in each row.
    Each(usize),
    /// From one offset to the next.
    Between(Vec<usize>),
}

impl Rows {
    /// Where the values of row `row` lie.
    #[inline]
    pub fn range(&self, row: usize) -> Option<Range<usize>> {
        match self {
            Self::Each(n) => Some(row * n..(row + 1) * n),
            Self::Between(offsets) => Some(*offsets.get(row)?..*offsets.get(row + 1)?),
        }
    }
}

impl<'a> Column<'a> {
    /// Looks into a column.
    pub fn of(field: &'a Field, array: &'a ArrayRef) -> Result<Self> {
        Self::named(field.name(), field, array).map_err(|error| error.at_feature(field.name()))
    }

    /// Looks into an array that is not called what its field is called.
    pub fn named(name: &'a str, field: &Field, array: &'a ArrayRef) -> Result<Self> {
        let (rows, values): (Rows, &'a dyn Array) = match array.data_type() {
            DataType::List(_) => lists::<i32>(array),
            DataType::LargeList(_) => lists::<i64>(array),
            DataType::FixedSizeList(..) => fixed_size_lists(array),
            _ => (Rows::Each(1), array.as_ref()),
        };
        let column = Self {
            name,
            values: read_values(innermost(field), values)?,
            rows,
            nulls: array.logical_nulls(),
        };
        if field.data_type().is_nested() {
            refuse_null_lists(array)?;
            column.refuse_inner_nulls(values, array.len())?;
        }
        Ok(column)
    }

    /// A row may be missing, but a list in a record has no way to say that one of its values is.
    fn refuse_inner_nulls(&self, values: &dyn Array, rows: usize) -> Result<()> {
        let Some(inner) = values
            .logical_nulls()
            .filter(|nulls| nulls.null_count() > 0)
        else {
            return Ok(());
        };
        for row in 0..rows {
            if self
                .range(row)
                .is_some_and(|mut range| range.any(|index| inner.is_null(index)))
            {
                return Err(Error::spec("a value inside a list is null").at_record(row as u64));
            }
        }
        Ok(())
    }

    /// The feature's name.
    pub fn name(&self) -> &'a [u8] {
        self.name.as_bytes()
    }

    /// The values in row `row`, byte strings gathered in `strings`; `None` for a null.
    pub fn row<'r>(
        &'r self,
        row: usize,
        strings: &'r mut Vec<&'a [u8]>,
    ) -> Option<FeatureValues<'r>> {
        let range = self.range(row)?;
        match &self.values {
            Values::Bytes(values) => {
                strings.clear();
                strings.extend(range.map(|index| values.get(index).unwrap_or_default()));
                Some(FeatureValues::Bytes(strings))
            }
            Values::Float32(values) => values.get(range).map(FeatureValues::Float32),
            Values::Int64(values) => values.get(range).map(FeatureValues::Int64),
            Values::Missing => None,
        }
    }

    /// Where the values of row `row` lie; `None` for a null.
    fn range(&self, row: usize) -> Option<Range<usize>> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        self.rows.range(row)
    }
}

/// The field of the values below all lists.
fn innermost(mut field: &Field) -> &Field {
    while let DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) =
        field.data_type()
    {
        field = item;
    }
    field
}

fn lists<O: OffsetSizeTrait>(array: &ArrayRef) -> (Rows, &dyn Array) {
    let lists = array.as_list::<O>();
    let offsets = lists
        .offsets()
        .iter()
        .map(|offset| offset.as_usize())
        .collect();
    (Rows::Between(offsets), lists.values().as_ref())
}

/// Lists of lists of … of a fixed size are one long list a row.
fn fixed_size_lists(array: &ArrayRef) -> (Rows, &dyn Array) {
    let mut each = 1;
    let mut values: &dyn Array = array.as_ref();
    while let Some(lists) = values.as_fixed_size_list_opt() {
        each *= usize::try_from(lists.value_length()).unwrap_or(0);
        values = lists.values().as_ref();
    }
    (Rows::Each(each), values)
}

/// A row may be missing, but not a list inside a row.
fn refuse_null_lists(array: &ArrayRef) -> Result<()> {
    let mut each = 1;
    let mut values: &dyn Array = array.as_ref();
    while let Some(lists) = values.as_fixed_size_list_opt() {
        each *= usize::try_from(lists.value_length()).unwrap_or(0);
        values = lists.values().as_ref();
        let Some(inner) = values
            .nulls()
            .filter(|_| values.as_fixed_size_list_opt().is_some())
        else {
            continue;
        };
        for row in (0..array.len()).filter(|&row| array.is_valid(row)) {
            if (row * each..(row + 1) * each).any(|index| inner.is_null(index)) {
                return Err(Error::spec("a list inside a row is null").at_record(row as u64));
            }
        }
    }
    Ok(())
}

/// The values of an array that is no list; `field` knows what its type does not tell. Nulls read as
/// anything.
fn read_values<'a>(field: &Field, array: &'a dyn Array) -> Result<Values<'a>> {
    if dtype_of(field) == Some(DType::BFloat16) {
        return Ok(Values::Float32(bfloat16s(array)));
    }
    read_plain_values(array)
}

fn read_plain_values(array: &dyn Array) -> Result<Values<'_>> {
    Ok(match array.data_type() {
        DataType::Null => Values::Missing,
        DataType::Boolean => {
            let values = array.as_boolean().values();
            Values::Int64(values.iter().map(i64::from).collect())
        }
        DataType::Int64 => Values::Int64(Cow::Borrowed(array.as_primitive::<Int64Type>().values())),
        DataType::Int8 => int64s::<Int8Type>(array),
        DataType::Int16 => int64s::<Int16Type>(array),
        DataType::Int32 => int64s::<Int32Type>(array),
        DataType::UInt8 => int64s::<UInt8Type>(array),
        DataType::UInt16 => int64s::<UInt16Type>(array),
        DataType::UInt32 => int64s::<UInt32Type>(array),
        DataType::UInt64 => checked_int64s(array)?,
        DataType::Float32 => {
            Values::Float32(Cow::Borrowed(array.as_primitive::<Float32Type>().values()))
        }
        DataType::Float16 => {
            let values = array.as_primitive::<Float16Type>().values();
            Values::Float32(values.iter().map(|value| value.to_f32()).collect())
        }
        DataType::Float64 => checked_floats(array)?,
        DataType::Dictionary(..) => read_dictionary(array)?,
        _ => Values::Bytes(Strings::of(array)?),
    })
}

fn bfloat16s(array: &dyn Array) -> Cow<'_, [f32]> {
    let words = array.as_fixed_size_binary().value_data().as_chunks::<2>().0;
    words
        .iter()
        .map(|word| bf16::from_le_bytes(*word).to_f32())
        .collect()
}

fn int64s<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array) -> Values<'_> {
    let values = array.as_primitive::<T>().values();
    Values::Int64(values.iter().map(|&value| value.into()).collect())
}

fn checked_int64s(array: &dyn Array) -> Result<Values<'_>> {
    let values = array.as_primitive::<UInt64Type>();
    let convert = |(row, &value): (usize, &u64)| match i64::try_from(value) {
        Err(_) if values.is_valid(row) => Err(Error::spec(format!(
            "value {row}: {value} does not fit int64, the only integer type of Example"
        ))),
        fine_or_null => Ok(fine_or_null.unwrap_or(0)),
    };
    Ok(Values::Int64(
        values
            .values()
            .iter()
            .enumerate()
            .map(convert)
            .collect::<Result<_>>()?,
    ))
}

fn checked_floats(array: &dyn Array) -> Result<Values<'_>> {
    let values = array.as_primitive::<Float64Type>();
    let convert = |(row, &value): (usize, &f64)| {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "rounding is what is wanted"
        )]
        let narrow = value as f32;
        if narrow.is_infinite() && value.is_finite() && values.is_valid(row) {
            return Err(Error::spec(format!(
                "value {row}: {value:e} does not fit float32, the only float type of Example"
            )));
        }
        Ok(narrow)
    };
    Ok(Values::Float32(
        values
            .values()
            .iter()
            .enumerate()
            .map(convert)
            .collect::<Result<_>>()?,
    ))
}

fn read_dictionary(array: &dyn Array) -> Result<Values<'_>> {
    let dictionary = array.as_any_dictionary();
    let values = read_plain_values(dictionary.values().as_ref())?;
    if dictionary.values().is_empty() {
        return Ok(Values::Missing);
    }
    let keys = dictionary.normalized_keys();
    Ok(match values {
        Values::Bytes(all) => Values::Bytes(Strings::Each(
            keys.iter()
                .map(|&key| all.get(key).unwrap_or_default())
                .collect(),
        )),
        Values::Float32(all) => Values::Float32(gather(&all, &keys).into()),
        Values::Int64(all) => Values::Int64(gather(&all, &keys).into()),
        Values::Missing => Values::Missing,
    })
}

/// The values at `keys`. A null's key may be anything, and nobody looks at what it gives.
fn gather<T: Copy + Default>(values: &[T], keys: &[usize]) -> Vec<T> {
    keys.iter()
        .map(|&key| values.get(key).copied().unwrap_or_default())
        .collect()
}
