//! Features and columns → records.

use std::collections::HashSet;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Field;

use self::columns::Column;
use self::field::PULSE_BYTES;
use self::steps::StepsColumn;
use crate::error::{Error, Result, counted};
use crate::example::encode::batch::cpu::Processor;
use crate::runtime::interrupt::Pulse;

#[cfg(test)]
mod agreement;
pub(crate) mod batch;
mod columns;
mod encoder;
pub(crate) mod field;
mod list_encoder;
mod steps;
mod strings;

pub use encoder::ExampleEncoder;
pub use field::{Encoded, Envelope, FeatureValues};
pub use list_encoder::ListEncoder;

/// Encodes every row of `batch` as an Example. A null is a missing feature.
///
/// # Errors
/// Columns of a type that no feature has, nulls inside lists, and numbers out of range, each with
/// the column and the row.
pub fn encode_columns(batch: &RecordBatch) -> Result<Encoded> {
    let mut out = Encoded::default();
    append_columns(batch, &Envelope::NONE, &mut out)?;
    Ok(out)
}

/// Appends every row of `batch` as an Example in an envelope to `out`, which after an error is as it
/// was. The ends are those of the envelopes.
///
/// # Errors
/// As for [`encode_columns`].
pub fn append_columns(batch: &RecordBatch, envelope: &Envelope, out: &mut Encoded) -> Result<()> {
    let columns = columns_of(batch, Column::of)?;
    let processor = Processor::found();
    batch::blocks::encode(&columns, batch.num_rows(), envelope, processor, out)
}

/// Encodes every row of `context` and the same row of `lists` as a `SequenceExample`. A column of
/// `lists` has lists of steps; a null is a missing feature or feature list.
///
/// # Errors
/// Those of [`encode_columns`], and tables of different lengths.
pub fn encode_sequence_columns(context: &RecordBatch, lists: &RecordBatch) -> Result<Encoded> {
    let rows = context.num_rows();
    if rows != lists.num_rows() {
        return Err(Error::spec(format!(
            "the context has {}, and the feature lists have {}",
            counted(rows as u64, "row"),
            lists.num_rows()
        )));
    }
    let columns = columns_of(context, Column::of)?;
    let lists = columns_of(lists, StepsColumn::of)?;
    let mut strings = Vec::new();
    encode_rows(rows, |encoder, row| {
        push_features(encoder, &columns, row, &mut strings);
        for list in &lists {
            if list.visit_steps(row, &mut strings, |values| encoder.step(values)) {
                encoder.feature_list(list.name());
            }
        }
    })
}

fn push_features<'a>(
    encoder: &mut ExampleEncoder,
    columns: &[Column<'a>],
    row: usize,
    strings: &mut Vec<&'a [u8]>,
) {
    for column in columns {
        if let Some(values) = column.row(row, strings) {
            encoder.feature(column.name(), values);
        }
    }
}

/// Every column of `batch`, looked into.
fn columns_of<'a, C>(
    batch: &'a RecordBatch,
    look: impl Fn(&'a Field, &'a ArrayRef) -> Result<C>,
) -> Result<Vec<C>> {
    let mut columns = Vec::with_capacity(batch.num_columns());
    let mut names = HashSet::new();
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        if !names.insert(field.name()) {
            let error = Error::spec("two columns have this name; of a record only one would count");
            return Err(error.at_feature(field.name()));
        }
        columns.push(look(field, array)?);
    }
    Ok(columns)
}

fn encode_rows(
    rows: usize,
    mut push_row: impl FnMut(&mut ExampleEncoder, usize),
) -> Result<Encoded> {
    let mut encoder = ExampleEncoder::default();
    let (mut out, mut ends) = (Vec::new(), Vec::with_capacity(rows));
    let (mut pulse, mut asked_at) = (Pulse::start(), 0);
    for row in 0..rows {
        if out.len() - asked_at > PULSE_BYTES {
            asked_at = out.len();
            pulse.check()?;
        }
        push_row(&mut encoder, row);
        encoder.finish_into(&mut out);
        ends.push(out.len());
    }
    Ok((out, ends))
}
