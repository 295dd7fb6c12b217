//! Chains of records after damage: where they begin, and how each ends.

use crate::error::Result;
use crate::record::salvage::file_view::View;
use crate::record::salvage::probe::{AROUND, Frame, frame, is_whole, lands};
use crate::runtime::memory::try_push;

/// Records one after the other, each exactly where the one before it ends.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Where the first one begins.
    pub start: u64,
    /// Where the last sound one ends.
    pub end: u64,
    /// The largest of them, frame and all.
    pub largest: u64,
    /// How many there are.
    pub records: u64,
    /// What comes then.
    pub tail: ChainTail,
}

/// How a chain ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainTail {
    /// With the file.
    Eof,
    /// Not within sight: it is too long to be looked at to its end now.
    Long,
    /// At a damaged record, after which, where its header says, other records are: where.
    Landed(u64),
    /// At a damaged record, which does not end where it says that it does: here.
    Bad(u64),
    /// At something that is not even a header.
    Broken,
}

/// What was found after damage.
#[derive(Default)]
pub struct Chains {
    /// The chains, in order. None lies in another, and each is as long as it can be.
    pub all: Vec<Chain>,
    /// Where all from the damage on is one record, whose header is damaged: its end.
    pub whole: Option<u64>,
    /// How many chains, not among these, lie in damaged records that end where they should.
    pub inside: u64,
    /// The largest record that any header announces.
    pub largest: u64,
}

/// The most chains that are looked at before some of them are judged.
const MOST: usize = 1 << 18;

/// A chain that is longer than this, and than that many of the largest records, continues after what is looked at.
const LONG: (u64, u64) = (16 << 20, 8);

/// Looks for chains from `from` on: all of them, unless they are many. At `damage` there is no header that
/// could be trusted, if that is given.
///
/// # Errors
/// Any I/O error.
pub fn find(view: &mut View, damage: Option<u64>, from: u64, largest: u64) -> Result<Chains> {
    let mut found = Chains::default();
    let mut at = from;
    let long = LONG.0.max(largest.saturating_mul(LONG.1));
    let mut bound = None;
    while found.all.len() < MOST
        && let Some(place) = view.next_header(at, view.size())?
    {
        if let Some(next) = bound.take_if(|next| *next <= place) {
            at = next;
            continue;
        }
        if let Some(damage) = damage
            && is_whole(view, damage, place)?
        {
            found.all.clear();
            found.whole = Some(place);
            return Ok(found);
        }
        at = place + 1;
        let stands = frame(view, place)?;
        if let Frame::Bad(end) = stands {
            found.largest = found.largest.max(end - place);
        }
        if let Frame::Sound(_) = stands {
            let chain = walk(view, place, long)?;
            at = chain.end + 1;
            if bound.is_some_and(|next| chain.end <= next) {
                found.inside += 1;
                continue;
            }
            if bound.take().is_some() {
                found.unbind(view)?;
            }
            match chain.tail {
                ChainTail::Eof | ChainTail::Long => at = view.size(),
                ChainTail::Landed(next) => bound = Some(next),
                // The header may be that of a record; nothing says where it ends.
                ChainTail::Bad(_) | ChainTail::Broken => {}
            }
            try_push(&mut found.all, chain)?;
        }
    }
    if let Some(damage) = damage
        && is_whole(view, damage, view.size())?
    {
        found.all.clear();
        found.whole = Some(view.size());
    }
    Ok(found)
}

impl Chains {
    /// The last chain continues at a damaged record that does not end where it says: another chain lies there.
    fn unbind(&mut self, view: &mut View) -> Result<()> {
        if let Some(last) = self.all.last_mut()
            && let Frame::Bad(claimed) = frame(view, last.end)?
        {
            last.tail = ChainTail::Bad(claimed);
        }
        Ok(())
    }
}

/// Follows the chain from `start`.
fn walk(view: &mut View, start: u64, long: u64) -> Result<Chain> {
    let (mut end, mut largest, mut records) = (start, 0, 0);
    let tail = loop {
        if end == view.size() {
            break ChainTail::Eof;
        }
        if end - start > long {
            break ChainTail::Long;
        }
        match frame(view, end)? {
            Frame::Sound(next) | Frame::Mended(next) => {
                largest = largest.max(next - end);
                records += 1;
                end = next;
            }
            Frame::Bad(claimed) => break hop(view, claimed)?,
            Frame::None => break ChainTail::Broken,
        }
    };
    Ok(Chain {
        start,
        end,
        largest,
        records,
        tail,
    })
}

/// Continues from header to header after damaged records, until one is sound.
///
/// # Errors
/// Any I/O error.
pub fn hop(view: &mut View, claimed: u64) -> Result<ChainTail> {
    let mut end = claimed;
    loop {
        if end == view.size() {
            return Ok(ChainTail::Eof);
        }
        if !lands(view, end)? {
            return Ok(ChainTail::Bad(claimed));
        }
        match frame(view, end)? {
            Frame::Bad(next) => end = next,
            _ => return Ok(ChainTail::Landed(end)),
        }
    }
}

/// A stretch of a file in which headers follow one another, as far as it has been followed.
///
/// Damaged records that stand side by side all ask whether headers follow, each for a megabyte: what
/// one has followed the next need not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Followed {
    at: u64,
    reached: u64,
}

impl Followed {
    /// Whether headers follow one another from `at` on, for more than `enough` bytes or up to the end of the file.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn continues(&mut self, view: &mut View, at: u64, enough: u64) -> Result<bool> {
        self.move_to(view, at)?;
        while self.reached < view.size() {
            if self.reached - at > enough {
                return Ok(true);
            }
            match next(view, self.reached)? {
                Some(end) => self.reached = end,
                None => return Ok(false),
            }
        }
        Ok(self.reached == view.size())
    }

    /// Keeps what is known if `at` is one of the headers followed, else begins there.
    fn move_to(&mut self, view: &mut View, at: u64) -> Result<()> {
        while self.at < at
            && self.at < self.reached
            && let Some(end) = next(view, self.at)?
        {
            self.at = end;
        }
        if self.at != at {
            *self = Self { at, reached: at };
        }
        Ok(())
    }
}

/// End of the record whose sound header is at `at`.
fn next(view: &mut View, at: u64) -> Result<Option<u64>> {
    let length = view.header(at)?;
    Ok(length.map(|length| at.saturating_add(AROUND).saturating_add(length)))
}
