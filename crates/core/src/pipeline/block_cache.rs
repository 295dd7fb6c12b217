//! Records that are shuffled in windows, read once in cells and kept until no batch can need them.
//!
//! ```text
//!   order below the window   │ cell 0 │ cell 1 │ cell 2 │ cell 3 │ cell 4 │ …    each read at once, by one thread
//!                            └──── window, first half ───┘
//!                                              └─── second half ──┘
//!   batch                      r17  r3  r40  r9  …                              from any cell of its window
//! ```
//!
//! A record gets at most one and a half windows away from its place, so the cells that a batch can need are a range
//! ([`Halves`]). The threads share them: the first that needs a cell reads it, others wait, or read the next one
//! rather than wait. A cell is dropped once every batch that may need it has ended.
//!
//! Example: windows of 8 MiB of records of 1 KB have cells of 2 MiB, 2,000 records each. A batch of 32 shuffled records
//! needs any of the six cells of one and a half windows; a pass reads each cell once, where single reads would be 8,000 per window.
//!
//! If you change this: the order of records must not depend on whether cells are used (`tests/dataset/transforms/test_windows.py`
//! compares both), an error belongs to the batch that has the record, and nothing may wait for a thread that has ended.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{ErrorKind, Result};
use crate::pipeline::order::Halves;
use crate::pipeline::pick::Pick;
use crate::pipeline::pool::Pool;
use crate::record::{BufferPool, Picked, Records, Sequence};
use crate::runtime::interrupt;

/// How long waiting continues before it is asked whether it is wanted still.
const PULSE: Duration = Duration::from_millis(50);

/// How many bytes a cell has: a part of the window, so that several threads can read one.
const PARTS: u64 = 4;
const LEAST_BYTES: u64 = 256 << 10;
const MOST_BYTES: u64 = 2 << 20;

/// How many of the last cells are searched before one is noted that may be among them.
const LAST: usize = 4;

/// The same of compressed files, where reading begins up to 1 MiB before.
const COMPRESSED_BYTES: u64 = 4 << 20;

/// Of one in more than that many records that are wanted, each is read by itself: a batch would hold too much else.
const MOST_SHARE: u64 = 8;

/// Windows of more bytes are not held in memory where the records of one can be read one by one.
const MOST_HELD: u64 = 1 << 30;

/// Buffers of larger cells are not kept for others.
const MOST_RECYCLED: usize = 8 << 20;

/// Which epoch a cell belongs to, and its number there.
type Key = (u64, u64);

/// Which of some cells a record is in, and where there.
type RecordInCell = (u32, u32);

/// The cells of a pass.
pub(crate) struct BlockCache {
    sequence: Arc<Sequence>,
    halves: Halves,
    epoch: u64,
    /// How many records a cell has.
    size: u64,
    /// How many cells may be read before they are needed.
    ahead: u64,
    state: Mutex<CacheState>,
    came: Condvar,
}

#[derive(Default)]
struct CacheState {
    cells: BTreeMap<Key, Cell>,
    /// Where the batches in the making begin.
    making: BTreeSet<u64>,
    /// Buffers of cells that nobody needs any more.
    buffers: BufferPool,
}

enum Cell {
    /// Somebody reads it.
    Coming,
    There(Records),
    /// It could not be read whole. Its records are read one by one, which shows which of them is broken.
    Lost,
}

/// What to do next for a batch.
enum Next {
    Take(Vec<Records>),
    Read(Key),
    Wait,
    GiveUp,
}

impl BlockCache {
    /// The cells of a pass, if its order has windows, and to read them is less work than to read its records
    /// one by one.
    pub fn of(pick: &Pick) -> Option<Self> {
        let Pool::Files(sequence) = &pick.pool else {
            return None;
        };
        let halves = Halves::of(&pick.order)?;
        let each = sequence.mean_bytes().max(1);
        if !pays(pick, sequence, &halves, each) {
            return None;
        }
        Some(Self {
            sequence: Arc::clone(sequence),
            size: size_of_cell(sequence, &halves, each),
            halves,
            epoch: pick.epoch,
            ahead: pick.threads as u64,
            state: Mutex::default(),
            came: Condvar::new(),
        })
    }

    /// A batch of these positions is going to be made. Batches begin one after the other.
    pub fn begin(&self, positions: &Range<u64>) {
        self.lock().making.insert(positions.start);
    }

    /// The batch has been made.
    pub fn end(&self, positions: &Range<u64>) {
        let mut state = self.lock();
        state.making.remove(&positions.start);
        let oldest = state.making.first().copied().unwrap_or(positions.end);
        let (position, epoch) = self.halves.floor(oldest, self.epoch);
        let kept = state.cells.split_off(&(epoch, position / self.size));
        let gone = std::mem::replace(&mut state.cells, kept);
        for cell in gone.values() {
            if let Cell::There(records) = cell {
                records.lend_up_to(MOST_RECYCLED, &mut state.buffers);
            }
        }
        drop(state);
        drop(gone);
    }

    /// The records of a batch that has begun; none if they must be read one by one, to find out what is wrong.
    ///
    /// # Errors
    /// There is no memory to say which; nobody wants them any more.
    pub fn pick(&self, positions: Range<u64>) -> Result<Option<Picked>> {
        let (keys, picks) = self.wanted(positions)?;
        let cells = self.get(&keys)?;
        Ok(cells.map(|cells| Picked::new(cells, picks)))
    }

    /// Which cells the records at `positions` are in, and of each record, which of these it is in, and where.
    fn wanted(&self, positions: Range<u64>) -> Result<(Vec<Key>, Vec<RecordInCell>)> {
        let mut places = Vec::new();
        self.halves.fill(positions, self.epoch, &mut places)?;
        let key = |position, epoch| (epoch, position / self.size);
        let mut keys: Vec<Key> = Vec::new();
        for &(position, epoch) in &places {
            // Most are in one that another one was in just before.
            let key = key(position, epoch);
            if !keys.iter().rev().take(LAST).any(|it| *it == key) {
                keys.push(key);
            }
        }
        keys.sort_unstable();
        keys.dedup();
        let mut picks = Vec::new();
        let reserved = picks.try_reserve_exact(places.len());
        reserved.map_err(|_| ErrorKind::OutOfMemory(places.len()))?;
        picks.extend(places.iter().map(|&(position, epoch)| {
            let which = keys.partition_point(|it| *it < key(position, epoch));
            (as_u32(which as u64), as_u32(position % self.size))
        }));
        Ok((keys, picks))
    }

    fn get(&self, keys: &[Key]) -> Result<Option<Vec<Records>>> {
        let mut found = BTreeMap::new();
        let mut state = self.lock();
        loop {
            match self.next(&state, keys, &mut found) {
                Next::Take(cells) => return Ok(Some(cells)),
                Next::GiveUp => return Ok(None),
                Next::Read(key) => state = self.read(state, key)?,
                Next::Wait => state = self.wait(state)?,
            }
        }
    }

    /// Takes what is there into `found`, and says what to do about the rest.
    fn next(&self, state: &CacheState, keys: &[Key], found: &mut BTreeMap<Key, Records>) -> Next {
        let mut missing = None;
        for &key in keys {
            match state.cells.get(&key) {
                _ if found.contains_key(&key) => {}
                Some(Cell::There(records)) => drop(found.insert(key, records.clone())),
                Some(Cell::Coming) => {}
                Some(Cell::Lost) => return Next::GiveUp,
                None => missing = missing.or(Some(key)),
            }
        }
        if found.len() == keys.len() {
            return Next::Take(std::mem::take(found).into_values().collect());
        }
        let next = missing.or_else(|| self.unread(state, *keys.last()?));
        next.map_or(Next::Wait, Next::Read)
    }

    /// The first of the cells after `last` that nobody reads yet, if it is near.
    fn unread(&self, state: &CacheState, (epoch, last): Key) -> Option<Key> {
        let count = self.halves.lower().len()?.div_ceil(self.size);
        let mut near = last.saturating_add(1)..count.min(last.saturating_add(1 + self.ahead));
        let number = near.find(|&number| !state.cells.contains_key(&(epoch, number)))?;
        Some((epoch, number))
    }

    /// Reads a cell, and lets the others in meanwhile.
    fn read<'a>(
        &'a self,
        mut state: MutexGuard<'a, CacheState>,
        key: Key,
    ) -> Result<MutexGuard<'a, CacheState>> {
        state.cells.insert(key, Cell::Coming);
        drop(state);
        let read = self.read_alone(key);
        let mut state = self.lock();
        self.came.notify_all();
        let cell = match read {
            Ok(records) => Cell::There(records),
            Err(error) if error.is_interrupt() => {
                state.cells.remove(&key);
                return Err(error);
            }
            Err(_) => Cell::Lost,
        };
        state.cells.insert(key, cell);
        Ok(state)
    }

    fn read_alone(&self, (epoch, number): Key) -> Result<Records> {
        let start = number.saturating_mul(self.size);
        let (mut records, mut indices) = (Vec::new(), Vec::new());
        let positions = start..start.saturating_add(self.size);
        self.halves.lower().fill(positions, epoch, &mut records)?;
        crate::pipeline::pick::indices_of(&records, &mut indices)?;
        self.sequence.read_into(&indices, |size| {
            let old = self.lock().buffers.take_back(size);
            old.or_else(|| BufferPool::default().take(size))
        })
    }

    fn wait<'a>(&self, state: MutexGuard<'a, CacheState>) -> Result<MutexGuard<'a, CacheState>> {
        let waited = self.came.wait_timeout(state, PULSE);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            interrupt::check()?;
        }
        Ok(state)
    }

    /// A panic while holding the lock leaves no partial update.
    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether to read all that windows are made of is less work than to read what is wanted one by one.
fn pays(pick: &Pick, sequence: &Sequence, halves: &Halves, each: u64) -> bool {
    let (share, window) = (halves.share(), halves.window());
    let most = MOST_HELD.min(pick.most_ahead as u64);
    let is_too_much = !sequence.is_compressed() && window.saturating_mul(each) > most;
    if share > MOST_SHARE || is_too_much {
        return false;
    }
    let wanted = each.saturating_add(sequence.cost_of_a_read() as u64);
    let first = pick.first_batch.saturating_mul(pick.batch as u64);
    let Some(length) = pick.order.len() else {
        return share * each <= wanted;
    };
    // A short pass needs whole windows all the same, but no more than there is.
    let length = length.saturating_sub(first);
    let spanned = length.saturating_mul(share);
    let below = halves.lower().len().unwrap_or(u64::MAX);
    let read = spanned.saturating_add(window).min(spanned.max(below));
    read.saturating_mul(each) <= length.saturating_mul(wanted)
}

/// How many records a cell has, if they have that many bytes on average.
fn size_of_cell(sequence: &Sequence, halves: &Halves, each: u64) -> u64 {
    let bytes = if sequence.is_compressed() {
        COMPRESSED_BYTES
    } else {
        (halves.window().saturating_mul(each) / PARTS).clamp(LEAST_BYTES, MOST_BYTES)
    };
    let size = (bytes / each).clamp(1, u64::from(u32::MAX));
    match halves.block() {
        // Blocks lie anywhere: none should have to be read by halves.
        Some(block) if block <= size => size / block * block,
        Some(block) if block / 4 <= size => block,
        _ => size,
    }
}

fn as_u32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
