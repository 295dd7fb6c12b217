//! The plain-Python road: dicts ⇄ records, one at a time.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyIterator, PyList, PyMapping, PyString,
    PyTuple,
};
use tfrecs_core::Error;
use tfrecs_core::example::encode::FeatureValues;
use tfrecs_core::example::message::{self, Feature};
use tfrecs_core::example::wire::WireError;
use tfrecs_core::example::{ExampleEncoder, Kind};

use self::names::{Names, Row};
use crate::columns::copy;
use crate::error::{Raise, raise};

mod names;

/// The features of an Example as a dict of lists.
#[pyfunction]
pub fn decode_example<'py>(py: Python<'py>, record: PyBackedBytes) -> PyResult<Bound<'py, PyDict>> {
    Names::with(|names| features_of(py, &record, names))
}

/// The context of a SequenceExample as a dict of lists, its feature lists as one of lists of lists.
#[pyfunction]
pub fn decode_sequence_example<'py>(
    py: Python<'py>,
    record: PyBackedBytes,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let context = Names::with(|names| features_of(py, &record, names))?;
    let lists = PyDict::new(py);
    message::for_each_feature_list(&record, |entry| {
        let name = entry.name()?;
        let steps = PyList::empty(py);
        let value = entry.value.get().map_err(Failure::from);
        value
            .and_then(|value| {
                message::for_each_step(value, |feature| {
                    steps
                        .append(values_of(py, feature)?)
                        .map_err(Failure::Python)
                })
            })
            .map_err(|failure| failure.in_feature(name))?;
        lists.set_item(name, steps).map_err(Failure::Python)
    })
    .map_err(|failure| failure.raise(py))?;
    Ok((context, lists))
}

fn features_of<'py>(
    py: Python<'py>,
    record: &[u8],
    names: &mut Names,
) -> PyResult<Bound<'py, PyDict>> {
    let mut row = Row::begin(py, names)?;
    message::for_each_feature(record, |entry| {
        let name = match row.expect(entry.key) {
            Some(name) => name,
            None => row.learn(entry.name()?).map_err(Failure::Python)?,
        };
        let value = entry.value.get().map_err(Failure::from);
        let values = value
            .and_then(|value| values_of(py, value))
            .map_err(|failure| failure.in_feature(entry.name().unwrap_or_default()))?;
        row.add(&name, values).map_err(Failure::Python)
    })
    .map_err(|failure: Failure| failure.raise(py))?;
    row.finish()
}

/// What stops a decoder: the record, or the interpreter.
enum Failure {
    Record(Error),
    Python(PyErr),
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        Self::Record(error.into())
    }
}

impl Failure {
    fn in_feature(self, name: &str) -> Self {
        match self {
            Self::Record(error) => Self::Record(error.at_feature(name)),
            Self::Python(error) => Self::Python(error),
        }
    }

    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Record(error) => raise(py, &error),
            Self::Python(error) => error,
        }
    }
}

/// The values of a feature as a list.
#[inline]
fn values_of<'py>(py: Python<'py>, feature: &[u8]) -> Result<Bound<'py, PyList>, Failure> {
    if let Some((kind, list)) = message::only_list(feature) {
        return list_of(py, kind, list);
    }
    match Feature::parse(feature)?.list {
        None => Ok(PyList::empty(py)),
        Some((kind, list)) => list_of(py, kind, list.get()?),
    }
}

#[inline]
fn list_of<'py>(py: Python<'py>, kind: Kind, list: &[u8]) -> Result<Bound<'py, PyList>, Failure> {
    match kind {
        Kind::Bytes => {
            if let Some(value) = message::only_bytes(list) {
                return PyList::new(py, [PyBytes::new(py, value)]).map_err(Failure::Python);
            }
            let mut values = Vec::new();
            message::for_each_bytes(list, |value| values.push(PyBytes::new(py, value)))?;
            PyList::new(py, values)
        }
        Kind::Float32 => {
            let mut values = Vec::new();
            message::for_each_floats(list, |floats| {
                values.extend(floats.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            })?;
            PyList::new(py, values)
        }
        Kind::Int64 => {
            let mut values = Vec::new();
            message::push_int64s(list, &mut values)?;
            PyList::new(py, values)
        }
    }
    .map_err(Failure::Python)
}

/// A mapping as the bytes of an Example. `plain` turns what is neither a number nor a string nor a
/// list of such into what is.
#[pyfunction]
pub fn encode_example<'py>(
    features: &Bound<'py, PyAny>,
    sort_keys: bool,
    plain: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut encoder = ExampleEncoder::default();
    push_features(&mut encoder, features, sort_keys, plain)?;
    Ok(PyBytes::new(features.py(), &encoder.finish()))
}

/// Two mappings as the bytes of a SequenceExample.
#[pyfunction]
pub fn encode_sequence_example<'py>(
    context: &Bound<'py, PyAny>,
    feature_lists: &Bound<'py, PyAny>,
    sort_keys: bool,
    plain: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut encoder = ExampleEncoder::default();
    push_features(&mut encoder, context, sort_keys, plain)?;
    for_each_item(feature_lists, sort_keys, |name, steps| {
        if steps.is_none() {
            return Ok(());
        }
        for step in steps_of(name, steps)? {
            let values = collect(name, &step?, plain)?;
            values.with(|values| encoder.step(values));
        }
        encoder.feature_list(name.as_bytes());
        Ok(())
    })?;
    Ok(PyBytes::new(context.py(), &encoder.finish()))
}

/// The steps of a feature list: of anything that can be iterated over but a string or a mapping, whose
/// parts are hardly meant.
fn steps_of<'py>(name: &str, steps: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    let is_other = steps.is_instance_of::<PyString>()
        || steps.is_instance_of::<PyBytes>()
        || steps.is_instance_of::<PyByteArray>()
        || steps
            .cast::<PyMapping>()
            .is_ok_and(|mapping| mapping.hasattr("keys").unwrap_or(false));
    match steps.try_iter() {
        Ok(steps) if !is_other => Ok(steps),
        _ => {
            let found = steps.get_type().name()?;
            let text = format!("a feature list is a sequence of steps, not {found}");
            Err(Error::spec(text).at_feature(name)).or_raise(steps.py())
        }
    }
}

fn push_features<'py>(
    encoder: &mut ExampleEncoder,
    features: &Bound<'py, PyAny>,
    sort_keys: bool,
    plain: &Bound<'py, PyAny>,
) -> PyResult<()> {
    for_each_item(features, sort_keys, |name, value| {
        if !value.is_none() {
            collect(name, value, plain)?.with(|values| encoder.feature(name.as_bytes(), values));
        }
        Ok(())
    })
}

/// Calls `visit` with the name and the value of every item, in order.
fn for_each_item<'py>(
    mapping: &Bound<'py, PyAny>,
    sort_keys: bool,
    mut visit: impl FnMut(&str, &Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    // A list of the items, because a value's own methods could change the mapping meanwhile; and of
    // its own items, because a subclass may have another order.
    let items = match mapping.cast_exact::<PyDict>() {
        Ok(dict) => dict.items(),
        Err(_) => mapping.cast::<PyMapping>()?.items()?,
    };
    if sort_keys {
        items.sort()?;
    }
    for item in items.iter() {
        let (name, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item.extract()?;
        visit(name_of(&name)?.as_ref(), &value)?;
    }
    Ok(())
}

fn name_of(name: &Bound<'_, PyAny>) -> PyResult<pyo3::pybacked::PyBackedStr> {
    name.extract().or_else(|_| {
        let found = name.get_type().name()?;
        let text = match name.cast::<PyString>() {
            Ok(_) => "a feature's name must be encodable as UTF-8".to_owned(),
            Err(_) => format!("a feature's name must be str, not {found}"),
        };
        Err(Error::spec(text)).or_raise(name.py())
    })
}

/// The values of one feature, taken from Python.
enum Collected {
    Empty,
    Bytes(Vec<PyBackedBytes>),
    Float32(Vec<f32>),
    Int64(Vec<i64>),
}

impl Collected {
    fn with<R>(&self, call: impl FnOnce(FeatureValues<'_>) -> R) -> R {
        match self {
            Self::Empty => call(FeatureValues::None),
            Self::Bytes(values) => {
                let slices: Vec<&[u8]> = values.iter().map(AsRef::as_ref).collect();
                call(FeatureValues::Bytes(&slices))
            }
            Self::Float32(values) => call(FeatureValues::Float32(values)),
            Self::Int64(values) => call(FeatureValues::Int64(values)),
        }
    }

    fn noun(&self) -> &'static str {
        match self {
            Self::Empty => "nothing",
            Self::Bytes(_) => "bytes or str",
            Self::Float32(_) => "float",
            Self::Int64(_) => "int or bool",
        }
    }

    /// Adds a scalar; false if it is none.
    fn push(&mut self, value: &Bound<'_, PyAny>) -> Result<bool, Refusal> {
        let scalar = if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
            Self::Int64(vec![
                value
                    .extract()
                    .map_err(|_| Refusal::TooLarge(value.to_string()))?,
            ])
        } else if value.is_instance_of::<PyFloat>() {
            Self::Float32(vec![to_float32(value.extract()?)?])
        } else if let Ok(bytes) = value.cast::<PyBytes>() {
            Self::Bytes(vec![bytes.clone().into()])
        } else if let Ok(text) = value.cast::<PyString>() {
            Self::Bytes(vec![
                text.encode_utf8().map_err(|_| Refusal::NotUnicode)?.into(),
            ])
        } else {
            return Ok(false);
        };
        match (&mut *self, scalar) {
            (Self::Bytes(all), Self::Bytes(one)) => all.extend(one),
            (Self::Float32(all), Self::Float32(one)) => all.extend(one),
            (Self::Int64(all), Self::Int64(one)) => all.extend(one),
            (Self::Empty, first) => *self = first,
            (all, other) => return Err(Refusal::Mixed(all.noun(), other.noun())),
        }
        Ok(true)
    }
}

fn to_float32(value: f64) -> Result<f32, Refusal> {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "rounding is what is wanted"
    )]
    let narrow = value as f32;
    if narrow.is_infinite() && value.is_finite() {
        return Err(Refusal::TooLarge(format!("{value:e}")));
    }
    Ok(narrow)
}

/// Why a value cannot be a feature.
enum Refusal {
    Mixed(&'static str, &'static str),
    TooLarge(String),
    Nested,
    NotUnicode,
    Python(PyErr),
}

impl From<PyErr> for Refusal {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl Refusal {
    fn raise(self, py: Python<'_>, name: &str) -> PyErr {
        let text = match self {
            Self::Python(error) => return error,
            Self::Mixed(one, other) => format!(
                "its values are {one} and {other}; a feature holds one kind: convert them to one"
            ),
            Self::TooLarge(value) => format!(
                "{value} is out of range: features hold int64 and float32 (or write it as a string)"
            ),
            Self::NotUnicode => {
                "its text has lone surrogates, which UTF-8 cannot express; encode it \
                                 to bytes yourself"
                    .to_owned()
            }
            Self::Nested => "a list inside a list; a feature is one flat list: flatten it (and \
                             store its shape in a feature of its own), or make a SequenceExample"
                .to_owned(),
        };
        raise(py, &Error::spec(text).at_feature(name))
    }
}

fn collect<'py>(
    name: &str,
    value: &Bound<'py, PyAny>,
    plain: &Bound<'py, PyAny>,
) -> PyResult<Collected> {
    let py = value.py();
    let failed = |refusal: Refusal| refusal.raise(py, name);
    if let Some(collected) = collect_plain(value).map_err(failed)? {
        return Ok(collected);
    }
    let value = plain.call1((name, value))?;
    if let Ok(values) = copy::<i64>(py, &value) {
        return Ok(Collected::Int64(values));
    }
    if let Ok(values) = copy::<f32>(py, &value) {
        return Ok(Collected::Float32(values));
    }
    collect_plain(&value)
        .map_err(failed)?
        .ok_or_else(|| failed(Refusal::Nested))
}

/// The values of a scalar, list or tuple of Python's own types; `None` for anything else.
fn collect_plain(value: &Bound<'_, PyAny>) -> Result<Option<Collected>, Refusal> {
    let mut all = Collected::Empty;
    if let Ok(list) = value.cast::<PyList>() {
        return collect_items(list.iter(), all);
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return collect_items(tuple.iter(), all);
    }
    Ok(all.push(value)?.then_some(all))
}

fn collect_items<'py>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    mut all: Collected,
) -> Result<Option<Collected>, Refusal> {
    for item in items {
        if item.is_instance_of::<PyList>() || item.is_instance_of::<PyTuple>() {
            return Err(Refusal::Nested);
        }
        if !all.push(&item)? {
            return Ok(None);
        }
    }
    Ok(Some(all))
}
