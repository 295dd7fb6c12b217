//! The values of one feature in the form of the wire, put together one by one or many at once.

use super::field::{FIRST, FeatureValues, push_field};
use crate::example::spec::Kind;
use crate::example::wire::{push_varint, varint_len};

/// How many numbers are encoded before their bytes are appended.
const AT_ONCE: usize = 64;

/// The most bytes of a varint.
const MAX_VARINT: usize = 10;

/// The list of a feature in the making. Its first value decides of which kind it is.
///
/// ```
/// # use tfrecs_core::example::{Kind, ListEncoder};
/// let mut list = ListEncoder::default();
/// assert_eq!(list.push_float32(0.5), Ok(()));
/// assert_eq!(list.push_bytes(b"a"), Err(Kind::Float32));
/// assert_eq!(list.kind(), Some(Kind::Float32));
/// ```
#[derive(Default)]
pub struct ListEncoder {
    kind: Option<Kind>,
    content: Vec<u8>,
}

impl ListEncoder {
    /// The kind, once there is one.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// The list so far, as the values of a feature.
    #[must_use]
    pub fn values(&self) -> FeatureValues<'_> {
        self.kind.map_or(FeatureValues::None, |kind| {
            FeatureValues::Encoded(kind, &self.content)
        })
    }

    /// How many bytes the values take.
    #[must_use]
    pub fn nbytes(&self) -> usize {
        self.content.len()
    }

    /// Back to the beginning.
    pub fn clear(&mut self) {
        self.kind = None;
        self.content.clear();
    }

    /// Back to the beginning; of the memory, `most` bytes are kept.
    pub fn reset(&mut self, most: usize) {
        self.clear();
        self.content.shrink_to(most);
    }

    /// Adds a byte string.
    ///
    /// # Errors
    /// The list's kind, if it is another one.
    #[inline]
    pub fn push_bytes(&mut self, value: &[u8]) -> Result<(), Kind> {
        self.be(Kind::Bytes)?;
        push_field(&mut self.content, FIRST, value);
        Ok(())
    }

    /// Adds a float.
    ///
    /// # Errors
    /// The list's kind, if it is another one.
    #[inline]
    pub fn push_float32(&mut self, value: f32) -> Result<(), Kind> {
        self.be(Kind::Float32)?;
        self.content.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    /// Adds an integer.
    ///
    /// # Errors
    /// The list's kind, if it is another one.
    #[inline]
    pub fn push_int64(&mut self, value: i64) -> Result<(), Kind> {
        self.be(Kind::Int64)?;
        push_varint(&mut self.content, value.cast_unsigned());
        Ok(())
    }

    /// Adds floats, perhaps none.
    ///
    /// # Errors
    /// The list's kind, if it is another one.
    #[inline]
    pub fn extend_float32(&mut self, mut values: impl Iterator<Item = f32>) -> Result<(), Kind> {
        loop {
            let mut buffer = [0.0; AT_ONCE];
            let mut count = 0;
            for (place, value) in buffer.iter_mut().zip(&mut values) {
                *place = value;
                count += 1;
            }
            self.extend_float32_slice(buffer.get(..count).unwrap_or_default())?;
            if count < AT_ONCE {
                return Ok(());
            }
        }
    }

    /// Adds floats, perhaps none, that lie one after the other.
    ///
    /// # Errors
    /// The list's kind, if it is another one.
    #[inline]
    pub fn extend_float32_slice(&mut self, values: &[f32]) -> Result<(), Kind> {
        self.be(Kind::Float32)?;
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        self.content.extend(bytes);
        Ok(())
    }

    /// Adds integers, perhaps none.
    ///
    /// # Errors
    /// The list's kind, if it is another one.
    #[inline]
    pub fn extend_int64(&mut self, mut values: impl Iterator<Item = i64>) -> Result<(), Kind> {
        self.be(Kind::Int64)?;
        loop {
            let mut buffer = [0; AT_ONCE * MAX_VARINT];
            let (mut end, mut count) = (0, 0);
            for value in values.by_ref().take(AT_ONCE) {
                end += write_varint(&mut buffer, end, value.cast_unsigned());
                count += 1;
            }
            self.content
                .extend_from_slice(buffer.get(..end).unwrap_or_default());
            if count < AT_ONCE {
                return Ok(());
            }
        }
    }

    #[inline]
    fn be(&mut self, kind: Kind) -> Result<(), Kind> {
        match self.kind {
            Some(other) if other != kind => Err(other),
            _ => {
                self.kind = Some(kind);
                Ok(())
            }
        }
    }
}

/// Writes `value` at `start` of `buffer`, and says how many bytes it takes.
///
/// Values of random lengths are what branches predict worst: so up to eight bytes are spread out and
/// written at once, whatever their number; what is written too much is overwritten next.
#[inline]
fn write_varint(buffer: &mut [u8], start: usize, value: u64) -> usize {
    let length = varint_len(value);
    let room = buffer.get_mut(start..).unwrap_or_default();
    match room.first_chunk_mut() {
        Some(chunk) if length <= 8 => {
            let continues = GOES_ON.unbounded_shr(72 - 8 * u32::try_from(length).unwrap_or(8));
            *chunk = (spread(value) | continues).to_le_bytes();
        }
        _ => write_slowly(room, value),
    }
    length
}

/// The bit of each byte of a word that says that a varint continues.
const GOES_ON: u64 = 0x8080_8080_8080_8080;

/// The low 56 bits, seven in each byte.
#[inline]
fn spread(value: u64) -> u64 {
    let halves = (value & 0x0fff_ffff) | (value & 0x00ff_ffff_f000_0000) << 4;
    let fourths = (halves & 0x0000_3fff_0000_3fff) | (halves & 0x0fff_c000_0fff_c000) << 2;
    (fourths & 0x007f_007f_007f_007f) | (fourths & 0x3f80_3f80_3f80_3f80) << 1
}

fn write_slowly(room: &mut [u8], mut value: u64) {
    for byte in room.iter_mut().take(MAX_VARINT) {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            *byte = low;
            return;
        }
        *byte = low | 0x80;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::ExampleEncoder;
    use proptest::prelude::*;

    fn example(values: FeatureValues<'_>) -> Vec<u8> {
        let mut encoder = ExampleEncoder::default();
        encoder.feature(b"name", values);
        encoder.finish()
    }

    #[test]
    fn every_length_of_varint_begins_and_ends_right() {
        for bits in 0..=64 {
            let edge = 1u64.unbounded_shl(bits);
            for value in [
                edge.wrapping_sub(1),
                edge,
                edge.wrapping_add(1),
                !edge,
                u64::MAX << (bits / 2),
            ] {
                let mut plain = Vec::new();
                push_varint(&mut plain, value);
                for room in [plain.len(), 8, 10, 30] {
                    let mut buffer = vec![0; room.max(plain.len())];
                    assert_eq!(write_varint(&mut buffer, 0, value), plain.len(), "{value}");
                    assert_eq!(buffer[..plain.len()], plain, "{value}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn lists_are_those_of_slices(
            integers in prop::collection::vec((any::<i64>(), 0u32..64).prop_map(|(v, s)| v >> s), 0..300),
            floats in prop::collection::vec(any::<f32>(), 0..150),
            strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..9),
            cut in any::<prop::sample::Index>(),
        ) {
            let (head, tail) = integers.split_at(cut.index(integers.len() + 1));
            let mut list = ListEncoder::default();
            list.extend_int64(head.iter().copied()).unwrap();
            for &value in tail {
                list.push_int64(value).unwrap();
            }
            prop_assert_eq!(example(list.values()), example(FeatureValues::Int64(&integers)));
            list.clear();
            list.extend_float32(floats.iter().copied()).unwrap();
            prop_assert_eq!(example(list.values()), example(FeatureValues::Float32(&floats)));
            list.push_float32(1.5).unwrap();
            list.extend_float32_slice(&floats).unwrap();
            let floats = [&floats[..], &[1.5], &floats[..]].concat();
            prop_assert_eq!(example(list.values()), example(FeatureValues::Float32(&floats)));
            list.clear();
            for value in &strings {
                list.push_bytes(value).unwrap();
            }
            let slices: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(example(list.values()), example(FeatureValues::Bytes(&slices)));
        }
    }

    proptest! {
        #[test]
        fn messages_are_the_same_in_either_place(
            sizes in prop::collection::vec(prop_oneof![0usize..200, 16_000usize..17_000], 0..4),
            steps in prop::collection::vec(prop_oneof![0usize..200, 16_000usize..17_000], 0..4),
        ) {
            let value = vec![7; 17_000];
            let fill = |encoder: &mut ExampleEncoder| {
                for &size in &sizes {
                    encoder.feature(b"feature", FeatureValues::Bytes(&[&value[..size]]));
                }
                for &size in &steps {
                    encoder.step(FeatureValues::Bytes(&[&value[..size]]));
                    encoder.feature_list(b"list");
                }
            };
            let (mut fresh, mut kept) = (ExampleEncoder::default(), ExampleEncoder::default());
            for kept_bytes in [0, 100, 1 << 20, 1 << 20] {
                fill(&mut fresh);
                fill(&mut kept);
                prop_assert_eq!(&fresh.finish(), kept.finish_here());
                kept.reset(kept_bytes);
            }
        }
    }

    #[test]
    fn the_first_value_decides() {
        let mut list = ListEncoder::default();
        assert_eq!(example(list.values()), example(FeatureValues::None));
        assert_eq!(list.extend_int64([].into_iter()), Ok(()));
        assert_eq!(list.push_bytes(b""), Err(Kind::Int64));
        assert_eq!(list.push_float32(0.0), Err(Kind::Int64));
        list.clear();
        assert_eq!(list.push_bytes(b""), Ok(()));
        assert_eq!(list.push_int64(0), Err(Kind::Bytes));
    }
}
