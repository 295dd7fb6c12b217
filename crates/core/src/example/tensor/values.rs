//! The values of tensors, one after the other.

use std::fmt::Display;

use arrow_buffer::Buffer;

use super::proto::{Chunk, Proto, low_half};
use super::types::{Field, Meaning, STRING_VAL, TensorType, widened};
use super::{Tensors, shown};
use crate::error::{Error, Result, counted};
use crate::example::varint;
use crate::example::wire::Wire;

/// The values of tensors of one type.
#[derive(Debug)]
pub enum TensorValues {
    /// Numbers, as in memory.
    Numbers(Buffer),
    /// Byte strings: where each ends, after a leading 0, and their bytes.
    Strings(Buffer, Buffer),
}

/// How many bytes of memory a result may take.
#[derive(Clone, Copy, Debug)]
pub struct Limit(usize);

impl Limit {
    /// As many as `asked`, or what `input` bytes of tensors justify.
    #[must_use]
    pub fn of(input: usize, asked: Option<usize>) -> Self {
        Self(asked.unwrap_or_else(|| input.saturating_mul(32).saturating_add(1_000_000)))
    }

    fn check(self, bytes: Option<usize>) -> Result<usize> {
        match bytes {
            Some(bytes) if bytes <= self.0 => Ok(bytes),
            Some(bytes) => Err(Error::content(format!(
                "the values would take {bytes} bytes, more than the limit of {}: if that many were \
                 written, raise max_bytes",
                self.0
            ))),
            None => Err(Error::content(
                "the values would take more bytes than there can be",
            )),
        }
    }
}

/// Tensors of one type and one shape, while they are put together.
pub struct Stack {
    dtype: &'static TensorType,
    shape: Vec<u64>,
    elements: usize,
    /// Numbers, or the bytes of byte strings.
    data: Vec<u8>,
    ends: Vec<i64>,
    limit: Limit,
}

impl Stack {
    /// Room for `count` tensors.
    ///
    /// # Errors
    /// There is no such room.
    pub fn new(
        dtype: &'static TensorType,
        shape: Vec<u64>,
        count: usize,
        limit: Limit,
    ) -> Result<Self> {
        let elements = shape.iter().try_fold(1usize, |all, &size| {
            all.checked_mul(usize::try_from(size).ok()?)
        });
        let values = elements.and_then(|elements| elements.checked_mul(count));
        let bytes = limit.check(values.and_then(|values| values.checked_mul(dtype.width)))?;
        let mut stack = Self {
            dtype,
            shape,
            elements: elements.unwrap_or_default(),
            data: Vec::new(),
            ends: Vec::new(),
            limit,
        };
        if dtype.field == Field::Strings {
            let ends = values.unwrap_or_default() + 1;
            stack
                .ends
                .try_reserve_exact(ends)
                .map_err(|_| no_memory(bytes))?;
            stack.ends.push(0);
        } else {
            stack
                .data
                .try_reserve_exact(bytes)
                .map_err(|_| no_memory(bytes))?;
        }
        Ok(stack)
    }

    /// The type of all.
    #[must_use]
    pub fn dtype(&self) -> &'static TensorType {
        self.dtype
    }

    /// Adds a tensor.
    ///
    /// # Errors
    /// It has another shape, not the values that its shape takes, or takes more memory than is left.
    pub fn push(&mut self, proto: &Proto<'_>) -> Result<()> {
        if !proto.has_shape(&self.shape) {
            return Err(Error::content(format!(
                "the tensor's shape {} is not that of the first, {}",
                shown(&proto.shape(self.dtype)?),
                shown(&self.shape)
            )));
        }
        match self.dtype.field {
            Field::Strings if proto.content.is_empty() => self.push_strings(proto),
            Field::Strings => self.push_string_content(proto.content),
            _ if proto.content.is_empty() => self.push_values(proto),
            _ => self.push_content(proto.content),
        }
    }

    /// The tensors.
    #[must_use]
    pub fn finish(self) -> Tensors {
        let data = Buffer::from_vec(self.data);
        Tensors {
            dtype: self.dtype,
            shape: self.shape,
            values: match self.dtype.field {
                Field::Strings => TensorValues::Strings(Buffer::from_vec(self.ends), data),
                _ => TensorValues::Numbers(data),
            },
        }
    }

    fn push_content(&mut self, content: &[u8]) -> Result<()> {
        let bytes = self.elements * self.dtype.width;
        if content.len() != bytes {
            return Err(Error::content(format!(
                "the tensor_content has {}, and the shape {} of {} takes {bytes}",
                counted(content.len() as u64, "byte"),
                shown(&self.shape),
                self.dtype.name
            )));
        }
        if let Field::Varint(_, Meaning::Truth) = self.dtype.field
            && content.iter().any(|&byte| byte > 1)
        {
            return Err(Error::content(
                "the tensor_content has bools that are neither 0 nor 1",
            ));
        }
        self.push_bytes(content)
    }

    /// `TensorValues` that lie in `bytes` as in memory.
    fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(bits) = self.dtype.narrow() else {
            self.data.extend_from_slice(bytes);
            return Ok(());
        };
        for &byte in bytes {
            let value = widened(byte, bits).ok_or_else(|| misfit(byte, self.dtype))?;
            self.data.push(value);
        }
        Ok(())
    }

    fn push_values(&mut self, proto: &Proto<'_>) -> Result<()> {
        let start = self.data.len();
        let count = match self.dtype.field {
            Field::Fixed(number, part) => self.push_fixed(proto, number, part)?,
            Field::Varint(number, meaning) => self.push_varints(proto, number, meaning)?,
            Field::Bytes | Field::Strings => {
                let room = proto.bytes.len().min(self.elements);
                self.push_bytes(proto.bytes.get(..room).unwrap_or_default())?;
                proto.bytes.len()
            }
        };
        self.check_count(count)?;
        self.repeat_last(start, count);
        Ok(())
    }

    fn push_fixed(&mut self, proto: &Proto<'_>, number: u32, part: usize) -> Result<usize> {
        let (width, start) = (self.dtype.width, self.data.len());
        let (room, mut bytes) = (self.elements * width, 0);
        proto.for_each_chunk(number, |chunk| {
            let more = match chunk {
                Chunk::Bytes(packed) => packed,
                Chunk::Single(one) if one.len() == part => one,
                _ => return Ok(()), // of another wire type, and so unknown
            };
            bytes += more.len();
            let left = room - (self.data.len() - start);
            self.data
                .extend_from_slice(more.get(..left).unwrap_or(more));
            Ok(())
        })?;
        if bytes.is_multiple_of(width) {
            return Ok(bytes / width);
        }
        Err(Error::content(format!(
            "the tensor has {} numbers for values of {}, which take two each",
            bytes / part,
            self.dtype.name
        )))
    }

    fn push_varints(&mut self, proto: &Proto<'_>, number: u32, meaning: Meaning) -> Result<usize> {
        let (mut count, mut odd) = (0, None);
        let (dtype, elements) = (self.dtype, self.elements);
        let mut push = |varint| {
            match meaning.of(varint) {
                Ok(value) if count < elements => {
                    let bytes = value.to_le_bytes();
                    self.data
                        .extend_from_slice(bytes.get(..dtype.width).unwrap_or(&bytes));
                }
                Ok(_) => {}
                Err(value) => odd = Some(value),
            }
            count += 1;
        };
        proto.for_each_chunk(number, |chunk| {
            match chunk {
                Chunk::Varint(varint) => push(varint),
                Chunk::Bytes(packed) => varint::for_each_slice(packed, |values| {
                    for value in values {
                        push(value.cast_unsigned());
                    }
                })?,
                Chunk::Single(_) => {}
            }
            Ok(())
        })?;
        match odd {
            None => Ok(count),
            Some(value) => Err(misfit(value, dtype)),
        }
    }

    fn check_count(&self, count: usize) -> Result<()> {
        if count <= self.elements {
            return Ok(());
        }
        let (shape, elements) = (shown(&self.shape), self.elements);
        let text = format!(
            "the tensor has {}, and its shape {shape} takes {elements}",
            counted(count as u64, "value")
        );
        Err(Error::content(text))
    }

    /// Fills up with the last of `count` values; without any, with zeros.
    fn repeat_last(&mut self, start: usize, count: usize) {
        let (width, end) = (self.dtype.width, start + self.elements * self.dtype.width);
        if count == 0 {
            self.data.resize(end, 0);
            return;
        }
        let last = self.data.len() - width;
        while self.data.len() < end {
            // What repeats doubles each time.
            let more = (self.data.len() - last).min(end - self.data.len());
            self.data.extend_from_within(last..last + more);
        }
    }

    fn push_strings(&mut self, proto: &Proto<'_>) -> Result<()> {
        let (mut count, mut last): (usize, &[u8]) = (0, b"");
        proto.for_each_chunk(STRING_VAL, |chunk| {
            let Chunk::Bytes(value) = chunk else {
                return Ok(());
            };
            if count < self.elements {
                self.push_string(value)?;
                last = value;
            }
            count += 1;
            Ok(())
        })?;
        self.check_count(count)?;
        let missing = self.elements - count;
        self.reserve(missing.checked_mul(last.len()))?;
        (0..missing).try_for_each(|_| self.push_string(last))
    }

    fn push_string(&mut self, value: &[u8]) -> Result<()> {
        self.reserve(Some(value.len()))?;
        self.data.extend_from_slice(value);
        self.ends.push((self.data.len() as u64).cast_signed());
        Ok(())
    }

    /// Makes room for that many bytes of strings, if the limit leaves it.
    fn reserve(&mut self, more: Option<usize>) -> Result<()> {
        let needed = more.and_then(|more| more.checked_add(self.data.len()));
        let capacity = self.data.capacity();
        if needed.is_some_and(|needed| needed <= capacity) {
            return Ok(());
        }
        // While the buffer grows, to twice its size at least, the old one is still there.
        let grown = needed.and_then(|needed| needed.max(2 * capacity).checked_add(capacity));
        let bytes = grown.and_then(|grown| grown.checked_add(8 * self.ends.capacity()));
        let bytes = self.limit.check(bytes)?;
        self.data
            .try_reserve(more.unwrap_or_default())
            .map_err(|_| no_memory(bytes))
    }

    /// The lengths of all, as varints, then the bytes of all.
    fn push_string_content(&mut self, content: &[u8]) -> Result<()> {
        let refused = || {
            let shape = shown(&self.shape);
            Error::content(format!(
                "the tensor_content is not {shape} lengths and the bytes of that many strings"
            ))
        };
        let (mut wire, mut total) = (Wire(content), Some(0usize));
        for _ in 0..self.elements {
            let length = wire.varint().map_err(|_| refused())?;
            total = total.and_then(|total| total.checked_add(usize::try_from(length).ok()?));
        }
        if total != Some(wire.0.len()) {
            return Err(refused());
        }
        let mut lengths = Wire(content);
        for _ in 0..self.elements {
            let length = usize::try_from(lengths.varint()?).unwrap_or_default();
            self.push_string(wire.take(length)?)?;
        }
        Ok(())
    }
}

fn misfit(value: impl Display, dtype: &TensorType) -> Error {
    Error::content(format!(
        "the value {value} does not fit its dtype, {}",
        dtype.name
    ))
}

fn no_memory(bytes: usize) -> Error {
    Error::spec(format!("there is no memory for {bytes} bytes of values"))
}

impl Meaning {
    /// What `varint` means, or which number it is that does not fit.
    fn of(self, varint: u64) -> std::result::Result<u64, i32> {
        let number = low_half(varint).cast_signed();
        match self {
            Self::Whole => Ok(varint),
            Self::Truth => Ok(u64::from(varint != 0)),
            Self::Between(least, most) if (least..=most).contains(&number) => {
                Ok(i64::from(number).cast_unsigned())
            }
            Self::Between(..) => Err(number),
        }
    }
}
