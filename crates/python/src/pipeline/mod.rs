//! Batches of files on several threads: what to read, in which order, and what becomes of it.

pub mod batches;
pub mod gather;
pub mod meter;
pub mod options;
pub mod order;
pub mod scan;
