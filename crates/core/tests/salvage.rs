//! Salvage beside the truth: every change of one byte, every cut, and files with many damages.

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
        [&b"before"[..], &inner, b"behind it"].concat(),
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

fn check(world: &World, found: &Found, what: &str) {
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
        for change in 1..=255 {
            let mut world = World::of(&records);
            world.flip(at, change);
            let found = salvage(&path, &world.bytes, 100);
            check(&world, &found, &format!("byte {at} ^ {change}"));
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
        check(&world, &found, &format!("cut at {at}"));
    }
}

#[test]
fn many_damages() {
    let cases: u64 = std::env::var("TORTURE").map_or(2_000, |text| text.parse().unwrap());
    let seed: u64 = std::env::var("SEED").map_or(0, |text| text.parse().unwrap());
    let verbose = std::env::var("VERBOSE").is_ok();
    let folder = folder();
    let path = folder.path().join("a");
    for payloads in [Payloads::Plain, Payloads::Nested] {
        let (mut all, mut files) = (Score::default(), 0);
        let mut by_damages = [(0, 0, 0); 21];
        for case in seed..seed + cases {
            let mut dice = Dice::new(case);
            let records = dice.between(20, 200);
            let mut world = World::new(&mut dice, payloads, records, 10_000);
            let damages = dice.between(1, 20);
            let kinds: Vec<&str> = (0..damages).map(|_| world.damage(&mut dice)).collect();
            let score = world.score(&salvage(&path, &world.bytes, 50));
            if verbose && (score.phantoms > 0 || score.missed > 0) {
                println!("{payloads:?} {case}: {score:?} of {records}, {kinds:?}");
            }
            files += usize::from(score.phantoms > 0);
            all.left += score.left;
            all.missed += score.missed;
            all.phantoms += score.phantoms;
            let sums = &mut by_damages[damages];
            sums.0 += score.left;
            sums.1 += score.missed;
            sums.2 += score.phantoms;
        }
        #[allow(clippy::cast_precision_loss)]
        let rate = all.missed as f64 / all.left as f64;
        println!(
            "{payloads:?}: {cases} files, {all:?} = {rate:.6} missed, {files} files with phantoms"
        );
        if verbose {
            println!("{by_damages:?}");
        }
    }
}
