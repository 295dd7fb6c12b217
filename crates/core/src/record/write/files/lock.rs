//! One writer for a file, of all processes.
//!
//! The lock is the system's (`flock`), and advisory: readers need none. It lies on the open file, not on its
//! name; it ends with the process, however that ends, and a fork has the same one, not another.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::{Error, ErrorKind};

/// What came of asking for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// It is this writer's now.
    Held,
    /// Another writer has it.
    Busy,
    /// The file system has no locks.
    Unknown,
}

/// Asks for the lock, and does not wait for it.
#[cfg(unix)]
pub fn take(file: &File) -> Lock {
    outcome(&file.try_lock())
}

#[cfg(unix)]
fn outcome(tried: &Result<(), std::fs::TryLockError>) -> Lock {
    match tried {
        Ok(()) => Lock::Held,
        Err(std::fs::TryLockError::WouldBlock) => Lock::Busy,
        Err(std::fs::TryLockError::Error(_)) => Lock::Unknown,
    }
}

/// Elsewhere a lock keeps readers out too.
#[cfg(not(unix))]
pub fn take(_: &File) -> Lock {
    Lock::Unknown
}

/// Gives the lock back, also in the name of forks that still have the file open.
#[cfg(unix)]
pub fn release(file: &File) {
    // Closing it, which comes next, is all else there is to try.
    let _ = file.unlock();
}

#[cfg(not(unix))]
pub fn release(_: &File) {}

/// Whether a writer has the file of this name open. For a moment no writer can lock it.
///
/// Writers lock exclusively. Asking for a shared lock finds them, and not the readers of other programs, whose
/// shared locks need not stop a writer that replaces the file.
#[must_use]
pub fn is_taken(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| {
        let lock = share(&file);
        if lock == Lock::Held {
            release(&file);
        }
        lock == Lock::Busy
    })
}

#[cfg(unix)]
fn share(file: &File) -> Lock {
    outcome(&file.try_lock_shared())
}

#[cfg(not(unix))]
fn share(_: &File) -> Lock {
    Lock::Unknown
}

/// Linux's and macOS's number for "busy".
const EBUSY: i32 = 16;

/// That the file called `path` is another writer's, who has locked `file`.
pub fn busy(file: &Path, path: &Path) -> Error {
    let who = match holder(file) {
        Some(process) if process == std::process::id() => {
            "another writer of this process has it open: close or discard that one first".to_owned()
        }
        Some(process) => format!("another writer has it open: process {process}"),
        None => "another writer has it open".to_owned(),
    };
    let kind = ErrorKind::Io(io::ErrorKind::ResourceBusy, Some(EBUSY), who);
    Error::new(kind).with_path(path)
}

/// The process that locked the file, if the system says so.
#[cfg(target_os = "linux")]
pub fn holder(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;

    let metadata = path.metadata().ok()?;
    let device = metadata.dev();
    let major = (device >> 8) & 0xfff | (device >> 32) & !0xfff;
    let minor = device & 0xff | (device >> 12) & !0xff;
    let place = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    // 1: FLOCK  ADVISORY  WRITE 1234 fd:00:5678 0 EOF
    locks.lines().find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let is_lock = fields.next() == Some("FLOCK");
        let process = fields.nth(2)?;
        let is_here = fields.next() == Some(place.as_str());
        (is_lock && is_here).then(|| process.parse().ok()).flatten()
    })
}

/// Elsewhere nobody says.
#[cfg(not(target_os = "linux"))]
pub fn holder(_: &Path) -> Option<u32> {
    None
}

/// Whether `file` is what has the name `path`.
#[cfg(unix)]
pub fn is_named(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    match (file.metadata(), path.symlink_metadata()) {
        (Ok(file), Ok(named)) => (file.dev(), file.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Elsewhere a name stays with a file that is open.
#[cfg(not(unix))]
pub fn is_named(_: &File, _: &Path) -> bool {
    true
}
