//! Any bytes of a file that has an index: read when they are asked for, copied out of a mapping, or inflated.

use std::fs::{File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};
use crate::record::codec::checkpoints::{Checkpoints, Seeker};
use crate::record::codec::compression::Compression;
use crate::record::storage::mmap::Mapping;
use crate::record::storage::read_at::fill;
use crate::runtime::fork;
use crate::runtime::simd::fetch;

/// How many files are kept open, of all sequences together; beyond that, one is opened for each use.
static MOST_OPEN: AtomicUsize = AtomicUsize::new(64);

/// Keeps at most that many files open from now on: whoever knows how many the process may have says so.
pub fn keep_open(most: usize) {
    MOST_OPEN.store(most, Ordering::Relaxed);
}

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// A file that is opened when it is first used, and kept open if there are not too many.
#[derive(Default)]
pub struct OpenFile {
    file: OnceLock<Kept>,
    mapping: OnceLock<Mapping>,
}

/// A file that is kept open, and counted.
struct Kept(File);

impl Drop for Kept {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

impl OpenFile {
    /// The file at `path`, open; none if `is_it` says that it is another one.
    ///
    /// # Errors
    /// Any I/O error.
    fn get(
        &self,
        path: &Path,
        is_it: impl Fn(&Metadata) -> bool,
    ) -> io::Result<Option<Handle<'_>>> {
        if let Some(file) = self.file.get() {
            return Ok(Some(Handle::Kept(&file.0)));
        }
        fork::apart(|| {
            let file = open_quietly(path)?;
            if !is_it(&file.metadata()?) {
                return Ok(None);
            }
            if OPEN.load(Ordering::Relaxed) >= MOST_OPEN.load(Ordering::Relaxed) {
                return Ok(Some(Handle::Own(file)));
            }
            let kept = self.file.get_or_init(|| {
                OPEN.fetch_add(1, Ordering::Relaxed);
                Kept(file)
            });
            Ok(Some(Handle::Kept(&kept.0)))
        })
    }

    /// Returns the mapping and the current size: the file may have been truncated since. `None` if it cannot be mapped
    /// safely.
    fn mapped(&self, file: &File) -> io::Result<Option<Mapped<'_>>> {
        let mapping = if let Some(mapping) = self.mapping.get() {
            mapping
        } else {
            let Some(mapping) = Mapping::of(file)? else {
                return Ok(None);
            };
            fork::apart(|| self.mapping.get_or_init(|| mapping))
        };
        // Nobody reads from where the file stands; and nothing that tells a file's size takes less time.
        let mut it = file;
        let size = usize::try_from(it.seek(SeekFrom::End(0))?).unwrap_or(usize::MAX);
        let size = size.min(mapping.len());
        Ok(Some(Mapped { mapping, size }))
    }
}

/// A file as memory.
#[derive(Clone, Copy)]
struct Mapped<'a> {
    mapping: &'a Mapping,
    /// The size of the file at the last check.
    size: usize,
}

/// A file, open for reads at any place.
pub struct Access<'a> {
    file: Handle<'a>,
    /// All of it, if it is mapped.
    mapped: Option<Mapped<'a>>,
    /// Where it can be inflated from, if it is compressed.
    compressed: Option<(Compression, &'a Checkpoints)>,
    /// What has inflated some of it, and may continue from there.
    seeker: Option<Seeker>,
}

impl<'a> Access<'a> {
    /// To the file at `path`, if `is_it` says that it is the right one; none otherwise.
    ///
    /// # Errors
    /// Any I/O error.
    pub(crate) fn open(
        opened: &'a OpenFile,
        path: &Path,
        is_it: impl Fn(&Metadata) -> bool,
        memory_map: bool,
    ) -> io::Result<Option<Self>> {
        let Some(file) = opened.get(path, is_it)? else {
            return Ok(None);
        };
        let mapped = if memory_map {
            opened.mapped(&file)?
        } else {
            None
        };
        Ok(Some(Self {
            file,
            mapped,
            compressed: None,
            seeker: None,
        }))
    }

    /// What is read is the content of the file; a `seeker` of it continues where it was, if that is not far.
    pub(crate) fn inflated(
        self,
        codec: Compression,
        checkpoints: &'a Checkpoints,
        seeker: Option<Seeker>,
    ) -> Self {
        Self {
            compressed: Some((codec, checkpoints)),
            seeker,
            ..self
        }
    }

    /// Reads the stream of frames from `offset` on until `room` is full or it ends, and says how many bytes that
    /// were.
    ///
    /// # Errors
    /// Any I/O error; a broken compressed stream.
    pub fn fill(&mut self, room: &mut [u8], offset: u64) -> Result<usize> {
        if let Some(Mapped { mapping, size }) = self.mapped {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let copied = mapping.copy(room, start.min(size), size);
            return copied.map_err(|error| Error::from(error).at_offset(offset));
        }
        let Some((codec, checkpoints)) = self.compressed else {
            return fill(&self.file, room, offset);
        };
        let mut at = match self.seeker.take() {
            Some(seeker) => seeker,
            None => Seeker::new(codec)?,
        };
        let filled = at.fill(&self.file, checkpoints, offset, room)?;
        self.seeker = Some(at);
        Ok(filled)
    }

    /// Says what will be read soon, so that memory need not be waited for.
    pub fn expect(&self, place: &Range<u64>) {
        let (start, end) = (usize::try_from(place.start), usize::try_from(place.end));
        if let (Some(mapped), Ok(start), Ok(end)) = (self.mapped, start, end)
            && let Some(bytes) = mapped.mapping.bytes(start..end)
        {
            fetch(bytes);
        }
    }

    /// Whether the next read may continue where another one was.
    #[must_use]
    pub fn continues(&self) -> bool {
        self.seeker.is_some()
    }

    /// Lets the next read begin at a checkpoint again.
    pub fn begin_again(&mut self) {
        self.seeker = None;
    }

    /// What may continue where the last read was.
    #[must_use]
    pub fn into_seeker(self) -> Option<Seeker> {
        self.seeker
    }
}

/// Opens a file whose time of access need not be kept: to think about it takes a tenth of the time of a small read.
/// Only the file's owner may say so.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn open_quietly(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    const O_NOATIME: i32 = 0o100_0000;
    let quietly = File::options()
        .read(true)
        .custom_flags(O_NOATIME)
        .open(path);
    quietly.or_else(|_| File::open(path))
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
fn open_quietly(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

/// An open file, kept open or not.
enum Handle<'a> {
    /// It stays open.
    Kept(&'a File),
    /// It was opened for this time.
    Own(File),
}

impl Deref for Handle<'_> {
    type Target = File;

    fn deref(&self) -> &File {
        match self {
            Self::Kept(file) => file,
            Self::Own(file) => file,
        }
    }
}
