//! Short features, which most are: one list of one byte string, or of packed numbers, with all lengths in
//! single bytes. They are read without a loop and copied without a call; whatever is not of just this
//! form goes the long way (`message.rs`), which decides alone what is an error.

use super::spec::Kind;
use super::values::as_offset;
use super::varints::{HIGH_BITS, squeeze};

/// The list of a short feature.
pub struct Short<'a> {
    /// The kind of its values.
    pub kind: Kind,
    /// How many bytes of values.
    len: usize,
    /// They, and all that follows them.
    values: &'a [u8],
}

impl<'a> Short<'a> {
    /// Reads a feature from its length on: that, the list's tag and length, and those of the values.
    #[must_use]
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (&[feature_len, list_tag, list_len, value_tag, len], values) =
            bytes.split_first_chunk::<5>()?;
        let len = usize::from(len);
        let fits = value_tag == 0x0a
            && feature_len < 0x80
            && usize::from(list_len) == len + 2
            && usize::from(feature_len) == len + 4;
        if !fits || values.len() < len {
            return None;
        }
        Some(Self {
            kind: Kind::of_tag(list_tag)?,
            len,
            values,
        })
    }

    /// How many bytes the feature takes, its length included.
    #[must_use]
    #[inline]
    pub fn total(&self) -> usize {
        self.len + 5
    }

    /// The number, if there is just one integer.
    #[must_use]
    #[inline]
    pub fn int64(&self) -> Option<i64> {
        let word = u64::from_le_bytes(*self.values.first_chunk::<8>()?);
        let ends = !word & HIGH_BITS;
        let mine = ends ^ ends.wrapping_sub(1);
        // The first byte without a high bit is the last of the values.
        let bytes = (mine.count_ones() / 8) as usize;
        (bytes == self.len && ends != 0).then(|| squeeze(word & mine).cast_signed())
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
