//! One `TensorProto`: what it says of itself, and its values as they are written.

use super::shown;
use super::types::{FLOAT8_VAL, TensorType};
use crate::error::{Error, Result};
use crate::example::varint;
use crate::example::wire::{Wire, WireError, WireType};

/// The most dimensions that `TensorFlow` gives a tensor.
const MAX_DIMS: usize = 254;

/// A message that has been looked through: the lengths of all its fields are sound, and so is the
/// content of those that this knows.
pub struct Proto<'a> {
    message: &'a [u8],
    dtype: u32,
    dims: Vec<i64>,
    /// The array's memory, if it is written as such.
    pub content: &'a [u8],
    /// The last `float8_val`.
    pub bytes: &'a [u8],
}

/// Values as they lie in a field: one, or some that are packed.
pub enum Chunk<'a> {
    /// A single varint.
    Varint(u64),
    /// A single value of 4 or 8 bytes.
    Single(&'a [u8]),
    /// Packed values, or a byte string.
    Bytes(&'a [u8]),
}

impl<'a> Proto<'a> {
    /// Looks through a message.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn parse(message: &'a [u8]) -> Result<Self> {
        let mut proto = Self {
            message,
            dtype: 0,
            dims: Vec::new(),
            content: b"",
            bytes: b"",
        };
        let mut wire = Wire(message);
        while !wire.is_empty() {
            proto.read_field(&mut wire)?;
        }
        Ok(proto)
    }

    fn read_field(&mut self, wire: &mut Wire<'a>) -> Result<()> {
        match wire.tag()? {
            (1, WireType::Varint) => self.dtype = low_half(wire.varint()?),
            (2, WireType::Bytes) => self.read_shape(wire.bytes()?)?,
            (4, WireType::Bytes) => self.content = wire.bytes()?,
            (FLOAT8_VAL, WireType::Bytes) => self.bytes = wire.bytes()?,
            (number, WireType::Bytes) => check_packed(number, wire.bytes()?)?,
            (number, wire_type) => wire.skip(number, wire_type)?,
        }
        Ok(())
    }

    /// Shapes in several parts are one, as messages merge.
    fn read_shape(&mut self, shape: &[u8]) -> Result<()> {
        let mut wire = Wire(shape);
        while !wire.is_empty() {
            match wire.tag()? {
                (2, WireType::Bytes) => self.dims.push(size_of(wire.bytes()?)?),
                (number, wire_type) => wire.skip(number, wire_type)?,
            }
            if self.dims.len() > MAX_DIMS {
                let text = format!("the tensor's shape has more than {MAX_DIMS} dimensions");
                return Err(Error::content(text));
            }
        }
        Ok(())
    }

    /// Its type, which must be `wanted`, if anything is.
    ///
    /// # Errors
    /// It is another one, or none that has values.
    pub fn dtype(&self, wanted: Option<&'static TensorType>) -> Result<&'static TensorType> {
        let found = TensorType::of_number(self.dtype);
        match (found, wanted) {
            (Some(found), Some(wanted)) if found != wanted => Err(Error::content(format!(
                "Type mismatch between parsed tensor ({}) and dtype ({})",
                found.name, wanted.name
            ))),
            (Some(found), _) => Ok(found),
            (None, _) => Err(Error::content(unknown(self.dtype))),
        }
    }

    /// Its shape.
    ///
    /// # Errors
    /// A dimension is negative, or no memory has that many values of this type.
    pub fn shape(&self, dtype: &TensorType) -> Result<Vec<u64>> {
        let sizes: std::result::Result<Vec<u64>, _> =
            self.dims.iter().map(|&size| u64::try_from(size)).collect();
        let shape = sizes.map_err(|_| {
            let text = format!(
                "the tensor's shape {:?} has a negative dimension",
                self.dims
            );
            Error::content(text)
        })?;
        // Not stopped by a 0: no array has such dimensions, were it empty.
        let bytes = shape
            .iter()
            .filter(|&&size| size > 0)
            .try_fold(dtype.width as u64, |bytes, &size| bytes.checked_mul(size))
            .filter(|&bytes| i64::try_from(bytes).is_ok());
        bytes.map(|_| ()).ok_or_else(|| {
            let text = format!(
                "the tensor's shape {} is larger than any memory",
                shown(&shape)
            );
            Error::content(text)
        })?;
        Ok(shape)
    }

    /// Whether its shape is `shape`.
    #[must_use]
    pub fn has_shape(&self, shape: &[u64]) -> bool {
        self.dims
            .iter()
            .map(|&size| u64::try_from(size))
            .eq(shape.iter().map(|&size| Ok(size)))
    }

    /// Calls `visit` with the values in field `number`, as they lie there.
    ///
    /// # Errors
    /// Those of `visit`.
    pub fn for_each_chunk(
        &self,
        number: u32,
        mut visit: impl FnMut(Chunk<'a>) -> Result<()>,
    ) -> Result<()> {
        let mut wire = Wire(self.message);
        while !wire.is_empty() {
            match wire.tag()? {
                (found, wire_type) if found != number => wire.skip(found, wire_type)?,
                (_, WireType::Varint) => visit(Chunk::Varint(wire.varint()?))?,
                (_, WireType::Fixed32) => visit(Chunk::Single(wire.take(4)?))?,
                (_, WireType::Fixed64) => visit(Chunk::Single(wire.take(8)?))?,
                (_, WireType::Bytes) => visit(Chunk::Bytes(wire.bytes()?))?,
                (_, group) => wire.skip(number, group)?,
            }
        }
        Ok(())
    }
}

/// What protobuf keeps of a varint in a field of 32 bits.
#[must_use]
#[allow(clippy::cast_possible_truncation, reason = "this is what is meant")]
pub fn low_half(value: u64) -> u32 {
    value as u32
}

fn unknown(number: u32) -> String {
    match number {
        0 => "this is no tensor: it has no dtype".into(),
        20 | 21 => "the tensor holds a resource or a variant, which are no values".into(),
        _ => format!("there is no tensor of dtype {number}"),
    }
}

/// The size that a `Dim` says.
fn size_of(dim: &[u8]) -> Result<i64> {
    let (mut wire, mut size) = (Wire(dim), 0);
    while !wire.is_empty() {
        match wire.tag()? {
            (1, WireType::Varint) => size = wire.varint()?.cast_signed(),
            (2, WireType::Bytes) => {
                std::str::from_utf8(wire.bytes()?)
                    .map_err(|_| Error::content("the name of a dimension is not UTF-8"))?;
            }
            (number, wire_type) => wire.skip(number, wire_type)?,
        }
    }
    Ok(size)
}

/// Checks packed values, also of fields that the tensor's type does not use.
fn check_packed(number: u32, packed: &[u8]) -> Result<()> {
    match number {
        5 | 9 if !packed.len().is_multiple_of(4) => Err(WireError::RaggedFloats.into()),
        6 | 12 if !packed.len().is_multiple_of(8) => Err(Error::content(
            "broken protobuf message: the length of a packed double list is no multiple of 8",
        )),
        7 | 10 | 11 | 13 | 16 | 17 => Ok(varint::for_each_slice(packed, |_| ())?),
        _ => Ok(()),
    }
}
