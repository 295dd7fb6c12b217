//! Identity of a file: its size, and the checksum of samples of its bytes.
//!
//! Samples are taken at fixed positions, including the first and the last bytes; a small file is sampled whole.
//! Nothing is decompressed, and no file is read through. Identities kept on one machine also include the modification
//! time and, in a cache, the inode; those in states and manifests, which travel, do not.

use std::fs::{File, Metadata};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use crate::error::Result;
use crate::record::format::crc;
use crate::record::storage::read_at::fill;
use crate::runtime::ordered_workers::in_parallel;

/// Number of samples of a file, and bytes in each.
const SAMPLES: (u64, usize) = (8, 1024);

/// Metadata of a file: if any of it differs, the records may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// How many bytes it has.
    pub size: u64,
    /// When it was modified, in nanoseconds since 1970.
    pub modified: i64,
    /// The masked CRC-32C of its samples.
    pub samples: u32,
}

impl Fingerprint {
    /// That of `file`.
    ///
    /// # Errors
    /// Any I/O error of `stat` or `read`.
    pub fn of(file: &File) -> Result<Self> {
        let metadata = file.metadata()?;
        let (size, last) = (metadata.len(), SAMPLES.0 - 1);
        let end = size.saturating_sub(SAMPLES.1 as u64);
        let mut samples = vec![0; SAMPLES.1 * 8];
        for (number, room) in (0_u64..).zip(samples.chunks_mut(SAMPLES.1)) {
            let place = u128::from(end) * u128::from(number) / u128::from(last);
            fill(file, room, u64::try_from(place).unwrap_or(end))?;
        }
        Ok(Self {
            size,
            modified: modified(&metadata),
            samples: crc::masked(&samples),
        })
    }

    /// Whether a file of this size, and modified then, can be the one.
    #[must_use]
    pub fn is_of(&self, metadata: &Metadata) -> bool {
        (self.size, self.modified) == (metadata.len(), modified(metadata))
    }

    /// The same for a cache of one user on one machine, where a file that replaces another is another one.
    #[must_use]
    pub fn with_inode(self, metadata: &Metadata) -> Self {
        let mut both = [0; 12];
        let (samples, inode) = both.split_at_mut(4);
        samples.copy_from_slice(&self.samples.to_le_bytes());
        inode.copy_from_slice(&inode_of(metadata).to_le_bytes());
        Self {
            samples: crc::masked(&both),
            ..self
        }
    }
}

fn modified(metadata: &Metadata) -> i64 {
    let Ok(time) = metadata.modified() else {
        return 0;
    };
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    }
}

#[cfg(unix)]
fn inode_of(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode_of(_: &Metadata) -> u64 {
    0
}

/// Samples of a list of files: each is sampled once, when it is first opened or asked for.
#[derive(Debug)]
pub struct Samples {
    paths: Vec<PathBuf>,
    known: Mutex<Vec<Option<u32>>>,
}

impl Samples {
    /// Of these files, none of which is sampled yet.
    #[must_use]
    pub fn new(paths: Vec<PathBuf>) -> Self {
        let known = Mutex::new(vec![None; paths.len()]);
        Self { paths, known }
    }

    /// Sample the file of this number before it is read. Errors are left to the reader.
    pub fn note(&self, number: usize) {
        let is_known = self.known().get(number).is_none_or(Option::is_some);
        if let Some(path) = self.paths.get(number).filter(|_| !is_known)
            && let Ok(Some(samples)) = sampled(path)
        {
            self.set(number, samples);
        }
    }

    /// The checksums of the samples of some files; 0 of what is no regular file.
    ///
    /// # Errors
    /// Any I/O error of `stat` or `read`, with the path.
    pub fn of(&self, range: Range<usize>, threads: usize) -> Result<Vec<u32>> {
        let missing = {
            let known = self.known();
            let is_missing = |number: &usize| known.get(*number).is_some_and(Option::is_none);
            range.clone().filter(is_missing).collect::<Vec<_>>()
        };
        in_parallel(threads, missing, |number| {
            if let Some(path) = self.paths.get(number) {
                let found = sampled(path).map_err(|error| error.with_path(path))?;
                self.set(number, found.unwrap_or_default());
            }
            Ok(())
        })?;
        let known = self.known();
        let each = known.get(range).unwrap_or_default().iter();
        Ok(each.map(|samples| samples.unwrap_or_default()).collect())
    }

    /// Takes over what somebody else has sampled of the first files.
    pub fn take_over(&self, found: &[u32]) {
        for (number, samples) in found.iter().enumerate() {
            self.set(number, *samples);
        }
    }

    /// The files to sample.
    #[must_use]
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (number, _) in (self.known().iter().enumerate()).filter(|(_, it)| it.is_some()) {
            match ranges.last_mut() {
                Some(last) if last.end == number => last.end += 1,
                _ => ranges.push(number..number + 1),
            }
        }
        ranges
    }

    fn set(&self, number: usize, samples: u32) {
        if let Some(known) = self.known().get_mut(number) {
            known.get_or_insert(samples);
        }
    }

    fn known(&self) -> MutexGuard<'_, Vec<Option<u32>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The checksum of the samples of a regular file: a pipe would be opened twice.
fn sampled(path: &Path) -> Result<Option<u32>> {
    if !path.metadata()?.is_file() {
        return Ok(None);
    }
    Ok(Some(Fingerprint::of(&File::open(path)?)?.samples))
}

/// Fingerprint of one file on this machine: size, time, samples and inode.
///
/// # Errors
/// Any I/O error of `stat` or `read`, with the path.
pub fn local_identity(path: &Path) -> Result<Option<(u64, i64, u32)>> {
    let located = |error: crate::Error| error.with_path(path);
    let metadata = path.metadata().map_err(|error| located(error.into()))?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let file = File::open(path).map_err(|error| located(error.into()))?;
    let found = Fingerprint::of(&file).map_err(located)?;
    let found = found.with_inode(&metadata);
    Ok(Some((found.size, found.modified, found.samples)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over all sizes around the samples': any byte of a small file counts, and the first and last ones of all.
    #[test]
    fn any_byte_of_a_small_file_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for size in [
            1_usize, 2, 1023, 1024, 1025, 2048, 4096, 8191, 8192, 100_000,
        ] {
            let mut content = vec![7_u8; size];
            std::fs::write(&path, &content).unwrap();
            let before = sampled(&path).unwrap();
            let step = if size <= 8192 {
                1 + size / 97
            } else {
                size - 1
            };
            for place in (0..size).step_by(step) {
                content[place] ^= 1;
                std::fs::write(&path, &content).unwrap();
                assert_ne!(sampled(&path).unwrap(), before, "{place} of {size}");
                content[place] ^= 1;
            }
        }
    }

    #[test]
    fn each_file_is_sampled_once() {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..4).map(|n| folder.path().join(n.to_string())).collect();
        for path in &paths {
            std::fs::write(path, path.to_str().unwrap()).unwrap();
        }
        let samples = Samples::new(paths.clone());
        assert_eq!(samples.ranges(), []);
        samples.note(0);
        samples.note(3);
        samples.note(9);
        assert_eq!(samples.ranges(), [0..1, 3..4]);
        let first = samples.of(0..4, 2).unwrap();
        std::fs::write(&paths[0], "something else").unwrap();
        assert_eq!(samples.of(0..4, 1).unwrap(), first);
        assert_eq!(samples.ranges(), std::iter::once(0..4).collect::<Vec<_>>());
        assert_ne!(
            Samples::new(paths.clone()).of(0..1, 1).unwrap()[0],
            first[0]
        );
        std::fs::remove_file(&paths[1]).unwrap();
        assert!(Samples::new(paths).of(0..4, 2).is_err());
    }
}
