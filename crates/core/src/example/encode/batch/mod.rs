//! Whole batches → records: blocks of rows, written column by column into slots.
//!
//! `blocks` divides rows; `header` makes the bytes before each value, `values` the values, `slots` is the
//! memory they are written to, `kernels` are the loops, compiled for each kind of processor
//! (`cpu`); integers are the costliest (`put_varints`).

pub(crate) mod blocks;
pub(crate) mod cpu;
pub(crate) mod header;
pub(crate) mod kernels;
pub(crate) mod put_varints;
pub(crate) mod slots;
pub(crate) mod values;
