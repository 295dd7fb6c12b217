//! What stands between the brackets of `records[…]`.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::slice::PySliceIndices;
use pyo3::types::{PyBool, PyBytes, PyInt, PySlice, PyString};

use crate::arrays::columns::copy;
use crate::error::{no_such_index, wrong_type};

/// Which records of a sequence are meant.
pub enum Places {
    /// One, by itself.
    One(usize),
    /// Some that lie one after the other.
    Range(Range<usize>),
    /// Some.
    Some(Vec<usize>),
}

impl Places {
    /// Those that `index` means in a sequence of `len`: an integer, a slice, or integers.
    pub fn of(index: &Bound<'_, PyAny>, len: usize) -> PyResult<Self> {
        if let Ok(slice) = index.cast::<PySlice>() {
            return of_slice(slice, len);
        }
        match number(index, len)? {
            Some(index) => place(index, len).map(Self::One),
            None => of_many(index, len).map(Self::Some),
        }
    }
}

/// The places that `indices` means: an array of int64, or any iterable of integers.
pub fn of_many(indices: &Bound<'_, PyAny>, len: usize) -> PyResult<Vec<usize>> {
    if let Ok(indices) = copy::<i64>(indices.py(), indices) {
        let as_index = |index: i64| isize::try_from(index).unwrap_or(isize::MAX);
        return indices
            .into_iter()
            .map(|index| place(as_index(index), len))
            .collect();
    }
    if indices.is_instance_of::<PyString>() || indices.is_instance_of::<PyBytes>() {
        return Err(refused(indices));
    }
    let mut places = Vec::new();
    for item in indices.try_iter().map_err(|_| refused(indices))? {
        let item = item?;
        let index = match number(&item, len)? {
            Some(index) if !item.is_instance_of::<PyBool>() => index,
            _ => return Err(refused(&item)),
        };
        places.push(place(index, len)?);
        if places.len() % AT_ONCE == 0 {
            indices.py().check_signals()?;
        }
    }
    Ok(places)
}

/// How many indices are gone through before signals are asked for: an iterator may have no end.
const AT_ONCE: usize = 1 << 16;

/// The integer that this is, if it is one; too large a one is no index.
fn number(item: &Bound<'_, PyAny>, len: usize) -> PyResult<Option<isize>> {
    match item.extract::<isize>() {
        Ok(number) => Ok(Some(number)),
        Err(_) if item.is_instance_of::<PyInt>() => Err(no_such_index(item, len)),
        Err(_) => Ok(None),
    }
}

fn refused(index: &Bound<'_, PyAny>) -> PyErr {
    let kind = index
        .get_type()
        .name()
        .map_or_else(|_| "that".to_owned(), |name| name.to_string());
    let mask = if kind.starts_with("bool") {
        ": of a mask, numpy.flatnonzero makes them"
    } else {
        ""
    };
    wrong_type(format!(
        "records are indexed with an integer, a slice or a sequence of integers, not {kind}{mask}"
    ))
}

fn of_slice(slice: &Bound<'_, PySlice>, len: usize) -> PyResult<Places> {
    let len = isize::try_from(len).unwrap_or(isize::MAX);
    let PySliceIndices {
        start,
        step,
        slicelength,
        ..
    } = slice.indices(len)?;
    if step == 1 {
        let start = usize::try_from(start).unwrap_or(0);
        return Ok(Places::Range(start..start + slicelength));
    }
    let place = |i: usize| {
        start
            .checked_add(step * isize::try_from(i).ok()?)?
            .try_into()
            .ok()
    };
    Ok(Places::Some((0..slicelength).filter_map(place).collect()))
}

fn place(index: isize, len: usize) -> PyResult<usize> {
    let from_start = if index < 0 {
        index.checked_add_unsigned(len)
    } else {
        Some(index)
    };
    let place = from_start.and_then(|place| usize::try_from(place).ok());
    place
        .filter(|&place| place < len)
        .ok_or_else(|| no_such_index(index, len))
}
