//! Temporary siblings: where the bytes of a file are until it gets its name.
//!
//! While it is being written, `NAME` is `.NAME.tfrecs.tmp` beside it, and locked: so there is one writer for a
//! name, and a sibling without a lock is what a dead one has left. Such a leftover may hold records that were
//! flushed, and that are nowhere else; it is never removed unasked. A new writer of the name sets it aside, as
//! `.NAME.tfrecs.0-1.tmp`; a file that is complete and waits for others of its set is
//! `.NAME.tfrecs.PROCESS-NUMBER.tmp`.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::lock::{self, Lock};
use crate::error::{Error, ErrorKind, Result};
use crate::record::format::crc;
#[cfg(unix)]
use crate::record::storage::user::this_user;
use crate::record::write::files::fs::Disk;

/// What follows the target's name in every sibling's; then comes whose it is, if it is not the one that is
/// being written.
const MARK: &str = ".tfrecs";
/// What the name of every sibling ends with.
const END: &str = ".tmp";

/// How many bytes of a file's name its sibling shows; names have at most 255 bytes.
const SHOWN: usize = 180;

/// How often to begin anew when others are faster. They, too, want a file: some are done soon.
const ATTEMPTS: usize = 100;

/// A file that is being written, and its name.
pub struct Sibling {
    pub file: File,
    pub path: PathBuf,
}

/// Where a file called `path` really goes, wherever the process is then: a link is not replaced,
/// but what it leads to, even if that does not exist yet.
pub fn final_name(path: &Path) -> io::Result<PathBuf> {
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

/// Returns the metadata of the file to replace, if it exists.
pub fn replaceable(target: &Path) -> Result<Option<Metadata>> {
    match target.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata)),
        Ok(metadata) => {
            let what = if metadata.is_symlink() {
                "a link"
            } else if metadata.is_dir() {
                "a folder"
            } else {
                "a device or a pipe"
            };
            let text = format!("there is {what} of this name, and only a file can be replaced");
            Err(ErrorKind::Io(io::ErrorKind::AlreadyExists, Some(EEXIST), text).into())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The same number on Linux and macOS.
const EEXIST: i32 = 17;

/// Where `target` is while it is being written.
pub fn working_name(target: &Path) -> io::Result<PathBuf> {
    Ok(target.with_file_name(name_of(target, None)?))
}

/// A name for a sibling of `target` that only this process uses.
pub fn private_name(target: &Path) -> io::Result<PathBuf> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    own_name(target, COUNTER.fetch_add(1, Ordering::Relaxed))
}

/// A name for a sibling of `target` that has this process's number, and another one.
pub fn own_name(target: &Path, number: u64) -> io::Result<PathBuf> {
    let owner = (std::process::id(), number);
    Ok(target.with_file_name(name_of(target, Some(owner))?))
}

fn name_of(target: &Path, owner: Option<(u32, u64)>) -> io::Result<OsString> {
    let name = target.file_name();
    let name = name.ok_or(io::ErrorKind::IsADirectory)?;
    let mut sibling = OsString::from(".");
    sibling.push(shown(name));
    sibling.push(MARK);
    if let Some((process, number)) = owner {
        sibling.push(format!(".{process}-{number}"));
    }
    sibling.push(END);
    Ok(sibling)
}

/// A file's name as its sibling shows it: a long one ends with a checksum.
fn shown(name: &OsStr) -> OsString {
    let bytes = name.as_encoded_bytes();
    if bytes.len() <= SHOWN {
        return name.to_owned();
    }
    let lossy = name.to_string_lossy();
    let mut end = SHOWN / 2;
    while !lossy.is_char_boundary(end) {
        end -= 1;
    }
    let begin = lossy.get(..end).unwrap_or_default();
    OsString::from(format!("{begin}~{:08x}", crc::masked(bytes)))
}

/// Makes the sibling that `target` is written to. It is `private` if it gets the permissions of another file later:
/// a process that opened it in between could read everything written afterwards.
///
/// # Errors
/// [`io::ErrorKind::ResourceBusy`] if another writer is at it; any I/O error.
pub fn claim(disk: &Disk, target: &Path, private: bool) -> Result<Sibling> {
    let path = working_name(target)?;
    for _ in 0..ATTEMPTS {
        match disk.create(&path, private) {
            Ok(file) => match lock::take(&file) {
                Lock::Held if lock::is_named(&file, &path) => return Ok(Sibling { file, path }),
                // Somebody looked at it in the meantime.
                Lock::Held | Lock::Busy => {}
                Lock::Unknown => {
                    // Without locks nobody may come upon it who wants the same name.
                    drop(file);
                    disk.remove(&path)?;
                    return unlocked(disk, target, private);
                }
            },
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                match take_over(disk, target)? {
                    Old::Ours(old) => set_aside(disk, &old, target)?,
                    Old::Gone => {}
                    Old::Closed => return unlocked(disk, target, private),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(lock::busy(&path, target))
}

/// What a dead writer of `target` has left, for whoever continues with it.
///
/// # Errors
/// As for [`claim`].
pub fn resume(disk: &Disk, target: &Path) -> Result<Option<Sibling>> {
    match take_over(disk, target)? {
        Old::Ours(old) if old.file.metadata()?.len() > 0 && !has_another_name(&old.file) => {
            Ok(Some(old))
        }
        _ => Ok(None),
    }
}

/// Returns whether this is a regular file of this user; a planted file is never resumed.
#[cfg(unix)]
fn is_of_this_user(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;

    let metadata = file.metadata()?;
    Ok(metadata.is_file() && metadata.uid() == this_user())
}

#[cfg(not(unix))]
fn is_of_this_user(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.is_file())
}

/// Whether the file has another name too: its writer died, or the power failed, while it was being published.
#[cfg(unix)]
fn has_another_name(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;

    file.metadata().is_ok_and(|metadata| metadata.nlink() > 1)
}

#[cfg(not(unix))]
fn has_another_name(_: &File) -> bool {
    false
}

/// A sibling that is there already.
enum Old {
    /// Its writer is dead, and it is locked now.
    Ours(Sibling),
    /// It is not there any more.
    Gone,
    /// It cannot be had.
    Closed,
}

fn take_over(disk: &Disk, target: &Path) -> Result<Old> {
    let path = working_name(target)?;
    let file = match path.symlink_metadata() {
        // Nothing that a writer has left.
        Ok(metadata) if !metadata.is_file() => return Ok(Old::Closed),
        Ok(_) => disk.open_file(&path),
        Err(error) => Err(error),
    };
    let file = match file {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Old::Gone),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Old::Closed),
        Err(error) => return Err(error.into()),
    };
    if !is_of_this_user(&file)? {
        return Ok(Old::Closed);
    }
    Ok(match lock::take(&file) {
        Lock::Held if lock::is_named(&file, &path) => Old::Ours(Sibling { file, path }),
        Lock::Held => Old::Gone,
        Lock::Busy => return Err(lock::busy(&path, target)),
        Lock::Unknown => Old::Closed,
    })
}

/// Frees the name: an empty file is removed, one with content gets another name, if it has none.
fn set_aside(disk: &Disk, old: &Sibling, target: &Path) -> io::Result<()> {
    if old.file.metadata()?.len() == 0 || has_another_name(&old.file) {
        return disk.remove(&old.path);
    }
    let mut number = 1;
    loop {
        let aside = target.with_file_name(name_of(target, Some((0, number)))?);
        match disk.rename(&old.path, &aside, true) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            done => return done,
        }
    }
}

/// A sibling that only this writer knows.
pub fn unlocked(disk: &Disk, target: &Path, private: bool) -> Result<Sibling> {
    loop {
        let path = private_name(target)?;
        match disk.create(&path, private) {
            Ok(file) => {
                // For those who list what was left behind.
                let _ = lock::take(&file);
                return Ok(Sibling { file, path });
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A temporary sibling, as it was found.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// The name of its file, as the sibling shows it.
    pub target: PathBuf,
    /// Whether a writer has it open.
    pub is_taken: bool,
    /// The process in its name, if there is one that could be at it.
    pub process: Option<u32>,
}

/// The temporary siblings of the file `path`, or all in the folder `path`, sorted.
///
/// # Errors
/// Any I/O error.
pub fn find(path: &Path) -> Result<Vec<Found>> {
    let located = |error: io::Error| Error::from(error).with_path(path);
    let wanted = if path.is_dir() {
        None
    } else {
        path.file_name().map(shown)
    };
    let folder = match &wanted {
        None => path,
        Some(_) => path.parent().unwrap_or(path),
    };
    let here = Path::new(".");
    let listed = if folder.as_os_str().is_empty() {
        here
    } else {
        folder
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(listed).map_err(located)? {
        let name = entry.map_err(located)?.file_name();
        let Some((target, process)) = parse(&name) else {
            continue;
        };
        if wanted.as_deref().is_none_or(|wanted| wanted == target) {
            let path = folder.join(&name);
            let is_taken = lock::is_taken(&path);
            let target = folder.join(target);
            found.push(Found {
                path,
                target,
                is_taken,
                process,
            });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The target's name and the process in the name of a temporary sibling.
fn parse(name: &OsStr) -> Option<(&OsStr, Option<u32>)> {
    let name = name.as_encoded_bytes().strip_prefix(b".")?;
    let name = name.strip_suffix(END.as_bytes())?;
    let (target, process) = if let Some(target) = name.strip_suffix(MARK.as_bytes()) {
        (target, 0)
    } else {
        let dot = name.iter().rposition(|&byte| byte == b'.')?;
        let owner = std::str::from_utf8(name.get(dot + 1..)?).ok()?;
        let (process, number) = owner.split_once('-')?;
        number.parse::<u64>().ok()?;
        let target = name.get(..dot)?.strip_suffix(MARK.as_bytes())?;
        (target, process.parse().ok()?)
    };
    let target = as_name(target).filter(|target| !target.is_empty())?;
    Some((target, Some(process).filter(|&process| process > 0)))
}

/// These bytes of a name, which need not be text.
#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "elsewhere names are text")]
fn as_name(bytes: &[u8]) -> Option<&OsStr> {
    Some(std::os::unix::ffi::OsStrExt::from_bytes(bytes))
}

#[cfg(not(unix))]
fn as_name(bytes: &[u8]) -> Option<&OsStr> {
    std::str::from_utf8(bytes).ok().map(OsStr::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_sibling_it_is() {
        for name in [
            "a",
            "train-00000-of-00010.tfrecord.gz",
            ".hidden",
            "ünï",
            "7-1",
        ] {
            let target = Path::new("folder").join(name);
            let working = working_name(&target).unwrap();
            assert_eq!(working.parent(), target.parent());
            let working = working.file_name().unwrap();
            assert_eq!(parse(working), Some((OsStr::new(name), None)));
            let private = private_name(&target).unwrap();
            let private = private.file_name().unwrap();
            assert_eq!(
                parse(private),
                Some((OsStr::new(name), Some(std::process::id())))
            );
        }
        let aside = OsStr::new(".a.tfrecs.0-1.tmp");
        assert_eq!(parse(aside), Some((OsStr::new("a"), None)));
        for other in ["a", ".a.tmp", "a.tfrecs.tmp", "..tfrecs.tmp", ".tfrecs.tmp"] {
            assert_eq!(parse(OsStr::new(other)), None, "{other}");
        }
    }

    #[test]
    fn long_names_stay_apart() {
        let long = |last: &str| PathBuf::from("ß".repeat(126) + last);
        let (a, b) = (
            working_name(&long("a")).unwrap(),
            working_name(&long("b")).unwrap(),
        );
        assert_ne!(a, b);
        assert!(a.as_os_str().len() < 255 - 32);
    }
}
