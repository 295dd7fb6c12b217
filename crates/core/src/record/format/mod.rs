//! The format of one record: its frame, checksums and limits, and what other files look like.
//!
//! ```text
//! uint64 length   uint32 masked CRC-32C of the length   data   uint32 masked CRC-32C of the data
//! ```
//!
//! Slices in, slices out; nothing here reads a file. Uses `runtime` only.

pub mod crc;
pub mod frame;
pub(crate) mod limits;
pub mod sniff;
