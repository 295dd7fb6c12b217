//! Where records meet examples: files in, batches out, on several threads.
//!
//! * `scan`: batches of consecutive records; `output`: what becomes of each, records or columns (`batch_decoder`).
//! * `gather`: batches of records by number, in any order; compressed blocks are cached (`block_cache`).
//! * `order`: the computed order of a shuffle, over `permutation`s.
//!
//! Uses `record`, `example` and `runtime`; only the binding uses this room.

pub(crate) mod batch_decoder;
pub mod batch_part;
pub(crate) mod block_cache;
pub mod gather;
pub mod order;
pub mod output;
pub mod permutation;
pub(crate) mod pick;
pub(crate) mod pool;
pub mod scan;
pub mod sound;
