//! Which column a feature's name belongs to.
//!
//! Real files repeat themselves: record after record has the same names in the same order. So what
//! stood at each position of the last record is remembered as the very bytes that led in its name,
//! and compared with those of the next record sixteen at a time; a name is looked up only where they
//! differ.

use std::collections::HashMap;

use super::wire::Wire;

/// Positions beyond this are looked up by name every time.
const MAX_POSITIONS: usize = 1 << 16;

/// Which column a name belongs to.
#[derive(Default)]
pub struct Directory {
    by_name: HashMap<Vec<u8>, usize>,
    /// What stood at each position of the last record.
    positions: Vec<Known>,
}

/// A name at a position, and its column (none: not asked for).
struct Known {
    lead: Lead,
    column: Option<usize>,
    /// The name, if it does not fit the lead.
    long: Option<Box<[u8]>>,
}

impl Known {
    fn new(key: &[u8], column: Option<usize>) -> Self {
        let lead = Lead::of(key);
        let is_long = lead.len == 0;
        Self {
            lead,
            column,
            long: is_long.then(|| key.into()),
        }
    }

    fn is(&self, key: &[u8]) -> bool {
        self.long.as_deref().unwrap_or(self.lead.name()) == key
    }
}

impl Directory {
    /// Adds a name that was not there.
    pub fn add(&mut self, key: &[u8], column: usize) {
        self.by_name.insert(key.to_vec(), column);
    }

    /// The column of the name `key` at `position`.
    #[inline]
    pub fn find(&mut self, position: usize, key: &[u8]) -> Option<usize> {
        match self.positions.get(position) {
            Some(known) if known.is(key) => known.column,
            _ => self.look_up(position, key),
        }
    }

    /// As [`Self::find`], but forgetting what stood there before.
    pub fn look_up(&mut self, position: usize, key: &[u8]) -> Option<usize> {
        let column = self.by_name.get(key).copied();
        let known = Known::new(key, column);
        if let Some(place) = self.positions.get_mut(position) {
            *place = known;
        } else if position == self.positions.len() && position < MAX_POSITIONS {
            self.positions.push(known);
        }
        column
    }

    /// If `map` goes on with a short entry of the same name as that at `position` of the last record:
    /// the column, and what follows the name.
    #[inline]
    pub fn same_again<'a>(&self, position: usize, map: Wire<'a>) -> Option<Again<'a>> {
        let known = self.positions.get(position)?;
        let &[0x0a, entry_len @ 0..0x80, ref entry @ ..] = map.0 else {
            return None;
        };
        let behind = known.lead.strip_from(entry)?;
        Some(Again {
            column: known.column,
            behind,
            left: usize::from(entry_len).checked_sub(known.lead.len)?,
        })
    }
}

/// An entry with the same name as the last record's.
pub struct Again<'a> {
    /// The name's column (none: not asked for).
    pub column: Option<usize>,
    /// What follows the tag of the value, to the end of the map: the value's length comes first.
    pub behind: &'a [u8],
    /// How many bytes of that belong to the entry.
    pub left: usize,
}

/// What leads to the value of a short entry: the tag, length and bytes of the name, and the value's tag.
struct Lead {
    /// With zeros behind them.
    bytes: [u8; LONGEST],
    /// How many bytes; 0: too many.
    len: usize,
}

const WORD: usize = size_of::<u128>();
const LONGEST: usize = 2 * WORD;

#[allow(
    clippy::indexing_slicing,
    reason = "done by the compiler, which would notice"
)]
/// For each length the bits of two words that belong to as many bytes.
const MASKS: [[u128; 2]; LONGEST + 1] = {
    let mut masks = [[0; 2]; LONGEST + 1];
    let mut len = 1;
    while len <= LONGEST {
        masks[len] = masks[len - 1];
        let (word, byte) = ((len - 1) / WORD, (len - 1) % WORD);
        masks[len][word] |= 0xff << (8 * byte);
        len += 1;
    }
    masks
};

impl Lead {
    fn of(key: &[u8]) -> Self {
        let mut bytes = [0; LONGEST];
        let mut len = key.len() + 3;
        if let [tag, key_len, rest @ ..] = &mut bytes
            && let Some(behind) = rest.get_mut(..=key.len())
            && let Some((value_tag, name)) = behind.split_last_mut()
        {
            name.copy_from_slice(key);
            [*key_len, ..] = key.len().to_le_bytes();
            (*tag, *value_tag) = (0x0a, 0x12);
        } else {
            len = 0;
        }
        Self { bytes, len }
    }

    fn name(&self) -> &[u8] {
        self.bytes
            .get(2..self.len.saturating_sub(1))
            .unwrap_or_default()
    }

    /// What follows these bytes, if `entry` begins with them, and does not end soon behind.
    #[inline]
    fn strip_from<'a>(&self, entry: &'a [u8]) -> Option<&'a [u8]> {
        let [low, high] = words_of(entry.first_chunk()?);
        let [own_low, own_high] = words_of(&self.bytes);
        let [of_low, of_high] = MASKS.get(self.len)?;
        let differ = ((low ^ own_low) & of_low) | ((high ^ own_high) & of_high);
        if differ != 0 || self.len == 0 {
            return None;
        }
        entry.get(self.len..)
    }
}

#[inline]
fn words_of(bytes: &[u8; LONGEST]) -> [u128; 2] {
    let (words, _) = bytes.as_chunks::<WORD>();
    match words {
        &[low, high] => [u128::from_le_bytes(low), u128::from_le_bytes(high)],
        _ => [0; 2],
    }
}
