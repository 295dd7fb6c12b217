//! Reading damaged files.

use std::path::PathBuf;

use pyo3::prelude::*;
use tfrecs_core::record::salvage::{Piece, Salvage, SalvageMode, SalvageOptions, SkippedRegion};
use tfrecs_core::{Error, Result};

use crate::error::{Raise, exception_of};
use crate::files::reader::{GivenLimits, compression_of, limits_of};
use crate::files::records::PyRecords;
use crate::interpreter::shared::Shared;

/// Reads what can be read of one file.
#[pyclass(frozen, name = "Salvage", module = "tfrecs._core")]
pub struct PySalvage(Shared<Option<Salvage>>);

fn mode_of(name: &str) -> Result<SalvageMode> {
    match name {
        "strict" => Ok(SalvageMode::Strict),
        "tolerate_tail" => Ok(SalvageMode::TolerateTail),
        "skip_corrupt" => Ok(SalvageMode::SkipCorrupt),
        other => Err(Error::spec(format!(
            "there is no mode {other:?}: it is \"strict\", \"tolerate_tail\" or \"skip_corrupt\""
        ))),
    }
}

fn opened(salvage: &mut Option<Salvage>) -> Result<&mut Salvage> {
    salvage
        .as_mut()
        .ok_or_else(|| Error::state("Salvage is closed."))
}

/// Begin, end, and the exception that says what is wrong.
pub fn region_of(py: Python<'_>, region: &SkippedRegion) -> PyResult<(u64, u64, PyErr)> {
    Ok((region.begin, region.end, exception_of(py, &region.reason)?))
}

#[pymethods]
impl PySalvage {
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        compression_type: &str,
        mode: &str,
        max_lost_bytes: Option<u64>,
        max_lost_records: Option<u64>,
        limits: GivenLimits,
    ) -> PyResult<Self> {
        let located = |error: Error| error.with_path(&path);
        let compression = compression_of(compression_type).map_err(located);
        let options = SalvageOptions {
            mode: mode_of(mode).or_raise(py)?,
            compression: compression.or_raise(py)?,
            max_lost_bytes,
            max_lost_records,
            limits: limits_of(limits),
        };
        let salvage = py.detach(|| Salvage::open(&path, options)).or_raise(py)?;
        Ok(Self(Shared::new(Some(salvage))))
    }

    /// How the file is compressed: "", "GZIP" or "ZLIB".
    #[getter]
    fn compression_type(&self, py: Python<'_>) -> PyResult<&'static str> {
        let mut guard = self.0.enter_attached(py).or_raise(py)?;
        Ok(opened(&mut guard).or_raise(py)?.compression().name())
    }

    /// Bytes and regions lost so far, and records whose headers were damaged.
    #[getter]
    fn lost(&self, py: Python<'_>) -> PyResult<(u64, u64, u64)> {
        let mut guard = self.0.enter_attached(py).or_raise(py)?;
        let lost = opened(&mut guard).or_raise(py)?.lost();
        Ok((lost.bytes, lost.regions, lost.mended))
    }

    /// The next records, at most `n`, or begin, end and reason of the next region without any.
    fn next_piece<'py>(&self, py: Python<'py>, n: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let piece = py.detach(|| opened(&mut *self.0.enter()?)?.next_piece(n));
        Ok(match piece.or_raise(py)? {
            None => None,
            Some(Piece::Records(records)) => Some(Bound::new(py, PyRecords(records))?.into_any()),
            Some(Piece::Skipped(region)) => Some(self.hand_out(py, region)?),
        })
    }

    /// Closes the file.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        *self.0.enter_attached(py).or_raise(py)? = None;
        Ok(())
    }
}

impl PySalvage {
    /// A region, which is not lost if a signal comes first.
    fn hand_out<'py>(&self, py: Python<'py>, region: SkippedRegion) -> PyResult<Bound<'py, PyAny>> {
        match region_of(py, &region) {
            Ok(tuple) => Ok(tuple.into_pyobject(py)?.into_any()),
            Err(signal) => {
                if let Some(salvage) = self.0.enter_attached(py).or_raise(py)?.as_mut() {
                    salvage.take_back(Piece::Skipped(region));
                }
                Err(signal)
            }
        }
    }
}
