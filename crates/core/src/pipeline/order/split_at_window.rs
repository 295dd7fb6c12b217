//! An order in two halves, where it is shuffled in windows: what lies near together in the lower one is near
//! together in time in the upper one.

use std::ops::Range;

use super::{EpochPosition, Level, Order, OrderStep, descend};
use crate::error::{ErrorKind, Result};

/// An order, cut below its innermost [`OrderStep::Window`].
pub struct Halves {
    upper: Vec<Level>,
    lower: Order,
}

impl Halves {
    /// The halves of an order; none if it has no window, or what is above it shuffles everything once more.
    pub fn of(order: &Order) -> Option<Self> {
        let is_window = |level: &Level| matches!(level.step, OrderStep::Window { .. });
        let is_wild = |level: &Level| {
            matches!(
                level.step,
                OrderStep::Shuffle { .. } | OrderStep::Blocks { .. }
            )
        };
        let cut = order.levels.iter().position(is_window)?;
        let (lower, upper) = order.levels.split_at_checked(cut)?;
        if upper.iter().any(is_wild) {
            return None;
        }
        Some(Self {
            lower: Order {
                levels: lower.to_vec(),
                length: upper.first()?.below,
            },
            upper: upper.to_vec(),
        })
    }

    /// What is below the window.
    pub fn lower(&self) -> &Order {
        &self.lower
    }

    /// Where the lower half has what comes at `positions`, which there must be: adds places to `places`.
    ///
    /// # Errors
    /// There is no memory for them; a signal.
    pub fn fill(
        &self,
        positions: Range<u64>,
        epoch: u64,
        places: &mut Vec<EpochPosition>,
    ) -> Result<()> {
        let count = positions.end.saturating_sub(positions.start);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let reserved = places.try_reserve(count);
        reserved.map_err(|_| ErrorKind::OutOfMemory(count))?;
        descend(&self.upper, positions, epoch, |some| {
            places.extend_from_slice(some);
        })
    }

    /// The lower half has nothing that comes at `position` or later before this place.
    pub fn floor(&self, position: u64, epoch: u64) -> EpochPosition {
        let levels = self.upper.iter().rev();
        levels.fold((position, epoch), |place, level| level.floor(place))
    }

    /// Of how many elements of the lower half one is wanted, in the long run.
    pub fn share(&self) -> u64 {
        let share = |level: &Level| match level.step {
            OrderStep::Shard(shard) => shard.num,
            OrderStep::Stripe { num, .. } => num,
            _ => 1,
        };
        (self.upper.iter().map(share)).fold(1, u64::saturating_mul)
    }

    /// How many elements of the lower half are shuffled together.
    pub fn window(&self) -> u64 {
        let size = |level: &Level| match level.step {
            OrderStep::Window { size, .. } => size.min(level.below.unwrap_or(size)),
            _ => 0,
        };
        (self.upper.iter().map(size)).fold(0, u64::saturating_add)
    }

    /// How many elements of the lower half lie together in blocks, if that is how it was shuffled.
    pub fn block(&self) -> Option<u64> {
        match self.lower.levels.last()?.step {
            OrderStep::Blocks { size, .. } => Some(size),
            _ => None,
        }
    }
}
