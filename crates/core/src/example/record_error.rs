//! Goes through records, some at a time, and says about which one an error is.

use arrow_schema::ArrowError;

use crate::error::{Error, Result};
use crate::runtime::interrupt::Pulse;

/// An error, and the place among the records of the one it was found in (none if in the request).
#[derive(Debug)]
pub struct RecordError {
    /// The record's place.
    pub index: Option<usize>,
    /// What is wrong.
    pub error: Error,
}

impl RecordError {
    /// The same, with `count` more records before.
    pub(crate) fn shifted(mut self, count: usize) -> Self {
        self.index = self.index.map(|index| index + count);
        self
    }

    /// What says itself where it was found, or was not found in a record.
    #[must_use]
    pub fn located(error: Error) -> Self {
        Self { index: None, error }
    }

    /// What is wrong with the record at place `index`.
    #[must_use]
    pub fn at(index: usize, error: Error) -> Self {
        Self {
            index: Some(index),
            error,
        }
    }
}

impl From<ArrowError> for RecordError {
    fn from(error: ArrowError) -> Self {
        Self::located(Error::spec(error.to_string()))
    }
}

/// How many bytes are decoded between two looks at the clock.
const PULSE_BYTES: usize = 1 << 20;

/// Calls `decode_row` with every record and its place, and looks after signals now and then.
///
/// # Errors
/// Those of `decode_row`, with the place; a signal that says to stop.
pub fn for_each_row<'a>(
    records: impl Iterator<Item = &'a [u8]>,
    mut decode_row: impl FnMut(&'a [u8], usize) -> Result<()>,
) -> Result<(), RecordError> {
    for_each_group(records, |group, first| {
        for (place, record) in group.iter().enumerate() {
            let decoded = decode_row(record, first + place);
            decoded.map_err(|error| RecordError::at(place, error))?;
        }
        Ok(())
    })
}

/// The most records in a group, and after how many bytes it ends: so few that they are still in the
/// processor's cache when they are read a second time.
const GROUP: usize = 512;
const GROUP_BYTES: usize = 128 << 10;

/// Calls `decode_rows` with some records at a time and the place of the first, and looks after signals now and
/// then.
///
/// # Errors
/// Those of `decode_rows`, with the place among all records; a signal that says to stop.
pub fn for_each_group<'a>(
    mut records: impl Iterator<Item = &'a [u8]>,
    mut decode_rows: impl FnMut(&[&'a [u8]], usize) -> Result<(), RecordError>,
) -> Result<(), RecordError> {
    let (mut pulse, mut unasked) = (Pulse::start(), 0);
    let (mut group, mut first) = (Vec::new(), 0);
    loop {
        let mut bytes = 0;
        group.clear();
        while group.len() < GROUP
            && bytes < GROUP_BYTES
            && let Some(record) = records.next()
        {
            bytes += record.len() + 1;
            group.push(record);
        }
        if group.is_empty() {
            return Ok(());
        }
        unasked += bytes;
        if unasked > PULSE_BYTES {
            unasked = 0;
            pulse
                .check()
                .map_err(|signal| RecordError::located(signal.into()))?;
        }
        decode_rows(&group, first).map_err(|error| error.shifted(first))?;
        first += group.len();
    }
}
