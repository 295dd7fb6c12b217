//! The decoder beside an independent one: prost reads the bytes, [`rules`] says what columns they make.
//!
//! The fuzz targets (`fuzz/` at the root of the repository) and the test that replays their corpora
//! call the functions of this file, which panic where the two differ: in a value, a null, a type, or in
//! the record, the feature and the reason of a refusal. Where they may differ:
//!
//! - A varint of ten bytes with bits beyond the 64th: see [`input::without_excess_bits`]. If the two
//!   differ on such a record, they must agree on it without these bits.
//! - Groups in groups: the decoder follows 100, prost 99. Where prost finds them too deep, the decoder
//!   may say so too, or accept.
//! - Fields of a wrong wire type, and names that are not UTF-8: see [`fields`].
//! - Without a spec, a record that is broken where no column shows it: see [`whole`].

pub mod answer;
pub mod chunks;
mod fields;
pub mod input;
pub mod memory;
pub mod places;
mod rounding;
mod rules;
mod schema;
mod tensors;
mod whole;

use std::fmt::Debug;

use tfrecs_core::example::tensor::types::TensorType;
use tfrecs_core::example::{FeatureSpec, ListSpec, decode, decode_sequences, tensor};

use answer::{Fault, Features, Lists, Refusal};
use input::Column;
use memory::peak_of;

/// Compares what Examples are decoded to.
pub fn examples(data: &[u8]) {
    let (spec, rest) = input::features(data);
    let spec = spec.as_deref();
    let records = input::records(rest);
    for record in &records {
        schema::check_example(record);
    }
    if spec.is_none() && check_refusal(&records, whole::EXAMPLE, examples_decoded(&records, spec)) {
        return;
    }
    compare(
        &records,
        |records| examples_decoded(records, spec),
        |records| decided(rules::examples(records, spec)),
    );
}

/// Compares what `SequenceExample`s are decoded to.
pub fn sequences(data: &[u8]) {
    let (context, rest) = input::features(data);
    let (lists, rest) = input::lists(rest);
    let (context, lists) = (context.as_deref(), lists.as_deref());
    let records = input::records(rest);
    for record in &records {
        schema::check_sequence(record);
    }
    let is_inferred = context.is_none() && lists.is_none();
    let decoded = || sequences_decoded(&records, context, lists);
    if is_inferred && check_refusal(&records, whole::SEQUENCE, decoded()) {
        return;
    }
    compare(
        &records,
        |records| sequences_decoded(records, context, lists),
        |records| decided(rules::sequences(records, context, lists)),
    );
}

/// Compares what `TensorProto`s are decoded to.
pub fn tensors(data: &[u8]) {
    let (&number, rest) = data.split_first().unwrap_or((&0, data));
    let wanted = TensorType::of_number(number.into());
    let records = input::records(rest);
    compare(
        &records,
        |records| tensors_decoded(records, wanted),
        |records| tensors::theirs(records, wanted.map(|wanted| wanted.number)),
    );
}

/// Checks that records which are decoded are sound all through; true if one of them is not, and is refused.
fn check_refusal<T: Debug>(
    records: &[Vec<u8>],
    message: whole::Kind,
    ours: Result<T, Refusal>,
) -> bool {
    let read = |record: &Vec<u8>| whole::read(message, &input::without_excess_bits(record).0);
    let broken = records
        .iter()
        .position(|record| read(record) == Err(whole::Reason::Broken));
    match (broken, ours) {
        (Some(broken), Err(refusal)) => {
            let is_earlier = refusal.record <= broken;
            assert!(
                is_earlier,
                "{refusal:?}, but {broken} is broken: {records:02x?}"
            );
            refusal.record == broken
        }
        (Some(broken), Ok(found)) => panic!("{broken} is broken: {found:?}; {records:02x?}"),
        // Groups are judged by the decoder alone.
        (None, Err(refusal)) => {
            refusal.fault == Fault::Wire
                && records
                    .get(refusal.record)
                    .is_some_and(|record| read(record).is_err())
        }
        (None, Ok(_)) => false,
    }
}

/// Panics unless `ours` and `theirs` are the same, but for what the head of this file lists; `theirs`
/// is `None` where it leaves the question open.
fn compare<T: PartialEq + Debug>(
    records: &[Vec<u8>],
    ours: impl Fn(&[Vec<u8>]) -> T,
    theirs: impl Fn(&[Vec<u8>]) -> Option<T>,
) {
    let (found, expected) = (ours(records), theirs(records));
    if expected.is_none() || expected.as_ref() == Some(&found) {
        return;
    }
    let narrow = records
        .iter()
        .map(|record| input::without_excess_bits(record));
    let (narrow, any): (Vec<_>, Vec<_>) = narrow.unzip();
    let text = format!("ours: {found:?}, prost's: {expected:?}; {records:02x?}");
    assert!(any.contains(&true), "{text}");
    let (found, expected) = (ours(&narrow), theirs(&narrow));
    let agree = expected.is_none() || expected.as_ref() == Some(&found);
    assert!(
        agree,
        "ours: {found:?}, prost's: {expected:?}; {narrow:02x?}"
    );
}

/// An answer of the rules, unless it is that groups are too deep.
fn decided<T>(answer: Result<T, Refusal>) -> Option<Result<T, Refusal>> {
    match answer {
        Err(refusal) if refusal.fault == Fault::TooDeep => None,
        answer => Some(answer),
    }
}

fn examples_decoded(records: &[Vec<u8>], spec: Option<&[Column]>) -> Result<Features, Refusal> {
    let wanted = spec.map(|spec| spec.iter().map(Column::feature).collect::<Vec<_>>());
    let work = || decode(records.iter().map(Vec::as_slice), wanted.as_deref());
    let (peak, batch) = peak_of(work);
    check_memory(peak, records, spec.map(<[_]>::len));
    let batch = batch.map_err(|error| answer::refusal(&error))?;
    assert_eq!(batch.num_rows(), records.len());
    Ok(answer::features(&batch, spec))
}

fn sequences_decoded(
    records: &[Vec<u8>],
    context: Option<&[Column]>,
    lists: Option<&[Column]>,
) -> Result<(Features, Lists), Refusal> {
    let features: Option<Vec<FeatureSpec>> =
        context.map(|spec| spec.iter().map(Column::feature).collect());
    let steps: Option<Vec<ListSpec>> = lists.map(|spec| spec.iter().map(Column::list).collect());
    let slices = records.iter().map(Vec::as_slice);
    let (peak, batches) =
        peak_of(|| decode_sequences(slices, features.as_deref(), steps.as_deref()));
    let asked = context
        .zip(lists)
        .map(|(context, lists)| context.len() + lists.len());
    check_memory(peak, records, asked);
    let (context_batch, list_batch) = batches.map_err(|error| answer::refusal(&error))?;
    assert_eq!(context_batch.num_rows(), records.len());
    assert_eq!(list_batch.num_rows(), records.len());
    Ok((
        answer::features(&context_batch, context),
        answer::lists(&list_batch, lists),
    ))
}

fn tensors_decoded(records: &[Vec<u8>], wanted: Option<&'static TensorType>) -> tensors::Answer {
    let slices = records.iter().map(Vec::as_slice);
    let (peak, tensors) = peak_of(|| tensor::parse(slices, wanted, None));
    // The dimensions of a shape, of which there are few, are not counted.
    let limit = tensors::limit_of(records) + 8_000;
    assert!(
        peak <= limit,
        "{peak} bytes of memory, and {limit} are allowed"
    );
    tensors::answer(tensors, records.len())
}

/// The bytes that a record takes in a file beside its data.
const FRAME: usize = 16;

/// A column that was asked for takes some memory whatever there is in it.
const COLUMN: usize = 2_500;

fn check_memory(peak: usize, records: &[Vec<u8>], asked: Option<usize>) {
    let input: usize = records.iter().map(|record| record.len() + FRAME).sum();
    // A column that nobody asked for takes hundreds of bytes, and some thousands are always allowed.
    let constant = asked.map_or(10_000_000, |columns| 16_000 + COLUMN * columns);
    let limit = 32 * input + constant;
    assert!(
        peak <= limit,
        "{peak} bytes of memory for {input} bytes of input"
    );
}
