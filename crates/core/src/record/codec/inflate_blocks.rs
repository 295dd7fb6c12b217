//! Inflating that can stop between two deflate blocks, and begin there again.
//!
//! zlib-rs's own interface (`streams.rs`) cannot say where in a byte a block ends; after zlib's interface
//! the same code can. Everything unsafe about that is here.
#![allow(
    unsafe_code,
    reason = "functions with zlib's C interface; each call says why it is sound"
)]

use std::ffi::CStr;

use libz_rs_sys as z;

use super::compression::Compression;

/// The bytes in front of a block that it can refer to.
pub const WINDOW: usize = 32 << 10;

/// One stream that is being inflated.
pub struct Inflater {
    // Boxed: C code may remember where it lies.
    stream: Box<z::z_stream>,
}

// SAFETY: a z_stream is used by one thread at a time (`&mut self`), and its memory is its own.
unsafe impl Send for Inflater {}

/// What a call of [`Inflater::step`] has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It wants more input, or more room.
    More,
    /// It stopped between two blocks; that many bits of the last byte of input belong to the next one.
    Block(u8),
    /// The end of the stream, trailer included if it has one.
    End,
    /// The stream is broken, in zlib's words.
    Broken(String),
}

/// What a call of [`Inflater::step`] has done.
#[derive(Debug)]
pub struct InflateStep {
    /// How many bytes of the input it took.
    pub consumed: usize,
    /// How many bytes it wrote.
    pub produced: usize,
    pub progress: Progress,
}

/// By which zlib checks that its caller means the same structure.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "112 bytes"
)]
const STREAM_SIZE: i32 = size_of::<z::z_stream>() as i32;

/// zlib takes lengths as C's unsigned int; whoever has more calls again.
const MAX_PIECE: usize = 1 << 30;

/// zlib's window parameter for blocks without header and trailer.
const RAW: i32 = -15;

impl Inflater {
    /// For a stream with the header and trailer of `codec`; `None` if there is no memory for it.
    pub fn new(codec: Compression) -> Option<Self> {
        let mut stream = Box::<z::z_stream>::default();
        let window_bits = i32::from(codec.window_bits());
        // SAFETY: `stream` is a valid z_stream whose allocator functions are those of the library, or none,
        // which it fills in; version and size are those of the library that is linked.
        let code = unsafe {
            z::inflateInit2_(&raw mut *stream, window_bits, z::zlibVersion(), STREAM_SIZE)
        };
        (code == z::Z_OK).then_some(Self { stream })
    }

    /// Forgets everything, for a stream with the header and trailer of `codec`.
    pub fn begin(&mut self, codec: Compression) {
        self.reset(i32::from(codec.window_bits()));
    }

    /// Forgets everything, for blocks without header and trailer: the upper `bits` bits of `byte` come first,
    /// and `window` is what came before.
    pub fn begin_block(&mut self, bits: u8, byte: u8, window: &[u8]) {
        self.reset(RAW);
        let bits = bits.min(7);
        let value = i32::from(byte) >> (8 - bits);
        let window = window
            .len()
            .checked_sub(WINDOW)
            .and_then(|more| window.get(more..))
            .unwrap_or(window);
        #[allow(clippy::cast_possible_truncation, reason = "at most WINDOW")]
        let length = window.len() as u32;
        // SAFETY: the stream is initialised; the window is good for its length. A raw stream takes both at
        // any time: eight bits fit, as there are none yet.
        unsafe {
            z::inflatePrime(&raw mut *self.stream, i32::from(bits), value);
            z::inflateSetDictionary(&raw mut *self.stream, window.as_ptr(), length);
        }
    }

    fn reset(&mut self, window_bits: i32) {
        // SAFETY: the stream is initialised; the parameter is one that zlib knows, so that it cannot fail.
        unsafe { z::inflateReset2(&raw mut *self.stream, window_bits) };
    }

    /// Inflates some of `input` into `out`, up to the next end of a block if it is to stop there.
    #[allow(clippy::cast_possible_truncation, reason = "at most MAX_PIECE")]
    pub fn step(&mut self, input: &[u8], out: &mut [u8], stop_at_block: bool) -> InflateStep {
        let offered = (input.len().min(MAX_PIECE), out.len().min(MAX_PIECE));
        self.stream.next_in = input.as_ptr().cast_mut();
        self.stream.avail_in = offered.0 as u32;
        self.stream.next_out = out.as_mut_ptr();
        self.stream.avail_out = offered.1 as u32;
        let mode = if stop_at_block {
            z::Z_BLOCK
        } else {
            z::Z_NO_FLUSH
        };
        // SAFETY: the stream is initialised; next_in and next_out point at avail_in readable and avail_out
        // writable bytes that outlive the call, and are set anew before the next one.
        let code = unsafe { z::inflate(&raw mut *self.stream, mode) };
        InflateStep {
            consumed: offered.0 - self.stream.avail_in as usize,
            produced: offered.1 - self.stream.avail_out as usize,
            progress: self.progress(code),
        }
    }

    fn progress(&self, code: i32) -> Progress {
        match code {
            z::Z_STREAM_END => Progress::End,
            z::Z_OK | z::Z_BUF_ERROR => match u8::try_from(self.stream.data_type) {
                // 128: between two blocks; 64: after the last one. Below are the bits that are left.
                Ok(between @ 128..=135) => Progress::Block(between - 128),
                _ => Progress::More,
            },
            _ => Progress::Broken(self.words(code)),
        }
    }

    fn words(&self, code: i32) -> String {
        let words = if self.stream.msg.is_null() {
            z::zError(code)
        } else {
            self.stream.msg.cast_const()
        };
        // SAFETY: both are constants of the library that end with 0.
        let words = unsafe { CStr::from_ptr(words) };
        words.to_string_lossy().into_owned()
    }

    /// The last bytes that came out of the stream, at most [`WINDOW`].
    pub fn window(&self) -> Vec<u8> {
        let mut window = vec![0; WINDOW];
        let mut length = 0;
        let stream = &raw const *self.stream;
        // SAFETY: the stream is initialised; the library writes a window at most, and how much that was.
        let code = unsafe { z::inflateGetDictionary(stream, window.as_mut_ptr(), &raw mut length) };
        window.truncate(if code == z::Z_OK { length as usize } else { 0 });
        window
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: the stream was initialised and is not used again.
        unsafe { z::inflateEnd(&raw mut *self.stream) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// zlib's, with a partial flush between the two sentences.
    const STREAM: &[u8] = &[
        0x78, 0xda, 0x2a, 0xce, 0xcf, 0x4d, 0x55, 0x28, 0xcf, 0x2f, 0x4a, 0x29, 0xd6, 0x51, 0x00,
        0x08, 0xb0, 0x62, 0x24, 0x76, 0x62, 0x5e, 0x0a, 0x84, 0x9f, 0x9b, 0x5f, 0x04, 0x15, 0x04,
        0x00, 0x5a, 0x67, 0x0f, 0xc8,
    ];
    const SENTENCES: [&[u8]; 2] = [b"some words, ", b"some words, and some more words"];

    /// Miri runs this: the library is Rust after its C interface.
    #[test]
    fn it_stops_at_a_block_and_begins_there_again() {
        let mut inflater = Inflater::new(Compression::Zlib).unwrap();
        let (mut out, mut taken, mut filled) = ([0; 100], 0, 0);
        let mut blocks = Vec::new();
        loop {
            let step = inflater.step(&STREAM[taken..], &mut out[filled..], true);
            taken += step.consumed;
            filled += step.produced;
            match step.progress {
                Progress::Block(bits) => blocks.push((taken, filled, bits, inflater.window())),
                // After the last block, before the trailer.
                Progress::More => assert!(step.consumed > 0),
                Progress::End => break,
                Progress::Broken(why) => panic!("{why}"),
            }
        }
        let content = SENTENCES.concat();
        assert_eq!((taken, &out[..filled]), (STREAM.len(), &content[..]));
        assert!(blocks.iter().any(|(.., bits, _)| *bits > 0));
        for (taken, filled, bits, window) in blocks {
            assert_eq!(window, content[..filled]);
            let mut out = [0; 100];
            inflater.begin_block(bits, STREAM[taken - 1], &window);
            let step = inflater.step(&STREAM[taken..], &mut out, false);
            assert_eq!(step.progress, Progress::End);
            assert_eq!(out[..step.produced], content[filled..]);
        }
    }

    #[test]
    fn what_is_broken_is_said_in_words() {
        let mut inflater = Inflater::new(Compression::Gzip).unwrap();
        let step = inflater.step(b"no gzip file", &mut [0; 10], false);
        assert_eq!(
            step.progress,
            Progress::Broken("incorrect header check".to_owned())
        );
        // Too far back: there is no window.
        inflater.begin_block(0, 0, &[]);
        let step = inflater.step(&[0x03 | 0x40, 0x02, 0, 0], &mut [0; 10], false);
        assert!(matches!(step.progress, Progress::Broken(_)), "{step:?}");
        inflater.begin(Compression::Zlib);
        let step = inflater.step(STREAM, &mut [0; 100], false);
        assert_eq!(step.progress, Progress::End);
    }

    #[test]
    fn no_more_than_the_last_window_is_taken() {
        let mut inflater = Inflater::new(Compression::Zlib).unwrap();
        let long: Vec<u8> = (0..=250).cycle().take(WINDOW + 10).collect();
        inflater.begin_block(3, 0xff, &long);
        assert_eq!(inflater.window(), long[10..]);
    }
}
