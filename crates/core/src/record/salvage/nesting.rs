//! Whether the records of a file hold records themselves.
//!
//! If they do not, salvage is simple: whatever is sound, and in no other, is a record of the file.

use crate::error::Result;
use crate::record::format::frame::{FOOTER, HEADER};
use crate::record::salvage::file_view::View;
use crate::record::salvage::probe::{AROUND, Frame, frame};

/// How many bytes of a stretch of records are looked at.
const MOST_BYTES: u64 = 64 << 20;

/// What records have shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nesting {
    /// Whether one holds another.
    pub is_found: bool,
    /// How many hold none.
    pub flat: u64,
}

impl Nesting {
    /// Looks into the records from `start` to `end`, which are sound.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn look(&mut self, view: &mut View, start: u64, end: u64) -> Result<()> {
        let mut at = start;
        while at < end
            && at - start < MOST_BYTES
            && !self.is_found
            && let Some(length) = view.header(at)?
        {
            let next = at + AROUND + length;
            let most = at + MOST_BYTES;
            let (begin, end) = (at + HEADER as u64, next - FOOTER as u64);
            self.is_found = next_sound(view, begin, end.min(most))?.is_some();
            self.flat += u64::from(end <= most);
            at = next;
        }
        Ok(())
    }
}

/// Where the next sound record begins, from `at` on, of those that end at `end` at the latest.
///
/// # Errors
/// Any I/O error.
pub fn next_sound(view: &mut View, mut at: u64, end: u64) -> Result<Option<u64>> {
    while let Some(place) = view.next_header(at, end)? {
        if matches!(frame(view, place)?, Frame::Sound(next) if next <= end) {
            return Ok(Some(place));
        }
        at = place + 1;
    }
    Ok(None)
}
