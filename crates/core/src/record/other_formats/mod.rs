//! Records of files that are not `TFRecord` files: lines of text, records of one length, whole files.
//!
//! They are read as `TensorFlow` reads them. A line ends with a newline, of which it has none, nor has it any carriage
//! return, wherever that stood; after the last newline there is a line only if it has any byte then. What is left of
//! a record of a fixed length is an error.

use std::fs::File;
use std::io::{ErrorKind as IoKind, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::record::codec::compression::Compression;
use crate::record::codec::source;
use crate::record::codec::source::Source;
use crate::record::format::limits::{FileLimits, Limits};
use crate::record::read::buffer::Buffer;
use crate::record::read::records::{Origin, Records, Span};
use crate::runtime::interrupt::Pulse;
use split::{Cut, cut_fixed, cut_line};

pub use interleave::{ReadPosition, Turns};

mod interleave;
mod split;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line of text, but for the first that many. Its number is counted from 1, with these.
    Lines {
        /// How many lines are no records.
        header: u64,
    },
    /// This many bytes.
    Fixed {
        /// How many bytes stand before the first record.
        header: u64,
        /// How many each record has.
        record: usize,
        /// How many stand after the last one.
        footer: usize,
    },
    /// All that the file has, as it is.
    Whole,
}

impl Format {
    /// The number of the first record, counted with what stands before it.
    fn first(self) -> u64 {
        match self {
            Self::Lines { .. } => 1,
            _ => 0,
        }
    }

    /// How many bytes stand before the records.
    fn header_bytes(self) -> u64 {
        match self {
            Self::Fixed { header, .. } => header,
            _ => 0,
        }
    }
}

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct ForeignOptions {
    /// What a record is.
    pub format: Format,
    /// The compression; `None`: GZIP if the file begins so, else none. Whole files are not decompressed.
    pub compression: Option<Compression>,
    /// What is too much.
    pub limits: Limits,
}

/// Reads the records of one file in order.
pub struct ForeignReader {
    source: Source,
    path: Arc<Path>,
    /// The file itself once more, if any part of it can be read.
    file: Option<File>,
    options: ForeignOptions,
    limits: FileLimits,
    buffer: Buffer,
    /// The offset of the first unread byte, decompressed.
    offset: u64,
    /// The number of the next record.
    record: u64,
    /// How many unread bytes have been looked through for the end of a record.
    searched: usize,
    at_end: bool,
    is_over: bool,
    fault: Option<Error>,
}

impl ForeignReader {
    /// Opens `path`.
    ///
    /// # Errors
    /// Any I/O error; a broken compressed stream; of records of a fixed length that do not fill the file.
    pub fn open(path: &Path, options: ForeignOptions) -> Result<Self> {
        let located = |error: Error| error.with_path(path);
        let file = File::open(path).map_err(|error| located(error.into()))?;
        let metadata = file.metadata().map_err(|error| located(error.into()))?;
        if metadata.is_dir() {
            let error = std::io::Error::from(IoKind::IsADirectory);
            return Err(located(error.into()));
        }
        let (is_file, size) = (metadata.is_file(), metadata.len());
        let twin = if is_file { file.try_clone().ok() } else { None };
        let source = match options.format {
            Format::Whole => Ok(Source::plain(Box::new(file))),
            _ => source::open_any(Box::new(file), options.compression, is_file),
        };
        let source = source.map_err(|kind| located(Error::new(kind).at_offset(0)))?;
        let is_plain = source.compression() == Compression::None;
        let mut reader = Self {
            limits: FileLimits::new(options.limits, is_plain && is_file, !is_plain),
            source,
            path: Arc::from(path),
            file: twin.filter(|_| is_plain),
            options,
            buffer: Buffer::default(),
            offset: 0,
            record: options.format.first(),
            searched: 0,
            at_end: false,
            is_over: false,
            fault: None,
        };
        if reader.file.is_some() {
            reader.check_size(size)?;
        }
        Ok(reader)
    }

    /// Refuses a file that records of a fixed length do not fill.
    fn check_size(&mut self, size: u64) -> Result<()> {
        let Format::Fixed {
            header,
            record,
            footer,
        } = self.options.format
        else {
            return Ok(());
        };
        let body = size
            .checked_sub(header)
            .and_then(|rest| rest.checked_sub(footer as u64));
        if body.is_some_and(|body| body % (record.max(1) as u64) == 0) {
            return Ok(());
        }
        Err(self.fail(self.partial(size)))
    }

    /// What is wrong with a file of `size` bytes.
    fn partial(&self, size: u64) -> ErrorKind {
        let (header, record, footer) = match self.options.format {
            Format::Fixed {
                header,
                record,
                footer,
            } => (header, record as u64, footer as u64),
            _ => (0, 0, 0),
        };
        ErrorKind::PartialRecord {
            header,
            record,
            footer,
            size,
        }
    }

    /// The number of the next record, and the offset at which it begins.
    pub(crate) fn tell(&self) -> (u64, u64) {
        (self.record, self.offset)
    }

    /// Continues with record number `record`, which begins at `offset`. Compressed content is passed over.
    ///
    /// # Errors
    /// The file is not so long; no record begins there.
    pub fn seek(&mut self, record: u64, offset: u64) -> Result<()> {
        // All of it has been given.
        self.is_over = self.options.format == Format::Whole && record > 0;
        let Format::Fixed {
            header,
            record: each,
            ..
        } = self.options.format
        else {
            return self.pass_to(record, offset);
        };
        let after = offset.checked_sub(header);
        if offset > 0 && after.is_none_or(|after| after % (each.max(1) as u64) != 0) {
            return Err(self.fail(ErrorKind::State("no record begins there".to_owned())));
        }
        self.pass_to(record, offset)
    }

    fn pass_to(&mut self, record: u64, offset: u64) -> Result<()> {
        if let Some(file) = &self.file {
            let moved = file.try_clone().and_then(|mut file| {
                let size = file.metadata()?.len();
                file.seek(SeekFrom::Start(offset.min(size)))?;
                Ok((file, size))
            });
            let (file, size) = moved.map_err(|error| self.fail(error.into()))?;
            if offset > size {
                return Err(self.fail(shorter()));
            }
            self.source = Source::plain(Box::new(file));
            (self.offset, self.record) = (offset, record);
            return Ok(());
        }
        let mut pulse = Pulse::start();
        while self.offset < offset {
            let left = usize::try_from(offset - self.offset).unwrap_or(usize::MAX);
            let count = self.buffer.unread().len().min(left);
            if count == 0 && self.at_end {
                return Err(self.fail(shorter()));
            }
            self.pass(count);
            if count == 0 {
                self.fill()?;
                pulse.check()?;
            }
        }
        self.record = record;
        Ok(())
    }

    /// Leaves out some unread bytes.
    fn pass(&mut self, count: usize) {
        self.buffer.consume(count, 0..0);
        self.offset += count as u64;
        self.searched = 0;
    }

    /// The next records, at most `n`, and no more once they have `bytes` bytes; fewer at the end, or before a fault,
    /// which the next call reports; none at the clean end. With them comes the offset in the file of byte 0 of their
    /// buffer.
    ///
    /// # Errors
    /// What is wrong with the file at this place, with its path, the number of the record, and its offset.
    pub fn read_some(&mut self, n: usize, bytes: usize) -> Result<(Records, u64)> {
        self.pass_header()?;
        self.buffer.begin_batch();
        let (first, base) = (self.record, self.offset);
        let mut spans = Vec::new();
        if let Err(error) = self.take_into(&mut spans, n, bytes) {
            if error.is_interrupt() {
                // Nothing is lost: the next call reads them again.
                self.buffer.unhold();
                (self.record, self.offset, self.searched) = (first, base, 0);
                return Err(error);
            }
            if spans.is_empty() {
                return Err(error);
            }
        }
        let (buffer, begin) = self.buffer.take_batch(!self.at_end);
        for span in &mut spans {
            span.start += begin;
        }
        let origin = Origin {
            path: Some(Arc::clone(&self.path)),
            buffer_offset: None,
        };
        let records = Records::new(buffer, spans, [origin]);
        Ok((records, base.wrapping_sub(begin as u64)))
    }

    fn take_into(&mut self, spans: &mut Vec<Span>, n: usize, bytes: usize) -> Result<()> {
        let mut pulse = Pulse::start();
        while spans.len() < n && self.buffer.held() < bytes {
            match self.step()? {
                Cut::Record { data, total } => {
                    let place = self.buffer.consume(total, data.clone());
                    let start = self.buffer.hold(total, place.start);
                    spans.push(Span {
                        start,
                        len: data.len(),
                        number: self.record,
                        file: 0,
                    });
                    self.record += 1;
                    self.offset += total as u64;
                    self.searched = 0;
                }
                Cut::End => break,
                Cut::More(searched) => {
                    self.searched = searched;
                    self.fill()?;
                    pulse.check()?;
                }
            }
        }
        Ok(())
    }

    /// Leaves out what stands before the records.
    fn pass_header(&mut self) -> Result<()> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let bytes = self.options.format.header_bytes();
        while self.offset < bytes {
            let left = usize::try_from(bytes - self.offset).unwrap_or(usize::MAX);
            let count = self.buffer.unread().len().min(left);
            if count == 0 && self.at_end {
                return Err(self.fail(self.partial(self.offset)));
            }
            self.pass(count);
            if count == 0 {
                self.fill()?;
            }
        }
        let Format::Lines { header } = self.options.format else {
            return Ok(());
        };
        while self.record <= header {
            match self.step()? {
                Cut::Record { total, .. } => {
                    self.pass(total);
                    self.record += 1;
                }
                Cut::End => break,
                Cut::More(searched) => {
                    self.searched = searched;
                    self.fill()?;
                }
            }
        }
        Ok(())
    }

    /// What stands at the front of the buffer.
    fn step(&mut self) -> Result<Cut> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if self.is_over {
            return Ok(Cut::End);
        }
        let (at_end, searched) = (self.at_end, self.searched);
        let cut = match self.options.format {
            Format::Lines { .. } => Some(cut_line(self.buffer.unread_mut(), searched, at_end)),
            Format::Fixed { record, footer, .. } => {
                cut_fixed(self.buffer.unread().len(), record, footer, at_end)
            }
            Format::Whole => Some(self.whole()),
        };
        let Some(cut) = cut else {
            let size = self.offset + self.buffer.unread().len() as u64;
            return Err(self.fail(self.partial(size)));
        };
        self.check(&cut)?;
        self.is_over = cut == Cut::End || self.options.format == Format::Whole && at_end;
        Ok(cut)
    }

    fn whole(&self) -> Cut {
        let length = self.buffer.unread().len();
        if !self.at_end {
            return Cut::More(length);
        }
        Cut::Record {
            data: 0..length,
            total: length,
        }
    }

    /// Refuses a record that is too long, as soon as that shows.
    fn check(&mut self, cut: &Cut) -> Result<()> {
        let length = match cut {
            Cut::Record { data, .. } => data.len(),
            Cut::More(searched) => *searched,
            Cut::End => 0,
        };
        let checked = self.limits.check_record(length as u64, length);
        checked.map_err(|kind| self.fail(kind))
    }

    /// Reads more bytes after those in the buffer.
    fn fill(&mut self) -> Result<()> {
        let read = (self.buffer).fill_from(&mut self.source, (1, false), self.limits, self.offset);
        match read {
            Ok(count) => self.at_end = count == 0,
            Err(kind @ ErrorKind::Io(IoKind::Interrupted, ..)) => return Err(kind.into()),
            Err(kind) => return Err(self.fail(kind)),
        }
        Ok(())
    }

    fn fail(&mut self, kind: ErrorKind) -> Error {
        let error = Error::new(kind)
            .at_record(self.record)
            .at_offset(self.offset)
            .with_path(&self.path);
        self.fault = Some(error.clone());
        error
    }
}

fn shorter() -> ErrorKind {
    ErrorKind::State("the file is shorter than it was".to_owned())
}

#[cfg(test)]
mod tests;
