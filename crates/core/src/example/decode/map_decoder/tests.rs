//! Which records go the short way, and how often it is tried for nothing. That both ways lead to the same
//! is what `tests/short_way.rs` is about.

use arrow_array::{Array, NullArray};

use super::*;
use crate::example::wire::push_varint;

/// A column that only counts.
#[derive(Default)]
struct Counts {
    rows: usize,
    /// How many of them came at once with others, and in how many groups.
    short: usize,
    groups: usize,
}

impl Column for Counts {
    const OVERHEAD: usize = 1;
    const MAP: u32 = message::FIRST;

    fn found(_name: &str, _row: usize) -> Self {
        Self::default()
    }

    fn begin(&mut self, _size: Outlook) {}

    fn has_row(&self, row: usize) -> bool {
        self.rows > row
    }

    fn set(&mut self, row: usize, _value: &[u8], _form: Form) -> Result<()> {
        self.rows = row + 1;
        Ok(())
    }

    fn set_rows(&mut self, row: usize, cells: ColumnSlices<'_>, _form: Form) -> Result<()> {
        let count = cells.iter().count();
        self.rows = row + count;
        self.short += count;
        self.groups += usize::from(count > 0);
        Ok(())
    }

    fn truncate(&mut self, rows: usize) {
        self.rows = rows;
    }

    fn fill_row(&mut self, row: usize) -> Result<()> {
        self.set(row, b"", Form::Any)
    }

    fn finish(&mut self, rows: usize) -> Result<(Field, ArrayRef), ArrowError> {
        let array = NullArray::new(rows);
        Ok((
            Field::new("", array.data_type().clone(), true),
            Arc::new(array),
        ))
    }
}

const NAMES: [&str; 8] = ["a", "b", "c", "longer than that", "d", "e", "f", "g"];

fn record<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let delimited =
        |tag: u8, bytes: &[u8]| [&[tag, u8::try_from(bytes.len()).unwrap()], bytes].concat();
    let feature = delimited(0x0a, &delimited(0x0a, b"value"));
    let entries = names.into_iter().flat_map(|name| {
        let entry = [delimited(0x0a, name.as_bytes()), delimited(0x12, &feature)];
        delimited(0x0a, &entry.concat())
    });
    let map: Vec<u8> = entries.collect();
    let mut record = vec![0x0a];
    push_varint(&mut record, map.len() as u64);
    [record, map].concat()
}

/// What has become of the first column's rows.
fn decode(records: &[Vec<u8>]) -> Counts {
    let columns = NAMES.map(|name| (name.to_owned(), Counts::default()));
    let mut decoder = Decoder::new(Some(columns.into_iter()), None);
    let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
    for group in [&records[..100], &records[100..]] {
        let row = if group.len() == 100 { 0 } else { 100 };
        assert!(decoder.decode_rows(group, row).is_ok());
    }
    let first = decoder.columns.swap_remove(0);
    assert_eq!(first.rows, records.len());
    first
}

#[test]
fn records_with_the_same_names_go_the_short_way() {
    let counts = decode(&vec![record(NAMES); 1000]);
    assert!(counts.short > 980, "{}", counts.short);
}

#[test]
fn so_do_records_that_lack_some_of_them_or_have_them_in_another_order() {
    let records: Vec<Vec<u8>> = (0..1000_usize)
        .map(|n| {
            let turned = (0..NAMES.len()).map(|place| NAMES[(place + n / 7) % NAMES.len()]);
            record(
                turned
                    .enumerate()
                    .filter(|(place, _)| n >> (place % 9) & 1 == 0)
                    .map(|it| it.1),
            )
        })
        .collect();
    let counts = decode(&records);
    assert!(counts.short > 980, "{}", counts.short);
}

#[test]
fn records_with_names_that_nobody_asked_for_do_so_when_these_come_again() {
    let mut names = NAMES.to_vec();
    names.insert(3, "unasked");
    let records: Vec<Vec<u8>> = (0..1000)
        .map(|n| {
            if n % 2 == 0 {
                record(names.clone())
            } else {
                record(NAMES)
            }
        })
        .collect();
    let counts = decode(&records);
    assert!(counts.short > 980, "{}", counts.short);
}

#[test]
fn among_unusual_records_the_short_way_is_rarely_tried_for_nothing() {
    let twice: Vec<&str> = NAMES.iter().copied().chain(["a"]).collect();
    for every in 1..8 {
        let records: Vec<Vec<u8>> = (0..1000)
            .map(|n| {
                if n % every == 0 {
                    record(twice.clone())
                } else {
                    record(NAMES)
                }
            })
            .collect();
        let counts = decode(&records);
        // A group costs at most one record that was looked at for nothing.
        assert!(
            counts.groups * WORTHWHILE <= records.len() + counts.short,
            "every {every}"
        );
        assert!(
            every < 5 || counts.short > 500,
            "every {every}: {}",
            counts.short
        );
    }
}
