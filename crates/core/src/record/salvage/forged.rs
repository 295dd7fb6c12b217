//! Tests: a hundred thousand forged headers cost a few times what reading does, as bytes are counted, not time.

use super::{Compression, Piece, Salvage, SalvageOptions};
use crate::record::format::frame;
use crate::record::salvage::file_view::work;

const HEADERS: usize = 100_000;

/// A strict reader reads each byte, and sums it.
const STRICT: u64 = 2;

/// All bytes read, searched and summed are at most that many times those of a strict reader.
const MOST: u64 = 5;

fn framed(record: &[u8]) -> Vec<u8> {
    let header = frame::header(record.len() as u64);
    [&header, record, &frame::footer(record)].concat()
}

/// Numbers that look like any.
fn numbers() -> impl FnMut(u64) -> u64 {
    let mut state = 1_u64;
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    }
}

/// Headers that claim these lengths, and noise between them.
fn forged(gap: usize, mut length: impl FnMut(&mut dyn FnMut(u64) -> u64) -> u64) -> Vec<u8> {
    let mut number = numbers();
    let noise: Vec<u8> = (0..gap)
        .map(|_| 1 + u8::try_from(number(255)).unwrap())
        .collect();
    let each = |_| [&frame::header(length(&mut number))[..], &noise].concat();
    (0..HEADERS).flat_map(each).collect()
}

/// Any header claims any length.
fn scattered() -> Vec<u8> {
    forged(148, |number| number(16_000_000))
}

/// Each header claims to end at another.
fn chained() -> Vec<u8> {
    forged(148, |number| 160 * (1 + number(49)) - 16)
}

/// The bytes looked at, beside those of the file, to salvage one that consists of records, the second of which has a
/// header that says nothing, or wrong data.
fn cost(records: &[Vec<u8>], damage_header: bool) -> (u64, u64) {
    let mut file: Vec<u8> = records.iter().flat_map(|it| framed(it)).collect();
    let second = records[0].len() + 16;
    for place in if damage_header { 2..7 } else { 30..31 } {
        file[second + place] ^= 0x5a;
    }
    let place = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(place.path(), &file).unwrap();
    let options = SalvageOptions {
        compression: Some(Compression::None),
        ..SalvageOptions::default()
    };
    let before = work::done();
    let mut salvage = Salvage::open(place.path(), options).unwrap();
    let mut found = 0;
    while let Some(piece) = salvage.next_piece(4096).unwrap() {
        found += match piece {
            Piece::Records(records) => records.len(),
            Piece::Skipped(_) => 0,
        };
    }
    let spent = work::done() - before;
    assert!(found + 1 >= records.len(), "{found} of {}", records.len());
    (spent, file.len() as u64)
}

#[test]
fn forged_headers_cost_little() {
    let first = b"first".to_vec();
    let parts = |whole: Vec<u8>| whole.chunks(16_000).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let shapes = [
        ("scattered", vec![scattered()]),
        ("chained", vec![chained()]),
        ("spread", parts(scattered())),
        ("chained and spread", parts(chained())),
    ];
    for (shape, records) in shapes {
        let records = [vec![first.clone()], records].concat();
        for damage_header in [false, true] {
            let (spent, size) = cost(&records, damage_header);
            let strict = STRICT * size;
            assert!(
                spent <= MOST * strict,
                "{shape}, {damage_header}: {spent} of {strict}"
            );
        }
    }
}

/// Records that are damaged side by side do not each look at those that follow.
#[test]
fn many_damaged_records_cost_little() {
    const RECORDS: usize = 20_000;
    let record = framed(&[7; 84]);
    let mut file = record.repeat(RECORDS);
    for place in (12..file.len()).step_by(record.len()) {
        file[place + 40] ^= 0x5a;
    }
    let place = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(place.path(), &file).unwrap();
    let options = SalvageOptions {
        compression: Some(Compression::None),
        ..SalvageOptions::default()
    };
    let before = work::done();
    let mut salvage = Salvage::open(place.path(), options).unwrap();
    let mut skipped = 0;
    while let Some(piece) = salvage.next_piece(4096).unwrap() {
        skipped += usize::from(matches!(piece, Piece::Skipped(_)));
    }
    let (spent, strict) = (work::done() - before, STRICT * file.len() as u64);
    assert_eq!(skipped, RECORDS);
    assert!(spent <= 4 * MOST * strict, "{spent} of {strict}");
}
