//! Reading a file record by record, or in batches.
//!
//! The reader keeps one buffer. Bytes come in at its end ([`RecordReader::fill`], the only place
//! that does I/O) and records go out at its front ([`RecordReader::step`], pure computation), so a
//! binding can hold its lock for the second and release it for the first.
//!
//! A fault is final: everything before it is delivered, then it is reported, and reported again
//! at every further call. Skipping over damage is another tool's work.

use std::fs::File;
use std::io::{ErrorKind as IoKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::buffer::{Buffer, CHUNK};
use crate::error::{Error, ErrorKind, Result};
use crate::record::codec::checkpoints::{Checkpoints, Scanner};
use crate::record::codec::compression::Compression;
use crate::record::codec::source;
use crate::record::codec::source::Source;
use crate::record::format::crc;
use crate::record::format::frame::{self, FOOTER, HEADER};
use crate::record::format::limits::{FileLimits, Limits};
use crate::record::format::sniff;
use crate::record::read::unread::HeaderScanner;

mod batch;

pub use batch::BatchInProgress;

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// The compression; `None` decides from the file's first bytes.
    pub compression: Option<Compression>,
    /// Whether to check the checksum of the data. That of the length is checked always.
    pub verify: bool,
    /// What is too much.
    pub limits: Limits,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            compression: None,
            verify: true,
            limits: Limits::default(),
        }
    }
}

/// What [`RecordReader::step`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A record, at this place of [`RecordReader::bytes`].
    Record(Range<usize>),
    /// Too few bytes: call [`RecordReader::fill`].
    NeedBytes,
    /// The clean end of the file.
    End,
}

/// Reads the records of one file in order.
pub struct RecordReader {
    source: Source,
    path: Option<Arc<Path>>,
    /// The file itself once more, to ask how long it is; none for what has no length.
    file: Option<File>,
    /// Whether the source reads that file, from after the bytes in the buffer.
    is_in_file: bool,
    options: ReadOptions,
    limits: FileLimits,
    buffer: Buffer,
    /// Offset of the first unread byte in the stream of frames.
    offset: u64,
    record: u64,
    /// Where reading ends, if before the end of the file.
    limit: Option<u64>,
    at_end: bool,
    /// Bytes that the record at the front needs, as far as is known.
    wanted: usize,
    fault: Option<Error>,
}

impl RecordReader {
    /// Opens `path`.
    ///
    /// # Errors
    /// Any I/O error; [`ErrorKind::NotTfRecord`]; all with the path.
    pub fn open(path: &Path, options: ReadOptions) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::from(error).with_path(path))?;
        Self::from_file(file, path, options)
    }

    /// Reads `file`, which was opened by somebody else, and is called `path` in errors.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn from_file(file: File, path: &Path, options: ReadOptions) -> Result<Self> {
        let located = |error: Error| error.with_path(path);
        let metadata = file.metadata().map_err(|error| located(error.into()))?;
        if metadata.is_dir() {
            let error = std::io::Error::from(IoKind::IsADirectory);
            return Err(located(error.into()));
        }
        let twin = if metadata.is_file() {
            file.try_clone().ok()
        } else {
            None
        };
        let parallel = metadata.is_file();
        let mut reader = Self::begin(Box::new(file), options, parallel).map_err(located)?;
        reader.path = Some(Arc::from(path));
        reader.file = twin.filter(|_| reader.compression() == Compression::None);
        reader.limits = reader.file_limits();
        Ok(reader)
    }

    /// As [`Self::from_file`], of what is a file; and notes, if it is compressed, from where it could be inflated again.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn scanning(mut file: File, path: &Path, options: ReadOptions) -> Result<Self> {
        let located = |error: Error| error.with_path(path);
        let io = |error: std::io::Error| located(error.into());
        let twin = file.try_clone().map_err(io)?;
        file.rewind().map_err(io)?;
        let mut reader = Self::from_file(twin, path, options)?;
        if reader.compression() != Compression::None {
            file.rewind().map_err(io)?;
            let codec = Some(reader.compression());
            let scanner = Scanner::open(Box::new(file), codec, Scanner::SPACING);
            let begun = |kind: ErrorKind| located(Error::new(kind).at_record(0).at_offset(0));
            if let Some(scanner) = scanner.map_err(begun)? {
                reader.source = Source::Scanned(Box::new(scanner));
            }
        }
        Ok(reader)
    }

    /// From where the file can be inflated again, as far as it has been read; nothing without [`Self::scanning`].
    #[must_use]
    pub fn into_checkpoints(self) -> Checkpoints {
        match self.source {
            Source::Scanned(scanner) => scanner.into_checkpoints(),
            _ => Checkpoints::default(),
        }
    }

    /// Reads from anything that delivers bytes.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn new(input: Box<dyn Read + Send>, options: ReadOptions) -> Result<Self> {
        Self::begin(input, options, false)
    }

    /// A reader of an uncompressed file, whatever it begins with, for whoever [`Self::seek`]s before reading.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn after_damage(file: &File, path: &Path, limits: Limits) -> Result<Self> {
        let located = |error: std::io::Error| Error::from(error).with_path(path);
        let nothing = Box::new(std::io::empty());
        let options = ReadOptions {
            limits,
            ..ReadOptions::default()
        };
        let mut reader = Self::begin(nothing, options, false)?;
        reader.path = Some(Arc::from(path));
        reader.file = Some(file.try_clone().map_err(located)?);
        reader.limits = reader.file_limits();
        Ok(reader)
    }

    /// As [`Self::new`], but much compressed content is inflated on other threads, ahead of whoever reads.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn on_threads(input: Box<dyn Read + Send>, options: ReadOptions) -> Result<Self> {
        Self::begin(input, options, true)
    }

    fn begin(input: Box<dyn Read + Send>, options: ReadOptions, parallel: bool) -> Result<Self> {
        let source = source::open(input, options.compression, parallel)
            .map_err(|kind| Error::new(kind).at_record(0).at_offset(0))?;
        let is_compressed = source.compression() != Compression::None;
        Ok(Self {
            limits: FileLimits::new(options.limits, false, is_compressed),
            source,
            path: None,
            file: None,
            is_in_file: false,
            options,
            buffer: Buffer::default(),
            offset: 0,
            record: 0,
            limit: None,
            at_end: false,
            wanted: HEADER,
            fault: None,
        })
    }

    /// How the file turned out to be compressed.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.source.compression()
    }

    /// The number of the next record.
    #[must_use]
    pub fn record(&self) -> u64 {
        self.record
    }

    /// The offset of the next record in the stream of frames.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes at a range that [`Self::step`] gave, before any other call.
    #[must_use]
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.buffer.at(range)
    }

    /// The next record, reading as much as that takes; `None` at the clean end.
    ///
    /// # Errors
    /// What is wrong with the file at this place, with path, record and offset.
    pub fn next_record(&mut self) -> Result<Option<&[u8]>> {
        loop {
            match self.step()? {
                Step::Record(range) => return Ok(Some(self.bytes(range))),
                Step::End => return Ok(None),
                Step::NeedBytes => self.fill()?,
            }
        }
    }

    /// Takes the record at the front of the buffer, if it is there whole. No I/O.
    ///
    /// # Errors
    /// As for [`Self::next_record`].
    pub fn step(&mut self) -> Result<Step> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if self.limit.is_some_and(|limit| self.offset >= limit) {
            return self.end_at_limit();
        }
        match self.front() {
            Ok(Some(length)) => {
                let total = HEADER + length + FOOTER;
                self.offset += total as u64;
                self.record += 1;
                self.wanted = HEADER;
                let data = self.buffer.consume(total, HEADER..HEADER + length);
                Ok(Step::Record(data))
            }
            Ok(None) if !self.at_end => Ok(Step::NeedBytes),
            Ok(None) if self.buffer.unread().is_empty() => Ok(Step::End),
            Ok(None) => Err(self.fail(self.other_format().unwrap_or(self.cut_off()))),
            Err(ErrorKind::LengthChecksum) => {
                Err(self.fail(self.other_format().unwrap_or(ErrorKind::LengthChecksum)))
            }
            Err(kind) => Err(self.fail(kind)),
        }
    }

    fn end_at_limit(&mut self) -> Result<Step> {
        if self.limit == Some(self.offset) {
            return Ok(Step::End);
        }
        let text =
            "no record ends where the range does: the file has changed since that was planned";
        Err(self.fail(ErrorKind::State(text.to_owned())))
    }

    /// What the file looks like instead, if it does not even begin with a record.
    fn other_format(&self) -> Option<ErrorKind> {
        let start = self.buffer.unread();
        let start = start.get(..start.len().min(sniff::LOOK_AHEAD))?;
        let found = sniff::looks_like(start).filter(|_| self.record == 0)?;
        Some(ErrorKind::NotTfRecord(found))
    }

    /// The length of the record at the front, checked; `None` if it is not there whole.
    fn front(&mut self) -> Result<Option<usize>, ErrorKind> {
        let there = self.buffer.unread();
        let Some((header, after)) = there.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let announced = frame::parse_header(header)?;
        self.limits.check_record(announced, after.len())?;
        let impossible = ErrorKind::ImpossibleLength(announced);
        let length = usize::try_from(announced).map_err(|_| impossible.clone())?;
        let total = length.checked_add(HEADER + FOOTER).ok_or(impossible)?;
        let (data, after) = after.split_at_checked(length).unwrap_or_default();
        let Some(footer) = after.first_chunk::<FOOTER>() else {
            self.wanted = total;
            return Ok(None);
        };
        if self.options.verify && crc::masked(data) != u32::from_le_bytes(*footer) {
            return Err(ErrorKind::DataChecksum);
        }
        Ok(Some(length))
    }

    /// Why the bytes at the front are no whole record, now that no more will come.
    fn cut_off(&self) -> ErrorKind {
        let have = self.buffer.unread().len();
        if have < HEADER {
            return ErrorKind::TruncatedHeader(have);
        }
        let (need, have) = ((self.wanted - HEADER) as u64, (have - HEADER) as u64);
        ErrorKind::TruncatedRecord { need, have }
    }

    /// Reads more bytes after those in the buffer.
    ///
    /// # Errors
    /// Any I/O error; a broken compressed stream; and a record that announces more bytes
    /// than its file holds, before any memory is reserved for it.
    pub fn fill(&mut self) -> Result<()> {
        self.refuse_beyond_the_file()?;
        let missing = self.wanted.saturating_sub(self.buffer.unread().len());
        let wanted = (missing, self.file.is_some());
        match (self.buffer).fill_from(&mut self.source, wanted, self.limits, self.offset) {
            Ok(count) => self.at_end = count == 0,
            // Nothing is lost: the next call continues where this one stopped.
            Err(kind @ ErrorKind::Io(IoKind::Interrupted, ..)) => return Err(kind.into()),
            Err(kind) => return Err(self.fail(kind)),
        }
        Ok(())
    }

    fn refuse_beyond_the_file(&mut self) -> Result<()> {
        if self.wanted <= CHUNK {
            return Ok(());
        }
        let Some(size) = self.file.as_ref().and_then(|file| file.metadata().ok()) else {
            return Ok(());
        };
        let left = size.len().saturating_sub(self.offset);
        if left >= self.wanted as u64 {
            return Ok(());
        }
        let need = (self.wanted - HEADER) as u64;
        let have = left.saturating_sub(HEADER as u64);
        Err(self.fail(ErrorKind::TruncatedRecord { need, have }))
    }

    /// Lets reading continue where the file has grown since: forgets that it ended, and the record that
    /// was cut off there. Nothing else is forgiven, and the end of a compressed stream is final.
    pub fn resume(&mut self) {
        if self.compression() != Compression::None {
            return;
        }
        let is_cut_off = |fault: &Error| {
            use ErrorKind::{TruncatedHeader, TruncatedRecord};
            matches!(fault.kind(), TruncatedHeader(_) | TruncatedRecord { .. })
        };
        if self.fault.as_ref().is_none_or(is_cut_off) {
            self.fault = None;
            self.at_end = false;
        }
    }

    /// Continues with record number `record`, which begins at `offset` of an uncompressed file.
    ///
    /// # Errors
    /// Any I/O error; a file that cannot be gone about in.
    pub fn seek(&mut self, offset: u64, record: u64) -> Result<()> {
        let Some(mut file) = self.file.as_ref().and_then(|file| file.try_clone().ok()) else {
            return Err(Error::state("this file can only be read in order"));
        };
        let moved = file.seek(SeekFrom::Start(offset));
        moved.map_err(|error| self.fail(error.into()))?;
        self.source = Source::plain(Box::new(file));
        self.buffer.clear();
        self.is_in_file = true;
        (self.offset, self.record) = (offset, record);
        (self.at_end, self.wanted) = (false, HEADER);
        Ok(())
    }

    /// Continues after damage: as [`Self::seek`], but what was wrong is forgotten, and bytes that are in the buffer are
    /// not read again.
    ///
    /// # Errors
    /// As for [`Self::seek`].
    pub fn skip_to(&mut self, offset: u64, record: u64) -> Result<()> {
        self.fault = None;
        let ahead = offset.checked_sub(self.offset).map(usize::try_from);
        match ahead {
            Some(Ok(ahead)) if self.is_in_file && ahead <= self.buffer.unread().len() => {
                self.buffer.consume(ahead, 0..0);
                (self.offset, self.record, self.wanted) = (offset, record, HEADER);
                Ok(())
            }
            _ => self.seek(offset, record),
        }
    }

    /// Ends where the record ends that ends at `offset`, as if the file did.
    pub fn end_at(&mut self, offset: u64) {
        self.limit = Some(offset);
    }

    /// What finds the records from the next one on by their headers, if they lie in a file of which any
    /// part can be read.
    #[must_use]
    pub fn header_scanner(&self) -> Option<HeaderScanner> {
        let (file, path) = (self.file.as_ref()?, self.path.as_ref()?);
        let file = file.try_clone().ok()?;
        let size = file.metadata().ok()?.len();
        let header_scanner = HeaderScanner::new(file, path, size, self.offset, self.record);
        Some(header_scanner.up_to(self.limits.record()))
    }

    /// A file bounds its records by its size, if it has one, and they are as they lie in it.
    fn file_limits(&self) -> FileLimits {
        let is_compressed = self.compression() != Compression::None;
        FileLimits::new(self.options.limits, self.file.is_some(), is_compressed)
    }

    fn fail(&mut self, kind: ErrorKind) -> Error {
        let mut error = Error::new(kind)
            .at_record(self.record)
            .at_offset(self.offset);
        if let Some(path) = &self.path {
            error = error.with_path(path);
        }
        self.fault = Some(error.clone());
        error
    }
}

#[cfg(test)]
mod tests;
