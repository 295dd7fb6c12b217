//! What is asked of salvage, and what comes of it.

use crate::error::Error;
use crate::record::codec::compression::Compression;
use crate::record::format::limits::Limits;
use crate::record::read::records::Records;

/// What to forgive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SalvageMode {
    /// Nothing: the first damage is an error.
    Strict,
    /// A record that the end of the file cuts off, and nothing else.
    TolerateTail,
    /// Everything, within the limits.
    #[default]
    SkipCorrupt,
}

/// How to salvage.
#[derive(Clone, Copy, Debug, Default)]
pub struct SalvageOptions {
    /// What to forgive.
    pub mode: SalvageMode,
    /// The compression; `None` decides from the file's first bytes.
    pub compression: Option<Compression>,
    /// More lost bytes than these are an error.
    pub max_lost_bytes: Option<u64>,
    /// More lost records than these are an error. How many a region held is not known; it counts as one.
    pub max_lost_records: Option<u64>,
    /// What is too much.
    pub limits: Limits,
}

/// Bytes that hold no record any more: offsets in the file, or, where it is compressed, in what comes out of
/// it. Where nothing is missing but a compressed stream is not sound, a region is empty.
#[derive(Clone, Debug)]
pub struct SkippedRegion {
    /// The first byte.
    pub begin: u64,
    /// The byte after the last one.
    pub end: u64,
    /// What is wrong there.
    pub reason: Error,
}

/// A piece of a file.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Sound records.
    Records(Records),
    /// A region without any.
    Skipped(SkippedRegion),
}

/// What has been lost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// How many bytes.
    pub bytes: u64,
    /// How many regions.
    pub regions: u64,
    /// How many records were not lost, although their headers are damaged.
    pub mended: u64,
}

impl Lost {
    /// Whether more is lost than the options allow.
    #[must_use]
    pub fn exceeds(&self, options: &SalvageOptions) -> bool {
        let is_beyond = |lost: u64, most: Option<u64>| most.is_some_and(|most| lost > most);
        is_beyond(self.bytes, options.max_lost_bytes)
            || is_beyond(self.regions, options.max_lost_records)
    }
}
