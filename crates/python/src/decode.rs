//! Records → columns.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tfrecs_core::Error;
use tfrecs_core::example::decode::RecordError;
use tfrecs_core::example::{Default, FeatureSpec, Kind, Layout, decode};

use crate::columns::{PyColumns, copy};
use crate::error::raise;
use crate::records::Input;

/// A feature to parse as Python hands it in: name, "int64" / "float32" / "bytes", shape (None:
/// ragged), default values (None: required).
#[derive(FromPyObject)]
struct SpecPieces<'py>(
    String,
    String,
    Option<Vec<usize>>,
    Option<Bound<'py, PyAny>>,
);

impl SpecPieces<'_> {
    fn assemble(self) -> PyResult<FeatureSpec> {
        let Self(name, kind, shape, default) = self;
        let kind = match kind.as_str() {
            "bytes" => Kind::Bytes,
            "float32" => Kind::Float32,
            _ => Kind::Int64,
        };
        let layout = match shape {
            None => Layout::Ragged,
            Some(shape) => {
                let default = default
                    .map(|values| default_of(kind, &values))
                    .transpose()?;
                Layout::Fixed { shape, default }
            }
        };
        Ok(FeatureSpec { name, kind, layout })
    }
}

fn default_of(kind: Kind, values: &Bound<'_, PyAny>) -> PyResult<Default> {
    Ok(match kind {
        Kind::Bytes => Default::Bytes(values.extract()?),
        Kind::Float32 => Default::Float32(copy::<f32>(values.py(), values)?),
        Kind::Int64 => Default::Int64(values.extract()?),
    })
}

/// Decodes Examples into columns; see `tfrecs.decode_batch`.
#[pyfunction]
#[pyo3(signature = (records, spec, names=None))]
pub fn decode_batch(
    records: &Bound<'_, PyAny>,
    spec: Option<Bound<'_, PyTuple>>,
    names: Option<Vec<String>>,
) -> PyResult<PyColumns> {
    let py = records.py();
    let spec: Option<Vec<FeatureSpec>> = spec
        .map(|spec| {
            spec.iter()
                .map(|f| f.extract::<SpecPieces<'_>>()?.assemble())
                .collect()
        })
        .transpose()?;
    let records = Input::of(records)?;
    let decoded = py.detach(|| match &records {
        Input::Records(records) => decode(records.iter(), spec.as_deref()),
        Input::Bytes(records) => decode(records.iter().map(AsRef::as_ref), spec.as_deref()),
    });
    decoded
        .map(PyColumns)
        .map_err(|error| raise(py, &locate(&records, names.as_deref(), error)))
}

fn locate(records: &Input, names: Option<&[String]>, error: RecordError) -> Error {
    let RecordError {
        index: Some(index),
        error,
    } = error
    else {
        return error.error;
    };
    let error = match names.and_then(|names| names.get(index)) {
        Some(name) => error.with_name(name),
        None => error,
    };
    match records {
        Input::Records(records) => records.locate(index, error),
        Input::Bytes(_) => error.at_record(index as u64),
    }
}
