//! What a plan consists of.

use crate::error::ErrorKind;

/// A step of the way on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// These bytes are lost.
    Skip(u64, u64, ErrorKind),
    /// Sound records from here to there, or on and on.
    Run(u64, Option<u64>),
    /// One record, whose header is damaged.
    Mended(u64, u64),
}
