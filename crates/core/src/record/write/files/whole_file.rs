//! Metadata files that appear whole or not at all: indices, manifests.
//!
//! Other users may be able to write to the same folder. So the temp file has a random name, which nobody can plant
//! in advance; no link is followed; and only a regular file is ever replaced. The file is never readable by users
//! who cannot read its source.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use super::lock;
use crate::error::{Error, Result};
use crate::record::storage::permissions::{Permissions, both};
use crate::record::write::files::fs::Disk;
use crate::record::write::files::temp_file::{self, replaceable};

/// Names to try. Random 64-bit names do not collide, so more attempts would not help.
const ATTEMPTS: usize = 8;

/// A complete temp file. [`Self::publish`] renames it; dropping it removes it.
pub struct WholeFile {
    disk: Disk,
    target: PathBuf,
    /// `None` once it is published.
    temporary: Option<PathBuf>,
    /// Locked, to show other processes that a writer is active.
    file: File,
    sync: bool,
}

impl WholeFile {
    /// Writes a temp file next to `target`; `sync` flushes it to disk.
    ///
    /// # Errors
    /// Any I/O error; `AlreadyExists` if `target` exists and is not a regular file.
    pub fn write_beside(target: &Path, content: &[u8], sync: bool) -> Result<Self> {
        Self::write(&Disk::default(), target, content, None, sync)
    }

    /// Like [`Self::write_beside`], with the mode and group of `source`, the file that the content is derived from.
    ///
    /// # Errors
    /// The same as [`Self::write_beside`].
    pub(crate) fn write(
        disk: &Disk,
        target: &Path,
        content: &[u8],
        source: Option<Permissions>,
        sync: bool,
    ) -> Result<Self> {
        let located = |error: Error| error.with_path(target);
        let old = replaceable(target).map_err(located)?;
        let permissions = both(old.as_ref().and_then(Permissions::of), source);
        let private = permissions.is_some();
        let (temporary, file) = create(disk, target, private).map_err(located)?;
        let _ = lock::take(&file);
        let mut whole = Self {
            disk: disk.clone(),
            target: target.to_owned(),
            temporary: Some(temporary),
            file,
            sync,
        };
        if let Some(permissions) = permissions {
            permissions.give(&whole.file);
        }
        let file = &mut whole.file;
        let written = write_all(disk, file, content)
            .and_then(|()| if sync { disk.sync(file) } else { Ok(()) });
        written.map_err(|error| located(error.into()))?;
        Ok(whole)
    }

    /// Renames the temp file to its target.
    ///
    /// # Errors
    /// The same as [`Self::write_beside`]; the temp file is removed.
    pub fn publish(mut self) -> Result<()> {
        self.rename()
    }

    /// Like [`Self::publish`]; the file stays locked while what is returned is open.
    ///
    /// # Errors
    /// The same as [`Self::publish`].
    pub fn publish_locked(mut self) -> Result<File> {
        let held = self.file.try_clone();
        let held = held.map_err(|error| Error::from(error).with_path(&self.target))?;
        self.rename()?;
        Ok(held)
    }

    /// Path of the content before [`Self::publish`].
    #[must_use]
    pub fn temporary_path(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    /// The name that it is to get.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// Leaves the temp file to somebody else.
    pub fn leave(mut self) {
        self.temporary = None;
    }

    fn rename(&mut self) -> Result<()> {
        let located = |error: Error| error.with_path(&self.target);
        let Some(temporary) = &self.temporary else {
            return Ok(());
        };
        replaceable(&self.target).map_err(located)?;
        let renamed = self.disk.rename(temporary, &self.target, false);
        renamed.map_err(|error| located(error.into()))?;
        self.temporary = None;
        if self.sync {
            let synced = self.disk.sync_name(&self.target);
            synced.map_err(|error| Error::from(error).with_path(&self.target))?;
        }
        Ok(())
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // An error has nowhere to go here; leftovers() lists the file.
            let _ = self.disk.remove(temporary);
        }
    }
}

/// Creates a randomly named file next to `target`; if `private`, with mode 0600.
fn create(disk: &Disk, target: &Path, private: bool) -> Result<(PathBuf, File)> {
    let mut tries = 0;
    loop {
        let path = temp_file::own_name(target, random())?;
        match disk.create(&path, private) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < ATTEMPTS => {
                tries += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns an unpredictable number: `RandomState` takes its keys from the operating system.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn write_all(disk: &Disk, file: &mut File, content: &[u8]) -> io::Result<()> {
    let mut rest = content;
    while !rest.is_empty() {
        match disk.write(file, rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::write::files::fs::Call;
    use std::sync::Arc;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn it_is_there_when_it_is_published_and_gone_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("index");
        drop(WholeFile::write_beside(&target, b"first", true).unwrap());
        assert_eq!(names(folder.path()), Vec::<String>::new());
        for content in [b"first", b"other"] {
            let file = WholeFile::write_beside(&target, content, true).unwrap();
            assert_eq!(
                names(folder.path()).len(),
                1 + usize::from(content == b"other")
            );
            file.publish().unwrap();
            assert_eq!(std::fs::read(&target).unwrap(), content);
            assert_eq!(names(folder.path()), ["index"]);
        }
    }

    #[test]
    fn no_two_have_one_name() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let files: Vec<_> = (0..100)
            .map(|_| WholeFile::write_beside(&target, b"", false).unwrap())
            .collect();
        assert_eq!(names(folder.path()).len(), files.len());
    }

    /// Whichever call fails, only the old or the new file remains.
    #[test]
    fn every_call_may_fail() {
        for failing in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("index");
            std::fs::write(&target, b"old").unwrap();
            let left = Arc::new(std::sync::atomic::AtomicUsize::new(failing));
            let watch = move |call: &Call<'_>| {
                use std::sync::atomic::Ordering;
                let is_removal = matches!(call, Call::Remove(_));
                if !is_removal && left.fetch_sub(1, Ordering::Relaxed) == 0 {
                    return Err(io::Error::from_raw_os_error(28));
                }
                Ok(2)
            };
            let disk = Disk {
                watch: Some(Arc::new(watch)),
            };
            let written = WholeFile::write(&disk, &target, b"new content", None, true);
            let done = written.and_then(WholeFile::publish);
            let content = std::fs::read(&target).unwrap();
            assert!(content == b"old" || content == b"new content");
            assert!(done.is_err() || content == b"new content");
            let left: Vec<_> = names(folder.path());
            assert!(left == ["index"] || failing == 1, "{failing}: {left:?}");
        }
    }
}
