//! The records of several files in turn.

use std::path::PathBuf;

use super::{ForeignOptions, ForeignReader};
use crate::error::{Error, Result};
use crate::record::read::buffer::BufferPool;
use crate::record::read::records::{Picked, Records};
use crate::runtime::interrupt::Pulse;

/// Of a file that is read in turn with others, that many records are read at once, if they have no more bytes than this.
const AHEAD: (usize, usize) = (1024, 256 << 10);

/// How many records are passed over at once.
const PASSED: usize = 1 << 16;

/// `block` records of each of `cycle` files in turn; with one file at a time, one file after the other.
///
/// The order is that of `TensorFlow`'s interleave: the place of a file that has ended is empty until its next turn, and
/// then that of the next file.
pub struct Turns {
    paths: Vec<PathBuf>,
    options: ForeignOptions,
    block: u64,
    open: Vec<Option<TurnSlot>>,
    /// Whose turn it is.
    place: usize,
    /// How many records it has given in this turn.
    given: u64,
    /// The next file to be opened.
    next: usize,
    /// What an interrupted call has read, and where reading was before it.
    pending: Pending,
    before: ReadPosition,
    buffers: BufferPool,
}

/// What has been read and not handed out.
#[derive(Default)]
struct Pending {
    parts: Vec<Records>,
    chosen: Option<Chosen>,
}

/// A file that is being read.
struct TurnSlot {
    file: usize,
    reader: ForeignReader,
    /// Records that have been read, the offset of their buffer, and how many of them have been given.
    ahead: Records,
    base: u64,
    at: usize,
}

/// Where reading is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadPosition {
    /// Of each open file: its place in the cycle, which file it is, the next record's number and offset.
    pub open: Vec<(usize, usize, u64, u64)>,
    /// Whose turn it is.
    pub place: usize,
    /// How many records it has given in this turn.
    pub given: u64,
    /// The next file to be opened.
    pub next: usize,
}

impl Turns {
    /// Reads from the beginning.
    #[must_use]
    pub fn new(paths: Vec<PathBuf>, options: ForeignOptions, cycle: usize, block: u64) -> Self {
        // More files at a time than there are means all of them.
        let cycle = cycle.clamp(1, paths.len().max(1));
        Self {
            paths,
            options,
            block: block.max(1),
            open: (0..cycle).map(|_| None).collect(),
            place: 0,
            given: 0,
            next: 0,
            pending: Pending::default(),
            before: ReadPosition::default(),
            buffers: BufferPool::default(),
        }
    }

    /// Continues from a place.
    ///
    /// # Errors
    /// There is no such place; of the files that were being read there.
    pub fn go_to(&mut self, place: &ReadPosition) -> Result<()> {
        let odd = || Error::state("the state is not one of this dataset: there is no such place");
        for &(slot, file, record, offset) in &place.open {
            let path = self.paths.get(file).ok_or_else(odd)?;
            let mut reader = ForeignReader::open(path, self.options)?;
            reader.seek(record, offset)?;
            let slot = self.open.get_mut(slot).ok_or_else(odd)?;
            *slot = Some(TurnSlot::new(file, reader));
        }
        if place.place >= self.open.len()
            || place.given > self.block
            || place.next > self.paths.len()
        {
            return Err(odd());
        }
        (self.place, self.given, self.next) = (place.place, place.given, place.next);
        Ok(())
    }

    /// Where reading is, after the record that came last.
    #[must_use]
    pub fn place(&self) -> ReadPosition {
        if self.is_pending() {
            return self.before.clone();
        }
        let slots = self.open.iter().enumerate();
        let open = slots.filter_map(|(place, slot)| {
            let slot = slot.as_ref()?;
            let (record, offset) = slot.tell();
            Some((place, slot.file, record, offset))
        });
        ReadPosition {
            open: open.collect(),
            place: self.place,
            given: self.given,
            next: self.next,
        }
    }

    /// The next records, at most `n`, and no more once they have `bytes` bytes; none at the end.
    ///
    /// # Errors
    /// What is wrong with a file, once what comes before has been handed out.
    pub fn next(&mut self, n: usize, bytes: usize) -> Result<Records> {
        if !self.is_pending() {
            self.before = self.place();
        }
        if self.open.len() > 1 {
            return self.in_turn(n, bytes);
        }
        let mut parts = std::mem::take(&mut self.pending.parts);
        let mut count: usize = parts.iter().map(Records::len).sum();
        let mut room = bytes.saturating_sub(parts.iter().map(Records::payload_bytes).sum());
        while count < n && room > 0 {
            match self.part(n - count, room) {
                Ok(Some(part)) => {
                    count += part.len();
                    room = room.saturating_sub(part.payload_bytes().max(1));
                    parts.push(part);
                }
                Err(error) if parts.is_empty() => return Err(error),
                Err(error) if error.is_interrupt() => {
                    self.pending.parts = parts;
                    return Err(error);
                }
                Ok(None) | Err(_) => break,
            }
        }
        match <[Records; 1]>::try_from(parts) {
            Ok([records]) => Ok(records),
            Err(parts) => Records::concat(&parts),
        }
    }

    fn is_pending(&self) -> bool {
        self.pending.chosen.is_some() || !self.pending.parts.is_empty()
    }

    /// Some records of the file that is being read, or of the next one.
    fn part(&mut self, n: usize, bytes: usize) -> Result<Option<Records>> {
        while let Some(slot) = self.slot()? {
            let (records, _) = slot.reader.read_some(n, bytes)?;
            if !records.is_empty() {
                return Ok(Some(records));
            }
            self.close();
        }
        Ok(None)
    }

    /// Passes over `n` records, and says how many there were.
    ///
    /// # Errors
    /// As of [`Self::next`].
    pub fn skip(&mut self, n: u64) -> Result<u64> {
        let mut done = 0;
        while done < n {
            let some = usize::try_from(n - done).unwrap_or(usize::MAX).min(PASSED);
            let count = self.next(some, usize::MAX)?.len() as u64;
            if count == 0 {
                break;
            }
            done += count;
        }
        Ok(done)
    }

    /// The file whose turn it is; the next one, if its place is empty; none if there is none for it.
    fn slot(&mut self) -> Result<Option<&mut TurnSlot>> {
        let Some(slot) = self.open.get_mut(self.place) else {
            return Ok(None);
        };
        if slot.is_none()
            && let Some(path) = self.paths.get(self.next)
        {
            *slot = Some(TurnSlot::new(
                self.next,
                ForeignReader::open(path, self.options)?,
            ));
            self.next += 1;
        }
        Ok(slot.as_mut())
    }

    /// Lets go of the file whose turn it is.
    fn close(&mut self) {
        if let Some(slot) = self.open.get_mut(self.place) {
            *slot = None;
        }
    }

    fn end_turn(&mut self) {
        (self.place, self.given) = ((self.place + 1) % self.open.len().max(1), 0);
    }

    fn in_turn(&mut self, n: usize, bytes: usize) -> Result<Records> {
        let chosen = self.pending.chosen.take();
        let mut chosen = chosen.unwrap_or_else(|| Chosen::new(self.open.len()));
        let mut pulse = Pulse::start();
        while chosen.picks.len() < n && chosen.bytes < bytes {
            match self.turn(&mut chosen, &mut pulse) {
                Ok(true) => {}
                // What came before is handed out first; a fault is met again.
                Err(error) if chosen.picks.is_empty() => return Err(error),
                Err(error) if error.is_interrupt() => {
                    self.pending.chosen = Some(chosen);
                    return Err(error);
                }
                Ok(false) | Err(_) => break,
            }
        }
        Picked::new(chosen.parts, chosen.picks).copied(&mut self.buffers)
    }

    /// Chooses the next record; false if there is none.
    fn turn(&mut self, chosen: &mut Chosen, pulse: &mut Pulse) -> Result<bool> {
        loop {
            pulse.check()?;
            if self.slot()?.is_none() && self.open.iter().all(Option::is_none) {
                return Ok(false);
            }
            if self.choose(chosen)? {
                return Ok(true);
            }
            self.end_turn();
        }
    }

    /// Chooses the next record of the file whose turn it is; false if it has ended, or there is none.
    fn choose(&mut self, chosen: &mut Chosen) -> Result<bool> {
        let place = self.place;
        let Some(slot) = self.open.get_mut(place).and_then(Option::as_mut) else {
            return Ok(false);
        };
        if slot.at >= slot.ahead.len() {
            (slot.ahead, slot.base) = slot.reader.read_some(AHEAD.0, AHEAD.1)?;
            slot.at = 0;
            chosen.forget(place);
        }
        if slot.ahead.is_empty() {
            self.close();
            return Ok(false);
        }
        chosen.choose(place, &slot.ahead, slot.at);
        slot.at += 1;
        self.given += 1;
        if self.given == self.block {
            self.end_turn();
        }
        Ok(true)
    }
}

impl TurnSlot {
    fn new(file: usize, reader: ForeignReader) -> Self {
        Self {
            file,
            reader,
            ahead: Records::default(),
            base: 0,
            at: 0,
        }
    }

    /// The number of the next record to be given, and where it begins.
    fn tell(&self) -> (u64, u64) {
        match self.ahead.place(self.at) {
            Some((start, number)) => (number, self.base.wrapping_add(start as u64)),
            None => self.reader.tell(),
        }
    }
}

/// Records of several files that come next.
struct Chosen {
    parts: Vec<Records>,
    picks: Vec<(u32, u32)>,
    bytes: usize,
    /// Which of the parts each place of the cycle gives records of.
    of: Vec<Option<u32>>,
}

impl Chosen {
    fn new(cycle: usize) -> Self {
        Self {
            parts: Vec::new(),
            picks: Vec::new(),
            bytes: 0,
            of: vec![None; cycle],
        }
    }

    /// What this place gives from now on is of another part.
    fn forget(&mut self, place: usize) {
        if let Some(part) = self.of.get_mut(place) {
            *part = None;
        }
    }

    fn choose(&mut self, place: usize, records: &Records, at: usize) {
        let next = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
        let Some(part) = self.of.get_mut(place) else {
            return;
        };
        let part = *part.get_or_insert_with(|| {
            self.parts.push(records.clone());
            next
        });
        self.picks
            .push((part, u32::try_from(at).unwrap_or(u32::MAX)));
        self.bytes += records.get(at).map_or(0, <[u8]>::len);
    }
}
