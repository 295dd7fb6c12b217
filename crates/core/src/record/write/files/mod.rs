//! Files that are being written: under temporary names, locked, and published at once.
//!
//! * `temp_file`: a file that gets its name when it is complete; a `lock` keeps a second writer out.
//! * `whole_file`: a small file, written at once; `publication`: several files that get their names together.
//! * `fs`: every call to the file system that writes, so that tests can make any of them fail; `writeback`
//!   asks the system to begin writing early.
//!
//! Uses `storage`, `format` and `runtime`.

pub(crate) mod fs;
pub(crate) mod lock;
pub mod publication;
pub(crate) mod temp_file;
pub mod whole_file;
pub(crate) mod writeback;
