//! Records of files that are not `TFRecord` files.

use std::path::PathBuf;

use pyo3::prelude::*;
use tfrecs_core::record::other_formats::{ForeignOptions, Format, ReadPosition, Turns};
use tfrecs_core::{Error, Result};

use crate::error::{Raise, wrong_type};
use crate::files::reader::{GivenLimits, compression_of, limits_of};
use crate::files::records::PyRecords;
use crate::interpreter::shared::Shared;

/// Reads the records of several files in turn.
#[pyclass(frozen, name = "Foreign", module = "tfrecs._core")]
pub struct PyForeign(Shared<Option<Turns>>);

/// What a record is, how the files are compressed, what is too much, how many files are read at a time, and how many
/// records come of one before it is the next one's turn.
type Given = ((String, u64, usize, usize), String, GivenLimits, usize, u64);

/// A place as Python's side keeps it: the open files, whose turn it is, how many records it has given, the next file.
type GivenPlace = (Vec<(usize, usize, u64, u64)>, usize, u64, usize);

fn opened(turns: &mut Option<Turns>) -> Result<&mut Turns> {
    turns
        .as_mut()
        .ok_or_else(|| Error::state("this iterator is closed"))
}

#[pymethods]
impl PyForeign {
    /// Reads from the beginning, or from a place on.
    #[new]
    #[pyo3(signature = (paths, how, place=None))]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        how: Given,
        place: Option<GivenPlace>,
    ) -> PyResult<Self> {
        let (format, compression, limits, cycle, block) = how;
        let options = ForeignOptions {
            format: format_of(&format)?,
            compression: compression_of(&compression).or_raise(py)?,
            limits: limits_of(limits),
        };
        let mut turns = Turns::new(paths, options, cycle, block);
        if let Some((open, place, given, next)) = place {
            let place = ReadPosition {
                open,
                place,
                given,
                next,
            };
            py.detach(|| turns.go_to(&place)).or_raise(py)?;
        }
        Ok(Self(Shared::new(Some(turns))))
    }

    /// The next records, at most `n`, and no more once they have `bytes` bytes; none at the end.
    fn read(&self, py: Python<'_>, n: usize, bytes: usize) -> PyResult<PyRecords> {
        py.check_signals()?;
        py.detach(|| opened(&mut *self.0.enter()?)?.next(n, bytes))
            .or_raise(py)
            .map(PyRecords)
    }

    /// Passes over at most `n` records, and says how many there were.
    fn skip(&self, py: Python<'_>, n: u64) -> PyResult<u64> {
        py.detach(|| opened(&mut *self.0.enter()?)?.skip(n))
            .or_raise(py)
    }

    /// Where reading is.
    fn place(&self, py: Python<'_>) -> PyResult<GivenPlace> {
        let mut guard = self.0.enter_attached(py).or_raise(py)?;
        let place = opened(&mut guard).or_raise(py)?.place();
        Ok((place.open, place.place, place.given, place.next))
    }

    /// Closes the files.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let old = self.0.enter_attached(py).or_raise(py)?.take();
        py.detach(|| drop(old));
        Ok(())
    }
}

fn format_of((name, header, record, footer): &(String, u64, usize, usize)) -> PyResult<Format> {
    Ok(match name.as_str() {
        "lines" => Format::Lines { header: *header },
        "fixed" => Format::Fixed {
            header: *header,
            record: *record,
            footer: *footer,
        },
        "whole" => Format::Whole,
        _ => return Err(wrong_type(format!("there is no format {name:?}"))),
    })
}
