//! What to do from damage on: which bytes to skip, and where to read.

use super::frames::{Frame, frame, is_whole, lands, reason};
use super::islands::{self, Island, goes_on};
use super::judge::{Sizes, Verdict, judge};
use super::nesting::Nesting;
use super::view::View;
use crate::error::{ErrorKind, Result};

/// A step of the way on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// These bytes are lost.
    Skip(u64, u64, ErrorKind),
    /// Sound records from here to there, or on and on.
    Run(u64, Option<u64>),
    /// One record, whose header is damaged.
    Mended(u64, u64),
}

/// What is known of the file so far.
#[derive(Default)]
pub struct Known {
    /// The largest record, and how many there are.
    pub sizes: Sizes,
    /// Where sound records of the file lie, of those before the damage.
    pub sound: (u64, u64),
    /// Whether records of the file hold records themselves.
    pub nesting: Nesting,
}

/// A chain that goes on for so many bytes behind the place where a damaged record says it ends is one of the
/// file; and for so many of the largest records.
const ENOUGH: (u64, u64) = (1 << 20, 4);

/// At how many chains a record may end whose header is damaged.
const AHEAD: usize = 64;

/// The way on from `damage`, where a record of the file should begin.
///
/// # Errors
/// Of the operating system.
pub fn plan(view: &mut View, damage: u64, known: &mut Known) -> Result<Vec<Step>> {
    let size = view.size();
    let stands = frame(view, damage)?;
    match stands {
        Frame::Sound(_) => return Ok(vec![Step::Run(damage, None)]),
        Frame::Mended(end) => {
            return Ok(vec![Step::Mended(damage, end), Step::Run(end, None)]);
        }
        Frame::Bad(end) => {
            if end >= size {
                return Ok(vec![skip(view, damage, size)?]);
            }
            known.sizes.largest = known.sizes.largest.max(end - damage);
            let enough = ENOUGH.0.max(known.sizes.largest.saturating_mul(ENOUGH.1));
            if lands(view, end)? && goes_on(view, end, enough)? {
                return Ok(vec![skip(view, damage, end)?, Step::Run(end, None)]);
            }
        }
        Frame::None => {}
    }
    let untrusted = (stands == Frame::None).then_some(damage);
    let found = islands::find(view, untrusted, damage + 1, known.sizes.largest)?;
    if let Some(end) = found.whole {
        return Ok(vec![Step::Mended(damage, end), Step::Run(end, None)]);
    }
    let verdicts = judge(view, damage, &found.all, known.sizes)?;
    let mut way = Way {
        view,
        islands: &found.all,
        verdicts: &verdicts,
        steps: Vec::new(),
        known,
        has_looked: false,
    };
    way.go(damage)?;
    Ok(way.steps)
}

fn skip(view: &mut View, begin: u64, end: u64) -> Result<Step> {
    Ok(Step::Skip(begin, end, reason(view, begin)?))
}

struct Way<'a> {
    view: &'a mut View,
    islands: &'a [Island],
    verdicts: &'a [Verdict],
    steps: Vec<Step>,
    known: &'a mut Known,
    has_looked: bool,
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
            Frame::Sound(_) => return Ok(self.run(at)),
            Frame::Mended(end) => {
                self.steps.push(Step::Mended(at, end));
                return Ok(Some(end));
            }
            Frame::Bad(end) if end >= self.view.size() => {
                return self.skip(at, self.view.size());
            }
            Frame::Bad(end) if lands(self.view, end)? && !self.is_nested(end) => {
                return self.skip(at, end);
            }
            Frame::Bad(_) | Frame::None => {}
        }
        let behind = self.islands.partition_point(|island| island.start <= at);
        if let Some(end) = self.whole(at, behind)? {
            self.steps.push(Step::Mended(at, end));
            return Ok(Some(end));
        }
        for number in behind..self.islands.len() {
            if self.is_top(number)? {
                let start = self.islands.get(number).map(|island| island.start);
                return self.skip(at, start.unwrap_or(at));
            }
        }
        self.skip(at, self.view.size())
    }

    /// The end of the record at `at`, whose header is damaged, if its data proves it.
    fn whole(&mut self, at: u64, behind: usize) -> Result<Option<u64>> {
        let later = self.islands.get(behind..).unwrap_or_default();
        let starts = later.iter().take(AHEAD).map(|island| island.start);
        for end in starts.chain([self.view.size()]) {
            if is_whole(self.view, at, end)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    fn skip(&mut self, begin: u64, end: u64) -> Result<Option<u64>> {
        let step = skip(self.view, begin, end)?;
        self.steps.push(step);
        Ok(Some(end))
    }

    /// Along the chain that begins at `at`; one that nobody has seen is read as far as it goes.
    fn run(&mut self, at: u64) -> Option<u64> {
        let end = self
            .place(at)
            .and_then(|place| self.islands.get(place))
            .filter(|island| island.tail != islands::Tail::Long)
            .map(|island| island.end);
        self.steps.push(Step::Run(at, end));
        end
    }

    /// Whether the chain at `start` is certainly none of the file.
    fn is_nested(&self, start: u64) -> bool {
        let verdict = self.place(start).and_then(|it| self.verdicts.get(it));
        matches!(verdict, Some(Verdict::Nested | Verdict::Doubtful))
    }

    /// Which chain begins at `start`.
    fn place(&self, start: u64) -> Option<usize> {
        let found = self.islands.binary_search_by_key(&start, |it| it.start);
        found.ok()
    }

    /// Whether so many chains end at nothing that they can hardly be all records of the file.
    fn ends_like_content(&self) -> bool {
        let all = self.islands.iter().zip(self.verdicts);
        let content = all.filter(|(island, verdict)| {
            island.tail == islands::Tail::Broken && **verdict >= Verdict::Doubtful
        });
        let count = content.count();
        count >= 4 && count * 4 >= self.islands.len()
    }

    fn is_top(&mut self, number: usize) -> Result<bool> {
        Ok(match self.verdicts.get(number) {
            Some(Verdict::Top) => true,
            Some(Verdict::Unclear | Verdict::Doubtful) => {
                if !std::mem::replace(&mut self.has_looked, true) {
                    let islands = self.islands.iter().map(|it| (it.start, it.end));
                    let chains = islands.chain([self.known.sound]);
                    self.known.nesting.look(self.view, chains)?;
                    self.known.nesting.is_found |= self.ends_like_content();
                }
                !self.known.nesting.is_possible(number)
            }
            _ => false,
        })
    }
}
