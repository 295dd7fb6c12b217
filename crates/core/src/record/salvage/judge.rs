//! Which chains are records of the file, and which lie inside a record that is destroyed.

use super::frames::{AROUND, Frame, Splice, frame, is_whole, is_zeroed, splice};
use super::islands::{Island, Tail, hop};
use super::view::View;
use crate::error::Result;

/// What a chain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// So many records must be known to say what is too long for one: more than so many of the largest.
const ENOUGH: u64 = 12;
const TOO_LONG: u64 = 2;

/// How many chains to either side a damaged record may go on at.
const NEAR: usize = 12;

/// Judges each of `islands`, which were found behind the damaged record at `damage`.
///
/// # Errors
/// Of the operating system.
pub fn judge(
    view: &mut View,
    damage: u64,
    islands: &[Island],
    sizes: Sizes,
) -> Result<Vec<Verdict>> {
    let mut judge = Judge {
        view,
        islands,
        group: (0..=islands.len()).collect(),
        covered: Vec::new(),
        claimed: Vec::new(),
        sizes,
    };
    judge.relate(damage)?;
    judge.verdicts()
}

struct Judge<'a> {
    view: &'a mut View,
    islands: &'a [Island],
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
        let of_file = self.islands.len();
        self.relate_from(of_file, damage, 0)?;
        for (number, island) in self.islands.iter().enumerate() {
            match island.tail {
                Tail::Eof | Tail::Long => self.unite(number, of_file),
                Tail::Landed(next) => {
                    if let Ok(other) = self.find(next) {
                        self.unite(number, other);
                    }
                }
                Tail::Bad(_) | Tail::Broken => {
                    self.relate_from(number, island.end, number + 1)?;
                }
            }
        }
        Ok(())
    }

    /// Looks where the damaged record at `at`, of the kind of `number`, ends; the next chain is `next`.
    fn relate_from(&mut self, number: usize, at: u64, next: usize) -> Result<()> {
        let stands = frame(self.view, at)?;
        if let Frame::Bad(claimed) = stands {
            self.claimed.push((at, claimed));
            if let Tail::Landed(next) = hop(self.view, claimed)?
                && let Ok(other) = self.find(next)
            {
                self.unite(number, other);
                return Ok(());
            }
        }
        let near = next.saturating_sub(NEAR)..(next + NEAR).min(self.islands.len());
        // What is near is more likely.
        let mut near: Vec<usize> = near.collect();
        near.sort_by_key(|&other| (other < next, other.abs_diff(next)));
        for other in near {
            let Some(start) = self.islands.get(other).map(|island| island.start) else {
                continue;
            };
            match stands {
                Frame::Bad(claimed) => {
                    if let Some(found) = splice(self.view, at, claimed, start)? {
                        self.cover(at, found, start);
                        self.unite(number, other);
                        return Ok(());
                    }
                }
                _ if start > at && is_whole(self.view, at, start)? => {
                    self.covered.push((at, start));
                    self.unite(number, other);
                    return Ok(());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn cover(&mut self, at: u64, found: Splice, end: u64) {
        self.covered.push((at, found.torn));
        self.covered.push((found.resumed, end));
    }

    fn find(&self, start: u64) -> Result<usize, usize> {
        self.islands.binary_search_by_key(&start, |it| it.start)
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (from, to) = (self.kind(one), self.kind(other));
        let (from, to) = (from.min(to), from.max(to));
        for kind in &mut self.group {
            if *kind == from {
                *kind = to;
            }
        }
    }

    fn kind(&self, number: usize) -> usize {
        self.group.get(number).copied().unwrap_or_default()
    }

    fn is_top(&self, number: usize) -> bool {
        self.kind(number) == self.islands.len()
    }

    fn verdicts(&mut self) -> Result<Vec<Verdict>> {
        let of_file = self.islands.len();
        for island in self.islands {
            self.sizes.largest = self.sizes.largest.max(island.largest);
            self.sizes.records += island.records;
        }
        for number in 0..of_file {
            if self.is_too_long(number) {
                self.unite(number, of_file);
            }
        }
        let mut verdicts = vec![Verdict::Top; of_file];
        let mut top = self.view.size();
        for (number, island) in self.islands.iter().enumerate().rev() {
            let verdict = self.verdict(number, island, top)?;
            if verdict == Verdict::Top || verdict == Verdict::Unclear {
                top = island.start;
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
    fn verdict(&mut self, number: usize, island: &Island, top: u64) -> Result<Verdict> {
        let inside = |&(begin, end): &(u64, u64)| begin < island.start && island.end <= end;
        if self.covered.iter().any(inside) {
            return Ok(Verdict::Nested);
        }
        if self.is_top(number) {
            return Ok(Verdict::Top);
        }
        let end = match island.tail {
            Tail::Bad(claimed) if top < claimed => None,
            Tail::Bad(claimed) => Some(claimed),
            _ => Some(island.end),
        };
        Ok(match end {
            // Too little for a record: the rest of the one around it, and its checksum.
            Some(end) if top.saturating_sub(end) < AROUND => Verdict::Nested,
            _ if self.claimed.iter().any(inside) => Verdict::Doubtful,
            Some(end) if !is_zeroed(self.view, end)? => Verdict::Doubtful,
            _ => Verdict::Unclear,
        })
    }

    /// Whether a chain, with those of its kind, is too long for a record of this file to hold it.
    fn is_too_long(&self, number: usize) -> bool {
        let together: u64 = (self.islands.iter().enumerate())
            .filter(|(other, _)| self.kind(*other) == self.kind(number))
            .map(|(_, island)| island.end - island.start)
            .sum();
        self.sizes.records >= ENOUGH && together > self.sizes.largest.saturating_mul(TOO_LONG)
    }

    /// Chains of one kind are all content if one is.
    fn agree(&self, verdicts: &mut [Verdict]) {
        let rank = |verdict: &Verdict| match verdict {
            Verdict::Top => 0,
            Verdict::Unclear => 1,
            Verdict::Doubtful => 2,
            Verdict::Nested => 3,
        };
        for number in 0..verdicts.len() {
            if self.is_top(number) {
                continue;
            }
            let same = (0..verdicts.len()).filter(|&it| self.kind(it) == self.kind(number));
            let worst = same
                .filter_map(|it| verdicts.get(it).copied())
                .max_by_key(rank);
            if let (Some(place), Some(worst)) = (verdicts.get_mut(number), worst) {
                *place = worst;
            }
        }
    }
}
