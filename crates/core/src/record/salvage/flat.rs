//! The way on where no record holds another: to the next sound record, whatever stands before it.

use super::nesting::next_sound;
use super::step::Step;
use crate::error::Result;
use crate::record::format::frame::HEADER;
use crate::record::salvage::file_view::View;
use crate::record::salvage::probe::{AROUND, Frame, frame, is_whole, lands, reason};
use crate::runtime::memory::try_push;

/// The way from `damage` to the next sound record.
///
/// # Errors
/// Any I/O error.
pub fn way(view: &mut View, damage: u64) -> Result<Vec<Step>> {
    let size = view.size();
    let resumed = match claim(view, damage)? {
        Some(end) => end,
        None => resumption(view, damage + 1)?.unwrap_or(size),
    };
    let mut steps = Vec::new();
    let mut at = damage;
    while at < resumed {
        let step = step(view, at, resumed)?;
        if let Step::Skip(_, end, _) | Step::Mended(_, end) = step {
            at = end;
        }
        try_push(&mut steps, step)?;
    }
    if resumed < size {
        try_push(&mut steps, Step::Run(resumed, None))?;
    }
    Ok(steps)
}

/// Where the damaged record at `damage` ends, if its header can be believed: at a record, at the end of the file,
/// or after it. A file with a single changed byte, or cut off, has such a record, and nothing in it is the file's,
/// whatever it holds.
fn claim(view: &mut View, damage: u64) -> Result<Option<u64>> {
    let size = view.size();
    match frame(view, damage)? {
        Frame::Bad(end) if end > size => Ok(Some(size)),
        Frame::Bad(end) if lands(view, end)? => Ok(Some(end)),
        _ => Ok(None),
    }
}

/// Where the next sound record is, from `at` on, that is none of a chain that begins where the content of a
/// damaged record does.
fn resumption(view: &mut View, mut at: u64) -> Result<Option<u64>> {
    let size = view.size();
    while let Some(place) = next_sound(view, at, size)? {
        let Some(claimed) = content_before(view, place)? else {
            return Ok(Some(place));
        };
        at = place;
        while let Frame::Sound(next) = frame(view, at)? {
            at = next;
        }
        if !is_content(at, claimed, size) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Where the content ends that begins at `start`, if a header stands before it that announces records.
///
/// # Errors
/// Any I/O error.
pub fn content_before(view: &mut View, start: u64) -> Result<Option<u64>> {
    let Some(header) = start.checked_sub(HEADER as u64) else {
        return Ok(None);
    };
    let length = view.header(header)?.filter(|length| *length >= AROUND);
    Ok(length.map(|length| start.saturating_add(length)))
}

/// Whether a chain that ends at `end` can be content up to `claimed`. The 8 bytes of a record and their checksum look
/// like a header; but the chain after them ends beyond what they announce, or with the file.
#[must_use]
pub fn is_content(end: u64, claimed: u64, size: u64) -> bool {
    end <= claimed && end < size
}

/// What to make of `at`, after which nothing is sound up to `resumed`.
fn step(view: &mut View, at: u64, resumed: u64) -> Result<Step> {
    let stands = frame(view, at)?;
    let end = match stands {
        Frame::Mended(end) if end <= resumed => return Ok(Step::Mended(at, end)),
        Frame::Bad(end) if end <= resumed && lands(view, end)? => end,
        _ => {
            if let Some(end) = whole(view, at, resumed)? {
                return Ok(Step::Mended(at, end));
            }
            resumed
        }
    };
    Ok(Step::Skip(at, end, reason(view, at)?))
}

/// Where a record at `at` ends whose header is damaged, if its data proves it.
fn whole(view: &mut View, at: u64, resumed: u64) -> Result<Option<u64>> {
    if view.header(at)?.is_some() {
        return Ok(None);
    }
    let mut from = at + 1;
    while let Some(place) = view.next_header(from, resumed)? {
        if is_whole(view, at, place)? {
            return Ok(Some(place));
        }
        from = place + 1;
    }
    Ok(is_whole(view, at, resumed)?.then_some(resumed))
}
