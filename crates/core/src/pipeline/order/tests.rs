//! Orders, against the same steps over lists.

use super::OrderStep as Step;
use super::*;
use proptest::prelude::*;

/// As much of an endless pass is looked at.
const ENOUGH: usize = 400;

/// The same steps over lists, and whether the list continues.
fn model(steps: &[Step], epoch: u64) -> (Vec<u64>, bool) {
    let Some((&step, steps)) = steps.split_last() else {
        return (Vec::new(), false);
    };
    let (below, continues) = match step {
        Step::Repeat(_) => (Vec::new(), false),
        _ => model(steps, epoch),
    };
    match step {
        Step::Records(n) => ((0..n).collect(), false),
        Step::Shuffle { seed } => {
            let order = Permutation::new(below.len() as u64, seed, epoch);
            let places = 0..below.len();
            (
                places
                    .map(|it| below[order.at(it as u64) as usize])
                    .collect(),
                false,
            )
        }
        Step::Window { seed, size } => {
            let mut all = in_windows(below, seed, size, epoch);
            if continues {
                // What the last blocks are made of is not known whole.
                all.truncate(all.len().saturating_sub(2 * size as usize));
            }
            (all, continues)
        }
        Step::Blocks { seed, size } => {
            let blocks = below.chunks_exact(size as usize);
            let (rest, blocks) = (blocks.remainder().to_vec(), blocks.collect::<Vec<_>>());
            let order = Permutation::new(blocks.len() as u64, seed, epoch);
            let mut all: Vec<_> = (0..blocks.len())
                .map(|it| blocks[order.at(it as u64) as usize].to_vec())
                .collect();
            all.push(rest);
            (all.concat(), false)
        }
        Step::Stripe { block, num, index } => {
            let blocks = below.chunks(block as usize).skip(index as usize);
            let mine = blocks.step_by(num as usize).map(<[u64]>::to_vec);
            let mut all = mine.collect::<Vec<_>>().concat();
            if continues {
                // The last block is not known whole.
                all.truncate(all.len().saturating_sub(block as usize));
            }
            (all, continues)
        }
        Step::Repeat(count) => repeated(steps, count, epoch),
        Step::Shard(shard) => (part_of(&below, shard, continues), continues),
        Step::Skip(n) => (below.into_iter().skip(n as usize).collect(), continues),
        // Of what continues, more is known than is ever taken.
        Step::Take(n) => (below.into_iter().take(n as usize).collect(), false),
    }
}

fn repeated(steps: &[Step], count: Option<u64>, epoch: u64) -> (Vec<u64>, bool) {
    let mut all = Vec::new();
    for pass in 0.. {
        if count == Some(pass) {
            return (all, false);
        }
        let epoch = count.map_or(pass, |count| epoch * count + pass);
        let (some, continues) = model(steps, epoch);
        let is_empty = some.is_empty();
        all.extend(some);
        if continues || is_empty && count.is_none() {
            return (all, continues);
        }
        if count.is_none() && all.len() > 40 * ENOUGH {
            return (all, true);
        }
    }
    unreachable!()
}

/// As one reads it: shuffle blocks as they come, keep the second half of each for the next.
fn in_windows(below: Vec<u64>, seed: u64, size: u64, epoch: u64) -> Vec<u64> {
    let shuffled = |block: Vec<u64>, number: u64| -> Vec<u64> {
        let key = (epoch << 41) + number;
        let order = Permutation::new(block.len() as u64, seed, key);
        let places = 0..block.len();
        places
            .map(|it| block[order.at(it as u64) as usize])
            .collect()
    };
    let (size, half) = (size as usize, size as usize / 2);
    let (mut all, mut rest, mut below) = (Vec::new(), Vec::new(), below.into_iter());
    for number in 0.. {
        let block: Vec<u64> = below.by_ref().take(size).collect();
        let mut block = shuffled(block, 2 * number);
        let kept = block.split_off(half.min(block.len()));
        rest.extend(block);
        let is_last = rest.is_empty() && kept.is_empty();
        all.extend(shuffled(std::mem::replace(&mut rest, kept), 2 * number + 1));
        if is_last {
            break;
        }
    }
    all
}

fn part_of(below: &[u64], shard: Shard, continues: bool) -> Vec<u64> {
    let (num, index) = (shard.num as usize, shard.index as usize);
    let rounds = below
        .get(shard.base as usize..)
        .unwrap_or_default()
        .chunks(num);
    let pick = |round: &[u64]| match (round.get(index), shard.policy) {
        _ if continues && round.len() < num => None,
        (_, Policy::Drop) if round.len() < num => None,
        (None, Policy::Pad) => round.iter().cycle().nth(index).copied(),
        (element, _) => element.copied(),
    };
    rounds.filter_map(pick).collect()
}

fn any_step() -> impl Strategy<Value = Step> {
    let policy = prop_oneof![Just(Policy::Uneven), Just(Policy::Drop), Just(Policy::Pad)];
    // No more parts than that enough is left of a part of a part of what continues.
    let shard = (1_u64..4, 0_u64..4, 0_u64..4, policy).prop_map(|(num, index, base, policy)| {
        let index = index % num;
        Step::Shard(Shard {
            num,
            index,
            base,
            policy,
        })
    });
    prop_oneof![
        (0_u64..9).prop_map(|seed| Step::Shuffle { seed }),
        (0_u64..9, 1_u64..40).prop_map(|(seed, size)| Step::Window { seed, size }),
        (0_u64..9, 1_u64..12).prop_map(|(seed, size)| Step::Blocks { seed, size }),
        (1_u64..9, 1_u64..4, 0_u64..4).prop_map(|(block, num, index)| {
            let index = index % num;
            Step::Stripe { block, num, index }
        }),
        prop_oneof![Just(None), (0_u64..4).prop_map(Some)].prop_map(Step::Repeat),
        shard,
        (0_u64..30).prop_map(Step::Skip),
        (0_u64..60).prop_map(Step::Take),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn steps_do_what_they_do_to_a_list(
        n in 0_u64..50,
        steps in prop::collection::vec(any_step(), 0..6),
        epoch in 0_u64..4,
        start in 0_u64..100,
    ) {
        let steps: Vec<_> = std::iter::once(Step::Records(n)).chain(steps).collect();
        let Ok(order) = Order::new(&steps) else {
            // Nothing that ends is refused.
            let endless = steps.iter().position(|step| *step == Step::Repeat(None));
            let shuffled = steps.iter().rposition(|step| matches!(step, Step::Shuffle { .. } | Step::Blocks { .. }));
            prop_assert!(endless.is_some() && endless < shuffled);
            return Ok(());
        };
        let (list, continues) = model(&steps, epoch);
        prop_assert_eq!(order.len(), (!continues).then_some(list.len() as u64));
        let list = &list[..list.len().min(ENOUGH)];
        for (position, &record) in (0..).zip(list) {
            prop_assert_eq!(order.at(position, epoch), Some(record));
        }
        let mut records = vec![77];
        order.fill(start..list.len() as u64, epoch, &mut records).unwrap();
        prop_assert_eq!(&records[1..], list.get(start as usize..).unwrap_or_default());
    }
}

/// Each element comes in one part, in as few rounds as can be; padded ones twice at most in a round of two.
#[test]
fn the_parts_of_a_whole_are_the_whole() {
    for (n, num, base) in
        (0..30).flat_map(|n| (1..8).flat_map(move |num| (0..4).map(move |base| (n, num, base))))
    {
        let part = |index, policy| {
            let shard = Shard {
                num,
                index,
                base,
                policy,
            };
            let order = Order::new(&[Step::Records(n), Step::Shard(shard)]).unwrap();
            let mut all = Vec::new();
            order.fill(0..u64::MAX, 0, &mut all).unwrap();
            all
        };
        let parts = |policy| {
            (0..num)
                .map(|index| part(index, policy))
                .collect::<Vec<_>>()
        };
        let (uneven, drop, pad) = (
            parts(Policy::Uneven),
            parts(Policy::Drop),
            parts(Policy::Pad),
        );
        let mut all = uneven.concat();
        all.sort_unstable();
        assert_eq!(all, (base.min(n)..n).collect::<Vec<_>>());
        let lengths = |parts: &[Vec<u64>]| parts.iter().map(Vec::len).collect::<Vec<_>>();
        let rest = n.saturating_sub(base);
        assert_eq!(lengths(&drop), vec![(rest / num) as usize; num as usize]);
        assert_eq!(
            lengths(&pad),
            vec![rest.div_ceil(num) as usize; num as usize]
        );
        let mut padded = pad.concat();
        padded.sort_unstable();
        padded.dedup();
        assert_eq!(padded, all);
    }
}

#[test]
fn a_pass_over_several_epochs_shuffles_each() {
    let steps = [
        Step::Records(30),
        Step::Shuffle { seed: 4 },
        Step::Repeat(Some(3)),
    ];
    let order = Order::new(&steps).unwrap();
    let mut records = Vec::new();
    order.fill(0..90, 2, &mut records).unwrap();
    for (pass, some) in (6..).zip(records.chunks(30)) {
        let shuffled = Permutation::new(30, 4, pass);
        assert_eq!(some, (0..30).map(|it| shuffled.at(it)).collect::<Vec<_>>());
    }
}

/// What people have written down must continue where it was.
#[test]
fn the_order_of_blocks_and_windows_is_the_one_promised() {
    let (seed, size) = (7, 4);
    let steps = [Step::Records(22), Step::Blocks { seed, size }];
    let window = Step::Window { seed, size: 8 };
    let orders = [
        &steps[..],
        &[steps[0], window],
        &[steps[0], steps[1], window],
    ]
    .map(|steps| {
        let mut records = Vec::new();
        let order = Order::new(steps).unwrap();
        order.fill(0..22, 3, &mut records).unwrap();
        records
    });
    assert_eq!(
        orders[0],
        [
            12, 13, 14, 15, 0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21
        ]
    );
    assert_eq!(
        orders[1],
        [
            1, 6, 3, 7, 5, 11, 12, 4, 0, 14, 10, 2, 13, 15, 9, 19, 8, 17, 16, 18, 20, 21
        ]
    );
    assert_eq!(
        orders[2],
        [
            13, 2, 15, 3, 1, 11, 4, 0, 12, 6, 10, 14, 5, 7, 9, 19, 8, 17, 16, 18, 20, 21
        ]
    );
}

/// Blocks and windows together take any record anywhere: where it comes says little about where it lay.
#[test]
fn records_of_shuffled_blocks_come_from_everywhere() {
    let (n, size) = (100_000_u64, 250);
    for seed in 0..3 {
        let steps = [
            Step::Records(n),
            Step::Blocks { seed, size },
            Step::Window {
                seed,
                size: 16 * size,
            },
        ];
        let mut records = Vec::new();
        let order = Order::new(&steps).unwrap();
        order.fill(0..n, 1, &mut records).unwrap();
        // How far from its place a record is, on average: a third of all of them, if it is by chance.
        let apart = (0..n).zip(&records).map(|(at, &from)| at.abs_diff(from));
        let mean = apart.sum::<u64>() / n;
        assert!(mean.abs_diff(n / 3) < n / 20, "{mean}");
        // Each batch has records of many blocks, few of which lie side by side.
        for batch in records.chunks_exact(1000) {
            let mut blocks: Vec<_> = batch.iter().map(|record| record / size).collect();
            blocks.sort_unstable();
            blocks.dedup();
            // At the ends of a pass it is one window that a batch is from.
            assert!(blocks.len() >= 15, "{}", blocks.len());
            let follow = batch
                .windows(2)
                .filter(|pair| pair[0] + 1 == pair[1])
                .count();
            assert!(follow < 10, "{follow}");
        }
        records.sort_unstable();
        assert_eq!(records, (0..n).collect::<Vec<_>>());
    }
}

/// Nothing comes after a place that lies before what is said to be its floor; and the floor is not far away.
#[test]
fn the_floor_of_a_place_is_below_all_that_comes() {
    let window = |size| Step::Window { seed: 5, size };
    let shard = Shard {
        num: 3,
        index: 1,
        base: 2,
        policy: Policy::Pad,
    };
    let uppers: [&[Step]; 6] = [
        &[window(1)],
        &[window(7)],
        &[window(200)],
        &[window(8), Step::Repeat(Some(3)), Step::Skip(5)],
        &[window(9), Step::Repeat(Some(2)), Step::Shard(shard)],
        &[
            window(5),
            window(12),
            Step::Stripe {
                block: 4,
                num: 2,
                index: 1,
            },
        ],
    ];
    for upper in uppers {
        let steps = [&[Step::Records(50), Step::Shuffle { seed: 1 }], upper].concat();
        let order = Order::new(&steps).unwrap();
        let halves = Halves::of(&order).unwrap();
        assert_eq!(halves.lower().len(), Some(50));
        let length = order.len().unwrap();
        let (mut places, mut records) = (Vec::new(), Vec::new());
        halves.fill(0..length, 2, &mut places).unwrap();
        order.fill(0..length, 2, &mut records).unwrap();
        for (position, &record) in (0..).zip(&records) {
            let (below, epoch) = places[position as usize];
            assert_eq!(halves.lower().at(below, epoch), Some(record));
            let floor = halves.floor(position, 2);
            let order = |&(position, epoch): &(u64, u64)| (epoch, position);
            let later = places[position as usize..].iter().map(order).min();
            assert!(order(&floor) <= later.unwrap(), "{upper:?} {position}");
            assert!(floor.1 == epoch && floor.0 + 2 * halves.window() >= below);
        }
    }
    let wild = [
        Step::Records(9),
        window(3),
        Step::Blocks { seed: 1, size: 2 },
    ];
    assert!(Halves::of(&Order::new(&wild).unwrap()).is_none());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let shard = |num, index| {
        Step::Shard(Shard {
            num,
            index,
            base: 0,
            policy: Policy::Pad,
        })
    };
    let records = Step::Records(3);
    let wrong: [&[Step]; 7] = [
        &[],
        &[Step::Take(3)],
        &[records, records],
        &[records, Step::Repeat(None), Step::Shuffle { seed: 0 }],
        &[records, shard(0, 0)],
        &[records, shard(2, 2)],
        &[records, shard(2, 3)],
    ];
    for steps in wrong {
        assert!(Order::new(steps).is_err(), "{steps:?}");
    }
}

#[test]
fn what_is_too_long_to_be_counted_goes_on_as_long_as_can_be_counted() {
    let often = Step::Repeat(Some(u64::MAX / 2));
    let order = Order::new(&[Step::Records(10), often, often, Step::Shuffle { seed: 1 }]);
    let order = order.unwrap();
    assert_eq!(order.len(), Some(MOST));
    for position in [0, 1, MOST - 1] {
        assert!(order.at(position, u64::MAX).unwrap() < 10);
    }
    assert_eq!(order.at(MOST, 0), None);
    let endless = Order::new(&[Step::Records(10), Step::Repeat(None), Step::Skip(u64::MAX)]);
    assert!(endless.unwrap().at(u64::MAX, 3).unwrap() < 10);
    let mut records = Vec::new();
    let order = Order::new(&[Step::Records(10), Step::Repeat(None)]).unwrap();
    assert!(order.fill(0..u64::MAX, 0, &mut records).is_err());
}
