//! When a file that is being written gets its name.
//!
//! Atomic writing goes to a temporary sibling, which is synced and renamed when it is complete;
//! until then, and after any failure, the final name shows what it showed before. Appending and
//! writing in place are the two exceptions, and both say what a failure leaves behind.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::behind::{Behind, Piece, Tail};
use crate::error::{Error, Result};

/// What to do with a file that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Replace it: `"w"`.
    #[default]
    Replace,
    /// Write behind its records: `"a"`.
    Append,
    /// Refuse: `"x"`.
    Create,
}

/// A file that is being written, and what becomes of it.
pub struct Destination {
    /// Where the bytes go; none any more when they are all there.
    tail: Option<Tail>,
    /// What writes blocks, once there are many.
    behind: Option<Behind>,
    path: PathBuf,
    fate: Fate,
    /// How many bytes the file has, or will have when all is written.
    position: u64,
    /// From which position on another thread may write.
    many: u64,
    sync: bool,
    /// The process that opened it. A fork has the same object, and must not touch the file.
    process: u32,
    /// How many forks lay behind this process when it opened it.
    forks: u32,
}

/// From how many bytes on another thread writes: most files are small.
const MANY: u64 = 4 << 20;

/// How many forks this process is away from the first one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Says that this process is the child of a fork. Its copies of writers then know at once that they are
/// copies; without being told, they only find out before they touch their file.
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

enum Fate {
    /// The file has its name already; a failure leaves what was written so far.
    InPlace,
    /// The file gets the name `target` when it is complete, and is removed otherwise.
    Temporary { target: PathBuf, exclusive: bool },
    /// The file had this length before; a failure cuts it back.
    Append { old_length: u64 },
    /// Published or given up.
    Done,
}

impl Destination {
    /// A file that appears as `path` when it is published.
    ///
    /// # Errors
    /// Of the operating system, with the path.
    pub fn temporary(path: &Path, exclusive: bool) -> Result<Self> {
        let target = final_name(path).map_err(|e| Error::from(e).with_path(path))?;
        if exclusive && target.symlink_metadata().is_ok() {
            let error = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(Error::from(error).with_path(path));
        }
        let (file, temporary) = create_sibling(&target).map_err(|e| e.with_path(path))?;
        if let Ok(old) = target.metadata() {
            // Best effort: a file keeps its permissions when its content is replaced.
            let _ = file.set_permissions(old.permissions());
        }
        let fate = Fate::Temporary { target, exclusive };
        Ok(Self::new(file, temporary, fate))
    }

    /// `path` itself, emptied.
    ///
    /// # Errors
    /// Of the operating system, with the path.
    pub fn in_place(path: &Path, exclusive: bool) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true);
        if exclusive {
            options.create_new(true)
        } else {
            options.create(true).truncate(true)
        };
        let file = options
            .open(path)
            .map_err(|e| Error::from(e).with_path(path))?;
        Ok(Self::opened(file, path))
    }

    /// A file that was opened by somebody else, and is called `path` in errors.
    #[must_use]
    pub fn opened(file: File, path: &Path) -> Self {
        Self::new(file, path.to_owned(), Fate::InPlace)
    }

    fn new(file: File, path: PathBuf, fate: Fate) -> Self {
        Self {
            tail: Some(Tail {
                file,
                position: 0,
                begun: Some(0),
            }),
            behind: None,
            path,
            fate,
            position: 0,
            many: u64::MAX,
            sync: true,
            process: std::process::id(),
            forks: FORKS.load(Ordering::Relaxed),
        }
    }

    /// Says whether [`Self::complete`] waits until the bytes are on the disk, as it does at first.
    pub fn sync(&mut self, sync: bool) {
        self.sync = sync;
        if let Some(tail) = &mut self.tail {
            tail.begun = sync.then_some(tail.position);
        }
    }

    /// Lets another thread write blocks, if they come to be many, and go to a file, not to a pipe or a device.
    pub fn may_write_behind(&mut self) {
        let is_file = |tail: &Tail| tail.file.metadata().is_ok_and(|it| it.is_file());
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

    /// The same without a system call: whether [`forked`] has said so.
    #[must_use]
    pub fn is_known_foreign(&self) -> bool {
        self.forks != FORKS.load(Ordering::Relaxed)
    }

    /// `path` itself, positioned behind its first `length` bytes, the rest cut off. A failure cuts off
    /// what was added, unless it was added `in_place`, for all to see.
    ///
    /// # Errors
    /// Of the operating system, with the path.
    pub fn append(path: &Path, length: u64, in_place: bool) -> Result<Self> {
        let located = |error: io::Error| Error::from(error).with_path(path);
        let file = OpenOptions::new().write(true).open(path).map_err(located)?;
        file.set_len(length).map_err(located)?;
        io::Seek::seek(&mut &file, io::SeekFrom::End(0)).map_err(located)?;
        let fate = if in_place {
            Fate::InPlace
        } else {
            Fate::Append { old_length: length }
        };
        let mut destination = Self::new(file, path.to_owned(), fate);
        destination.position = length;
        if let Some(tail) = &mut destination.tail {
            (tail.position, tail.begun) = (length, Some(length));
        }
        Ok(destination)
    }

    /// Adds bytes to the file.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.settle()?;
        let position = self.position;
        let tail = self.own_tail()?;
        tail.position = position;
        tail.write(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Adds bytes to the file, perhaps on another thread. What goes wrong there is told later.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn write_piece(&mut self, piece: Piece) -> Result<()> {
        if self.position < self.many {
            return self.write_all(piece.bytes());
        }
        if self.behind.is_none() {
            let twin = self.own_tail()?.twin()?;
            self.behind = Some(Behind::start(twin)?);
        }
        self.own_tail()?;
        self.position += piece.bytes().len() as u64;
        let behind = self.behind.as_mut();
        behind.map_or(Ok(()), |behind| behind.put(piece))
    }

    /// Waits until all that was added is written.
    fn settle(&mut self) -> Result<()> {
        if self.is_foreign() {
            return Ok(());
        }
        self.behind.as_mut().map_or(Ok(()), Behind::settle)
    }

    /// The file, if it is this process's.
    fn own_tail(&mut self) -> io::Result<&mut Tail> {
        let is_own = self.process == std::process::id();
        let tail = self.tail.as_mut().filter(|_| is_own);
        tail.ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    /// Closes the file, and makes sure that its bytes are on the disk, where it has one.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn complete(&mut self) -> Result<()> {
        self.settle()?;
        self.behind = None;
        match self.tail.take() {
            Some(Tail { file, .. })
                if self.sync && file.metadata().is_ok_and(|it| it.is_file()) =>
            {
                Ok(file.sync_all()?)
            }
            _ => Ok(()),
        }
    }

    /// Gives a complete file its final name: `path`, or the one it was opened for.
    ///
    /// # Errors
    /// Of the operating system; the temporary file is removed then.
    pub fn publish(&mut self, path: Option<&Path>) -> io::Result<()> {
        let Fate::Temporary { target, exclusive } = std::mem::replace(&mut self.fate, Fate::Done)
        else {
            return Ok(());
        };
        let target = path.map_or(Ok(target), final_name)?;
        let renamed = rename(&self.path, &target, exclusive);
        if renamed.is_err() {
            let _ = std::fs::remove_file(&self.path);
        }
        renamed?;
        if self.sync {
            sync_directory(&target)
        } else {
            Ok(())
        }
    }

    /// Gives the file up: removes what is temporary, cuts off what was appended.
    pub fn abandon(&mut self) {
        self.behind = None;
        self.tail = None;
        if self.is_foreign() {
            self.fate = Fate::Done;
        }
        match std::mem::replace(&mut self.fate, Fate::Done) {
            // There is nobody left to tell if these fail, and nothing else to try.
            Fate::Temporary { .. } => drop(std::fs::remove_file(&self.path)),
            Fate::Append { old_length } => {
                drop(
                    OpenOptions::new()
                        .write(true)
                        .open(&self.path)
                        .map(|f| f.set_len(old_length)),
                );
            }
            Fate::InPlace | Fate::Done => {}
        }
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Where a file called `path` really goes, wherever the process is then: a link is not replaced,
/// but what it leads to, even if that does not exist yet.
fn final_name(path: &Path) -> io::Result<PathBuf> {
    let mut name = std::path::absolute(path)?;
    for _ in 0..MAX_LINKS {
        match name.read_link() {
            Ok(next) => name = name.parent().unwrap_or(Path::new("/")).join(next),
            Err(_) => return Ok(name),
        }
    }
    name.canonicalize() // says that there are too many
}

/// How many links may lead to each other.
const MAX_LINKS: usize = 40;

/// How much of a file's name its temporary sibling shows; names have at most 255 bytes.
const SHOWN: usize = 40;

/// Renames, refusing to replace where `exclusive`; a hard link is what can do that in one step.
fn rename(from: &Path, to: &Path, exclusive: bool) -> io::Result<()> {
    if !exclusive {
        return std::fs::rename(from, to);
    }
    match std::fs::hard_link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // A file system without hard links: the check and the rename are two steps there.
        Err(_) if to.symlink_metadata().is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => std::fs::rename(from, to),
    }
}

/// A new file beside `target` whose name says whose it is and sorts among the hidden ones.
fn create_sibling(target: &Path) -> Result<(File, PathBuf)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let Some(name) = target.file_name() else {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    };
    loop {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let shown: String = name.to_string_lossy().chars().take(SHOWN).collect();
        let sibling = format!(".{shown}.{}-{number}.tmp", std::process::id());
        let path = target.with_file_name(sibling);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Makes a rename survive a power cut, where the system can open a directory.
fn sync_directory(file: &Path) -> io::Result<()> {
    let parent = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    match File::open(parent.unwrap_or(Path::new("."))) {
        Ok(directory) => directory.sync_all().or_else(|error| match error.kind() {
            // Some file systems cannot sync a directory; the rename itself has succeeded.
            io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => Ok(()),
            _ => Err(error),
        }),
        Err(_) => Ok(()),
    }
}
