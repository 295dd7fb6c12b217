//! A seeded permutation of `0..n` that takes no memory: what a global shuffle is made of.
//!
//! It is a generalised Feistel network (Luby and Rackoff 1988; Black and Rogaway 2002, "Ciphers with arbitrary finite
//! domains") over the cells of a table of `rows` × `columns`, about the smallest that holds `n`. In each round one of the two
//! coordinates moves by a number that depends on the other, so every round can be undone. A result from `n` on goes through
//! again ("cycle walking"), which happens to few. `n = 5`, seed 1, epoch 0:
//!
//! ```text
//!   cells     0 1        position   0 → 4
//!             2 3                   1 → 0
//!             4 ·                   2 → 7 → 3    cell 7 holds nothing: once more
//!             · ·                   3 → 1
//!                                   4 → 2        the order is 4 0 3 1 2
//! ```
//!
//! If you change this: you cannot. **The order is a promise**: a seed gives the same order in every version and on every
//! machine, because saved states count places in it. The tests hold some orders, and
//! `tests/records/index/test_gather.py` implements it a second time.
/// How many pairs of rounds large orders need ...
const PAIRS: usize = 3;

/// ... and small ones, where a single round has little to choose from.
const PAIRS_OF_FEW: usize = 8;

/// What is few.
const FEW: u64 = 1 << 12;

/// A permutation of `0..n`, another one for each seed and each epoch.
///
/// ```
/// use tfrecs_core::pipeline::permutation::Permutation;
///
/// let shuffled = Permutation::new(5, 1, 0);
/// let mut all: Vec<u64> = (0..5).map(|position| shuffled.at(position)).collect();
/// assert_ne!(all, [0, 1, 2, 3, 4]);
/// all.sort();
/// assert_eq!(all, [0, 1, 2, 3, 4]);
/// ```
#[derive(Clone, Debug)]
pub struct Permutation {
    n: u64,
    rows: u64,
    columns: u64,
    pairs: usize,
    /// Of each pair of rounds.
    keys: [(u64, u64); PAIRS_OF_FEW],
}

impl Permutation {
    /// The permutation of `n` elements for this seed, in this epoch.
    #[must_use]
    pub fn new(n: u64, seed: u64, epoch: u64) -> Self {
        // An even number of rows, or moving along them would only ever give even permutations.
        let rows = (n.max(1) - 1).isqrt() + 1;
        let rows = rows + rows % 2;
        let mut state = next(next(next(n) ^ seed) ^ epoch);
        let mut key = || {
            state = state.wrapping_add(GOLDEN);
            mixed(state)
        };
        Self {
            n,
            rows,
            columns: n.div_ceil(rows),
            pairs: if n < FEW { PAIRS_OF_FEW } else { PAIRS },
            keys: std::array::from_fn(|_| (key(), key())),
        }
    }

    /// Which element comes at `position`; from `n` on, `position` itself.
    #[inline]
    #[must_use]
    pub fn at(&self, position: u64) -> u64 {
        if position >= self.n {
            return position;
        }
        let mut element = self.moved(position);
        // It ends: continuing from cell to cell leads back to where it began, at the latest.
        while element >= self.n {
            element = self.moved(element);
        }
        element
    }

    #[inline]
    fn moved(&self, cell: u64) -> u64 {
        let (mut row, mut column) = (cell / self.columns, cell % self.columns);
        for &(one, other) in self.keys.iter().take(self.pairs) {
            row = turned(row, column ^ one, self.rows);
            column = turned(column, row ^ other, self.columns);
        }
        row * self.columns + column
    }
}

/// `at`, moved by what `by` says, around a circle of `size`, which is at most 2^32.
#[inline]
fn turned(at: u64, by: u64, size: u64) -> u64 {
    let by = by.wrapping_mul(FACTORS.0);
    let by = (by ^ (by >> 32)).wrapping_mul(FACTORS.1);
    let to = at + (((by >> 32) * size) >> 32);
    // The smaller one is the one within the circle; a branch would be guessed wrong every other time.
    to.min(to.wrapping_sub(size))
}

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Those of `SplitMix64`.
const FACTORS: (u64, u64) = (0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb);

/// What `SplitMix64` gives first, begun with `state`.
fn next(state: u64) -> u64 {
    mixed(state.wrapping_add(GOLDEN))
}

/// A number in which each bit hangs on each bit of `z`: the end of `SplitMix64` (Steele, Lea and Flood 2014).
fn mixed(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(FACTORS.0);
    let z = (z ^ (z >> 27)).wrapping_mul(FACTORS.1);
    z ^ (z >> 31)
}

#[cfg(test)]
#[allow(
    clippy::cast_precision_loss,
    reason = "what is counted here is far below 2^52"
)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn all(n: u64, seed: u64, epoch: u64) -> Vec<u64> {
        let it = Permutation::new(n, seed, epoch);
        (0..n).map(|position| it.at(position)).collect()
    }

    /// Chi-square of how often each of `kinds` was seen, as standard deviations from what chance gives.
    fn surprise<K>(seen: &HashMap<K, u32>, kinds: usize) -> f64 {
        let total: u32 = seen.values().sum();
        let expected = f64::from(total) / kinds as f64;
        let unseen = (kinds - seen.len()) as f64 * expected;
        let seen = seen
            .values()
            .map(|&count| (f64::from(count) - expected).powi(2) / expected);
        let freedom = kinds as f64 - 1.0;
        (seen.sum::<f64>() + unseen - freedom) / (2.0 * freedom).sqrt()
    }

    #[test]
    fn each_element_comes_once() {
        for n in (0..300).chain([4095, 4096, 4097, 65_537, 100_000]) {
            for seed in 0..4 {
                let mut order = all(n, seed, seed * 7);
                order.sort_unstable();
                assert_eq!(order, (0..n).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn beyond_the_last_element_nothing_moves() {
        for n in [0, 1, 2, 10, 5000] {
            let it = Permutation::new(n, 3, 0);
            for position in [n, n + 1, n + 100, u64::MAX] {
                assert_eq!(it.at(position), position);
            }
        }
    }

    /// Each element of the largest sizes is within bounds, and differs.
    #[test]
    fn the_largest_sizes_fit() {
        for n in [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 32) * ((1 << 32) - 1)] {
            let it = Permutation::new(n, 9, 9);
            let positions = (0..1000).chain(n - 1000..n);
            let mut seen: Vec<u64> = positions.map(|position| it.at(position)).collect();
            assert!(seen.iter().all(|&element| element < n));
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 2000);
        }
    }

    /// What people have written down must continue where it was.
    #[test]
    fn the_order_is_the_one_promised() {
        let few: [&[u64]; 6] = [
            &[0, 2, 1],
            &[2, 1, 3, 0],
            &[2, 1, 0, 4, 3],
            &[0, 3, 5, 2, 1, 4],
            &[1, 2, 3, 6, 4, 5, 0],
            &[6, 3, 7, 4, 1, 2, 0, 5],
        ];
        for (n, order) in (3..).zip(few) {
            assert_eq!(all(n, 1, 2), order);
        }
        let many = [
            (4095, [2909, 828, 2045, 2641]),
            (4096, [2596, 191, 2572, 3224]),
            (200_000, [70_565, 112_045, 65_035, 45_143]),
            (10_000_000, [4_327_288, 6_722_247, 8_448_025, 5_357_769]),
            (
                1_000_000_000_000,
                [
                    561_419_931_527,
                    821_451_924_656,
                    97_218_851_367,
                    723_144_857_380,
                ],
            ),
        ];
        for (n, begin) in many {
            let it = Permutation::new(n, 42, 7);
            assert_eq!([0, 1, 2, 3].map(|position| it.at(position)), begin);
        }
    }

    #[test]
    fn all_permutations_of_few_elements_are_equally_frequent() {
        for n in 2..=6 {
            let kinds = (1..=n).product::<u64>();
            let mut seen = HashMap::new();
            for seed in 0..400 * kinds {
                // By seeds, and by epochs of a seed.
                let order = if seed % 2 == 0 {
                    all(n, seed, 0)
                } else {
                    all(n, 5, seed)
                };
                *seen.entry(order).or_default() += 1;
            }
            let surprise = surprise(&seen, usize::try_from(kinds).unwrap());
            assert!(surprise.abs() < 4.0, "{n}: {surprise}");
        }
    }

    /// Where an element comes, and what comes after it, says nothing.
    #[test]
    fn places_and_neighbours_are_equally_frequent() {
        for n in [7, 9, 16, 25, 60, 101] {
            let (mut places, mut steps) = (HashMap::new(), HashMap::new());
            for seed in 0..40 * n {
                let order = all(n, seed, 1);
                for (position, pair) in order.windows(2).enumerate() {
                    *places.entry((position, pair[0])).or_default() += 1;
                    *steps.entry((pair[1] + n - pair[0]) % n).or_default() += 1;
                }
            }
            let n = usize::try_from(n).unwrap();
            let (places, steps) = (surprise(&places, (n - 1) * n), surprise(&steps, n - 1));
            // Each element comes once, so that these vary less than independent ones.
            assert!(places < 4.0 && steps < 4.0, "{n}: {places} {steps}");
        }
    }

    /// Of many elements: how far neighbours lie apart, and from epoch to epoch, falls as chance has it.
    #[test]
    fn many_elements_are_as_if_by_chance() {
        for n in [4096_u64, 10_000, 99_991, 1 << 17] {
            let (one, next) = (all(n, 7, 0), all(n, 7, 1));
            let (mut apart, mut between, mut ahead) =
                (HashMap::new(), HashMap::new(), HashMap::new());
            for position in 0..one.len() - 1 {
                let part = |from: u64, to: u64| (to + n - from) % n * 64 / n;
                *apart
                    .entry(part(one[position], one[position + 1]))
                    .or_default() += 1;
                *between
                    .entry(part(one[position], next[position]))
                    .or_default() += 1;
                *ahead
                    .entry(part(position as u64, one[position]))
                    .or_default() += 1;
            }
            for seen in [apart, between, ahead] {
                let surprise = surprise(&seen, 64);
                assert!(surprise.abs() < 4.0, "{n}: {surprise}");
            }
            // In half of the places a larger one follows; the variance is a twelfth.
            let ascents = one.windows(2).filter(|pair| pair[0] < pair[1]).count() as f64;
            let deviation = (n as f64 / 12.0).sqrt();
            assert!(
                (ascents - n as f64 / 2.0).abs() < 4.0 * deviation,
                "{n}: {ascents}"
            );
        }
    }

    #[test]
    fn as_many_permutations_are_even_as_odd() {
        for n in [9, 25, 36, 49, 50, 200] {
            let even = (0..1000).filter(|&seed| is_even(&all(n, seed, 0))).count();
            assert!((420..580).contains(&even), "{n}: {even}");
        }
    }

    fn is_even(order: &[u64]) -> bool {
        let mut seen = vec![false; order.len()];
        let mut cycles = 0;
        for first in 0..order.len() {
            let mut at = first;
            cycles += usize::from(!seen[at]);
            while !seen[at] {
                seen[at] = true;
                at = usize::try_from(order[at]).unwrap();
            }
        }
        (order.len() - cycles).is_multiple_of(2)
    }
}
