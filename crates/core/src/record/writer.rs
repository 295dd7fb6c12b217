//! Writing a file of records.
//!
//! Bytes pass three stages: frames are collected in `pending`, compressed onto `ready` where the
//! file is compressed, and written from there. Any error is final: it is reported by the call that
//! met it and by every later one, and the file is never published.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::compression::Compression;
use super::deflate::{DeflateOptions, Deflater, Flush};
use super::frame::{self, FOOTER, HEADER};
use super::publish::{Destination, Mode};
use super::reader::{ReadOptions, RecordReader};
use crate::error::{Category, Error, ErrorKind, Result};

/// How to write.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions {
    /// The compression; `None` decides from the file's name.
    pub compression: Option<Compression>,
    /// zlib's parameters, where the file is compressed.
    pub deflate: DeflateOptions,
    /// What to do with a file that is there already.
    pub mode: Mode,
    /// Write in place, visible from the first byte.
    pub in_place: bool,
}

/// Writes records to one file.
pub struct RecordWriter {
    destination: Destination,
    path: PathBuf,
    compression: Compression,
    deflater: Option<Deflater>,
    flush_mode: i32,
    pending: Vec<u8>,
    pending_limit: usize,
    ready: Vec<u8>,
    records: u64,
    repaired: u64,
    stage: Stage,
}

#[derive(Clone, Debug)]
enum Stage {
    Open,
    Finished,
    Closed,
    Failed(Error),
}

/// Uncompressed bytes that are collected before they are written.
const WRITE_BUFFER: usize = 256 << 10;

impl RecordWriter {
    /// Creates or opens `path`.
    ///
    /// # Errors
    /// Of the operating system; when appending, of the records that are there already;
    /// [`ErrorKind::Spec`] for parameters that zlib refuses.
    pub fn open(path: &Path, options: WriteOptions) -> Result<Self> {
        let mut compression = options
            .compression
            .unwrap_or_else(|| Compression::of_suffix(path));
        let metadata = path.metadata().ok();
        if metadata.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            let error = std::io::Error::from(std::io::ErrorKind::IsADirectory);
            return Err(Error::from(error).with_path(path));
        }
        let mut tail = Tail::default();
        if options.mode == Mode::Append && metadata.as_ref().is_some_and(|m| m.len() > 0) {
            tail = Tail::of(path)?;
            compression = tail.agree(path, options.compression)?;
        }
        // A pipe or a device has no content to replace, and nothing can take its name.
        let special = metadata.is_some_and(|m| !m.is_file());
        let exclusive = options.mode == Mode::Create;
        let deflater = Self::deflater(compression, &options)?;
        let destination = match options.mode {
            Mode::Append if tail.length > 0 => {
                Destination::append(path, tail.length, options.in_place)?
            }
            _ if options.in_place || special => Destination::in_place(path, exclusive)?,
            _ => Destination::temporary(path, exclusive)?,
        };
        let mut writer = Self::new(destination, path, compression, deflater, &options);
        writer.repaired = tail.torn;
        Ok(writer)
    }

    /// Writes to `file`, which was opened by somebody else, and is called `path` in errors.
    ///
    /// # Errors
    /// [`ErrorKind::Spec`] for parameters that zlib refuses.
    pub fn to_file(file: File, path: &Path, options: &WriteOptions) -> Result<Self> {
        let compression = options
            .compression
            .unwrap_or_else(|| Compression::of_suffix(path));
        let deflater = Self::deflater(compression, options)?;
        let destination = Destination::opened(file, path);
        Ok(Self::new(destination, path, compression, deflater, options))
    }

    fn deflater(compression: Compression, options: &WriteOptions) -> Result<Option<Deflater>> {
        match compression {
            Compression::None => Ok(None),
            codec => Deflater::new(codec, &options.deflate).map(Some),
        }
    }

    fn new(
        destination: Destination,
        path: &Path,
        compression: Compression,
        deflater: Option<Deflater>,
        options: &WriteOptions,
    ) -> Self {
        let pending_limit = match &deflater {
            Some(_) => options.deflate.input_buffer_size.max(1),
            None => WRITE_BUFFER,
        };
        Self {
            destination,
            path: path.to_owned(),
            compression,
            deflater,
            flush_mode: options.deflate.flush_mode,
            pending: Vec::new(),
            pending_limit,
            ready: Vec::new(),
            records: 0,
            repaired: 0,
            stage: Stage::Open,
        }
    }

    /// How the file is compressed.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// How many records were written by this writer.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// How many bytes of a torn record at the end of the old file were cut off on opening it.
    #[must_use]
    pub fn repaired(&self) -> u64 {
        self.repaired
    }

    /// Whether the writer takes no more records.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        !matches!(self.stage, Stage::Open | Stage::Failed(_))
    }

    /// Adds a record.
    ///
    /// # Errors
    /// Of the operating system; [`ErrorKind::State`] after the writer was closed.
    pub fn write(&mut self, record: &[u8]) -> Result<()> {
        self.check_open()?;
        self.push(&frame::header(record.len() as u64))?;
        self.push(record)?;
        self.push(&frame::footer(record))?;
        self.records += 1;
        Ok(())
    }

    /// Whether a record of `length` bytes can be added without writing anything to the file.
    #[must_use]
    pub fn has_room_for(&self, length: usize) -> bool {
        let frame = HEADER + FOOTER;
        self.pending
            .len()
            .saturating_add(length)
            .saturating_add(frame)
            <= self.pending_limit
    }

    /// Adds many records.
    ///
    /// # Errors
    /// As for [`Self::write`]; the records before the error are written then.
    pub fn write_all<'a>(&mut self, records: impl IntoIterator<Item = &'a [u8]>) -> Result<()> {
        records
            .into_iter()
            .try_for_each(|record| self.write(record))
    }

    /// Hands everything so far to the operating system, in a form that can be read.
    ///
    /// # Errors
    /// As for [`Self::write`].
    pub fn flush(&mut self) -> Result<()> {
        self.check_open()?;
        self.drain(Flush::Partial)
    }

    /// Completes the file and makes sure that it is on the disk, but does not publish it yet.
    ///
    /// # Errors
    /// As for [`Self::write`].
    pub fn finish(&mut self) -> Result<()> {
        if matches!(self.stage, Stage::Finished | Stage::Closed) {
            return Ok(());
        }
        self.check_open()?;
        self.drain(Flush::Finish)?;
        let synced = self.destination.complete();
        self.check(synced)?;
        self.stage = Stage::Finished;
        Ok(())
    }

    /// Completes the file and gives it its name. Closing twice is no error.
    ///
    /// # Errors
    /// As for [`Self::write`]; an error that was met before is reported once more, and then the
    /// writer is closed without having published anything.
    pub fn close(&mut self) -> Result<()> {
        if matches!(self.stage, Stage::Closed) {
            return Ok(());
        }
        let finished = self.finish();
        if finished.is_err() {
            self.abandon();
            return finished;
        }
        self.publish(None)
    }

    /// Publishes a finished file under another name than the one it was opened for.
    ///
    /// # Errors
    /// Of the operating system; [`ErrorKind::State`] if the file is not finished.
    pub fn publish_as(&mut self, path: &Path) -> Result<()> {
        match self.stage {
            Stage::Finished => self.publish(Some(path)),
            _ => Err(Error::state("Writer is not finished.").with_path(&self.path)),
        }
    }

    fn publish(&mut self, path: Option<&Path>) -> Result<()> {
        let published = self.destination.publish(path);
        self.stage = Stage::Closed;
        published.map_err(|error| Error::from(error).with_path(path.unwrap_or(&self.path)))
    }

    /// Gives the file up: the old one stays, a temporary one is removed, records that were
    /// appended are cut off again. What was written in place stays.
    pub fn abandon(&mut self) {
        self.destination.abandon();
        self.stage = Stage::Closed;
    }

    fn check_open(&self) -> Result<()> {
        if self.destination.is_foreign() {
            let text = "Writer belongs to the process that opened it, not to its fork.";
            return Err(Error::state(text).with_path(&self.path));
        }
        match &self.stage {
            Stage::Open => Ok(()),
            Stage::Failed(error) => Err(error.clone()),
            Stage::Finished | Stage::Closed => {
                Err(Error::state("Writer is closed.").with_path(&self.path))
            }
        }
    }

    /// Adds bytes to the stream of frames.
    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if self.pending.len() + bytes.len() <= self.pending_limit {
            self.pending.extend_from_slice(bytes);
            return Ok(());
        }
        let mode = Flush::Mode(self.flush_mode);
        self.drain(mode)?;
        if bytes.len() <= self.pending_limit {
            self.pending.extend_from_slice(bytes);
            return Ok(());
        }
        // Too long to be worth a copy.
        if let Some(deflater) = &mut self.deflater {
            deflater.compress(bytes, &mut self.ready, mode);
        } else {
            let written = self.destination.write_all(bytes);
            return self.check(written);
        }
        self.write_ready()
    }

    fn drain(&mut self, flush: Flush) -> Result<()> {
        match &mut self.deflater {
            Some(deflater) => deflater.compress(&self.pending, &mut self.ready, flush),
            None => std::mem::swap(&mut self.ready, &mut self.pending),
        }
        self.pending.clear();
        self.write_ready()
    }

    fn write_ready(&mut self) -> Result<()> {
        let written = self.destination.write_all(&self.ready);
        self.ready.clear();
        self.check(written)
    }

    /// Makes an error of the operating system final.
    fn check(&mut self, result: std::io::Result<()>) -> Result<()> {
        result.map_err(|error| {
            let error = Error::from(error)
                .with_path(&self.path)
                .at_record(self.records);
            self.stage = Stage::Failed(error.clone());
            error
        })
    }
}

/// What stands at the end of a file that is to be appended to.
#[derive(Default)]
struct Tail {
    compression: Compression,
    /// The length of what is sound.
    length: u64,
    /// How many bytes of a torn record follow it.
    torn: u64,
}

impl Tail {
    /// Reads all of `path`, checksums included: nothing is added behind damage.
    fn of(path: &Path) -> Result<Self> {
        let mut reader = RecordReader::open(path, ReadOptions::default())?;
        let compression = reader.compression();
        let size = path
            .metadata()
            .map_err(|e| Error::from(e).with_path(path))?
            .len();
        loop {
            match reader.next_record() {
                Ok(Some(_)) => {}
                Ok(None) => {
                    return Ok(Self {
                        compression,
                        length: size,
                        torn: 0,
                    });
                }
                Err(error) if Self::is_torn(&error, compression) => {
                    let length = reader.offset();
                    return Ok(Self {
                        compression,
                        length,
                        torn: size - length,
                    });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// A record that an interrupted writer left half written, where it can simply be cut off.
    fn is_torn(error: &Error, compression: Compression) -> bool {
        error.category() == Category::Truncated
            && compression == Compression::None
            && !matches!(error.kind(), ErrorKind::ImpossibleLength(_))
    }

    /// The compression to go on with.
    fn agree(&self, path: &Path, asked: Option<Compression>) -> Result<Compression> {
        let found = self.compression;
        if self.length == 0 {
            return Ok(asked.unwrap_or_else(|| Compression::of_suffix(path)));
        }
        if asked.is_some_and(|asked| asked != found) {
            return Err(Error::spec(format!(
                "cannot append with compression_type {:?}: the file has {:?}",
                asked.unwrap_or_default().name(),
                found.name()
            ))
            .with_path(path));
        }
        if found == Compression::Zlib {
            return Err(Error::spec(
                "cannot append to a ZLIB file: the format has one stream, and readers ignore a \
                 second one; use GZIP",
            )
            .with_path(path));
        }
        Ok(found)
    }
}
