//! From frames to the file: in whole blocks as they are, in gzip members, or through the original zlib.

use crate::error::Result;
use crate::record::codec::zlib::{Deflater, Flush};
use crate::record::format::frame::{self, FOOTER, HEADER};
use crate::record::read::records::Records;
use crate::record::write::background::WritePiece;
use crate::record::write::destination::Destination;
use crate::record::write::gzip_members::Members;
use crate::runtime::memory::try_extend;

/// What becomes of frames on their way to the file.
pub enum Outlet {
    /// They are written as they are.
    Plain(Blocks),
    /// They are compressed, each part by itself.
    Members(Box<Members>),
    /// They are compressed, as one stream.
    Stream(Box<Stream>),
}

impl Outlet {
    /// Adds a record, with its frame, whose last bytes it returns.
    #[inline]
    pub fn add(&mut self, record: &[u8], file: &mut Destination) -> Result<[u8; FOOTER]> {
        let header = frame::header(record.len() as u64);
        let footer;
        match self {
            Self::Plain(blocks) => {
                blocks.push(&header, file)?;
                blocks.push(record, file)?;
                footer = frame::footer(record);
                blocks.push(&footer, file)?;
            }
            Self::Members(members) => {
                members.begin(HEADER + record.len() + FOOTER, file)?;
                members.push(&header, file)?;
                members.push(record, file)?;
                footer = frame::footer(record);
                members.push(&footer, file)?;
                members.end(file)?;
            }
            Self::Stream(stream) => {
                stream.push(&header, file)?;
                stream.push(record, file)?;
                footer = frame::footer(record);
                stream.push(&footer, file)?;
            }
        }
        Ok(footer)
    }

    /// Adds records in their frames, if they lie in such and go to the file as they are, and says whether they do.
    pub fn add_frames(&mut self, records: &Records, file: &mut Destination) -> Result<bool> {
        match (self, records.frames()) {
            (Self::Plain(blocks), Some(frames)) => {
                blocks.push_frames(records, frames, file)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Whether a record of that many bytes can be added without compressing or writing anything.
    pub fn has_room_for(&self, length: usize) -> bool {
        let room = match self {
            // A full block goes to the file at once.
            Self::Plain(blocks) => blocks.limit.saturating_sub(blocks.pending.len() + 1),
            Self::Members(members) => members.room(),
            Self::Stream(stream) => stream.limit.saturating_sub(stream.pending.len()),
        };
        length.saturating_add(HEADER + FOOTER) <= room
    }

    /// Writes everything so far, in a form that can be read.
    pub fn flush(&mut self, file: &mut Destination) -> Result<()> {
        match self {
            Self::Plain(blocks) => blocks.flush(file),
            Self::Members(members) => members.flush(file, false),
            // A reader can also begin here, if what is before it is damaged.
            Self::Stream(stream) => stream.drain(Flush::Full, file),
        }
    }

    /// Writes everything, and what ends the file.
    pub fn finish(&mut self, file: &mut Destination) -> Result<()> {
        match self {
            Self::Plain(blocks) => blocks.flush(file),
            Self::Members(members) => members.flush(file, file.position() == 0),
            Self::Stream(stream) => stream.drain(Flush::Finish, file),
        }
    }
}

/// Bytes on their way to an uncompressed file.
///
/// They are written in blocks that are aligned in the file: the system then keeps each in one piece of
/// memory, which halves its work (Linux since 6.16, ext4 and XFS). Larger blocks cost more, not less:
/// pieces of 1 MB and more have to be searched for.
pub struct Blocks {
    pending: Vec<u8>,
    /// How many bytes end at the next boundary.
    limit: usize,
}

/// The length of a block.
const BLOCK: usize = 256 << 10;

impl Blocks {
    /// For a file that continues at this position.
    pub fn at(position: u64) -> Self {
        Self {
            pending: Vec::new(),
            limit: left_in_block(position),
        }
    }

    #[inline]
    fn push(&mut self, bytes: &[u8], file: &mut Destination) -> Result<()> {
        if bytes.len() < self.limit - self.pending.len() {
            self.pending.extend_from_slice(bytes);
            return Ok(());
        }
        self.push_blocks(bytes, file)
    }

    /// Writes the blocks that `bytes` complete, and keeps the rest.
    fn push_blocks(&mut self, bytes: &[u8], file: &mut Destination) -> Result<()> {
        let rest = self.complete_block(bytes, file)?;
        // These lie in one piece, which need not be copied.
        let (blocks, rest) = rest.split_at(rest.len() - rest.len() % BLOCK);
        if !blocks.is_empty() {
            file.write_all(blocks)?;
        }
        self.keep(rest);
        Ok(())
    }

    /// As [`Self::push`] of the frames of `records`, which may be written later.
    fn push_frames(
        &mut self,
        records: &Records,
        frames: &[u8],
        file: &mut Destination,
    ) -> Result<()> {
        if frames.len() < self.limit - self.pending.len() {
            self.pending.extend_from_slice(frames);
            return Ok(());
        }
        let rest = self.complete_block(frames, file)?;
        let start = frames.len() - rest.len();
        let (blocks, rest) = rest.split_at(rest.len() - rest.len() % BLOCK);
        if !blocks.is_empty() {
            let range = start..start + blocks.len();
            file.write_piece(WritePiece::Frames(records.clone(), range))?;
        }
        self.keep(rest);
        Ok(())
    }

    /// Writes the block that is completed by the first of these bytes; the others.
    fn complete_block<'a>(&mut self, bytes: &'a [u8], file: &mut Destination) -> Result<&'a [u8]> {
        let (head, rest) = bytes.split_at(self.limit - self.pending.len());
        self.pending.extend_from_slice(head);
        self.limit = BLOCK;
        file.write_piece(WritePiece::Block(std::mem::take(&mut self.pending)))?;
        Ok(rest)
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.pending.reserve_exact(BLOCK);
        self.pending.extend_from_slice(bytes);
    }

    fn flush(&mut self, file: &mut Destination) -> Result<()> {
        file.write_all(&self.pending)?;
        self.pending.clear();
        self.limit = left_in_block(file.position());
        Ok(())
    }
}

fn left_in_block(position: u64) -> usize {
    BLOCK - usize::try_from(position % BLOCK as u64).unwrap_or(0)
}

/// One compressed stream, made by the original zlib.
pub struct Stream {
    deflater: Deflater,
    pending: Vec<u8>,
    limit: usize,
    ready: Vec<u8>,
    /// What zlib does whenever `limit` bytes have come.
    mode: Flush,
}

impl Stream {
    /// A stream that compresses that many bytes at a time, and then flushes as `flush_mode` says.
    pub fn new(deflater: Deflater, input_buffer_size: usize, flush_mode: i32) -> Self {
        Self {
            deflater,
            pending: Vec::new(),
            limit: input_buffer_size.max(1),
            ready: Vec::new(),
            mode: Flush::Mode(flush_mode),
        }
    }

    fn push(&mut self, bytes: &[u8], file: &mut Destination) -> Result<()> {
        if self.pending.len() + bytes.len() > self.limit {
            self.drain(self.mode, file)?;
        }
        if bytes.len() <= self.limit {
            try_extend(&mut self.pending, bytes)?;
            return Ok(());
        }
        // Too long to be worth a copy.
        self.deflater.compress(bytes, &mut self.ready, self.mode)?;
        self.write_ready(file)
    }

    fn drain(&mut self, flush: Flush, file: &mut Destination) -> Result<()> {
        self.deflater
            .compress(&self.pending, &mut self.ready, flush)?;
        self.pending.clear();
        self.write_ready(file)
    }

    fn write_ready(&mut self, file: &mut Destination) -> Result<()> {
        let written = file.write_all(&self.ready);
        self.ready.clear();
        written
    }
}
