//! Any columns: what is written a block at a time is what is written value by value.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "any number will do"
)]

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, DictionaryArray,
    FixedSizeListArray, Float32Array, Float64Array, Int16Array, Int64Array, LargeBinaryArray,
    LargeListArray, ListArray, NullArray, RecordBatchOptions,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::Schema;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// The same numbers for the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// Integers of all sizes, negative ones too.
    fn integer(&mut self) -> i64 {
        let bits = self.next() % 64;
        (self.next() >> bits).cast_signed()
    }

    /// A string, mostly short, often about as long as something is wide.
    fn string(&mut self) -> Vec<u8> {
        let length = match self.next() % 200 {
            0..100 => self.below(8),
            100..150 => 14 + self.below(5),
            150..195 => 90 + self.below(60),
            195..199 => 250 + self.below(10),
            _ => 16_370 + self.below(20),
        };
        let first = self.next();
        (0..length).map(|i| (first as usize + i) as u8).collect()
    }

    /// Which are there, if not all need to be.
    fn nulls(&mut self, count: usize, wanted: bool) -> Option<NullBuffer> {
        wanted.then(|| (0..count).map(|_| !self.next().is_multiple_of(3)).collect())
    }
}

/// `count` values of a kind, of which there are ten.
fn values(kind: usize, count: usize, nulls: bool, random: &mut Random) -> ArrayRef {
    let present = random.nulls(count, nulls);
    if let 4..=8 = kind {
        return strings(kind, count, present, random);
    }
    let integers: Vec<i64> = (0..count).map(|_| random.integer()).collect();
    let integers = integers.into_iter();
    match kind {
        0 => Arc::new(Int64Array::new(integers.collect(), present)),
        1 => Arc::new(Int16Array::new(
            integers.map(|i| i as i16).collect(),
            present,
        )),
        2 => Arc::new(Float32Array::new(
            integers.map(|i| i as f32).collect(),
            present,
        )),
        3 => Arc::new(Float64Array::new(
            integers.map(|i| i as f64).collect(),
            present,
        )),
        9 => Arc::new(BooleanArray::new(
            integers.map(|i| i % 2 == 0).collect(),
            present,
        )),
        _ => Arc::new(NullArray::new(count)),
    }
}

fn strings(kind: usize, count: usize, nulls: Option<NullBuffer>, random: &mut Random) -> ArrayRef {
    let strings: Vec<Vec<u8>> = (0..count).map(|_| random.string()).collect();
    let bytes = strings.concat().into();
    let lengths = strings.iter().map(Vec::len);
    match kind {
        4 => Arc::new(LargeBinaryArray::new(
            OffsetBuffer::from_lengths(lengths),
            bytes,
            nulls,
        )),
        5 => Arc::new(BinaryArray::new(
            OffsetBuffer::from_lengths(lengths),
            bytes,
            nulls,
        )),
        6 => Arc::new(BinaryViewArray::from_iter_values(&strings)),
        7 => {
            let words = strings
                .iter()
                .map(|s| ["", "a", "words"].get(s.len() % 4).copied());
            Arc::new(words.collect::<DictionaryArray<Int32Type>>())
        }
        _ => {
            let views = strings
                .iter()
                .map(|string| (string.len() % 3 > 0).then_some(string));
            Arc::new(views.collect::<BinaryViewArray>())
        }
    }
}

/// `count` rows: of a value each, or of lists of some layout.
fn column(layout: usize, kind: usize, count: usize, nulls: bool, random: &mut Random) -> ArrayRef {
    if layout == 0 {
        return values(kind, count, nulls, random);
    }
    // Values in lists are never null.
    let kind = if matches!(kind, 7 | 8 | 10) { 4 } else { kind };
    let present = random.nulls(count, nulls);
    if let 1..=4 = layout {
        let each = [0, 1, 2, 9][layout - 1];
        let values = values(kind, count * each, false, random);
        let item = Arc::new(Field::new("item", values.data_type().clone(), true));
        let each = i32::try_from(each).unwrap();
        let lists = FixedSizeListArray::try_new_with_length(item, each, values, present, count);
        return Arc::new(lists.unwrap());
    }
    let most = if layout == 5 { 4 } else { 40 };
    let lengths: Vec<usize> = (0..count).map(|_| random.below(most)).collect();
    let values = values(kind, lengths.iter().sum(), false, random);
    let item = Arc::new(Field::new("item", values.data_type().clone(), true));
    if random.next().is_multiple_of(2) {
        let offsets = OffsetBuffer::from_lengths(lengths);
        return Arc::new(ListArray::new(item, offsets, values, present));
    }
    let offsets = OffsetBuffer::from_lengths(lengths);
    Arc::new(LargeListArray::new(item, offsets, values, present))
}

/// A name, a layout, a kind of values, whether there are nulls.
type Shape = (usize, usize, usize, bool);

fn any_shape() -> impl Strategy<Value = Shape> {
    let name = prop_oneof![0..12_usize, 12..40_usize, 100..140_usize];
    (name, 0..7_usize, 0..11_usize, any::<bool>())
}

fn batch(shapes: &[Shape], count: usize, random: &mut Random) -> RecordBatch {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (index, &(name, layout, kind, nulls)) in shapes.iter().enumerate() {
        let array = column(layout, kind, count, nulls, random);
        let name = format!("{index}{}", "é".repeat(name / 2));
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options).unwrap()
}

fn plainly(batch: &RecordBatch) -> Encoded {
    let columns = columns_of(batch, Column::of).unwrap();
    let mut strings = Vec::new();
    encode_rows(batch.num_rows(), |encoder, row| {
        push_features(encoder, &columns, row, &mut strings);
    })
    .unwrap()
}

/// Counts the bytes in front, and turns those after.
const MARKED: Envelope = Envelope {
    before: 5,
    after: 2,
    seal: |bytes| {
        let length = u32::try_from(bytes.len()).unwrap();
        assert_eq!(bytes[..5], [0; 5]);
        assert_eq!(bytes[bytes.len() - 2..], [0; 2]);
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        *bytes.last_mut().unwrap() = 7;
    },
};

fn marked((bytes, ends): &Encoded, old: &[u8]) -> Encoded {
    let (mut out, mut new_ends, mut start) = (old.to_vec(), Vec::new(), 0);
    for &end in ends {
        let length = u32::try_from(end - start + 7).unwrap();
        out.extend(length.to_le_bytes());
        out.push(0);
        out.extend(&bytes[start..end]);
        out.extend([0, 7]);
        new_ends.push(out.len());
        start = end;
    }
    (out, new_ends)
}

proptest! {
    #[test]
    fn any_columns_are_what_they_are_value_by_value(
        shapes in vec(any_shape(), 0..8),
        count in prop_oneof![0..4_usize, 60..70_usize, 250..400_usize],
        cut in (0..3_usize, 0..3_usize),
        seed in 1..u64::MAX,
    ) {
        let whole = batch(&shapes, count, &mut Random(seed));
        let start = cut.0.min(count);
        let batch = whole.slice(start, count - start - cut.1.min(count - start));
        let expected = plainly(&batch);
        let columns = columns_of(&batch, Column::of).unwrap();
        for processor in Processor::all() {
            let mut out = Encoded::default();
            super::batch::blocks::encode(&columns, batch.num_rows(), &Envelope::NONE, processor, &mut out).unwrap();
            prop_assert!(out == expected, "{processor:?}");
            let mut out = (vec![1, 2, 3], Vec::new());
            super::batch::blocks::encode(&columns, batch.num_rows(), &MARKED, processor, &mut out).unwrap();
            prop_assert!(out == marked(&expected, &[1, 2, 3]), "{processor:?}, marked");
        }
    }

    #[test]
    fn integers_are_the_same_varints_on_every_processor(
        values in vec((any::<i64>(), 0..64_u32), 0..100),
    ) {
        let values: Vec<i64> = values.iter().map(|(value, bits)| value >> bits).collect();
        one_column(Arc::new(Int64Array::from(values)));
    }
}

/// Checks a column of values, and one of a single list of them.
fn one_column(values: ArrayRef) {
    let item = Arc::new(Field::new("item", values.data_type().clone(), false));
    let list = LargeListArray::new(
        item,
        OffsetBuffer::from_lengths([values.len()]),
        Arc::clone(&values),
        None,
    );
    for array in [values, Arc::new(list)] {
        let batch = RecordBatch::try_from_iter([("a", array)]).unwrap();
        let columns = columns_of(&batch, Column::of).unwrap();
        let expected = plainly(&batch);
        for processor in Processor::all() {
            let mut out = Encoded::default();
            super::batch::blocks::encode(
                &columns,
                batch.num_rows(),
                &Envelope::NONE,
                processor,
                &mut out,
            )
            .unwrap();
            assert!(out == expected, "{processor:?}: {batch:?}");
        }
    }
}

#[test]
fn integers_where_varints_change_their_length() {
    let around = |bit: u64| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1, !0 << bit];
    let values = (0..64).flat_map(around).map(u64::cast_signed);
    one_column(Arc::new(values.collect::<Int64Array>()));
}

#[test]
fn strings_and_names_of_every_length() {
    for name in 0..140 {
        let strings = (0..150).map(|length| vec![b'x'; length]);
        let array: ArrayRef = Arc::new(BinaryArray::from_iter_values(strings));
        let batch = RecordBatch::try_from_iter([("n".repeat(name), array)]).unwrap();
        let columns = columns_of(&batch, Column::of).unwrap();
        let mut out = Encoded::default();
        super::batch::blocks::encode(&columns, 150, &Envelope::NONE, Processor::found(), &mut out)
            .unwrap();
        assert!(out == plainly(&batch), "{name}");
    }
}

#[test]
fn what_was_there_stays_after_an_error() {
    let array: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_from_iter([("a", array)]).unwrap();
    let columns = columns_of(&batch, Column::of).unwrap();
    let mut out = (vec![1, 2], vec![2]);
    let processor = Processor::found();
    // More rows than there are: as if the column had shrunk.
    let error = super::batch::blocks::encode(&columns, 4, &Envelope::NONE, processor, &mut out)
        .unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
    assert_eq!(out, (vec![1, 2], vec![2]));
}
