//! Batches: records that stay in the reader's buffer, and take it with them.

use super::{RecordReader, Step};
use crate::error::Result;
use crate::record::format::frame::{FOOTER, HEADER};
use crate::record::read::records::{Origin, Records, Span};

/// What was given back may be a gigabyte, which is gone through again in that many bytes at a time.
const AT_ONCE: usize = 4 << 20;

/// A batch that is being read.
pub struct BatchInProgress {
    n: usize,
    /// How many bytes make a batch complete.
    bytes: usize,
    /// Relative to the batch's first byte.
    spans: Vec<Span>,
    first: u64,
    offset: u64,
}

impl RecordReader {
    /// The next records, at most `n`; fewer at the end of the file or before a fault, which the
    /// next call reports; none at the clean end.
    ///
    /// # Errors
    /// As for [`Self::next_record`].
    pub fn read_batch(&mut self, n: usize) -> Result<Records> {
        self.read_some(n, usize::MAX)
    }

    /// As [`Self::read_batch`], but no more once their frames have `bytes` bytes.
    ///
    /// # Errors
    /// As for [`Self::next_record`].
    pub fn read_some(&mut self, n: usize, bytes: usize) -> Result<Records> {
        let mut batch = self.begin_batch(n);
        batch.bytes = bytes;
        while self.extend_batch(&mut batch)? {}
        Ok(self.finish_batch(batch))
    }

    /// Begins a batch of at most `n` records. It must be finished before anything else is read.
    #[must_use]
    pub fn begin_batch(&mut self, n: usize) -> BatchInProgress {
        self.buffer.begin_batch();
        BatchInProgress {
            n,
            bytes: usize::MAX,
            spans: Vec::new(),
            first: self.record,
            offset: self.offset,
        }
    }

    /// Carries `batch` on by at most one read, or some megabytes; false when it is complete. A binding calls this in
    /// a loop so that it can look after signals in between.
    ///
    /// # Errors
    /// As for [`Self::next_record`], if there is nothing to deliver before the fault.
    pub fn extend_batch(&mut self, batch: &mut BatchInProgress) -> Result<bool> {
        match self.take_into(batch) {
            // What came before the fault is delivered first; the next call meets it again.
            Err(error) if !batch.spans.is_empty() && !error.is_interrupt() => Ok(false),
            other => other,
        }
    }

    fn take_into(&mut self, batch: &mut BatchInProgress) -> Result<bool> {
        let enough = batch.bytes.min(self.buffer.held().saturating_add(AT_ONCE));
        while batch.spans.len() < batch.n && self.buffer.held() < enough {
            match self.step()? {
                Step::Record(data) => {
                    let total = HEADER + data.len() + FOOTER;
                    let start = self.buffer.hold(total, data.start);
                    batch.spans.push(Span {
                        start,
                        len: data.len(),
                        number: self.record - 1,
                        file: 0,
                    });
                }
                Step::End => return Ok(false),
                Step::NeedBytes => {
                    if let Some(average) = self.buffer.held().checked_div(batch.spans.len()) {
                        let whole = average.saturating_mul(batch.n);
                        self.buffer.expect(whole.min(batch.bytes));
                    }
                    self.fill()?;
                    return Ok(true);
                }
            }
        }
        Ok(batch.spans.len() < batch.n && self.buffer.held() < batch.bytes)
    }

    /// The records of `batch`, which take the buffer with them; the bytes after them stay.
    #[must_use]
    pub fn finish_batch(&mut self, mut batch: BatchInProgress) -> Records {
        let (bytes, first) = self.buffer.take_batch(!self.at_end);
        for span in &mut batch.spans {
            span.start += first;
        }
        let origin = Origin {
            path: self.path.clone(),
            buffer_offset: Some(batch.offset.wrapping_sub(first as u64)),
        };
        Records::new(bytes, batch.spans, [origin])
    }

    /// Gives the records of `batch` back: they will be read again.
    pub fn cancel_batch(&mut self, batch: &BatchInProgress) {
        self.buffer.unhold();
        self.record = batch.first;
        self.offset = batch.offset;
        self.wanted = HEADER;
    }
}
