//! Columns → records.

use pyo3::prelude::*;
use tfrecs_core::Error;
use tfrecs_core::example::encode_columns;
use tfrecs_core::record::Records;

use crate::arrow::{self, Batches};
use crate::columns::PyColumns;
use crate::error::{Raise, wrong_type};
use crate::records::PyRecords;

/// Encodes columns as Examples: ours, or those of anything that speaks Arrow.
#[pyfunction]
pub fn encode_batch(columns: &Bound<'_, PyAny>) -> PyResult<PyRecords> {
    let py = columns.py();
    let batches = match columns.cast::<PyColumns>() {
        Ok(ours) => Batches::One(ours.get().0.clone()),
        Err(_) => arrow::import(columns)?.ok_or_else(|| wrong_type("no columns"))?,
    };
    let records = py.detach(|| encode_all(batches)).or_raise(py)?;
    Ok(PyRecords(records))
}

fn encode_all(batches: Batches) -> Result<Records, Error> {
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    batches.for_each(|batch| {
        let before = ends.len() as u64;
        let (more, more_ends) = encode_columns(batch).map_err(|error| match error.record() {
            Some(row) => Error::new(error.kind().clone())
                .at_record(before + row)
                .at_feature(error.feature().unwrap_or_default()),
            None => error,
        })?;
        let start = bytes.len();
        bytes.extend_from_slice(&more);
        ends.extend(more_ends.iter().map(|end| start + end));
        Ok(())
    })?;
    Ok(Records::contiguous(bytes, ends))
}
