//! Making a gzip file whole again that an interrupted writer has left cut.
//!
//! Nothing can be added after a stream that has no end. Its whole records are written once more, after a
//! copy of the members before it, to a sibling, which then replaces the file: whenever that is interrupted,
//! the file has all the records that it had.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::append::Tail;
use super::digest::Digest;
use super::writer::{RecordWriter, WriteOptions};
use crate::error::{Error, Result};
use crate::record::codec::compression::Compression;
use crate::record::codec::gzip_member;
use crate::record::read::reader::{ReadOptions, RecordReader};
use crate::record::storage::permissions::Permissions;
use crate::record::write::destination::Destination;
use crate::record::write::files::fs::Disk;
use crate::record::write::files::temp_file::{self, final_name};
use crate::runtime::interrupt::{self, Pulse, retrying};

/// How much is copied at a time.
const AT_ONCE: usize = 256 << 10;

/// Replaces the file `path`, of which so much is whole, by one that has the same records and can be
/// appended to. Its new length, and how many bytes of the old file are not in it as they were.
///
/// # Errors
/// Any I/O error.
pub fn mend(disk: &Disk, path: &Path, tail: &Tail, options: &WriteOptions) -> Result<(u64, u64)> {
    let located = |error: Error| error.with_path(path);
    let (kept, before) = whole_members(path).map_err(Error::from).map_err(located)?;
    // What members say of themselves need not be true; then no part of the file is taken as it is.
    for (kept, before) in [(kept, before), (0, 0)] {
        let mut writer = begin(disk, path, kept, options).map_err(located)?;
        let expected = rewrite(&mut writer, path, before, tail.records)?;
        writer.complete()?;
        let found = Digest::of_file(writer.temporary_path().unwrap_or(path), None);
        if found.is_ok_and(|found| found == expected) {
            let length = writer.position();
            writer.close()?;
            return Ok((length, tail.length - kept));
        }
        writer.abandon();
    }
    Err(located(Error::state(
        "The file changes while it is appended to.",
    )))
}

/// A writer to a sibling of `path`, which has the first `kept` bytes of it already.
fn begin(disk: &Disk, path: &Path, kept: u64, options: &WriteOptions) -> Result<RecordWriter> {
    let target = final_name(path)?;
    let sibling = temp_file::unlocked(disk, &target, true)?;
    let old = File::open(&target)?;
    if let Some(permissions) = Permissions::of(&old.metadata()?) {
        permissions.give(&sibling.file);
    }
    let mut destination = Destination::to_sibling(disk, sibling, target, false);
    let (mut left, mut buffer) = ((&old).take(kept), vec![0; AT_ONCE]);
    while destination.position() < kept {
        let count = retrying(|| left.read(&mut buffer))?;
        if count == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        destination.write_all(buffer.get(..count).unwrap_or_default())?;
        interrupt::check()?;
    }
    let options = WriteOptions {
        sync: true,
        ..*options
    };
    RecordWriter::continued(destination, path, Compression::Gzip, &options)
}

/// Writes the records of `path` from number `before` on, up to number `records`. The digest of all.
fn rewrite(writer: &mut RecordWriter, path: &Path, before: u64, records: u64) -> Result<Digest> {
    let mut reader = RecordReader::open(path, ReadOptions::default())?;
    let (mut digest, mut pulse) = (Digest::default(), Pulse::start());
    while reader.record() < records {
        let number = reader.record();
        let Some(record) = reader.next_record()? else {
            break;
        };
        digest.add(record);
        if number >= before {
            writer.write(record)?;
        }
        pulse.check()?;
    }
    Ok(digest)
}

/// Where the last member begins that says how long it is, and begins with a record: how many bytes, and
/// records, are before it.
fn whole_members(path: &Path) -> io::Result<(u64, u64)> {
    let mut file = File::open(path)?;
    let (mut kept, mut place) = ((0, 0), (0, 0));
    let mut header = [0; gzip_member::HEADER];
    loop {
        file.seek(SeekFrom::Start(place.0))?;
        match file.read_exact(&mut header) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(kept),
            read => read?,
        }
        let Some(size) = gzip_member::announced(&header) else {
            return Ok(kept);
        };
        let frames = gzip_member::frames(&header);
        if frames > 0 {
            kept = place;
        }
        place = (place.0 + size as u64, place.1 + u64::from(frames));
    }
}
