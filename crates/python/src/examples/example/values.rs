//! Values of Python and NumPy → the values of a feature.
//!
//! What a row mostly holds is known by its exact type, and no code of Python's runs for it. Anything
//! else goes the long way, by `plain`, which is Python and turns it into what is known here.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use tfrecs_core::Error;
use tfrecs_core::example::encode::FeatureValues;
use tfrecs_core::example::{Kind, ListEncoder};
use tfrecs_core::runtime::memory;

use super::buffers::push_buffer;
use crate::error::{Raise, raise};
use crate::interpreter::bytes::{Pace, aside};

/// The longest text, in characters, that is taken as the UTF-8 that its `str` keeps: of what is not
/// ASCII, Python makes it for that, and it stays as long as the `str`.
const SHORT: usize = 256;

/// Calls `visit` with the values of feature `name`, for which `list` is there to be used.
#[inline]
pub fn with_values<'py>(
    list: &mut ListEncoder,
    name: &str,
    value: &Bound<'py, PyAny>,
    plain: &Bound<'py, PyAny>,
    visit: impl FnOnce(FeatureValues<'_>) + Send,
) -> PyResult<()> {
    let py = value.py();
    let failed = |refusal: Refusal| refusal.raise(py, name);
    let only = only_item(value);
    match Scalar::known(only.as_ref().unwrap_or(value)).map_err(failed)? {
        Some(Scalar::Bytes(value)) => {
            // Twice in the message as it is made, and once as it is handed out.
            check_room(value.len(), 3).or_raise(py)?;
            aside(py, value.len(), || visit(FeatureValues::Bytes(&[value])));
        }
        Some(Scalar::Float32(value)) => visit(FeatureValues::Float32(&[value])),
        Some(Scalar::Int64(value)) => visit(FeatureValues::Int64(&[value])),
        Some(Scalar::Text(value)) => visit(FeatureValues::Bytes(&[value.as_bytes()])),
        None => {
            // A number of 8 bytes takes up to 10 in the list, which may double as it grows, and in the message.
            check_room(value.len().unwrap_or_default(), 40).or_raise(py)?;
            list.clear();
            push(list, name, value, plain)?;
            aside(py, list.nbytes(), || visit(list.values()));
        }
    }
    Ok(())
}

/// Fails if there is no memory to encode that many items; few need not be looked after.
#[inline]
fn check_room(items: usize, each: usize) -> tfrecs_core::Result<()> {
    if items < FEW {
        return Ok(());
    }
    memory::check_room(items.saturating_mul(each))
}

const FEW: usize = 64 << 10;

/// The item of a list that has just one.
#[inline]
fn only_item<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let list = value.cast_exact::<PyList>().ok()?;
    (list.len() == 1).then(|| list.get_item(0).ok()).flatten()
}

fn push<'py>(
    list: &mut ListEncoder,
    name: &str,
    value: &Bound<'py, PyAny>,
    plain: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let py = value.py();
    let failed = |refusal: Refusal| refusal.raise(py, name);
    if push_plain(list, value).map_err(failed)? {
        return Ok(());
    }
    list.clear();
    if NumPy::of(py)?.is_array(value) && push_buffer(list, value) {
        return Ok(());
    }
    let value = plain.call1((name, value))?;
    if push_plain(list, &value).map_err(failed)? || push_buffer(list, &value) {
        return Ok(());
    }
    Err(failed(Refusal::Nested))
}

/// Adds a scalar, or a list or tuple of such; false for anything else, of which some may be there then.
fn push_plain(list: &mut ListEncoder, value: &Bound<'_, PyAny>) -> Result<bool, Refusal> {
    if let Ok(items) = value.cast::<PyList>() {
        return push_items(list, items.iter());
    }
    if let Ok(items) = value.cast::<PyTuple>() {
        return push_items(list, items.iter());
    }
    match Scalar::of(value)? {
        Some(scalar) => scalar.push(list).map(|()| true),
        None => Ok(false),
    }
}

fn push_items<'py>(
    list: &mut ListEncoder,
    mut items: impl Iterator<Item = Bound<'py, PyAny>>,
) -> Result<bool, Refusal> {
    let (mut next, mut pace) = (items.next(), Pace::default());
    while let Some(item) = next.take() {
        let Some(scalar) = Scalar::of(&item)? else {
            let is_nested = item.is_instance_of::<PyList>() || item.is_instance_of::<PyTuple>();
            return if is_nested {
                Err(Refusal::Nested)
            } else {
                Ok(false)
            };
        };
        scalar.push(list)?;
        let (py, before) = (item.py(), list.nbytes());
        pace.after_bytes(py, scalar.nbytes())
            .map_err(Refusal::Interrupted)?;
        // What follows is mostly more of the same.
        let pushed = match list.kind() {
            Some(Kind::Int64) => list.extend_int64(run(&mut items, &mut next, known_int64)),
            Some(Kind::Float32) => list.extend_float32(run(&mut items, &mut next, known_float32)),
            _ => Ok(()),
        };
        pushed.map_err(|kind| Refusal::Mixed(kind, kind))?;
        pace.after(py, list.nbytes() - before)
            .map_err(Refusal::Interrupted)?;
        next = next.or_else(|| items.next());
    }
    Ok(true)
}

/// Yields items as long as they are known to be of one kind, up to [`Pace::ITEMS`]; the first that is not becomes
/// the `rest`.
fn run<'a, 'py, T>(
    items: &'a mut impl Iterator<Item = Bound<'py, PyAny>>,
    rest: &'a mut Option<Bound<'py, PyAny>>,
    known: impl Fn(&Bound<'py, PyAny>) -> Option<T> + 'a,
) -> impl Iterator<Item = T> + 'a {
    let values = std::iter::from_fn(move || {
        let item = items.next()?;
        let value = known(&item);
        if value.is_none() {
            *rest = Some(item);
        }
        value
    });
    values.take(Pace::ITEMS)
}

#[inline]
fn known_int64(value: &Bound<'_, PyAny>) -> Option<i64> {
    let is_int = value.is_exact_instance_of::<PyInt>();
    is_int.then(|| value.extract().ok()).flatten()
}

#[inline]
fn known_float32(value: &Bound<'_, PyAny>) -> Option<f32> {
    let value = value.cast_exact::<PyFloat>().ok()?;
    to_float32(value.value())
}

/// `None` if it is out of range.
#[inline]
fn to_float32(value: f64) -> Option<f32> {
    let narrow = round(value);
    (!is_beyond(value, narrow)).then_some(narrow)
}

#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "rounding is what is wanted"
)]
pub fn round(value: f64) -> f32 {
    value as f32
}

/// Whether a value is too large for the float32 that it was rounded to.
#[inline]
pub fn is_beyond(value: f64, narrow: f32) -> bool {
    narrow.is_infinite() && !value.is_infinite()
}

/// One value.
enum Scalar<'a, 'py> {
    Bytes(&'a [u8]),
    Text(Bound<'py, PyBytes>),
    Float32(f32),
    Int64(i64),
}

impl<'a, 'py> Scalar<'a, 'py> {
    /// The value, if it is exactly of one of Python's own types.
    #[inline]
    fn known(value: &'a Bound<'py, PyAny>) -> Result<Option<Self>, Refusal> {
        if let Ok(bytes) = value.cast_exact::<PyBytes>() {
            return Ok(Some(Self::Bytes(bytes.as_bytes())));
        }
        if value.is_exact_instance_of::<PyInt>() {
            return Self::int64(value).map(Some);
        }
        if let Ok(text) = value.cast_exact::<PyString>() {
            return Self::text(text).map(Some);
        }
        match value.cast_exact::<PyFloat>() {
            Ok(float) => Self::float32(float.value()).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The value, if it is of one of Python's own types, or a number of NumPy's.
    fn of(value: &'a Bound<'py, PyAny>) -> Result<Option<Self>, Refusal> {
        if let Some(known) = Self::known(value)? {
            return Ok(Some(known));
        }
        if value.is_instance_of::<PyInt>() {
            return Self::int64(value).map(Some);
        }
        if let Ok(float) = value.cast::<PyFloat>() {
            return Self::float32(float.value()).map(Some);
        }
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Some(Self::Bytes(bytes.as_bytes())));
        }
        if let Ok(text) = value.cast::<PyString>() {
            return Self::text(text).map(Some);
        }
        match NumPy::of(value.py()).map(|numpy| numpy.number(value)) {
            Ok(Some(Number::Int64(value))) => Ok(Some(Self::Int64(value))),
            Ok(Some(Number::Float(value))) => Self::float32(value).map(Some),
            Ok(None) | Err(_) => Ok(None),
        }
    }

    #[inline]
    fn int64(value: &Bound<'_, PyAny>) -> Result<Self, Refusal> {
        match value.extract() {
            Ok(value) => Ok(Self::Int64(value)),
            Err(_) => Err(Refusal::TooLarge(value.to_string())),
        }
    }

    #[inline]
    fn float32(value: f64) -> Result<Self, Refusal> {
        match to_float32(value) {
            Some(value) => Ok(Self::Float32(value)),
            None => Err(Refusal::TooLarge(format!("{value:e}"))),
        }
    }

    #[inline]
    fn text(text: &'a Bound<'py, PyString>) -> Result<Self, Refusal> {
        if text.len().is_ok_and(|length| length <= SHORT) {
            let text = text.to_str().map_err(|_| Refusal::NotUnicode)?;
            return Ok(Self::Bytes(text.as_bytes()));
        }
        let bytes = text.encode_utf8().map_err(|_| Refusal::NotUnicode)?;
        Ok(Self::Text(bytes))
    }

    /// How many bytes are copied.
    fn nbytes(&self) -> usize {
        match self {
            Self::Bytes(value) => value.len(),
            Self::Text(value) => value.as_bytes().len(),
            Self::Float32(_) | Self::Int64(_) => 8,
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Bytes(_) | Self::Text(_) => Kind::Bytes,
            Self::Float32(_) => Kind::Float32,
            Self::Int64(_) => Kind::Int64,
        }
    }

    #[inline]
    fn push(&self, list: &mut ListEncoder) -> Result<(), Refusal> {
        let pushed = match self {
            Self::Bytes(value) => list.push_bytes(value),
            Self::Text(value) => list.push_bytes(value.as_bytes()),
            Self::Float32(value) => list.push_float32(*value),
            Self::Int64(value) => list.push_int64(*value),
        };
        pushed.map_err(|all| Refusal::Mixed(all, self.kind()))
    }
}

/// Looks for the types of NumPy's, now and not later.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    NumPy::of(py).map(drop)
}

/// The types of NumPy's that rows are mostly made of. What is derived from them is not meant.
struct NumPy {
    array: Py<PyType>,
    boolean: Py<PyType>,
    integers: Vec<Py<PyType>>,
    floats: Vec<Py<PyType>>,
}

/// A scalar of NumPy's.
enum Number {
    Int64(i64),
    Float(f64),
}

impl NumPy {
    fn of(py: Python<'_>) -> PyResult<&Self> {
        static NUMPY: PyOnceLock<NumPy> = PyOnceLock::new();
        NUMPY.get_or_try_init(py, || Self::import(py))
    }

    fn import(py: Python<'_>) -> PyResult<Self> {
        let numpy = py.import("numpy")?;
        let one = |name: &str| -> PyResult<Py<PyType>> { Ok(numpy.getattr(name)?.extract()?) };
        let many = |names: &[&str]| -> PyResult<Vec<Py<PyType>>> {
            names.iter().map(|name| one(name)).collect()
        };
        Ok(Self {
            array: one("ndarray")?,
            boolean: one("bool_")?,
            integers: many(&[
                "int64", "int32", "uint8", "int16", "int8", "uint16", "uint32", "uint64",
            ])?,
            floats: many(&["float32", "float16"])?,
        })
    }

    fn is_array(&self, value: &Bound<'_, PyAny>) -> bool {
        value.get_type().is(&self.array)
    }

    /// The number that a value is; none if int64 does not hold it.
    fn number(&self, value: &Bound<'_, PyAny>) -> Option<Number> {
        let found = value.get_type();
        let is_one_of = |types: &[Py<PyType>]| types.iter().any(|one| found.is(one));
        if is_one_of(&self.integers) {
            return value.extract().ok().map(Number::Int64);
        }
        if is_one_of(&self.floats) {
            return value.extract().ok().map(Number::Float);
        }
        let is_boolean = found.is(&self.boolean);
        let truth = is_boolean.then(|| value.is_truthy().ok()).flatten();
        truth.map(|truth| Number::Int64(truth.into()))
    }
}

/// Why a value cannot be a feature.
enum Refusal {
    Mixed(Kind, Kind),
    TooLarge(String),
    Nested,
    NotUnicode,
    /// A signal handler has raised this.
    Interrupted(PyErr),
}

impl Refusal {
    fn raise(self, py: Python<'_>, name: &str) -> PyErr {
        let text = match self {
            Self::Interrupted(error) => return error,
            Self::Mixed(one, other) => format!(
                "its values are {} and {}; a feature holds one kind: convert them to one",
                noun(one),
                noun(other)
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

fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Bytes => "bytes or str",
        Kind::Float32 => "float",
        Kind::Int64 => "int or bool",
    }
}
