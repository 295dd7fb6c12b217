//! Varints by words of eight bytes, for every processor.

use std::mem::MaybeUninit;

use crate::example::wire::Wire;

/// The bit of each byte of a word that says that a varint continues.
pub const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// See [`super::Decode`]. Stops only where there are no more bytes, no more room, or what comes is no
/// varint.
///
/// Eight bytes are loaded at once; the bits that end varints say how many there are, and each is cut
/// off and squeezed together without a branch on its length. The next load waits only for where the
/// last of them ends.
pub fn decode(bytes: &mut &[u8], room: &mut [MaybeUninit<i64>]) -> usize {
    let mut written = 0;
    while let Some(chunk) = bytes.first_chunk::<8>()
        && let Some(room) = room
            .get_mut(written..)
            .and_then(<[_]>::first_chunk_mut::<8>)
    {
        let word = u64::from_le_bytes(*chunk);
        let ends = !word & HIGH_BITS;
        if ends == 0 {
            let [place, ..] = room;
            if !long(bytes, place) {
                return written;
            }
            written += 1;
            continue;
        }
        if ends == HIGH_BITS {
            for (place, byte) in room.iter_mut().zip(chunk) {
                place.write(i64::from(*byte));
            }
            *bytes = bytes.get(8..).unwrap_or_default();
            written += 8;
            continue;
        }
        let whole = 8 - (ends.leading_zeros() / 8) as usize;
        *bytes = bytes.get(whole..).unwrap_or_default();
        written += words(word, ends, room);
    }
    while one(bytes, room.get_mut(written)) {
        written += 1;
    }
    written
}

/// Whether there was a varint of nine or ten bytes, as all negative values are.
#[inline]
pub fn long(bytes: &mut &[u8], place: &mut MaybeUninit<i64>) -> bool {
    let Some((word, more)) = bytes.split_first_chunk::<8>() else {
        return false;
    };
    let low = squeeze(u64::from_le_bytes(*word));
    let (value, rest) = match more {
        [ninth @ 0..0x80, rest @ ..] => (low | u64::from(*ninth) << 56, rest),
        [ninth, tenth @ 0..0x80, rest @ ..] => {
            let both = u64::from(*ninth & 0x7f) << 56 | u64::from(*tenth) << 63;
            (low | both, rest)
        }
        _ => return false,
    };
    place.write(value.cast_signed());
    *bytes = rest;
    true
}

/// The varints of a word, of which each ends where `ends` has a bit.
#[inline]
fn words(mut word: u64, mut ends: u64, room: &mut [MaybeUninit<i64>; 8]) -> usize {
    let count = ends.count_ones() as usize;
    for place in room.iter_mut().take(count) {
        place.write(squeeze(word & (ends ^ (ends - 1))).cast_signed());
        let bits = ends.trailing_zeros() + 1;
        word = word.unbounded_shr(bits);
        ends = ends.unbounded_shr(bits);
    }
    count
}

/// Whether there was a varint, and room for it.
#[inline]
fn one(bytes: &mut &[u8], place: Option<&mut MaybeUninit<i64>>) -> bool {
    let mut wire = Wire(bytes);
    let Some(place) = place else { return false };
    let Ok(value) = wire.varint() else {
        return false;
    };
    place.write(value.cast_signed());
    *bytes = wire.0;
    true
}

/// The low seven bits of each byte, pushed together: first in pairs of bytes, then in fours, then all.
#[inline]
pub fn squeeze(word: u64) -> u64 {
    let pairs = (word & 0x007f_007f_007f_007f) | (word & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = (pairs & 0x0000_3fff_0000_3fff) | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    (fours & 0x0fff_ffff) | (fours & 0x0fff_ffff_0000_0000) >> 4
}
