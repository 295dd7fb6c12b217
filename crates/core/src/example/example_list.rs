//! Lists of examples in one record: `ExampleListWithContext`, as TensorFlow Ranking writes them.
//!
//! ```text
//! ExampleListWithContext { repeated Example examples = 1; Example context = 2; }
//! ```
//!
//! The examples stay where they are: what is known of each is its place. The contexts are copied,
//! because one that comes in several pieces is those pieces joined.

use std::ops::Range;

use super::message::merge;
use super::record_error::RecordError;
use super::record_error::for_each_row;
use super::wire::{Wire, WireError, WireType};
use crate::example::decode::values::as_offset;

const EXAMPLES: u32 = 1;
const CONTEXT: u32 = 2;

/// The examples and the contexts of some lists.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// Where in its list each example lies, those of the first list first.
    pub examples: Vec<Range<usize>>,
    /// Where the examples of each list end, with a leading 0.
    pub row_splits: Vec<i64>,
    /// The contexts, one after the other.
    pub contexts: Vec<u8>,
    /// Where the context of each list ends.
    pub context_ends: Vec<usize>,
}

impl Lists {
    /// For each example the place of its list, and where in that list it lies.
    #[must_use]
    pub fn places(&self) -> impl ExactSizeIterator<Item = (usize, Range<usize>)> {
        let mut list = 0;
        self.examples.iter().enumerate().map(move |(n, place)| {
            while self
                .row_splits
                .get(list + 1)
                .is_some_and(|&end| end <= as_offset(n))
            {
                list += 1;
            }
            (list, place.clone())
        })
    }
}

/// Splits serialized lists into their examples and their contexts.
///
/// # Errors
/// Bytes that are no protobuf message.
pub fn split_lists<'a>(
    records: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
) -> Result<Lists, RecordError> {
    // Counted first: a vector that doubles would take more memory than small examples justify.
    let mut count = 0;
    for_each_row(records.clone(), |record, _| {
        Ok(for_each_part(record, |part| {
            count += usize::from(matches!(part, Part::Example(_)));
            Ok(())
        })?)
    })?;
    let mut lists = Lists {
        examples: Vec::with_capacity(count),
        row_splits: Vec::with_capacity(records.len() + 1),
        contexts: Vec::new(),
        context_ends: Vec::with_capacity(records.len()),
    };
    lists.row_splits.push(0);
    for_each_row(records, |record, _| {
        let mut context = None;
        for_each_part(record, |part| match part {
            Part::Example(place) => {
                lists.examples.push(place);
                Ok(())
            }
            Part::Context(bytes) => merge(&mut context, bytes),
        })?;
        lists
            .contexts
            .extend_from_slice(&context.unwrap_or_default());
        lists.row_splits.push(as_offset(lists.examples.len()));
        lists.context_ends.push(lists.contexts.len());
        Ok(())
    })?;
    Ok(lists)
}

enum Part<'a> {
    Example(Range<usize>),
    /// A context, or a piece of it.
    Context(&'a [u8]),
}

fn for_each_part<'a>(
    record: &'a [u8],
    mut visit: impl FnMut(Part<'a>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let mut wire = Wire(record);
    while !wire.is_empty() {
        match wire.tag()? {
            (EXAMPLES, WireType::Bytes) => {
                let length = wire.bytes()?.len();
                let end = record.len() - wire.0.len();
                visit(Part::Example(end - length..end))?;
            }
            (CONTEXT, WireType::Bytes) => visit(Part::Context(wire.bytes()?))?,
            (number, wire_type) => wire.skip(number, wire_type)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(records: &[&[u8]]) -> Lists {
        split_lists(records.iter().copied()).unwrap()
    }

    #[test]
    fn the_examples_keep_their_places_and_the_pieces_of_a_context_are_joined() {
        let lists = split(&[
            b"\x12\x02\x08a\x0a\x02bc\x12\x02\x08d\x1a\x01x\x0a\x00",
            b"",
            b"\x0a\x01e",
        ]);
        assert_eq!(lists.examples, [6..8, 17..17, 2..3]);
        assert_eq!(lists.row_splits, [0, 2, 2, 3]);
        assert_eq!(lists.contexts, b"\x08a\x08d");
        assert_eq!(lists.context_ends, [4, 4, 4]);
        let places: Vec<_> = lists.places().collect();
        assert_eq!(places, [(0, 6..8), (0, 17..17), (2, 2..3)]);
    }

    #[test]
    fn two_pieces_of_a_context_that_are_whole_only_together_are_refused() {
        let halves: [&[u8]; 1] = [b"\x12\x02\x0a\x01\x12\x01a"];
        let error = split_lists(halves.into_iter()).unwrap_err();
        assert_eq!(error.index, Some(0));
    }

    #[test]
    fn a_broken_list_is_an_error_with_its_place() {
        let records: [&[u8]; 2] = [b"\x0a\x00", b"\x0a\x05abc"];
        let error = split_lists(records.into_iter()).unwrap_err();
        assert_eq!(error.index, Some(1));
        assert!(error.error.to_string().contains("announces more bytes"));
    }
}
