//! Which bytes of its window does a block really refer to?
//!
//! Nobody says so, but it shows: what follows is inflated again, after windows whose bytes say where they
//! stand, the low byte of their place in one and the high byte in the other. A byte of the output that comes
//! from the window then spells its place. 32 KB further on nothing refers to the window any more.

use super::super::compression::Compression;
use crate::record::codec::inflate_blocks::{Inflater, Progress, WINDOW};

/// A window, while the blocks after it go by.
pub struct Probe {
    window: Vec<u8>,
    /// What really follows, at most [`WINDOW`] bytes.
    content: Vec<u8>,
    low: Trace,
    high: Trace,
}

impl Probe {
    /// After this window begins a block, of which this byte has the first bits; `None` if there is no
    /// memory for it.
    pub fn new(window: Vec<u8>, bits: u8, byte: u8) -> Option<Self> {
        let places = 0..window.len();
        #[allow(clippy::cast_possible_truncation, reason = "the low byte is meant")]
        let low: Vec<u8> = places.clone().map(|place| place as u8).collect();
        #[allow(clippy::cast_possible_truncation, reason = "at most 127")]
        let high: Vec<u8> = places.map(|place| (place >> 8) as u8).collect();
        Some(Self {
            low: Trace::new(bits, byte, &low)?,
            high: Trace::new(bits, byte, &high)?,
            content: Vec::with_capacity(WINDOW),
            window,
        })
    }

    /// Takes the compressed bytes that come next, and what comes out of them.
    pub fn feed(&mut self, compressed: &[u8], content: &[u8]) {
        let room = WINDOW - self.content.len();
        let content = content.get(..room).unwrap_or(content);
        self.content.extend_from_slice(content);
        self.low.feed(compressed);
        self.high.feed(compressed);
    }

    /// Whether nothing that comes can refer to the window any more.
    pub fn is_done(&self) -> bool {
        self.content.len() == WINDOW
    }

    /// The window from the first byte on that is referred to; those in between that are not are zero.
    pub fn finish(self) -> Vec<u8> {
        self.sparse().unwrap_or(self.window)
    }

    /// The same; `None` if what came out after the three windows does not fit together.
    fn sparse(&self) -> Option<Vec<u8>> {
        let (low, high) = (self.low.content(), self.high.content());
        if low.len() < self.content.len() || high.len() < self.content.len() {
            return None;
        }
        let mut sparse = vec![0; self.window.len()];
        let mut first = sparse.len();
        for ((&low, &high), &real) in low.iter().zip(high).zip(&self.content) {
            let place = usize::from(high) << 8 | usize::from(low);
            // Where all three are alike, it may be a byte that only looks so; one too many does no harm.
            if self.window.get(place) == Some(&real) {
                *sparse.get_mut(place)? = real;
                first = first.min(place);
            } else if low != real || high != real {
                return None;
            }
        }
        Some(sparse.split_off(first))
    }
}

/// What comes out after another window.
struct Trace {
    inflater: Inflater,
    content: Vec<u8>,
    filled: usize,
}

impl Trace {
    fn new(bits: u8, byte: u8, window: &[u8]) -> Option<Self> {
        let mut inflater = Inflater::new(Compression::Zlib)?;
        inflater.begin_block(bits, byte, window);
        Some(Self {
            inflater,
            content: vec![0; WINDOW],
            filled: 0,
        })
    }

    fn feed(&mut self, mut compressed: &[u8]) {
        while let Some(room) = self.content.get_mut(self.filled..)
            && !room.is_empty()
            && !compressed.is_empty()
        {
            let step = self.inflater.step(compressed, room, false);
            self.filled += step.produced;
            compressed = compressed.get(step.consumed..).unwrap_or_default();
            if matches!(step.progress, Progress::End | Progress::Broken(_)) {
                return;
            }
        }
    }

    fn content(&self) -> &[u8] {
        self.content.get(..self.filled).unwrap_or_default()
    }
}
