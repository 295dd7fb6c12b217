//! Where bytes live: local files, mapped or not, and what distinguishes one file from another.
//!
//! The lowest room of `record`: it knows files and their owners, and nothing about frames or codecs. Uses
//! `runtime` only.

pub mod identity;
pub(crate) mod mmap;
pub mod permissions;
pub(crate) mod read_at;
pub(crate) mod user;
