//! Any range of the content, from the last checkpoint before it.

use std::fs::File;
use std::io;

use super::super::compression::Compression;
use super::super::extent::read_at;
use super::flow::{Bytes, Event, Flow};
use super::{Checkpoint, Checkpoints};
use crate::error::ErrorKind;
use crate::interrupt::{Pulse, retrying};

/// Content that is passed over, at a time.
const PASSED: usize = 64 << 10;

/// Memory that is taken at a time: a range may end far behind the content.
const PIECE: usize = 256 << 10;

/// Reads ranges of a compressed file's content.
///
/// It keeps its inflater: one range behind the other costs no more than reading from beginning to end. Memory
/// is what is asked for and some 200 KB.
pub struct Seeker {
    flow: Flow,
    /// Whether `flow` is anywhere.
    is_somewhere: bool,
    passed: Vec<u8>,
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
            passed: vec![0; PASSED],
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
    /// The checksum of a stream is verified if it is read from its beginning to its end, and only then. Checkpoints
    /// that are not those of this file give an error, or other bytes.
    ///
    /// # Errors
    /// Of the operating system; of a stream that is cut or broken between the checkpoint and the end of the
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
        let near = checkpoint.output..=from;
        if !self.is_somewhere || !near.contains(&self.flow.output) {
            self.flow.restart(checkpoint, &mut file)?;
        }
        let mut pulse = Pulse::start();
        while self.flow.output < from {
            pulse.check()?;
            let left = usize::try_from(from - self.flow.output).unwrap_or(PASSED);
            let passed = self.passed.get_mut(..left.min(PASSED)).unwrap_or_default();
            if self.flow.step(&mut file, passed, false)?.event == Event::Finished {
                return Ok(0);
            }
        }
        let mut filled = 0;
        while let Some(rest) = room.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            pulse.check()?;
            let step = self.flow.step(&mut file, rest, false)?;
            filled += step.produced;
            if step.event == Event::Finished {
                break;
            }
        }
        Ok(filled)
    }
}
