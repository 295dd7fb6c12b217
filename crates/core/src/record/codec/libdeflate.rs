//! libdeflate: compresses and inflates what lies in memory whole, twice as fast as zlib and better.
//!
//! Its functions know no state between two calls and take the lengths of both buffers, so that little
//! can go wrong; what a buffer inflates to is checked by whoever asks.
#![allow(unsafe_code, reason = "a C library; each call says why it is sound")]

use std::ptr::NonNull;

use libdeflate_sys as z;

use crate::error::{Error, ErrorKind, Result};
use crate::runtime::memory::try_reserve;

/// About how many bytes a compressor takes.
const COMPRESSOR: usize = 1 << 20;

/// Compresses.
pub struct Packer(NonNull<z::libdeflate_compressor>);

// SAFETY: the compressor is memory of its own, used by one thread at a time (`&mut self`).
unsafe impl Send for Packer {}

impl Packer {
    /// A compressor of this level: 0 (none) to 12 (smallest).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Spec`] if there is no such level.
    pub fn new(level: i32) -> Result<Self> {
        // SAFETY: there are no preconditions; null says that the level, or memory, does not exist.
        let packer = unsafe { z::libdeflate_alloc_compressor(level) };
        NonNull::new(packer).map(Self).ok_or_else(|| match level {
            0..=12 => ErrorKind::OutOfMemory(COMPRESSOR).into(),
            _ => Error::spec(format!("there is no compression level {level}")),
        })
    }

    /// Adds `input` to the end of `output`, as raw deflate blocks.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn pack(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<(), ErrorKind> {
        let packer = self.0.as_ptr();
        // SAFETY: the compressor is alive.
        let most = unsafe { z::libdeflate_deflate_compress_bound(packer, input.len()) };
        try_reserve(output, most)?;
        let room = output.spare_capacity_mut();
        // SAFETY: both pointers are good for the lengths that go with them. With room for the bound,
        // it cannot fail, and says how many bytes of the room it has initialised.
        unsafe {
            let count = z::libdeflate_deflate_compress(
                packer,
                input.as_ptr().cast(),
                input.len(),
                room.as_mut_ptr().cast(),
                room.len(),
            );
            output.set_len(output.len() + count);
        }
        Ok(())
    }
}

impl Drop for Packer {
    fn drop(&mut self) {
        // SAFETY: it was allocated by libdeflate and is not used again.
        unsafe { z::libdeflate_free_compressor(self.0.as_ptr()) };
    }
}

/// Inflates.
pub struct Unpacker(NonNull<z::libdeflate_decompressor>);

// SAFETY: as for the compressor.
unsafe impl Send for Unpacker {}

impl Unpacker {
    /// A decompressor, if there is memory for it.
    pub fn new() -> Option<Self> {
        // SAFETY: there are no preconditions.
        NonNull::new(unsafe { z::libdeflate_alloc_decompressor() }).map(Self)
    }

    /// What raw deflate blocks inflate to, if that is exactly `length` bytes, and `input` holds nothing
    /// else. So much memory is reserved at once: a length that somebody else says must have been judged.
    pub fn unpack(&mut self, input: &[u8], length: usize) -> Option<Vec<u8>> {
        let mut output = Vec::<u8>::new();
        output.try_reserve_exact(length).ok()?;
        let mut consumed = 0;
        // SAFETY: all pointers are good for the lengths that go with them. Without a place for the number
        // of bytes that came out, anything but a full output is an error.
        let result = unsafe {
            z::libdeflate_deflate_decompress_ex(
                self.0.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                output.as_mut_ptr().cast(),
                length,
                &raw mut consumed,
                std::ptr::null_mut(),
            )
        };
        if result != z::libdeflate_result_LIBDEFLATE_SUCCESS || consumed != input.len() {
            return None;
        }
        // SAFETY: the room is of this length at least, and all of it was filled.
        unsafe { output.set_len(length) };
        Some(output)
    }
}

impl Drop for Unpacker {
    fn drop(&mut self) {
        // SAFETY: it was allocated by libdeflate and is not used again.
        unsafe { z::libdeflate_free_decompressor(self.0.as_ptr()) };
    }
}

/// The CRC-32 of gzip.
pub fn crc32(bytes: &[u8]) -> u32 {
    // SAFETY: the pointer is good for the length; a null pointer, which would ask for the initial value,
    // a slice never has.
    unsafe { z::libdeflate_crc32(0, bytes.as_ptr().cast(), bytes.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_packed_comes_out_again(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20),
            level in 0..=12,
        ) {
            let input = pieces.iter().flat_map(|piece| [piece.clone(), piece.clone()].concat()).collect::<Vec<u8>>();
            let mut packed = b"before".to_vec();
            Packer::new(level).unwrap().pack(&input, &mut packed).unwrap();
            let packed = packed.strip_prefix(b"before").unwrap();
            let mut unpacker = Unpacker::new().unwrap();
            // Neither more nor less of anything will do.
            let size = input.len();
            prop_assert_eq!(unpacker.unpack(&[packed, b"x"].concat(), size), None);
            prop_assert_eq!(unpacker.unpack(&packed[..packed.len() - 1], size), None);
            prop_assert_eq!(unpacker.unpack(packed, size + 1), None);
            prop_assert!(size == 0 || unpacker.unpack(packed, size - 1).is_none());
            prop_assert_eq!(unpacker.unpack(packed, size), Some(input));
        }

        #[test]
        fn any_bytes_are_refused_or_inflated(input: Vec<u8>, size in 0usize..1000) {
            let output = Unpacker::new().unwrap().unpack(&input, size);
            prop_assert!(output.is_none_or(|output| output.len() == size));
        }
    }

    #[test]
    fn other_levels_do_not_exist() {
        assert!(Packer::new(-2).is_err());
        assert!(Packer::new(13).is_err());
    }

    #[test]
    fn the_published_check_of_crc_32() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }
}
