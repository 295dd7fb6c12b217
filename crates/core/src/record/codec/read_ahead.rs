//! Inflating on other threads, ahead of who reads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::input::Input;
use super::libdeflate::Unpacker;
use super::streams::Streams;
use crate::error::ErrorKind;
use crate::record::codec::gzip_member;
use crate::runtime::ordered_workers::{self, Ordered};

/// Bytes that came from another thread, and how many of them have been read.
#[derive(Default)]
struct ReadPiece {
    bytes: Vec<u8>,
    taken: usize,
}

impl ReadPiece {
    fn of(bytes: Vec<u8>) -> Self {
        Self { bytes, taken: 0 }
    }

    /// Takes some bytes, if there are any left.
    fn read(&mut self, out: &mut [u8]) -> usize {
        let left = self.bytes.get(self.taken..).unwrap_or_default();
        let count = left.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), left.get(..count)) {
            to.copy_from_slice(from);
        }
        self.taken += count;
        count
    }
}

/// Gzip members that say how long they are, each inflated by whichever thread is free.
pub struct Members {
    feed: Arc<Mutex<Feed>>,
    work: Ordered<Unpacked>,
    piece: ReadPiece,
    /// From the first member on that was not what it says: all that was taken from the input.
    unsound: Option<Vec<u8>>,
}

/// A member as it was, and what it holds if it is sound.
struct Unpacked {
    packed: Vec<u8>,
    content: Option<Vec<u8>>,
}

impl Members {
    /// Begins with the member that is next in `input`.
    pub fn start(input: Input) -> Result<Self, ErrorKind> {
        let feed = Arc::new(Mutex::new(Feed {
            input: Some(input),
            ended: false,
        }));
        let jobs = Arc::clone(&feed);
        let source = move || jobs.lock().ok()?.next_member();
        let worker = || {
            let mut unpacker = Unpacker::new();
            move |packed: Vec<u8>| Unpacked {
                content: unpacker
                    .as_mut()
                    .and_then(|unpacker| gzip_member::unpack(unpacker, &packed)),
                packed,
            }
        };
        let threads = ordered_workers::cores();
        let work = Ordered::start(threads, 2 * threads + 2, source, worker);
        Ok(Self {
            feed,
            work: work.map_err(|error| error.kind().clone())?,
            piece: ReadPiece::default(),
            unsound: None,
        })
    }

    /// Reads some bytes; 0 when somebody else has to continue.
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, ErrorKind> {
        loop {
            let count = self.piece.read(out);
            if count > 0 {
                return Ok(count);
            }
            let next = self.work.next_result();
            let Some(next) = next.map_err(|error| error.kind().clone())? else {
                return Ok(0);
            };
            match (&mut self.unsound, next.content) {
                (Some(unsound), _) => unsound.extend_from_slice(&next.packed),
                (None, Some(content)) => self.piece = ReadPiece::of(content),
                (None, None) => {
                    self.unsound = Some(next.packed);
                    self.feed().ended = true;
                }
            }
        }
    }

    /// All that was not inflated, from the beginning of a member on.
    pub fn into_input(mut self) -> Option<Input> {
        let unsound = self.unsound.take();
        let mut input = self.feed().input.take()?;
        input.put_back(unsound.unwrap_or_default());
        Some(input)
    }

    fn feed(&self) -> std::sync::MutexGuard<'_, Feed> {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the members come from.
struct Feed {
    input: Option<Input>,
    ended: bool,
}

impl Feed {
    /// The next member, whole. None where something else follows, or the file cannot be read, which
    /// whoever tries next will find out.
    fn next_member(&mut self) -> Option<Vec<u8>> {
        let input = self.input.as_mut().filter(|_| !self.ended)?;
        let mut member = Vec::new();
        if read_up_to(input, &mut member, gzip_member::HEADER)
            && let Some(size) = member.first_chunk().and_then(gzip_member::announced)
            && read_up_to(input, &mut member, size)
        {
            return Some(member);
        }
        input.put_back(member);
        self.ended = true;
        None
    }
}

/// Reads until `bytes` are that many; false if that fails.
fn read_up_to(input: &mut Input, bytes: &mut Vec<u8>, size: usize) -> bool {
    let mut filled = bytes.len();
    if bytes
        .try_reserve_exact(size.saturating_sub(filled))
        .is_err()
    {
        return false;
    }
    bytes.resize(size, 0);
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match input.read(room) {
            Ok(count) if count > 0 => filled += count,
            _ => {
                bytes.truncate(filled);
                return false;
            }
        }
    }
    true
}

/// Streams of any kind, inflated by one other thread.
pub struct Ahead {
    work: Ordered<Result<Vec<u8>, ErrorKind>>,
    piece: ReadPiece,
    fault: Option<ErrorKind>,
}

/// How many bytes the other thread inflates at a time, and how many times it is ahead.
const AHEAD: (usize, usize) = (256 << 10, 8);

impl Ahead {
    /// Has another thread continue with `streams`.
    pub fn start(mut streams: Streams) -> Result<Self, ErrorKind> {
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        let source = move || (!ended.load(Ordering::Relaxed)).then_some(());
        let worker = move |()| {
            let inflated = inflate(&mut streams);
            if !inflated.as_ref().is_ok_and(|bytes| !bytes.is_empty()) {
                end.store(true, Ordering::Relaxed);
            }
            inflated
        };
        let mut worker = Some(worker);
        let make_worker = move || {
            let mut worker = worker.take();
            move |()| worker.as_mut().map_or(Ok(Vec::new()), |work| work(()))
        };
        let work = Ordered::start(1, AHEAD.1, source, make_worker);
        Ok(Self {
            work: work.map_err(|error| error.kind().clone())?,
            piece: ReadPiece::default(),
            fault: None,
        })
    }

    /// Reads some bytes; 0 is the clean end.
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, ErrorKind> {
        loop {
            let count = self.piece.read(out);
            if count > 0 {
                return Ok(count);
            }
            if let Some(fault) = &self.fault {
                return Err(fault.clone());
            }
            let next = self.work.next_result();
            match next.map_err(|error| error.kind().clone())? {
                Some(Ok(bytes)) => self.piece = ReadPiece::of(bytes),
                Some(Err(fault)) => self.fault = Some(fault),
                None => return Ok(0),
            }
        }
    }
}

/// The next bytes of `streams`, none at their end. What comes before a fault comes first; the fault is
/// met again.
fn inflate(streams: &mut Streams) -> Result<Vec<u8>, ErrorKind> {
    let mut bytes = vec![0; AHEAD.0];
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match streams.read(room) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(_) if filled > 0 => break,
            Err(fault) => return Err(fault),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
