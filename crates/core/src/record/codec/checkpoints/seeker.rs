//! Any range of the content, from the last checkpoint before it.

use std::fs::File;
use std::io;

use super::super::compression::Compression;
use super::flow::{Bytes, Event, Flow};
use super::{Checkpoint, Checkpoints};
use crate::error::ErrorKind;
use crate::record::storage::read_at::read_at;
use crate::runtime::interrupt::{Pulse, retrying};

/// Content that is inflated at a time, if nobody wants more.
const HELD: usize = 64 << 10;

/// Memory that is taken at a time: a range may end far after the content.
const PIECE: usize = 256 << 10;

/// Reads ranges of a compressed file's content.
///
/// It keeps its inflater: one range after the other costs no more than reading from beginning to end. Memory
/// is what is asked for and some 200 KB.
pub struct Seeker {
    flow: Flow,
    /// Whether `flow` is anywhere.
    is_somewhere: bool,
    /// The last `held` bytes that have come out, at its front.
    content: Vec<u8>,
    held: usize,
}

/// A file, wherever in it others read.
struct At<'a>(&'a File);

impl Bytes for At<'_> {
    fn read(&mut self, room: &mut [u8], offset: u64) -> io::Result<usize> {
        retrying(|| read_at(self.0, room, offset))
    }
}

impl Seeker {
    /// For a file that is compressed so.
    ///
    /// # Errors
    /// Without memory.
    pub fn new(codec: Compression) -> Result<Self, ErrorKind> {
        Ok(Self {
            flow: Flow::new(codec)?,
            is_somewhere: false,
            content: vec![0; HELD],
            held: 0,
        })
    }

    /// The bytes `from..to` of the content of `file`, which the checkpoints must be those of; fewer only where
    /// the content ends.
    ///
    /// # Errors
    /// As for [`Seeker::fill`].
    pub fn read(
        &mut self,
        file: &File,
        checkpoints: &Checkpoints,
        from: u64,
        to: u64,
    ) -> Result<Vec<u8>, ErrorKind> {
        let mut content = Vec::new();
        let mut left = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
        while left > 0 {
            let filled = content.len();
            content.resize(filled + left.min(PIECE), 0);
            let room = content.get_mut(filled..).unwrap_or_default();
            let wanted = room.len();
            let count = self.fill(file, checkpoints, from + filled as u64, room)?;
            left -= count;
            if count < wanted {
                content.truncate(filled + count);
                break;
            }
        }
        Ok(content)
    }

    /// Fills `room` with the content of `file` from offset `from` on, and says how much of it: less only where
    /// the content ends.
    ///
    /// Damage that inflates to something is not noticed here, and can reach what comes after it: only a new
    /// seeker begins at the last checkpoint in any case. The checksum of a stream is verified if it is read from its beginning to its end, and only then. Checkpoints
    /// that are not those of this file give an error, or other bytes.
    ///
    /// # Errors
    /// Any I/O error; a stream that is cut or broken between the checkpoint and the end of the
    /// range; [`ErrorKind::State`] for a checkpoint that is broken itself.
    pub fn fill(
        &mut self,
        file: &File,
        checkpoints: &Checkpoints,
        from: u64,
        room: &mut [u8],
    ) -> Result<usize, ErrorKind> {
        let result = self.go_on(At(file), &checkpoints.at(from), from, room);
        self.is_somewhere = result.is_ok();
        result
    }

    fn go_on(
        &mut self,
        mut file: At<'_>,
        checkpoint: &Checkpoint<'_>,
        from: u64,
        room: &mut [u8],
    ) -> Result<usize, ErrorKind> {
        let restarts = !self.is_before(from, checkpoint);
        if restarts {
            self.held = 0;
            self.flow.restart(checkpoint, &mut file)?;
        }
        let mut pulse = Pulse::start();
        let mut filled = 0;
        loop {
            pulse.check()?;
            filled += self.take(
                from + filled as u64,
                room.get_mut(filled..).unwrap_or_default(),
            );
            let rest = room.get_mut(filled..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(filled);
            }
            let place = from + filled as u64;
            let (count, event) = self.inflate(&mut file, place, rest, restarts)?;
            filled += count;
            if event == Event::Finished {
                return Ok(filled);
            }
        }
    }

    /// Inflates some of what lies before `place`, or else begins there: into `room`, where that is large
    /// enough, and says how much, or to be held.
    fn inflate(
        &mut self,
        file: &mut At<'_>,
        place: u64,
        room: &mut [u8],
        is_new: bool,
    ) -> Result<(usize, Event), ErrorKind> {
        let before = place.saturating_sub(self.flow.output);
        if before == 0 && room.len() >= HELD {
            self.held = 0;
            let step = self.flow.step(file, room, false)?;
            return Ok((step.produced, step.event));
        }
        // Sequential reads are likely to continue; a first read at a place may be the only one.
        let wanted = before.saturating_add(room.len() as u64);
        let wanted = usize::try_from(wanted).unwrap_or(HELD).min(HELD);
        let ahead = if is_new { wanted } else { HELD };
        let content = self.content.get_mut(..ahead).unwrap_or_default();
        let step = self.flow.step(file, content, false)?;
        self.held = step.produced;
        Ok((0, step.event))
    }

    /// Whether it is a shorter way from here to this offset than from the checkpoint.
    fn is_before(&self, from: u64, checkpoint: &Checkpoint<'_>) -> bool {
        let end = self.flow.output;
        let begin = end - self.held as u64;
        self.is_somewhere && begin <= from && (from < end || checkpoint.output <= end)
    }

    /// Copies the content at this offset, as far as it is held, and says how much.
    fn take(&self, offset: u64, room: &mut [u8]) -> usize {
        let begin = self.flow.output - self.held as u64;
        let skipped = usize::try_from(offset.saturating_sub(begin)).unwrap_or(usize::MAX);
        let held = self.content.get(skipped..self.held).unwrap_or_default();
        let count = held.len().min(room.len());
        for (to, from) in room.iter_mut().zip(held) {
            *to = *from;
        }
        count
    }
}
