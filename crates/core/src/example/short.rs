//! Short features, which most are: one list of one byte string, or of packed numbers, with all lengths in
//! single bytes. They are read without a loop and copied without a call; whatever is not of just this
//! form goes the long way (`message.rs`), which decides alone what is an error.

use super::spec::Kind;
use super::values::as_offset;
use super::varints::{HIGH_BITS, squeeze};

/// The list of a short feature.
pub struct Short<'a> {
    /// Its tag.
    tag: u8,
    /// How many bytes of values.
    len: usize,
    /// They, and all that follows them.
    values: &'a [u8],
}

/// The lengths of a feature, of its list and of its values, if there are none; and the tag of packed values
/// or of a byte string between them.
const HEAD: u64 = u64::from_le_bytes([4, 0, 2, 0x0a, 0, 0, 0, 0]);

/// Where in that a byte of values is counted.
const LENGTHS: u64 = u64::from_le_bytes([1, 0, 1, 0, 1, 0, 0, 0]);

impl<'a> Short<'a> {
    /// Reads a feature of `total` bytes from its length on: that, the list's tag and length, and those of
    /// the values.
    #[must_use]
    #[inline]
    pub fn parse(bytes: &'a [u8], total: usize) -> Option<Self> {
        let (&[feature_len, list_tag, list_len, value_tag, value_len], values) =
            bytes.split_first_chunk::<5>()?;
        let head = [feature_len, 0, list_len, value_tag, value_len, 0, 0, 0];
        let len = total.checked_sub(5)?;
        // All lengths at once. They are those of single bytes, or this could not be so.
        let expected = HEAD.wrapping_add((len as u64).wrapping_mul(LENGTHS));
        if u64::from_le_bytes(head) != expected || feature_len >= 0x80 || values.len() < len {
            return None;
        }
        Some(Self {
            tag: list_tag,
            len,
            values,
        })
    }

    /// Reads a feature from its length on, which says how many bytes it takes.
    #[must_use]
    #[inline]
    pub fn begin(bytes: &'a [u8]) -> Option<Self> {
        let &feature_len = bytes.first()?;
        Self::parse(bytes, usize::from(feature_len) + 1)
    }

    /// How many bytes the feature takes, its length included.
    #[must_use]
    #[inline]
    pub fn total(&self) -> usize {
        self.len + 5
    }

    /// Whether its values are of this kind.
    #[must_use]
    #[inline]
    pub fn is(&self, kind: Kind) -> bool {
        self.tag == kind.tag()
    }

    /// The number, if there is just one integer.
    #[must_use]
    #[inline]
    pub fn int64(&self) -> Option<i64> {
        let word = u64::from_le_bytes(*self.values.first_chunk()?);
        // The first byte without a high bit is the last of the values.
        let ends = !word & HIGH_BITS;
        let bytes = (ends.trailing_zeros() as usize + 1) / 8;
        if bytes != self.len || ends == 0 {
            return None;
        }
        if bytes == 1 {
            return Some((word & 0x7f).cast_signed());
        }
        Some(squeeze(word & (ends ^ (ends - 1))).cast_signed())
    }

    /// The floats, as their bytes.
    #[must_use]
    #[inline]
    pub fn floats(&self) -> Option<&'a [[u8; 4]]> {
        let (floats, rest) = self.values.get(..self.len)?.as_chunks::<4>();
        rest.is_empty().then_some(floats)
    }

    /// Appends the byte string to `data`, and its end to `ends`.
    #[inline]
    pub fn push_bytes(&self, data: &mut Vec<u8>, ends: &mut Vec<i64>) {
        const WORD: usize = 16;
        match self.values.first_chunk::<WORD>() {
            // As many bytes as the compiler knows, and then back to what there is: no call.
            Some(word) if self.len <= WORD => {
                let end = data.len() + self.len;
                data.extend_from_slice(word);
                data.truncate(end);
            }
            _ => data.extend_from_slice(self.values.get(..self.len).unwrap_or_default()),
        }
        ends.push(as_offset(data.len()));
    }
}
