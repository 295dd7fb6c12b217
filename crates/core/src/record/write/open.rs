//! How a writer begins: a new file, the rest of one, or in place.

use std::path::Path;

use super::append::Tail;
use super::destination::{Destination, Mode};
use super::files::fs::Disk;
use super::rewrite_truncated_gzip::mend;
use super::writer::{Old, RecordWriter, WriteOptions};
use crate::error::{Error, Result};
use crate::record::codec::compression::Compression;

impl RecordWriter {
    /// Creates or opens `path`.
    ///
    /// # Errors
    /// Any I/O error; [`std::io::ErrorKind::ResourceBusy`] if another writer has the file open; when
    /// continuing with one, of the records that are there already; [`crate::ErrorKind::Spec`] for parameters
    /// that zlib refuses.
    pub fn open(path: &Path, options: WriteOptions) -> Result<Self> {
        Self::open_on(&Disk::default(), path, &options)
    }

    pub(crate) fn open_on(disk: &Disk, path: &Path, options: &WriteOptions) -> Result<Self> {
        let compression = options.compression_of(path)?;
        // Options that make no sense are refused before anything is opened.
        Self::outlet(compression, 0, options)?;
        let mut destination = Self::destination(disk, path, options)?;
        if destination.old_length() == 0 {
            return Self::continued(destination, path, compression, options);
        }
        let file = destination.path().to_owned();
        let tail = Tail::of(&file)?;
        let compression = tail.agree(&file, options.compression)?;
        if tail.is_cut && tail.records > 0 {
            let whole = mend(disk, &file, &tail, options)?;
            destination = Self::reopened(destination, disk, path, options)?;
            return Self::after(destination, path, compression, options, &tail, whole);
        }
        Self::after(destination, path, compression, options, &tail, tail.whole())
    }

    fn destination(disk: &Disk, path: &Path, options: &WriteOptions) -> Result<Destination> {
        let metadata = path.metadata().ok();
        if metadata.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            let error = std::io::Error::from(std::io::ErrorKind::IsADirectory);
            return Err(Error::from(error).with_path(path));
        }
        let exclusive = options.mode == Mode::Create;
        let appends = options.mode == Mode::Append;
        if appends && metadata.as_ref().is_some_and(|it| it.len() > 0) {
            return Destination::append(disk, path, options.in_place);
        }
        // A pipe or a device has no content to replace, and nothing can take its name.
        let is_special = metadata.is_some_and(|it| !it.is_file());
        if options.in_place || is_special && !options.only_files {
            return Destination::in_place(disk, path, exclusive);
        }
        let resume = options.resume || appends;
        Destination::temporary(disk, path, exclusive, resume, options.derived)
    }

    /// The file that is where the one of `old` was.
    fn reopened(
        mut old: Destination,
        disk: &Disk,
        path: &Path,
        options: &WriteOptions,
    ) -> Result<Destination> {
        old.leave();
        Self::destination(disk, path, options)
    }

    /// Continues after the records of `tail`, in the first that many bytes of a file, in which that many are not
    /// as they were.
    fn after(
        mut destination: Destination,
        path: &Path,
        compression: Compression,
        options: &WriteOptions,
        tail: &Tail,
        (length, torn): (u64, u64),
    ) -> Result<Self> {
        destination
            .continue_after(length)
            .map_err(|error| error.with_path(path))?;
        let is_resumed = destination.is_temporary();
        let mut writer = Self::continued(destination, path, compression, options)?;
        writer.old = Old {
            records: tail.records,
            torn,
            is_resumed,
        };
        Ok(writer)
    }
}
