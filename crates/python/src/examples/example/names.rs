//! What a thread remembers of the records that it has decoded: the names of their features.
//!
//! The records of a file have the same few names, mostly in the same order. So a name becomes a
//! `str` once and not in every record, and a record whose names are those of the one before begins
//! with a copy of a dict that has them all: that is one copy of memory, where inserting them one by
//! one grows the dict again and again.
//!
//! All of this is a guess that is checked name by name. It is bounded, however many names there are
//! and however long, and it belongs to a thread: there is nothing to lock, and nothing to wait for.

use std::cell::Cell;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

/// The longest name that is remembered, in bytes.
const MAX_NAME: usize = 128;

/// How many names of a record are remembered in order.
const MAX_PLACES: usize = 1024;

/// How many names are remembered whatever their place.
const SLOTS: usize = 512;

thread_local! {
    static MEMORY: Cell<Option<Box<Names>>> = const { Cell::new(None) };
}

/// The names of the last records.
pub struct Names {
    /// By a hash of their bytes.
    slots: Box<[Option<Py<PyString>>; SLOTS]>,
    /// Those of the last record, in order.
    order: Vec<Option<Py<PyString>>>,
    /// A dict of those, once two records in a row had them.
    template: Option<Py<PyDict>>,
}

impl Names {
    /// Calls `work` with what this thread remembers. A call inside `work`, such as the garbage
    /// collector may make, begins with nothing.
    pub fn with<R>(work: impl FnOnce(&mut Self) -> R) -> R {
        let mut names = MEMORY.take().unwrap_or_default();
        let result = work(&mut names);
        MEMORY.set(Some(names));
        result
    }

    /// The `str` of a name.
    pub fn text<'py>(&mut self, py: Python<'py>, name: &str) -> Bound<'py, PyString> {
        if name.len() > MAX_NAME {
            return PyString::new(py, name);
        }
        let slot = &mut self.slots[slot_of(name.as_bytes())];
        match slot {
            Some(text) if is(py, text, name.as_bytes()) => text.bind(py).clone(),
            _ => {
                let text = PyString::new(py, name);
                *slot = Some(text.clone().unbind());
                text
            }
        }
    }

    /// Remembers the name at a place of the record, or nothing if it is too long.
    fn remember(&mut self, place: usize, text: &Bound<'_, PyString>, name: &str) {
        let kept = (name.len() <= MAX_NAME).then(|| text.clone().unbind());
        match self.order.get_mut(place) {
            Some(old) => *old = kept,
            None if place < MAX_PLACES => self.order.push(kept),
            None => {}
        }
    }

    /// A dict of the names in order, if there is one for them.
    fn make_template(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let dict = PyDict::new(py);
        for name in self.order.iter().flatten() {
            dict.set_item(name, py.None())?;
        }
        Ok(dict.unbind())
    }
}

impl Default for Names {
    fn default() -> Self {
        Self {
            slots: Box::new([const { None }; SLOTS]),
            order: Vec::new(),
            template: None,
        }
    }
}

/// Whether `text` is `name`.
#[inline]
fn is(py: Python<'_>, text: &Py<PyString>, name: &[u8]) -> bool {
    text.bind(py)
        .to_str()
        .is_ok_and(|text| text.as_bytes() == name)
}

/// Where a name is remembered: by its length and its first and last bytes, which is where names differ.
fn slot_of(name: &[u8]) -> usize {
    let word = |chunk: Option<&[u8; 8]>| {
        chunk.map_or_else(|| short(name), |&chunk| u64::from_le_bytes(chunk))
    };
    let (first, last) = (word(name.first_chunk()), word(name.last_chunk()));
    let mixed = (first ^ last.rotate_left(29) ^ name.len() as u64).wrapping_mul(MIX);
    let [.., low, high] = mixed.to_le_bytes();
    usize::from(u16::from_le_bytes([low, high])) % SLOTS
}

/// An odd number without order in its bits: what is multiplied by it is different at the top.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

fn short(name: &[u8]) -> u64 {
    name.iter().fold(0, |all, &byte| all << 8 | u64::from(byte))
}

/// The dict of a record in the making.
pub struct Row<'a, 'py> {
    names: &'a mut Names,
    dict: Bound<'py, PyDict>,
    /// How many features have come.
    place: usize,
    /// Whether all had the names of the last record.
    is_alike: bool,
    /// Whether the dict has names already that have not come yet.
    is_ahead: bool,
}

impl<'a, 'py> Row<'a, 'py> {
    /// An empty one.
    pub fn begin(py: Python<'py>, names: &'a mut Names) -> PyResult<Self> {
        let (dict, is_ahead) = match &names.template {
            Some(template) => (template.bind(py).copy()?, true),
            None => (PyDict::new(py), false),
        };
        Ok(Self {
            names,
            dict,
            place: 0,
            is_alike: true,
            is_ahead,
        })
    }

    /// The name of the next feature, if its bytes are those of the name at this place of the last
    /// record.
    #[inline]
    pub fn expect(&self, key: &[u8]) -> Option<Bound<'py, PyString>> {
        let py = self.dict.py();
        let text = self.names.order.get(self.place)?.as_ref()?;
        is(py, text, key).then(|| text.bind(py).clone())
    }

    /// The name of the next feature, which is not the expected one.
    pub fn learn(&mut self, name: &str) -> PyResult<Bound<'py, PyString>> {
        self.differ()?;
        let text = self.names.text(self.dict.py(), name);
        self.names.remember(self.place, &text, name);
        Ok(text)
    }

    /// Adds the next feature; of features with the same name, the last one counts.
    #[inline]
    pub fn add(&mut self, name: &Bound<'py, PyString>, values: Bound<'py, PyList>) -> PyResult<()> {
        self.place += 1;
        self.dict.set_item(name, values)
    }

    /// The whole dict.
    pub fn finish(mut self) -> PyResult<Bound<'py, PyDict>> {
        if self.place < self.names.order.len() {
            self.differ()?;
            self.names.order.truncate(self.place);
        }
        // A name that came twice makes the dict shorter.
        let is_whole = self.place == self.names.order.len() && self.place == self.dict.len();
        if self.is_alike && is_whole && self.names.template.is_none() {
            self.names.template = Some(self.names.make_template(self.dict.py())?);
        }
        Ok(self.dict)
    }

    /// This record is not like the last one: what was expected of it is taken back.
    fn differ(&mut self) -> PyResult<()> {
        self.is_alike = false;
        self.names.template = None;
        if std::mem::take(&mut self.is_ahead) {
            let begun = PyDict::new(self.dict.py());
            let ahead = std::mem::replace(&mut self.dict, begun);
            for (name, values) in ahead.iter().take(self.place) {
                self.dict.set_item(name, values)?;
            }
        }
        Ok(())
    }
}
