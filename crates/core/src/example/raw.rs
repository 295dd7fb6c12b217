//! Byte strings → the numbers that they are: `tf.io.decode_raw`.

use arrow_buffer::Buffer;

use super::record_error::RecordError;
use super::record_error::for_each_row;
use crate::error::{Error, Result, counted};

/// Which lengths the byte strings may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// All the same.
    Equal,
    /// Any; each is cut, or padded with zeros, to this many bytes.
    Fixed(usize),
    /// Any, each its own.
    Any,
}

/// What the numbers are.
#[derive(Clone, Copy, Debug)]
pub struct RawSpec<'a> {
    /// The name of their type, for error messages.
    pub dtype: &'a str,
    /// The bytes of a number.
    pub size: usize,
    /// How many bytes at a time are to be reversed (of a complex number half of it), or 1: none.
    pub swap: usize,
    /// The lengths of the byte strings.
    pub lengths: Lengths,
}

/// The bytes of all `values` one after the other, as numbers of this machine.
///
/// # Errors
/// Byte strings of different lengths where they must be equal; lengths that no number of whole
/// numbers has.
pub fn decode_raw<'a>(
    values: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    spec: &RawSpec<'_>,
) -> Result<Buffer, RecordError> {
    let count = values.len();
    let total = check(values.clone(), spec)?;
    let mut out: Vec<u8> = Vec::new();
    // Not what the input justifies, but what the caller asks for: there may be no such memory.
    out.try_reserve_exact(total)
        .map_err(|_| too_long(total / count.max(1), count))?;
    for_each_row(values, |value, _| {
        let start = out.len();
        match spec.lengths {
            Lengths::Fixed(length) => {
                out.extend_from_slice(value.get(..length).unwrap_or(value));
                out.resize(start + length, 0);
            }
            Lengths::Equal | Lengths::Any => out.extend_from_slice(value),
        }
        swap(out.get_mut(start..).unwrap_or_default(), spec.swap);
        Ok(())
    })?;
    Ok(Buffer::from_vec(out))
}

/// The bytes of the result, after all lengths have been looked at.
fn check<'a>(
    values: impl ExactSizeIterator<Item = &'a [u8]>,
    spec: &RawSpec<'_>,
) -> Result<usize, RecordError> {
    let (count, mut total, mut first) = (values.len(), 0usize, None);
    if let Lengths::Fixed(length) = spec.lengths {
        return length
            .checked_mul(count)
            .ok_or_else(|| too_long(length, count));
    }
    for_each_row(values, |value, index| {
        let first = *first.get_or_insert(value.len());
        total += value.len();
        match spec.lengths {
            Lengths::Equal if value.len() != first => {
                Err(Error::content(unequal(index, value.len(), first)))
            }
            // Of equal lengths, the first stands for all, once they have turned out to be equal.
            Lengths::Any if !value.len().is_multiple_of(spec.size) => {
                Err(Error::content(not_whole(value.len(), spec)))
            }
            _ => Ok(()),
        }
    })?;
    match first {
        Some(length) if !length.is_multiple_of(spec.size) => Err(RecordError {
            index: Some(0),
            error: Error::content(not_whole(length, spec)),
        }),
        _ => Ok(total),
    }
}

fn unequal(index: usize, length: usize, first: usize) -> String {
    format!(
        "DecodeRaw requires input strings to all be the same size, but element {index} has size \
         {length} != {first}"
    )
}

fn not_whole(length: usize, spec: &RawSpec<'_>) -> String {
    format!(
        "Input to DecodeRaw has length {length} that is not a multiple of {}, the size of {}",
        spec.size, spec.dtype
    )
}

fn too_long(length: usize, count: usize) -> RecordError {
    let values = counted(count as u64, "value");
    let text = format!("there is no memory for {values} of fixed_length {length}");
    RecordError {
        index: None,
        error: Error::spec(text),
    }
}

/// Reverses the bytes of each group of `size`.
fn swap(bytes: &mut [u8], size: usize) {
    match size {
        2 => bytes.as_chunks_mut::<2>().0.iter_mut().for_each(reverse),
        4 => bytes.as_chunks_mut::<4>().0.iter_mut().for_each(reverse),
        8 => bytes.as_chunks_mut::<8>().0.iter_mut().for_each(reverse),
        _ => {}
    }
}

fn reverse<const N: usize>(bytes: &mut [u8; N]) {
    bytes.reverse();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(values: &[&[u8]], spec: &RawSpec<'_>) -> Result<Vec<u8>, String> {
        decode_raw(values.iter().copied(), spec)
            .map(|buffer| buffer.to_vec())
            .map_err(|error| format!("{:?} {}", error.index, error.error))
    }

    fn spec(size: usize, swap: usize, lengths: Lengths) -> RawSpec<'static> {
        RawSpec {
            dtype: "int16",
            size,
            swap,
            lengths,
        }
    }

    #[test]
    fn lengths_are_equal_fixed_or_any() {
        let values: [&[u8]; 3] = [b"abcd", b"ef", b""];
        let of = |lengths| decoded(&values, &spec(2, 1, lengths));
        assert_eq!(of(Lengths::Any), Ok(b"abcdef".to_vec()));
        assert_eq!(of(Lengths::Fixed(2)), Ok(b"abef\0\0".to_vec()));
        assert_eq!(
            of(Lengths::Equal).unwrap_err(),
            "Some(1) DecodeRaw requires input strings to all be the same size, \
             but element 1 has size 2 != 4"
        );
        assert_eq!(
            of(Lengths::Fixed(usize::MAX)).unwrap_err(),
            format!(
                "None there is no memory for 3 values of fixed_length {}",
                usize::MAX
            )
        );
    }

    #[test]
    fn padding_comes_before_swapping() {
        for (size, expected) in [(1, b"abcdef\0\0"), (2, b"badcfe\0\0"), (4, b"dcba\0\0fe")] {
            let spec = spec(4, size, Lengths::Fixed(8));
            assert_eq!(
                decoded(&[b"abcdef"], &spec),
                Ok(expected.to_vec()),
                "{size}"
            );
        }
        let whole = spec(8, 8, Lengths::Equal);
        assert_eq!(decoded(&[b"abcdefgh"], &whole), Ok(b"hgfedcba".to_vec()));
    }

    #[test]
    fn there_is_no_part_of_a_number() {
        for lengths in [Lengths::Equal, Lengths::Any] {
            assert_eq!(
                decoded(&[b"abc"], &spec(2, 1, lengths)).unwrap_err(),
                "Some(0) Input to DecodeRaw has length 3 that is not a multiple of 2, the size of int16"
            );
        }
        assert_eq!(decoded(&[], &spec(2, 1, Lengths::Equal)), Ok(vec![]));
    }
}
