//! `TensorProto`: one array in a byte string, as `tf.io.serialize_tensor` writes it.
//!
//! ```text
//! TensorProto      { DataType dtype = 1; TensorShapeProto tensor_shape = 2; int32 version_number = 3;
//!                    bytes tensor_content = 4; repeated float float_val = 5; … bytes float8_val = 18; }
//! TensorShapeProto { repeated Dim dim = 2; bool unknown_rank = 3; }
//! Dim              { int64 size = 1; string name = 2; }
//! ```
//!
//! The values are either the array's memory (`tensor_content`), or one by one in the field of their
//! type, where the last one stands for all that are left out. [`types`] knows which field that is,
//! [`proto`] reads a message, and [`values`] puts the values of many, one after the other, into one
//! array.

pub mod proto;
pub mod types;
pub mod values;

use proto::Proto;
use types::TensorType;
pub use values::TensorValues;
use values::{Limit, Stack};

use super::record_error::RecordError;
use super::record_error::for_each_row;
use super::wire::{push_varint, varint_len};

/// Tensors of one type and one shape.
#[derive(Debug)]
pub struct Tensors {
    /// Their type; where there is neither a tensor nor a request, float32.
    pub dtype: &'static TensorType,
    /// The shape of each.
    pub shape: Vec<u64>,
    /// Their values, one tensor's after the other's.
    pub values: TensorValues,
}

/// Reads tensors, which must have the type `wanted` (or that of the first) and the shape of the first.
///
/// `max_bytes` limits the memory of the result: a value that repeats lets a few bytes announce any
/// size. Without it, it is 32 times the bytes of all `records`, and 1 MB.
///
/// # Errors
/// Bytes that are no tensor, and tensors that do not fit the request or each other.
pub fn parse<'a>(
    records: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    wanted: Option<&'static TensorType>,
    max_bytes: Option<usize>,
) -> Result<Tensors, RecordError> {
    let (count, input) = (records.len(), records.clone().map(<[u8]>::len).sum());
    let limit = Limit::of(input, max_bytes);
    let mut all: Option<Stack> = None;
    for_each_row(records, |record, _| {
        let proto = Proto::parse(record)?;
        let dtype = proto.dtype(wanted.or_else(|| all.as_ref().map(Stack::dtype)))?;
        if let Some(all) = &mut all {
            return all.push(&proto);
        }
        let first = all.insert(Stack::new(dtype, proto.shape(dtype)?, count, limit)?);
        first.push(&proto)
    })?;
    match all {
        Some(all) => Ok(all.finish()),
        None => none(wanted.unwrap_or(&types::FLOAT32), limit),
    }
}

fn none(dtype: &'static TensorType, limit: Limit) -> Result<Tensors, RecordError> {
    let stack = Stack::new(dtype, Vec::new(), 0, limit);
    let finished = stack.map(Stack::finish);
    finished.map_err(|error| RecordError { index: None, error })
}

const DTYPE: u8 = 0x08;
const SHAPE: u8 = 0x12;
const CONTENT: u8 = 0x22;
const STRING: u8 = 0x42;

/// All of a tensor's bytes but its values, which follow as they lie in memory: `size` bytes.
#[must_use]
pub fn header(dtype: &TensorType, shape: &[u64], size: usize) -> Vec<u8> {
    let mut out = vec![DTYPE];
    push_varint(&mut out, u64::from(dtype.number));
    let dims: usize = shape.iter().map(|&dim| 2 + dim_len(dim)).sum();
    out.push(SHAPE);
    push_varint(&mut out, dims as u64);
    for &dim in shape {
        push_dim(&mut out, dim);
    }
    if size > 0 {
        out.push(CONTENT);
        push_varint(&mut out, size as u64);
    }
    out
}

/// A dimension is a message of its own; protobuf does not write a size of 0.
fn dim_len(dim: u64) -> usize {
    if dim == 0 { 0 } else { 1 + varint_len(dim) }
}

fn push_dim(out: &mut Vec<u8>, dim: u64) {
    out.push(0x12);
    push_varint(out, dim_len(dim) as u64);
    if dim > 0 {
        out.push(0x08);
        push_varint(out, dim);
    }
}

/// A tensor of byte strings.
#[must_use]
pub fn serialize_strings<'a>(shape: &[u64], values: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = header(&types::STRING, shape, 0);
    for value in values {
        out.push(STRING);
        push_varint(&mut out, value.len() as u64);
        out.extend_from_slice(value);
    }
    out
}

fn shown(shape: &[u64]) -> String {
    let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("[{}]", dims.join(","))
}
