//! Compressing with the original zlib, as TensorFlow does, so that its options mean the same and
//! its output is the same.
//!
//! Unsafe code: a C library, its structure and its allocator.
#![allow(
    unsafe_code,
    reason = "deflate is a C function; each call says why it is sound"
)]

use std::mem::MaybeUninit;

use libz_sys as z;

use super::compression::Compression;
use crate::error::{Error, Result};
use crate::runtime::interrupt::Pulse;

/// zlib's parameters. The names and defaults are those of TensorFlow's `TFRecordOptions`.
#[derive(Clone, Copy, Debug)]
pub struct DeflateOptions {
    /// 0 (none) to 9 (smallest); -1 is zlib's default, 6.
    pub level: i32,
    /// 9 to 15: log2 of the window; + 16 writes gzip's header and trailer; negative writes neither.
    /// `None` is 15 in the container of the compression type.
    pub window_bits: Option<i32>,
    /// 1 (least memory) to 9 (fastest).
    pub mem_level: i32,
    /// `Z_DEFAULT_STRATEGY` 0, `Z_FILTERED` 1, `Z_HUFFMAN_ONLY` 2, `Z_RLE` 3, `Z_FIXED` 4.
    pub strategy: i32,
    /// What to do whenever the input buffer is full: `Z_NO_FLUSH` 0, `Z_PARTIAL_FLUSH` 1,
    /// `Z_SYNC_FLUSH` 2, `Z_FULL_FLUSH` 3.
    pub flush_mode: i32,
    /// How many bytes are collected before they are compressed.
    pub input_buffer_size: usize,
}

impl Default for DeflateOptions {
    fn default() -> Self {
        Self {
            level: z::Z_DEFAULT_COMPRESSION,
            window_bits: None,
            mem_level: 9,
            strategy: z::Z_DEFAULT_STRATEGY,
            flush_mode: z::Z_NO_FLUSH,
            input_buffer_size: 256 << 10,
        }
    }
}

/// What a call of [`Deflater::compress`] ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Nothing: the compressor may keep input to itself.
    Mode(i32),
    /// Everything so far can be inflated, and what follows, without it.
    Full,
    /// The end of the stream.
    Finish,
}

/// One stream that is being compressed.
pub struct Deflater {
    // Boxed because zlib's state points back at the stream and checks that it has not moved.
    stream: Box<z::z_stream>,
    piece: usize,
    pulse: Pulse,
}

// SAFETY: a z_stream is used by one thread at a time (`&mut self`) and zlib keeps no thread-local
// state; its allocator callbacks are the C library's malloc and free.
unsafe impl Send for Deflater {}

/// By which zlib checks that its caller means the same structure.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "112 bytes"
)]
const STREAM_SIZE: i32 = size_of::<z::z_stream>() as i32;

/// How much is compressed between two looks at the signals; what comes out is the same with any number, but
/// where nothing is compressed: there it is how long a block may be.
const PIECE: usize = 32 << 10;
const STORED_PIECE: usize = 16 << 20;

/// zlib takes lengths as C's unsigned int.
const MOST: usize = 1 << 30;

impl Deflater {
    /// Begins a stream.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Spec`] for a parameter that zlib refuses.
    pub fn new(codec: Compression, options: &DeflateOptions) -> Result<Self> {
        let container = if codec == Compression::Gzip {
            15 + 16
        } else {
            15
        };
        let window_bits = options.window_bits.unwrap_or(container);
        let mut stream = Box::new(empty_stream());
        // SAFETY: `stream` is a valid z_stream with allocator functions; the version and size
        // arguments are those of the library that is linked.
        let code = unsafe {
            z::deflateInit2_(
                &raw mut *stream,
                options.level,
                z::Z_DEFLATED,
                window_bits,
                options.mem_level,
                options.strategy,
                z::zlibVersion(),
                STREAM_SIZE,
            )
        };
        if code == z::Z_OK {
            let is_stored = options.level == 0;
            return Ok(Self {
                stream,
                piece: if is_stored { STORED_PIECE } else { PIECE },
                pulse: Pulse::start(),
            });
        }
        Err(Error::spec(format!(
            "zlib refuses these options: compression_level {}, window_bits {window_bits}, \
             mem_level {}, compression_strategy {}",
            options.level, options.mem_level, options.strategy
        )))
    }

    /// Compresses `input` onto the end of `output`.
    ///
    /// # Errors
    /// [`std::io::ErrorKind::Interrupted`]; then some of the input is missing in the stream.
    pub fn compress(&mut self, input: &[u8], output: &mut Vec<u8>, flush: Flush) -> Result<()> {
        let mut pieces = input.chunks(self.piece).peekable();
        loop {
            self.pulse.check()?;
            let piece = pieces.next().unwrap_or_default();
            let last = pieces.peek().is_none();
            let mode = match flush {
                _ if !last => z::Z_NO_FLUSH,
                Flush::Mode(mode) => mode,
                Flush::Full => z::Z_FULL_FLUSH,
                Flush::Finish => z::Z_FINISH,
            };
            self.compress_piece(piece, output, mode);
            if last {
                return Ok(());
            }
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "pieces are shorter")]
    fn compress_piece(&mut self, piece: &[u8], output: &mut Vec<u8>, mode: i32) {
        self.stream.next_in = piece.as_ptr().cast_mut();
        self.stream.avail_in = piece.len() as u32;
        loop {
            output.reserve((piece.len() / 4).clamp(1 << 10, 1 << 20));
            let room = output.spare_capacity_mut();
            let offered = room.len().min(MOST);
            self.stream.next_out = room.as_mut_ptr().cast();
            self.stream.avail_out = offered as u32;
            // SAFETY: the stream was initialised by deflateInit2_; next_in and next_out point at
            // avail_in readable and avail_out writable bytes that outlive the call.
            unsafe { z::deflate(&raw mut *self.stream, mode) };
            let produced = offered - self.stream.avail_out as usize;
            // SAFETY: deflate has initialised `produced` bytes of the spare capacity.
            unsafe { output.set_len(output.len() + produced) };
            // With room to spare, zlib has taken all input and written all that this mode asks for.
            if self.stream.avail_out > 0 {
                return;
            }
        }
    }
}

impl Drop for Deflater {
    fn drop(&mut self) {
        // SAFETY: the stream was initialised and is not used again.
        unsafe { z::deflateEnd(&raw mut *self.stream) };
    }
}

/// A stream in zlib's "use the default allocator" state.
fn empty_stream() -> z::z_stream {
    let mut stream = MaybeUninit::<z::z_stream>::zeroed();
    let fields = stream.as_mut_ptr();
    // SAFETY: `fields` points at memory that is ours; null pointers and zeros are valid for every
    // field but the two functions, which are set before the value is taken.
    unsafe {
        (&raw mut (*fields).zalloc).write(allocate);
        (&raw mut (*fields).zfree).write(release);
        stream.assume_init()
    }
}

extern "C" fn allocate(_: z::voidpf, items: z::uInt, size: z::uInt) -> z::voidpf {
    // SAFETY: calloc has no preconditions.
    unsafe { calloc(items as usize, size as usize) }
}

extern "C" fn release(_: z::voidpf, address: z::voidpf) {
    // SAFETY: zlib passes back what `allocate` gave.
    unsafe { free(address) }
}

unsafe extern "C" {
    fn calloc(items: usize, size: usize) -> z::voidpf;
    fn free(address: z::voidpf);
}
