//! `TFRecord` files ⇄ Arrow columns, in two halves that do not know each other.
//!
//! [`record`] turns files into records (byte strings) and back, and never looks inside one.
//! [`example`] turns records that hold `tf.train.Example` messages into Arrow columns and back, and
//! never opens a file. They meet in [`pipeline`]. Beside them, [`image`] decodes and resizes pixels, and
//! [`runtime`] has what all of them run on. All report trouble as an [`Error`]: what is wrong and where.
//!
//! Nothing here knows Python. Any bytes in give a result or an [`Error`] with a position: never a
//! panic, and never an allocation that the input does not justify.

pub mod error;
pub mod example;
pub mod image;
pub mod pipeline;
pub mod record;
pub mod runtime;

pub use error::{Category, Error, ErrorKind, Result};
