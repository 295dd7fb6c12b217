//! Two layers of shuffled blocks; the second one's begin in the middle of the first one's.

use super::EpochPosition;
use crate::pipeline::permutation::Permutation;

/// The number of elements, which are shuffled as far as a block reaches.
pub struct Window {
    seed: u64,
    size: u64,
    half: u64,
    end: u64,
    /// The blocks that were looked at last: one of the second layer, and the two of the first that it is made of.
    kept: [Option<Kept>; 3],
}

/// The order of a block of that many elements.
struct Kept {
    n: u64,
    key: u64,
    order: Permutation,
}

impl Window {
    /// Blocks of `size` of `end` elements.
    pub fn new(seed: u64, size: u64, end: u64) -> Self {
        // A larger one holds everything anyway.
        let size = size.min(1 << 61);
        let half = size / 2;
        Self {
            seed,
            size,
            half,
            end,
            kept: [None, None, None],
        }
    }

    /// Finds where what is below has the elements at `places`.
    pub fn descend(&mut self, places: &mut [EpochPosition]) {
        for (position, epoch) in places {
            *position = self.below(*position, *epoch);
        }
    }

    /// Nothing that comes at `position` or later lies before this in what is below.
    pub fn floor(&self, position: u64) -> u64 {
        let (_, start) = self.second(position);
        start / self.size * self.size
    }

    /// Which block of the second layer a position is in, and where that begins.
    fn second(&self, position: u64) -> (u64, u64) {
        // Block `b` of the second layer begins where the first half of block `b` of the first one ends, less a
        // whole block; the one with number 0 is what is left in front.
        let shift = self.size - self.half;
        let block = position.saturating_add(shift) / self.size;
        (block, (block * self.size).saturating_sub(shift))
    }

    fn below(&mut self, position: u64, epoch: u64) -> u64 {
        let (block, start) = self.second(position);
        let end = (block * self.size).saturating_add(self.half).min(self.end);
        let first = start + self.shuffled(end - start, 2 * block + 1, epoch, position - start);
        let block = first / self.size;
        let start = block * self.size;
        let end = start.saturating_add(self.size).min(self.end);
        start + self.shuffled(end - start, 2 * block, epoch, first - start)
    }

    /// Where element `at` of a shuffled block of `n` was before.
    fn shuffled(&mut self, n: u64, number: u64, epoch: u64, at: u64) -> u64 {
        // Blocks and epochs are distinguished as if each epoch had 2^41 of them.
        let key = (epoch << 41).wrapping_add(number);
        let [even, other, odd] = &mut self.kept;
        let kept = match number % 4 {
            0 => even,
            2 => other,
            _ => odd,
        };
        if let Some(kept) = kept
            && (kept.n, kept.key) == (n, key)
        {
            return kept.order.at(at);
        }
        let order = Permutation::new(n, self.seed, key);
        let found = order.at(at);
        *kept = Some(Kept { n, key, order });
        found
    }
}
