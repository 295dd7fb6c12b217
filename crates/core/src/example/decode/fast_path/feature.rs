//! Short features: one list of one byte string, or of packed numbers, with every length in a single byte.
//!
//! Most features are like this. They are recognised by one comparison, read without a loop and copied without a
//! call. `[7, 300]` as int64 values:
//!
//! ```text
//!   1a 05   0a 03   07 ac 02
//!   └┬┘ │   └┬┘ │   └──┬───┘
//!    │  │    │  │      └ values: 3 bytes
//!    │  │    │  └ length of the values: 3
//!    │  │    └ tag of packed values (or of a byte string)
//!    │  └ length of the list: 3 + 2
//!    └ tag of the kind: 0a bytes, 12 floats, 1a integers
//! ```
//!
//! Of a feature of 7 bytes all four bytes in front of the values are known: `HEAD` with the tag of the kind, plus the
//! length of the values in both length bytes (`LENGTHS * 3`). So one addition and one comparison of 32 bits decide.
//!
//! If you change this: a false negative costs time, a false positive is a wrong answer. Anything that is not of this
//! form takes the slow path (`message.rs`), which alone decides what an error is; `crates/core/tests/short_way.rs`
//! compares the two.
use crate::example::decode::fast_path::value_offsets::Cell;
use crate::example::spec::Kind;
use crate::example::varint::{HIGH_BITS, squeeze};

/// The values in the list of a short feature.
#[derive(Clone, Copy)]
pub struct Short<'a> {
    /// How many bytes they have.
    pub len: usize,
    /// They, and all that follows them.
    pub bytes: &'a [u8],
}

/// The tag and length of a list, and those of its values, if these have no bytes: a tag of packed values or
/// of a byte string.
const HEAD: u32 = u32::from_le_bytes([0, 2, 0x0a, 0]);

/// Where in that a byte of values is counted.
const LENGTHS: u32 = u32::from_le_bytes([0, 1, 0, 1]);

/// As many bytes of values as a feature can have whose length is a single byte: less those of the head.
pub const LONGEST: usize = 0x7f - 4;

impl<'a> Short<'a> {
    /// The values in a feature, if it is a short one of this kind.
    #[must_use]
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "they are short")]
    pub fn of(feature: Cell<'a>, kind: Kind) -> Option<Self> {
        let (head, bytes) = feature.bytes.split_first_chunk::<4>()?;
        let len = feature.len.wrapping_sub(4);
        // Both lengths at once: they are those of single bytes.
        let counted = (len as u32).wrapping_mul(LENGTHS);
        let expected = (HEAD | u32::from(kind.tag())).wrapping_add(counted);
        let is_such = u32::from_le_bytes(*head) == expected && len <= LONGEST && len <= bytes.len();
        is_such.then_some(Self { len, bytes })
    }

    /// The number, if there is just one integer of at most eight bytes.
    #[must_use]
    #[inline]
    pub fn int64(self) -> Option<i64> {
        let word = match self.bytes.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => last_word(self.bytes),
        };
        if let 1..=2 = self.len {
            // Most numbers are small.
            let word = word & (0xffff >> (16 - 8 * self.len));
            let continues = (self.len as u64 - 1) << 7;
            let value = word & 0x7f | word >> 1 & 0x3f80;
            return (word & 0x8080 == continues).then_some(value.cast_signed());
        }
        // The first byte without a high bit is the last of the values.
        let ends = !word & HIGH_BITS;
        if ends == 0 || (ends.trailing_zeros() as usize + 1) / 8 != self.len {
            return None;
        }
        Some(squeeze(word & (ends ^ (ends - 1))).cast_signed())
    }

    /// The floats, as their bytes.
    #[must_use]
    #[inline]
    pub fn floats(self) -> Option<&'a [[u8; 4]]> {
        let (floats, rest) = self.bytes.get(..self.len)?.as_chunks::<4>();
        rest.is_empty().then_some(floats)
    }

    /// Appends the byte string to `data`.
    #[inline]
    pub fn push_bytes(self, data: &mut Vec<u8>) {
        const WORD: usize = 16;
        match self.bytes.first_chunk::<WORD>() {
            // As many bytes as the compiler knows, and then back to what there is: no call.
            Some(word) if self.len <= WORD => {
                let end = data.len() + self.len;
                data.extend_from_slice(word);
                data.truncate(end);
            }
            _ => data.extend_from_slice(self.bytes.get(..self.len).unwrap_or_default()),
        }
    }
}

/// Fewer bytes than a word has, with zeros after them.
#[cold]
fn last_word(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |word, &byte| word << 8 | u64::from(byte))
}
