//! Files whose truth is known: what was written, what happened to it, and what of it is left.

use std::collections::HashSet;
use std::path::Path;

use tfrecs_core::record::format::frame;
use tfrecs_core::record::salvage::{Piece, Salvage, SalvageOptions};

/// A small random number generator, so that a seed makes the same file everywhere.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap()
    }

    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(n + 8);
        while bytes.len() < n {
            bytes.extend(self.next().to_le_bytes());
        }
        bytes.truncate(n);
        bytes
    }
}

pub fn framed(data: &[u8]) -> Vec<u8> {
    let mut all = frame::header(data.len() as u64).to_vec();
    all.extend_from_slice(data);
    all.extend(frame::footer(data));
    all
}

/// What the payloads of a file are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payloads {
    Plain,
    /// A third of them hold records.
    Nested,
}

/// A payload of about `size` bytes.
pub fn payload(dice: &mut Dice, size: usize, nesting: usize) -> Vec<u8> {
    if nesting == 0 || size < 100 || !dice.chance(3) {
        return dice.bytes(size);
    }
    let sides = |dice: &mut Dice| {
        if dice.chance(2) {
            0
        } else {
            dice.between(1, 60)
        }
    };
    let before = sides(dice);
    let mut all = dice.bytes(before);
    let most = dice.between(20, size / 2);
    while all.len() < size {
        let inner = dice.between(16, most);
        let inner = payload(dice, inner, nesting - 1);
        all.extend(framed(&inner));
        if dice.chance(8) {
            let between = dice.between(1, 30);
            all.extend(dice.bytes(between));
        }
    }
    let after = sides(dice);
    all.extend(dice.bytes(after));
    all
}

/// A file, and where each of its bytes comes from.
pub struct World {
    pub bytes: Vec<u8>,
    origin: Vec<u32>,
    /// The frames as they were written.
    frames: Vec<(usize, usize)>,
    written: HashSet<Vec<u8>>,
}

const NOWHERE: u32 = u32::MAX;

impl World {
    pub fn new(dice: &mut Dice, payloads: Payloads, records: usize, largest: usize) -> Self {
        let nesting = if payloads == Payloads::Plain { 0 } else { 2 };
        let sizes = |dice: &mut Dice| {
            let most = dice.between(20, largest);
            dice.between(20, most)
        };
        let records: Vec<Vec<u8>> = (0..records)
            .map(|_| {
                let size = sizes(dice);
                payload(dice, size, nesting)
            })
            .collect();
        Self::of(&records)
    }

    pub fn of(records: &[Vec<u8>]) -> Self {
        let (mut bytes, mut frames) = (Vec::new(), Vec::new());
        for record in records {
            let start = bytes.len();
            bytes.extend(framed(record));
            frames.push((start, bytes.len()));
        }
        let origin = (0..u32::try_from(bytes.len()).unwrap()).collect();
        let written = records.iter().cloned().collect();
        Self {
            bytes,
            origin,
            frames,
            written,
        }
    }

    pub fn flip(&mut self, at: usize, change: u8) {
        if let Some(byte) = self.bytes.get_mut(at) {
            *byte ^= change;
            self.origin[at] = if change == 0 {
                self.origin[at]
            } else {
                NOWHERE
            };
        }
    }

    pub fn zero(&mut self, at: usize, count: usize) {
        let end = (at + count).min(self.bytes.len());
        for place in at.min(end)..end {
            let byte = self.bytes[place];
            self.flip(place, byte);
        }
    }

    pub fn insert(&mut self, at: usize, bytes: &[u8]) {
        self.bytes.splice(at..at, bytes.iter().copied());
        let nowhere = bytes.iter().map(|_| NOWHERE);
        self.origin.splice(at..at, nowhere);
    }

    pub fn delete(&mut self, at: usize, count: usize) {
        let end = (at + count).min(self.bytes.len());
        self.bytes.drain(at..end);
        self.origin.drain(at..end);
    }

    pub fn swap(&mut self, one: usize, other: usize, count: usize) {
        let (one, other) = (one.min(other), one.max(other));
        let count = count.min(other - one).min(self.bytes.len() - other);
        for place in 0..count {
            self.bytes.swap(one + place, other + place);
            self.origin.swap(one + place, other + place);
        }
    }

    pub fn damage(&mut self, dice: &mut Dice) -> &'static str {
        let size = self.bytes.len();
        let at = dice.below(size);
        let length = [4096, dice.between(1, 8192)][dice.below(4).min(1)];
        match dice.below(9) {
            0..=2 => {
                let count = [1, dice.between(1, 16)][dice.below(2)];
                for place in at..at + count {
                    self.flip(place, u8::try_from(dice.between(1, 255)).unwrap());
                }
                "flip"
            }
            3 | 4 => {
                self.zero(at / 4096 * 4096, 4096);
                "zero"
            }
            5 => {
                let bytes = dice.bytes(length);
                self.insert(at, &bytes);
                "insert"
            }
            6 => {
                self.delete(at, length);
                "delete"
            }
            7 => {
                let other = dice.below(size);
                let page = [1, 4096][dice.below(2)];
                self.swap(at / page * page, other / page * page, length);
                "swap"
            }
            _ if dice.chance(4) => {
                self.delete(at, size);
                "cut"
            }
            _ => {
                self.zero(at, dice.between(1, 64));
                "zeros"
            }
        }
    }

    /// The records of which each byte is there still, in their places.
    pub fn left(&self) -> Vec<Vec<u8>> {
        let mut starts: std::collections::HashMap<u32, usize> = std::collections::HashMap::new();
        for (start, end) in &self.frames {
            starts.insert(u32::try_from(*start).unwrap(), end - start);
        }
        let mut left = Vec::new();
        let mut at = 0;
        while at < self.origin.len() {
            let first = self.origin[at];
            if let Some(&length) = starts.get(&first)
                && let Some(there) = self.origin.get(at..at + length)
                && there.iter().zip(first..).all(|(have, want)| *have == want)
            {
                left.push(self.bytes[at + 12..at + length - 4].to_vec());
                at += length;
            } else {
                at += 1;
            }
        }
        left
    }
}

/// What salvage makes of a file.
#[derive(Debug, Default)]
pub struct Found {
    pub records: Vec<Vec<u8>>,
    pub regions: Vec<(u64, u64)>,
}

/// Salvages `bytes`, in batches of `n`, and checks that records and regions make the file.
pub fn salvage(path: &Path, bytes: &[u8], n: usize) -> Found {
    std::fs::write(path, bytes).unwrap();
    let mut salvage = Salvage::open(path, SalvageOptions::default()).unwrap();
    let (mut found, mut at) = (Found::default(), 0);
    while let Some(piece) = salvage.next_piece(n).unwrap() {
        match piece {
            Piece::Records(records) => {
                for record in records.iter() {
                    at += record.len() as u64 + 16;
                    found.records.push(record.to_vec());
                }
            }
            Piece::Skipped(region) => {
                assert_eq!(region.begin, at, "regions and records follow each other");
                assert!(region.end > region.begin);
                at = region.end;
                found.regions.push((region.begin, region.end));
            }
        }
    }
    assert_eq!(at, bytes.len() as u64, "all of the file is accounted for");
    found
}

/// What a file's salvage was like.
#[derive(Debug, Default)]
pub struct Score {
    pub left: usize,
    pub missed: usize,
    pub phantoms: usize,
}

impl World {
    pub fn score(&self, found: &Found) -> Score {
        let left = self.left();
        let mut score = Score {
            left: left.len(),
            ..Score::default()
        };
        let mut there = found.records.iter();
        for record in &left {
            // In their order: what is not found after the one before is missed.
            let mut ahead = there.clone();
            if ahead.any(|found| found == record) {
                there = ahead;
            } else {
                score.missed += 1;
            }
        }
        let is_phantom = |record: &&Vec<u8>| !self.written.contains(*record);
        score.phantoms = found.records.iter().filter(is_phantom).count();
        score
    }
}
