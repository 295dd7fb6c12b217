//! Which record comes at which place of a pass: shuffled, repeated, divided, cut, and nothing of it in memory.
//!
//! Each step only knows where what is below it has what is asked of it. So any place of a pass is found at once,
//! and whoever continues in the middle of one does not go over what came before.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::pipeline::permutation::Permutation;
use crate::runtime::interrupt::Pulse;
use window::Window;

pub(crate) use split_at_window::Halves;

mod split_at_window;
mod window;

/// A step of an [`Order`]. From the files outwards, each is made of what is below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderStep {
    /// This many records, in order: the first step, and no other.
    Records(u64),
    /// All of it in another order in each epoch: a [`Permutation`].
    Shuffle {
        /// What the orders hang on.
        seed: u64,
    },
    /// In another order in each epoch, in which nothing gets farther than one and a half times `size`: blocks of
    /// that many are shuffled, and what comes of that once more, in blocks that begin in the middle of those.
    Window {
        /// What the orders hang on.
        seed: u64,
        /// How many elements a block has.
        size: u64,
    },
    /// Blocks of that many elements in another order in each epoch, each of them as it was; a last block that is
    /// short stays the last. Below a window, that shuffles what is better read in pieces.
    Blocks {
        /// What the orders hang on.
        seed: u64,
        /// How many elements a block has.
        size: u64,
    },
    /// Again and again, so often or without end. Each time is an epoch to what is below.
    Repeat(Option<u64>),
    /// A part of it.
    Shard(Shard),
    /// Every `num`-th block of `block` elements, from number `index` on; the last one may be short.
    Stripe {
        /// How many elements lie together.
        block: u64,
        /// How many stripes there are.
        num: u64,
        /// Which one it is.
        index: u64,
    },
    /// What is after that many.
    Skip(u64),
    /// At most that many.
    Take(u64),
}

/// Which part: every `num`-th from number `base + index` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// How many parts there are.
    pub num: u64,
    /// Which one it is.
    pub index: u64,
    /// How many elements before the first are in no part.
    pub base: u64,
    /// What becomes of the last round, if there is not one for each part.
    pub policy: Policy,
}

/// What becomes of the last elements, of which there are fewer than parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The first parts have one more.
    Uneven,
    /// They are left out.
    Drop,
    /// Each part has one: they come again, from the first.
    Pad,
}

/// The order of the records of a pass.
///
/// ```
/// use tfrecs_core::pipeline::order::{Order, OrderStep};
///
/// let order = Order::new(&[OrderStep::Records(4), OrderStep::Repeat(None), OrderStep::Skip(3)])?;
/// assert_eq!(order.len(), None);
/// let mut records = Vec::new();
/// order.fill(0..4, 0, &mut records)?;
/// assert_eq!(records, [3, 0, 1, 2]);
/// # Ok::<(), tfrecs_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Order {
    levels: Vec<Level>,
    length: Option<u64>,
}

/// A step, and how many elements are below it.
#[derive(Clone, Debug)]
struct Level {
    step: OrderStep,
    below: Option<u64>,
}

/// Of compressed files, about this much is decompressed at once where they are shuffled. It can never change: saved
/// states depend on the order.
const BLOCK_BYTES: u128 = 2 << 20;

/// How many blocks of compressed files are shuffled together. It can never change either.
const BLOCKS: u64 = 16;

/// The steps that shuffle compressed records, which have `bytes` bytes together: to read a single one means to
/// decompress up to 1 MiB before it, so blocks of about 2 MiB are shuffled, and then the records of 16 blocks at a time.
#[must_use]
pub fn shuffle_blocks(seed: u64, records: u64, bytes: u64) -> [OrderStep; 2] {
    let each = BLOCK_BYTES * u128::from(records) / u128::from(bytes.max(1));
    let size = u64::try_from(each).unwrap_or(u64::MAX).max(1);
    let window = size.saturating_mul(BLOCKS);
    [
        OrderStep::Blocks { seed, size },
        OrderStep::Window { seed, size: window },
    ]
}

/// A pass is not longer than this, unless it is endless: so much can be counted everywhere.
const MOST: u64 = i64::MAX as u64;

/// How many places go down the steps together.
const AT_ONCE: usize = 1024;

/// A place, and the epoch it belongs to.
type EpochPosition = (u64, u64);

impl Order {
    /// The order that these steps make.
    ///
    /// # Errors
    /// A first step that is not [`OrderStep::Records`], or another one that is; to shuffle what has no end; a part of
    /// which there are not that many.
    pub fn new(steps: &[OrderStep]) -> Result<Self> {
        let (mut levels, mut length) = (Vec::with_capacity(steps.len()), Some(0));
        for (number, &step) in steps.iter().enumerate() {
            check(step, number == 0, length)?;
            let below = length;
            length = length_of(step, below);
            levels.push(Level { step, below });
        }
        if levels.is_empty() {
            return Err(Error::spec("an order begins with records"));
        }
        Ok(Self { levels, length })
    }

    /// How many elements a pass has; `None`: it has no end.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it may have no end")]
    pub fn len(&self) -> Option<u64> {
        self.length
    }

    /// Of how many records it is.
    #[must_use]
    pub fn records(&self) -> u64 {
        match self.levels.first().map(|level| level.step) {
            Some(OrderStep::Records(count)) => count,
            _ => 0,
        }
    }

    /// Which record comes at `position` in this epoch; none beyond the end.
    #[must_use]
    pub fn at(&self, position: u64, epoch: u64) -> Option<u64> {
        if self.length.is_some_and(|length| position >= length) {
            return None;
        }
        let mut place = [(position, epoch)];
        for level in self.levels.iter().rev() {
            level.descend(&mut place);
        }
        let [(record, _)] = place;
        Some(record)
    }

    /// Adds the records at `positions`, as far as there are any, to `records`.
    ///
    /// # Errors
    /// There is no memory for them; a signal.
    pub fn fill(&self, positions: Range<u64>, epoch: u64, records: &mut Vec<u64>) -> Result<()> {
        let end = (self.length).map_or(positions.end, |length| length.min(positions.end));
        let positions = positions.start.min(end)..end;
        let count = positions.end - positions.start;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let reserved = records.try_reserve(count);
        reserved.map_err(|_| crate::ErrorKind::OutOfMemory(count))?;
        descend(&self.levels, positions, epoch, |places| {
            records.extend(places.iter().map(|&(record, _)| record));
        })
    }
}

/// Tells `each` what is below all `levels` at these positions, some places at a time.
fn descend(
    levels: &[Level],
    positions: Range<u64>,
    epoch: u64,
    mut each: impl FnMut(&[EpochPosition]),
) -> Result<()> {
    let (end, mut places, mut pulse) = (positions.end, Vec::new(), Pulse::start());
    for start in positions.step_by(AT_ONCE) {
        let some = start..end.min(start.saturating_add(AT_ONCE as u64));
        places.clear();
        places.extend(some.map(|position| (position, epoch)));
        for level in levels.iter().rev() {
            level.descend(&mut places);
        }
        each(&places);
        pulse.check()?;
    }
    Ok(())
}

impl Level {
    /// Finds where what is below has what is here at `places`.
    fn descend(&self, places: &mut [EpochPosition]) {
        match self.step {
            OrderStep::Records(_) | OrderStep::Take(_) => {}
            OrderStep::Skip(count) => {
                for (position, _) in places {
                    *position = position.saturating_add(count);
                }
            }
            OrderStep::Shard(shard) => {
                for (position, _) in places {
                    *position = shard.below(*position, self.below);
                }
            }
            OrderStep::Repeat(count) => self.repeat(count, places),
            OrderStep::Shuffle { seed } => self.shuffle(seed, 1, places),
            OrderStep::Blocks { seed, size } => self.shuffle(seed, size, places),
            OrderStep::Window { seed, size } => {
                Window::new(seed, size, self.below.unwrap_or(u64::MAX)).descend(places);
            }
            OrderStep::Stripe { block, num, index } => {
                for (position, _) in places {
                    let (which, within) = (*position / block, *position % block);
                    let start =
                        (which.saturating_mul(num).saturating_add(index)).saturating_mul(block);
                    *position = start.saturating_add(within);
                }
            }
        }
    }

    fn repeat(&self, count: Option<u64>, places: &mut [EpochPosition]) {
        // What is endless itself has only a first time; nothing has no places.
        let below = self.below.map_or(u64::MAX, |below| below.max(1));
        for (position, epoch) in places {
            let pass = *position / below;
            *position %= below;
            *epoch = count.map_or(pass, |count| epoch.wrapping_mul(count).wrapping_add(pass));
        }
    }

    /// Finds the elements of shuffled blocks of `size`.
    fn shuffle(&self, seed: u64, size: u64, places: &mut [EpochPosition]) {
        let blocks = self.below.unwrap_or(0) / size;
        for some in places.chunk_by_mut(|one, next| one.1 == next.1) {
            let epoch = some.first().map_or(0, |place| place.1);
            let shuffled = Permutation::new(blocks, seed, epoch);
            for (position, _) in some {
                let (block, within) = (*position / size, *position % size);
                *position = shuffled.at(block) * size + within;
            }
        }
    }

    /// Nothing that comes at `place` or later lies before this in what is below.
    fn floor(&self, (position, epoch): EpochPosition) -> EpochPosition {
        match self.step {
            OrderStep::Shuffle { .. } | OrderStep::Blocks { .. } => (0, epoch),
            OrderStep::Window { seed, size } => {
                let window = Window::new(seed, size, self.below.unwrap_or(0));
                (window.floor(position), epoch)
            }
            _ => {
                let mut place = [(position, epoch)];
                self.descend(&mut place);
                let [place] = place;
                place
            }
        }
    }
}

impl Shard {
    /// How many elements this part has of `below`.
    fn len(&self, below: u64) -> u64 {
        let below = below.saturating_sub(self.base);
        match self.policy {
            Policy::Uneven => below.saturating_sub(self.index).div_ceil(self.num),
            Policy::Drop => below / self.num,
            Policy::Pad => below.div_ceil(self.num),
        }
    }

    /// Where what is below has element `position` of this part.
    fn below(&self, position: u64, below: Option<u64>) -> u64 {
        let round = position.saturating_mul(self.num);
        let there = round.saturating_add(self.index);
        let there = match below.map(|below| below.saturating_sub(self.base)) {
            // Of the last round there is not one for each: from its first again.
            Some(below) if there >= below => round + self.index % (below - round).max(1),
            _ => there,
        };
        there.saturating_add(self.base)
    }
}

fn check(step: OrderStep, is_first: bool, below: Option<u64>) -> Result<()> {
    let is_records = matches!(step, OrderStep::Records(_));
    if is_records != is_first {
        return Err(Error::spec(
            "an order begins with records, and has no others",
        ));
    }
    match step {
        OrderStep::Shuffle { .. } | OrderStep::Blocks { .. } if below.is_none() => {
            Err(Error::spec(
                "what has no end cannot be shuffled whole: shuffle first and then repeat, or with a buffer_size",
            ))
        }
        OrderStep::Window { size: 0, .. }
        | OrderStep::Blocks { size: 0, .. }
        | OrderStep::Stripe { block: 0, .. } => {
            Err(Error::spec("a block has one element at least"))
        }
        OrderStep::Stripe { num, index, .. } if index >= num => {
            Err(Error::spec(format!("there is no stripe {index} of {num}")))
        }
        OrderStep::Shard(shard) if shard.index >= shard.num => Err(Error::spec(format!(
            "there is no shard {} of {}",
            shard.index, shard.num
        ))),
        _ => Ok(()),
    }
}

fn length_of(step: OrderStep, below: Option<u64>) -> Option<u64> {
    match step {
        OrderStep::Records(count) => Some(count.min(MOST)),
        OrderStep::Shuffle { .. } | OrderStep::Window { .. } | OrderStep::Blocks { .. } => below,
        OrderStep::Stripe { block, num, index } => {
            let (whole, rest) = (below? / block, below? % block);
            let blocks = whole.saturating_sub(index).div_ceil(num);
            let has_rest = whole % num == index;
            Some(blocks.saturating_mul(block) + if has_rest { rest } else { 0 })
        }
        OrderStep::Repeat(Some(0)) => Some(0),
        OrderStep::Repeat(Some(count)) => Some(below?.saturating_mul(count).min(MOST)),
        OrderStep::Repeat(None) => below.filter(|&below| below == 0),
        OrderStep::Shard(shard) => Some(shard.len(below?)),
        OrderStep::Skip(count) => Some(below?.saturating_sub(count)),
        OrderStep::Take(count) => Some(below.unwrap_or(MOST).min(count)),
    }
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    reason = "what is counted here is far below 2^32"
)]
mod tests;
