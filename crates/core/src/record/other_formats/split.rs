//! Where the first record of some bytes ends. No I/O.

use std::ops::Range;

/// What stands at the front of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// A record, which takes `total` bytes.
    Record {
        /// Where its data lies.
        data: Range<usize>,
        /// How many bytes go with it.
        total: usize,
    },
    /// Nothing can be said before there are more bytes; that many have been looked at.
    More(usize),
    /// Nothing more.
    End,
}

/// The first line of `bytes`, of which the first `searched` have no newline. Carriage returns in it are taken out, and
/// the rest of it is moved together.
pub fn cut_line(bytes: &mut [u8], searched: usize, at_end: bool) -> Cut {
    let after = bytes.get(searched..).unwrap_or_default();
    let (line, total) = match memchr::memchr(b'\n', after) {
        Some(place) => (searched + place, searched + place + 1),
        None if !at_end => return Cut::More(bytes.len()),
        None => (bytes.len(), bytes.len()),
    };
    let line = bytes.get_mut(..line).unwrap_or_default();
    let length = without_returns(line);
    // After the last newline there is a line only if it has anything.
    if length == 0 && total == line.len() {
        return Cut::End;
    }
    Cut::Record {
        data: 0..length,
        total,
    }
}

/// Moves the bytes of a line together that are no carriage returns, and says how many they are.
fn without_returns(line: &mut [u8]) -> usize {
    let Some(first) = memchr::memchr(b'\r', line) else {
        return line.len();
    };
    let mut kept = first;
    for place in first..line.len() {
        if line.get(place).is_some_and(|&byte| byte != b'\r') {
            line.swap(kept, place);
            kept += 1;
        }
    }
    kept
}

/// The first record of `there` bytes, after all of which stands a footer; none if what is left is no record.
pub fn cut_fixed(there: usize, record: usize, footer: usize, at_end: bool) -> Option<Cut> {
    if record > 0 && there >= record.saturating_add(footer) {
        return Some(Cut::Record {
            data: 0..record,
            total: record,
        });
    }
    if !at_end {
        return Some(Cut::More(there));
    }
    (there == footer).then_some(Cut::End)
}
