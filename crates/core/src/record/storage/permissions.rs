//! Permissions of new files: never wider than those of the file they replace or are derived from.

use std::fs::{File, Metadata};
use std::path::PathBuf;

/// Mode bits of the group.
const OF_THE_GROUP: u32 = 0o070;
/// Execute bits, which derived files never get.
const RUNS: u32 = 0o111;

/// The mode and the group of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    mode: u32,
    group: u32,
}

impl Permissions {
    /// Those of a file; `None` where the system has none.
    #[cfg(unix)]
    #[must_use]
    pub fn of(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;

        Some(Self {
            mode: metadata.mode() & 0o777,
            group: metadata.gid(),
        })
    }

    /// Those of a file; `None` where the system has none.
    #[cfg(not(unix))]
    #[must_use]
    pub fn of(_: &Metadata) -> Option<Self> {
        None
    }

    /// Those of a file that is derived from all of `sources` that exist: what each of them allows.
    #[must_use]
    pub fn derived(sources: &[PathBuf]) -> Option<Self> {
        let each = sources.iter().filter_map(|path| path.metadata().ok());
        let each = each.filter_map(|metadata| Self::of(&metadata));
        each.map(Self::without_execution).reduce(Self::and)
    }

    /// The same, without permission to execute.
    #[must_use]
    pub fn without_execution(self) -> Self {
        Self {
            mode: self.mode & !RUNS,
            ..self
        }
    }

    /// The intersection of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let mode = if self.group == other.group {
            self.mode & other.mode
        } else {
            self.mode & other.of_another_group()
        };
        Self { mode, ..self }
    }

    /// The mode for a file of another group: its members get the permissions of all others only.
    fn of_another_group(self) -> u32 {
        self.mode & (!OF_THE_GROUP | (self.mode & 0o007) << 3)
    }

    /// Applies them to a file that was created private; if the system refuses, the file stays private.
    #[cfg(unix)]
    pub fn give(self, file: &File) {
        use std::fs::Permissions as Mode;
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

        let is_there = file.metadata().is_ok_and(|it| it.gid() == self.group);
        let mode = if is_there || fchown(file, None, Some(self.group)).is_ok() {
            self.mode
        } else {
            self.of_another_group()
        };
        let _ = file.set_permissions(Mode::from_mode(mode));
    }

    /// Gives them to a file that was created private.
    #[cfg(not(unix))]
    pub fn give(self, _: &File) {}
}

/// Permissions of a new file: those of the file it replaces and of its sources.
#[must_use]
pub fn both(old: Option<Permissions>, derived: Option<Permissions>) -> Option<Permissions> {
    match (old, derived) {
        (Some(old), Some(derived)) => Some(derived.and(old)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mode: u32, group: u32) -> Permissions {
        Permissions { mode, group }
    }

    /// Over all pairs of modes: who is let in was let in by both.
    #[test]
    fn both_must_allow() {
        for (one, other) in (0..0o1000).flat_map(|one| (0..0o1000).map(move |other| (one, other))) {
            let same = of(one, 1).and(of(other, 1));
            assert_eq!(same, of(one & other, 1));
            let apart = of(one, 1).and(of(other, 2)).mode;
            assert_eq!(apart & 0o707, one & other & 0o707);
            // Members of group 1 are others to the second file, or of its group too.
            let group = one & other & (other & 0o007) << 3 & OF_THE_GROUP;
            assert_eq!(apart & OF_THE_GROUP, group);
        }
    }
}
