//! Records that were picked out of several batches, and stay there.

use std::sync::Arc;

use super::{Origin, Records, Span, as_number};
use crate::error::{Error, ErrorKind, Result};
use crate::record::format::frame::{FOOTER, HEADER};
use crate::record::read::buffer::BufferPool;

/// Some records of `parts`, in any order.
pub struct Picked {
    parts: Vec<Records>,
    /// Of each record, which part it is in, and where there.
    picks: Vec<(u32, u32)>,
    /// How many bytes they have.
    bytes: usize,
}

impl Picked {
    /// Those at `picks`; what is out of range reads as empty.
    #[must_use]
    pub fn new(parts: Vec<Records>, picks: Vec<(u32, u32)>) -> Self {
        let mut picked = Self {
            parts,
            picks,
            bytes: 0,
        };
        picked.bytes = picked.iter().map(<[u8]>::len).sum();
        picked
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.picks.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.picks.is_empty()
    }

    /// The records in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        let get = |&(part, at): &(u32, u32)| self.parts.get(part as usize)?.get(at as usize);
        self.picks
            .iter()
            .map(move |pick| get(pick).unwrap_or_default())
    }

    /// The bytes of all records together.
    #[must_use]
    pub fn payload_bytes(&self) -> usize {
        self.bytes
    }

    /// `error`, found in record `index`, with all that is known of where that record stands.
    #[must_use]
    pub fn locate(&self, index: usize, error: Error) -> Error {
        let found = self.picks.get(index).and_then(|&(part, at)| {
            let part = self.parts.get(part as usize)?;
            Some((part, at as usize))
        });
        match found {
            Some((part, at)) => part.locate(at, error),
            None => error.at_record(index as u64),
        }
    }

    /// Where the records come from, without the records: they read as empty ones.
    #[must_use]
    pub fn places(&self) -> Records {
        let (mut origins, mut firsts) = (Vec::new(), Vec::with_capacity(self.parts.len()));
        for part in &self.parts {
            firsts.push(as_number(origins.len()));
            origins.extend_from_slice(&part.origins);
        }
        let spans = self.each().map(|(which, span)| Span {
            file: span.file + firsts.get(which).copied().unwrap_or(0),
            ..span
        });
        Records::new(Arc::default(), spans.collect(), origins)
    }

    /// The records in one buffer, which is one of `buffers` if one is free; with their frames, if they have any.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn copied(&self, buffers: &mut BufferPool) -> Result<Records> {
        let frames: Vec<(usize, usize)> = self.parts.iter().map(Records::around).collect();
        let size = self.payload_bytes() + self.len() * (HEADER + FOOTER);
        let mut bytes = buffers.take(size).ok_or(ErrorKind::OutOfMemory(size))?;
        let (mut spans, mut origins) = (Vec::new(), Vec::with_capacity(self.len()));
        spans.reserve_exact(self.len());
        let mut begin = 0;
        for (file, (which, span)) in (0..).zip(self.each()) {
            let (Some(part), Some(&(before, after))) = (self.parts.get(which), frames.get(which))
            else {
                continue;
            };
            let start = span.start.saturating_sub(before);
            let frame = part.bytes.get(start..span.start + span.len + after);
            let frame = frame.unwrap_or_default();
            if let Some(room) = bytes.get_mut(begin..begin + frame.len()) {
                room.copy_from_slice(frame);
            }
            let origin = part.origins.get(span.file as usize);
            origins.push(Origin {
                path: origin.and_then(|origin| origin.path.clone()),
                // The record's own frame moves from `start` to `begin`.
                buffer_offset: origin
                    .and_then(|origin| origin.buffer_offset)
                    .map(|at| at.wrapping_add(start as u64).wrapping_sub(begin as u64)),
            });
            spans.push(Span {
                start: begin + before,
                file,
                ..span
            });
            begin += frame.len();
        }
        let records = Records::new(Arc::new(bytes), spans, origins);
        records.recycle_to(buffers);
        Ok(records)
    }

    /// Of each record, which part it is in, and its span there.
    fn each(&self) -> impl Iterator<Item = (usize, Span)> {
        self.picks.iter().filter_map(|&(part, at)| {
            let span = self.parts.get(part as usize)?.spans().get(at as usize)?;
            Some((part as usize, *span))
        })
    }
}
