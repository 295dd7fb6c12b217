//! What running needs, and nothing about records: memory, threads, signals, forks, processors.
//!
//! * `memory`: an allocator that reuses freed blocks, and vectors that report missing memory.
//! * `ordered_workers`: threads that work on a sequence of jobs; results come in order.
//! * `interrupt`: long loops ask whether the user has pressed Ctrl-C.
//! * `fork`: what a forked child must not touch.
//! * `simd`: whether the processor has the instructions that fast loops want.
//!
//! Everything may use this room; it uses only `crate::error`.

pub mod fork;
pub mod interrupt;
#[cfg(target_arch = "x86_64")]
pub(crate) mod lanes;
pub mod memory;
pub mod ordered_workers;
pub mod simd;
