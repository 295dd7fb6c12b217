//! From header to header of an uncompressed file, reading no more of what lies between them than comes along.
//!
//! Each step gives a record, the end of the file, something that is not a whole record, or an I/O error. Callers must
//! distinguish them: only the second is the end of the records.

use std::fs::File;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::record::format::frame::{self, FOOTER, HEADER};
use crate::record::storage::read_at::fill;
use crate::runtime::interrupt::Pulse;

/// Records of that many bytes on average are passed with a read for each header. A tiny read costs about as much
/// as reading 4 KB.
pub const LARGE: u64 = 16 << 10;

/// How much is read at once: as long as nothing is known of the records, and where they are small.
const WINDOW: (usize, usize) = (16 << 10, 256 << 10);

/// What comes next in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A record, with the size of its data in bytes.
    Record(u64),
    /// The end of the file, right after the last record.
    End,
    /// A record that did not fit into the file when the scan began. The file may have grown since.
    Cut,
    /// An invalid header, or a record over the size limit: the record reader reports what is wrong.
    NoRecord,
}

/// Goes from record to record.
pub struct Walk {
    file: Arc<File>,
    size: u64,
    /// The longest record.
    most: u64,
    /// Where the next record begins, and its number.
    offset: u64,
    record: u64,
    /// What was read last, from `start` on.
    window: Vec<u8>,
    start: u64,
    /// Where it all began.
    first: (u64, u64),
    pulse: Pulse,
}

impl Walk {
    /// From record number `record`, which begins at `offset` of a file of `size` bytes.
    #[must_use]
    pub fn new(file: Arc<File>, size: u64, offset: u64, record: u64) -> Self {
        Self {
            file,
            size,
            most: u64::MAX,
            offset,
            record,
            window: Vec::new(),
            start: offset,
            first: (offset, record),
            pulse: Pulse::start(),
        }
    }

    /// Only over records of at most `bytes` bytes.
    #[must_use]
    pub fn up_to(self, bytes: u64) -> Self {
        Self {
            most: bytes,
            ..self
        }
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Where the next record begins.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of the next record.
    #[must_use]
    pub fn record(&self) -> u64 {
        self.record
    }

    /// Steps over the next record.
    ///
    /// # Errors
    /// Any I/O error, with record and offset; an interrupt; `Shrunk` if the file was truncated meanwhile.
    pub fn hop(&mut self) -> Result<Next> {
        if self.offset >= self.size {
            return Ok(Next::End);
        }
        let Some(header) = self.header()? else {
            return Ok(Next::Cut);
        };
        let Ok(length) = frame::parse_header(&header) else {
            return Ok(Next::NoRecord);
        };
        if length > self.most {
            return Ok(Next::NoRecord);
        }
        match end_of(length, self.offset) {
            Some(end) if end <= self.size => {
                self.offset = end;
                self.record += 1;
                Ok(Next::Record(length))
            }
            Some(_) => Ok(Next::Cut),
            None => Ok(Next::NoRecord),
        }
    }

    /// Continues at `offset`, over that many records that somebody else has found.
    pub fn skip_to(&mut self, offset: u64, records: u64) {
        self.offset = offset;
        self.record += records;
    }

    /// Returns the header at this offset; `None` if too few bytes follow.
    fn header(&mut self) -> Result<Option<[u8; HEADER]>> {
        let at = usize::try_from(self.offset - self.start).unwrap_or(usize::MAX);
        if let Some(header) = self.window.get(at..).and_then(<[u8]>::first_chunk) {
            return Ok(Some(*header));
        }
        if self.size - self.offset < HEADER as u64 {
            return Ok(None);
        }
        self.pulse.check()?;
        self.read().map_err(|error| self.located(error))?;
        match self.window.first_chunk() {
            Some(header) => Ok(Some(*header)),
            None => Err(self.located(self.shrunk())),
        }
    }

    /// Fills the window from this offset on. After an error it is empty, so that no stale bytes are used.
    fn read(&mut self) -> Result<()> {
        let room = self.worth_reading();
        let mut window = std::mem::take(&mut self.window);
        window.resize(room, 0);
        let filled = fill(&self.file, &mut window, self.offset)?;
        window.truncate(filled);
        (self.window, self.start) = (window, self.offset);
        Ok(())
    }

    fn shrunk(&self) -> Error {
        Error::new(ErrorKind::Shrunk {
            from: self.size,
            to: self.file.metadata().map_or(self.offset, |it| it.len()),
        })
    }

    fn located(&self, error: Error) -> Error {
        error.at_record(self.record).at_offset(self.offset)
    }

    /// How much to read, by the records so far.
    fn worth_reading(&self) -> usize {
        let (bytes, records) = (self.offset - self.first.0, self.record - self.first.1);
        match bytes.checked_div(records) {
            Some(average) if average >= LARGE => HEADER,
            Some(_) => WINDOW.1,
            None => WINDOW.0,
        }
    }
}

/// How long the data is of a record at `offset` of a file of `size` bytes, and where it ends, if it has this
/// header, and there is room for it.
#[inline]
#[must_use]
pub fn whole_record(header: &[u8; HEADER], offset: u64, size: u64) -> Option<(u64, u64)> {
    let length = frame::parse_header(header).ok()?;
    let end = end_of(length, offset).filter(|&end| end <= size)?;
    Some((length, end))
}

/// Where a record of `length` bytes at `offset` ends; none if no file is as long.
fn end_of(length: u64, offset: u64) -> Option<u64> {
    offset
        .checked_add(length)?
        .checked_add((HEADER + FOOTER) as u64)
}
