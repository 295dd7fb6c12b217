use std::fs::File;
use std::io::{Cursor, Seek, SeekFrom, Write};

use proptest::prelude::*;
use proptest::sample::Index;

use super::super::compression::Compression;
use super::super::libdeflate::Packer;
use super::*;
use crate::error::ErrorKind;
use crate::record::codec::gzip_member;
use crate::record::codec::parallel::tests::{damage, each_cut_and_flip};
use crate::record::codec::source;
use crate::record::codec::zlib::{DeflateOptions, Deflater, Flush};

type Outcome = (Vec<u8>, Result<(), ErrorKind>);

/// All that `read` delivers into pieces of `size`, and what ends it.
fn drained(size: usize, mut read: impl FnMut(&mut [u8]) -> Result<usize, ErrorKind>) -> Outcome {
    let (mut all, mut room) = (Vec::new(), vec![0; size]);
    loop {
        match read(&mut room) {
            Ok(0) => return (all, Ok(())),
            Ok(count) => all.extend_from_slice(&room[..count]),
            Err(fault) => {
                assert_eq!(read(&mut room), Err(fault.clone()), "a fault is final");
                return (all, Err(fault));
            }
        }
    }
}

/// What everybody else reads.
fn plain(file: &[u8], codec: Compression) -> Outcome {
    match source::open(Box::new(Cursor::new(file.to_vec())), Some(codec), false) {
        Ok(mut source) => drained(4096, |room| source.read(room)),
        Err(kind) => (Vec::new(), Err(kind)),
    }
}

fn scanned(file: &[u8], codec: Compression, spacing: u64, size: usize) -> (Outcome, Checkpoints) {
    match Scanner::open(Box::new(Cursor::new(file.to_vec())), Some(codec), spacing) {
        Ok(scanner) => {
            let mut scanner = scanner.unwrap();
            let outcome = drained(size, |room| scanner.read(room));
            (outcome, scanner.into_checkpoints())
        }
        Err(kind) => ((Vec::new(), Err(kind)), Checkpoints::default()),
    }
}

fn on_disk(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Content of many kinds, in pieces between which a writer may flush.
fn pieces() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let letters = prop::collection::vec(b'a'..b'e', 0..2_000);
    let noise = prop::collection::vec(any::<u8>(), 0..3_000);
    let same = (any::<u8>(), 0usize..60_000).prop_map(|(byte, size)| vec![byte; size]);
    let records = (any::<u32>(), 0usize..300).prop_map(|(seed, count)| records(seed, count));
    prop::collection::vec(prop_oneof![letters, noise, same, records], 1..5)
}

/// Numbers and words of a table, of which later ones repeat earlier ones at any distance.
fn records(seed: u32, count: usize) -> Vec<u8> {
    let mut state = seed;
    let row = |row| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let word = ["apple", "pear", "quince", "medlar"][(state >> 30) as usize];
        format!(
            "row {row}: {word} weighs {} of {}\0",
            state >> 20,
            state % 977
        )
    };
    (0..count).map(row).collect::<String>().into_bytes()
}

/// The library that compresses, and its options.
#[derive(Clone, Debug)]
enum By {
    Us(i32),
    Zlib(DeflateOptions),
}

fn by() -> impl Strategy<Value = By> {
    let options = (-1..=9, 9..=15, 1..=9, 0..=4, 0..=3).prop_map(
        |(level, window_bits, mem_level, strategy, flush_mode)| DeflateOptions {
            level,
            window_bits: Some(window_bits),
            mem_level,
            strategy,
            flush_mode,
            ..DeflateOptions::default()
        },
    );
    prop_oneof![1 => (1..=12).prop_map(By::Us), 4 => options.prop_map(By::Zlib)]
}

fn stream(by: &By, codec: Compression, pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = Vec::new();
    match by {
        By::Us(level) if codec == Compression::Gzip => {
            let mut packer = Packer::new(*level).unwrap();
            gzip_member::pack(&mut packer, &pieces.concat(), 1, &mut stream).unwrap();
        }
        By::Us(_) => return stream_of(&DeflateOptions::default(), codec, pieces),
        By::Zlib(options) => return stream_of(options, codec, pieces),
    }
    stream
}

fn stream_of(options: &DeflateOptions, codec: Compression, pieces: &[Vec<u8>]) -> Vec<u8> {
    let container = if codec == Compression::Gzip { 16 } else { 0 };
    let options = DeflateOptions {
        window_bits: options.window_bits.map(|bits| bits + container),
        ..*options
    };
    let (mut stream, mut deflater) = (Vec::new(), Deflater::new(codec, &options).unwrap());
    for piece in pieces {
        deflater
            .compress(piece, &mut stream, Flush::Mode(options.flush_mode))
            .unwrap();
    }
    deflater.compress(&[], &mut stream, Flush::Finish).unwrap();
    stream
}

#[derive(Clone, Debug)]
struct Sample {
    codec: Compression,
    content: Vec<u8>,
    file: Vec<u8>,
}

fn sample() -> impl Strategy<Value = Sample> {
    let streams = prop::collection::vec((by(), pieces()), 1..4);
    (any::<bool>(), streams).prop_map(|(gzip, mut streams)| {
        let codec = [Compression::Zlib, Compression::Gzip][usize::from(gzip)];
        streams.truncate(if gzip { 4 } else { 1 });
        let file = streams
            .iter()
            .flat_map(|(by, pieces)| stream(by, codec, pieces));
        Sample {
            codec,
            file: file.collect(),
            content: streams
                .iter()
                .flat_map(|(_, pieces)| pieces.concat())
                .collect(),
        }
    })
}

fn spacing() -> impl Strategy<Value = u64> {
    prop_oneof![1 => 0u64..100, 4 => 500u64..50_000, 1 => Just(u64::MAX)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Every range, by a seeker that has been anywhere before.
    #[test]
    fn any_range_from_any_checkpoint(
        sample in sample(),
        spacing in spacing(),
        size in prop_oneof![1usize..10, 1usize..70_000],
        ranges in prop::collection::vec((any::<Index>(), any::<Index>()), 0..20),
    ) {
        let Sample { codec, content, file } = sample;
        let spacing = spacing.max(content.len() as u64 / 100);
        let size = size.max(content.len() / 5_000);
        let (outcome, checkpoints) = scanned(&file, codec, spacing, size);
        prop_assert_eq!(&outcome, &(content.clone(), Ok(())));
        let checkpoints = reloaded(&checkpoints);
        let file = on_disk(&file);
        for checkpoint in checkpoints.iter() {
            let begin = usize::try_from(checkpoint.output).unwrap();
            let found = Seeker::new(codec).unwrap().read(&file, &checkpoints, checkpoint.output, u64::MAX);
            prop_assert!(found == Ok(content[begin..].to_vec()), "from {:?}", checkpoint);
        }
        let mut seeker = Seeker::new(codec).unwrap();
        for (one, other) in ranges {
            let (one, other) = (one.index(content.len() + 1), other.index(content.len() + 1));
            let (from, to) = (one.min(other), one.max(other));
            let found = seeker.read(&file, &checkpoints, from as u64, to as u64);
            prop_assert!(found == Ok(content[from..to].to_vec()), "{}..{}", from, to);
        }
    }

    /// The same bytes and the same fault as everybody else, whatever the file and however it is read.
    #[test]
    fn damage_is_as_without_checkpoints(
        sample in sample(),
        damage in damage(),
        spacing in spacing(),
        size in prop_oneof![1usize..10, 1usize..70_000],
    ) {
        let spacing = spacing.max(sample.content.len() as u64 / 100);
        let size = size.max(sample.content.len() / 5_000);
        let file = damage.of(sample.file);
        let (outcome, _) = scanned(&file, sample.codec, spacing, size);
        prop_assert_eq!(outcome, plain(&file, sample.codec));
    }

    /// What is wrong with the file or the checkpoints is an error, or other bytes.
    #[test]
    fn lies_lead_to_bytes_or_an_error(
        sample in sample(),
        spacing in spacing(),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 0..5),
        damage in damage(),
        from in any::<Index>(),
    ) {
        let spacing = spacing.max(sample.content.len() as u64 / 100);
        let (_, checkpoints) = scanned(&sample.file, sample.codec, spacing, 1 << 16);
        let mut stored = checkpoints.to_bytes().unwrap();
        for (place, byte) in changes {
            let place = place.index(stored.len());
            stored[place] = byte;
        }
        let Some(checkpoints) = Checkpoints::from_bytes(&stored) else { return Ok(()) };
        let file = on_disk(&damage.of(sample.file));
        let mut seeker = Seeker::new(sample.codec).unwrap();
        for checkpoint in checkpoints.iter() {
            let to = checkpoint.output.saturating_add(1000);
            let found = seeker.read(&file, &checkpoints, checkpoint.output, to).ok();
            prop_assert!(found.is_none_or(|found| found.len() <= 1000));
        }
        let from = from.index(1 << 20) as u64;
        let _ = seeker.read(&file, &checkpoints, from, u64::MAX);
    }

    #[test]
    fn any_bytes_are_refused_or_kept(stored: Vec<u8>) {
        let found = Checkpoints::from_bytes(&stored);
        prop_assert!(found.is_none_or(|found| found.to_bytes().unwrap() == stored));
    }
}

/// The same, stored and loaded; no cut of it can be loaded.
fn reloaded(checkpoints: &Checkpoints) -> Checkpoints {
    let stored = checkpoints.to_bytes().unwrap();
    for cut in (0..stored.len()).step_by(1 + stored.len() / 100) {
        assert_eq!(Checkpoints::from_bytes(&stored[..cut]), None);
    }
    let found = Checkpoints::from_bytes(&stored).unwrap();
    assert_eq!(&found, checkpoints);
    found
}

/// A small file with blocks of every kind, and its codec.
fn small(codec: Compression) -> Vec<u8> {
    let options = |level, strategy, flush_mode| DeflateOptions {
        level,
        strategy,
        flush_mode,
        mem_level: 1,
        ..DeflateOptions::default()
    };
    let pieces: Vec<Vec<u8>> = (0..2).map(|seed| records(seed, 4)).collect();
    match codec {
        Compression::Gzip => [(6, 0, 1), (0, 0, 2), (9, 4, 3)]
            .into_iter()
            .flat_map(|(level, strategy, flush)| {
                stream_of(&options(level, strategy, flush), codec, &pieces)
            })
            .collect(),
        _ => stream_of(&options(6, 0, 2), codec, &pieces),
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_as_without_checkpoints() {
    for codec in [Compression::Gzip, Compression::Zlib] {
        let file = small(codec);
        let (_, checkpoints) = scanned(&file, codec, 1, 1000);
        assert!(checkpoints.len() >= 3, "{codec:?}: {}", checkpoints.len());
        let check = |file: &[u8]| {
            let (outcome, _) = scanned(file, codec, 150, 1000);
            assert_eq!(outcome, plain(file, codec));
            // Checkpoints of another file.
            let (file, last) = (on_disk(file), checkpoints.iter().last().unwrap());
            let mut seeker = Seeker::new(codec).unwrap();
            let _ = seeker.fill(&file, &checkpoints, last.output, &mut [0; 2000]);
        };
        each_cut_and_flip(&file, check);
    }
}

fn noise(count: u32) -> Vec<u8> {
    let hash = |i: u32| i.wrapping_mul(2_654_435_761).rotate_left(i % 29) >> 24;
    (0..count).map(|i| u8::try_from(hash(i)).unwrap()).collect()
}

/// Pieces that end with blocks, and a checkpoint after the first one.
fn after_the_first(pieces: &[Vec<u8>]) -> (File, Checkpoints) {
    let flushed = DeflateOptions {
        flush_mode: 1,
        level: 9,
        ..DeflateOptions::default()
    };
    let file = stream_of(&flushed, Compression::Zlib, pieces);
    let spacing = pieces[0].len() as u64;
    let (_, checkpoints) = scanned(&file, Compression::Zlib, spacing, 1 << 20);
    assert_eq!(checkpoints.at(spacing).output, spacing);
    (on_disk(&file), checkpoints)
}

/// To each of these places in turn, as far as a reference reaches; bytes that look like the place where
/// they stand are no exception.
#[test]
fn references_of_any_reach_are_kept() {
    let mut window = noise(32 << 10);
    for byte in 0..=127 {
        window[usize::from(byte) * 257] = byte;
    }
    for gap in (0..32_000).step_by(1_000) {
        let other: Vec<u8> = noise(gap).iter().map(|byte| byte ^ 0x55).collect();
        let seen = (1..128).filter(|v| v * 257 > 700 + other.len());
        let again: Vec<u8> = seen
            .flat_map(|v| window[v * 257 - 3..v * 257 + 4].to_vec())
            .collect();
        let (file, checkpoints) = after_the_first(&[window.clone(), other.clone(), again.clone()]);
        let mut seeker = Seeker::new(Compression::Zlib).unwrap();
        let found = seeker
            .read(&file, &checkpoints, 32 << 10, u64::MAX)
            .unwrap();
        assert!(found == [other, again].concat(), "{gap}");
    }
}

/// Codes of one bit: of the last byte that was taken for the content, some bits end the block, and some
/// begin the next one, which is noticed only when there is room again.
#[test]
fn blocks_that_end_within_a_byte_taken_before() {
    let options = DeflateOptions {
        strategy: 2,
        flush_mode: 1,
        ..DeflateOptions::default()
    };
    for count in 60..76 {
        let pieces = [vec![b'a'; count], vec![b'b'; 90], vec![b'c'; 50]];
        let file = stream_of(&options, Compression::Zlib, &pieces);
        let (_, checkpoints) = scanned(&file, Compression::Zlib, count as u64, 1);
        let checkpoint = checkpoints.at(count as u64);
        let window = checkpoint.entry.window();
        assert_eq!(
            (checkpoint.output, window.unwrap()),
            (count as u64, Vec::new())
        );
        let mut seeker = Seeker::new(Compression::Zlib).unwrap();
        let found = seeker.read(&on_disk(&file), &checkpoints, count as u64, u64::MAX);
        assert_eq!(found.unwrap(), pieces[1..].concat());
    }
}

/// What is wrong with the file elsewhere does not matter.
#[test]
fn damage_before_a_checkpoint_does_no_harm() {
    let pieces = [records(1, 1500), noise(100), records(1, 200)];
    let (mut file, checkpoints) = after_the_first(&pieces);
    file.seek(SeekFrom::Start(5_000)).unwrap();
    file.write_all(&[0; 100]).unwrap();
    let mut seeker = Seeker::new(Compression::Zlib).unwrap();
    let (content, first) = (pieces.concat(), pieces[0].len());
    let mut is_read = |from: usize, to: usize| {
        let found = seeker.read(&file, &checkpoints, from as u64, to as u64);
        found.is_ok_and(|found| found == content[from..to])
    };
    assert!(is_read(0, 10) && is_read(first, first + 100));
    assert!(!is_read(0, first) && is_read(first, content.len()));
    assert!(is_read(0, 10) && !is_read(first - 100, first));
}

/// Bytes that nothing refers to are not kept.
#[test]
fn a_window_has_what_is_referred_to() {
    let noise = noise(40_000);
    let pieces = [
        noise.clone(),
        noise[39_000..39_200].to_vec(),
        records(1, 50),
    ];
    let options = |flush_mode| DeflateOptions {
        flush_mode,
        ..DeflateOptions::default()
    };
    let file = stream_of(&options(2), Compression::Zlib, &pieces);
    let (_, checkpoints) = scanned(&file, Compression::Zlib, 40_000, 1 << 20);
    let checkpoint = checkpoints.at(40_000);
    let window = checkpoint.entry.window().unwrap();
    assert_eq!((checkpoint.output, window.len()), (40_000, 1_000));
    assert_eq!(window[..200], noise[39_000..39_200]);
    assert!(window[200..].iter().filter(|&&byte| byte != 0).count() < 200);
    // After a full flush nothing refers to what is before.
    let file = stream_of(&options(3), Compression::Zlib, &pieces);
    let (_, checkpoints) = scanned(&file, Compression::Zlib, 40_000, 1 << 20);
    assert_eq!(checkpoints.at(40_000).output, 40_000);
    assert_eq!(checkpoints.at(40_000).entry.window().unwrap(), b"");
}

#[test]
fn members_have_checkpoints_without_a_window() {
    let members: Vec<Vec<u8>> = (0..20).map(|seed| records(seed, 100)).collect();
    let pack =
        |content: &Vec<u8>| stream(&By::Us(6), Compression::Gzip, std::slice::from_ref(content));
    let file: Vec<u8> = members.iter().flat_map(pack).collect();
    let (_, checkpoints) = scanned(&file, Compression::Gzip, 8 * 1_000, 1 << 20);
    assert_eq!(checkpoints.len(), members.len() - 1);
    assert!(
        checkpoints
            .iter()
            .all(|checkpoint| checkpoint.entry == EntryPoint::Stream)
    );
    assert_eq!(checkpoints.to_bytes().unwrap().len(), 4 + 19 * PLACE);
}

/// Offsets that no file has would overflow.
#[test]
fn places_that_cannot_be_are_refused() {
    let stored = |output: u64, input: u64, kind| {
        let mut checkpoints = Checkpoints::default();
        let mut packer = Packer::new(LEVEL).unwrap();
        checkpoints.push(10, 10, STREAM, &[], &mut packer).unwrap();
        checkpoints
            .push(output, input, kind, &[], &mut packer)
            .unwrap();
        Checkpoints::from_bytes(&checkpoints.to_bytes().unwrap()).is_some()
    };
    assert!(stored(10, 11, STREAM) && stored(10, 11, 7) && stored(FARTHEST, FARTHEST, 0));
    assert!(!stored(FARTHEST + 1, 11, STREAM) && !stored(10, FARTHEST + 1, STREAM));
    assert!(!stored(9, 11, STREAM) && !stored(10, 10, STREAM) && !stored(10, 11, 9));
}

#[test]
fn the_beginning_needs_no_checkpoint() {
    let checkpoints = Checkpoints::default();
    assert!(checkpoints.is_empty());
    assert_eq!(checkpoints.at(5), ORIGIN);
    let (content, codec) = (records(1, 10), Compression::Zlib);
    let file = stream_of(
        &DeflateOptions::default(),
        codec,
        std::slice::from_ref(&content),
    );
    let mut seeker = Seeker::new(codec).unwrap();
    let found = seeker.read(&on_disk(&file), &checkpoints, 5, 20);
    assert_eq!(found.unwrap(), content[5..20]);
}
