//! Writing to a file on another thread, after who brings the bytes.
//!
//! The bytes are handed over, not copied; what went wrong is reported when the next ones come, or when somebody
//! waits for all to be written.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::mpsc::{Sender, channel};

use crate::error::Result;
use crate::record::read::records::Records;
use crate::record::write::files::fs::Disk;
use crate::record::write::files::writeback;
use crate::runtime::interrupt::{self, retrying};
use crate::runtime::ordered_workers::Ordered;

/// The most bytes, and pieces, that may wait to be written.
const MOST_BYTES: usize = 16 << 20;
const MOST_PIECES: usize = 16;

/// How much is written at once: more takes the system longer, not shorter.
const AT_ONCE: usize = 256 << 10;

/// Bytes to be written.
pub enum WritePiece {
    Block(Vec<u8>),
    /// Some of the frames of these records.
    Frames(Records, Range<usize>),
}

impl WritePiece {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Block(bytes) => bytes,
            Self::Frames(records, range) => {
                let frames = records.frames().unwrap_or_default();
                frames.get(range.clone()).unwrap_or_default()
            }
        }
    }
}

/// A file that is being written to, and which of its bytes the system was asked to put on the disk.
pub struct UnwrittenTail {
    pub file: File,
    pub disk: Disk,
    /// How many bytes it has.
    pub position: u64,
    /// How many of them the system was asked to put on the disk; none if it need not be.
    pub begun: Option<u64>,
}

/// How many bytes may wait before the system is asked to begin to put them on the disk.
const AHEAD: u64 = 8 << 20;

impl UnwrittenTail {
    /// The same file, for another thread: who writes to one of them moves both.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn twin(&self) -> io::Result<Self> {
        Ok(Self {
            file: self.file.try_clone()?,
            disk: self.disk.clone(),
            ..*self
        })
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        for block in bytes.chunks(AT_ONCE) {
            self.write_block(block)?;
            self.position += block.len() as u64;
            let Some(begun) = &mut self.begun else {
                continue;
            };
            let ahead = self.position - *begun;
            if ahead >= AHEAD {
                writeback::begin(&self.file, *begun, ahead);
                *begun = self.position;
            }
        }
        Ok(())
    }

    fn write_block(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match retrying(|| self.disk.write(&mut self.file, bytes))? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => bytes = bytes.get(count..).unwrap_or_default(),
            }
            if !bytes.is_empty() {
                // A signal that comes after some bytes were written cuts the call short, silently.
                interrupt::check()?;
            }
        }
        Ok(())
    }
}

/// A thread that writes.
pub struct BackgroundWriter {
    /// None once it is gone, or was left to the process that it belongs to.
    parts: Option<(Sender<WritePiece>, Ordered<io::Result<()>>)>,
    /// The sizes of the pieces that are not known to be written.
    waiting: VecDeque<usize>,
    process: u32,
}

impl BackgroundWriter {
    /// Has another thread continue with the file.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(mut tail: UnwrittenTail) -> Result<Self> {
        let (pieces, to_write) = channel::<WritePiece>();
        let mut is_sound = true;
        let mut write = Some(move |piece: WritePiece| {
            // After bytes that are missing there must be no others.
            if !is_sound {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let written = tail.write(piece.bytes());
            is_sound = written.is_ok();
            written
        });
        let make_worker = || {
            let mut write = write.take();
            move |piece| write.as_mut().map_or(Ok(()), |write| write(piece))
        };
        let source = move || to_write.recv().ok();
        let written = Ordered::start(1, MOST_PIECES + 1, source, make_worker)?;
        Ok(Self {
            parts: Some((pieces, written)),
            waiting: VecDeque::new(),
            process: std::process::id(),
        })
    }

    /// Hands bytes over, waiting while there are too many.
    ///
    /// # Errors
    /// Of bytes that came before.
    pub fn put(&mut self, piece: WritePiece) -> Result<()> {
        let size = piece.bytes().len();
        while self.waiting.len() >= MOST_PIECES
            || (!self.waiting.is_empty() && self.waiting.iter().sum::<usize>() + size > MOST_BYTES)
        {
            self.wait_for_one()?;
        }
        if let Some((pieces, _)) = &self.parts {
            // If nobody is there to take it, waiting for the result will tell.
            let _ = pieces.send(piece);
            self.waiting.push_back(size);
        }
        Ok(())
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// Any I/O error; a signal that says to stop.
    pub fn settle(&mut self) -> Result<()> {
        while !self.waiting.is_empty() {
            self.wait_for_one()?;
        }
        Ok(())
    }

    fn wait_for_one(&mut self) -> Result<()> {
        if let Some((_, written)) = &mut self.parts
            && let Some(outcome) = written.next_result()?
        {
            self.waiting.pop_front();
            return Ok(outcome?);
        }
        self.waiting.clear();
        Ok(())
    }
}

impl Drop for BackgroundWriter {
    /// Ends the pieces first, so that the thread does not wait for more, and then waits for it: the file may
    /// be cut or removed next. In a fork neither exists, and what they were doing when it happened cannot be
    /// known: it is not touched.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.parts.take());
        } else if let Some((pieces, mut written)) = self.parts.take() {
            drop(pieces);
            while let Ok(Some(_)) = written.next_result() {}
        }
    }
}
