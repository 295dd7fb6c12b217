//! What stands at one place of a file: a record, a damaged one, or nothing that could be one.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::error::{ErrorKind, Result};
use crate::record::format::crc::{self, prefix};
use crate::record::format::frame::{FOOTER, HEADER};
use crate::record::salvage::file_view::View;
use crate::runtime::memory::try_reserve;

/// Bytes of a frame beside the data.
pub const AROUND: u64 = (HEADER + FOOTER) as u64;

/// The largest record that is put together from two parts.
const MOST_SPLICED: u64 = 256 << 10;

/// What begins at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A whole record up to here, all of its checksums right.
    Sound(u64),
    /// A record up to here, its data proved by its checksum; its header is damaged.
    Mended(u64),
    /// A header that is sound, or nearly, of a record that is not: where it says that the record ends, which may
    /// be after the end of the file.
    Bad(u64),
    /// Neither.
    None,
}

/// The frame at `at`.
///
/// # Errors
/// Any I/O error.
pub fn frame(view: &mut View, at: u64) -> Result<Frame> {
    if let Some(length) = view.header(at)? {
        let end = at.saturating_add(AROUND).saturating_add(length);
        let sound = end <= view.size() && view.holds(at + HEADER as u64, end - FOOTER as u64)?;
        return Ok(if sound {
            Frame::Sound(end)
        } else {
            Frame::Bad(end)
        });
    }
    mended(view, at)
}

/// The frame at `at`, where the header is damaged: in one byte, or in its checksum only.
fn mended(view: &mut View, at: u64) -> Result<Frame> {
    let Some(header) = view.at(at)?.first_chunk::<HEADER>().copied() else {
        return Ok(Frame::None);
    };
    let (length, checksum) = split(&header);
    let mut likely = None;
    let candidates = one_byte_off(length, checksum).into_iter().chain([length]);
    for candidate in candidates {
        let Some(end) = candidate
            .checked_add(at + AROUND)
            .filter(|&end| end <= view.size())
        else {
            continue;
        };
        if is_whole(view, at, end)? {
            return Ok(Frame::Mended(end));
        }
        let alike = bytes_alike(crc::masked_length(candidate), checksum);
        if likely.is_none() && alike >= 3 && lands(view, end)? {
            likely = Some(end);
        }
    }
    Ok(likely.map_or(Frame::None, Frame::Bad))
}

fn split(header: &[u8; HEADER]) -> (u64, u32) {
    let [l0, l1, l2, l3, l4, l5, l6, l7, c0, c1, c2, c3] = *header;
    let length = u64::from_le_bytes([l0, l1, l2, l3, l4, l5, l6, l7]);
    (length, u32::from_le_bytes([c0, c1, c2, c3]))
}

/// The length that differs from `length` in one byte and has this checksum.
fn one_byte_off(length: u64, checksum: u32) -> Option<u64> {
    let difference = prefix::unmasked(crc::masked_length(length)) ^ prefix::unmasked(checksum);
    CHANGES.get(&difference).map(|change| length ^ change)
}

/// By how it changes the checksum, each change of one byte of a length.
static CHANGES: LazyLock<HashMap<u32, u64>> = LazyLock::new(|| {
    let none = prefix::unmasked(crc::masked_length(0));
    let changes = (0..8).flat_map(|byte| (1..=255u64).map(move |change| change << (8 * byte)));
    let keyed = |change| (prefix::unmasked(crc::masked_length(change)) ^ none, change);
    changes.map(keyed).collect()
});

fn bytes_alike(one: u32, other: u32) -> usize {
    let pairs = one.to_le_bytes().into_iter().zip(other.to_le_bytes());
    pairs.filter(|(one, other)| one == other).count()
}

/// Whether a record may well end at `end`: there the file ends, or another one begins.
///
/// # Errors
/// Any I/O error.
pub fn lands(view: &mut View, end: u64) -> Result<bool> {
    Ok(end == view.size() || (end < view.size() && view.header(end)?.is_some()))
}

/// Whether all from `at` to `end` is one record, whose header is damaged: its data proves it.
///
/// # Errors
/// Any I/O error.
pub fn is_whole(view: &mut View, at: u64, end: u64) -> Result<bool> {
    if end < at + AROUND {
        return Ok(false);
    }
    // A header too is eight bytes and their checksum.
    if end - at == AROUND + 8
        && let Some(length) = view.header(at + HEADER as u64)?
        && length <= view.size()
    {
        return Ok(false);
    }
    view.holds(at + HEADER as u64, end - FOOTER as u64)
}

/// How a record was torn apart: its data is these bytes, and after them those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splice {
    /// Where the first part ends.
    pub torn: u64,
    /// Where the other part begins.
    pub resumed: u64,
}

/// Whether the record at `at`, which should end at `claimed`, ends at `end`, because something was put
/// between two parts of it, or one of them was put somewhere else: without it, its checksum is right.
///
/// # Errors
/// Any I/O error.
pub fn splice(view: &mut View, at: u64, claimed: u64, end: u64) -> Result<Option<Splice>> {
    let begin = at + HEADER as u64;
    let length = claimed.saturating_sub(at).saturating_sub(AROUND);
    let Some(tail) = (end.checked_sub(FOOTER as u64)).and_then(|end| end.checked_sub(length))
    else {
        return Ok(None);
    };
    if end == claimed || length > MOST_SPLICED || begin + length > view.size() {
        return Ok(None);
    }
    let one = view.read(begin, begin + length)?;
    let other = view.read(tail, end)?;
    let Some((other, footer)) = other.split_last_chunk::<FOOTER>() else {
        return Ok(None);
    };
    let wanted = prefix::unmasked(u32::from_le_bytes(*footer));
    let (one, other) = (registers(&one)?, registers(other)?);
    let whole = other.last().copied().unwrap_or_default();
    let mut difference = wanted ^ whole ^ prefix::after_zeros(!0, length);
    // With all data before the tear nothing is left to add zeros for.
    for (place, (before, after)) in one.iter().zip(&other).enumerate().rev() {
        if before ^ after == difference {
            let place = place as u64;
            return Ok(Some(Splice {
                torn: begin + place,
                resumed: tail + place,
            }));
        }
        difference = prefix::before_zero(difference);
    }
    Ok(None)
}

/// The registers before each byte, and after the last.
fn registers(bytes: &[u8]) -> Result<Vec<u32>> {
    let mut all = Vec::new();
    try_reserve(&mut all, bytes.len() + 1)?;
    let mut register = 0;
    all.push(register);
    for &byte in bytes {
        register = prefix::after_byte(register, byte);
        all.push(register);
    }
    Ok(all)
}

/// Why there is no record at `at`.
///
/// # Errors
/// Any I/O error.
pub fn reason(view: &mut View, at: u64) -> Result<ErrorKind> {
    let left = view.size().saturating_sub(at);
    if left < HEADER as u64 {
        let left = usize::try_from(left).unwrap_or_default();
        return Ok(ErrorKind::TruncatedHeader(left));
    }
    let Some(length) = view.header(at)? else {
        return Ok(ErrorKind::LengthChecksum);
    };
    let Some(need) = length
        .checked_add(FOOTER as u64)
        .filter(|need| need.checked_add(HEADER as u64).is_some())
    else {
        return Ok(ErrorKind::ImpossibleLength(length));
    };
    let have = left - HEADER as u64;
    Ok(if need > have {
        ErrorKind::TruncatedRecord { need, have }
    } else {
        ErrorKind::DataChecksum
    })
}

/// Whether the header that should be at `at` has been overwritten with zeros.
///
/// # Errors
/// Any I/O error.
pub fn is_zeroed(view: &mut View, at: u64) -> Result<bool> {
    // The checksum of no length is all zeros.
    let there = view.at(at)?.get(8..16);
    Ok(there.is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0)))
}

/// Whether what is at `at` may be what is left of a header: half its length, or its checksum, is zero.
///
/// # Errors
/// Any I/O error.
pub fn is_like_header(view: &mut View, at: u64) -> Result<bool> {
    let is_zero =
        |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0));
    let there = view.at(at)?;
    Ok(is_zero(there.get(4..8)) || is_zero(there.get(8..12)))
}
