//! What writing asks of the file system, call by call.
//!
//! It all goes through here so that tests can write down what was asked, in which order, and have any call
//! fail (`writer/tests/`).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// A call.
#[derive(Debug)]
#[cfg_attr(
    not(test),
    allow(dead_code, reason = "only tests look at what was asked")
)]
pub enum Call<'a> {
    /// A new file, which must not exist; then [`Call::Created`], once it does.
    Create,
    Created(&'a Path, &'a File),
    /// An old file, to be written to.
    Open,
    Write(&'a File, &'a [u8]),
    Cut(&'a File, u64),
    Sync(&'a File),
    SyncFolder,
    Rename(&'a Path, &'a Path),
    Link(&'a Path, &'a Path),
    Remove(&'a Path),
}

/// The file system.
#[derive(Clone, Default)]
pub struct Disk {
    #[cfg(test)]
    pub watch: Option<Watch>,
}

/// Is told of each call before it is made: an error is what the call then ends with; of a number of
/// bytes no more are written.
#[cfg(test)]
pub type Watch = std::sync::Arc<dyn Fn(&Call<'_>) -> io::Result<usize> + Send + Sync>;

impl Disk {
    #[cfg(test)]
    fn ask(&self, call: &Call<'_>) -> io::Result<usize> {
        self.watch
            .as_ref()
            .map_or(Ok(usize::MAX), |watch| watch(call))
    }

    #[cfg(not(test))]
    #[allow(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        clippy::trivially_copy_pass_by_ref,
        reason = "tests have something to ask"
    )]
    #[inline]
    fn ask(&self, _: &Call<'_>) -> io::Result<usize> {
        Ok(usize::MAX)
    }

    /// Creates a file, with mode 0600 if it is `private`; fails if the name exists, even as a link.
    pub fn create(&self, path: &Path, private: bool) -> io::Result<File> {
        self.ask(&Call::Create)?;
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        if private {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let file = options.write(true).create_new(true).open(path)?;
        self.ask(&Call::Created(path, &file))?;
        Ok(file)
    }

    /// A file that is there, as it is.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        self.ask(&Call::Open)?;
        OpenOptions::new().write(true).open(path)
    }

    /// Opens an existing file for writing; does not follow links.
    pub fn open_file(&self, path: &Path) -> io::Result<File> {
        self.ask(&Call::Open)?;
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
        options.write(true).open(path)
    }

    /// Writes some of these bytes, and says how many.
    pub fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        let most = self.ask(&Call::Write(file, bytes))?;
        file.write(bytes.get(..most).unwrap_or(bytes))
    }

    /// Cuts off what is after the first `length` bytes.
    pub fn cut(&self, file: &File, length: u64) -> io::Result<()> {
        self.ask(&Call::Cut(file, length))?;
        file.set_len(length)
    }

    /// Waits until the file is on the disk.
    pub fn sync(&self, file: &File) -> io::Result<()> {
        self.ask(&Call::Sync(file))?;
        file.sync_all()
    }

    /// Waits until the name of this file is on the disk, where the system can open a folder.
    pub fn sync_name(&self, file: &Path) -> io::Result<()> {
        let parent = file
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let folder = parent.unwrap_or(Path::new("."));
        self.ask(&Call::SyncFolder)?;
        match File::open(folder) {
            Ok(folder) => folder.sync_all().or_else(|error| match error.kind() {
                // Some file systems cannot; the name itself is there.
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => Ok(()),
                _ => Err(error),
            }),
            Err(_) => Ok(()),
        }
    }

    /// Renames; what has the name already is replaced, or, where `exclusive`, is an error.
    pub fn rename(&self, from: &Path, to: &Path, exclusive: bool) -> io::Result<()> {
        if !exclusive {
            return self.replace(from, to);
        }
        // A hard link is what can refuse in one step.
        self.ask(&Call::Link(from, to))?;
        match std::fs::hard_link(from, to) {
            Ok(()) => {
                // A power cut must not take the old name and lose the new one.
                self.sync_name(to)?;
                self.remove(from)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // A file system without hard links: the check and the rename are two steps there.
            Err(_) if to.symlink_metadata().is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => self.replace(from, to),
        }
    }

    fn replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.ask(&Call::Rename(from, to))?;
        std::fs::rename(from, to)
    }

    /// Removes a file.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        self.ask(&Call::Remove(path))?;
        std::fs::remove_file(path)
    }
}
