//! Batches of any size are the records, however the bytes come.

use super::*;
use proptest::prelude::*;
use std::io::Cursor;

fn file_of(records: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for record in records {
        file.extend(frame::header(record.len() as u64));
        file.extend(record);
        file.extend(frame::footer(record));
    }
    file
}

/// Delivers a few bytes at a time, and sometimes an interruption.
struct Trickle(Cursor<Vec<u8>>, usize);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1.wrapping_mul(25).wrapping_add(7);
        if self.1.is_multiple_of(11) {
            return Err(IoKind::Interrupted.into());
        }
        let some = buffer.len().min(self.1 % 40_000 + 1);
        self.0.read(&mut buffer[..some])
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Batches that are kept stay as they are, whatever happens to the buffers of the others.
    #[test]
    fn batches_of_any_size_are_the_records(
        sizes in prop::collection::vec(prop_oneof![0usize..50, 0usize..200_000], 0..60),
        batch in 1usize..20,
        keep in prop::collection::vec(any::<bool>(), 60),
        seed in any::<usize>(),
    ) {
        let records: Vec<Vec<u8>> =
            sizes.iter().enumerate().map(|(i, &size)| vec![u8::try_from(i).unwrap(); size]).collect();
        let input = Trickle(Cursor::new(file_of(&records)), seed);
        let mut reader = RecordReader::new(Box::new(input), ReadOptions::default()).unwrap();
        let (mut kept, mut seen) = (Vec::new(), 0);
        loop {
            let found = reader.read_batch(batch).unwrap();
            if found.is_empty() {
                break;
            }
            prop_assert!(found.iter().eq(records[seen..seen + found.len()].iter()));
            if keep[seen] {
                kept.push((seen, found.clone()));
            }
            seen += found.len();
        }
        prop_assert_eq!(seen, records.len());
        for (first, batch) in kept {
            prop_assert!(batch.iter().eq(records[first..first + batch.len()].iter()));
        }
    }
}

/// So long that it is not copied when its buffer grows.
const HUGE: usize = 100 << 20;

#[test]
fn a_huge_batch_can_be_given_back_and_read_again() {
    // The first one leaves room in front of the batch; one is larger than all others together.
    let sizes = [700_000, 5, 3 << 20, 20 << 20, HUGE, 0, 9];
    let records: Vec<Vec<u8>> = (1_u8..)
        .zip(sizes)
        .map(|(byte, size)| vec![byte; size])
        .collect();
    let input = Box::new(Cursor::new(file_of(&records)));
    let mut reader = RecordReader::new(input, ReadOptions::default()).unwrap();
    assert_eq!(reader.next_record().unwrap().unwrap(), records[0]);
    for reads in [1, 20, 60, 1000] {
        let mut batch = reader.begin_batch(usize::MAX);
        let mut more = || reader.extend_batch(&mut batch).unwrap();
        let done = (0..reads).take_while(|_| more()).count();
        assert_eq!(done == reads, reads < 1000);
        reader.cancel_batch(&batch);
        assert_eq!(reader.record(), 1);
    }
    let all = reader.read_batch(5).unwrap();
    assert!(all.iter().eq(&records[1..6]));
    assert!(reader.read_batch(5).unwrap().iter().eq(&records[6..]));
}

#[test]
fn what_is_given_back_is_gone_through_in_pieces() {
    let records = vec![vec![7; 1 << 20]; 20];
    let input = Box::new(Cursor::new(file_of(&records)));
    let mut reader = RecordReader::new(input, ReadOptions::default()).unwrap();
    let mut batch = reader.begin_batch(usize::MAX);
    while reader.extend_batch(&mut batch).unwrap() {}
    reader.cancel_batch(&batch);
    let mut batch = reader.begin_batch(usize::MAX);
    let mut steps = 1;
    while reader.extend_batch(&mut batch).unwrap() {
        steps += 1;
    }
    assert!(steps >= 5, "{steps}");
    assert!(reader.finish_batch(batch).iter().eq(&records));
}
