//! Tensorboard's events → columns.

use std::collections::HashSet;

use pyo3::prelude::*;
use tfrecs_core::Error;
use tfrecs_core::example::event::scalars::{EventDecoder, Wanted};

use crate::arrays::columns::PyColumns;
use crate::arrays::decode::locate;
use crate::error::{Raise, raise};
use crate::files::records::{Input, PyRecords};
use crate::interpreter::shared::Shared;

/// Collects the summaries of serialized Events, a row each.
#[pyclass(frozen, name = "EventDecoder", module = "tfrecs._core")]
pub struct PyEventDecoder(Shared<EventDecoder>);

fn set_of(names: Option<Vec<String>>) -> Option<HashSet<Vec<u8>>> {
    names.map(|names| names.into_iter().map(String::into_bytes).collect())
}

#[pymethods]
impl PyEventDecoder {
    #[new]
    #[pyo3(signature = (tags=None, plugins=None))]
    fn new(tags: Option<Vec<String>>, plugins: Option<Vec<String>>) -> Self {
        Self(Shared::new(EventDecoder::new(Wanted {
            tags: set_of(tags),
            plugins: set_of(plugins),
        })))
    }

    /// Takes the summaries of some events.
    fn push(&self, py: Python<'_>, records: &Bound<'_, PyRecords>) -> PyResult<()> {
        let records = records.get().0.clone();
        let pushed = py.detach(|| Ok(self.0.enter()?.push(records.iter())));
        pushed
            .or_raise(py)?
            .map_err(|error| raise(py, &locate(&Input::Records(records), None, error)))
    }

    /// The rows since the last call, as columns.
    fn take(&self, py: Python<'_>) -> PyResult<PyColumns> {
        let columns = self.0.enter_attached(py).or_raise(py)?.take();
        columns
            .map(PyColumns)
            .map_err(|error| Error::spec(error.to_string()))
            .or_raise(py)
    }
}
