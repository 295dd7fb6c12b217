//! Records → files, which appear whole or not at all.
//!
//! * `writer`: the public face, `open` how it begins; `frame_encoder` and `gzip_members` turn records into the
//!   file's bytes.
//! * `destination`: where they go: a file that gets its name at the end, a pipe, a device; written by a thread of its
//!   own (`background`) where that pays. `files` has what all files need that are being written.
//! * `append`, `rewrite_truncated_gzip`: files that exist already. `digest`: how a file is known again.
//!
//! Uses `storage`, `format`, `codec`, `read` and `runtime`.

pub(crate) mod append;
pub(crate) mod background;
pub mod destination;
pub mod digest;
pub mod files;
pub(crate) mod frame_encoder;
pub(crate) mod gzip_members;
pub(crate) mod open;
pub(crate) mod rewrite_truncated_gzip;
pub mod writer;
