//! Which chains are records of the file, and which lie inside a record that is destroyed.

use crate::error::Result;
use crate::record::format::frame::HEADER;
use crate::record::salvage::chains::{Chain, ChainTail, hop};
use crate::record::salvage::file_view::View;
use crate::record::salvage::probe::{
    AROUND, Frame, Splice, frame, is_like_header, is_whole, is_zeroed, splice,
};
use crate::runtime::memory::try_push;

/// What a chain is, in the order of what speaks for its being content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Records of the file.
    Top,
    /// It could be either.
    Unclear,
    /// It could be either, and is rather the content of a record.
    Doubtful,
    /// The content of a record.
    Nested,
}

/// What is known of the records of the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// The largest, frame and all.
    pub largest: u64,
    /// How many are known.
    pub records: u64,
}

/// How many records must be known before a length counts as too long: more than `TOO_LONG` times the largest.
const ENOUGH: u64 = 24;
const TOO_LONG: u64 = 2;

/// How many chains to either side a damaged record may continue at.
const NEAR: usize = 12;
/// If there are more chains than these, it is looked for at the next one only.
const MANY: usize = 1000;

/// Judges each of `chains`, which were found after the damaged record at `damage`.
///
/// # Errors
/// Any I/O error.
pub fn judge(view: &mut View, damage: u64, chains: &[Chain], sizes: Sizes) -> Result<Vec<Verdict>> {
    let mut judge = Judge {
        view,
        chains,
        group: (0..=chains.len()).collect(),
        covered: Vec::new(),
        claimed: Vec::new(),
        sizes,
    };
    judge.relate(damage)?;
    judge.verdicts()
}

struct Judge<'a> {
    view: &'a mut View,
    chains: &'a [Chain],
    /// Which chains are of one kind: those with the same number. The last is that of records of the file.
    group: Vec<usize>,
    /// The insides of damaged records.
    covered: Vec<(u64, u64)>,
    /// The same, if nothing was put in or taken out.
    claimed: Vec<(u64, u64)>,
    sizes: Sizes,
}

impl Judge<'_> {
    /// Finds out which chains are of one kind, because a damaged record joins them.
    fn relate(&mut self, damage: u64) -> Result<()> {
        let of_file = self.chains.len();
        self.relate_from(of_file, damage, 0)?;
        for (number, chain) in self.chains.iter().enumerate() {
            match chain.tail {
                ChainTail::Eof | ChainTail::Long => self.unite(number, of_file),
                ChainTail::Landed(next) => {
                    if let Ok(other) = self.find(next)
                        && !self.is_like_content(other)?
                    {
                        self.unite(number, other);
                    }
                }
                ChainTail::Bad(_) | ChainTail::Broken => {
                    self.relate_from(number, chain.end, number + 1)?;
                }
            }
        }
        Ok(())
    }

    /// Looks where the damaged record at `at`, of the kind of `number`, ends; the next chain is `next`.
    fn relate_from(&mut self, number: usize, at: u64, next: usize) -> Result<()> {
        let stands = frame(self.view, at)?;
        if let Frame::Bad(claimed) = stands {
            try_push(&mut self.claimed, (at, claimed))?;
            if let ChainTail::Landed(next) = hop(self.view, claimed)?
                && let Ok(other) = self.find(next)
                && !self.is_like_content(other)?
            {
                self.unite(number, other);
                return Ok(());
            }
        }
        let most = if self.chains.len() > MANY { 1 } else { NEAR };
        let near = next.saturating_sub(most)..(next + most).min(self.chains.len());
        // What is near is more likely.
        let mut near: Vec<usize> = near.collect();
        near.sort_by_key(|&other| (other < next, other.abs_diff(next)));
        for other in near {
            let Some(start) = self.chains.get(other).map(|chain| chain.start) else {
                continue;
            };
            match stands {
                Frame::Bad(claimed) => {
                    if let Some(found) = splice(self.view, at, claimed, start)? {
                        self.cover(at, found, start)?;
                        self.unite(number, other);
                        return Ok(());
                    }
                }
                _ if start > at && is_whole(self.view, at, start)? => {
                    try_push(&mut self.covered, (at, start))?;
                    self.unite(number, other);
                    return Ok(());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a chain ends at what was never a header: one inside a record that a damaged record seems to end
    /// at, by chance.
    fn is_like_content(&mut self, number: usize) -> Result<bool> {
        match self.chains.get(number) {
            Some(chain) if chain.tail == ChainTail::Broken => {
                Ok(!is_like_header(self.view, chain.end)?)
            }
            _ => Ok(false),
        }
    }

    fn cover(&mut self, at: u64, found: Splice, end: u64) -> Result<()> {
        try_push(&mut self.covered, (at, found.torn))?;
        try_push(&mut self.covered, (found.resumed, end))?;
        Ok(())
    }

    fn find(&self, start: u64) -> Result<usize, usize> {
        self.chains.binary_search_by_key(&start, |it| it.start)
    }

    /// Makes two chains, and all of their kinds, of one kind: that of the later one.
    fn unite(&mut self, one: usize, other: usize) {
        let (from, to) = (self.kind(one), self.kind(other));
        if let Some(place) = self.group.get_mut(from.min(to)) {
            *place = from.max(to);
        }
    }

    /// Follows the way from chain to chain to the last one of a kind, and shortens it.
    fn kind(&mut self, number: usize) -> usize {
        let mut at = number;
        while let Some(next) = self.group.get(at).copied().filter(|&next| next != at) {
            let beyond = self.group.get(next).copied().unwrap_or(next);
            if let Some(place) = self.group.get_mut(at) {
                *place = beyond;
            }
            at = next;
        }
        at
    }

    fn is_top(&mut self, number: usize) -> bool {
        self.kind(number) == self.chains.len()
    }

    fn verdicts(&mut self) -> Result<Vec<Verdict>> {
        let of_file = self.chains.len();
        for chain in self.chains {
            self.sizes.largest = self.sizes.largest.max(chain.largest);
            self.sizes.records += chain.records;
        }
        for &(at, end) in &self.claimed {
            self.sizes.largest = self.sizes.largest.max(end - at);
        }
        self.trust_the_long();
        self.covered.sort_unstable();
        self.claimed.sort_unstable();
        let mut verdicts = vec![Verdict::Top; of_file];
        let mut top = self.view.size();
        for (number, chain) in self.chains.iter().enumerate().rev() {
            let verdict = self.verdict(number, chain, top)?;
            if verdict == Verdict::Top || verdict == Verdict::Unclear {
                top = chain.start;
            }
            if let Some(place) = verdicts.get_mut(number) {
                *place = verdict;
            }
        }
        self.agree(&mut verdicts);
        Ok(verdicts)
    }

    /// By how a chain ends: one inside a record ends before the rest of that record and its checksum, at no
    /// header; one of the file at damage. The next records of the file begin at `top`.
    fn verdict(&mut self, number: usize, chain: &Chain, top: u64) -> Result<Verdict> {
        let header = chain.start.saturating_sub(HEADER as u64);
        if is_inside(&self.covered, chain) || self.view.header(header)?.is_some() {
            return Ok(Verdict::Nested);
        }
        if self.is_top(number) {
            return Ok(Verdict::Top);
        }
        let end = match chain.tail {
            ChainTail::Bad(claimed) if top < claimed => None,
            ChainTail::Bad(claimed) => Some(claimed),
            _ => Some(chain.end),
        };
        Ok(match end {
            // Too little for a record: the rest of the one around it, and its checksum.
            Some(end) if top.saturating_sub(end) < AROUND => Verdict::Nested,
            _ if is_inside(&self.claimed, chain) => Verdict::Doubtful,
            Some(end) if !is_zeroed(self.view, end)? => Verdict::Doubtful,
            _ => Verdict::Unclear,
        })
    }

    /// Chains that, with those of their kind, are too long for a record of this file to hold them are records
    /// of the file.
    fn trust_the_long(&mut self) {
        if self.sizes.records < ENOUGH {
            return;
        }
        let of_file = self.chains.len();
        let mut together = vec![0; of_file + 1];
        for (number, chain) in self.chains.iter().enumerate() {
            let kind = self.kind(number);
            if let Some(sum) = together.get_mut(kind) {
                *sum += chain.end - chain.start;
            }
        }
        let limit = self.sizes.largest.saturating_mul(TOO_LONG);
        for (kind, sum) in together.into_iter().enumerate() {
            if sum > limit {
                self.unite(kind, of_file);
            }
        }
    }

    /// Chains of one kind are all content if one is.
    fn agree(&mut self, verdicts: &mut [Verdict]) {
        let mut worst = vec![Verdict::Top; verdicts.len() + 1];
        for (number, verdict) in verdicts.iter().enumerate() {
            let kind = self.kind(number);
            if let Some(place) = worst.get_mut(kind) {
                *place = (*place).max(*verdict);
            }
        }
        for (number, verdict) in verdicts.iter_mut().enumerate() {
            let kind = self.kind(number);
            if kind < self.chains.len() {
                *verdict = worst.get(kind).copied().unwrap_or(*verdict);
            }
        }
    }
}

/// How many places before a chain are looked at for one that it is inside of.
const LAST: usize = 64;

/// Whether a chain lies in one of `places`, which are ordered by their beginnings.
fn is_inside(places: &[(u64, u64)], chain: &Chain) -> bool {
    let before = places.partition_point(|place| place.0 < chain.start);
    let before = places.get(..before).unwrap_or_default();
    let mut last = before.iter().rev().take(LAST);
    last.any(|&(_, end)| chain.end <= end)
}
