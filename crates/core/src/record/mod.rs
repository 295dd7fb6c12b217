//! Files ⇄ records. A record is a byte string; what is in it is of no concern here.
//!
//! ```text
//! storage   where bytes live             format   frame, checksums, limits of one record
//!    └──────────┬───────────────────────────┘
//!             codec    compression
//!               │
//!             read     records in order, header scans
//!        ┌──────┼──────────┬──────────────┐
//!      index  write     salvage     other_formats
//! ```
//!
//! Arrows go down this picture only. `index` is random access, `salvage` what damage has left, `other_formats`
//! lines of text and records of one length.

pub mod codec;
pub mod format;
pub mod index;
pub mod other_formats;
pub mod read;
pub mod salvage;
pub mod storage;
pub mod write;

pub use codec::compression::Compression;
pub use codec::zlib::DeflateOptions;
pub use format::limits::{Limits, MAX_DECOMPRESSED_BYTES, MAX_RECORD_BYTES};
pub use index::indexed_file::IndexedFile;
pub use index::indexed_records::Sequence;
pub use read::buffer::BufferPool;
pub use read::reader::{ReadOptions, RecordReader};
pub use read::records::{Origin, Picked, Records, Span};
pub use read::unread::{Extent, HeaderScanner};
pub use write::destination::Mode;
pub use write::digest::Digest;
pub use write::writer::{RecordWriter, WriteOptions};
