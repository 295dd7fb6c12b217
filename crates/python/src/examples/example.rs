//! The plain-Python road: dicts ⇄ records, one at a time.

use std::cell::{Cell, RefCell};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyIterator, PyList, PyMapping, PyString};
use tfrecs_core::Error;
use tfrecs_core::example::canonical::{self, Count};
use tfrecs_core::example::decode::strict::Record;
use tfrecs_core::example::kind::{self, MessageKind};
use tfrecs_core::example::message::{self, Feature};
use tfrecs_core::example::wire::WireError;
use tfrecs_core::example::{ExampleEncoder, Kind, ListEncoder};

use self::names::{Names, Row};
use self::values::with_values;
use crate::error::{Raise, raise};
use crate::interpreter::bytes::{Pace, aside, bytes_of, list_of};

mod buffers;
mod names;
pub mod values;

/// The features of an Example as a dict of lists.
#[pyfunction]
#[pyo3(signature = (record, ignore_unknown=false))]
pub fn decode_example<'py>(
    py: Python<'py>,
    record: PyBackedBytes,
    ignore_unknown: bool,
) -> PyResult<Bound<'py, PyDict>> {
    if !ignore_unknown {
        kind::check_example(&record).or_raise(py)?;
    }
    let mut usual = Count::default();
    let features = Names::with(|names| features_of(py, &record, names, &mut usual))?;
    if !usual.is_all_of_maps(&record) {
        Record::Example.check(&record).or_raise(py)?;
    }
    if !ignore_unknown && features.is_empty() {
        kind::check_no_features(&record).or_raise(py)?;
    }
    Ok(features)
}

/// The message that a record looks like: "Example", "SequenceExample", "Event", "TensorProto" or "bytes".
#[pyfunction]
pub fn message_kind(record: PyBackedBytes) -> &'static str {
    match MessageKind::of(&record) {
        MessageKind::Example => "Example",
        MessageKind::SequenceExample => "SequenceExample",
        MessageKind::Event => "Event",
        MessageKind::Tensor => "TensorProto",
        MessageKind::Other => "bytes",
    }
}

/// The context of a SequenceExample as a dict of lists, its feature lists as one of lists of lists.
#[pyfunction]
#[pyo3(signature = (record, ignore_unknown=false))]
pub fn decode_sequence_example<'py>(
    py: Python<'py>,
    record: PyBackedBytes,
    ignore_unknown: bool,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    if !ignore_unknown {
        kind::check_sequence_example(&record).or_raise(py)?;
    }
    Names::with(|names| {
        let mut usual = Count::default();
        let context = features_of(py, &record, names, &mut usual)?;
        let lists = PyDict::new(py);
        message::for_each_feature_list(&record, |entry| {
            let name = entry.name()?;
            let value = entry.value.get().map_err(Failure::from);
            let (steps, is_usual) = value
                .and_then(|value| steps_in(py, value))
                .map_err(|failure| failure.in_feature(name))?;
            usual.add_entry(entry.usual.filter(|_| is_usual));
            let name = names.text(py, name);
            lists.set_item(name, steps).map_err(Failure::Python)
        })
        .map_err(|failure| failure.raise(py))?;
        if !usual.is_all_of_maps(&record) {
            Record::SequenceExample.check(&record).or_raise(py)?;
        }
        Ok((context, lists))
    })
}

/// A list of what a message holds, and whether the message is as writers write it.
type Read<'py> = Result<(Bound<'py, PyList>, bool), Failure>;

/// Returns the steps of a feature list as a list of lists.
fn steps_in<'py>(py: Python<'py>, feature_list: &[u8]) -> Read<'py> {
    let (steps, mut usual, mut pace) = (PyList::empty(py), Count::default(), Pace::default());
    message::for_each_step(feature_list, |feature| {
        let (values, is_usual) = values_of(py, feature)?;
        usual.add_entry(Some(feature).filter(|_| is_usual));
        pace.after(py, 1 + values.len()).map_err(Failure::Python)?;
        steps.append(values).map_err(Failure::Python)
    })?;
    Ok((steps, usual.is_all_of(feature_list)))
}

/// Returns the features of a record as a dict of lists, and adds to `usual` those that are as writers write them.
fn features_of<'py>(
    py: Python<'py>,
    record: &[u8],
    names: &mut Names,
    usual: &mut Count,
) -> PyResult<Bound<'py, PyDict>> {
    let (mut row, mut pace) = (Row::begin(py, names)?, Pace::default());
    message::for_each_feature(record, |entry| {
        let name = match row.expect(entry.key) {
            Some(name) => name,
            None => row.learn(entry.name()?).map_err(Failure::Python)?,
        };
        let value = entry.value.get().map_err(Failure::from);
        let (values, is_usual) = value
            .and_then(|value| values_of(py, value))
            .map_err(|failure| failure.in_feature(entry.name().unwrap_or_default()))?;
        usual.add_entry(entry.usual.filter(|_| is_usual));
        pace.after(py, 1 + values.len()).map_err(Failure::Python)?;
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

/// Returns the values of a feature as a list.
#[inline]
fn values_of<'py>(py: Python<'py>, feature: &[u8]) -> Read<'py> {
    if let Some((kind, list)) = canonical::only_list(feature) {
        return values_in(py, kind, list);
    }
    let (list, _) = match Feature::parse(feature)?.list {
        None => (PyList::empty(py), false),
        Some((kind, list)) => values_in(py, kind, list.get()?)?,
    };
    Ok((list, feature.is_empty()))
}

#[inline]
fn values_in<'py>(py: Python<'py>, kind: Kind, list: &[u8]) -> Read<'py> {
    match kind {
        Kind::Bytes => byte_strings_of(py, list),
        Kind::Float32 => floats_of(py, list),
        Kind::Int64 => integers_of(py, list),
    }
}

fn byte_strings_of<'py>(py: Python<'py>, list: &[u8]) -> Read<'py> {
    if let Some(value) = canonical::only_bytes(list) {
        return one(py, bytes_of(py, value).map_err(Failure::Python)?);
    }
    let (mut values, mut usual, mut pace) = (Vec::new(), Count::default(), Pace::default());
    let mut made = Ok(());
    message::for_each_bytes(list, |value| {
        usual.add(value);
        if made.is_ok() {
            let copy = pace
                .after_bytes(py, value.len())
                .and_then(|()| bytes_of(py, value));
            made = copy.map(|copy| values.push(copy));
        }
    })?;
    made.map_err(Failure::Python)?;
    all(py, values, usual.is_all_of(list))
}

fn floats_of<'py>(py: Python<'py>, list: &[u8]) -> Read<'py> {
    let value_of = |bytes: &[u8; 4]| f32::from_le_bytes(*bytes);
    if let Some(values) = canonical::only_floats(list) {
        return all(py, values.iter().map(value_of), true);
    }
    let mut values = Vec::new();
    message::for_each_floats(list, |some| values.extend(some.iter().map(value_of)))?;
    all(py, values, list.is_empty())
}

fn integers_of<'py>(py: Python<'py>, list: &[u8]) -> Read<'py> {
    if let Some(value) = canonical::only_int64(list) {
        return one(py, value);
    }
    let mut values = Vec::new();
    aside(py, list.len(), || message::push_int64s(list, &mut values))?;
    let is_usual = list.is_empty() || canonical::only_packed(list).is_some();
    all(py, values, is_usual)
}

#[inline]
fn all<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    values: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    is_usual: bool,
) -> Read<'py> {
    let list = list_of(py, values).map_err(Failure::Python)?;
    Ok((list, is_usual))
}

#[inline]
fn one<'py>(py: Python<'py>, value: impl IntoPyObject<'py>) -> Read<'py> {
    all(py, [value], true)
}

/// A mapping as the bytes of an Example. `plain` turns what is neither a number nor a string nor a
/// list of such into what is.
#[pyfunction]
pub fn encode_example<'py>(
    features: &Bound<'py, PyAny>,
    sort_keys: bool,
    plain: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    Workshop::with(|workshop| {
        workshop.push_features(features, sort_keys, plain)?;
        bytes_of(features.py(), workshop.encoder.finish_here())
    })
}

/// Two mappings as the bytes of a SequenceExample.
#[pyfunction]
pub fn encode_sequence_example<'py>(
    context: &Bound<'py, PyAny>,
    feature_lists: &Bound<'py, PyAny>,
    sort_keys: bool,
    plain: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    Workshop::with(|workshop| {
        workshop.push_features(context, sort_keys, plain)?;
        workshop.push_feature_lists(feature_lists, sort_keys, plain)?;
        bytes_of(context.py(), workshop.encoder.finish_here())
    })
}

/// How much memory a thread keeps at each place from one record to the next.
const KEPT: usize = 256 << 10;

thread_local! {
    static WORKSHOP: Cell<Option<Box<Workshop>>> = const { Cell::new(None) };
}

/// What records are put together in.
#[derive(Default)]
struct Workshop {
    encoder: ExampleEncoder,
    list: ListEncoder,
}

impl Workshop {
    /// Calls `work` with this thread's own, empty. A call inside `work`, such as a value's methods may
    /// make, begins with nothing.
    fn with<R>(work: impl FnOnce(&mut Self) -> R) -> R {
        let mut workshop = WORKSHOP.take().unwrap_or_default();
        let result = work(&mut workshop);
        workshop.encoder.reset(KEPT);
        workshop.list.reset(KEPT);
        WORKSHOP.set(Some(workshop));
        result
    }

    fn push_features<'py>(
        &mut self,
        features: &Bound<'py, PyAny>,
        sort_keys: bool,
        plain: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let Self { encoder, list } = self;
        for (name, value) in &items_of(features, sort_keys)? {
            let name = name_of(name)?;
            if !value.is_none() {
                with_values(list, name, value, plain, |values| {
                    encoder.feature(name.as_bytes(), values);
                })?;
            }
        }
        Ok(())
    }

    fn push_feature_lists<'py>(
        &mut self,
        feature_lists: &Bound<'py, PyAny>,
        sort_keys: bool,
        plain: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let Self { encoder, list } = self;
        for (name, steps) in &items_of(feature_lists, sort_keys)? {
            let name = name_of(name)?;
            if steps.is_none() {
                continue;
            }
            for step in steps_of(name, steps)? {
                with_values(list, name, &step?, plain, |values| encoder.step(values))?;
            }
            encoder.feature_list(name.as_bytes());
        }
        Ok(())
    }
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

type Item<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The names and the values of a mapping, in order. They are all taken first, because a value's own
/// methods could change the mapping meanwhile.
fn items_of<'py>(mapping: &Bound<'py, PyAny>, sort_keys: bool) -> PyResult<Vec<Item<'py>>> {
    let items = match mapping.cast_exact::<PyDict>() {
        Ok(dict) => items_of_dict(dict)?,
        // By its own method, because a subclass may have another order.
        Err(_) => pairs_of(&mapping.cast::<PyMapping>()?.items()?)?,
    };
    if sort_keys {
        return sorted(mapping.py(), &items);
    }
    Ok(items)
}

fn items_of_dict<'py>(dict: &Bound<'py, PyDict>) -> PyResult<Vec<Item<'py>>> {
    let items = RefCell::new(Vec::with_capacity(dict.len()));
    dict.locked_for_each(|name, value| {
        items.borrow_mut().push((name, value));
        Ok(())
    })?;
    Ok(items.into_inner())
}

fn pairs_of<'py>(pairs: &Bound<'py, PyList>) -> PyResult<Vec<Item<'py>>> {
    pairs.iter().map(|pair| pair.extract()).collect()
}

/// The items by name, as Python sorts them; text by its UTF-8, which is the same order.
fn sorted<'py>(py: Python<'py>, items: &[Item<'py>]) -> PyResult<Vec<Item<'py>>> {
    let named = |item| -> Option<(&str, &Item<'py>)> {
        let (name, _): &Item<'py> = item;
        Some((name.cast_exact::<PyString>().ok()?.to_str().ok()?, item))
    };
    if let Some(mut named) = items.iter().map(named).collect::<Option<Vec<_>>>() {
        named.sort_by_key(|(name, _)| *name);
        return Ok(named.into_iter().map(|(_, item)| item.clone()).collect());
    }
    let pairs = PyList::new(py, items)?;
    pairs.sort()?;
    pairs_of(&pairs)
}

fn name_of<'a>(name: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    match name.cast::<PyString>().map(|text| text.to_str()) {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(_)) => {
            let text = "a feature's name must be encodable as UTF-8";
            Err(Error::spec(text)).or_raise(name.py())
        }
        Err(_) => {
            let found = name.get_type().name()?;
            let text = format!("a feature's name must be str, not {found}");
            Err(Error::spec(text)).or_raise(name.py())
        }
    }
}
