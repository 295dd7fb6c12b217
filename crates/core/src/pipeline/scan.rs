//! Files → batches of records, or of columns, in order, on several threads: where records and columns meet.
//!
//! One thread at a time finds where the next batch lies: it reads small records, and of large ones
//! only the headers. The rest (reading large records, checksums, decoding) each thread does for a
//! batch of its own.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::error::{Error, Result};
use crate::example::Decode;
use crate::example::decode::values::Outlook;
use crate::example::record_error::RecordError;
use crate::example::record_error::for_each_group;
use crate::record::salvage::SkippedRegion;
use crate::record::storage::identity::Samples;
use crate::record::{Extent, Lent, Picked, ReadOptions, Records};
use crate::runtime::memory;
use crate::runtime::ordered_workers::{Ordered, Room};
use crate::runtime::simd::fetch;
use shard::Shard;
pub use sound::Sound;
use sound::joined;
pub(crate) use sound::up_to_error;

mod shard;
mod sound;

/// What to read, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// The files, one behind the other.
    pub paths: Vec<PathBuf>,
    /// How to read them.
    pub read: ReadOptions,
    /// How many records a batch has; batches go on across the ends of files.
    pub batch: usize,
    /// How many bytes of records are enough for a batch, even if they are fewer.
    pub most_bytes: usize,
    /// Whether to leave out a last batch of fewer records.
    pub drop_remainder: bool,
    /// How many threads work.
    pub threads: usize,
    /// So many bytes of records may be ahead, in batches; the one that is wanted next always is.
    pub most_ahead: usize,
    /// Where to put what is skipped of damaged files; if nowhere, damage is an error.
    pub skipped: Option<Skipped>,
    /// Collects the samples of each file when it is opened.
    pub samples: Option<Arc<Samples>>,
    /// Whether the records before an error come before it, as a batch of fewer; for [`scan_records`].
    pub partial: bool,
}

/// Regions of damaged files that were skipped, in order.
pub type Skipped = Arc<Mutex<Vec<(PathBuf, SkippedRegion)>>>;

impl Request {
    /// Whether workers check the data. Where damage is skipped, it was checked before.
    fn verifies(&self) -> bool {
        self.read.verify && self.skipped.is_none()
    }
}

/// Batches in order. After an error there is nothing more.
pub type Scan<T> = Ordered<Result<T>>;

/// Reads batches of records.
///
/// # Errors
/// The system cannot start a thread. Errors of files come with their batches.
pub fn scan_records(request: &Request) -> Result<Scan<Sound>> {
    let (verify, partial) = (request.verifies(), request.partial);
    start(request, || {
        let mut lent = Lent::default();
        move |parts: Vec<Part>| {
            let len = parts.iter().map(Part::len).sum();
            up_to_error(len, partial, |range| {
                records_of(&parts, range, &mut lent, verify)
            })
        }
    })
}

/// Decodes batches into columns, each thread with a decoder that `make` makes. With the columns come the
/// places of their records, as records without content.
///
/// # Errors
/// As for [`scan_records`].
pub fn scan_columns<D>(
    request: &Request,
    mut make: impl FnMut() -> D,
) -> Result<Scan<(D::Batch, Records)>>
where
    D: Decode<Batch: Send + 'static> + Send + 'static,
{
    let verify = request.verifies();
    start(request, || {
        let mut worker = Worker::new(make(), verify);
        move |parts: Vec<Part>| worker.decode(&parts)
    })
}

/// Room for as many batches that wait as are in the making, and so many bytes.
pub(crate) fn room<T: Weighed>(threads: usize, bytes: usize) -> Room<Result<T>> {
    Room {
        results: 2 * threads,
        bytes,
        weigh: |batch| batch.as_ref().map_or(0, Weighed::record_bytes),
    }
}

/// A batch that knows of how many bytes of records it was made.
pub(crate) trait Weighed {
    fn record_bytes(&self) -> usize;
}

impl Weighed for Sound {
    fn record_bytes(&self) -> usize {
        self.records.payload_bytes()
    }
}

impl<B> Weighed for (B, Records) {
    fn record_bytes(&self) -> usize {
        self.1.payload_bytes()
    }
}

/// As [`scan_columns`], but with the columns come the records themselves: for whoever decodes a little of them to
/// choose some, and then the rest of these.
///
/// # Errors
/// As for [`scan_records`].
pub fn scan_both<D>(
    request: &Request,
    mut make: impl FnMut() -> D,
) -> Result<Scan<(D::Batch, Records)>>
where
    D: Decode<Batch: Send + 'static> + Send + 'static,
{
    let verify = request.verifies();
    start(request, || {
        let (mut worker, mut lent) = (Worker::new(make(), false), Lent::default());
        move |parts: Vec<Part>| {
            let len = parts.iter().map(Part::len).sum();
            worker.decode_kept(records_of(&parts, 0..len, &mut lent, verify)?)
        }
    })
}

fn start<T, W>(request: &Request, mut make: impl FnMut() -> W) -> Result<Scan<T>>
where
    T: Weighed + Send + 'static,
    W: FnMut(Vec<Part>) -> Result<T> + Send + 'static,
{
    let mut feed = Feed::new(request);
    Ordered::within(
        request.threads,
        room(request.threads, request.most_ahead),
        move || feed.next_batch().transpose(),
        || {
            let mut work = make();
            move |parts: Result<Vec<Part>>| work(parts?)
        },
    )
}

/// Records of a batch that lie in one file, and whose data nobody has checked yet.
pub(crate) enum Part {
    /// They have been read.
    Read(Records),
    /// They have been found.
    Found(Extent),
    /// They have been read and checked, with others that are not of this batch.
    Picked(Picked),
}

impl Part {
    pub fn len(&self) -> usize {
        match self {
            Self::Read(records) => records.len(),
            Self::Found(extent) => extent.len(),
            Self::Picked(picked) => picked.len(),
        }
    }

    /// How many bytes the first record has, and all together.
    fn bytes(&self) -> (usize, usize) {
        match self {
            Self::Read(records) => {
                let first = records.get(0).map_or(0, <[u8]>::len);
                (first, records.payload_bytes())
            }
            Self::Found(extent) => (extent.first(), extent.payload_bytes()),
            Self::Picked(picked) => {
                let first = picked.iter().next().map_or(0, <[u8]>::len);
                (first, picked.payload_bytes())
            }
        }
    }

    /// The records of `range`; what is out of range is left out.
    pub fn records(&self, range: Range<usize>, lent: &mut Lent, verify: bool) -> Result<Records> {
        let records = match self {
            Self::Read(records) => records.slice(range),
            Self::Found(extent) => {
                // Without memory for it, reading says so, and of which record.
                let buffer = lent.take(extent.bytes()).unwrap_or_default();
                let records = extent.read(range.start..range.end.min(extent.len()), buffer)?;
                records.lend(lent);
                records
            }
            Self::Picked(picked) => return Ok(picked.copied(lent)?.slice(range)),
        };
        if verify {
            records.verify(0..records.len())?;
        }
        Ok(records)
    }

    fn places(&self) -> Records {
        match self {
            Self::Read(records) => records.places(),
            Self::Found(extent) => extent.places(),
            Self::Picked(picked) => picked.places(),
        }
    }
}

/// The records of `range` of those that the parts have together.
fn records_of(
    parts: &[Part],
    range: Range<usize>,
    lent: &mut Lent,
    verify: bool,
) -> Result<Records> {
    let (mut read, mut begin) = (Vec::with_capacity(parts.len()), 0);
    for part in parts {
        let start = range.start.saturating_sub(begin);
        let end = range.end.saturating_sub(begin).min(part.len());
        if start < end {
            read.push(part.records(start..end, lent, verify)?);
        }
        begin += part.len();
    }
    joined(read)
}

/// What finds the parts of batches.
struct Feed {
    paths: std::iter::Enumerate<std::vec::IntoIter<PathBuf>>,
    samples: Option<Arc<Samples>>,
    read: ReadOptions,
    batch: usize,
    most_bytes: usize,
    drop_remainder: bool,
    skipped: Option<Skipped>,
    partial: bool,
    shard: Option<Shard>,
    /// An error to raise after the parts before it, whose own errors may be more precise.
    later: Option<Error>,
    has_failed: bool,
}

impl Feed {
    fn new(request: &Request) -> Self {
        Self {
            paths: request.paths.clone().into_iter().enumerate(),
            samples: request.samples.clone(),
            read: ReadOptions {
                verify: false,
                ..request.read
            },
            batch: request.batch.max(1),
            most_bytes: request.most_bytes.max(1),
            drop_remainder: request.drop_remainder,
            skipped: request.skipped.clone(),
            partial: request.partial,
            shard: None,
            later: None,
            has_failed: false,
        }
    }

    fn next_batch(&mut self) -> Result<Option<Vec<Part>>> {
        if self.has_failed {
            return Ok(None);
        }
        let parts = self.next_parts();
        self.has_failed = parts.is_err();
        parts
    }

    fn next_parts(&mut self) -> Result<Option<Vec<Part>>> {
        let (mut parts, mut missing, mut bytes) = (Vec::new(), self.batch, self.most_bytes);
        while missing > 0 && bytes > 0 && self.later.is_none() {
            match self.next_part(missing, bytes) {
                Ok(Some(part)) => {
                    missing -= part.len();
                    bytes = bytes.saturating_sub(part.bytes().1);
                    parts.push(part);
                }
                Ok(None) => break,
                Err(error) if self.partial || error.is_shrunk() => self.later = Some(error),
                Err(error) => return Err(error),
            }
        }
        let is_wanted = missing == 0 || !self.drop_remainder;
        match self.later.take_if(|_| parts.is_empty() || !is_wanted) {
            Some(error) => Err(error),
            None => Ok(Some(parts).filter(|parts| is_wanted && !parts.is_empty())),
        }
    }

    fn next_part(&mut self, n: usize, bytes: usize) -> Result<Option<Part>> {
        loop {
            if let Some(shard) = &mut self.shard
                && let Some(part) = shard.next_part(n, bytes)?
            {
                return Ok(Some(part));
            }
            let Some((number, path)) = self.paths.next() else {
                return Ok(None);
            };
            if let Some(samples) = &self.samples {
                samples.note(number);
            }
            self.shard = Some(Shard::open(&path, self.read, self.skipped.as_ref())?);
        }
    }
}

/// What decodes a batch at a time.
pub(crate) struct Worker<D> {
    decoder: D,
    /// Records that were found are read to here.
    scratch: Vec<u8>,
    verify: bool,
}

/// So much is read at once, so that it is still in the processor's cache when it is decoded.
const PIECE: usize = 256 << 10;

/// Records of more bytes, on average, are as well read where they lie.
const LARGEST_COPIED: usize = 4 << 10;

/// So many records before it is copied, one is fetched from memory.
const SOON: usize = 4;

impl<D: Decode> Worker<D> {
    /// With a decoder of its own; whether it checks the data of records.
    pub fn new(decoder: D, verify: bool) -> Self {
        Self {
            decoder,
            scratch: Vec::new(),
            verify,
        }
    }

    /// The columns of a batch, and the places of its records.
    pub fn decode(&mut self, parts: &[Part]) -> Result<(D::Batch, Records)> {
        let outlook = outlook_of(parts);
        check_room(&outlook)?;
        self.decoder.begin(outlook);
        let mut row = 0;
        for part in parts {
            match part {
                Part::Read(records) => self.push(records, &mut row)?,
                Part::Found(extent) => self.read_and_push(extent, &mut row)?,
                Part::Picked(picked) => self.push_picked(picked, &mut row)?,
            }
        }
        let columns = self.decoder.finish();
        let columns = columns.map_err(|error| Error::spec(error.to_string()))?;
        Ok((columns, joined(parts.iter().map(Part::places).collect())?))
    }

    /// The columns of a batch, and its records, which have been checked.
    pub fn decode_kept(&mut self, records: Records) -> Result<(D::Batch, Records)> {
        let (columns, _) = self.decode(&[Part::Read(records.clone())])?;
        Ok((columns, records))
    }

    fn read_and_push(&mut self, extent: &Extent, row: &mut usize) -> Result<()> {
        let mut some: Range<usize> = 0..0;
        while some.end < extent.len() {
            some = extent.some(some.end, PIECE);
            let records = extent.read(some.clone(), std::mem::take(&mut self.scratch))?;
            self.push(&records, row)?;
            self.scratch = records.into_buffer().unwrap_or_default();
        }
        Ok(())
    }

    fn push_picked(&mut self, picked: &Picked, row: &mut usize) -> Result<()> {
        let pushed = for_each_group(picked.iter(), |group, first| {
            let side_by_side = side_by_side(group, &mut self.scratch);
            self.decoder.push(&side_by_side, *row + first)
        });
        pushed.map_err(|error| match error.index {
            Some(index) => picked.locate(index, error.error),
            None => error.error,
        })?;
        *row += picked.len();
        Ok(())
    }

    fn push(&mut self, records: &Records, row: &mut usize) -> Result<()> {
        let pushed = for_each_group(records.iter(), |group, first| {
            if self.verify {
                let verified = records.verify(first..first + group.len());
                verified.map_err(RecordError::located)?;
            }
            self.decoder.push(group, *row + first)
        });
        *row += records.len();
        pushed.map_err(|error| match error.index {
            Some(index) => records.locate(index, error.error),
            None => error.error,
        })
    }
}

/// Records that lie anywhere, copied to where they lie one behind the other, if they are small: what is read more
/// than once is found faster there.
fn side_by_side<'a>(group: &[&'a [u8]], room: &'a mut Vec<u8>) -> Vec<&'a [u8]> {
    let bytes: usize = group.iter().map(|record| record.len()).sum();
    if bytes / group.len().max(1) > LARGEST_COPIED {
        return group.to_vec();
    }
    room.clear();
    room.reserve(bytes);
    for (number, record) in group.iter().enumerate() {
        if let Some(later) = group.get(number + SOON) {
            fetch(later);
        }
        room.extend_from_slice(record);
    }
    let mut rest = room.as_slice();
    let next = |record: &&[u8]| {
        let (copy, behind) = rest.split_at_checked(record.len()).unwrap_or_default();
        rest = behind;
        copy
    };
    group.iter().map(next).collect()
}

/// Fails if there is no memory for columns of so many records, which grow without asking: as many bytes as the records
/// have, doubled as they grow, and some for each row.
fn check_room(outlook: &Outlook) -> Result<()> {
    let for_rows = outlook.rows.saturating_mul(EACH_ROW);
    memory::check_room(outlook.bytes.saturating_mul(2).saturating_add(for_rows))
}

/// Splits, masks and numbers of a row, as far as they have more bytes than in the record.
const EACH_ROW: usize = 64;

fn outlook_of(parts: &[Part]) -> Outlook {
    Outlook {
        rows: parts.iter().map(Part::len).sum(),
        bytes: parts.iter().map(|part| part.bytes().1).sum(),
        first: parts.first().map_or(0, |part| part.bytes().0),
    }
}
