//! Lists of examples and events: any bytes are read or refused, and sound ones are read right.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that fails may panic, its helpers too"
)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use proptest::prelude::*;
use tfrecs_core::example::event::scalars::{EventDecoder, Wanted};
use tfrecs_core::example::example_list::split_lists;
use tfrecs_core::record::{Origin, Records};
use tfrecs_core::{Category, Error};

mod wire_bytes;
use wire_bytes::delimited;

fn list_of(examples: &[Vec<u8>], context: Option<&[u8]>) -> Vec<u8> {
    let mut record: Vec<u8> = examples
        .iter()
        .flat_map(|example| delimited(0x0a, example))
        .collect();
    record.extend(
        context
            .into_iter()
            .flat_map(|context| delimited(0x12, context)),
    );
    record
}

fn event(step: u8, tag: &str, value: f32) -> Vec<u8> {
    let number = [&[0x15], &value.to_le_bytes()[..]].concat();
    let value = [delimited(0x0a, tag.as_bytes()), number].concat();
    let summary = delimited(0x2a, &delimited(0x0a, &value));
    [&[0x10, step], &summary[..]].concat()
}

fn check_events(record: &[u8]) {
    let sound = event(7, "loss", 0.5);
    let mut decoder = EventDecoder::new(Wanted::default());
    if let Err(error) = decoder.push([&sound[..], record].into_iter()) {
        assert_eq!(error.index, Some(1));
        assert_eq!(error.error.category(), Category::Parse);
    }
    let columns = decoder.take().unwrap();
    assert_eq!(columns.column(1).as_primitive::<Int64Type>().value(0), 7);
    assert!((columns.column(4).as_primitive::<Float64Type>().value(0) - 0.5).abs() < 1e-9);
}

fn check_lists(record: &[u8]) {
    match split_lists([record, record].into_iter()) {
        Ok(lists) => {
            assert_eq!(lists.row_splits.len(), 3);
            assert!(lists.places().all(|(_, place)| place.end <= record.len()));
        }
        Err(error) => {
            assert_eq!(error.index, Some(0));
            assert_eq!(error.error.category(), Category::Parse);
        }
    }
}

#[test]
fn records_of_another_kind_are_no_events() {
    let example = delimited(0x0a, &delimited(0x0a, b"feature"));
    let mut decoder = EventDecoder::new(Wanted::default());
    let error = decoder.push([&b""[..], &example].into_iter()).unwrap_err();
    assert_eq!(error.index, Some(1));
    assert!(error.error.to_string().starts_with("no event: "));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        check_events(&bytes);
        check_lists(&bytes);
    }

    #[test]
    fn damaged_messages_are_read_or_refused(
        place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        for (mut record, check) in [
            (event(3, "tag", 1.5), check_events as fn(&[u8])),
            (list_of(&[b"one".to_vec(), vec![]], Some(b"context")), check_lists),
        ] {
            let at = place.index(record.len());
            record[at] = byte;
            if cut {
                record.truncate(at);
            }
            check(&record);
        }
    }

    #[test]
    fn lists_are_taken_apart(
        lists in prop::collection::vec((
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..4),
            prop::option::of(prop::collection::vec(any::<u8>(), 0..9)),
        ), 0..5),
    ) {
        let records: Vec<Vec<u8>> = lists
            .iter()
            .map(|(examples, context)| list_of(examples, context.as_deref()))
            .collect();
        let records: Records = records.iter().map(Vec::as_slice).collect();
        let split = split_lists(records.iter()).unwrap();
        let examples = records.parts(split.places());
        prop_assert!(examples.iter().eq(lists.iter().flat_map(|(examples, _)| examples)));
        let contexts = records.remade(split.contexts, &split.context_ends);
        let expected = lists.iter().map(|(_, context)| context.as_deref().unwrap_or_default());
        prop_assert!(contexts.iter().eq(expected));
    }
}

fn text_of(records: &Records, index: usize) -> String {
    records.locate(index, Error::content("wrong")).to_string()
}

#[test]
fn an_error_in_a_part_names_the_record() {
    let bytes = Arc::new(b"............abc....".to_vec());
    let span = |number| tfrecs_core::record::Span {
        start: 12,
        len: 3,
        number,
        file: 0,
    };
    let origin = Origin {
        path: Some(Arc::from(std::path::Path::new("file"))),
        buffer_offset: Some(0),
    };
    let records = Records::new(bytes, vec![span(40), span(41)], [origin]);
    assert_eq!(text_of(&records, 1), "file: record 41 at byte 0: wrong");
    let parts = records.parts([(1, 0..2), (1, 2..9), (5, 0..1), (0, 7..9)].into_iter());
    assert_eq!(
        parts.iter().collect::<Vec<_>>(),
        [&b"ab"[..], b"c", b"", b""]
    );
    assert_eq!(text_of(&parts, 1), "file: record 41: wrong");
    let remade = records.remade(b"xyz".to_vec(), &[1, 3]);
    assert_eq!(remade.iter().collect::<Vec<_>>(), [&b"x"[..], b"yz"]);
    assert_eq!(text_of(&remade, 0), "file: record 40: wrong");

    let plain: Records = [&b"abc"[..], b"def"].into_iter().collect();
    let parts = plain.slice(1..2).parts([(0, 1..2)].into_iter());
    assert_eq!(parts.get(0), Some(&b"e"[..]));
    assert_eq!(text_of(&parts, 0), "record 0: wrong");
}
