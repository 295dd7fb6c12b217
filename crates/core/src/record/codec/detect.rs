//! How a file is compressed, by its first bytes.

use std::io::Read;

use zlib_rs::{Inflate, InflateFlush};

use super::compression::Compression;
use super::input::Input;
use crate::error::ErrorKind;
use crate::record::format::frame::HEADER;
use crate::record::format::sniff;

/// How `file` is compressed, by its first bytes where `compression` does not say so.
///
/// # Errors
/// As for [`open`](super::source::open).
pub(crate) fn look(
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
        || (fine && (sniff::looks_like(content).is_some() || produced < HEADER))
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
