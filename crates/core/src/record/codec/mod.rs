//! Compression: bytes in, bytes out, whatever stands in them.
//!
//! * `compression`: the table of codecs; `detect` knows them by first bytes; `source` is what readers use.
//! * `streams`: one compressed stream after the other; `parallel` decompresses members on several threads.
//! * `checkpoints`: places from which a compressed stream can be decompressed, for random access.
//! * `zlib`, `libdeflate`, `inflate_blocks`, `gzip_member`: the C and Rust libraries below, and the
//!   members of gzip that say how long they are.
//!
//! Uses `storage`, `format` and `runtime`.

pub mod checkpoints;
pub mod compression;
pub(crate) mod detect;
pub mod gzip_member;
pub(crate) mod inflate_blocks;
pub(crate) mod input;
pub(crate) mod libdeflate;
pub(crate) mod parallel;
pub(crate) mod read_ahead;
pub mod source;
pub(crate) mod streams;
pub mod zlib;
