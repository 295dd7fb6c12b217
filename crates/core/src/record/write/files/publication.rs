//! Publish the files of a set together, with a journal.
//!
//! n renames are not atomic. So a journal is published first: a hidden file in the same folder that lists the renames
//! and removals, and stays until all are done. A reader that meets it, also after the writer was killed, reports that
//! the set is incomplete; the next writer, or `repair`, carries out the journal.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use super::lock::{self, Lock};
use crate::error::{Error, Result};
use crate::record::write::files::fs::Disk;
use crate::record::write::files::temp_file::replaceable;
use crate::record::write::files::whole_file::WholeFile;

/// A complete file and the name that it is to get.
pub type Move = (PathBuf, PathBuf);

/// Content of a journal.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// Renames, in order.
    pub moves: Vec<Move>,
    /// Files to remove afterwards.
    pub old: Vec<PathBuf>,
    /// Whether each step is on the disk before the next one.
    pub sync: bool,
}

/// Publishes complete files, `journals` first. After an error either nothing has changed, or the journals are there.
///
/// # Errors
/// Any I/O error; a name that is taken by something other than a regular file.
pub fn publish(journals: Vec<WholeFile>, steps: &Steps) -> Result<()> {
    publish_on(&Disk::default(), journals, steps)
}

fn publish_on(disk: &Disk, journals: Vec<WholeFile>, steps: &Steps) -> Result<()> {
    let mut held = Vec::new();
    for journal in journals {
        let path = journal.path().to_owned();
        match journal.publish_locked() {
            Ok(file) => held.push((path, file)),
            Err(error) => {
                remove_all(disk, held.iter().map(|(path, _)| path.as_path()));
                return Err(error);
            }
        }
    }
    let paths: Vec<_> = held.iter().map(|(path, _)| path.as_path()).collect();
    let mut done = Vec::new();
    let renamed = rename_all(disk, steps, &mut done);
    if renamed.is_err() && take_back(disk, &done) {
        remove_all(disk, paths.iter().copied());
    }
    let published = renamed.and_then(|()| clear(disk, steps, &paths));
    for (_, file) in &held {
        lock::release(file); // forks may have it open
    }
    published
}

/// Does what is left of what a journal says, of which the writer is gone.
///
/// # Errors
/// [`io::ErrorKind::ResourceBusy`] if its writer, or another process, is at it; those of [`publish`].
pub fn finish(journal: &Path, steps: &Steps) -> Result<()> {
    let disk = Disk::default();
    let located = |error: io::Error| Error::from(error).with_path(journal);
    let held = disk.open_file(journal).map_err(located)?;
    if lock::take(&held) == Lock::Busy {
        return Err(lock::busy(journal, journal));
    }
    rename_all(&disk, steps, &mut Vec::new())?;
    clear(&disk, steps, &[journal])
}

/// Removes the journal and the files that wait for names: none of them has got its name yet.
///
/// # Errors
/// As for [`finish`].
pub fn roll_back(journal: &Path, waiting: &[PathBuf]) -> Result<()> {
    let steps = Steps {
        old: waiting.to_vec(),
        ..Steps::default()
    };
    finish(journal, &steps)
}

/// A file that has got its name, what it was before, and whether the name was free.
struct Done<'a> {
    step: &'a Move,
    file: Metadata,
    was_free: bool,
}

fn rename_all<'a>(disk: &Disk, steps: &'a Steps, done: &mut Vec<Done<'a>>) -> Result<()> {
    for step in &steps.moves {
        let (from, to) = step;
        let located = |error: Error| error.with_path(to);
        let replaced = replaceable(to).map_err(located)?;
        let file = match from.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound && replaced.is_some() => continue,
            found => found.map_err(|error| located(error.into()))?,
        };
        let renamed = disk.rename(from, to, false);
        renamed.map_err(|error| located(error.into()))?;
        let was_free = replaced.is_none();
        done.push(Done {
            step,
            file,
            was_free,
        });
    }
    sync_folders(disk, steps.moves.iter().map(|(_, to)| to.as_path()), steps)
}

/// Gives the files their temporary names back; false if some have already replaced older files.
fn take_back(disk: &Disk, done: &[Done<'_>]) -> bool {
    if done.iter().any(|done| !done.was_free) {
        return false;
    }
    done.iter().rev().all(|done| {
        let (from, to) = done.step;
        // Another run may have taken the name since.
        let is_ours = to
            .symlink_metadata()
            .is_ok_and(|now| is_same(&now, &done.file));
        !is_ours || disk.rename(to, from, false).is_ok()
    })
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    one.len() == other.len() && one.modified().ok() == other.modified().ok()
}

/// Removes what is replaced, and then the journals.
fn clear(disk: &Disk, steps: &Steps, journals: &[&Path]) -> Result<()> {
    for path in &steps.old {
        remove(disk, path)?;
    }
    sync_folders(disk, steps.old.iter().map(PathBuf::as_path), steps)?;
    for path in journals {
        remove(disk, path)?;
    }
    sync_folders(disk, journals.iter().copied(), steps)
}

fn remove(disk: &Disk, path: &Path) -> Result<()> {
    match disk.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::from(error).with_path(path))
        }
        _ => Ok(()),
    }
}

fn remove_all<'a>(disk: &Disk, paths: impl Iterator<Item = &'a Path>) {
    for path in paths {
        // There is an error to report already.
        let _ = disk.remove(path);
    }
}

/// Makes sure that the names of these files are on the disk, each folder once.
fn sync_folders<'a>(
    disk: &Disk,
    files: impl Iterator<Item = &'a Path>,
    steps: &Steps,
) -> Result<()> {
    let mut last = None;
    for file in files.filter(|_| steps.sync) {
        if last != file.parent() {
            last = file.parent();
            let synced = disk.sync_name(file);
            synced.map_err(|error| Error::from(error).with_path(file))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A folder in which two new files wait, one for a name that is taken, if `replaces`; and an old one.
    fn scene(replaces: bool) -> (tempfile::TempDir, Steps, Vec<WholeFile>) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at(".t1"), b"new 1").unwrap();
        std::fs::write(at(".t2"), b"new 2").unwrap();
        if replaces {
            std::fs::write(at("a"), b"old a").unwrap();
        }
        std::fs::write(at("c"), b"old c").unwrap();
        let steps = Steps {
            moves: vec![(at(".t1"), at("a")), (at(".t2"), at("b"))],
            old: vec![at("c")],
            sync: true,
        };
        let journal = WholeFile::write_beside(&at(".journal"), b"journal", true).unwrap();
        (folder, steps, vec![journal])
    }

    fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(folder).unwrap();
        let read = |entry: io::Result<std::fs::DirEntry>| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        };
        let mut found: Vec<_> = entries.map(read).collect();
        found.sort();
        found
    }

    fn whole() -> Vec<(String, Vec<u8>)> {
        vec![
            ("a".into(), b"new 1".to_vec()),
            ("b".into(), b"new 2".to_vec()),
        ]
    }

    /// Whichever call fails: nothing has changed, or the journal is there and finishing ends as if nothing had failed.
    #[test]
    fn every_call_may_fail() {
        for (replaces, failing) in [true, false]
            .into_iter()
            .flat_map(|replaces| (0..20).map(move |failing| (replaces, failing)))
        {
            let (folder, steps, journals) = scene(replaces);
            let before = content(folder.path());
            let left = AtomicUsize::new(failing);
            let disk = Disk {
                watch: Some(Arc::new(move |_: &_| {
                    if left.fetch_sub(1, Ordering::Relaxed) == 0 {
                        return Err(io::Error::from_raw_os_error(28));
                    }
                    Ok(usize::MAX)
                })),
            };
            let published = publish_on(&disk, journals, &steps);
            let after = content(folder.path());
            let journal = folder.path().join(".journal");
            if published.is_ok() {
                assert_eq!(after, whole());
            } else if journal.exists() {
                finish(&journal, &steps).unwrap();
                assert_eq!(content(folder.path()), whole(), "{replaces} {failing}");
            } else if after != whole() {
                let kept: Vec<_> = (before.iter())
                    .filter(|(name, _)| !name.contains("journal"))
                    .cloned()
                    .collect();
                assert_eq!(after, kept, "{replaces} {failing}");
            }
        }
    }

    #[test]
    fn a_journal_is_locked_while_it_is_carried_out() {
        let (folder, steps, mut journals) = scene(false);
        let journal = folder.path().join(".journal");
        let held = journals.remove(0).publish_locked().unwrap();
        let error = finish(&journal, &steps).unwrap_err();
        assert!(error.to_string().contains("another writer"), "{error}");
        drop(held);
        finish(&journal, &steps).unwrap();
        assert_eq!(content(folder.path()), whole());
    }

    #[test]
    fn what_has_no_name_yet_can_be_rolled_back() {
        let (folder, steps, mut journals) = scene(true);
        drop(journals.remove(0).publish_locked().unwrap());
        let waiting: Vec<_> = steps.moves.iter().map(|(from, _)| from.clone()).collect();
        roll_back(&folder.path().join(".journal"), &waiting).unwrap();
        let names: Vec<_> = content(folder.path())
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["a", "c"]);
    }
}
