//! What a file is, by its first bytes.

use super::frame::{HEADER, parse_header};

/// How many bytes of a file the guesses below look at.
pub const LOOK_AHEAD: usize = 512;

/// Whether `start` begins with a record header whose checksum holds.
#[must_use]
pub fn is_record_header(start: &[u8]) -> bool {
    start
        .first_chunk::<HEADER>()
        .is_some_and(|header| parse_header(header).is_ok())
}

/// Whether `start` begins as a gzip member does (RFC 1952), as far as it goes.
#[must_use]
pub fn is_gzip(start: &[u8]) -> bool {
    let magic = [0x1f, 0x8b, 0x08];
    let length = start.len().min(magic.len());
    length > 0 && start.get(..length) == magic.get(..length)
}

/// Whether `start` begins as a zlib stream does (RFC 1950): deflate, and a header checksum that
/// holds. One file in a thousand of anything else does so too, hence the caller tries to inflate.
#[must_use]
pub fn is_zlib(start: &[u8]) -> bool {
    let [method, flags, ..] = *start else {
        return false;
    };
    method & 0x0f == 8
        && method >> 4 <= 7
        && (u16::from(method) * 256 + u16::from(flags)) % 31 == 0
        && flags & 0x20 == 0
}

/// First bytes, and the format whose files have them.
const MAGIC: &[(&[u8], &str)] = &[
    (
        b"\x1f\x8b",
        "a gzip file, damaged or opened as if it were not compressed",
    ),
    (
        b"PK\x03\x04",
        "a zip archive (.zip, .npz, .jar, a PyTorch checkpoint)",
    ),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow IPC (Feather) file"),
    (b"Obj\x01", "an Avro file"),
    (b"ORC", "an ORC file"),
    (
        b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f",
        "a Riegeli file (ArrayRecord is one)",
    ),
    (
        b"version https://git-lfs",
        "a git-lfs pointer: the file itself was never fetched (git lfs pull)",
    ),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy .npy file"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a RIFF file (WAV, WebP, AVI)"),
    (b"%PDF", "a PDF document"),
    (b"\x28\xb5\x2f\xfd", "a zstd file (decompress it first)"),
    (b"BZh", "a bzip2 file (decompress it first)"),
    (b"\xfd7zXZ", "an xz file (decompress it first)"),
    (b"\x04\x22\x4d\x18", "an lz4 file (decompress it first)"),
    (
        b"\xff\x06\x00\x00sNaPpY",
        "a framed snappy file (decompress it first)",
    ),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x7fELF", "an ELF program or library"),
    (b"\x80\x04\x95", "a Python pickle"),
    (b"\x80\x05\x95", "a Python pickle"),
];

/// What a file that is no `TFRecord` looks like, if it looks like something.
#[must_use]
pub fn looks_like(start: &[u8]) -> Option<&'static str> {
    MAGIC
        .iter()
        .find(|(magic, _)| start.starts_with(magic))
        .map(|(_, name)| *name)
        .or_else(|| tar(start))
        .or_else(|| visual_dl(start))
        .or_else(|| bare_example(start))
        .or_else(|| text(start))
}

fn tar(start: &[u8]) -> Option<&'static str> {
    let magic = start.get(257..)?;
    magic
        .starts_with(b"ustar")
        .then_some("a tar archive (WebDataset shards are such)")
}

/// `VisualDL`'s logs have a plain 64-bit length and then a protobuf, without checksums.
fn visual_dl(start: &[u8]) -> Option<&'static str> {
    let length = u64::from_le_bytes(*start.first_chunk::<8>()?);
    let message = start.get(8..)?;
    let plausible = (2..1 << 32).contains(&length) && message.first() == Some(&0x0a);
    let tag = message.windows(13).any(|window| window == b"meta_data_tag");
    (plausible && tag).then_some("a VisualDL log (lengths without checksums)")
}

/// An Example that nobody framed: three nested length-delimited fields, each the first of its kind.
fn bare_example(start: &[u8]) -> Option<&'static str> {
    matches!(*start, [0x0a, _, 0x0a, _, 0x0a, _, _, last, ..] if last > 0)
        .then_some("protobuf messages without the frames of TFRecord (a bare Example, Bagz)")
}

/// Whether these are words: UTF-8, perhaps cut in the middle of a character, without control bytes.
fn is_text(start: &[u8]) -> bool {
    let valid = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(start.get(..error.valid_up_to()).unwrap_or_default())
                .unwrap_or_default()
        }
        Err(_) => return false,
    };
    !valid.is_empty() && valid.chars().all(|c| !c.is_control() || c.is_whitespace())
}

fn text(start: &[u8]) -> Option<&'static str> {
    let start = start
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(start)
        .trim_ascii_start();
    let lower = start.get(..start.len().min(64))?.to_ascii_lowercase();
    if lower.starts_with(b"<!doctype html") || lower.starts_with(b"<html") {
        return Some("an HTML page: a download that went wrong?");
    }
    if lower.starts_with(b"<?xml") || lower.starts_with(b"<error>") {
        return Some("an XML document: an error message of an object store?");
    }
    if start.len() < 2 || !is_text(start) {
        return None;
    }
    if matches!(start.first(), Some(b'{' | b'[')) {
        return Some("JSON text");
    }
    // Fewer could be the beginning of anything.
    if start.len() < 8 {
        return None;
    }
    Some("plain text (CSV?)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_what_people_mistake_for_records() {
        for (start, word) in [
            (&b"PAR1\x15\x04"[..], "Parquet"),
            (b"PK\x03\x04\x14\0", "zip"),
            (b"<!DOCTYPE html><html>", "HTML"),
            (b"\n <html lang=en>", "HTML"),
            (b"{\"message\": \"Not Found\"}", "JSON"),
            (
                b"version https://git-lfs.github.com/spec/v1\noid",
                "git-lfs",
            ),
            (b"name,age\nada,36\n", "text"),
            (b"<?xml version='1.0'?><Error>", "XML"),
        ] {
            assert!(
                looks_like(start).is_some_and(|text| text.contains(word)),
                "{word}"
            );
        }
        assert_eq!(looks_like(b"\x03\0\0\0\0\0\0\0"), None);
        assert_eq!(looks_like(b""), None);
    }

    #[test]
    fn zlib_headers_of_every_level() {
        for header in [
            [0x78, 0x01],
            [0x78, 0x5e],
            [0x78, 0x9c],
            [0x78, 0xda],
            [0x18, 0x95],
        ] {
            assert!(is_zlib(&header), "{header:x?}");
        }
        assert!(!is_zlib(&[0x78, 0x9d]));
        assert!(!is_zlib(&[0x78]));
    }
}
