//! Columns and arrays: Arrow from and to other libraries, and functions over whole columns.

pub mod arrow;
pub mod borrowed;
pub mod columns;
pub mod decode;
pub mod encode;
pub mod lists;
pub mod places;
pub mod raw;
pub mod rows;
pub mod sparse;
pub mod tensor;
