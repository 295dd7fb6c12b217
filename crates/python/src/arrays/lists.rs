//! Lists of examples → their contexts and their examples.

use pyo3::prelude::*;
use tfrecs_core::example::example_list;
use tfrecs_core::record::Records;

use crate::arrays::columns::PyBuffer;
use crate::arrays::decode::locate;
use crate::error::raise;
use crate::files::records::{Input, PyRecords};

/// Splits serialized ExampleListWithContexts: the contexts, the examples of all lists, and where those
/// of each list end, with a leading 0.
#[pyfunction]
pub fn split_lists(records: &Bound<'_, PyAny>) -> PyResult<(PyRecords, PyRecords, PyBuffer)> {
    let py = records.py();
    let input = Input::of(records)?;
    let split = py.detach(|| {
        let records: Records = match &input {
            Input::Records(records) => records.clone(),
            Input::Bytes(records) => records.iter().map(AsRef::as_ref).collect(),
        };
        let lists = example_list::split_lists(records.iter())?;
        let examples = records.parts(lists.places());
        let contexts = records.remade(lists.contexts, &lists.context_ends);
        Ok((PyRecords(contexts), PyRecords(examples), lists.row_splits))
    });
    let (contexts, examples, row_splits) =
        split.map_err(|error| raise(py, &locate(&input, None, error)))?;
    Ok((contexts, examples, PyBuffer::structure(row_splits.into())))
}
