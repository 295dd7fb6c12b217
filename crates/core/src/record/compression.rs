//! The stream of frames behind a file's bytes: as they are, or inflated.
//!
//! [`open`] decides from the first bytes (or from what the caller says) and gives a [`Source`]. A
//! source delivers everything that can be decompressed before it reports what is wrong with the
//! rest, and it tells a clean end from a cut: a stream without its trailer is an error here.

mod names;

use std::io::{self, Read};

use zlib_rs::{Inflate, InflateFlush};

use super::buffer::Buffer;
use super::checkpoints::Scanner;
use super::inflated::Inflated;
use super::limits::FileLimits;
use super::sniff;
use crate::error::ErrorKind;
use crate::interrupt::retrying;

/// How a file is compressed. TensorFlow's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all: `""`.
    #[default]
    None,
    /// gzip members, one or several (RFC 1952): `"GZIP"`.
    Gzip,
    /// One zlib stream (RFC 1950): `"ZLIB"`.
    Zlib,
}

/// A stream of frames.
pub enum Source {
    /// The file's own bytes.
    Plain(Input),
    /// What they inflate to.
    Inflated(Box<Inflated>),
    /// The same, and from where it could be inflated again.
    Scanned(Box<Scanner>),
}

impl Source {
    /// The bytes of `file` as they are, whatever they begin with.
    #[must_use]
    pub fn plain(file: Box<dyn Read + Send>) -> Self {
        Self::Plain(Input {
            peeked: io::Cursor::default(),
            rest: file,
            fault: None,
        })
    }

    /// Reads more into a buffer, `missing` bytes and more where it is `known` that there are so many, and says how
    /// much came; what is unread there begins at `offset`. Nothing is the end.
    ///
    /// # Errors
    /// As for [`Source::read`]; there is no memory; more comes than `limits` allow.
    pub fn read_into(
        &mut self,
        buffer: &mut Buffer,
        (missing, known): (usize, bool),
        limits: FileLimits,
        offset: u64,
    ) -> Result<usize, ErrorKind> {
        let done = offset + buffer.unread().len() as u64;
        let room = buffer.room(missing, known);
        let room = limits.room(room.map_err(ErrorKind::OutOfMemory)?, done);
        if room.is_empty() {
            // One byte more than is allowed shows that there is more.
            return match self.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(limits.too_much()),
            };
        }
        let count = self.read(room)?;
        buffer.filled(count);
        Ok(count)
    }

    /// Reads some bytes into `buffer`; 0 is the clean end.
    ///
    /// # Errors
    /// Of the operating system, or of a compressed stream that is cut or broken.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        match self {
            Self::Plain(input) => input.read(buffer).map_err(ErrorKind::from),
            Self::Inflated(inflated) => inflated.read(buffer),
            Self::Scanned(scanner) => scanner.read(buffer),
        }
    }

    /// How the file is compressed.
    #[must_use]
    pub fn compression(&self) -> Compression {
        match self {
            Self::Plain(_) => Compression::None,
            Self::Inflated(inflated) => inflated.codec(),
            Self::Scanned(scanner) => scanner.compression(),
        }
    }
}

/// A file's bytes, the first of which have been looked at already.
pub struct Input {
    peeked: io::Cursor<Vec<u8>>,
    rest: Box<dyn Read + Send>,
    /// What went wrong once: it is met again, whoever reads.
    fault: Option<io::Error>,
}

impl Input {
    /// Reads the first bytes of `rest` to have a look at them.
    fn peek(mut rest: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut start = vec![0; sniff::LOOK_AHEAD];
        let (mut filled, mut fault) = (0, None);
        while let Some(room) = start.get_mut(filled..).filter(|room| !room.is_empty()) {
            match retrying(|| rest.read(room)) {
                Ok(0) => break,
                Ok(count) => filled += count,
                // There may be a record in front of it.
                Err(error) if filled > 0 && !is_interrupt(&error) => {
                    fault = Some(error);
                    break;
                }
                Err(error) => return Err(error),
            }
            // Whoever writes into a pipe may wait for us before writing more.
            if start.get(..filled).is_some_and(sniff::is_record_header) {
                break;
            }
        }
        start.truncate(filled);
        Ok(Self {
            peeked: io::Cursor::new(start),
            rest,
            fault,
        })
    }

    fn start(&self) -> &[u8] {
        self.peeked.get_ref()
    }

    /// Puts bytes back in front of those to come.
    pub(super) fn put_back(&mut self, mut bytes: Vec<u8>) {
        let place = usize::try_from(self.peeked.position()).unwrap_or(usize::MAX);
        let unread = self.peeked.get_ref().get(place..).unwrap_or_default();
        bytes.extend_from_slice(unread);
        self.peeked = io::Cursor::new(bytes);
    }

    /// Reads some bytes; 0 is the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.peeked.read(buffer)? {
            0 => self.read_rest(buffer),
            n => Ok(n),
        }
    }

    fn read_rest(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(fault) = &self.fault {
            return Err(again(fault));
        }
        let read = retrying(|| self.rest.read(buffer));
        if let Err(error) = &read
            && !is_interrupt(error)
        {
            self.fault = Some(again(error));
        }
        read
    }
}

fn is_interrupt(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// The same error once more.
fn again(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(
        || io::Error::new(error.kind(), error.to_string()),
        io::Error::from_raw_os_error,
    )
}

impl Compression {
    /// zlib's window parameter for reading this: 15 bits, + 16 for gzip's header and trailer.
    pub(super) fn window_bits(self) -> u8 {
        if self == Self::Gzip { 15 + 16 } else { 15 }
    }
}

/// Opens the stream of frames in `file`; `None` means: decide from the first bytes. Where it is
/// `parallel`, much content is inflated on other threads, ahead of whoever reads it.
///
/// # Errors
/// [`ErrorKind::NotTfRecord`] if the first bytes are those of some other format, and errors of the
/// operating system.
pub fn open(
    file: Box<dyn Read + Send>,
    compression: Option<Compression>,
    parallel: bool,
) -> Result<Source, ErrorKind> {
    let (input, compression) = look(file, compression)?;
    if compression == Compression::None {
        return Ok(Source::Plain(input));
    }
    let inflated = Inflated::new(input, compression, parallel);
    Ok(Source::Inflated(Box::new(inflated)))
}

/// Opens the content of a `file` of any format; `None` means: GZIP if it begins so, else not compressed at all, because
/// a text may begin as ZLIB streams do.
///
/// # Errors
/// It is not compressed as `compression` says; errors of the operating system.
pub fn open_any(
    file: Box<dyn Read + Send>,
    compression: Option<Compression>,
    parallel: bool,
) -> Result<Source, ErrorKind> {
    let input = Input::peek(file).map_err(ErrorKind::from)?;
    let is_gzip = sniff::is_gzip(input.start());
    let found = if is_gzip {
        Compression::Gzip
    } else {
        Compression::None
    };
    let codec = compression.unwrap_or(found);
    let fits = match codec {
        Compression::None => return Ok(Source::Plain(input)),
        Compression::Gzip => is_gzip,
        Compression::Zlib => sniff::is_zlib(input.start()),
    };
    if !fits {
        let why = "incorrect header check".to_owned();
        return Err(ErrorKind::BadStream(codec.name(), why));
    }
    let inflated = Inflated::new(input, codec, parallel);
    Ok(Source::Inflated(Box::new(inflated)))
}

/// How `file` is compressed, by its first bytes where `compression` does not say so.
///
/// # Errors
/// As for [`open`].
pub(super) fn look(
    file: Box<dyn Read + Send>,
    compression: Option<Compression>,
) -> Result<(Input, Compression), ErrorKind> {
    let input = Input::peek(file).map_err(ErrorKind::from)?;
    if let Some(codec) = compression {
        refuse_mismatch(codec, input.start())?;
    }
    let compression = compression.unwrap_or_else(|| detect(input.start()));
    if compression == Compression::None {
        refuse_other_formats(input.start())?;
    }
    Ok((input, compression))
}

/// The compression of a file that starts with `start`.
fn detect(start: &[u8]) -> Compression {
    if sniff::is_record_header(start) {
        Compression::None
    } else if sniff::is_gzip(start) {
        Compression::Gzip
    } else if sniff::is_zlib(start) && inflates_to_something(start) {
        Compression::Zlib
    } else {
        Compression::None
    }
}

/// Whether `start`, as a zlib stream, begins with a record, or with what can be told to be something
/// else, or is cut before anything can be said.
fn inflates_to_something(start: &[u8]) -> bool {
    let mut out = [0; sniff::LOOK_AHEAD];
    let mut inflate = Inflate::new(true, Compression::Zlib.window_bits());
    let fine = inflate
        .decompress(start, &mut out, InflateFlush::NoFlush)
        .is_ok();
    let produced = usize::try_from(inflate.total_out()).unwrap_or(usize::MAX);
    let content = out.get(..produced).unwrap_or_default();
    // A record at the beginning is enough: what is wrong further on, reading will tell.
    sniff::is_record_header(content)
        || (fine && (sniff::looks_like(content).is_some() || produced < super::frame::HEADER))
}

fn refuse_other_formats(start: &[u8]) -> Result<(), ErrorKind> {
    if sniff::is_record_header(start) {
        return Ok(());
    }
    sniff::looks_like(start).map_or(Ok(()), |what| Err(ErrorKind::NotTfRecord(what)))
}

/// A file that was announced as compressed and does not even begin so.
fn refuse_mismatch(codec: Compression, start: &[u8]) -> Result<(), ErrorKind> {
    let fits = match codec {
        Compression::None => true,
        Compression::Gzip => start.is_empty() || sniff::is_gzip(start),
        Compression::Zlib => start.len() < 2 || sniff::is_zlib(start),
    };
    if fits {
        return Ok(());
    }
    let found = match detect(start) {
        Compression::Gzip => "a GZIP stream",
        Compression::Zlib => "a ZLIB stream",
        Compression::None if sniff::is_record_header(start) => "an uncompressed TFRecord file",
        Compression::None => match sniff::looks_like(start) {
            Some(other) => return Err(ErrorKind::NotTfRecord(other)),
            None => "nothing known",
        },
    };
    let why = format!("incorrect header check, the file begins like {found}");
    Err(ErrorKind::BadStream(codec.name(), why))
}
