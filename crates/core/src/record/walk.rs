//! From header to header of an uncompressed file, reading no more of what lies between them than comes along.

use std::fs::File;
use std::sync::Arc;

use super::extent::fill;
use super::frame::{self, FOOTER, HEADER};
use crate::error::Result;
use crate::interrupt::Pulse;

/// Records of so many bytes on average are passed with a read for each header. A tiny read costs about as much
/// as reading 4 KB.
pub const LARGE: u64 = 16 << 10;

/// How much is read at once: as long as nothing is known of the records, and where they are small.
const WINDOW: (usize, usize) = (16 << 10, 256 << 10);

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

    /// Goes over the next record, and says how long its data is; none at the end of the file, and before
    /// anything that is no whole record, about which a reader can say more.
    ///
    /// # Errors
    /// If a signal says to stop.
    pub fn hop(&mut self) -> Result<Option<u64>> {
        let Some(header) = self.header()? else {
            return Ok(None);
        };
        let Some((length, end)) = whole_record(&header, self.offset, self.size) else {
            return Ok(None);
        };
        if length > self.most {
            return Ok(None);
        }
        self.offset = end;
        self.record += 1;
        Ok(Some(length))
    }

    /// Goes on at `offset`, over so many records that somebody else has found.
    pub fn skip_to(&mut self, offset: u64, records: u64) {
        self.offset = offset;
        self.record += records;
    }

    fn header(&mut self) -> Result<Option<[u8; HEADER]>> {
        let at = usize::try_from(self.offset - self.start).unwrap_or(usize::MAX);
        if let Some(header) = self.window.get(at..).and_then(<[u8]>::first_chunk) {
            return Ok(Some(*header));
        }
        self.pulse.check()?;
        self.window.resize(self.worth_reading(), 0);
        let filled = match fill(&self.file, &mut self.window, self.offset) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {
                return Err(error.into());
            }
            other => other.unwrap_or(0),
        };
        self.window.truncate(filled);
        self.start = self.offset;
        Ok(self.window.first_chunk().copied())
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
    let end = offset.checked_add(length)?;
    let end = end.checked_add((HEADER + FOOTER) as u64)?;
    (end <= size).then_some((length, end))
}
