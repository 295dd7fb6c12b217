//! The stream of frames in a file's bytes: as they are, or decompressed.
//!
//! [`open`] decides from the first bytes (or from what the caller says) and gives a [`Source`]. A source delivers
//! everything that can be decompressed before it reports what is wrong with the rest, and it tells a clean end from a
//! truncated one: a stream without its trailer is an error here.

use std::io::Read;

use super::checkpoints::Scanner;
use super::compression::Compression;
use super::detect::look;
use super::input::Input;
use super::parallel::Inflated;
use crate::error::ErrorKind;
use crate::record::format::sniff;

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
        Self::Plain(Input::new(file))
    }

    /// Reads some bytes into `buffer`; 0 is the clean end.
    ///
    /// # Errors
    /// Any I/O error; a compressed stream that is cut or broken.
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

/// Opens the stream of frames in `file`; `None` means: decide from the first bytes. Where it is
/// `parallel`, much content is inflated on other threads, ahead of the reader.
///
/// # Errors
/// [`ErrorKind::NotTfRecord`] if the first bytes are those of some other format; any I/O error.
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
/// It is not compressed as `compression` says; any I/O error.
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
