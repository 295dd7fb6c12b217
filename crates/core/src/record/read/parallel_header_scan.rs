//! All records of an uncompressed file by their headers, on several threads.
//!
//! The file is cut into segments. In each a thread guesses where a record begins, by a header whose checksum
//! holds, and continues from there. A guess counts only if the segments before arrive exactly at a record that
//! was found from it: what looks like records inside of a record costs time, and never makes a difference.

use std::fs::File;
use std::sync::Arc;

use crate::error::Result;
use crate::record::format::frame::HEADER;
use crate::record::read::header_scan::{LARGE, Next, Walk, whole_record};
use crate::record::storage::read_at::fill;
use crate::runtime::ordered_workers::Ordered;

/// How long a segment is.
const SEGMENT: u64 = 8 << 20;

/// How many records are passed before the scan decides whether to use threads.
const FIRST: u64 = 64;

/// A guess that leads over this many records is worth following.
const PLAUSIBLE: usize = 4;

/// After how many shorter guesses a segment is left to the thread that comes from before it.
const GUESSES: usize = 16;

/// How much is looked through at once.
const WINDOW: usize = 64 << 10;

/// The result of a header scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// End of the last record.
    pub end: u64,
    /// The number of records.
    pub records: u64,
    /// What follows the records; only [`Next::End`] is the end of the file.
    pub next: Next,
}

/// Calls `each` with the place where each record of `file` begins, in order, up to the end of the file, what is no
/// whole record, or one of more than `most` bytes.
///
/// # Errors
/// Any I/O error, with record and offset; an interrupt; a thread that cannot be started.
pub fn each_start(
    file: &Arc<File>,
    size: u64,
    threads: usize,
    most: u64,
    each: impl FnMut(u64),
) -> Result<Passed> {
    each_up_to(file, size, threads, SEGMENT, most, each)
}

/// As [`each_start`], in segments of that many bytes, of records of any length.
///
/// # Errors
/// As for [`each_start`].
pub fn each_start_in(
    file: &Arc<File>,
    size: u64,
    threads: usize,
    segment: u64,
    each: impl FnMut(u64),
) -> Result<Passed> {
    each_up_to(file, size, threads, segment, u64::MAX, each)
}

fn each_up_to(
    file: &Arc<File>,
    size: u64,
    threads: usize,
    segment: u64,
    most: u64,
    each: impl FnMut(u64),
) -> Result<Passed> {
    let walk = Walk::new(Arc::clone(file), size, 0, 0).up_to(most);
    let mut joint = Joint { walk, each };
    let next = joint.hop_up_to(FIRST)?;
    let (at, records) = (joint.walk.offset(), joint.walk.record());
    let is_small = size - at <= 2 * segment || at / records.max(1) >= LARGE;
    let next = match next {
        Next::Record(_) if threads < 2 || is_small => joint.hop_up_to(u64::MAX)?,
        Next::Record(_) => joint.follow(guesses(file, size, at, threads, segment, most)?)?,
        other => other,
    };
    Ok(Passed {
        end: joint.walk.offset(),
        records: joint.walk.record(),
        next,
    })
}

/// What was found in a segment from where a record seems to begin: where records begin, and where the last
/// of them ends.
struct Guess {
    starts: Vec<u64>,
    end: u64,
}

fn guesses(
    file: &Arc<File>,
    size: u64,
    at: u64,
    threads: usize,
    segment: u64,
    most: u64,
) -> Result<Ordered<Result<Guess>>> {
    let segments = usize::try_from((size - at) / segment + 1).unwrap_or(usize::MAX);
    let (threads, mut next) = (threads.min(segments), at);
    let source = move || {
        let begin = next;
        next = next.saturating_add(segment);
        (begin < size).then(|| (begin, next.min(size)))
    };
    Ordered::start(threads, 2 * threads, source, || {
        let file = Arc::clone(file);
        move |(begin, end)| guess(&file, size, begin, end, most)
    })
}

/// Guesses the records of a segment. An I/O error gives no guess: the scan reads the segment again if it needs it.
fn guess(file: &Arc<File>, size: u64, begin: u64, end: u64, most: u64) -> Result<Guess> {
    match read_guess(file, size, begin, end, most) {
        Err(error) if error.is_interrupt() => Err(error),
        Ok(Some(guess)) => Ok(guess),
        Ok(None) | Err(_) => Ok(Guess {
            starts: Vec::new(),
            end,
        }),
    }
}

fn read_guess(
    file: &Arc<File>,
    size: u64,
    begin: u64,
    end: u64,
    most: u64,
) -> Result<Option<Guess>> {
    let mut from = begin;
    for _ in 0..GUESSES {
        let Some(start) = find_header(file, size, from, end)? else {
            break;
        };
        let mut walk = Walk::new(Arc::clone(file), size, start, 0).up_to(most);
        let mut starts = Vec::new();
        while walk.offset() < end {
            let start = walk.offset();
            let Next::Record(_) = walk.hop()? else {
                break;
            };
            starts.push(start);
        }
        let end_of_walk = walk.offset();
        if starts.len() >= PLAUSIBLE || end_of_walk >= end {
            return Ok(Some(Guess {
                starts,
                end: end_of_walk,
            }));
        }
        from = start + 1;
    }
    Ok(None)
}

/// The first place from `begin` on, before `end`, that looks like the header of a record.
fn find_header(file: &File, size: u64, begin: u64, end: u64) -> Result<Option<u64>> {
    let mut window = vec![0; WINDOW];
    let mut at = begin;
    while at < end {
        let filled = fill(file, &mut window, at)?;
        let some = window.get(..filled).unwrap_or_default();
        let is_header = |(place, header): &(u64, &[u8])| {
            let header: Option<&[u8; HEADER]> = header.first_chunk();
            header.is_some_and(|header| whole_record(header, *place, size).is_some())
        };
        let found = (at..end).zip(some.windows(HEADER)).find(is_header);
        if let Some((place, _)) = found {
            return Ok(Some(place));
        }
        // The last bytes may be the beginning of a header.
        match (filled as u64).checked_sub(HEADER as u64 - 1) {
            None | Some(0) => break,
            Some(step) => at += step,
        }
    }
    Ok(None)
}

/// Goes from record to record, or takes over what others have found.
struct Joint<F> {
    walk: Walk,
    each: F,
}

impl<F: FnMut(u64)> Joint<F> {
    fn hop(&mut self) -> Result<Next> {
        let start = self.walk.offset();
        let next = self.walk.hop()?;
        if let Next::Record(_) = next {
            (self.each)(start);
        }
        Ok(next)
    }

    /// Scans up to `records` records in total; returns what came last.
    fn hop_up_to(&mut self, records: u64) -> Result<Next> {
        loop {
            match self.hop()? {
                Next::Record(_) if self.walk.record() < records => {}
                other => return Ok(other),
            }
        }
    }

    fn follow(&mut self, mut guesses: Ordered<Result<Guess>>) -> Result<Next> {
        while let Some(guess) = guesses.next_result()? {
            if let Some(stop) = self.take_over(&guess?)? {
                return Ok(stop);
            }
        }
        self.hop_up_to(u64::MAX)
    }

    /// Continues to the end of what was guessed: as it was guessed, from the first place on that both come to.
    /// Where it does not continue: what comes there.
    fn take_over(&mut self, guess: &Guess) -> Result<Option<Next>> {
        let mut starts = guess.starts.as_slice();
        loop {
            let at = self.walk.offset();
            if at >= guess.end {
                return Ok(None);
            }
            while let [first, rest @ ..] = starts
                && *first < at
            {
                starts = rest;
            }
            if starts.first() == Some(&at) {
                for &start in starts {
                    (self.each)(start);
                }
                self.walk.skip_to(guess.end, starts.len() as u64);
                return Ok(None);
            }
            match self.hop()? {
                Next::Record(_) => {}
                other => return Ok(Some(other)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::format::frame;
    use proptest::prelude::*;
    use std::io::Write;

    fn framed(record: &[u8]) -> Vec<u8> {
        let header = frame::header(record.len() as u64);
        [&header, record, &frame::footer(record)].concat()
    }

    /// Records that hold records, or what looks like the beginning of one.
    fn any_record() -> impl Strategy<Value = Vec<u8>> {
        let plain = prop::collection::vec(any::<u8>(), 0..300);
        let forged = (0_u64..2000).prop_map(|length| frame::header(length).to_vec());
        let leaf = prop_oneof![3 => plain, 1 => forged];
        leaf.prop_recursive(3, 30, 12, |inner| {
            let parts = prop::collection::vec((inner, any::<bool>()), 1..12);
            parts.prop_map(|parts| {
                let bytes = |(part, is_framed): &(Vec<u8>, bool)| {
                    if *is_framed {
                        framed(part)
                    } else {
                        part.clone()
                    }
                };
                parts.iter().flat_map(bytes).collect()
            })
        })
    }

    fn found(bytes: &[u8], threads: usize, segment: u64) -> (Vec<u64>, u64, u64) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let (file, size, mut starts) = (Arc::new(file), bytes.len() as u64, Vec::new());
        let each = |start| starts.push(start);
        let passed = each_start_in(&file, size, threads, segment, each).unwrap();
        assert_eq!(passed.next == Next::End, passed.end == size);
        (starts, passed.end, passed.records)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// The same as from record to record on one thread, whatever the records hold, and wherever the file ends.
        #[test]
        fn threads_make_no_difference(
            records in prop::collection::vec(any_record(), 1..40),
            segment in 1_u64..5000,
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let mut bytes = Vec::new();
            for _ in 0..3 {
                // Enough of them to come to the segments.
                bytes.extend(records.iter().flat_map(|record| framed(record)));
                (0..30).for_each(|_| bytes.extend(framed(b"short")));
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            let (mut starts, mut at) = (Vec::new(), 0);
            while let Some(header) = bytes[at..].first_chunk()
                && let Some((_, end)) = whole_record(header, at as u64, bytes.len() as u64)
            {
                starts.push(at as u64);
                at = usize::try_from(end).unwrap();
            }
            let expected = (starts.clone(), at as u64, starts.len() as u64);
            for threads in [1, 2, 3] {
                prop_assert_eq!(&found(&bytes, threads, segment), &expected);
            }
        }
    }
}
