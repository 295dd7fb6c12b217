//! Inflates a file from its beginning to its end, and notes on the way from where it could begin again.

use std::collections::VecDeque;
use std::io::{self, Read};

use super::super::compression::Compression;
use super::super::input::Input;
use super::super::libdeflate::Packer;
use super::flow::{Bytes, Event, Flow, FlowStep};
use super::{Checkpoints, LEVEL, STREAM};
use crate::error::ErrorKind;
use crate::record::codec::checkpoints::window::Probe;
use crate::record::codec::detect;
use crate::runtime::interrupt::Pulse;

/// The content of a compressed file, as [`Source`](crate::record::codec::source::Source) delivers it, and its checkpoints.
pub struct Scanner {
    input: Input,
    codec: Compression,
    flow: Flow,
    spacing: u64,
    found: Checkpoints,
    packer: Packer,
    /// Blocks whose windows are not known yet, in order.
    pending: VecDeque<Pending>,
    /// Where the last checkpoint is: offsets in the content and in the file.
    last: (u64, u64),
}

struct Pending {
    output: u64,
    input: u64,
    bits: u8,
    probe: Probe,
}

/// Streams need no window, and so may have checkpoints that many times more often than blocks.
const STREAMS: u64 = 8;

/// Blocks whose windows are looked for at a time. Where more begin within 32 KB of content, the others go
/// without a checkpoint.
const MOST_PENDING: usize = 16;

impl Bytes for Input {
    /// They come in order.
    fn read(&mut self, room: &mut [u8], _: u64) -> io::Result<usize> {
        Input::read(self, room)
    }
}

impl Scanner {
    /// The bytes of content between two checkpoints, unless somebody knows better.
    pub const SPACING: u64 = 1 << 20;

    /// Begins at the first byte of `file`; `None` means for `compression`: decide from the first bytes. There
    /// is a checkpoint at the first block after every `spacing` bytes of content, and at every gzip member
    /// after an eighth of that. The result is `None` if the file is not compressed.
    ///
    /// # Errors
    /// As for [`open`](crate::record::codec::source::open).
    pub fn open(
        file: Box<dyn Read + Send>,
        compression: Option<Compression>,
        spacing: u64,
    ) -> Result<Option<Self>, ErrorKind> {
        let (input, codec) = detect::look(file, compression)?;
        if codec == Compression::None {
            return Ok(None);
        }
        Ok(Some(Self {
            input,
            codec,
            flow: Flow::new(codec)?,
            spacing: spacing.max(1),
            found: Checkpoints::default(),
            packer: Packer::new(LEVEL).map_err(|error| error.kind().clone())?,
            pending: VecDeque::new(),
            last: (0, 0),
        }))
    }

    /// How the file is compressed.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.codec
    }

    /// Reads some inflated bytes; 0 is the clean end. The room must not be empty.
    ///
    /// # Errors
    /// As for [`Source::read`](crate::record::codec::source::Source::read).
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, ErrorKind> {
        let mut pulse = Pulse::start();
        loop {
            // A file can continue for long with blocks and streams that hold nothing.
            pulse.check()?;
            let (room, at_block) = self.room(out);
            let step = self.flow.step(&mut self.input, room, at_block)?;
            self.note(&step, out.get(..step.produced).unwrap_or_default())?;
            if step.produced > 0 || step.event == Event::Finished {
                return Ok(step.produced);
            }
        }
    }

    /// The checkpoints of what has been read.
    #[must_use]
    pub fn into_checkpoints(self) -> Checkpoints {
        self.found
    }

    /// Whether so much has come since the last checkpoint; blocks that hold nothing count too.
    fn is_due(&self, spacing: u64) -> bool {
        let (output, input) = self.last;
        self.flow.output - output >= spacing || self.flow.input - input >= spacing.saturating_mul(2)
    }

    /// The room up to where a checkpoint is due, and whether to stop at blocks on the way: one may end there.
    fn room<'a>(&self, out: &'a mut [u8]) -> (&'a mut [u8], bool) {
        let due = self.last.0.saturating_add(self.spacing);
        let left = due.saturating_sub(self.flow.output);
        match usize::try_from(left) {
            _ if self.is_due(self.spacing) => (out, true),
            Ok(left) if left <= out.len() => (out.get_mut(..left).unwrap_or_default(), true),
            _ => (out, false),
        }
    }

    fn note(&mut self, step: &FlowStep, content: &[u8]) -> Result<(), ErrorKind> {
        let compressed = self.flow.taken(step);
        for pending in &mut self.pending {
            pending.probe.feed(compressed, content);
        }
        let ends = step.event == Event::End;
        while let Some(pending) = self.pending.front()
            && (ends || pending.probe.is_done())
            && let Some(pending) = self.pending.pop_front()
        {
            let window = pending.probe.finish();
            self.found.push(
                pending.output,
                pending.input,
                pending.bits,
                &window,
                &mut self.packer,
            )?;
        }
        match step.event {
            Event::Begin if self.is_due((self.spacing / STREAMS).max(1)) => {
                self.found.push(
                    self.flow.output,
                    self.flow.input,
                    STREAM,
                    &[],
                    &mut self.packer,
                )?;
                self.last = (self.flow.output, self.flow.input);
            }
            Event::Block(bits)
                if self.pending.len() < MOST_PENDING && self.is_due(self.spacing) =>
            {
                self.begin_block(bits);
            }
            _ => {}
        }
        Ok(())
    }

    fn begin_block(&mut self, bits: u8) {
        let (output, input) = (self.flow.output, self.flow.input);
        if let Some(probe) = Probe::new(self.flow.window(), bits, self.flow.last_byte) {
            self.last = (output, input);
            self.pending.push_back(Pending {
                output,
                input,
                bits,
                probe,
            });
        }
    }
}
