//! How files are read, how their records are put into batches, and what becomes of each batch.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tfrecs_core::Result;
use tfrecs_core::example::{ExampleDecoder, FeatureSpec, ListSpec, SequenceDecoder};
use tfrecs_core::pipeline::gather::{Pick, gather};
use tfrecs_core::pipeline::output::{ColumnsAndRecords, DecodedColumns, Output, RawRecords};
use tfrecs_core::pipeline::scan::{Request, Scan, scan};
use tfrecs_core::record::ReadOptions;

use crate::arrays::decode::{SpecPieces, assemble, examples, sequences};
use crate::error::Raise;
use crate::files::reader::{GivenLimits, compression_of, limits_of};
use crate::files::records::{Input, PyRecords};
use crate::pipeline::batches::Kind;

/// How files are read.
#[pyclass(frozen, name = "ReadOptions", module = "tfrecs._core")]
pub struct PyReadOptions {
    pub read: ReadOptions,
    pub skip_corrupt: bool,
}

#[pymethods]
impl PyReadOptions {
    #[new]
    fn new(
        py: Python<'_>,
        compression_type: &str,
        verify: bool,
        limits: GivenLimits,
        skip_corrupt: bool,
    ) -> PyResult<Self> {
        let read = ReadOptions {
            compression: compression_of(compression_type).or_raise(py)?,
            verify,
            limits: limits_of(limits),
        };
        Ok(Self { read, skip_corrupt })
    }
}

/// How records are put into batches, and by how many threads.
#[pyclass(frozen, name = "Batching", module = "tfrecs._core")]
pub struct PyBatching {
    pub size: usize,
    pub drop_remainder: bool,
    pub threads: usize,
    pub most_bytes: usize,
    pub most_ahead: usize,
}

#[pymethods]
impl PyBatching {
    /// Batches of `size` records, or of fewer with `most_bytes` bytes; `most_ahead` bytes may wait.
    #[new]
    #[pyo3(signature = (size, drop_remainder, threads, most_bytes=None, most_ahead=None))]
    fn new(
        size: usize,
        drop_remainder: bool,
        threads: usize,
        most_bytes: Option<usize>,
        most_ahead: Option<usize>,
    ) -> Self {
        Self {
            size,
            drop_remainder,
            threads,
            most_bytes: most_bytes.unwrap_or(usize::MAX),
            most_ahead: most_ahead.unwrap_or(usize::MAX),
        }
    }
}

/// What becomes of each batch.
#[pyclass(frozen, name = "Output", module = "tfrecs._core")]
pub struct PyOutput(OutputKind);

enum OutputKind {
    Records { partial: bool },
    Examples(Vec<FeatureSpec>),
    ExamplesAndRecords(Vec<FeatureSpec>),
    Sequences(Option<Vec<FeatureSpec>>, Option<Vec<ListSpec>>),
}

#[pymethods]
impl PyOutput {
    /// Records; with `partial`, those before an error come before it, as a batch of fewer.
    #[staticmethod]
    fn records(partial: bool) -> Self {
        Self(OutputKind::Records { partial })
    }

    /// Columns of Examples and the provenance of their rows.
    #[staticmethod]
    fn columns(features: Bound<'_, PyTuple>) -> PyResult<Self> {
        features_of(features).map(|features| Self(OutputKind::Examples(features)))
    }

    /// Columns of Examples and the records themselves.
    #[staticmethod]
    fn columns_and_records(features: Bound<'_, PyTuple>) -> PyResult<Self> {
        features_of(features).map(|features| Self(OutputKind::ExamplesAndRecords(features)))
    }

    /// Columns of the contexts of `SequenceExample`s, those of their lists, and their provenance.
    #[staticmethod]
    #[pyo3(signature = (context, lists))]
    fn sequence_columns(
        context: Option<Bound<'_, PyTuple>>,
        lists: Option<Bound<'_, PyTuple>>,
    ) -> PyResult<Self> {
        let context = assemble(context, SpecPieces::feature)?;
        let lists = assemble(lists, SpecPieces::list)?;
        Ok(Self(OutputKind::Sequences(context, lists)))
    }

    /// Whether records before an error come before it, as a batch of fewer.
    #[getter]
    fn partial(&self) -> bool {
        self.is_partial()
    }

    /// What becomes of records in memory: as from `Scan` and `Gather`, but the records stay beside the columns.
    fn of<'py>(&self, records: &Bound<'py, PyRecords>) -> PyResult<Bound<'py, PyAny>> {
        let (py, given) = (records.py(), Input::Records(records.get().0.clone()));
        let made = match &self.0 {
            OutputKind::Records { .. } => return Ok(records.clone().into_any()),
            OutputKind::Examples(features) | OutputKind::ExamplesAndRecords(features) => {
                let columns = examples(py, &given, Some(features), None)?;
                (columns, records.clone()).into_pyobject(py)?.into_any()
            }
            OutputKind::Sequences(context, lists) => {
                let spec = (context.as_deref(), lists.as_deref());
                let (context, lists) = sequences(py, &given, spec, None)?;
                (context, lists, records.clone())
                    .into_pyobject(py)?
                    .into_any()
            }
        };
        Ok(made)
    }
}

fn features_of(features: Bound<'_, PyTuple>) -> PyResult<Vec<FeatureSpec>> {
    Ok(assemble(Some(features), SpecPieces::feature)?.unwrap_or_default())
}

impl PyOutput {
    /// Whether records before an error come before it.
    pub fn is_partial(&self) -> bool {
        matches!(self.0, OutputKind::Records { partial: true })
    }

    /// Begins to read.
    pub fn start(&self, source: &impl BatchSource) -> Result<Kind> {
        match &self.0 {
            &OutputKind::Records { partial } => source
                .start(|| RawRecords { partial })
                .map(|scan| Kind::Records(scan, None)),
            OutputKind::Examples(features) => source
                .start(|| DecodedColumns::new(ExampleDecoder::new(Some(features))))
                .map(Kind::Examples),
            OutputKind::ExamplesAndRecords(features) => source
                .start(|| ColumnsAndRecords::new(ExampleDecoder::new(Some(features))))
                .map(Kind::Examples),
            OutputKind::Sequences(context, lists) => source
                .start(|| {
                    let decoder = SequenceDecoder::new(context.as_deref(), lists.as_deref());
                    DecodedColumns::new(decoder)
                })
                .map(Kind::Sequences),
        }
    }
}

/// Where batches come from: a scan, or records in any order.
pub trait BatchSource {
    fn start<O>(&self, output: impl FnMut() -> O) -> Result<Scan<O::Batch>>
    where
        O: Output + Send + 'static;
}

impl BatchSource for Request {
    fn start<O>(&self, output: impl FnMut() -> O) -> Result<Scan<O::Batch>>
    where
        O: Output + Send + 'static,
    {
        scan(self, output)
    }
}

impl BatchSource for Pick {
    fn start<O>(&self, output: impl FnMut() -> O) -> Result<Scan<O::Batch>>
    where
        O: Output + Send + 'static,
    {
        gather(self, output)
    }
}
