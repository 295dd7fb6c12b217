//! What stands between the brackets of `records[…]`.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::slice::PySliceIndices;
use pyo3::types::{PyBool, PySlice};

use crate::columns::copy;
use crate::error::{no_such_index, wrong_type};

/// Which records of a sequence are meant.
pub enum Places {
    /// One, by itself.
    One(usize),
    /// Some that lie one behind the other.
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
        match index.extract::<isize>() {
            Ok(index) => place(index, len).map(Self::One),
            Err(_) => of_many(index, len).map(Self::Some),
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
    let refused =
        || wrong_type("records are indexed with an integer, a slice or a sequence of integers");
    let mut places = Vec::new();
    for item in indices.try_iter().map_err(|_| refused())? {
        let item = item?;
        let index = item.extract().ok();
        let index = index
            .filter(|_| !item.is_instance_of::<PyBool>())
            .ok_or_else(refused)?;
        places.push(place(index, len)?);
    }
    Ok(places)
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
