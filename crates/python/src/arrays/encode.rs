//! Columns → records.

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use tfrecs_core::Error;
use tfrecs_core::example::encode::Encoded;
use tfrecs_core::example::{Envelope, append_columns, encode_sequence_columns};
use tfrecs_core::record::Records;
use tfrecs_core::record::format::frame::{self, FOOTER, HEADER};

use crate::arrays::arrow::{self, ArrowBatches};
use crate::arrays::columns::PyColumns;
use crate::error::{Raise, wrong_type};
use crate::files::records::PyRecords;

/// Records come in the frames that they have in a file, so that writing them is one copy.
const FRAME: Envelope = Envelope {
    before: HEADER,
    after: FOOTER,
    seal: frame::seal,
};

/// Encodes columns as Examples: ours, or those of anything that speaks Arrow.
#[pyfunction]
pub fn encode_batch(columns: &Bound<'_, PyAny>) -> PyResult<PyRecords> {
    let py = columns.py();
    let batches = batches_of(columns)?;
    let encode = || {
        let mut all = Growing::default();
        batches.for_each(|batch| all.add(|out| append_columns(batch, &FRAME, out)))?;
        let (mut bytes, ends) = all.0;
        // Its length was a guess, mostly a good one; then it is better left as it is: memory that was
        // given back in part is not found again for the next batch.
        if bytes.len() < bytes.capacity() / 2 {
            bytes.shrink_to_fit();
        }
        Ok(Records::framed(bytes, ends))
    };
    py.detach(encode).map(PyRecords).or_raise(py)
}

/// Encodes the rows of two tables as `SequenceExample`s: the features of their contexts, and their
/// feature lists.
#[pyfunction]
pub fn encode_sequence_batch(
    context: &Bound<'_, PyAny>,
    lists: &Bound<'_, PyAny>,
) -> PyResult<PyRecords> {
    let py = context.py();
    let (context, lists) = (batches_of(context)?, batches_of(lists)?);
    let encode = || {
        let (context, lists) = (filled(context)?, filled(lists)?);
        if context.len() != lists.len() {
            return Err(Error::spec(
                "the context and the feature lists come in different numbers of batches: \
                 make each one table without chunks",
            ));
        }
        let mut all = Growing::default();
        for (context, lists) in context.iter().zip(&lists) {
            all.add(|out| {
                let (bytes, ends) = encode_sequence_columns(context, lists)?;
                let start = out.0.len();
                out.0.extend_from_slice(&bytes);
                out.1.extend(ends.iter().map(|end| start + end));
                Ok(())
            })?;
        }
        let (bytes, ends) = all.0;
        Ok(Records::contiguous(bytes, ends))
    };
    py.detach(encode).map(PyRecords).or_raise(py)
}

/// The batches that have rows: of a table without any, some producers make no batch, some one.
fn filled(batches: ArrowBatches) -> Result<Vec<RecordBatch>, Error> {
    let mut batches = batches.collect()?;
    batches.retain(|batch| batch.num_rows() > 0);
    Ok(batches)
}

fn batches_of(columns: &Bound<'_, PyAny>) -> PyResult<ArrowBatches> {
    match columns.cast::<PyColumns>() {
        Ok(ours) => Ok(ArrowBatches::One(ours.get().0.clone())),
        Err(_) => arrow::import(columns)?.ok_or_else(|| wrong_type("no columns")),
    }
}

/// The records of one batch after the other.
#[derive(Default)]
struct Growing(Encoded);

impl Growing {
    fn add(&mut self, append: impl FnOnce(&mut Encoded) -> Result<(), Error>) -> Result<(), Error> {
        let before = self.0.1.len() as u64;
        append(&mut self.0).map_err(|error| match error.record() {
            Some(row) => Error::new(error.kind().clone())
                .at_record(before + row)
                .at_feature(error.feature().unwrap_or_default()),
            None => error,
        })
    }
}
