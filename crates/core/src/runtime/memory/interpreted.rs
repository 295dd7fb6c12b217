//! Where Miri looks on, who does not know the system's calls: large blocks from the allocator that it knows.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;

pub const LEAST: usize = 4 << 10;
pub const LARGE: usize = 256 << 10;

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size, LEAST).ok()
}

pub fn map(size: usize, _used: usize) -> *mut u8 {
    // SAFETY: the size is not zero.
    layout(size).map_or(ptr::null_mut(), |layout| unsafe {
        System.alloc_zeroed(layout)
    })
}

/// # Safety
/// It was mapped, and nobody uses it any more.
pub unsafe fn unmap(address: *mut u8, size: usize) {
    if let Some(layout) = layout(size) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(address, layout) };
    }
}

/// # Safety
/// It was mapped, and nobody but the caller uses it.
pub unsafe fn remap(address: *mut u8, size: usize, new: usize) -> *mut u8 {
    // SAFETY: the caller's.
    layout(size).map_or(ptr::null_mut(), |layout| unsafe {
        System.realloc(address, layout, new)
    })
}
