//! Writing files.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tfrecs_core::record::storage::permissions::Permissions;
use tfrecs_core::record::write::destination;
use tfrecs_core::record::{DeflateOptions, Digest, Mode, RecordWriter, WriteOptions};
use tfrecs_core::{Error, Result};

use crate::error::{Raise, wrong_type};
use crate::files::pipe;
use crate::files::reader::compression_of;
use crate::files::records::{Input, PyRecords, next_some};
use crate::interpreter::shared::Shared;

/// Writes records to one file.
#[pyclass(frozen, name = "Writer", module = "tfrecs._core")]
pub struct PyWriter(Shared<RecordWriter>);

/// As `tfrecs.native.Writing` has it, in its order.
type Writing = (
    String,
    String,
    bool,
    bool,
    Option<usize>,
    bool,
    bool,
    [Option<i64>; 6],
    Option<Vec<PathBuf>>,
);

#[pymethods]
impl PyWriter {
    /// Opens the file, as `tfrecs.native.Writing` says.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, how: Writing) -> PyResult<Self> {
        let (codec, mode, atomic, sync, threads, resume, digest, deflate, sources) = how;
        let located = |error: Error| error.with_path(&path);
        let options = options_of(&codec, &mode, deflate);
        let mut options = options.map_err(located).or_raise(py)?;
        options.in_place = !atomic;
        options.sync = sync;
        options.member_threads = threads;
        (options.resume, options.digest) = (resume, digest);
        options.only_files = sources.is_some();
        options.derived = sources.and_then(|sources| Permissions::derived(&sources));
        let special = if options.only_files {
            None
        } else {
            pipe::open(py, &path, pipe::End::Write)?
        };
        let writer = match special {
            Some(pipe) => RecordWriter::to_file(pipe, &path, &options),
            None => py.detach(|| RecordWriter::open(&path, options)),
        };
        let writer = writer.map_err(located).or_raise(py)?;
        Ok(Self(Shared::new(writer)))
    }

    /// How the file is compressed: "", "GZIP" or "ZLIB".
    #[getter]
    fn compression_type(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.0.enter_attached(py).or_raise(py)?.compression().name())
    }

    /// How many records this writer has written.
    #[getter]
    fn records(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.0.enter_attached(py).or_raise(py)?.records())
    }

    /// What the file had already: how many records, how many bytes after the last whole one, and whether
    /// a dead writer has left it.
    #[getter]
    fn old(&self, py: Python<'_>) -> PyResult<(u64, u64, bool)> {
        let old = self.0.enter_attached(py).or_raise(py)?.old();
        Ok((old.records, old.torn, old.is_resumed))
    }

    /// The digest of the records, if one is kept: how many, how many bytes, and their checksum.
    #[getter]
    fn digest(&self, py: Python<'_>) -> PyResult<Option<Numbers>> {
        let digest = self.0.enter_attached(py).or_raise(py)?.digest();
        Ok(digest.map(numbers))
    }

    /// Where the records are until the file gets its name.
    #[getter]
    fn temporary_path(&self, py: Python<'_>) -> PyResult<Option<OsString>> {
        let writer = self.0.enter_attached(py).or_raise(py)?;
        Ok(writer
            .temporary_path()
            .map(|path| path.as_os_str().to_owned()))
    }

    /// Whether the writer takes no more records.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.0.enter_attached(py).or_raise(py)?.is_closed())
    }

    /// Adds a record: bytes, or anything else that is a flat buffer of bytes.
    fn write(&self, py: Python<'_>, record: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(bytes) = record.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            let mut writer = self.0.enter_attached(py).or_raise(py)?;
            if writer.has_room_for(bytes.len()) {
                return writer.write(bytes).or_raise(py);
            }
            drop(writer);
            return py.detach(|| self.0.enter()?.write(bytes)).or_raise(py);
        }
        let found = record.get_type().name()?;
        let Ok(buffer) = PyBuffer::<u8>::get(record) else {
            return Err(wrong_type(format!("a record must be bytes, not {found}")));
        };
        // A buffer may change under us; a copy cannot.
        let bytes = buffer.to_vec(py)?;
        py.detach(|| self.0.enter()?.write(&bytes)).or_raise(py)
    }

    /// Adds records.
    fn write_batch(&self, py: Python<'_>, records: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(records) = records.cast::<PyRecords>() {
            let records = &records.get().0;
            return self.without_gil(py, |writer| writer.write_batch(records));
        }
        let mut records = Input::iterate(records)?;
        loop {
            // A part at a time: a generator may have more than fits into memory.
            let some = next_some(&mut records)?;
            if some.is_empty() {
                return Ok(());
            }
            let slices = some.iter().map(AsRef::as_ref);
            self.without_gil(py, |writer| writer.write_all(slices))?;
        }
    }

    /// Hands everything so far to the operating system, readable.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.without_gil(py, RecordWriter::flush)
    }

    /// Has everything so far on the disk, readable.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.without_gil(py, RecordWriter::sync)
    }

    /// Completes the file and syncs it, but leaves it unpublished.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.without_gil(py, RecordWriter::finish)
    }

    /// Completes the file and publishes it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.without_gil(py, RecordWriter::close)
    }

    /// Publishes a finished file under this name.
    fn publish_as(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.without_gil(py, |writer| writer.publish_as(&path))
    }

    /// Leaves a finished file to whoever publishes it.
    fn leave(&self, py: Python<'_>) -> PyResult<()> {
        self.without_gil(py, |writer| {
            writer.leave();
            Ok(())
        })
    }

    /// Gives the file up.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        self.without_gil(py, |writer| {
            writer.abandon();
            Ok(())
        })
    }
}

impl PyWriter {
    fn without_gil(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut RecordWriter) -> Result<()> + Send,
    ) -> PyResult<()> {
        py.detach(|| call(&mut *self.0.enter()?)).or_raise(py)
    }
}

/// A digest's numbers: records, bytes, checksum.
type Numbers = (u64, u64, u32);

fn numbers(digest: Digest) -> Numbers {
    (digest.records, digest.bytes, digest.checksum)
}

/// The digest of the records of a file: how many, how many bytes, and their checksum.
#[pyfunction]
pub fn digest_file(py: Python<'_>, path: PathBuf, compression_type: &str) -> PyResult<Numbers> {
    let compression = compression_of(compression_type).or_raise(py)?;
    let digest = py.detach(|| Digest::of_file(&path, compression));
    digest.map(numbers).or_raise(py)
}

/// A temporary sibling: its path, its file's, whether a writer has it open, the process in its name.
type FoundTemporary = (OsString, OsString, bool, Option<u32>);

/// The temporary siblings of a file, or all in a folder.
#[pyfunction]
pub fn find_temporaries(py: Python<'_>, path: PathBuf) -> PyResult<Vec<FoundTemporary>> {
    let found = py.detach(|| destination::find(&path)).or_raise(py)?;
    let found = found.into_iter().map(|it| {
        let (path, target) = (it.path.into_os_string(), it.target.into_os_string());
        (path, target, it.is_taken, it.process)
    });
    Ok(found.collect())
}

fn options_of(
    compression_type: &str,
    mode: &str,
    deflate: [Option<i64>; 6],
) -> Result<WriteOptions> {
    let mode = match mode {
        "w" => Mode::Replace,
        "a" => Mode::Append,
        "x" => Mode::Create,
        other => {
            return Err(Error::spec(format!(
                "mode must be \"w\", \"a\" or \"x\", not {other:?}"
            )));
        }
    };
    let defaults = DeflateOptions::default();
    let [
        level,
        window_bits,
        mem_level,
        strategy,
        flush_mode,
        input_buffer_size,
    ] = deflate;
    let int = |value: Option<i64>, default: i32| {
        // Out of range stays out of range, and zlib refuses it.
        value.map_or(default, |value| i32::try_from(value).unwrap_or(i32::MAX))
    };
    let deflate = DeflateOptions {
        level: int(level, defaults.level),
        window_bits: window_bits.map(|_| int(window_bits, 0)),
        mem_level: int(mem_level, defaults.mem_level),
        strategy: int(strategy, defaults.strategy),
        flush_mode: int(flush_mode, defaults.flush_mode),
        input_buffer_size: input_buffer_size.map_or(defaults.input_buffer_size, |size| {
            usize::try_from(size).unwrap_or(0)
        }),
    };
    if !(0..=3).contains(&deflate.flush_mode) {
        return Err(Error::spec(format!(
            "flush_mode must be 0 to 3, not {}",
            deflate.flush_mode
        )));
    }
    let compression = compression_of(compression_type)?;
    Ok(WriteOptions {
        compression,
        deflate,
        mode,
        ..WriteOptions::default()
    })
}
