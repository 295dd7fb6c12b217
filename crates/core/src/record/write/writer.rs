//! Writing a file of records.
//!
//! Frames go to an `Outlet`, which collects them, compresses them where the file is compressed, and
//! writes them to the [`Destination`]. Any error is final: it is reported by the call that
//! met it and by every later one, and the file is never published.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::digest::Digest;
use crate::error::{Error, Result};
use crate::record::codec::compression::Compression;
use crate::record::codec::zlib::{DeflateOptions, Deflater};
use crate::record::read::records::Records;
use crate::record::storage::permissions::Permissions;
use crate::record::write::destination::{Destination, Mode};
use crate::record::write::frame_encoder::{Blocks, Outlet, Stream};
use crate::record::write::gzip_members::Members;

/// How to write.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a choice of its own, and has a name where it is made"
)]
pub struct WriteOptions {
    /// The compression; `None` decides from the file's name.
    pub compression: Option<Compression>,
    /// zlib's parameters, where the file is compressed.
    pub deflate: DeflateOptions,
    /// On how many threads a gzip file is compressed, part by part; of zlib's parameters only the level
    /// counts then. `None` is one stream from the original zlib.
    pub member_threads: Option<usize>,
    /// What to do with a file that is there already.
    pub mode: Mode,
    /// Write in place, visible from the first byte.
    pub in_place: bool,
    /// Wait until the bytes are on the disk before the file is published.
    pub sync: bool,
    /// Continue with what a dead writer of the same name has left. Appending to nothing does so anyway.
    pub resume: bool,
    /// Keep a digest of the records.
    pub digest: bool,
    /// Refuse a pipe, a device, or anything else that is no file, instead of writing into it.
    pub only_files: bool,
    /// The most that the permissions of the file allow: what it is derived from is not for more.
    pub derived: Option<Permissions>,
}

impl WriteOptions {
    /// The compression to write `path` with.
    ///
    /// # Errors
    /// As [`Compression::of_name`].
    pub(crate) fn compression_of(&self, path: &Path) -> Result<Compression> {
        match self.compression {
            Some(asked) => Ok(asked),
            None => Ok(Compression::of_name(path)?.unwrap_or_default()),
        }
    }
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            compression: None,
            deflate: DeflateOptions::default(),
            member_threads: Some(1),
            mode: Mode::default(),
            in_place: false,
            sync: true,
            resume: false,
            digest: false,
            only_files: false,
            derived: None,
        }
    }
}

/// Writes records to one file.
pub struct RecordWriter {
    destination: Destination,
    path: PathBuf,
    compression: Compression,
    outlet: Outlet,
    records: u64,
    pub(crate) old: Old,
    digest: Option<Digest>,
    stage: Stage,
}

/// What a file had already.
#[derive(Clone, Copy, Debug, Default)]
pub struct Old {
    /// How many records.
    pub records: u64,
    /// How many bytes after the last whole record, or of a cut stream, were cut off or replaced.
    pub torn: u64,
    /// Whether a dead writer has left it, before it had its name.
    pub is_resumed: bool,
}

#[derive(Clone, Debug)]
enum Stage {
    Open,
    Finished,
    Closed,
    Failed(Error),
}

impl RecordWriter {
    /// Writes to a file that was opened, after what it has.
    pub(crate) fn continued(
        destination: Destination,
        path: &Path,
        compression: Compression,
        options: &WriteOptions,
    ) -> Result<Self> {
        let outlet = Self::outlet(compression, destination.position(), options)?;
        Ok(Self::new(destination, path, compression, outlet, options))
    }

    /// Writes to `file`, which was opened by somebody else, and is called `path` in errors.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Spec`] for parameters that zlib refuses.
    pub fn to_file(file: File, path: &Path, options: &WriteOptions) -> Result<Self> {
        let compression = options.compression_of(path)?;
        let outlet = Self::outlet(compression, 0, options)?;
        let destination = Destination::opened(file, path);
        Ok(Self::new(destination, path, compression, outlet, options))
    }

    pub(crate) fn outlet(
        compression: Compression,
        position: u64,
        options: &WriteOptions,
    ) -> Result<Outlet> {
        if compression == Compression::None {
            return Ok(Outlet::Plain(Blocks::at(position)));
        }
        let deflate = &options.deflate;
        if let (Compression::Gzip, Some(threads)) = (compression, options.member_threads) {
            let members = Members::new(deflate.level, threads)?;
            return Ok(Outlet::Members(Box::new(members)));
        }
        let deflater = Deflater::new(compression, deflate)?;
        let stream = Stream::new(deflater, deflate.input_buffer_size, deflate.flush_mode);
        Ok(Outlet::Stream(Box::new(stream)))
    }

    pub(crate) fn new(
        mut destination: Destination,
        path: &Path,
        compression: Compression,
        outlet: Outlet,
        options: &WriteOptions,
    ) -> Self {
        destination.sync(options.sync);
        if options.member_threads.is_some_and(|threads| threads > 1) {
            destination.allow_background_writes();
        }
        Self {
            destination,
            path: path.to_owned(),
            compression,
            outlet,
            records: 0,
            old: Old::default(),
            digest: options.digest.then(Digest::default),
            stage: Stage::Open,
        }
    }

    /// How the file is compressed.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// How many records were written by this writer.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What the file had already.
    #[must_use]
    pub fn old(&self) -> Old {
        self.old
    }

    /// The digest of the records that this writer has written, if it was asked to keep one.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// Where the records are until the file gets its name; none if it has it.
    #[must_use]
    pub fn temporary_path(&self) -> Option<&Path> {
        let is_temporary = self.destination.is_temporary();
        is_temporary.then(|| self.destination.path())
    }

    pub(crate) fn position(&self) -> u64 {
        self.destination.position()
    }

    /// Whether the writer takes no more records.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        !matches!(self.stage, Stage::Open | Stage::Failed(_))
    }

    /// Adds a record.
    ///
    /// # Errors
    /// Any I/O error; [`crate::ErrorKind::State`] after the writer was closed.
    pub fn write(&mut self, record: &[u8]) -> Result<()> {
        self.check_open()?;
        self.add(record)
    }

    /// Whether a record of `length` bytes can be added without writing anything to the file.
    #[must_use]
    pub fn has_room_for(&self, length: usize) -> bool {
        self.outlet.has_room_for(length)
    }

    /// Adds many records.
    ///
    /// # Errors
    /// As for [`Self::write`]; the records before the error are written then.
    pub fn write_all<'a>(&mut self, records: impl IntoIterator<Item = &'a [u8]>) -> Result<()> {
        self.check_open()?;
        records.into_iter().try_for_each(|record| self.add(record))
    }

    /// Adds a batch of records; at once where they lie as they will in the file.
    ///
    /// # Errors
    /// As for [`Self::write_all`].
    pub fn write_batch(&mut self, records: &Records) -> Result<()> {
        self.check_open()?;
        let added = self.outlet.add_frames(records, &mut self.destination);
        if self.check(added)? {
            self.records += records.len() as u64;
            if let Some(digest) = &mut self.digest {
                digest.add_batch(records);
            }
            return Ok(());
        }
        self.write_all(records.iter())
    }

    /// Hands everything so far to the operating system, in a form that can be read.
    ///
    /// # Errors
    /// As for [`Self::write`].
    pub fn flush(&mut self) -> Result<()> {
        self.check_owner()?;
        self.check_open()?;
        let written = self.outlet.flush(&mut self.destination);
        self.check(written)
    }

    /// As [`Self::flush`], and waits until it is on the disk, the name of the file (or of the temporary one)
    /// included: it then survives a power cut.
    ///
    /// # Errors
    /// As for [`Self::write`].
    pub fn sync(&mut self) -> Result<()> {
        self.flush()?;
        let synced = self.destination.sync_now();
        self.check(synced)
    }

    /// Completes the file, makes sure that it is on the disk, and closes it, but does not publish it yet.
    ///
    /// # Errors
    /// As for [`Self::write`].
    pub fn finish(&mut self) -> Result<()> {
        if matches!(self.stage, Stage::Finished | Stage::Closed) {
            return Ok(());
        }
        self.complete()?;
        let detached = self.destination.detach();
        self.check(detached)
    }

    /// Completes the file, but keeps it open.
    pub(crate) fn complete(&mut self) -> Result<()> {
        self.check_owner()?;
        self.check_open()?;
        let written = self.outlet.finish(&mut self.destination);
        self.check(written)?;
        let synced = self.destination.complete();
        self.check(synced)?;
        self.stage = Stage::Finished;
        Ok(())
    }

    /// Completes the file and gives it its name. Closing twice is no error.
    ///
    /// # Errors
    /// As for [`Self::write`]; an error that was met before is reported once more, and then the
    /// writer is closed without having published anything.
    pub fn close(&mut self) -> Result<()> {
        if matches!(self.stage, Stage::Closed) {
            return Ok(());
        }
        if !matches!(self.stage, Stage::Finished)
            && let Err(error) = self.complete()
        {
            self.abandon();
            return Err(error);
        }
        self.publish(None)
    }

    /// Publishes a finished file under another name than the one it was opened for.
    ///
    /// # Errors
    /// Any I/O error; [`crate::ErrorKind::State`] if the file is not finished.
    pub fn publish_as(&mut self, path: &Path) -> Result<()> {
        match self.stage {
            Stage::Finished => {
                self.check_owner()?;
                self.publish(Some(path))
            }
            _ => Err(Error::state("Writer is not finished.").with_path(&self.path)),
        }
    }

    fn publish(&mut self, path: Option<&Path>) -> Result<()> {
        self.check_owner()?;
        let published = self.destination.publish(path);
        self.stage = Stage::Closed;
        published.map_err(|error| error.with_path(path.unwrap_or(&self.path)))
    }

    /// Gives the file up: the old one stays, a temporary one is removed, records that were
    /// appended are cut off again. What was written in place stays.
    pub fn abandon(&mut self) {
        self.destination.abandon();
        self.stage = Stage::Closed;
    }

    /// Lets go of a finished file without publishing it: somebody else does.
    pub fn leave(&mut self) {
        self.destination.leave();
        self.stage = Stage::Closed;
    }

    /// Whether a record can be written. It is not worth a system call to find out that this is a fork,
    /// which the destination does before it writes.
    fn check_open(&self) -> Result<()> {
        if self.destination.is_known_foreign() {
            return Err(self.foreign());
        }
        match &self.stage {
            Stage::Open => Ok(()),
            Stage::Failed(error) => Err(error.clone()),
            Stage::Finished | Stage::Closed => {
                Err(Error::state("Writer is closed.").with_path(&self.path))
            }
        }
    }

    fn check_owner(&self) -> Result<()> {
        if self.destination.is_foreign() {
            return Err(self.foreign());
        }
        Ok(())
    }

    fn foreign(&self) -> Error {
        let text = "Writer belongs to the process that opened it, not to its fork.";
        Error::state(text).with_path(&self.path)
    }

    #[inline]
    fn add(&mut self, record: &[u8]) -> Result<()> {
        let added = self.outlet.add(record, &mut self.destination);
        let footer = self.check(added)?;
        self.records += 1;
        if let Some(digest) = &mut self.digest {
            digest.add_frame(record.len() as u64, footer);
        }
        Ok(())
    }

    /// Makes an error final, and says where it was.
    fn check<T>(&mut self, result: Result<T>) -> Result<T> {
        result.map_err(|error| {
            if self.destination.is_foreign() {
                return self.foreign();
            }
            let error = error.with_path(&self.path).at_record(self.records);
            self.stage = Stage::Failed(error.clone());
            error
        })
    }
}

#[cfg(test)]
mod tests;
