//! Shortcuts for records that repeat the shape of the last one.
//!
//! `value_offsets` remembers where values stood; `feature` and `steps` compare instead of parsing. Whatever
//! differs goes the long way, which gives the same result.

pub(crate) mod feature;
pub(crate) mod steps;
pub(crate) mod value_offsets;
