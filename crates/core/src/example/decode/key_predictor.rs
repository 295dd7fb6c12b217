//! Which column a feature's name belongs to.
//!
//! Real files repeat themselves: their records have the same names in the same order. So the order is
//! remembered, and of each name the very bytes that lead to its value, which are compared with those of
//! the record sixteen at a time; a name is looked up only where they differ. A record that lacks a name
//! differs in one place and is as expected again after it.

use std::collections::HashMap;
use std::sync::Arc;

/// How many names that nobody asked for are remembered.
const MAX_UNASKED: usize = 1 << 12;

/// What comes after that many is looked up by name every time.
const MAX_PLACES: usize = 1 << 12;

/// The names, and in which order they come.
#[derive(Default)]
pub struct Directory {
    by_name: HashMap<Arc<[u8]>, Name>,
    order: Vec<Expected>,
    unasked: usize,
    surprises: Surprises,
}

struct Name {
    /// [`NONE`]: not asked for.
    column: u32,
    /// Where it comes in the order; [`NONE`]: not yet.
    place: u32,
}

const NONE: u32 = u32::MAX;

/// A number, if it is one.
#[inline]
fn known(number: u32) -> Option<usize> {
    (number != NONE).then_some(number as usize)
}

/// A number of which there are not that many.
fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(NONE)
}

/// A name that was found.
#[derive(Clone, Copy)]
pub struct FoundColumn {
    /// Its column (none: not asked for).
    pub column: Option<usize>,
    /// The place in the order of what comes after it.
    pub next: usize,
}

impl Directory {
    /// Adds a name that was not there.
    pub fn add(&mut self, key: &[u8], column: Option<usize>) {
        let column = column.map_or(NONE, short);
        let place = NONE;
        self.by_name.insert(key.into(), Name { column, place });
    }

    /// Adds a name that nobody asked for, if there are not too many.
    pub fn add_unasked(&mut self, key: &[u8]) {
        if self.unasked < MAX_UNASKED {
            self.unasked += 1;
            self.add(key, None);
        }
    }

    /// The name that is expected at a place in the order.
    #[inline]
    pub fn expected(&self, place: usize) -> Option<&Expected> {
        self.order.get(place)
    }

    /// Finds the name `key`, which comes where another one was expected, or for the first time.
    pub fn find(&mut self, place: usize, key: &[u8]) -> Option<FoundColumn> {
        if let Some(expected) = self.order.get(place)
            && *expected.name == *key
        {
            return Some(FoundColumn {
                column: expected.column(),
                next: place + 1,
            });
        }
        self.look_up(place, key)
    }

    fn look_up(&mut self, place: usize, key: &[u8]) -> Option<FoundColumn> {
        if self.surprises.are_too_many() {
            self.order.clear();
            self.by_name.values_mut().for_each(|name| name.place = NONE);
        }
        let name = self.by_name.get_mut(key)?;
        let (column, mut found) = (name.column, known(name.place));
        let is_last = (self.order.len()..MAX_PLACES).contains(&place);
        if found.is_none() && is_last {
            found = Some(self.order.len());
            name.place = short(self.order.len());
            let (name, _) = self.by_name.get_key_value(key)?;
            self.order.push(Expected::new(name, column));
        }
        Some(FoundColumn {
            column: known(column),
            // After what is not in the order comes what was expected.
            next: found.map_or(place, |place| place + 1),
        })
    }
}

/// How often a name was not where it was expected. After many times a new order is learned; with
/// records that have none, this gets ever rarer.
struct Surprises {
    left: usize,
    patience: usize,
}

impl std::default::Default for Surprises {
    fn default() -> Self {
        Self {
            left: 1 << 8,
            patience: 1 << 8,
        }
    }
}

impl Surprises {
    fn are_too_many(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        let are_too_many = self.left == 0;
        if are_too_many {
            self.patience = self.patience.saturating_mul(4);
            self.left = self.patience;
        }
        are_too_many
    }
}

/// A name at its place, with the bytes that lead to the value of a short entry: the tag and length of the
/// entry, the tag, length and bytes of the name, and the value's tag.
pub struct Expected {
    /// The first of them; the entry's length is left open.
    first: u128,
    /// The bits of `first` that must be the same.
    mask: u128,
    /// The last of them, if there are more.
    last: u128,
    /// How many there are; none if they are too many to be compared in this way.
    len: u32,
    /// [`NONE`]: not asked for.
    column: u32,
    name: Arc<[u8]>,
}

const WORD: usize = size_of::<u128>();

impl Expected {
    fn new(name: &Arc<[u8]>, column: u32) -> Self {
        let [name_len, ..] = name.len().to_le_bytes();
        let lead = [&[0x0a, 0, 0x0a, name_len], &**name, &[0x12]].concat();
        let word = |bytes: &[u8]| {
            let mut word = [0; WORD];
            word.iter_mut()
                .zip(bytes)
                .for_each(|(to, from)| *to = *from);
            u128::from_le_bytes(word)
        };
        let masked: Vec<u8> = (0..lead.len())
            .map(|at| if at == 1 { 0 } else { 0xff })
            .collect();
        Self {
            first: word(&lead),
            mask: word(&masked),
            last: lead.last_chunk::<WORD>().map_or(0, |last| word(last)),
            len: if lead.len() > 2 * WORD {
                0
            } else {
                short(lead.len())
            },
            column,
            name: Arc::clone(name),
        }
    }

    /// The column (none: not asked for).
    #[inline]
    pub fn column(&self) -> Option<usize> {
        known(self.column)
    }

    /// If `map` begins with a short entry of this name, and nothing but its value after: where in the map
    /// the value begins, and where it ends with the entry.
    #[inline]
    pub fn value_in(&self, map: &[u8]) -> Option<(usize, usize)> {
        let first = map.first_chunk::<WORD>()?;
        let [_, entry_len, ..] = *first;
        if (u128::from_le_bytes(*first) ^ self.first) & self.mask != 0 || entry_len >= 0x80 {
            return None;
        }
        let len = self.len as usize;
        if len > WORD {
            let last = map.get(..len)?.last_chunk::<WORD>()?;
            if u128::from_le_bytes(*last) != self.last {
                return None;
            }
        }
        let value_len = usize::from(*map.get(len)?);
        let (start, end) = (len + 1, usize::from(entry_len) + 2);
        (start + value_len == end && len > 0).then_some((start, end))
    }
}
