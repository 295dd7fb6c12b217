//! Steps of a feature list as every writer writes them, taken off in runs: `0a LEN tag LEN 0a LEN values`,
//! with all lengths in single bytes. One look at the first eight bytes tells whether a step is so, and
//! each kind of values has a loop of its own. A run ends, before anything of it is changed, at the first
//! step that is otherwise, which goes the long way (`example/decode/feature_list_column.rs`).

use crate::example::decode::fast_path::feature::{LONGEST, Short};
use crate::example::decode::values::{Values, as_offset};
use crate::example::spec::Kind;
use crate::example::varint;
use crate::example::wire::Wire;

/// The head of a step without values, but for the tag of the list.
const HEAD: u64 = u64::from_le_bytes([0x0a, 4, 0, 2, 0x0a, 0, 0, 0]);
/// Where in that a byte of values is counted.
const LENGTHS: u64 = u64::from_le_bytes([0, 1, 0, 1, 0, 1, 0, 0]);
const HEAD_LEN: usize = 6;

/// The head of a step with that many bytes of values.
#[inline]
fn head(kind: Kind, len: usize) -> u64 {
    HEAD + (u64::from(kind.tag()) << 16) + LENGTHS * len as u64
}

/// What stands where a head would.
#[inline]
fn head_of(list: &[u8]) -> Option<u64> {
    if let Some(word) = list.first_chunk::<8>() {
        return Some(u64::from_le_bytes(*word) & (u64::MAX >> 16));
    }
    let mut word = [0; 8];
    *word.first_chunk_mut::<HEAD_LEN>()? = *list.first_chunk()?;
    Some(u64::from_le_bytes(word))
}

/// Takes the run of steps that `list` begins with, if there is one: how many. A step has `each` values, or any
/// number if that is `None`; `end` is called after each with how many values there are now.
#[inline]
pub fn take(
    list: &mut Wire<'_>,
    values: &mut Values,
    each: Option<usize>,
    mut end: impl FnMut(usize),
) -> usize {
    match (values, each) {
        (Values::Float32(floats), Some(each)) => take_floats(list, each, floats),
        (Values::Float32(floats), None) => take_each(list, Kind::Float32, |from, len| {
            let is_whole = len % 4 == 0;
            if is_whole {
                push_floats(from.get(..len).unwrap_or_default(), floats);
                end(floats.len());
            }
            is_whole
        }),
        (Values::Int64(integers), Some(1)) => take_each(list, Kind::Int64, |bytes, len| {
            let value = Short { len, bytes }.int64();
            integers.extend(value);
            value.is_some()
        }),
        (Values::Int64(integers), each) => take_each(list, Kind::Int64, |from, len| {
            let done = push_int64s(from, len, each, integers);
            if done {
                end(integers.len());
            }
            done
        }),
        (Values::Bytes(data, ends), None | Some(1)) => {
            take_each(list, Kind::Bytes, |bytes, len| {
                Short { len, bytes }.push_bytes(data);
                ends.push(as_offset(data.len()));
                end(ends.len() - 1);
                true
            })
        }
        _ => 0,
    }
}

/// Takes steps for as long as `content` takes theirs, which it gets with all that follows it, and its
/// length.
#[inline]
fn take_each<'a>(
    list: &mut Wire<'a>,
    kind: Kind,
    mut content: impl FnMut(&'a [u8], usize) -> bool,
) -> usize {
    let mut steps = 0;
    while let Some(found) = head_of(list.0) {
        let [.., len, _, _] = found.to_le_bytes();
        let len = usize::from(len);
        let Some(from) = list.0.get(HEAD_LEN..) else {
            break;
        };
        let Some(rest) = from.get(len..) else {
            break;
        };
        if found != head(kind, len) || len > LONGEST || !content(from, len) {
            break;
        }
        list.0 = rest;
        steps += 1;
    }
    steps
}

/// Takes steps of just that many floats: all have the same head, so that nothing has to wait for what a
/// length is.
#[inline]
fn take_floats(list: &mut Wire<'_>, each: usize, floats: &mut Vec<f32>) -> usize {
    let len = each.saturating_mul(4);
    if len > LONGEST {
        return 0;
    }
    let expected = head(Kind::Float32, len);
    let mut steps = 0;
    while let Some((step, rest)) = list.0.split_at_checked(HEAD_LEN + len)
        && head_of(step) == Some(expected)
    {
        push_floats(step.get(HEAD_LEN..).unwrap_or_default(), floats);
        list.0 = rest;
        steps += 1;
    }
    steps
}

#[inline]
fn push_floats(bytes: &[u8], floats: &mut Vec<f32>) {
    /// As many at a time are copied without a call.
    const BLOCK: usize = 16;
    let (found, _) = bytes.as_chunks::<4>();
    let (blocks, few) = found.as_chunks::<BLOCK>();
    for block in blocks {
        floats.extend_from_slice(&block.map(f32::from_le_bytes));
    }
    for &float in few {
        floats.push(f32::from_le_bytes(float));
    }
}

/// Appends the values, if there are `each`; if not, or if what there is are no numbers, nothing.
#[inline]
fn push_int64s(from: &[u8], len: usize, each: Option<usize>, integers: &mut Vec<i64>) -> bool {
    let before = integers.len();
    let bytes = from.get(..len).unwrap_or_default();
    let done = varint::decode_into(bytes, integers);
    let found = integers.len() - before;
    let done = done.is_ok() && each.is_none_or(|each| each == found);
    if !done {
        integers.truncate(before);
    }
    done
}
