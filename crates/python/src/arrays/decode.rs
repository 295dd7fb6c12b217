//! Records → columns.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tfrecs_core::Error;
use tfrecs_core::example::decode::near_names;
use tfrecs_core::example::kind;
use tfrecs_core::example::record_error::RecordError;
use tfrecs_core::example::{
    DType, Default, FeatureSpec, Kind, Layout, ListSpec, decode, decode_sequences,
};

use crate::arrays::columns::{PyColumns, copy};
use crate::error::{raise, wrong_type};
use crate::files::records::Input;

/// A feature to parse as Python hands it in: name; NumPy's name of the dtype, or "bytes"; "fixed"
/// or a layout of lists; shape of an element; default values (None: required), or, of a feature
/// list, whether it may be missing.
#[derive(FromPyObject)]
pub struct SpecPieces<'py>(
    String,
    String,
    String,
    Option<Vec<usize>>,
    Option<Bound<'py, PyAny>>,
);

impl SpecPieces<'_> {
    fn dtype(&self) -> PyResult<DType> {
        DType::of_name(&self.1).ok_or_else(|| wrong_type("no such dtype"))
    }

    /// A feature of an Example or of a context.
    pub fn feature(self) -> PyResult<FeatureSpec> {
        let dtype = self.dtype()?;
        let Self(name, _, layout, shape, default) = self;
        let shape = shape.unwrap_or_default();
        let layout = if layout == "fixed" {
            let default = default
                .map(|values| default_of(dtype.kind(), &values))
                .transpose()?;
            Layout::Fixed { shape, default }
        } else {
            Layout::Ragged { shape }
        };
        Ok(FeatureSpec {
            name,
            dtype,
            layout,
        })
    }

    /// A feature list: the elements of "repeated" are its steps.
    pub fn list(self) -> PyResult<ListSpec> {
        let dtype = self.dtype()?;
        let Self(name, _, layout, shape, allow_missing) = self;
        let shape = shape.unwrap_or_default();
        let is_repeated = layout == "repeated";
        let layout = if is_repeated {
            Layout::Fixed {
                shape,
                default: None,
            }
        } else {
            Layout::Ragged { shape }
        };
        let allow_missing = match allow_missing {
            Some(allow_missing) if is_repeated => allow_missing.is_truthy()?,
            _ => true,
        };
        let step = FeatureSpec {
            name,
            dtype,
            layout,
        };
        Ok(ListSpec {
            step,
            allow_missing,
        })
    }
}

fn default_of(kind: Kind, values: &Bound<'_, PyAny>) -> PyResult<Default> {
    Ok(match kind {
        Kind::Bytes => Default::Bytes(values.extract()?),
        Kind::Float32 => Default::Float32(copy::<f32>(values.py(), values)?),
        Kind::Int64 => Default::Int64(values.extract()?),
    })
}

/// Each of the pieces of a spec put together.
pub fn assemble<'py, T>(
    spec: Option<Bound<'py, PyTuple>>,
    one: impl Fn(SpecPieces<'py>) -> PyResult<T>,
) -> PyResult<Option<Vec<T>>> {
    spec.map(|spec| spec.iter().map(|feature| one(feature.extract()?)).collect())
        .transpose()
}

/// Decodes Examples into columns; see `tfrecs.decode_batch`.
#[pyfunction]
#[pyo3(signature = (records, spec, names=None, ignore_unknown=false))]
pub fn decode_batch(
    records: &Bound<'_, PyAny>,
    spec: Option<Bound<'_, PyTuple>>,
    names: Option<Vec<String>>,
    ignore_unknown: bool,
) -> PyResult<PyColumns> {
    let py = records.py();
    let spec = assemble(spec, SpecPieces::feature)?;
    let records = Input::of(records)?;
    // A spec gives exactly its features, as in TensorFlow; without one, none may be missed.
    if spec.is_none() && !ignore_unknown {
        let checked = py.detach(|| each(&records, kind::check_example));
        checked.map_err(|error| raise(py, &locate(&records, names.as_deref(), error)))?;
    }
    examples(py, &records, spec.as_deref(), names.as_deref())
}

/// The columns of Examples; `names` are for errors.
pub fn examples(
    py: Python<'_>,
    records: &Input,
    spec: Option<&[FeatureSpec]>,
    names: Option<&[String]>,
) -> PyResult<PyColumns> {
    let decoded = py.detach(|| match records {
        Input::Records(records) => decode(records.iter(), spec),
        Input::Bytes(records) => decode(records.iter().map(AsRef::as_ref), spec),
    });
    decoded
        .map(PyColumns)
        .map_err(|error| raise(py, &locate(records, names, error)))
}

/// Decodes `SequenceExample`s into the columns of their contexts and those of their feature lists;
/// see `tfrecs.decode_sequence_batch`.
#[pyfunction]
#[pyo3(signature = (records, context, lists, names=None, ignore_unknown=false))]
pub fn decode_sequence_batch(
    records: &Bound<'_, PyAny>,
    context: Option<Bound<'_, PyTuple>>,
    lists: Option<Bound<'_, PyTuple>>,
    names: Option<Vec<String>>,
    ignore_unknown: bool,
) -> PyResult<(PyColumns, PyColumns)> {
    let py = records.py();
    let context = assemble(context, SpecPieces::feature)?;
    let lists = assemble(lists, SpecPieces::list)?;
    let records = Input::of(records)?;
    if context.is_none() && lists.is_none() && !ignore_unknown {
        let checked = py.detach(|| each(&records, kind::check_sequence_example));
        checked.map_err(|error| raise(py, &locate(&records, names.as_deref(), error)))?;
    }
    let spec = (context.as_deref(), lists.as_deref());
    sequences(py, &records, spec, names.as_deref())
}

/// The columns of the contexts of `SequenceExample`s and those of their lists; `names` are for errors.
pub fn sequences(
    py: Python<'_>,
    records: &Input,
    (context, lists): (Option<&[FeatureSpec]>, Option<&[ListSpec]>),
    names: Option<&[String]>,
) -> PyResult<(PyColumns, PyColumns)> {
    let decoded = py.detach(|| match records {
        Input::Records(records) => decode_sequences(records.iter(), context, lists),
        Input::Bytes(records) => {
            decode_sequences(records.iter().map(AsRef::as_ref), context, lists)
        }
    });
    decoded
        .map(|(context, lists)| (PyColumns(context), PyColumns(lists)))
        .map_err(|error| raise(py, &locate(records, names, error)))
}

/// Says which names of a record's features are like `wanted`, which it lacks; see `near_names`.
#[pyfunction]
pub fn name_hint(record: &[u8], wanted: &str) -> String {
    near_names::name_hint(record, wanted).unwrap_or_default()
}

/// Checks each record.
fn each(records: &Input, check: impl Fn(&[u8]) -> Result<(), Error>) -> Result<(), RecordError> {
    let at = |(index, record)| check(record).map_err(|error| RecordError::at(index, error));
    match records {
        Input::Records(records) => records.iter().enumerate().try_for_each(at),
        Input::Bytes(records) => {
            let mut records = records.iter().map(AsRef::as_ref).enumerate();
            records.try_for_each(at)
        }
    }
}

/// The error with all that is known of where its record stands.
pub fn locate(records: &Input, names: Option<&[String]>, error: RecordError) -> Error {
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
