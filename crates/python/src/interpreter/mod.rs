//! The interpreter: locks that its threads wait for, forks, and objects of bytes.

pub mod bytes;
pub mod forks;
pub mod shared;
pub mod turn;
