//! `TensorProto`s: prost reads the bytes, and the plainest reading of the rules says what values they
//! have.

use prost::bytes::{Buf, BufMut};
use prost::encoding::{
    DecodeContext, WireType, bool, bytes, double, float, int32, int64, message, skip_field, string,
    uint32, uint64,
};
use prost::{DecodeError, Message};
use tfrecs_core::example::record_error::RecordError;
use tfrecs_core::example::tensor::{TensorValues, Tensors};

use super::answer::Fault;
use super::fields::{fault_of, read_only};

/// Tensors, or the place of the record that is refused.
pub type Answer = Result<Stack, usize>;

/// Tensors of one type and shape: their values' bytes, one by one, or byte strings.
#[derive(Debug, PartialEq)]
pub struct Stack {
    dtype: u32,
    shape: Vec<u64>,
    values: Vec<Vec<u8>>,
}

/// What the core says of `count` records.
pub fn answer(result: Result<Tensors, RecordError>, count: usize) -> Answer {
    let tensors = result.map_err(|error| error.index.expect("the record is known"))?;
    let elements = tensors.shape.iter().product::<u64>() * count as u64;
    let values: Vec<Vec<u8>> = match &tensors.values {
        TensorValues::Numbers(bytes) => bytes
            .chunks(tensors.dtype.width)
            .map(<[u8]>::to_vec)
            .collect(),
        TensorValues::Strings(ends, data) => {
            let ends = ends.typed_data::<i64>().iter();
            let ends: Vec<_> = ends.map(|&end| usize::try_from(end).unwrap()).collect();
            assert_eq!((ends[0], ends[ends.len() - 1]), (0, data.len()));
            ends.windows(2)
                .map(|ends| data[ends[0]..ends[1]].to_vec())
                .collect()
        }
    };
    assert_eq!(values.len() as u64, elements);
    Ok(Stack {
        dtype: tensors.dtype.number,
        shape: tensors.shape,
        values,
    })
}

#[derive(Debug, Default)]
struct Tensor {
    dtype: i32,
    shape: Shape,
    content: Vec<u8>,
    floats: Vec<f32>,
    doubles: Vec<f64>,
    ints: Vec<i32>,
    strings: Vec<Vec<u8>>,
    complex_floats: Vec<f32>,
    longs: Vec<i64>,
    bools: Vec<bool>,
    complex_doubles: Vec<f64>,
    halves: Vec<i32>,
    uints: Vec<u32>,
    ulongs: Vec<u64>,
    bytes: Vec<u8>,
}

read_only!(Tensor);

impl Tensor {
    fn read_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        use WireType::{
            LengthDelimited as L, SixtyFourBit as F64, ThirtyTwoBit as F32, Varint as V,
        };
        match (tag, wire_type) {
            (1, V) => int32::merge(wire_type, &mut self.dtype, buf, ctx),
            (2, L) => message::merge(wire_type, &mut self.shape, buf, ctx),
            (4, L) => bytes::merge(wire_type, &mut self.content, buf, ctx),
            (5, L | F32) => float::merge_repeated(wire_type, &mut self.floats, buf, ctx),
            (6, L | F64) => double::merge_repeated(wire_type, &mut self.doubles, buf, ctx),
            (7, L | V) => int32::merge_repeated(wire_type, &mut self.ints, buf, ctx),
            (8, L) => bytes::merge_repeated(wire_type, &mut self.strings, buf, ctx),
            (9, L | F32) => float::merge_repeated(wire_type, &mut self.complex_floats, buf, ctx),
            (10, L | V) => int64::merge_repeated(wire_type, &mut self.longs, buf, ctx),
            (11, L | V) => bool::merge_repeated(wire_type, &mut self.bools, buf, ctx),
            (12, L | F64) => double::merge_repeated(wire_type, &mut self.complex_doubles, buf, ctx),
            (13, L | V) => int32::merge_repeated(wire_type, &mut self.halves, buf, ctx),
            (16, L | V) => uint32::merge_repeated(wire_type, &mut self.uints, buf, ctx),
            (17, L | V) => uint64::merge_repeated(wire_type, &mut self.ulongs, buf, ctx),
            (18, L) => bytes::merge(wire_type, &mut self.bytes, buf, ctx),
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }
}

#[derive(Debug, Default)]
struct Shape(Vec<Dim>);

read_only!(Shape);

impl Shape {
    fn read_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match (tag, wire_type) {
            (2, WireType::LengthDelimited) => {
                message::merge_repeated(wire_type, &mut self.0, buf, ctx)
            }
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }
}

#[derive(Debug, Default)]
struct Dim {
    size: i64,
    name: String,
}

read_only!(Dim);

impl Dim {
    fn read_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match (tag, wire_type) {
            (1, WireType::Varint) => int64::merge(wire_type, &mut self.size, buf, ctx),
            (2, WireType::LengthDelimited) => string::merge(wire_type, &mut self.name, buf, ctx),
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }
}

/// The most dimensions that a tensor can have.
const MAX_DIMS: usize = 254;

/// The memory that `records` may take, if nobody says otherwise.
pub fn limit_of(records: &[Vec<u8>]) -> usize {
    32 * records.iter().map(Vec::len).sum::<usize>() + 1_000_000
}

/// What the rules say; `None` where they leave the question open.
pub fn theirs(records: &[Vec<u8>], wanted: Option<u32>) -> Option<Answer> {
    let mut stack = Stack {
        dtype: wanted.unwrap_or(1),
        shape: Vec::new(),
        values: Vec::new(),
    };
    for (index, record) in records.iter().enumerate() {
        let tensor = match Tensor::decode(record.as_slice()) {
            Ok(tensor) => tensor,
            Err(error) if fault_of(&error) == Fault::TooDeep => return None,
            Err(_) => return Some(Err(index)),
        };
        let wanted = if index > 0 { Some(stack.dtype) } else { wanted };
        match tensor.described(wanted) {
            Some((dtype, shape)) if index == 0 => (stack.dtype, stack.shape) = (dtype, shape),
            Some((_, shape)) if shape == stack.shape => {}
            _ => return Some(Err(index)),
        }
        match stack.push(tensor, records) {
            Pushed::Whole => {}
            Pushed::Refused => return Some(Err(index)),
            Pushed::Open => return None,
        }
    }
    Some(Ok(stack))
}

enum Pushed {
    Whole,
    Refused,
    /// The strings that repeat take about as much memory as is allowed.
    Open,
}

impl Stack {
    fn push(&mut self, tensor: Tensor, records: &[Vec<u8>]) -> Pushed {
        let elements = usize::try_from(self.shape.iter().product::<u64>()).unwrap();
        let fixed = elements.saturating_mul(records.len() * width_of(self.dtype));
        if fixed > limit_of(records) {
            return Pushed::Refused;
        }
        let longest = tensor
            .strings
            .iter()
            .map(Vec::len)
            .max()
            .unwrap_or_default();
        let strings = self.values.iter().map(Vec::len).sum::<usize>() + elements * longest;
        if self.dtype == 7 && fixed + 4 * strings > limit_of(records) {
            return Pushed::Open;
        }
        let Some(values) = tensor.values(self.dtype, elements) else {
            return Pushed::Refused;
        };
        self.values.extend(values);
        Pushed::Whole
    }
}

/// The bytes that a value takes; of a byte string, those of an offset.
fn width_of(dtype: u32) -> usize {
    match dtype {
        18 => 16,
        2 | 7 | 8 | 9 | 23 => 8,
        1 | 3 | 13 | 22 => 4,
        5 | 14..=17 | 19 => 2,
        _ => 1,
    }
}

impl Tensor {
    /// The type, if it is `wanted` and one that has values, and the shape, if there can be such.
    fn described(&self, wanted: Option<u32>) -> Option<(u32, Vec<u64>)> {
        let dtype = u32::try_from(self.dtype).ok()?;
        if !matches!(dtype, 1..=19 | 22..=33) || wanted.is_some_and(|wanted| wanted != dtype) {
            return None;
        }
        let sizes = self.shape.0.iter().map(|dim| u64::try_from(dim.size).ok());
        let shape: Vec<u64> = sizes.collect::<Option<_>>()?;
        let sizes = shape
            .iter()
            .map(|&size| i64::try_from(size.max(1)).unwrap());
        let mut sizes = std::iter::once(width_of(dtype).try_into().unwrap()).chain(sizes);
        sizes.try_fold(1i64, i64::checked_mul)?;
        (shape.len() <= MAX_DIMS).then_some((dtype, shape))
    }

    fn values(self, dtype: u32, elements: usize) -> Option<Vec<Vec<u8>>> {
        let content = self.content.clone();
        let values = match (dtype, content.is_empty()) {
            (7, true) => self.strings,
            (7, false) => return strings_of(&content, elements),
            (_, true) => self.typed_values(dtype)?,
            (_, false) => {
                let whole = content.len() == elements * width_of(dtype);
                let bools = dtype != 10 || content.iter().all(|&byte| byte < 2);
                return narrow(&content, dtype).filter(|_| whole && bools);
            }
        };
        filled(
            values,
            elements,
            if dtype == 7 { 0 } else { width_of(dtype) },
        )
    }

    /// The values in the field of the type.
    fn typed_values(self, dtype: u32) -> Option<Vec<Vec<u8>>> {
        Some(match dtype {
            1 => parts(&self.floats, f32::to_le_bytes),
            2 => parts(&self.doubles, f64::to_le_bytes),
            3 | 13 => parts(&self.ints, i32::to_le_bytes),
            8 => pairs(&parts(&self.complex_floats, f32::to_le_bytes))?,
            9 => parts(&self.longs, i64::to_le_bytes),
            10 => parts(&self.bools, |value| [value.into()]),
            14 | 19 => whole(&self.halves, 0, 0xffff, 2)?,
            18 => pairs(&parts(&self.complex_doubles, f64::to_le_bytes))?,
            22 => parts(&self.uints, u32::to_le_bytes),
            23 => parts(&self.ulongs, u64::to_le_bytes),
            4 | 12 => whole(&self.ints, 0, 0xff, 1)?,
            16 | 17 => whole(&self.ints, 0, 0xffff, 2)?,
            5 | 15 => whole(&self.ints, -0x8000, 0x7fff, 2)?,
            6 | 11 => whole(&self.ints, -0x80, 0x7f, 1)?,
            29 => whole(&self.ints, -8, 7, 1)?,
            30 => whole(&self.ints, 0, 15, 1)?,
            31 => whole(&self.ints, -2, 1, 1)?,
            32 => whole(&self.ints, 0, 3, 1)?,
            _ => narrow(&self.bytes, dtype)?,
        })
    }
}

fn parts<T: Copy, const N: usize>(values: &[T], bytes: fn(T) -> [u8; N]) -> Vec<Vec<u8>> {
    values.iter().map(|&value| bytes(value).to_vec()).collect()
}

fn whole(values: &[i32], least: i32, most: i32, width: usize) -> Option<Vec<Vec<u8>>> {
    let bytes = values.iter().map(|&value| {
        (least..=most)
            .contains(&value)
            .then(|| value.to_le_bytes()[..width].to_vec())
    });
    bytes.collect()
}

fn pairs(parts: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let whole = parts.len().is_multiple_of(2);
    whole.then(|| parts.chunks(2).map(<[_]>::concat).collect())
}

/// Values as in memory; those of fewer than eight bits are filled up with zeros or with the sign.
fn narrow(bytes: &[u8], dtype: u32) -> Option<Vec<Vec<u8>>> {
    let (bits, signed) = match dtype {
        29 => (4, true),
        30 | 33 => (4, false),
        31 => (2, true),
        32 => (2, false),
        _ => return Some(bytes.chunks(width_of(dtype)).map(<[u8]>::to_vec).collect()),
    };
    let value = |byte: u8| {
        let (value, count) = (i32::from(byte), 1 << bits);
        let negative = [value, value - 256, value - count].into_iter();
        let value = match negative.clone().find(|v| (-count / 2..0).contains(v)) {
            Some(negative) if signed => negative,
            _ => value,
        };
        (value < count).then(|| vec![value.to_le_bytes()[0]])
    };
    bytes.iter().map(|&byte| value(byte)).collect()
}

/// The last value stands for those that are left out; zeros, if all are.
fn filled(mut values: Vec<Vec<u8>>, elements: usize, width: usize) -> Option<Vec<Vec<u8>>> {
    let last = values.last().cloned().unwrap_or(vec![0; width]);
    let missing = elements.checked_sub(values.len())?;
    values.extend(std::iter::repeat_n(last, missing));
    Some(values)
}

/// The lengths of all strings, then the bytes of all.
fn strings_of(mut content: &[u8], elements: usize) -> Option<Vec<Vec<u8>>> {
    let lengths: Option<Vec<_>> = (0..elements)
        .map(|_| prost::encoding::decode_varint(&mut content).ok())
        .collect();
    let strings = lengths?.into_iter().map(|length| {
        let (string, rest) = content.split_at_checked(usize::try_from(length).ok()?)?;
        content = rest;
        Some(string.to_vec())
    });
    let strings: Vec<_> = strings.collect::<Option<_>>()?;
    content.is_empty().then_some(strings)
}
