//! What to do from damage on: which bytes to skip, and where to read.

use super::flat;
use super::nesting::{Nesting, next_sound};
use super::step::Step;
use crate::error::Result;
use crate::record::read::records::Records;
use crate::record::salvage::chains::{self, Chain, ChainTail, Chains, Followed};
use crate::record::salvage::classify::{Sizes, Verdict, judge};
use crate::record::salvage::file_view::View;
use crate::record::salvage::probe::{
    AROUND, Frame, frame, is_like_header, is_whole, lands, reason,
};
use crate::runtime::memory::try_push;

/// What is known of the file so far.
#[derive(Default)]
pub struct Known {
    /// The largest record, and how many there are.
    pub sizes: Sizes,
    /// Where sound records of the file lie, of those before the damage.
    pub sound: (u64, u64),
    /// Whether records of the file hold records themselves.
    pub nesting: Nesting,
    /// Up to where they have been looked into.
    looked: u64,
    /// Positions of headers that follow one another.
    followed: Followed,
    /// The sound records, read apart from what lies around the damage.
    records: Option<View>,
    /// Whether all the file looks as if none did.
    is_likely: bool,
}

/// A chain that continues for that many bytes after the place where a damaged record says it ends is one of the
/// file; and for that many of the largest records.
const ENOUGH: (u64, u64) = (1 << 20, 4);

/// At how many chains a record may end whose header is damaged.
const AHEAD: usize = 64;

/// After how many records without frames inside the others are taken to have none.
const SURE: u64 = 32;
/// The same, if nothing in the whole file contradicts it.
const AT_LEAST: u64 = 4;
/// How many more for each sign of frames inside, as found with files made at random (seeds below 10,000 of the tests).
const A_SIGN: u64 = 2;
/// How much of a sign a chain in a damaged record is that ends where it should.
const LIES_WITHIN: u64 = 16;
/// And one in a record that should end after the end of the file.
const LIES_IN_THE_LAST: u64 = 8;

/// The way on from `damage`, where a record of the file should begin.
///
/// # Errors
/// Any I/O error.
pub fn plan(view: &mut View, damage: u64, known: &mut Known) -> Result<Vec<Step>> {
    match frame(view, damage)? {
        Frame::Sound(_) => return Ok(vec![Step::Run(damage, None)]),
        Frame::Mended(end) => {
            return Ok(vec![Step::Mended(damage, end), Step::Run(end, None)]);
        }
        _ => {}
    }
    known.look(view)?;
    if known.is_flat() {
        return flat::way(view, damage);
    }
    if let Some(steps) = as_claimed(view, damage, known)? {
        return Ok(steps);
    }
    let untrusted = !matches!(frame(view, damage)?, Frame::Bad(_));
    let found = chains::find(
        view,
        untrusted.then_some(damage),
        damage + 1,
        known.sizes.largest,
    )?;
    if let Some(end) = found.whole {
        return Ok(vec![Step::Mended(damage, end), Step::Run(end, None)]);
    }
    if known.is_flat_with(view, damage, &found)? {
        return flat::way(view, damage);
    }
    known.sizes.largest = known.sizes.largest.max(found.largest);
    let verdicts = judge(view, damage, &found.all, known.sizes)?;
    let mut way = Way {
        view,
        chains: &found.all,
        verdicts: &verdicts,
        steps: Vec::new(),
    };
    way.go(damage)?;
    Ok(way.steps)
}

/// The way on if the damaged record ends where its header says: there other records are, and none inside.
fn as_claimed(view: &mut View, damage: u64, known: &mut Known) -> Result<Option<Vec<Step>>> {
    let Frame::Bad(end) = frame(view, damage)? else {
        return Ok(None);
    };
    if end >= view.size() {
        return Ok(None);
    }
    known.sizes.largest = known.sizes.largest.max(end - damage);
    let enough = ENOUGH.0.max(known.sizes.largest.saturating_mul(ENOUGH.1));
    if !lands(view, end)? || !known.followed.continues(view, end, enough)? {
        return Ok(None);
    }
    if !known.nesting.is_found && next_sound(view, damage + 1, end)?.is_some() {
        return Ok(None);
    }
    Ok(Some(vec![skip(view, damage, end)?, Step::Run(end, None)]))
}

impl Known {
    /// Remembers what sound records there were.
    pub fn saw(&mut self, records: &Records, begin: u64, end: u64) {
        let largest = records.iter().map(<[u8]>::len).max().unwrap_or_default();
        self.sizes.largest = self.sizes.largest.max(largest as u64 + AROUND);
        self.sizes.records += records.len() as u64;
        if self.sound.1 != begin || begin == 0 {
            self.sound.0 = begin;
        }
        self.sound.1 = end;
    }

    /// Looks into the records that came last.
    fn look(&mut self, view: &View) -> Result<()> {
        let (start, end) = self.sound;
        if end > self.looked {
            let mut records = match self.records.take() {
                Some(records) => records,
                None => view.part(start)?,
            };
            self.nesting.look(&mut records, start, end)?;
            self.records = Some(records);
            self.looked = end;
        }
        Ok(())
    }

    fn is_flat(&self) -> bool {
        !self.nesting.is_found && (self.is_likely || self.nesting.flat >= SURE)
    }

    /// Whether the records of the file seem to hold none, with the chains that are left.
    fn is_flat_with(&mut self, view: &mut View, damage: u64, found: &Chains) -> Result<bool> {
        let mut nesting = self.nesting;
        for chain in &found.all {
            if nesting.is_found {
                return Ok(false);
            }
            nesting.look(view, chain.start, chain.end)?;
        }
        if nesting.is_found {
            return Ok(false);
        }
        let signs = signs_of_nesting(view, damage, &found.all)? + found.inside * LIES_WITHIN;
        self.is_likely = nesting.flat >= AT_LEAST + signs * A_SIGN;
        Ok(self.is_likely)
    }
}

/// How much speaks for some of the chains being the content of damaged records.
fn signs_of_nesting(view: &mut View, damage: u64, chains: &[Chain]) -> Result<u64> {
    let (mut before, mut signs) = (damage, 0);
    for (number, chain) in chains.iter().enumerate() {
        let next = chains.get(number + 1).map_or(view.size(), |it| it.start);
        let claimed = flat::content_before(view, chain.start)?;
        let is_first =
            claimed.is_some_and(|claimed| flat::is_content(chain.end, claimed, view.size()));
        let is_last = chain.tail == ChainTail::Broken && next - chain.end < 4 * AROUND;
        // It begins, or ends, where the content of a record does.
        if is_first || is_last {
            signs += 8;
        }
        // It ends in front of something that is no record.
        let ends = chain.tail == ChainTail::Broken && !is_like_header(view, chain.end)?;
        // It lies in a damaged record, and that where it should.
        let lies = match frame(view, before)? {
            Frame::Bad(claimed) if chain.end > claimed => 0,
            Frame::Bad(claimed) if lands(view, claimed)? => LIES_WITHIN,
            Frame::Bad(claimed) if claimed > view.size() => LIES_IN_THE_LAST,
            Frame::Bad(_) => 1,
            _ => 0,
        };
        signs += 4 * u64::from(ends) + lies;
        before = chain.end;
    }
    Ok(signs)
}

fn skip(view: &mut View, begin: u64, end: u64) -> Result<Step> {
    Ok(Step::Skip(begin, end, reason(view, begin)?))
}

struct Way<'a> {
    view: &'a mut View,
    chains: &'a [Chain],
    verdicts: &'a [Verdict],
    steps: Vec<Step>,
}

impl Way<'_> {
    /// Goes from place to place where a record of the file should begin.
    fn go(&mut self, damage: u64) -> Result<()> {
        let mut at = Some(damage);
        while let Some(place) = at.filter(|&at| at < self.view.size()) {
            at = self.go_on(place)?;
        }
        Ok(())
    }

    /// One step; where the next one begins, unless that is not known.
    fn go_on(&mut self, at: u64) -> Result<Option<u64>> {
        match frame(self.view, at)? {
            Frame::Sound(_) if self.is_top(at) => return self.run(at),
            Frame::Mended(end) => {
                try_push(&mut self.steps, Step::Mended(at, end))?;
                return Ok(Some(end));
            }
            Frame::Bad(end) if end >= self.view.size() => {
                return self.skip(at, self.view.size());
            }
            Frame::Bad(end) => match chains::hop(self.view, end)? {
                ChainTail::Eof => return self.skip(at, end),
                ChainTail::Landed(next) if self.is_top(next) => return self.skip(at, end),
                _ => {}
            },
            Frame::Sound(_) | Frame::None => {}
        }
        let after = self.chains.partition_point(|chain| chain.start <= at);
        if let Some(end) = self.whole(at, after)? {
            try_push(&mut self.steps, Step::Mended(at, end))?;
            return Ok(Some(end));
        }
        for number in after..self.chains.len() {
            if self.verdicts.get(number) == Some(&Verdict::Top) {
                let start = self.chains.get(number).map(|chain| chain.start);
                return self.skip(at, start.unwrap_or(at));
            }
        }
        self.skip(at, self.view.size())
    }

    /// The end of the record at `at`, whose header is damaged, if its data proves it.
    fn whole(&mut self, at: u64, after: usize) -> Result<Option<u64>> {
        let later = self.chains.get(after..).unwrap_or_default();
        let starts = later.iter().take(AHEAD).map(|chain| chain.start);
        for end in starts.chain([self.view.size()]) {
            if is_whole(self.view, at, end)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    fn skip(&mut self, begin: u64, end: u64) -> Result<Option<u64>> {
        let step = skip(self.view, begin, end)?;
        try_push(&mut self.steps, step)?;
        Ok(Some(end))
    }

    /// Along the chain that begins at `at`; one that nobody has seen is read as far as it goes.
    fn run(&mut self, at: u64) -> Result<Option<u64>> {
        let end = self
            .place(at)
            .and_then(|place| self.chains.get(place))
            .filter(|chain| chain.tail != chains::ChainTail::Long)
            .map(|chain| chain.end);
        try_push(&mut self.steps, Step::Run(at, end))?;
        Ok(end)
    }

    /// Whether a chain of the file begins at `start`.
    fn is_top(&self, start: u64) -> bool {
        let verdict = self.place(start).and_then(|it| self.verdicts.get(it));
        verdict == Some(&Verdict::Top)
    }

    /// Which chain begins at `start`.
    fn place(&self, start: u64) -> Option<usize> {
        let found = self.chains.binary_search_by_key(&start, |it| it.start);
        found.ok()
    }
}
