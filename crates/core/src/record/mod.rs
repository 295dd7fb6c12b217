//! Files ⇄ records.
//!
//! A record is a byte string; what is in it is of no concern here. From the bottom up: [`crc`] and
//! [`frame`] know the format of one record, [`sniff`] and [`compression`] turn a file's bytes into a
//! stream of frames, [`reader`] (with its buffer) and [`records`] hand out records one by one or in
//! batches, [`extent`] finds them without reading them; on the way
//! back [`writer`] frames, [`deflate`] and [`member`] compress, [`publish`] decides when a file gets its name;
//! a [`digest`] is by which a file's records are known again.

pub mod access;
mod ahead;
mod append;
mod behind;
mod buffer;
pub mod checkpoints;
pub mod compression;
pub mod crc;
pub mod deflate;
pub mod digest;
mod disk;
pub mod extent;
pub mod foreign;
pub mod frame;
pub mod identity;
pub mod index;
pub mod indexed;
mod inflate;
mod inflated;
mod libdeflate;
mod limits;
mod lock;
mod mapping;
pub mod member;
mod members;
mod mend;
mod outlet;
pub mod permissions;
pub mod publication;
pub mod publish;
pub mod reader;
pub mod records;
pub mod salvage;
pub mod segments;
pub mod sequence;
mod sibling;
pub mod sniff;
mod sorting;
mod streams;
mod user;
pub mod walk;
pub mod whole;
mod writeback;
pub mod writer;

pub use buffer::Lent;
pub use compression::Compression;
pub use deflate::DeflateOptions;
pub use digest::Digest;
pub use extent::{Extent, Hops};
pub use indexed::IndexedFile;
pub use limits::{Limits, MAX_DECOMPRESSED_BYTES, MAX_RECORD_BYTES};
pub use publish::Mode;
pub use reader::{ReadOptions, RecordReader};
pub use records::{Origin, Picked, Records, Span};
pub use sequence::Sequence;
pub use writer::{RecordWriter, WriteOptions};
