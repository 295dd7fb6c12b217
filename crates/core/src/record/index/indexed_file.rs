//! A file and its index: where it comes from, and whether it still fits.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::record::codec::checkpoints::{Checkpoints, Seeker};
use crate::record::codec::compression::Compression;
use crate::record::format::frame::{FOOTER, HEADER};
use crate::record::index::file_access::{Access, OpenFile};
use crate::record::index::{self, Builder, Index, Summary};
use crate::record::read::header_scan::Next;
use crate::record::read::parallel_header_scan::{Passed, each_start};
use crate::record::read::reader::{ReadOptions, RecordReader};
use crate::record::storage::identity::Fingerprint;
use crate::record::storage::permissions::Permissions;
use crate::record::storage::read_at::fill;
use crate::record::storage::user::this_user;
use crate::record::write::files::fs::Disk;
use crate::record::write::files::whole_file::WholeFile;
use crate::runtime::fork;
use crate::runtime::interrupt::Pulse;
use crate::runtime::memory;
use crate::runtime::ordered_workers::Ordered;

/// What a byte of deflate inflates to at most.
const MOST_INFLATED: u64 = 1032;

/// A file of which any record can be read at once.
pub struct IndexedFile {
    path: Arc<Path>,
    /// The same wherever the process goes meanwhile.
    absolute: PathBuf,
    compression: Compression,
    records: u64,
    of: Fingerprint,
    index: OnceLock<Index>,
    /// Where the index lies, if it lies in a file.
    stored: Option<(Stored, Summary)>,
    opened: OpenFile,
}

impl IndexedFile {
    /// Goes over all records of `path`.
    ///
    /// # Errors
    /// What is wrong with the file, with path, record and offset. Data is not read, where that can be helped,
    /// and not checked, whatever the options say.
    pub fn build(path: &Path, options: ReadOptions, threads: usize) -> Result<Self> {
        let located = |error: std::io::Error| Error::from(error).with_path(path);
        refuse_pipes(path)?;
        let file = File::open(path).map_err(located)?;
        // Before anything else is read: what comes later is not in the index, and makes it stale.
        let of = Fingerprint::of(&file).map_err(|error| error.with_path(path))?;
        let twin = file.try_clone().map_err(located)?;
        let mut reader = RecordReader::scanning(twin, path, unverified(options))?;
        let compression = reader.compression();
        let mut builder = Builder::default();
        let each = |start| builder.push(start);
        let end = each_record(&mut reader, Some(file), of.size, threads, u64::MAX, each)
            .map_err(|error| error.with_path(path))?;
        let index = builder.finish(end, reader.into_checkpoints())?;
        Ok(Self::with(path, compression, of, index))
    }

    fn with(path: &Path, compression: Compression, of: Fingerprint, index: Index) -> Self {
        Self {
            path: Arc::from(path),
            absolute: absolute(path),
            compression,
            records: index.len() as u64,
            of,
            index: OnceLock::from(index),
            stored: None,
            opened: OpenFile::default(),
        }
    }

    /// The index of `path` that is kept in `stored`; none if it is none, is damaged, or is of another file than
    /// this one is now. Of the index no more is read than its header, until a record is asked for.
    ///
    /// With `was_found` (the caller did not name the index), it is used only if it belongs to this user, to the owner
    /// of the data or to root: a planted index could leave records out. One that `is_local` stays on this machine, and
    /// is of the very file, not of a copy.
    #[must_use]
    pub fn load(path: &Path, stored: &Path, was_found: bool, is_local: bool) -> Option<Self> {
        let data = path.metadata().ok()?;
        let place = Stored {
            path: absolute(stored),
            owner: was_found.then(|| owner_of(&data)),
        };
        let summary = summary_of(&place)?;
        let of = fingerprint_of(path)?;
        let kept = if is_local { of.with_inode(&data) } else { of };
        (summary.of == kept).then(|| Self {
            path: Arc::from(path),
            absolute: absolute(path),
            compression: summary.compression,
            records: summary.records,
            of,
            index: OnceLock::new(),
            stored: Some((place, summary)),
            opened: OpenFile::default(),
        })
    }

    /// The index of `path` that these bytes are; none as for [`Self::load`].
    #[must_use]
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Option<Self> {
        let (header, body) = bytes.split_first_chunk()?;
        let summary = Summary::from_bytes(header)?;
        let of = fingerprint_of(path)?;
        let index = Index::new(&summary, body.to_vec()).filter(|_| summary.of == of)?;
        Some(Self::with(path, summary.compression, of, index))
    }

    /// The index of an uncompressed file that a text gives, of a line with offset and length for each record, as
    /// DALI's `tfrecord2idx` writes them; none if it does not tell of the whole file.
    #[must_use]
    pub fn from_text(path: &Path, text: &str) -> Option<Self> {
        let of = fingerprint_of(path)?;
        let (mut builder, mut end) = (Builder::default(), 0_u64);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let (start, length) = line.trim().split_once(char::is_whitespace)?;
            let (start, length): (u64, u64) = (start.parse().ok()?, length.trim().parse().ok()?);
            if start != end || length < (HEADER + FOOTER) as u64 {
                return None;
            }
            builder.push(start);
            end = start.checked_add(length)?;
        }
        let index = builder.finish(end, Checkpoints::default()).ok()?;
        (end == of.size).then(|| Self::with(path, Compression::None, of, index))
    }

    /// Writes the index to a file, which others see whole or not at all.
    ///
    /// # Errors
    /// As of [`Self::index`]; any I/O error; a text of offsets in a compressed file.
    pub fn save(&self, place: &Path, as_text: bool, is_local: bool) -> Result<()> {
        if as_text && self.compression != Compression::None {
            let text = "a text index is of offsets in the file, and this one is compressed";
            return Err(Error::spec(text).with_path(&self.path));
        }
        let source = self.absolute.metadata();
        let source = source.map_err(|error| Error::from(error).with_path(&self.path))?;
        let content = if as_text {
            self.to_text()?.into_bytes()
        } else if is_local {
            let of = self.of.with_inode(&source);
            self.index()?.to_bytes(self.compression, of)?
        } else {
            self.to_bytes()?
        };
        // It need not survive a power cut: it can be made again.
        let permissions = Permissions::of(&source).map(Permissions::without_execution);
        WholeFile::write(&Disk::default(), place, &content, permissions, false)?.publish()
    }

    /// The index as it stands in a file.
    ///
    /// # Errors
    /// As of [`Self::index`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.index()?.to_bytes(self.compression, self.of)
    }

    fn to_text(&self) -> Result<String> {
        let index = self.index()?;
        let places = (0..index.len()).filter_map(|number| index.get(number));
        let lines = places.map(|place| format!("{} {}\n", place.start, place.end - place.start));
        Ok(lines.collect())
    }

    /// The file, as it was named.
    #[must_use]
    pub fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// The file, wherever the process goes.
    #[must_use]
    pub fn absolute(&self) -> &Path {
        &self.absolute
    }

    /// How it is compressed.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// How many records it has.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.records
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The checksum of samples of its bytes.
    #[must_use]
    pub fn samples(&self) -> u32 {
        self.of.samples
    }

    /// How many bytes the file has.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.of.size
    }

    /// Where the stream of frames ends.
    ///
    /// # Errors
    /// As of [`Self::index`].
    pub fn stream_bytes(&self) -> Result<u64> {
        let index = self.index()?;
        let last = index.len().checked_sub(1).and_then(|last| index.get(last));
        Ok(last.map_or(0, |place| place.end))
    }

    /// Where the stream of frames ends at the latest.
    #[must_use]
    pub fn most(&self) -> u64 {
        match self.compression {
            Compression::None => self.of.size,
            _ => self.of.size.saturating_mul(MOST_INFLATED),
        }
    }

    /// The file, open for reads at any place; in memory, if so asked and it is not compressed. A `seeker` of it
    /// continues where it was.
    ///
    /// # Errors
    /// Any I/O error; the file has changed.
    pub fn access(&self, memory_map: bool, seeker: Option<Seeker>) -> Result<Access<'_>> {
        let is_plain = self.compression == Compression::None;
        let is_it = |metadata: &Metadata| self.of.is_of(metadata);
        let access = Access::open(&self.opened, &self.absolute, is_it, memory_map && is_plain);
        let access = access.map_err(|error| Error::from(error).with_path(&self.path))?;
        let access = access.ok_or_else(|| self.has_changed())?;
        if is_plain {
            return Ok(access);
        }
        let checkpoints = self.index()?.checkpoints();
        Ok(access.inflated(self.compression, checkpoints, seeker))
    }

    /// How many bytes could be read in the time that it takes to begin reading anywhere.
    #[must_use]
    pub fn cost_of_a_read(&self, memory_map: bool) -> usize {
        match self.compression {
            Compression::None if memory_map => 1 << 10,
            Compression::None => 4 << 10,
            _ => 4 << 20,
        }
    }

    /// Where the records are. What is kept in a file is read now, and made anew if it is damaged.
    ///
    /// # Errors
    /// The file has changed; those of [`Self::build`].
    pub fn index(&self) -> Result<&Index> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let index = match self.read_stored() {
            Some(index) => index,
            None => self.build_again()?,
        };
        Ok(fork::apart(|| self.index.get_or_init(|| index)))
    }

    fn read_stored(&self) -> Option<Index> {
        let (stored, summary) = self.stored.as_ref()?;
        let length = usize::try_from(summary.body()?).ok()?;
        let file = stored.open()?;
        let is_whole = file.metadata().ok()?.len() == (index::HEADER as u64) + summary.body()?;
        let mut body = memory::zeros(if is_whole { length } else { 0 })?;
        fill(&file, &mut body, index::HEADER as u64).ok()?;
        Index::new(summary, body)
    }

    fn build_again(&self) -> Result<Index> {
        let options = ReadOptions {
            compression: Some(self.compression),
            ..ReadOptions::default()
        };
        let again = Self::build(&self.absolute, options, 1)?;
        if again.of != self.of || again.records != self.records {
            return Err(self.has_changed());
        }
        again.index.into_inner().ok_or_else(|| self.has_changed())
    }

    fn has_changed(&self) -> Error {
        Error::state("the file has changed since it was opened; open it again")
            .with_path(&self.path)
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Refuses what is no file, and that before it is opened: opening a pipe waits for whoever writes to it.
fn refuse_pipes(path: &Path) -> Result<()> {
    let metadata = path.metadata();
    let metadata = metadata.map_err(|error| Error::from(error).with_path(path))?;
    // A folder is refused by whoever reads it, who says that it is one.
    if metadata.is_file() || metadata.is_dir() {
        return Ok(());
    }
    let text =
        "only of a file can any record be read at once: save what comes out of the pipe first";
    Err(Error::spec(text).with_path(path))
}

fn fingerprint_of(path: &Path) -> Option<Fingerprint> {
    refuse_pipes(path).ok()?;
    Fingerprint::of(&File::open(path).ok()?).ok()
}

/// The file that holds an index.
struct Stored {
    path: PathBuf,
    /// The owner of the data, if the owner of the index must be checked.
    owner: Option<u32>,
}

impl Stored {
    fn open(&self) -> Option<File> {
        let file = File::open(&self.path).ok()?;
        let metadata = file.metadata().ok()?;
        let is_believed = self.owner.is_none_or(|owner| {
            let of_index = owner_of(&metadata);
            of_index == owner || of_index == 0 || of_index == this_user()
        });
        is_believed.then_some(file)
    }
}

#[cfg(unix)]
fn owner_of(metadata: &Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(metadata)
}

/// Returns 0: this platform has no owner IDs, so no check is made.
#[cfg(not(unix))]
fn owner_of(_: &Metadata) -> u32 {
    0
}

fn summary_of(stored: &Stored) -> Option<Summary> {
    let file = stored.open()?;
    let length = file
        .metadata()
        .ok()
        .filter(std::fs::Metadata::is_file)?
        .len();
    let mut header = [0; index::HEADER];
    fill(&file, &mut header, 0).ok()?;
    let summary = Summary::from_bytes(&header)?;
    (length.checked_sub(index::HEADER as u64) == summary.body()).then_some(summary)
}

/// The number of records of `path`, by their headers, where it is a file and not compressed; data is not checked.
///
/// # Errors
/// As of [`IndexedFile::build`], but not of what is no file.
pub fn count(path: &Path, options: ReadOptions, threads: usize) -> Result<u64> {
    let (mut reader, twin, size) = open(path, options)?;
    let mut records = 0;
    let most = options.limits.max_record_bytes.unwrap_or(u64::MAX);
    each_record(&mut reader, twin, size, threads, most, |_| records += 1)
        .map_err(|error| error.with_path(path))?;
    Ok(records)
}

/// Builds the indices of all `paths`, in order.
///
/// # Errors
/// If there is no thread to be had; those of [`IndexedFile::build`] come in its place.
pub fn build_all(
    paths: Vec<PathBuf>,
    options: ReadOptions,
    threads: usize,
) -> Result<Ordered<Result<IndexedFile>>> {
    // A thread for each file, as long as there are files enough.
    let files = threads.min(paths.len()).max(1);
    let mut paths = paths.into_iter();
    Ordered::start(
        files,
        2 * files,
        move || paths.next(),
        || move |path: PathBuf| IndexedFile::build(&path, options, threads / files),
    )
}

/// A reader that does not check data, and the file itself with its size, if it is one of which any part can be read.
fn open(path: &Path, options: ReadOptions) -> Result<(RecordReader, Option<File>, u64)> {
    let located = |error: std::io::Error| Error::from(error).with_path(path);
    let file = File::open(path).map_err(located)?;
    let metadata = file.metadata().map_err(located)?;
    let twin = file.try_clone().map_err(located)?;
    let reader = RecordReader::from_file(file, path, unverified(options))?;
    let twin = Some(twin).filter(|_| metadata.is_file());
    Ok((reader, twin, metadata.len()))
}

fn unverified(options: ReadOptions) -> ReadOptions {
    ReadOptions {
        verify: false,
        ..options
    }
}

/// Calls `each` with the offset of each record, and returns where the last one ends.
///
/// # Errors
/// The record reader's error at the first damage; any I/O error; a file that was modified during the scan.
fn each_record(
    reader: &mut RecordReader,
    twin: Option<File>,
    size: u64,
    threads: usize,
    most: u64,
    mut each: impl FnMut(u64),
) -> Result<u64> {
    if let Some(file) = twin
        && reader.compression() == Compression::None
    {
        let file = Arc::new(file);
        let passed = each_start(&file, size, threads, most, each)?;
        return match passed.next {
            Next::End => Ok(passed.end),
            other => judged(reader, &file, size, passed, other),
        };
    }
    let mut pulse = Pulse::start();
    loop {
        let start = reader.offset();
        if reader.next_record()?.is_none() {
            return Ok(start);
        }
        each(start);
        pulse.check()?;
    }
}

/// Lets the record reader report what is wrong after the scanned records. If it finds nothing, the file was modified
/// during the scan: either an incomplete last record was completed, which is left for the next scan, or it is an error.
fn judged(
    reader: &mut RecordReader,
    file: &File,
    size: u64,
    passed: Passed,
    next: Next,
) -> Result<u64> {
    reader.seek(passed.end, passed.records)?;
    let has_record = reader.next_record()?.is_some();
    if next == Next::Cut && has_record && file.metadata()?.len() > size {
        return Ok(passed.end);
    }
    let changed = Error::state("the file was changed while it was read; open it again");
    Err(changed.at_record(passed.records).at_offset(passed.end))
}
