//! `TFRecord` files ⇄ Arrow columns, in two halves that do not know each other.
//!
//! [`record`] turns files into records (byte strings) and back, and never looks inside one.
//! [`example`] turns records that hold `tf.train.Example` messages into Arrow columns and back, and
//! never opens a file. Beside them, [`png`] decodes images that lie in a feature, and [`resize`] makes
//! images of one size. All report trouble as an [`Error`]: what is wrong and where. Both halves compile some loops for the newest processors ([`vectors`]).
//!
//! Nothing here knows Python. Any bytes in give a result or an [`Error`] with a position: never a
//! panic, and never an allocation that the input does not justify.

pub mod error;
pub mod example;
pub mod forks;
pub mod gather;
pub mod interrupt;
#[cfg(target_arch = "x86_64")]
mod lanes;
pub mod memory;
pub mod order;
pub mod ordered;
pub mod permute;
pub mod png;
pub mod record;
pub mod resize;
pub mod scan;
pub mod vectors;

pub use error::{Category, Error, ErrorKind, Result};
