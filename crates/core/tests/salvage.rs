//! Salvage beside the truth: every change of one byte, every cut, and files with many damages.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test"
)]

#[path = "salvage/check.rs"]
mod check;
#[path = "salvage/world.rs"]
mod world;

use world::{Dice, Found, Payloads, Score, World, framed, salvage};

/// Ten records, of which some hold records, one nothing else.
fn ten(dice: &mut Dice) -> Vec<Vec<u8>> {
    let inner = [framed(b"inner one"), framed(b""), framed(b"inner two")].concat();
    let twice = framed(&inner);
    vec![
        b"first".to_vec(),
        Vec::new(),
        inner.clone(),
        dice.bytes(70),
        [&b"before"[..], &inner, b"after it"].concat(),
        vec![0; 40],
        twice,
        [&inner[..], b"12345678901234567890"].concat(),
        inner,
        b"last".to_vec(),
    ]
}

fn folder() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

fn nothing_is_wrong(world: &World, found: &Found, what: &str) {
    let score = world.score(found);
    assert_eq!((score.missed, score.phantoms), (0, 0), "{what}: {found:?}");
}

#[test]
fn every_change_of_a_byte() {
    let folder = folder();
    let path = folder.path().join("a");
    let records = ten(&mut Dice::new(1));
    let size = World::of(&records).bytes.len();
    for at in 0..size {
        // All of them where the compiler optimises; else some.
        let step = if cfg!(debug_assertions) { 17 } else { 1 };
        for change in (1..=255).step_by(step) {
            let mut world = World::of(&records);
            world.flip(at, change);
            let found = salvage(&path, &world.bytes, 100);
            nothing_is_wrong(&world, &found, &format!("byte {at} ^ {change}"));
            assert!(found.records.len() >= 9);
        }
    }
}

#[test]
fn every_cut() {
    let folder = folder();
    let path = folder.path().join("a");
    let records = ten(&mut Dice::new(1));
    let size = World::of(&records).bytes.len();
    for at in 0..size {
        let mut world = World::of(&records);
        world.delete(at, size);
        let found = salvage(&path, &world.bytes, 3);
        nothing_is_wrong(&world, &found, &format!("cut at {at}"));
    }
}

/// Dozens of records that hold none say nothing about one that does.
#[test]
fn every_cut_of_a_rare_record_that_holds_records() {
    let folder = folder();
    let path = folder.path().join("a");
    let dice = &mut Dice::new(2);
    let mut records: Vec<Vec<u8>> = (0..40).map(|_| dice.bytes(30)).collect();
    let begin = World::of(&records).bytes.len();
    let inner = [framed(b"inner one"), framed(b""), framed(b"inner two")].concat();
    records.push([&b"before"[..], &inner, b"after it"].concat());
    records.push(b"last".to_vec());
    let size = World::of(&records).bytes.len();
    for at in begin..size {
        let mut world = World::of(&records);
        world.delete(at, size);
        let found = salvage(&path, &world.bytes, 100);
        nothing_is_wrong(&world, &found, &format!("cut at {at}"));
        for change in [1, 0x80, 0xff] {
            let mut world = World::of(&records);
            world.flip(at, change);
            let found = salvage(&path, &world.bytes, 100);
            nothing_is_wrong(&world, &found, &format!("byte {at} ^ {change}"));
        }
    }
}

/// How many of the records that were left were not found, and in how many files something was found that is
/// no record of the file, in files with that many damages.
fn many(payloads: Payloads, most: usize, cases: u64) -> (Score, usize) {
    let seed = drawn_seed().unwrap_or(0);
    let folder = folder();
    let path = folder.path().join("a");
    let (mut all, mut files) = (Score::default(), 0);
    for case in seed..seed + cases {
        let mut dice = Dice::new(case);
        let records = dice.between(20, 200);
        let mut world = World::new(&mut dice, payloads, records, 10_000);
        let damages = dice.between(1, most);
        let kinds: Vec<&str> = (0..damages).map(|_| world.damage(&mut dice)).collect();
        let score = world.score(&salvage(&path, &world.bytes, 50));
        if score.phantoms > 0 {
            println!("{payloads:?}, {most}, seed {case}: {score:?} of {records}, {kinds:?}");
        }
        files += usize::from(score.phantoms > 0);
        all.left += score.left;
        all.missed += score.missed;
        all.phantoms += score.phantoms;
    }
    println!(
        "{payloads:?}, 1 to {most} damages, {cases} files: {all:?}; in {files} files phantoms"
    );
    (all, files)
}

/// Which files the damages are tried on: always the same ones, but for `make torture`, which draws others.
fn drawn_seed() -> Option<u64> {
    let text = std::env::var("SALVAGE_SEED").ok()?;
    Some(text.parse().unwrap())
}

fn cases() -> u64 {
    let usual = if cfg!(debug_assertions) { 60 } else { 300 };
    std::env::var("SALVAGE_FILES").map_or(usual, |text| text.parse().unwrap())
}

/// The rates of docs/damage.md, and half as much again: as many files as here may do a little worse than 4,000.
///
/// At most one of `files_per_phantom` files has content that came back as a record (none: 0), and one of
/// `left_per_missed` records is not found. Files that were drawn may have three standard deviations more.
fn rates_hold(payloads: Payloads, most: usize, files_per_phantom: usize, left_per_missed: usize) {
    let cases = cases();
    let (score, files) = many(payloads, most, cases);
    assert!(score.left as u64 > 50 * cases, "{score:?}");
    let expected = usize::try_from(cases)
        .unwrap()
        .checked_div(files_per_phantom)
        .unwrap_or(0);
    let luck = drawn_seed().map_or(0, |_| 3 * expected.isqrt());
    assert!(files <= expected + luck, "{files} files, not {expected}");
    assert!(score.missed * left_per_missed <= score.left, "{score:?}");
}

#[test]
fn damages_of_plain_records() {
    rates_hold(Payloads::Plain, 3, 0, 1500);
    rates_hold(Payloads::Plain, 20, 0, 200);
}

#[test]
fn damages_of_records_that_hold_records() {
    // What is left of a chain between two places where bytes were lost may be either, as salvage.rs says.
    rates_hold(Payloads::Nested, 3, 1000, 250);
    rates_hold(Payloads::Nested, 20, 200, 10);
}

#[test]
fn any_bytes() {
    for seed in 0..3000 {
        let mut dice = Dice::new(seed);
        let size = dice.between(0, 600);
        let mut script = dice.bytes(size);
        // Small steps make more of them.
        for byte in script.iter_mut().skip(2).step_by(dice.between(3, 9)) {
            *byte %= 12;
        }
        check::salvage(&script);
        check::framing(&script);
    }
}
