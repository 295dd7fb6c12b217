//! Records up to an error: what is sound before it is worth having.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::record::Records;

/// Records, and why there are no more of them.
pub struct Sound {
    /// The records, at least one.
    pub records: Records,
    /// The error after them.
    pub error: Option<Error>,
}

/// All `len` records that `read` reads; with `partial`, if it cannot, those before the first that it cannot read.
///
/// # Errors
/// Of `read`, if there is no record before.
pub(crate) fn up_to_error(
    len: usize,
    partial: bool,
    mut read: impl FnMut(Range<usize>) -> Result<Records>,
) -> Result<Sound> {
    match read(0..len) {
        Ok(records) => Ok(Sound {
            records,
            error: None,
        }),
        Err(error) if !partial || len < 2 || error.is_interrupt() => Err(error),
        Err(_) => one_by_one(len, read),
    }
}

fn one_by_one(len: usize, mut read: impl FnMut(Range<usize>) -> Result<Records>) -> Result<Sound> {
    let (mut sound, mut failed) = (Vec::new(), None);
    for index in 0..len {
        match read(index..index + 1) {
            Ok(record) => sound.push(record),
            Err(error) if sound.is_empty() => return Err(error),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    Ok(Sound {
        records: joined(sound)?,
        error: failed,
    })
}

/// The same records as one batch.
pub(crate) fn joined(parts: Vec<Records>) -> Result<Records> {
    match <[Records; 1]>::try_from(parts) {
        Ok([records]) => Ok(records),
        Err(parts) => Records::concat(&parts),
    }
}
