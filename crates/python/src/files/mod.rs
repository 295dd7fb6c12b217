//! Files of records: readers, writers, indexes, salvage, and what is known of files.

pub mod foreign;
pub mod indexed;
pub mod pipe;
pub mod reader;
pub mod records;
pub mod salvage;
pub mod samples;
pub mod sequence;
pub mod whole;
pub mod writer;
