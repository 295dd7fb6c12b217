//! Inflating the streams of a compressed file, one after the other, with zlib-rs.
//!
//! What can be inflated is delivered before what is wrong with the rest is reported; a stream without its
//! trailer is a cut, and not an end.

use zlib_rs::{Inflate, InflateFlush, Status};

use super::compression::Compression;
use super::input::Input;
use crate::error::ErrorKind;
use crate::record::codec::gzip_member;
use crate::record::format::sniff;
use crate::runtime::interrupt::Pulse;

/// Compressed bytes that are read ahead of the inflater.
const INPUT_BUFFER: usize = 128 << 10;

/// The content of a file's streams, inflated one after the other.
pub struct Streams {
    codec: Compression,
    input: Input,
    inflate: Inflate,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    state: StreamState,
    /// What is wrong with the rest, once everything before it has been delivered.
    fault: Option<ErrorKind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamState {
    /// Before the first byte of the file.
    Empty,
    /// Inside a stream: an end of the file here is a cut.
    Inside,
    /// After the end of a stream.
    Between,
}

impl Streams {
    /// The streams of a file, from its first byte on.
    pub fn new(input: Input, codec: Compression) -> Self {
        Self {
            codec,
            input,
            inflate: Inflate::new(true, codec.window_bits()),
            buffer: vec![0; INPUT_BUFFER],
            start: 0,
            end: 0,
            state: StreamState::Empty,
            fault: None,
        }
    }

    /// The streams of a file after the end of one.
    pub fn after_another(input: Input, codec: Compression) -> Self {
        Self {
            state: StreamState::Between,
            ..Self::new(input, codec)
        }
    }

    /// The bytes that are not inflated yet; what comes out of the stream they are in the middle of is
    /// lost.
    pub fn into_input(self) -> Input {
        let mut input = self.input;
        let ahead = self.buffer.get(self.start..self.end).unwrap_or_default();
        input.put_back(ahead.to_vec());
        input
    }

    /// Whether the next bytes are those of a gzip member that says how long it is. Only between two
    /// members is there an answer.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn is_before_member(&mut self) -> Result<bool, ErrorKind> {
        if self.state != StreamState::Between || self.codec != Compression::Gzip {
            return Ok(false);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < gzip_member::HEADER {
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.input.read(room).map_err(ErrorKind::from)? {
                0 => return Ok(false),
                count => self.end += count,
            }
        }
        let header = self.buffer.first_chunk();
        Ok(header.and_then(gzip_member::announced).is_some())
    }

    /// Reads some inflated bytes; 0 is the clean end.
    ///
    /// # Errors
    /// As for [`Source::read`](super::source::Source::read).
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, ErrorKind> {
        let mut pulse = Pulse::start();
        loop {
            // A file can continue for long with streams that hold nothing.
            pulse.check()?;
            if let Some(fault) = &self.fault {
                return Err(fault.clone());
            }
            if self.start == self.end && !self.refill()? {
                if self.state != StreamState::Inside {
                    return Ok(0);
                }
                // What went in last may not all have come out, for want of room.
                match self.inflate_some(out) {
                    0 if self.fault.is_none() && self.state == StreamState::Inside => {
                        return Err(ErrorKind::TruncatedStream(self.codec.name()));
                    }
                    0 => continue,
                    produced => return Ok(produced),
                }
            }
            if self.state != StreamState::Inside {
                self.begin_stream()?;
            }
            let produced = self.inflate_some(out);
            if produced > 0 {
                return Ok(produced);
            }
        }
    }

    /// Reads compressed bytes; false at the end of the file.
    fn refill(&mut self) -> Result<bool, ErrorKind> {
        self.start = 0;
        self.end = 0;
        self.end = self.input.read(&mut self.buffer).map_err(ErrorKind::from)?;
        Ok(self.end > 0)
    }

    fn begin_stream(&mut self) -> Result<(), ErrorKind> {
        if self.state == StreamState::Between {
            let next = self.buffer.get(self.start..self.end).unwrap_or_default();
            next_stream(self.codec, next)?;
            self.inflate = Inflate::new(true, self.codec.window_bits());
        }
        self.state = StreamState::Inside;
        Ok(())
    }

    fn inflate_some(&mut self, out: &mut [u8]) -> usize {
        let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
        let input = self.buffer.get(self.start..self.end).unwrap_or_default();
        let result = self.inflate.decompress(input, out, InflateFlush::NoFlush);
        // Both differences are at most the lengths of the two slices.
        #[allow(clippy::cast_possible_truncation)]
        let (consumed, produced) = (
            (self.inflate.total_in() - before_in) as usize,
            (self.inflate.total_out() - before_out) as usize,
        );
        self.start += consumed;
        match result {
            Ok(Status::StreamEnd) => self.state = StreamState::Between,
            Ok(Status::Ok | Status::BufError) => {}
            Err(error) => {
                let why = self.inflate.error_message().unwrap_or(error.as_str());
                self.fault = Some(broken(self.codec, why));
            }
        }
        produced
    }
}

/// Whether these bytes after the end of a stream begin another one.
///
/// # Errors
/// [`ErrorKind::TrailingData`] if they must not be there.
pub(crate) fn next_stream(codec: Compression, next: &[u8]) -> Result<(), ErrorKind> {
    let what = match codec {
        Compression::Gzip if sniff::is_gzip(next) => return Ok(()),
        Compression::Zlib if sniff::is_zlib(next) => SECOND,
        _ => "garbage",
    };
    Err(ErrorKind::TrailingData(codec.name(), what))
}

/// What is wrong with a stream of which zlib says this.
pub(crate) fn broken(codec: Compression, why: &str) -> ErrorKind {
    let why = if IN_THE_MIDDLE.contains(&why) {
        "invalid data"
    } else {
        why
    };
    ErrorKind::BadStream(codec.name(), why.to_owned())
}

/// Words for a fault inside a block. Which of them it is depends on how much room there is, because
/// zlib-rs has a quick loop that leaves the first for all others.
const IN_THE_MIDDLE: [&str; 4] = [
    "repeated call with bad state",
    "invalid distance too far back",
    "invalid distance code",
    "invalid literal/length code",
];

const SECOND: &str = "a second stream (TensorFlow would silently ignore it)";
