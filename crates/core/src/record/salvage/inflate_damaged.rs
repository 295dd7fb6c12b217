//! All that still comes out of a damaged compressed file, in a temporary file.
//!
//! After the damage a stream is entered again where it can be: at the next gzip member, or after the next full
//! flush, which leaves the bytes `00 00 ff ff` and begins anew. Either may stand there by chance, or as
//! content; so only what holds a sound record is believed.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::sync::atomic::{AtomicU32, Ordering};

use zlib_rs::{Inflate, InflateFlush, Status};

use crate::error::{ErrorKind, Result};
use crate::record::codec::compression::Compression;
use crate::record::salvage::file_view::View;
use crate::record::salvage::probe::{Frame, frame};
use crate::runtime::memory::try_push;

/// Compressed bytes that go in at once. So exactly is it known what came out of which.
const BITE: usize = 512;
/// The most that is inflated to see whether it holds a record.
const MOST_TRIED: u64 = 4 << 20;
/// All trials together may cost that many times the file.
const TRIALS: u64 = 8;

/// No more is written to disk than this, or that many times the compressed file, unless somebody says otherwise: it
/// may be a bomb.
const MOST_WRITTEN: (u64, u64) = (64 << 30, 64);

/// What came out, and where something is missing in it.
pub struct Unpacked {
    /// The content from some place on; before that, nothing.
    pub content: File,
    /// How long it is.
    pub size: u64,
    /// Where bytes are missing, and why.
    pub joins: Vec<(u64, ErrorKind)>,
}

/// Inflates all of `packed`, of which at most that many bytes may come. What comes before `from` is known to be sound,
/// and left out.
///
/// # Errors
/// Any I/O error; [`ErrorKind::DecompressedLimit`] if too much comes out.
pub fn unpack(
    packed: &mut View,
    codec: Compression,
    from: u64,
    most: Option<u64>,
) -> Result<Unpacked> {
    let by_default = packed.size().saturating_mul(MOST_WRITTEN.1);
    let by_default = from.saturating_add(by_default.max(MOST_WRITTEN.0));
    let content = temporary_file()?;
    let mut unpacker = Unpacker {
        packed,
        codec,
        out: Out::new(content.try_clone()?, from),
        content,
        joins: Vec::new(),
        tried: 0,
        sound: from,
        most: most.unwrap_or(by_default),
    };
    unpacker.run()?;
    unpacker.out.writer.flush()?;
    Ok(Unpacked {
        content: unpacker.content,
        size: unpacker.out.size,
        joins: unpacker.joins,
    })
}

struct Unpacker<'a> {
    packed: &'a mut View,
    codec: Compression,
    out: Out,
    content: File,
    joins: Vec<(u64, ErrorKind)>,
    tried: u64,
    /// Up to here the content is known to be sound.
    sound: u64,
    /// How much may come out.
    most: u64,
}

/// Where a stream can be entered.
#[derive(Clone, Copy)]
enum Restart {
    /// At its header.
    Header(u64),
    /// In its middle.
    Middle(u64),
}

impl Unpacker<'_> {
    fn run(&mut self) -> Result<()> {
        let mut entry = Some(Restart::Header(0));
        while let Some(begin) = entry {
            let (stream, fault) = self.stream(begin)?;
            entry = match fault {
                None if stream.next >= self.packed.size() => None,
                None => self.after(stream.next)?,
                Some(fault) => {
                    try_push(&mut self.joins, (self.out.size, fault))?;
                    let (from, known) = self.damaged_from(begin, &stream)?;
                    self.find(from, known)?
                }
            };
        }
        Ok(())
    }

    /// Where to continue after a stream that ends at `next`.
    fn after(&mut self, next: u64) -> Result<Option<Restart>> {
        let codec = self.codec.name();
        if self.codec == Compression::Gzip && is_member(self.packed.at(next)?) {
            return Ok(Some(Restart::Header(next)));
        }
        let fault = ErrorKind::TrailingData(codec, "garbage");
        try_push(&mut self.joins, (self.out.size, fault))?;
        self.find(next, next)
    }

    /// Inflates a stream as far as it goes.
    fn stream(&mut self, entry: Restart) -> Result<(Stream, Option<ErrorKind>)> {
        let mut stream = Stream::new(entry, self.codec);
        try_push(&mut stream.marks, (stream.next, self.out.size))?;
        loop {
            let (bytes, more) = stream.bite(self.packed, self.codec)?;
            self.out.write(bytes)?;
            if self.out.size > self.most {
                return Err(ErrorKind::DecompressedLimit(self.most).into());
            }
            try_push(&mut stream.marks, (stream.next, self.out.size))?;
            match more {
                More::Yes => {}
                More::End => return Ok((stream, None)),
                More::Fault(fault) => return Ok((stream, Some(fault))),
            }
        }
    }

    /// From where on something after damage in `stream` may be looked for: another stream, and another place
    /// in this one. Nothing that is known to be sound has come out of what follows the latter.
    fn damaged_from(&mut self, entry: Restart, stream: &Stream) -> Result<(u64, u64)> {
        self.out.writer.flush()?;
        let mut view = View::new(self.content.try_clone()?, self.out.size, self.sound);
        self.sound = last_sound(&mut view, self.sound)?;
        let sound = self.sound;
        let reached = stream.marks.partition_point(|&(_, out)| out < sound);
        let at = |mark: usize| stream.marks.get(mark).map_or(stream.next, |mark| mark.0);
        let (Restart::Header(start) | Restart::Middle(start)) = entry;
        // A stream that has lost its end may have gone on in the next one, within one bite.
        let last = at(reached.saturating_sub(1));
        Ok((last.max(start + 1), at(reached).max(start + 1)))
    }

    /// The next place to enter: from `from` on a stream, from `known` on any.
    fn find(&mut self, from: u64, known: u64) -> Result<Option<Restart>> {
        let mut at = from;
        while let Some(entry) = next_entry(self.packed, at, self.codec)? {
            self.packed.heed_signals()?;
            let is_known = matches!(entry, Restart::Middle(place) if place < known);
            if !is_known && self.is_believed(entry)? {
                return Ok(Some(entry));
            }
            at = match entry {
                Restart::Header(place) => place + 1,
                Restart::Middle(place) => place - 3,
            };
        }
        Ok(None)
    }

    /// Whether what comes out there holds a sound record.
    fn is_believed(&mut self, entry: Restart) -> Result<bool> {
        if self.tried > self.packed.size().saturating_mul(TRIALS) + MOST_TRIED {
            return Ok(false);
        }
        let mut out = Out::new(temporary_file()?, 0);
        let mut stream = Stream::new(entry, self.codec);
        while out.size < MOST_TRIED {
            let (bytes, more) = stream.bite(self.packed, self.codec)?;
            out.write(bytes)?;
            match more {
                More::Yes => {}
                More::End if matches!(entry, Restart::Header(_)) => return Ok(out.size > 0),
                _ => break,
            }
        }
        out.writer.flush()?;
        self.tried += out.size;
        let mut view = View::new(out.writer.get_ref().try_clone()?, out.size, 0);
        Ok(last_sound(&mut view, 0)? > 0)
    }
}

/// Where the last sound record after `from` ends; `from` if there is none.
fn last_sound(view: &mut View, from: u64) -> Result<u64> {
    let (mut at, mut sound) = (from, from);
    while let Some(place) = view.next_header(at, view.size())? {
        at = match frame(view, place)? {
            Frame::Sound(end) => {
                sound = end;
                end
            }
            _ => place + 1,
        };
    }
    Ok(sound)
}

/// A stream that is inflated from somewhere on.
struct Stream {
    inflate: Inflate,
    is_raw: bool,
    /// The next compressed byte.
    next: u64,
    /// How far the compressed bytes had been read when so much had come out.
    marks: Vec<(u64, u64)>,
    room: Vec<u8>,
}

enum More {
    Yes,
    End,
    Fault(ErrorKind),
}

impl Stream {
    fn new(entry: Restart, codec: Compression) -> Self {
        let (next, is_raw) = match entry {
            Restart::Header(at) => (at, false),
            Restart::Middle(at) => (at, true),
        };
        let inflate = if is_raw {
            Inflate::new(false, 15)
        } else {
            Inflate::new(true, codec.window_bits())
        };
        Self {
            inflate,
            is_raw,
            next,
            marks: Vec::new(),
            room: vec![0; 64 << 10],
        }
    }

    /// Some of what comes out, and whether there is more.
    fn bite(&mut self, packed: &mut View, codec: Compression) -> Result<(&[u8], More)> {
        packed.heed_signals()?; // a little goes in, and very much may come out
        let left = usize::try_from(packed.size().saturating_sub(self.next)).unwrap_or(usize::MAX);
        let bytes = packed.at(self.next)?;
        let some = bytes
            .get(..bytes.len().min(BITE).min(left))
            .unwrap_or_default();
        let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
        let result = self
            .inflate
            .decompress(some, &mut self.room, InflateFlush::NoFlush);
        self.next += self.inflate.total_in() - before_in;
        let produced = self.inflate.total_out() - before_out;
        let produced = usize::try_from(produced).unwrap_or_default();
        let more = match result {
            Ok(Status::StreamEnd) => {
                // A raw stream does not know of the trailer after it.
                let trailer = if codec == Compression::Gzip { 8 } else { 4 };
                self.next += if self.is_raw { trailer } else { 0 };
                More::End
            }
            Ok(_) if left == 0 && produced == 0 => {
                More::Fault(ErrorKind::TruncatedStream(codec.name()))
            }
            Ok(_) => More::Yes,
            Err(_) => More::Fault(ErrorKind::BadStream(
                codec.name(),
                "invalid data".to_owned(),
            )),
        };
        Ok((self.room.get(..produced).unwrap_or_default(), more))
    }
}

fn is_member(start: &[u8]) -> bool {
    start.starts_with(&[0x1f, 0x8b, 0x08])
}

/// The next place from `at` on where a stream may be entered.
fn next_entry(packed: &mut View, mut at: u64, codec: Compression) -> Result<Option<Restart>> {
    while at < packed.size() {
        let bytes = packed.at(at)?;
        let found = bytes.windows(4).position(|four| {
            four == [0, 0, 0xff, 0xff] || (codec == Compression::Gzip && is_member(four))
        });
        if let Some(place) = found {
            let is_header = bytes.get(place..).is_some_and(is_member);
            at += place as u64;
            return Ok(Some(if is_header {
                Restart::Header(at)
            } else {
                Restart::Middle(at + 4)
            }));
        }
        at += (bytes.len() as u64).saturating_sub(3).max(1);
    }
    Ok(None)
}

/// A file that is written from some place on: what comes before is left out.
struct Out {
    writer: BufWriter<File>,
    size: u64,
    from: u64,
}

impl Out {
    fn new(file: File, from: u64) -> Self {
        Self {
            writer: BufWriter::with_capacity(256 << 10, file),
            size: 0,
            from,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let known = self.from.saturating_sub(self.size);
        let known = usize::try_from(known)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let new = bytes.get(known..).unwrap_or_default();
        if !new.is_empty() && self.size <= self.from {
            use std::io::{Seek, SeekFrom};
            self.writer.seek(SeekFrom::Start(self.from))?;
        }
        self.writer.write_all(new)?;
        self.size += bytes.len() as u64;
        Ok(())
    }
}

/// A file that is nobody else's, and goes when it is closed.
fn temporary_file() -> Result<File> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tfrecs-salvage-{}-{number}.tmp", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        #[cfg(windows)]
        std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, 0x0400_0000); // delete on close
        match options.open(&path) {
            Ok(file) => {
                #[cfg(unix)]
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gzip stream of 2,000 zeros, stored.
    fn stored() -> Vec<u8> {
        let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 0xd0, 7, 0x2f, 0xf8];
        file.extend([0; 2000]);
        file.extend([0; 8]);
        file
    }

    #[test]
    fn no_more_than_is_allowed_comes_out() {
        let file = stored();
        let mut out = Out::new(temporary_file().unwrap(), 0);
        out.write(&file).unwrap();
        out.writer.flush().unwrap();
        let open = || View::new(out.writer.get_ref().try_clone().unwrap(), out.size, 0);
        let unpacked = unpack(&mut open(), Compression::Gzip, 0, Some(2000)).unwrap();
        assert_eq!(unpacked.size, 2000);
        let error = unpack(&mut open(), Compression::Gzip, 0, Some(1999)).err();
        assert!(matches!(
            error.unwrap().kind(),
            ErrorKind::DecompressedLimit(1999)
        ));
    }
}
