//! Whether the records of a file hold records themselves, as far as a look at some of them can tell.

use super::super::frame::{FOOTER, HEADER};
use super::frames::{Frame, frame};
use super::view::View;
use crate::error::Result;

/// How much is looked at.
const MOST_BYTES: u64 = 2 << 20;
/// So many records without any in them say that there are none in others.
const ENOUGH_RECORDS: u32 = 8;

/// What has been found out.
#[derive(Default)]
pub struct Nesting {
    /// Whether some do.
    pub is_found: bool,
    /// How many records hold none, of those of each chain.
    without: Vec<u32>,
    bytes: u64,
}

impl Nesting {
    /// Looks into records of chains.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn look(
        &mut self,
        view: &mut View,
        chains: impl Iterator<Item = (u64, u64)>,
    ) -> Result<()> {
        self.without.clear();
        self.bytes = 0;
        for (start, end) in chains {
            let without = self.look_at(view, start, end)?;
            self.without.push(without);
        }
        Ok(())
    }

    /// How many records from `start` to `end` hold none, of those that are looked at.
    fn look_at(&mut self, view: &mut View, start: u64, end: u64) -> Result<u32> {
        let (mut at, mut records) = (start, 0);
        while at < end
            && self.bytes < MOST_BYTES
            && !self.is_found
            && let Frame::Sound(next) = frame(view, at)?
        {
            self.is_found = holds_records(view, at + HEADER as u64, next - FOOTER as u64)?;
            self.bytes += next - at;
            records += 1;
            at = next;
        }
        Ok(records)
    }

    /// Whether chain `number` must be reckoned to be content: what the others show.
    pub fn is_possible(&self, number: usize) -> bool {
        let all: u32 = self.without.iter().sum();
        let own = self.without.get(number).copied().unwrap_or_default();
        self.is_found || all - own < ENOUGH_RECORDS
    }
}

/// Whether there is a record somewhere in these bytes.
fn holds_records(view: &mut View, begin: u64, end: u64) -> Result<bool> {
    let mut at = begin;
    while let Some(place) = view.next_header(at)?.filter(|&place| place < end) {
        if matches!(frame(view, place)?, Frame::Sound(next) if next <= end) {
            return Ok(true);
        }
        at = place + 1;
    }
    Ok(false)
}
