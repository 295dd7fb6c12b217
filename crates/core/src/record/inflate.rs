//! Inflating that can stop between two deflate blocks, and begin there again.
//!
//! zlib-rs's own interface (`streams.rs`) cannot say where in a byte a block ends; behind zlib's interface
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
    /// It stopped between two blocks; so many bits of the last byte of input belong to the next one.
    Block(u8),
    /// The end of the stream, trailer included if it has one.
    End,
    /// The stream is broken, in zlib's words.
    Broken(String),
}

/// What a call of [`Inflater::step`] has done.
#[derive(Debug)]
pub struct Step {
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
    pub fn step(&mut self, input: &[u8], out: &mut [u8], stop_at_block: bool) -> Step {
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
        Step {
            consumed: offered.0 - self.stream.avail_in as usize,
            produced: offered.1 - self.stream.avail_out as usize,
            progress: self.progress(code),
        }
    }

    fn progress(&self, code: i32) -> Progress {
        match code {
            z::Z_STREAM_END => Progress::End,
            z::Z_OK | z::Z_BUF_ERROR => match self.stream.data_type {
                // 128: between two blocks; 64: behind the last one. Below are the bits that are left.
                between @ 128..=135 => Progress::Block((between & 7) as u8),
                _ => Progress::More,
            },
            _ => Progress::Broken(self.words(code)),
        }
    }

    fn words(&self, code: i32) -> String {
        let words = match self.stream.msg.is_null() {
            true => z::zError(code),
            false => self.stream.msg.cast_const(),
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
