//! Files → records, from the beginning to the end.
//!
//! * `reader`: one record after the other, checked; `buffer` holds the bytes it looks at.
//! * `records`: batches of records, which share one buffer.
//! * `header_scan`: goes from header to header without reading the data; `parallel_header_scan` does so on
//!   several threads, and `unread` says what lies ahead.
//!
//! Uses `storage`, `format`, `codec` and `runtime`.

pub(crate) mod buffer;
pub mod header_scan;
pub mod parallel_header_scan;
pub mod reader;
pub mod records;
pub mod unread;
