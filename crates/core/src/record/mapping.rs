//! A file as memory.
#![allow(
    unsafe_code,
    reason = "what a mapped file holds, others may change; the one use says what follows from that"
)]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// All of a file, mapped into memory.
pub struct Mapping(Mmap);

impl Mapping {
    /// Maps the file as long as it is now.
    ///
    /// # Errors
    /// Of the operating system, if this file cannot be mapped.
    pub fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the bytes are copied out once, by `memcpy`, and only the copy is looked at; who writes into
        // the file meanwhile makes the copy wrong, which its checksum tells. Where the file ends before
        // the mapping, the system ends the process: so mapping is only for who asks for it.
        unsafe { Mmap::map(file) }.map(Self)
    }

    /// The bytes that the file had.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}
