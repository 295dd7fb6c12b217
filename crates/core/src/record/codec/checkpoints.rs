//! Checkpoints: places inside a gzip or zlib file from which it can be decompressed.
//!
//! ```text
//!  content    0 ──────────── 1 MiB ──────────── 2 MiB ─────── …
//!  file       │ header, blocks │ blocks            │ blocks
//!             0             311,204 + 5 bits    640,118 + 0 bits
//!                           └ checkpoint 1      └ checkpoint 2
//!                             content offset      a block begins at this bit of the file
//!                             window: the 32 KB of content before it, as far as later blocks refer to them
//!
//!  Scanner      decompresses a file from its beginning, and notes a checkpoint about every MiB of content
//!  Checkpoints  the table: offset in the file, bits of its first byte that belong to the block before, offset in the content
//!  Seeker       decompresses any range of the content, from the last checkpoint before it
//! ```
//!
//! To read content from 1.5 MiB on, a `Seeker` gives checkpoint 1's window to the decompressor, skips 5 bits of the byte at
//! 311,204, and decompresses half a MiB that nobody asked for. Of a window, only the bytes that later blocks refer to are kept
//! (`window.rs`); the others are zero, and all are compressed.
//!
//! If you change this: an index holds checkpoints, so its format version must change with theirs (`record/index/`).
//! Whatever a checkpoint says, it must lead to bytes or to an error: `tests/torture/stale.py` alters every byte of some.
//!
//! Bytes that are read from a checkpoint need a checksum of their own, as records have: that of the stream covers
//! all of it, and can only be verified where all of it is decompressed. Whatever a checkpoint says, it
//! leads to bytes or to an error.
//!
//! ```
//! # use std::fs::File;
//! # use tfrecs_core::record::codec::checkpoints::{Scanner, Seeker};
//! # use tfrecs_core::record::{RecordWriter, WriteOptions};
//! # let path = std::env::temp_dir().join(format!("tfrecs-{}.tfrecord.gz", std::process::id()));
//! # let mut writer = RecordWriter::open(&path, WriteOptions::default())?;
//! # writer.write(b"some record")?;
//! # writer.close()?;
//! let file = File::open(&path)?;
//! let mut room = [0; 4096];
//! if let Some(mut scanner) = Scanner::open(Box::new(file), None, Scanner::SPACING)? {
//!     let codec = scanner.compression();
//!     while scanner.read(&mut room)? > 0 {}
//!     let checkpoints = scanner.into_checkpoints();
//!
//!     let file = File::open(&path)?;
//!     let mut seeker = Seeker::new(codec)?;
//!     assert_eq!(seeker.read(&file, &checkpoints, 12, 23)?, b"some record");
//! }
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), tfrecs_core::Error>(())
//! ```

mod flow;
mod scanner;
mod seeker;
#[cfg(test)]
mod tests;
mod window;

pub use scanner::Scanner;
pub use seeker::Seeker;

use super::libdeflate::{Packer, Unpacker};
use crate::error::{Error, ErrorKind, Result};
use crate::record::codec::inflate_blocks::WINDOW;
use crate::runtime::memory::{try_extend, try_push, try_reserve};

/// A place in a compressed file from which it can be inflated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint<'a> {
    /// How many bytes of content come before it.
    pub output: u64,
    /// How many bytes of the file come before it.
    pub input: u64,
    /// What begins there.
    pub entry: EntryPoint<'a>,
}

/// What begins at a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryPoint<'a> {
    /// A stream: a gzip member, or the zlib stream.
    Stream,
    /// A deflate block in the middle of a stream.
    Block {
        /// How many bits of the byte in front belong to it.
        bits: u8,
        /// How long the window is.
        length: u16,
        /// The window, as deflate blocks.
        packed: &'a [u8],
    },
}

impl EntryPoint<'_> {
    /// The bytes in front of a block, those that it refers to.
    ///
    /// # Errors
    /// [`crate::ErrorKind::State`] if they cannot be unpacked.
    fn window(&self) -> Result<Vec<u8>> {
        match *self {
            EntryPoint::Block { length, packed, .. } if length > 0 => Unpacker::new()
                .and_then(|mut unpacker| unpacker.unpack(packed, usize::from(length)))
                .ok_or_else(|| Error::state("the window of a checkpoint is broken")),
            _ => Ok(Vec::new()),
        }
    }
}

/// The beginning of the file, which everybody knows.
const ORIGIN: Checkpoint<'static> = Checkpoint {
    output: 0,
    input: 0,
    entry: EntryPoint::Stream,
};

/// The checkpoints of a file, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoints {
    places: Vec<Location>,
    /// The windows, packed, one after the other.
    windows: Vec<u8>,
}

/// A checkpoint whose window stands elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Location {
    output: u64,
    input: u64,
    /// The number of bits, or [`STREAM`].
    kind: u8,
    /// How long the window is.
    length: u16,
    /// Where it ends in the packed windows: it begins where that of the place before ends.
    end: usize,
}

/// The kind of a place where a stream begins.
const STREAM: u8 = 8;

/// No file is longer.
const FARTHEST: u64 = i64::MAX as u64;

/// Bytes of a place as it is stored.
const PLACE: usize = 24;

/// How hard windows are compressed. Level 12 takes 4 % less and seventy times as long.
const LEVEL: i32 = 6;

impl Checkpoints {
    /// How many there are; the beginning of the file does not count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none but the beginning of the file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The last one at or before this offset in the content.
    #[must_use]
    pub fn at(&self, offset: u64) -> Checkpoint<'_> {
        let after = self.places.partition_point(|place| place.output <= offset);
        let index = after.checked_sub(1);
        index.and_then(|index| self.get(index)).unwrap_or(ORIGIN)
    }

    /// All of them, but the beginning of the file.
    pub fn iter(&self) -> impl Iterator<Item = Checkpoint<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    fn get(&self, index: usize) -> Option<Checkpoint<'_>> {
        let place = self.places.get(index)?;
        let begin = match index.checked_sub(1) {
            Some(before) => self.places.get(before)?.end,
            None => 0,
        };
        let entry = match place.kind {
            STREAM => EntryPoint::Stream,
            bits => EntryPoint::Block {
                bits,
                length: place.length,
                packed: self.windows.get(begin..place.end)?,
            },
        };
        Some(Checkpoint {
            output: place.output,
            input: place.input,
            entry,
        })
    }

    /// Adds one after all others: a stream, or a block with that many `bits` of the byte in front.
    fn push(
        &mut self,
        output: u64,
        input: u64,
        kind: u8,
        window: &[u8],
        packer: &mut Packer,
    ) -> Result<(), ErrorKind> {
        if !window.is_empty() {
            packer.pack(window, &mut self.windows)?;
        }
        let place = Location {
            output,
            input,
            kind,
            length: u16::try_from(window.len()).unwrap_or(0),
            end: self.windows.len(),
        };
        try_push(&mut self.places, place)
    }

    /// How they are stored; all numbers are little-endian, and nothing says that they are right:
    ///
    /// ```text
    /// uint32 number of checkpoints
    /// for each:
    ///   uint64 offset in the content
    ///   uint64 offset in the file
    ///   uint32 bytes of its window as it is stored
    ///   uint16 bytes of its window
    ///   uint8  bits of the byte in front that belong to it; 8: a stream begins there
    ///   uint8  0
    /// the windows, each as raw deflate blocks
    /// ```
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        try_reserve(&mut bytes, 4 + self.len() * PLACE + self.windows.len())?;
        let count = u32::try_from(self.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&count.to_le_bytes());
        let mut begin = 0;
        for place in &self.places {
            let packed = u32::try_from(place.end - begin).unwrap_or(u32::MAX);
            begin = place.end;
            bytes.extend_from_slice(&place.output.to_le_bytes());
            bytes.extend_from_slice(&place.input.to_le_bytes());
            bytes.extend_from_slice(&packed.to_le_bytes());
            bytes.extend_from_slice(&place.length.to_le_bytes());
            bytes.extend_from_slice(&[place.kind, 0]);
        }
        bytes.extend_from_slice(&self.windows);
        Ok(bytes)
    }

    /// What [`Checkpoints::to_bytes`] has stored; `None` if these bytes cannot be that. Whether they are those of
    /// this file is for the caller to know.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk()?;
        let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
        let (table, windows) = rest.split_at_checked(count.checked_mul(PLACE)?)?;
        let mut places: Vec<Location> = Vec::new();
        try_reserve(&mut places, count).ok()?;
        for stored in table.as_chunks::<PLACE>().0 {
            places.push(Location::after(places.last(), stored)?);
        }
        let end = places.last().map_or(0, |place| place.end);
        let mut kept = Vec::new();
        try_extend(&mut kept, windows).ok()?;
        (end == windows.len()).then_some(Self {
            places,
            windows: kept,
        })
    }
}

impl Location {
    /// A place as it is stored after another one, if it can be there.
    fn after(before: Option<&Self>, stored: &[u8; PLACE]) -> Option<Self> {
        let (output, rest) = stored.split_first_chunk()?;
        let (input, rest) = rest.split_first_chunk()?;
        let (packed, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let &[kind, 0] = rest else { return None };
        let packed = usize::try_from(u32::from_le_bytes(*packed)).ok()?;
        let begin = before.map_or(0, |before| before.end);
        let place = Self {
            output: u64::from_le_bytes(*output),
            input: u64::from_le_bytes(*input),
            kind,
            length: u16::from_le_bytes(*length),
            end: begin.checked_add(packed)?,
        };
        let after =
            before.is_none_or(|before| before.output <= place.output && before.input < place.input);
        let possible = place.output.max(place.input) <= FARTHEST
            && usize::from(place.length) <= WINDOW
            && u64::from(place.length) <= place.output
            && (place.length == 0) == (packed == 0)
            && match kind {
                STREAM => place.length == 0,
                0 => true,
                1..STREAM => place.input > 0,
                _ => false,
            };
        (after && possible).then_some(place)
    }
}
