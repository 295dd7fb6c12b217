//! Reading a damaged file: every record that is not damaged, and where the others were.
//!
//! The format has no marks to find records by, only a checksum of each length and one of each record's data.
//! Undamaged stretches are read as ever ([`RecordReader`]). At damage:
//!
//! 1. A sound header, or one that is wrong in one byte, says where its record ends. If another header stands
//!    there, or the file ends, that record alone is lost; or not even that one, if its data proves it.
//! 2. Else all places are looked at for sound records, which make *chains*: each begins where the one before
//!    it ends. If all from the damage up to a header is one record but for its header, its data proves it.
//! 3. Chains may also be the content of a record that is destroyed. Such a one ends before the rest of that
//!    record: at no header, or too near to the next record. One of the file continues to damage or to the end of
//!    the file; a record that some bytes were inserted in is recognised by its checksum without them. So the
//!    chains are judged from the last one on.
//! 4. All that is needless in a file whose records hold none (`salvage/nesting.rs`): there every sound record is
//!    one of the file, but for those inside a damaged one that its sound header claims. That is believed if the records before the damage show it, or if all chains do and
//!    little speaks for some of them being content (`signs_of_nesting` in `salvage/plan.rs`).
//! 5. What could be either is taken for content, unless it is longer than twice the largest record.
//!
//! Some things cannot be told by their nature. A few records between two places where bytes were lost look the
//! same either way. A damaged record may seem to end exactly where one begins inside another record, after
//! something was moved; with records of 40 bytes inside, once in 40 times. Where hardly a record is left, nothing
//! tells what the file was like. The first is skipped; the others are rare (docs/damage.md has the rates).
//!
//! A damaged compressed file is first inflated into a temporary file, as far as that is possible
//! (`record/salvage/inflate_damaged.rs`). The checksum of any piece of a file comes from those up to its ends
//! (`record/format/crc/prefix.rs`), so that a hundred thousand forged headers cost little.

mod chains;
mod classify;
mod file_view;
mod flat;
#[cfg(test)]
mod forged;
mod inflate_damaged;
mod nesting;
mod options;
mod plan;
mod probe;
mod step;

pub use crate::record::salvage::options::{
    Lost, Piece, SalvageMode, SalvageOptions, SkippedRegion,
};

use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use self::plan::{Known, plan};
use self::step::Step;
use crate::error::{Category, Error, ErrorKind, Result};
use crate::record::codec::compression::Compression;
use crate::record::format::frame::{FOOTER, HEADER};
use crate::record::format::limits::{FileLimits, Limits, MAX_RECORD_BYTES};
use crate::record::read::reader::{ReadOptions, RecordReader};
use crate::record::read::records::{Origin, Records, Span};
use crate::record::salvage::file_view::View;
use crate::record::salvage::probe::{AROUND, Frame, frame};
use crate::runtime::interrupt::Pulse;

/// Reads what can be read of one file, in order.
///
/// ```
/// use tfrecs_core::record::salvage::{Piece, Salvage, SalvageOptions};
/// use tfrecs_core::record::format::frame;
///
/// let mut file = Vec::new();
/// for record in [b"one", b"two", b"six"] {
///     file.extend(frame::header(3));
///     file.extend(record);
///     file.extend(frame::footer(record));
/// }
/// file[19 + 12] = b'?';
/// let path = std::env::temp_dir().join(format!("salvage-{}.tfrecord", std::process::id()));
/// std::fs::write(&path, &file).unwrap();
///
/// let mut salvage = Salvage::open(&path, SalvageOptions::default()).unwrap();
/// let mut found = Vec::new();
/// while let Some(piece) = salvage.next_piece(100).unwrap() {
///     match piece {
///         Piece::Records(records) => found.extend(records.iter().map(<[u8]>::to_vec)),
///         Piece::Skipped(region) => assert_eq!(region.begin..region.end, 19..38),
///     }
/// }
/// assert_eq!(found, [b"one", b"six"]);
/// # std::fs::remove_file(&path).unwrap();
/// ```
pub struct Salvage {
    options: SalvageOptions,
    path: Arc<Path>,
    /// The bytes that the frames stand in, and their number: the file, or what came out of it.
    file: File,
    reader: RecordReader,
    /// Whether the reader reads `file`, and not the compressed file that this came out of.
    reads_file: bool,
    state: SalvageState,
    view: Option<View>,
    steps: VecDeque<Step>,
    ready: VecDeque<Piece>,
    joins: VecDeque<(u64, ErrorKind)>,
    known: Known,
    compression: Compression,
    lost: Lost,
}

enum SalvageState {
    /// Sound records come from the reader, up to here or as far as they go.
    Reading(Option<u64>),
    /// At damage.
    Damaged(u64, Error),
    /// Following the steps, from here on.
    Stepping(u64),
    Ended,
    Failed(Error),
}

impl Salvage {
    /// Opens `path`, a file that can be read anywhere.
    ///
    /// # Errors
    /// Any I/O error; [`ErrorKind::Spec`] for a pipe and the like.
    pub fn open(path: &Path, options: SalvageOptions) -> Result<Self> {
        let located = |error: Error| error.with_path(path);
        let file = regular_file(path).map_err(located)?;
        let read = ReadOptions {
            compression: options.compression,
            verify: true,
            limits: options.limits,
        };
        let twin = file.try_clone().map_err(|error| located(error.into()))?;
        let (reader, state) = match RecordReader::from_file(twin, path, read) {
            Ok(reader) => (reader, SalvageState::Reading(None)),
            Err(error) if is_damage(&error) && options.mode == SalvageMode::SkipCorrupt => {
                let reader = RecordReader::after_damage(&file, path, options.limits)?;
                (reader, SalvageState::Damaged(0, error))
            }
            Err(error) => return Err(error),
        };
        let compression = match &state {
            SalvageState::Damaged(..) => options.compression.unwrap_or_default(),
            _ => reader.compression(),
        };
        Ok(Self {
            options,
            path: Arc::from(path),
            file,
            reader,
            reads_file: false,
            state,
            view: None,
            steps: VecDeque::new(),
            ready: VecDeque::new(),
            joins: VecDeque::new(),
            known: Known::default(),
            compression,
            lost: Lost::default(),
        })
    }

    /// How the file turned out to be compressed.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// What has been lost so far.
    #[must_use]
    pub fn lost(&self) -> Lost {
        self.lost
    }

    /// How many records have come so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.reader.record()
    }

    /// The next records, at most `n`, or the next region without any; `None` at the end.
    ///
    /// # Errors
    /// What is not forgiven; more lost than allowed; any I/O error. An error is final, except an
    /// interruption.
    pub fn next_piece(&mut self, n: usize) -> Result<Option<Piece>> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Ok(Some(piece));
            }
            let next = match &self.state {
                SalvageState::Ended => return Ok(self.unsound_join(u64::MAX)),
                SalvageState::Failed(error) => return Err(error.clone()),
                SalvageState::Reading(_) => self.read(n).map(|()| None),
                SalvageState::Damaged(at, error) => {
                    let (at, error) = (*at, error.clone());
                    self.look(at, error).map(|()| None)
                }
                SalvageState::Stepping(at) => self.step(*at),
            };
            match next {
                Ok(Some(piece)) => return Ok(Some(piece)),
                Ok(None) => {}
                Err(error) => {
                    if !error.is_interrupt() {
                        self.state = SalvageState::Failed(error.clone());
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Takes back what [`Self::next_piece`] has given last, to give it again.
    pub fn take_back(&mut self, piece: Piece) {
        self.ready.push_front(piece);
    }

    fn read(&mut self, n: usize) -> Result<()> {
        let begin = self.reader.offset();
        let mut batch = self.reader.begin_batch(n);
        let mut pulse = Pulse::start();
        loop {
            let more = self.reader.extend_batch(&mut batch);
            let more = more.and_then(|more| pulse.check().map(|()| more).map_err(Error::from));
            match more {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if error.is_interrupt() => {
                    self.reader.cancel_batch(&batch);
                    return Err(error);
                }
                Err(error) => {
                    let _ = self.reader.finish_batch(batch);
                    return self.damage(error);
                }
            }
        }
        let records = self.reader.finish_batch(batch);
        if records.is_empty() {
            self.state = SalvageState::Ended;
            return Ok(());
        }
        self.known.saw(&records, begin, self.reader.offset());
        self.hand_out(&records, begin);
        Ok(())
    }

    /// Hands out records, the first of which begins at `begin`, and between them what is wrong with a
    /// compressed stream there.
    fn hand_out(&mut self, records: &Records, begin: u64) {
        let (mut from, mut at) = (0, begin);
        for (number, record) in records.iter().enumerate() {
            while let Some(join) = self.unsound_join(at) {
                if number > from {
                    let some = records.slice(from..number);
                    self.ready.push_back(Piece::Records(some));
                    from = number;
                }
                self.ready.push_back(join);
            }
            at += record.len() as u64 + AROUND;
        }
        let rest = records.slice(from..records.len());
        self.ready.push_back(Piece::Records(rest));
    }

    /// The reader has come to something that it cannot read.
    fn damage(&mut self, error: Error) -> Result<()> {
        let at = self.reader.offset();
        if let SalvageState::Reading(Some(end)) = self.state {
            return self.stop_at(at, end, error);
        }
        if !is_damage(&error) {
            return Err(error);
        }
        match self.options.mode {
            SalvageMode::Strict => return Err(error),
            SalvageMode::TolerateTail if !is_tail(&error) => return Err(error),
            _ => {}
        }
        self.state = SalvageState::Damaged(at, error);
        Ok(())
    }

    /// The end of a chain that leads up to `end`, or a record in it that only its data proves.
    fn stop_at(&mut self, at: u64, end: u64, error: Error) -> Result<()> {
        if at < end {
            let stands = self.view.as_mut().map(|view| frame(view, at));
            let Some(Frame::Mended(next)) = stands.transpose()? else {
                return Err(error); // it has changed since
            };
            self.steps.push_front(Step::Run(next, Some(end)));
            self.steps.push_front(Step::Mended(at, next));
        }
        self.state = SalvageState::Stepping(at);
        Ok(())
    }

    /// Looks for a way on from damage.
    fn look(&mut self, at: u64, error: Error) -> Result<()> {
        if self.compression != Compression::None && self.view.is_none() {
            self.unpack(at)?;
        }
        let mut view = match self.view.take() {
            Some(view) => view,
            None => View::new(self.file.try_clone()?, self.file.metadata()?.len(), at),
        };
        let steps = if self.options.mode == SalvageMode::TolerateTail {
            let kind = error.kind().clone();
            Ok(vec![Step::Skip(at, view.size(), kind)])
        } else {
            plan(&mut view, at, &mut self.known)
        };
        let size = view.size();
        self.view = Some(view);
        self.steps = steps?.into();
        // A file of something else is not one that has lost all its records.
        if error.category() == Category::NotTfRecord
            && matches!(self.steps.front(), Some(Step::Skip(0, end, _)) if *end == size)
        {
            return Err(error);
        }
        self.state = SalvageState::Stepping(at);
        Ok(())
    }

    /// Puts what comes out of the file in its place.
    fn unpack(&mut self, sound: u64) -> Result<()> {
        let size = self.file.metadata()?.len();
        let mut packed = View::new(self.file.try_clone()?, size, 0);
        let most = self.options.limits.max_decompressed_bytes;
        let unpacked = inflate_damaged::unpack(&mut packed, self.compression, sound, most);
        let unpacked = unpacked.map_err(|error| self.located(error, sound))?;
        self.view = Some(View::new(
            unpacked.content.try_clone()?,
            unpacked.size,
            sound,
        ));
        // What comes before the damage is not there.
        self.known.sound = (sound, sound);
        self.file = unpacked.content;
        self.joins = unpacked.joins.into();
        Ok(())
    }

    fn step(&mut self, at: u64) -> Result<Option<Piece>> {
        let Some(step) = self.steps.front().cloned() else {
            let end = self.view.as_ref().is_none_or(|view| at >= view.size());
            self.state = if end {
                SalvageState::Ended
            } else {
                SalvageState::Damaged(at, ErrorKind::LengthChecksum.into())
            };
            return Ok(None);
        };
        let piece = match step {
            Step::Skip(begin, end, kind) => {
                let region = self.region(begin, end, kind);
                self.state = SalvageState::Stepping(end);
                Some(Piece::Skipped(region))
            }
            Step::Mended(begin, end) => {
                let records = self.one(begin, end)?;
                self.lost.mended += 1;
                self.seek(end, self.reader.record() + 1)?;
                self.state = SalvageState::Stepping(end);
                self.hand_out(&records, begin);
                None
            }
            Step::Run(begin, end) => {
                self.seek(begin, self.reader.record())?;
                self.state = SalvageState::Reading(end);
                None
            }
        };
        self.steps.pop_front();
        if let Some(Piece::Skipped(region)) = &piece {
            self.check_limits(region)?;
        }
        Ok(piece)
    }

    fn seek(&mut self, offset: u64, record: u64) -> Result<()> {
        if !self.reads_file {
            self.reader = RecordReader::after_damage(&self.file, &self.path, self.limits())?;
            self.reads_file = true;
        }
        self.reader.skip_to(offset, record)
    }

    /// What is too much of what stands in `file`: it does not bound its records if it was compressed.
    fn limits(&self) -> Limits {
        let default = (self.compression != Compression::None).then_some(MAX_RECORD_BYTES);
        Limits {
            max_record_bytes: self.options.limits.max_record_bytes.or(default),
            max_decompressed_bytes: None,
        }
    }

    fn region(&mut self, begin: u64, end: u64, kind: ErrorKind) -> SkippedRegion {
        let mut kind = kind;
        // If something is missing in a compressed stream, that is why.
        while let Some((_, fault)) = self.next_join(end) {
            kind = fault;
        }
        self.lost.bytes += end - begin;
        self.lost.regions += 1;
        SkippedRegion {
            begin,
            end,
            reason: self.located(kind.into(), begin),
        }
    }

    /// Where something is missing in a compressed stream, at `before` at the latest.
    fn next_join(&mut self, before: u64) -> Option<(u64, ErrorKind)> {
        self.joins.front().filter(|(at, _)| *at <= before)?;
        self.joins.pop_front()
    }

    /// A fault of a compressed stream that cost no record, found at `before`.
    fn unsound_join(&mut self, before: u64) -> Option<Piece> {
        let (at, kind) = self.next_join(before)?;
        let at = if before == u64::MAX { at } else { before };
        self.lost.regions += 1;
        Some(Piece::Skipped(SkippedRegion {
            begin: at,
            end: at,
            reason: self.located(kind.into(), at),
        }))
    }

    fn located(&self, error: Error, offset: u64) -> Error {
        error
            .with_path(&self.path)
            .at_record(self.reader.record())
            .at_offset(offset)
    }

    /// The record whose frame lies there.
    fn one(&mut self, begin: u64, end: u64) -> Result<Records> {
        let length = end.saturating_sub(begin).saturating_sub(AROUND);
        let most = FileLimits::new(self.limits(), true, false);
        most.check_record(length, usize::MAX)
            .map_err(|kind| self.located(kind.into(), begin))?;
        let bytes = match &mut self.view {
            Some(view) => view.read(begin, end)?,
            None => Vec::new(),
        };
        let span = Span {
            start: HEADER,
            len: bytes.len().saturating_sub(HEADER + FOOTER),
            number: self.reader.record(),
            file: 0,
        };
        let origin = Origin {
            path: Some(Arc::clone(&self.path)),
            buffer_offset: Some(begin),
        };
        Ok(Records::new(Arc::new(bytes), vec![span], [origin]))
    }

    fn check_limits(&self, last: &SkippedRegion) -> Result<()> {
        if !self.lost.exceeds(&self.options) {
            return Ok(());
        }
        let Lost { bytes, regions, .. } = self.lost;
        let reason = last.reason.kind().clone();
        let kind = ErrorKind::LostTooMuch(bytes, regions, Box::new(reason));
        Err(self.located(kind.into(), last.begin))
    }
}

/// Opens a file, or a folder, which a reader refuses. Opening a pipe would wait for its writer.
fn regular_file(path: &Path) -> Result<File> {
    let metadata = path.metadata()?;
    if !metadata.is_file() && !metadata.is_dir() {
        return Err(Error::spec(
            "only a regular file can be salvaged, because damage has to be looked at from both sides: \
             save what comes out of the pipe first",
        ));
    }
    Ok(File::open(path)?)
}

/// Whether it is the bytes of the file that are wrong.
fn is_damage(error: &Error) -> bool {
    matches!(
        error.category(),
        Category::Corrupt | Category::Truncated | Category::NotTfRecord
    )
}

/// Whether the file was cut.
fn is_tail(error: &Error) -> bool {
    use ErrorKind::{TruncatedHeader, TruncatedRecord, TruncatedStream};
    matches!(
        error.kind(),
        TruncatedHeader(_) | TruncatedRecord { .. } | TruncatedStream(_)
    )
}
