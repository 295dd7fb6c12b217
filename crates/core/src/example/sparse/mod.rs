//! Sparse tensors: the order of their indices, and their rows.
//!
//! Slices in, vectors out. Uses `runtime` only.

pub mod order;
pub mod rows;
