//! The streams of a file, inflated one after the other from any place on, a step at a time.
//!
//! The rules are those of `streams.rs`: what can be inflated is delivered before what is wrong with the
//! rest is reported; a stream without its trailer is a cut, and not an end.

use std::io;
use std::ops::Range;

use super::super::compression::Compression;
use super::super::streams;
use super::{Checkpoint, EntryPoint};
use crate::error::ErrorKind;
use crate::record::codec::inflate_blocks::{Inflater, Progress};

/// Compressed bytes that are read ahead of the inflater.
const INPUT_BUFFER: usize = 64 << 10;

/// Where compressed bytes come from.
pub trait Bytes {
    /// Reads some of those that stand at this offset in the file; 0 is the end.
    fn read(&mut self, room: &mut [u8], offset: u64) -> io::Result<usize>;
}

/// The streams of a file.
pub struct Flow {
    codec: Compression,
    inflater: Inflater,
    buffer: Vec<u8>,
    /// What of the buffer has not been inflated.
    start: usize,
    end: usize,
    state: FlowState,
    /// How many bytes of the file have been inflated, and to how many.
    pub input: u64,
    pub output: u64,
    /// The last byte of those.
    pub last_byte: u8,
    /// What is wrong with the rest, once everything before it has been delivered.
    fault: Option<ErrorKind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FlowState {
    /// Before the first byte of the file.
    Empty,
    /// Inside a stream: an end of the file here is a cut.
    Inside,
    /// Inside a stream that was not inflated from its beginning, so that its trailer means nothing.
    InsideBlocks,
    /// In the trailer of such a stream, that many bytes before its end.
    Trailer(usize),
    /// After the end of a stream.
    Between,
}

/// What a step was.
pub struct FlowStep {
    pub event: Event,
    /// How many bytes came out.
    pub produced: usize,
    /// What was taken of [`Flow::taken`].
    pub consumed: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A stream begins here.
    Begin,
    /// A block begins here, and that many bits of it have been read.
    Block(u8),
    /// Nothing in particular.
    Moved,
    /// A stream ends here.
    End,
    /// The end of the file.
    Finished,
}

impl FlowStep {
    fn nothing(event: Event) -> Self {
        Self {
            event,
            produced: 0,
            consumed: 0..0,
        }
    }
}

impl Flow {
    /// From the first byte of a file on.
    pub fn new(codec: Compression) -> Result<Self, ErrorKind> {
        let no_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
        Ok(Self {
            codec,
            inflater: Inflater::new(codec).ok_or_else(no_memory)?,
            buffer: vec![0; INPUT_BUFFER],
            start: 0,
            end: 0,
            state: FlowState::Empty,
            input: 0,
            output: 0,
            last_byte: 0,
            fault: None,
        })
    }

    /// From this place of the file on.
    pub fn restart(
        &mut self,
        at: &Checkpoint<'_>,
        source: &mut impl Bytes,
    ) -> Result<(), ErrorKind> {
        let window = at.entry.window().map_err(|error| error.kind().clone())?;
        self.start = 0;
        self.end = 0;
        self.input = at.input;
        self.output = at.output;
        self.fault = None;
        self.state = match at.entry {
            EntryPoint::Stream if at.input == 0 => FlowState::Empty,
            EntryPoint::Stream => FlowState::Between,
            EntryPoint::Block { bits, .. } => {
                self.input = at.input.saturating_sub(u64::from(bits > 0));
                let byte = if bits > 0 { self.byte(source)? } else { 0 };
                self.inflater.begin_block(bits, byte, &window);
                FlowState::InsideBlocks
            }
        };
        Ok(())
    }

    /// The next byte of the file; 0 after its end.
    fn byte(&mut self, source: &mut impl Bytes) -> Result<u8, ErrorKind> {
        if !self.refill(source)? {
            return Ok(0);
        }
        self.start = 1;
        self.input += 1;
        Ok(self.buffer.first().copied().unwrap_or(0))
    }

    /// The bytes in front of the block that begins here.
    pub fn window(&self) -> Vec<u8> {
        self.inflater.window()
    }

    /// The compressed bytes of a step.
    pub fn taken(&self, step: &FlowStep) -> &[u8] {
        self.buffer.get(step.consumed.clone()).unwrap_or_default()
    }

    /// The compressed bytes that come next, as far as they are known.
    pub fn ahead(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Continues a little: to the next block, if it is to stop there.
    pub fn step(
        &mut self,
        source: &mut impl Bytes,
        out: &mut [u8],
        stop_at_block: bool,
    ) -> Result<FlowStep, ErrorKind> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let at_end = self.start == self.end && !self.refill(source)?;
        match self.state {
            FlowState::Inside | FlowState::InsideBlocks => {
                let step = self.inflate(out, stop_at_block);
                // What went in last may not all have come out, for want of room.
                let stuck = at_end && step.produced == 0 && step.event == Event::Moved;
                if stuck && self.fault.is_none() {
                    return Err(self.cut());
                }
                Ok(step)
            }
            FlowState::Trailer(_) if at_end => Err(self.cut()),
            FlowState::Empty | FlowState::Between if at_end => {
                Ok(FlowStep::nothing(Event::Finished))
            }
            FlowState::Trailer(left) => {
                let count = left.min(self.end - self.start);
                self.advance(count);
                self.state = match left - count {
                    0 => FlowState::Between,
                    left => FlowState::Trailer(left),
                };
                Ok(FlowStep::nothing(Event::Moved))
            }
            FlowState::Empty | FlowState::Between => {
                self.begin()?;
                Ok(FlowStep::nothing(Event::Begin))
            }
        }
    }

    fn cut(&self) -> ErrorKind {
        ErrorKind::TruncatedStream(self.codec.name())
    }

    /// Reads compressed bytes; false at the end of the file.
    fn refill(&mut self, source: &mut impl Bytes) -> Result<bool, ErrorKind> {
        self.start = 0;
        self.end = 0;
        self.end = source.read(&mut self.buffer, self.input)?;
        Ok(self.end > 0)
    }

    fn advance(&mut self, count: usize) {
        self.start += count;
        self.input += count as u64;
    }

    fn begin(&mut self) -> Result<(), ErrorKind> {
        if self.state == FlowState::Between {
            streams::next_stream(self.codec, self.ahead())?;
        }
        self.inflater.begin(self.codec);
        self.state = FlowState::Inside;
        Ok(())
    }

    fn inflate(&mut self, out: &mut [u8], stop_at_block: bool) -> FlowStep {
        let input = self.buffer.get(self.start..self.end).unwrap_or_default();
        let step = self.inflater.step(input, out, stop_at_block);
        let from = self.start;
        self.last_byte = match input.get(..step.consumed) {
            Some([.., last]) => *last,
            _ => self.last_byte,
        };
        self.advance(step.consumed);
        self.output += step.produced as u64;
        let event = match step.progress {
            Progress::Block(bits) if stop_at_block => Event::Block(bits),
            Progress::Block(_) | Progress::More => Event::Moved,
            Progress::End => {
                self.state = self.after();
                Event::End
            }
            Progress::Broken(why) => {
                self.fault = Some(streams::broken(self.codec, &why));
                Event::Moved
            }
        };
        FlowStep {
            event,
            produced: step.produced,
            consumed: from..self.start,
        }
    }

    /// What follows the last block.
    fn after(&self) -> FlowState {
        match (self.state, self.codec) {
            (FlowState::InsideBlocks, Compression::Gzip) => FlowState::Trailer(8),
            (FlowState::InsideBlocks, _) => FlowState::Trailer(4),
            _ => FlowState::Between,
        }
    }
}
