//! Records of an uncompressed file whose places are known by their headers, and which have not been read.
//!
//! Finding them costs a tiny read each, and no payload; so one thread can find large records faster
//! than several read them.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::records::{Origin, Records, Span};
use crate::error::{ErrorKind, Result};
use crate::record::format::frame::{FOOTER, HEADER};
use crate::record::read::header_scan::{Next, Walk};
use crate::record::storage::read_at::fill;

/// Goes from header to header.
pub struct HeaderScanner {
    walk: Walk,
    path: Arc<Path>,
}

impl HeaderScanner {
    /// From record number `record`, which begins at `offset` of a file of `size` bytes.
    #[must_use]
    pub fn new(file: File, path: &Arc<Path>, size: u64, offset: u64, record: u64) -> Self {
        Self {
            walk: Walk::new(Arc::new(file), size, offset, record),
            path: Arc::clone(path),
        }
    }

    /// Only over records of at most `bytes` bytes.
    pub(crate) fn up_to(mut self, bytes: u64) -> Self {
        self.walk = self.walk.up_to(bytes);
        self
    }

    /// Where the next record begins.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.walk.offset()
    }

    /// The number of the next record.
    #[must_use]
    pub fn record(&self) -> u64 {
        self.walk.record()
    }

    /// The next records, at most `n`, and no more once they have `bytes` bytes; fewer before the end of the
    /// file, before anything unusual, about which a reader can say more, and before what cannot be read, which
    /// the next call comes to; `None` if there are none.
    ///
    /// # Errors
    /// Any I/O error, with path, record and offset; an interrupt.
    pub fn find(&mut self, n: usize, bytes: usize) -> Result<Option<Extent>> {
        let first = self.offset();
        let mut spans = Vec::with_capacity(n.min(1024));
        let enough = first.saturating_add(bytes as u64);
        while spans.len() < n
            && self.offset() < enough
            && let Some(length) = self.next(spans.is_empty())?
        {
            let end = self.offset() - FOOTER as u64 - first;
            let (Ok(end), Ok(len)) = (usize::try_from(end), usize::try_from(length)) else {
                return Ok(None);
            };
            spans.push(Span {
                start: end - len,
                len,
                number: self.record() - 1,
                file: 0,
            });
        }
        let Some(last) = spans.last() else {
            return Ok(None);
        };
        Ok(Some(Extent {
            bytes: last.start + last.len + FOOTER,
            spans,
            offset: first,
            file: Arc::clone(self.walk.file()),
            path: Arc::clone(&self.path),
        }))
    }
}

impl HeaderScanner {
    /// Returns the size of the next record; `None` if there is none. Unless `is_first`, an error gives `None` too: the
    /// records before it are returned, and the next call meets it again.
    fn next(&mut self, is_first: bool) -> Result<Option<u64>> {
        match self.walk.hop() {
            Ok(Next::Record(length)) => Ok(Some(length)),
            Err(error) if is_first || error.is_interrupt() => Err(error.with_path(&self.path)),
            Ok(Next::End | Next::Cut | Next::NoRecord) | Err(_) => Ok(None),
        }
    }
}

/// Records that have been found, and not read yet.
pub struct Extent {
    file: Arc<File>,
    path: Arc<Path>,
    /// Where the header of the first one begins.
    offset: u64,
    /// Relative to that.
    spans: Vec<Span>,
    bytes: usize,
}

impl Extent {
    /// How many records.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "there is one at least")]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// How many bytes the first record has.
    #[must_use]
    pub fn first(&self) -> usize {
        self.spans.first().map_or(0, |span| span.len)
    }

    /// How many bytes the records have together, frames not counted.
    #[must_use]
    pub fn payload_bytes(&self) -> usize {
        self.spans.iter().map(|span| span.len).sum()
    }

    /// The next records from number `start` of these on: at least one, if there is any, and as many as
    /// have `bytes` bytes.
    #[must_use]
    pub fn some(&self, start: usize, bytes: usize) -> Range<usize> {
        let rest = self.spans.get(start..).unwrap_or_default();
        let limit = rest
            .first()
            .map_or(0, |span| span.start)
            .saturating_add(bytes);
        let fitting = rest
            .iter()
            .take_while(|span| span.start + span.len <= limit);
        let count = fitting.count().max(1).min(rest.len());
        start..start + count
    }

    /// Reads the records of `range` into `buffer`.
    ///
    /// # Errors
    /// Any I/O error; a file that has become shorter.
    pub fn read(&self, range: Range<usize>, mut buffer: Vec<u8>) -> Result<Records> {
        let spans = self.spans.get(range).unwrap_or_default();
        let from = spans.first().map_or(0, |span| span.start - HEADER);
        let to = spans
            .last()
            .map_or(0, |span| span.start + span.len + FOOTER);
        let offset = self.offset + from as u64;
        let size = to - from;
        let has_room = buffer.len() >= size || lengthen(&mut buffer, size);
        let room = buffer.get_mut(..size).unwrap_or_default();
        let filled = fill(&self.file, room, offset);
        let spans: Vec<Span> = spans
            .iter()
            .map(|span| Span {
                start: span.start - from,
                ..*span
            })
            .collect();
        let fault = match filled {
            _ if !has_room => Some((0, ErrorKind::OutOfMemory(size))),
            Ok(count) if count == size => None,
            Ok(count) => Some(cut_off(&spans, count)),
            Err(error) => Some((0, error.kind().clone())),
        };
        let records = Records::new(Arc::new(buffer), spans, [self.origin(offset)]);
        match fault {
            None => Ok(records),
            Some((index, kind)) => Err(records.locate(index, kind.into())),
        }
    }

    /// Where these records come from, without the records.
    #[must_use]
    pub fn places(&self) -> Records {
        let origin = self.origin(self.offset);
        Records::new(Arc::default(), self.spans.clone(), [origin])
    }

    /// How many bytes the frames have.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn origin(&self, buffer_offset: u64) -> Origin {
        Origin {
            path: Some(Arc::clone(&self.path)),
            buffer_offset: Some(buffer_offset),
        }
    }
}

/// Makes `buffer` so long, if there is memory for it.
fn lengthen(buffer: &mut Vec<u8>, size: usize) -> bool {
    let is_possible = buffer
        .try_reserve(size.saturating_sub(buffer.len()))
        .is_ok();
    if is_possible {
        buffer.resize(size, 0);
    }
    is_possible
}

/// The first record that is not whole, now that the file has become shorter and only `have` bytes are there.
fn cut_off(spans: &[Span], have: usize) -> (usize, ErrorKind) {
    let is_whole = |span: &&Span| span.start + span.len + FOOTER <= have;
    let whole = spans.iter().take_while(is_whole).count();
    let kind = spans
        .get(whole)
        .map_or(ErrorKind::TruncatedHeader(0), |span| {
            ErrorKind::TruncatedRecord {
                need: (span.len + FOOTER) as u64,
                have: have.saturating_sub(span.start) as u64,
            }
        });
    (whole, kind)
}
