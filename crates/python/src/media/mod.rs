//! Images.

pub mod png;
pub mod resize;
