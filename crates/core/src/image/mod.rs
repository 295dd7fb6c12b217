//! Pixels: `png` decodes images that lie in a feature, `resize` brings images to one size.
//!
//! Slices in, slices out. Uses `runtime` only.

pub mod png;
pub mod resize;
