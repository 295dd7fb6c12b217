//! What the fuzz targets share: the comparison, which belongs to the core's tests, and the mutator.

#[path = "../../crates/core/tests/agreement/mod.rs"]
pub mod agreement;
pub mod mutate;
#[path = "../../crates/core/tests/salvage/check.rs"]
pub mod reading;
pub mod tree;

#[global_allocator]
static ALLOCATOR: agreement::memory::Counting = agreement::memory::Counting;
