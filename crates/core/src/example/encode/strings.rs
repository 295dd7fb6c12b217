//! Byte strings of any Arrow layout.

use arrow_array::cast::AsArray;
use arrow_array::{Array, OffsetSizeTrait};
use arrow_schema::DataType;

use crate::error::{Error, Result};

/// The byte strings of an array.
pub enum Strings<'a> {
    /// From one offset of the bytes to the next.
    Small(Joined<'a, i32>),
    /// The same with wider offsets.
    Large(Joined<'a, i64>),
    /// Each somewhere else.
    Each(Vec<&'a [u8]>),
}

/// Byte strings one after the other.
#[derive(Clone, Copy)]
pub struct Joined<'a, O> {
    pub offsets: &'a [O],
    pub bytes: &'a [u8],
}

impl<'a, O: OffsetSizeTrait> Joined<'a, O> {
    /// Where string `index` begins, and how long it is.
    #[inline]
    pub fn place(&self, index: usize) -> Option<(usize, usize)> {
        let start = self.offsets.get(index)?.as_usize();
        let end = self.offsets.get(index + 1)?.as_usize();
        Some((start, end.wrapping_sub(start)))
    }

    fn get(&self, index: usize) -> Option<&'a [u8]> {
        let (start, len) = self.place(index)?;
        self.bytes.get(start..)?.get(..len)
    }
}

impl<'a> Strings<'a> {
    /// Looks into an array.
    pub fn of(array: &'a dyn Array) -> Result<Self> {
        let rows = 0..array.len();
        Ok(match array.data_type() {
            DataType::Binary => {
                let array = array.as_binary::<i32>();
                Self::Small(joined(array.offsets(), array.value_data()))
            }
            DataType::LargeBinary => {
                let array = array.as_binary::<i64>();
                Self::Large(joined(array.offsets(), array.value_data()))
            }
            DataType::Utf8 => {
                let array = array.as_string::<i32>();
                Self::Small(joined(array.offsets(), array.value_data()))
            }
            DataType::LargeUtf8 => {
                let array = array.as_string::<i64>();
                Self::Large(joined(array.offsets(), array.value_data()))
            }
            DataType::BinaryView => {
                let array = array.as_binary_view();
                Self::Each(rows.map(|row| array.value(row)).collect())
            }
            DataType::Utf8View => {
                let array = array.as_string_view();
                Self::Each(rows.map(|row| array.value(row).as_bytes()).collect())
            }
            DataType::FixedSizeBinary(_) => {
                let array = array.as_fixed_size_binary();
                Self::Each(rows.map(|row| array.value(row)).collect())
            }
            other => return Err(unsupported(other)),
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Small(joined) => joined.offsets.len().saturating_sub(1),
            Self::Large(joined) => joined.offsets.len().saturating_sub(1),
            Self::Each(all) => all.len(),
        }
    }

    /// How many bytes they have together, if none lies in another.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Small(joined) => joined.bytes.len(),
            Self::Large(joined) => joined.bytes.len(),
            Self::Each(all) => all.iter().map(|string| string.len()).sum(),
        }
    }

    /// String `index`, if there is one.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        match self {
            Self::Small(joined) => joined.get(index),
            Self::Large(joined) => joined.get(index),
            Self::Each(all) => all.get(index).copied(),
        }
    }
}

fn joined<'a, O>(offsets: &'a [O], bytes: &'a [u8]) -> Joined<'a, O> {
    Joined { offsets, bytes }
}

fn unsupported(data_type: &DataType) -> Error {
    let remedy = match data_type {
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
            "a feature is one flat list: flatten the inner lists, or make a SequenceExample"
        }
        DataType::Struct(_) => "make a column of each of its fields",
        DataType::Decimal128(..) | DataType::Decimal256(..) => "cast it to float64 or to a string",
        _ => "cast it to an integer, a float, a string or binary",
    };
    Error::spec(format!(
        "a column of Arrow type {data_type} cannot be a feature: {remedy}"
    ))
}
