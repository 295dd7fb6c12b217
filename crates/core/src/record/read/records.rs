//! A batch of records: one buffer, and where in it each record lies.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::buffer::BufferPool;
use crate::error::{ErrorKind, Result};
use crate::record::format::crc;
use crate::record::format::frame::{FOOTER, HEADER};

pub use selection::Picked;

mod origins;
mod selection;

/// Where a record lies in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// How many bytes.
    pub len: usize,
    /// The record's number in its file; its place where it came from none.
    pub number: u64,
    /// Which of the files that the records came from; 0 where they came from none.
    pub file: u32,
}

/// Where records came from, so that errors can say so.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The file.
    pub path: Option<Arc<Path>>,
    /// The offset in the file of byte 0 of the buffer; none where the buffer is no piece of it, or the
    /// records are parts of those of the file.
    pub buffer_offset: Option<u64>,
}

/// Records that share one buffer: cheap to clone and to slice, never copied record by record.
///
/// A buffer that was read from a file still has the frames around the records; one that was made of
/// columns has them already. Nobody needs to know, because each record has its own span.
#[derive(Clone, Debug, Default)]
pub struct Records {
    bytes: Arc<Vec<u8>>,
    spans: Arc<Vec<Span>>,
    range: Range<usize>,
    /// The files that they came from, if from any.
    origins: Arc<[Origin]>,
    /// Whether each stands in a frame that was made for it.
    sealed: bool,
}

impl Records {
    /// Records at `spans` of `bytes`. Spans beyond the buffer read as empty records.
    #[must_use]
    pub fn new(bytes: Arc<Vec<u8>>, spans: Vec<Span>, origins: impl Into<Arc<[Origin]>>) -> Self {
        let range = 0..spans.len();
        Self {
            bytes,
            spans: Arc::new(spans),
            range,
            origins: origins.into(),
            sealed: false,
        }
    }

    /// Records in frames that lie one after the other, each [sealed](crate::record::format::frame::seal), and end at
    /// `ends`. A file of them is those bytes.
    #[must_use]
    pub fn framed(bytes: Vec<u8>, ends: impl IntoIterator<Item = usize>) -> Self {
        let mut records = Self::contiguous(bytes, ends);
        let spans = Arc::make_mut(&mut records.spans);
        records.sealed = spans.iter().all(|span| span.len >= HEADER + FOOTER);
        for span in spans {
            span.start += HEADER.min(span.len);
            span.len = span.len.saturating_sub(HEADER + FOOTER);
        }
        records
    }

    /// These records as they would stand in a file, if that is how they lie in the buffer.
    #[must_use]
    pub fn frames(&self) -> Option<&[u8]> {
        let follow = |pair: &[Span]| match pair {
            [one, next] => one.start + one.len + FOOTER + HEADER == next.start,
            _ => true,
        };
        let (first, last) = (self.spans().first()?, self.spans().last()?);
        if !self.sealed || !self.spans().windows(2).all(follow) {
            return None;
        }
        let start = first.start.checked_sub(HEADER)?;
        self.bytes.get(start..last.start + last.len + FOOTER)
    }

    /// The records of all `parts`, frames and all, in one buffer.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn concat(parts: &[Self]) -> Result<Self> {
        let total: usize = parts.iter().map(|part| part.region().len()).sum();
        let count = parts.iter().map(Self::len).sum();
        let (mut bytes, mut spans, mut origins) = (Vec::new(), Vec::new(), Vec::new());
        let reserved = (bytes.try_reserve_exact(total)).and(spans.try_reserve_exact(count));
        reserved.map_err(|_| ErrorKind::OutOfMemory(total))?;
        for part in parts {
            let start = part.region().start;
            let region = part.bytes.get(part.region()).unwrap_or_default();
            let place = |at: usize| at - start + bytes.len();
            spans.extend(part.spans().iter().map(|span| Span {
                start: place(span.start),
                file: span.file + as_number(origins.len()),
                ..*span
            }));
            origins.extend(part.origins.iter().map(|origin| Origin {
                path: origin.path.clone(),
                buffer_offset: origin.buffer_offset.map(|at| {
                    at.wrapping_add(start as u64)
                        .wrapping_sub(bytes.len() as u64)
                }),
            }));
            bytes.extend_from_slice(region);
        }
        Ok(Self::new(Arc::new(bytes), spans, origins))
    }

    /// Where the frames of the records lie.
    fn region(&self) -> Range<usize> {
        let starts = self.spans().iter().map(|span| span.start);
        let ends = self.spans().iter().map(|span| span.start + span.len);
        let (before, after) = self.around();
        match (starts.min(), ends.max()) {
            (Some(first), Some(last)) => first.saturating_sub(before)..last + after,
            _ => 0..0,
        }
    }

    /// How many bytes of its frame stand before each record, and how many after it.
    fn around(&self) -> (usize, usize) {
        if self.is_framed() {
            (HEADER, FOOTER)
        } else {
            (0, 0)
        }
    }

    /// Whether the buffer is a piece of a file, in which each record stands between header and checksum.
    fn is_framed(&self) -> bool {
        let is_piece = |origin: &Origin| origin.buffer_offset.is_some();
        !self.origins.is_empty() && self.origins.iter().all(is_piece)
    }

    /// Checks the data of these records, which are still in the frames of their files.
    ///
    /// # Errors
    /// [`ErrorKind::DataChecksum`], of the first record that it is wrong for.
    pub fn verify(&self, which: Range<usize>) -> Result<()> {
        let first = which.start;
        let spans = self.spans().get(which).unwrap_or_default();
        for (index, span) in spans.iter().enumerate() {
            let data = self.slice_of(*span);
            let footer = self.bytes.get(span.start + span.len..).unwrap_or_default();
            let footer = footer.first_chunk::<FOOTER>();
            if footer.is_none_or(|footer| crc::masked(data) != u32::from_le_bytes(*footer)) {
                return Err(self.locate(first + index, ErrorKind::DataChecksum.into()));
            }
        }
        Ok(())
    }

    /// Where these records come from, without the records: they read as empty ones.
    #[must_use]
    pub fn places(&self) -> Self {
        Self {
            bytes: Arc::default(),
            ..self.clone()
        }
    }

    /// Lets `buffers` use the buffer again once nobody holds it.
    pub fn recycle_to(&self, buffers: &mut BufferPool) {
        buffers.track(&self.bytes);
    }

    /// The same, if the buffer is not larger than this.
    pub fn lend_up_to(&self, most: usize, buffers: &mut BufferPool) {
        if self.bytes.len() <= most {
            self.recycle_to(buffers);
        }
    }

    /// The buffer, if nobody else holds it.
    #[must_use]
    pub fn into_buffer(self) -> Option<Vec<u8>> {
        Arc::try_unwrap(self.bytes).ok()
    }

    /// Records that lie one after the other, the ends of which are `ends`.
    #[must_use]
    pub fn contiguous(bytes: Vec<u8>, ends: impl IntoIterator<Item = usize>) -> Self {
        let mut start = 0;
        let spans = ends
            .into_iter()
            .enumerate()
            .map(|(number, end)| {
                let span = Span {
                    start,
                    len: end - start,
                    number: number as u64,
                    file: 0,
                };
                start = end;
                span
            })
            .collect();
        Self::new(Arc::new(bytes), spans, [])
    }

    /// How many records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Record `index`, if there is one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.spans().get(index).map(|span| self.slice_of(*span))
    }

    /// The records in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.spans().iter().map(|span| self.slice_of(*span))
    }

    /// The bytes of all records together, frames not counted.
    #[must_use]
    pub fn payload_bytes(&self) -> usize {
        self.spans().iter().map(|span| span.len).sum()
    }

    /// The records of `range`, over the same buffer; what is out of range is left out.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let start = range.start.min(self.len());
        let end = range.end.clamp(start, self.len());
        Self {
            bytes: Arc::clone(&self.bytes),
            spans: Arc::clone(&self.spans),
            range: self.range.start + start..self.range.start + end,
            origins: Arc::clone(&self.origins),
            sealed: self.sealed,
        }
    }

    /// The records at `indices`, over the same buffer; `None` if one of them is out of range.
    #[must_use]
    pub fn take(&self, indices: &[usize]) -> Option<Self> {
        let spans: Option<Vec<Span>> = indices
            .iter()
            .map(|&index| self.spans().get(index).copied())
            .collect();
        let spans = spans?;
        let range = 0..spans.len();
        Some(Self {
            bytes: Arc::clone(&self.bytes),
            spans: Arc::new(spans),
            range,
            origins: Arc::clone(&self.origins),
            sealed: self.sealed,
        })
    }

    /// Parts of these records as records of their own, over the same buffer: of each the place of the
    /// record that it is a part of, and where in that record it lies. Errors name that record. Parts
    /// of what is out of range are empty.
    #[must_use]
    pub fn parts(&self, parts: impl ExactSizeIterator<Item = (usize, Range<usize>)>) -> Self {
        let mut spans = Vec::with_capacity(parts.len());
        spans.extend(parts.map(|(index, range)| {
            let whole = self
                .spans()
                .get(index)
                .map_or(0..0, |span| span.start..span.start.saturating_add(span.len));
            let start = whole.start.saturating_add(range.start).min(whole.end);
            let end = whole.start.saturating_add(range.end).min(whole.end);
            Span {
                start,
                len: end.saturating_sub(start),
                number: self.number(index),
                file: self.file(index),
            }
        }));
        Self::new(Arc::clone(&self.bytes), spans, self.origins_of_parts())
    }

    /// Records that were made of these, one of each, in order: they lie one after the other in
    /// `bytes`, and end at `ends`. Errors name the records that they were made of.
    #[must_use]
    pub fn remade(&self, bytes: Vec<u8>, ends: &[usize]) -> Self {
        let starts = std::iter::once(&0).chain(ends);
        let spans = starts.zip(ends).enumerate();
        let spans = spans.map(|(index, (&start, &end))| Span {
            start,
            len: end.saturating_sub(start),
            number: self.number(index),
            file: self.file(index),
        });
        Self::new(Arc::new(bytes), spans.collect(), self.origins_of_parts())
    }

    /// Where in the buffer record `index` begins, and its number.
    pub(crate) fn place(&self, index: usize) -> Option<(usize, u64)> {
        self.spans()
            .get(index)
            .map(|span| (span.start, span.number))
    }

    fn spans(&self) -> &[Span] {
        self.spans.get(self.range.clone()).unwrap_or_default()
    }

    fn slice_of(&self, span: Span) -> &[u8] {
        self.bytes
            .get(span.start..span.start + span.len)
            .unwrap_or_default()
    }
}

impl<'a> FromIterator<&'a [u8]> for Records {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(records: I) -> Self {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for record in records {
            bytes.extend_from_slice(record);
            ends.push(bytes.len());
        }
        Self::contiguous(bytes, ends)
    }
}

fn as_number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::format::frame;

    fn framed(records: &[&[u8]]) -> (Vec<u8>, Records) {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for record in records {
            bytes.extend(frame::header(record.len() as u64));
            bytes.extend_from_slice(record);
            bytes.extend(frame::footer(record));
            ends.push(bytes.len());
        }
        (bytes.clone(), Records::framed(bytes, ends))
    }

    #[test]
    fn frames_are_given_as_they_lie() {
        let (bytes, records) = framed(&[b"one", b"", b"three"]);
        assert_eq!(
            records.iter().collect::<Vec<_>>(),
            [&b"one"[..], b"", b"three"]
        );
        assert_eq!(records.frames(), Some(&bytes[..]));
        assert_eq!(records.slice(1..3).frames(), Some(&bytes[19..]));
        assert_eq!(records.take(&[0, 1]).unwrap().frames(), Some(&bytes[..35]));
    }

    #[test]
    fn frames_that_do_not_follow_each_other_are_none() {
        let (_, records) = framed(&[b"one", b"", b"three"]);
        for places in [&[0, 2][..], &[1, 0], &[0, 0], &[]] {
            assert_eq!(records.take(places).unwrap().frames(), None, "{places:?}");
        }
        assert_eq!(records.slice(1..1).frames(), None);
        assert_eq!(records.parts([(0, 1..2)].into_iter()).frames(), None);
        let both = Records::concat(&[records.clone(), records]).unwrap();
        assert_eq!(both.frames(), None);
        let plain: Records = [&b"one"[..]].into_iter().collect();
        assert_eq!(plain.frames(), None);
    }

    #[test]
    fn what_is_too_short_for_a_frame_is_not_taken_for_one() {
        let records = Records::framed(vec![0; 20], [15, 20]);
        assert_eq!(records.frames(), None);
        assert_eq!(records.iter().collect::<Vec<_>>(), [b"", b""]);
    }
}
