//! When a file that is being written gets its name.
//!
//! Atomic writing goes to a temporary sibling, which is synced and renamed when it is complete;
//! until then, and after any failure, the final name shows what it showed before. Appending and
//! writing in place are the two exceptions, and both say what a failure leaves behind.
//!
//! Of all writers of a name, in place or not, there is one at a time: each first takes its own lock (on the
//! sibling, or on the file itself) and then looks whether the other one is taken.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::record::storage::permissions::{Permissions, both};
use crate::record::write::background::{BackgroundWriter, UnwrittenTail, WritePiece};
use crate::record::write::files::fs::Disk;
use crate::record::write::files::lock::{self, Lock};
use crate::record::write::files::temp_file::{self, Sibling, final_name};
use crate::runtime::fork;

pub use crate::record::write::files::lock::is_taken as is_locked;
pub use crate::record::write::files::temp_file::{Found, find};

/// What to do with a file that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Replace it: `"w"`.
    #[default]
    Replace,
    /// Write after its records: `"a"`.
    Append,
    /// Refuse: `"x"`.
    Create,
}

/// A file that is being written, and what becomes of it.
pub struct Destination {
    /// Where the bytes go; none any more when they are all there.
    tail: Option<UnwrittenTail>,
    /// What writes blocks, once there are many.
    background: Option<BackgroundWriter>,
    path: PathBuf,
    fate: Fate,
    disk: Disk,
    /// How many bytes the file has, or will have when all is written.
    position: u64,
    /// From which position on another thread may write.
    many: u64,
    sync: bool,
    /// Whether its name is on the disk.
    is_name_synced: bool,
    /// The process that opened it. A fork has the same object, and must not touch the file.
    process: u32,
    /// How many forks lay after this process when it opened it.
    forks: u32,
}

/// From how many bytes on another thread writes: most files are small.
const MANY: u64 = if cfg!(test) { 1 << 19 } else { 4 << 20 };

enum Fate {
    /// The file has its name already; a failure leaves what was written so far.
    InPlace,
    /// The file gets the name `target` when it is complete, and is removed otherwise, or cut back to what
    /// a dead writer has left.
    Temporary {
        target: PathBuf,
        exclusive: bool,
        left: Option<u64>,
    },
    /// The file had this length before; a failure cuts it back.
    Append { old_length: u64 },
    /// Published or given up.
    Done,
}

impl Destination {
    /// A file that appears as `path` when it is published. With `resume`, it is the one that a dead writer of
    /// the same name has left, if there is one, and has its length already.
    ///
    /// # Errors
    /// Any I/O error, with the path.
    pub(crate) fn temporary(
        disk: &Disk,
        path: &Path,
        exclusive: bool,
        resume: bool,
        derived: Option<Permissions>,
    ) -> Result<Self> {
        let located = |error: Error| error.with_path(path);
        let target = final_name(path).map_err(Error::from).map_err(located)?;
        if exclusive && target.symlink_metadata().is_ok() {
            let error = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(located(error.into()));
        }
        let old = if resume {
            temp_file::resume(disk, &target).map_err(located)?
        } else {
            None
        };
        let replaced = temp_file::replaceable(&target).map_err(located)?;
        let permissions = both(replaced.as_ref().and_then(Permissions::of), derived);
        let sibling = match old {
            Some(old) => old,
            None => temp_file::claim(disk, &target, permissions.is_some()).map_err(located)?,
        };
        let is_taken = lock::is_taken(&target);
        let busy = is_taken.then(|| lock::busy(&target, path));
        if let Some(permissions) = permissions {
            permissions.give(&sibling.file);
        }
        let destination = Self::to_sibling(disk, sibling, target, exclusive);
        busy.map_or(Ok(destination), Err)
    }

    /// A sibling that becomes `target` when it is published. What it has already is what a dead writer has left.
    pub(crate) fn to_sibling(disk: &Disk, from: Sibling, target: PathBuf, exclusive: bool) -> Self {
        let length = from.file.metadata().map_or(0, |metadata| metadata.len());
        let fate = Fate::Temporary {
            target,
            exclusive,
            left: Some(length).filter(|&length| length > 0),
        };
        Self::new(disk, from.file, from.path, fate)
    }

    /// `path` itself, emptied.
    ///
    /// # Errors
    /// Any I/O error, with the path.
    pub(crate) fn in_place(disk: &Disk, path: &Path, exclusive: bool) -> Result<Self> {
        let located = |error: io::Error| Error::from(error).with_path(path);
        is_free_to_replace(path)?; // before there is an empty file
        let file = if exclusive {
            disk.create(path, false).map_err(located)?
        } else {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            options.open(path).map_err(located)?
        };
        if file.metadata().is_ok_and(|it| it.is_file()) {
            lock_target(&file, path)?;
            disk.cut(&file, 0).map_err(located)?;
        }
        Ok(Self::new(disk, file, path.to_owned(), Fate::InPlace))
    }

    /// A file that was opened by somebody else, and is called `path` in errors.
    #[must_use]
    pub fn opened(file: File, path: &Path) -> Self {
        Self::new(&Disk::default(), file, path.to_owned(), Fate::InPlace)
    }

    /// `path` itself, to write after what it has. A failure cuts off what was added, unless it was added
    /// `in_place`, for all to see.
    ///
    /// # Errors
    /// Any I/O error, with the path.
    pub(crate) fn append(disk: &Disk, path: &Path, in_place: bool) -> Result<Self> {
        let located = |error: io::Error| Error::from(error).with_path(path);
        let file = disk.open(path).map_err(located)?;
        lock_target(&file, path)?;
        let fate = if in_place {
            Fate::InPlace
        } else {
            Fate::Append {
                old_length: file.metadata().map_err(located)?.len(),
            }
        };
        let mut destination = Self::new(disk, file, path.to_owned(), fate);
        destination.is_name_synced = true;
        Ok(destination)
    }

    fn new(disk: &Disk, file: File, path: PathBuf, fate: Fate) -> Self {
        Self {
            tail: Some(UnwrittenTail {
                file,
                disk: disk.clone(),
                position: 0,
                begun: Some(0),
            }),
            background: None,
            path,
            fate,
            disk: disk.clone(),
            position: 0,
            many: u64::MAX,
            sync: true,
            is_name_synced: false,
            process: std::process::id(),
            forks: fork::generation(),
        }
    }

    /// Continues after the first `length` bytes of the file; what follows them is cut off.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn continue_after(&mut self, length: u64) -> Result<()> {
        let disk = self.disk.clone();
        let tail = self.own_tail()?;
        if tail.file.metadata()?.len() != length {
            disk.cut(&tail.file, length)?;
        }
        io::Seek::seek(&mut &tail.file, io::SeekFrom::Start(length))?;
        (tail.position, tail.begun) = (length, tail.begun.map(|_| length));
        self.position = length;
        match &mut self.fate {
            Fate::Append { old_length: old }
            | Fate::Temporary {
                left: Some(old), ..
            } => *old = length,
            _ => {}
        }
        Ok(())
    }

    /// How many bytes the file has now.
    #[must_use]
    pub fn old_length(&self) -> u64 {
        let metadata = self
            .tail
            .as_ref()
            .and_then(|tail| tail.file.metadata().ok());
        metadata.map_or(0, |metadata| metadata.len())
    }

    /// Where the bytes are.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file has not got its name yet.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self.fate, Fate::Temporary { .. })
    }

    /// Lets go of the file without touching it: somebody else continues with it.
    pub fn leave(&mut self) {
        self.fate = Fate::Done;
        self.release();
    }

    /// Says whether [`Self::complete`] waits until the bytes are on the disk, as it does at first.
    pub fn sync(&mut self, sync: bool) {
        self.sync = sync;
        if let Some(tail) = &mut self.tail {
            tail.begun = sync.then_some(tail.position);
        }
    }

    /// Lets another thread write blocks, if they come to be many, and go to a file, not to a pipe or a device.
    pub fn allow_background_writes(&mut self) {
        let is_file = |tail: &UnwrittenTail| tail.file.metadata().is_ok_and(|it| it.is_file());
        if self.tail.as_ref().is_some_and(is_file) {
            self.many = self.position.saturating_add(MANY);
        }
    }

    /// How many bytes there are in the file, those that it had before included.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether another process than this one opened the file.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.is_known_foreign() || self.process != std::process::id()
    }

    /// The same without a system call: whether a fork was told of.
    #[must_use]
    pub fn is_known_foreign(&self) -> bool {
        self.forks != fork::generation()
    }

    /// Adds bytes to the file.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.settle()?;
        let position = self.position;
        let tail = self.own_tail()?;
        tail.position = position;
        tail.write(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Adds bytes to the file, perhaps on another thread. What goes wrong there is reported later.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn write_piece(&mut self, piece: WritePiece) -> Result<()> {
        if self.position < self.many {
            return self.write_all(piece.bytes());
        }
        if self.background.is_none() {
            let twin = self.own_tail()?.twin()?;
            self.background = Some(BackgroundWriter::start(twin)?);
        }
        self.own_tail()?;
        self.position += piece.bytes().len() as u64;
        let writer = self.background.as_mut();
        writer.map_or(Ok(()), |writer| writer.put(piece))
    }

    /// Waits until all that was added is written.
    fn settle(&mut self) -> Result<()> {
        if self.is_foreign() {
            return Ok(());
        }
        self.background
            .as_mut()
            .map_or(Ok(()), BackgroundWriter::settle)
    }

    /// The file, if it is this process's.
    fn own_tail(&mut self) -> io::Result<&mut UnwrittenTail> {
        let is_own = self.process == std::process::id();
        let tail = self.tail.as_mut().filter(|_| is_own);
        tail.ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    /// Makes sure that what was added is on the disk, and so is the name of the file.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn sync_now(&mut self) -> Result<()> {
        self.settle()?;
        let disk = self.disk.clone();
        let file = &self.own_tail()?.file;
        if !file.metadata()?.is_file() {
            return Ok(()); // a pipe or a device has no disk
        }
        disk.sync(file)?;
        if !self.is_name_synced {
            disk.sync_name(&self.path)?;
            self.is_name_synced = true;
        }
        Ok(())
    }

    /// Makes sure that the bytes of a complete file are written, and where that was asked for, that they are
    /// on the disk.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn complete(&mut self) -> Result<()> {
        self.settle()?;
        self.background = None;
        if !self.sync {
            return Ok(());
        }
        // The name of a temporary file is not the one that matters.
        self.is_name_synced |= self.is_temporary();
        self.sync_now()
    }

    /// Closes a complete file, whose name another writer may take from now on; what is temporary waits
    /// under a name of its own.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn detach(&mut self) -> Result<()> {
        if let Fate::Temporary { target, .. } = &self.fate {
            let waiting = temp_file::private_name(target)?;
            self.disk.rename(&self.path, &waiting, false)?;
            self.path = waiting;
        }
        self.release();
        Ok(())
    }

    /// Gives a complete file its final name: `path`, or the one it was opened for.
    ///
    /// # Errors
    /// Any I/O error; the temporary file is removed then.
    pub fn publish(&mut self, path: Option<&Path>) -> Result<()> {
        let Fate::Temporary {
            target, exclusive, ..
        } = &self.fate
        else {
            self.fate = Fate::Done;
            self.release();
            return Ok(());
        };
        let published = self.rename(path, target, *exclusive);
        if published.is_err() {
            self.abandon();
        }
        self.fate = Fate::Done;
        self.release();
        let target = published?;
        if self.sync {
            self.disk.sync_name(&target)?;
        }
        Ok(())
    }

    /// The name that the file got.
    fn rename(&self, path: Option<&Path>, target: &Path, exclusive: bool) -> Result<PathBuf> {
        let target = path.map_or_else(|| Ok(target.to_owned()), final_name)?;
        if let Some(tail) = &self.tail
            && !lock::is_named(&tail.file, &self.path)
        {
            // Whatever has the name now is not ours.
            return Err(io::Error::from(io::ErrorKind::NotFound).into());
        }
        temp_file::replaceable(&target)?;
        self.disk.rename(&self.path, &target, exclusive)?;
        Ok(target)
    }

    /// Closes the file, which another writer may then open.
    fn release(&mut self) {
        let is_own = !self.is_foreign();
        if let Some(tail) = self.tail.take().filter(|_| is_own) {
            lock::release(&tail.file);
        }
    }

    /// Gives the file up: removes what is temporary, cuts off what was appended.
    pub fn abandon(&mut self) {
        self.background = None;
        if self.is_foreign() {
            self.fate = Fate::Done;
        }
        // There is nobody left to tell if these fail, and nothing else to try.
        match std::mem::replace(&mut self.fate, Fate::Done) {
            Fate::Temporary { left: None, .. } if self.is_ours() => {
                drop(self.disk.remove(&self.path));
            }
            Fate::Append { old_length: old }
            | Fate::Temporary {
                left: Some(old), ..
            } => drop(self.cut_back(old)),
            Fate::Temporary { .. } | Fate::InPlace | Fate::Done => {}
        }
        self.release();
    }

    fn cut_back(&self, length: u64) -> io::Result<()> {
        match &self.tail {
            Some(tail) => self.disk.cut(&tail.file, length),
            None => self.disk.cut(&self.disk.open(&self.path)?, length),
        }
    }

    /// Whether the temporary file is the one of this name.
    fn is_ours(&self) -> bool {
        let file = self.tail.as_ref().map(|tail| &tail.file);
        file.is_none_or(|file| lock::is_named(file, &self.path))
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Locks the file called `path`, and looks whether it is about to be replaced.
fn lock_target(file: &File, path: &Path) -> Result<()> {
    match lock::take(file) {
        Lock::Busy => Err(lock::busy(path, path)),
        Lock::Unknown => Ok(()),
        Lock::Held => is_free_to_replace(path),
    }
}

/// That no writer is about to replace the file called `path`.
fn is_free_to_replace(path: &Path) -> Result<()> {
    let working = final_name(path).and_then(|target| temp_file::working_name(&target));
    match working {
        Ok(working) if lock::is_taken(&working) => Err(lock::busy(&working, path)),
        _ => Ok(()),
    }
}
