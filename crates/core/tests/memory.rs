//! Vectors that come, grow, shrink and continue two threads keep what is in them, in memory that is used again.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::thread;

use proptest::prelude::*;
use tfrecs_core::runtime::memory::Memory;

#[global_allocator]
static MEMORY: Memory = Memory::new();

/// What somebody does with vectors.
#[derive(Clone, Debug)]
enum Step {
    /// A new one of zeros.
    Zeros(usize),
    /// A new one of other bytes.
    New(usize, u8),
    /// One gets another length, and no more memory than that.
    Resize(usize, usize),
    Drop(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = || {
        prop_oneof![
            2 => 1_usize..10_000,
            1 => 200_000_usize..300_000,
            1 => 1_000_000_usize..5_000_000,
        ]
    };
    let step = prop_oneof![
        size().prop_map(Step::Zeros),
        (size(), 1_u8..).prop_map(|(size, byte)| Step::New(size, byte)),
        (0_usize..8, size()).prop_map(|(which, size)| Step::Resize(which, size)),
        (0_usize..8).prop_map(Step::Drop),
    ];
    prop::collection::vec(step, 1..40)
}

/// A vector, and the byte that it is made of.
struct Held(Vec<u8>, u8);

impl Held {
    fn is_whole(&self) -> bool {
        self.0.iter().all(|&byte| byte == self.1)
    }
}

/// Whether all vectors always were what they should be.
fn follow(steps: &[Step]) -> bool {
    let mut held: Vec<Held> = Vec::new();
    let mut are_whole = true;
    for step in steps {
        match *step {
            Step::Zeros(size) => held.push(Held(vec![0; size], 0)),
            Step::New(size, byte) => held.push(Held(vec![byte; size], byte)),
            Step::Resize(which, size) => {
                if let Some(Held(bytes, byte)) = held.get_mut(which) {
                    bytes.resize(size, *byte);
                    bytes.shrink_to_fit();
                }
            }
            Step::Drop(which) if which < held.len() => {
                are_whole &= held.swap_remove(which).is_whole();
            }
            Step::Drop(_) => {}
        }
        are_whole &= held.last().is_none_or(Held::is_whole);
    }
    are_whole && held.iter().all(Held::is_whole)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn vectors_keep_what_is_in_them(ours in steps(), theirs in steps()) {
        thread::scope(|scope| {
            let other = scope.spawn(|| follow(&theirs));
            assert!(follow(&ours));
            assert!(other.join().unwrap());
        });
    }
}
