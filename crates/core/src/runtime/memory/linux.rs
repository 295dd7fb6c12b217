//! Memory straight from the system.

use std::ffi::{c_int, c_long, c_void};
use std::ptr;

/// The least that is kept.
pub const LEAST: usize = 4 << 10;

/// From how many bytes on memory comes from here.
pub const LARGE: usize = 256 << 10;

/// The size of a large page.
const PAGE: usize = 2 << 20;

const PROT_READ_WRITE: c_int = 1 | 2;
const MAP_PRIVATE_ANONYMOUS: c_int = 0x02 | 0x20;
const MADV_HUGEPAGE: c_int = 14;
const MREMAP_MAYMOVE: c_int = 1;

unsafe extern "C" {
    fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: c_long,
    ) -> *mut c_void;
    fn munmap(address: *mut c_void, length: usize) -> c_int;
    fn mremap(address: *mut c_void, length: usize, new: usize, flags: c_int, ...) -> *mut c_void;
    fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
}

/// Returns `size` bytes, all zero; of which `used` will be used at first; null if there is no memory.
pub fn map(size: usize, used: usize) -> *mut u8 {
    if used < PAGE {
        return map_anywhere(size);
    }
    let Some(enough) = size.checked_add(PAGE) else {
        return ptr::null_mut();
    };
    let start = map_anywhere(enough);
    if start.is_null() {
        return start;
    }
    // Large pages begin at multiples of their size: what is before the first, and after, goes back.
    let skipped = start.align_offset(PAGE);
    // SAFETY: all of it lies in what was just mapped.
    unsafe {
        let block = start.add(skipped);
        unmap(start, skipped);
        unmap(block.add(size), PAGE - skipped);
        // Only for pages that will mostly be filled: a large one takes all of its memory at once. That the
        // advice is not taken is no error.
        let filled = (used + PAGE / 2) / PAGE * PAGE;
        madvise(block.cast(), filled.min(size), MADV_HUGEPAGE);
        block
    }
}

fn map_anywhere(size: usize) -> *mut u8 {
    // SAFETY: new memory, at an address of the system's choice.
    let start = unsafe {
        mmap(
            ptr::null_mut(),
            size,
            PROT_READ_WRITE,
            MAP_PRIVATE_ANONYMOUS,
            -1,
            0,
        )
    };
    or_null(start)
}

/// Gives memory back.
///
/// # Safety
/// It was mapped, and nobody uses it any more.
pub unsafe fn unmap(address: *mut u8, size: usize) {
    if size > 0 {
        // SAFETY: the caller's.
        unsafe { munmap(address.cast(), size) };
    }
}

/// The same block with more, or fewer, bytes; null, and nothing has changed, if that cannot be: if there are
/// none, or if only a part of it is in large pages.
///
/// # Safety
/// It was mapped, and nobody but the caller uses it.
pub unsafe fn remap(address: *mut u8, size: usize, new: usize) -> *mut u8 {
    // SAFETY: the caller's.
    or_null(unsafe { mremap(address.cast(), size, new, MREMAP_MAYMOVE) })
}

/// The system's way to say that there is no memory is an address of all ones.
fn or_null(address: *mut c_void) -> *mut u8 {
    if address.addr() == usize::MAX {
        return ptr::null_mut();
    }
    address.cast()
}
