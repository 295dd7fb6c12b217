//! An allocator that keeps what is freed, and gives it out again.
//!
//! Batches come and go, each with buffers of kilobytes and megabytes. The system takes such memory back as
//! soon as it is free, and clears it page by page when it is next written to, which costs more than the
//! writing. So blocks that are free again are kept, and the one that came back last goes out first: it is
//! the likeliest to be in the processor's cache still. When more than 64 MB are free, all of
//! them go back. What is large comes in pages of 2 MB where it fills such: clearing one costs a fraction
//! of clearing 512 small ones.
//!
//! Who links the core may make this the global allocator; nothing in the core depends on it. Small blocks,
//! and all blocks on other systems than Linux, are the business of the system's allocator.
#![allow(
    unsafe_code,
    reason = "an allocator deals in addresses; each use says why it is sound"
)]

use std::alloc::{self, GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::hint;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg_attr(miri, path = "memory/interpreted.rs")]
#[cfg_attr(all(target_os = "linux", not(miri)), path = "memory/linux.rs")]
#[cfg_attr(not(any(target_os = "linux", miri)), path = "memory/elsewhere.rs")]
mod pages;
mod reserve;
mod size;
#[cfg(test)]
mod tests;

use crate::error::{ErrorKind, Result};
use size::{LARGEST, SIZES, Size};

/// The most bytes that are kept free: about those of the batches that are in the making at a time.
const MOST_KEPT: usize = 64 << 20;

/// How often to look whether another thread has done with the list of free blocks, before doing without.
/// It has in no time, unless it went missing in a fork.
const PATIENCE: usize = 100;

/// The system's allocator, and blocks that are used again.
///
/// ```
/// use tfrecs_core::memory::Memory;
///
/// #[global_allocator]
/// static MEMORY: Memory = Memory::new();
///
/// let (ones, zeros) = (vec![1_u8; 1 << 20], vec![0_u8; 1 << 20]);
/// drop(ones);
/// assert!(vec![0_u8; 1 << 20] == zeros);
/// ```
pub struct Memory {
    is_busy: AtomicBool,
    free: UnsafeCell<Free>,
}

// SAFETY: `free` is touched only by who has set `is_busy`.
unsafe impl Sync for Memory {}

/// The free blocks: of each size the one that came last, in which the address of the one before stands.
struct Free {
    last: [*mut u8; SIZES],
    bytes: usize,
}

/// Where in a free block the address of another one stands.
#[allow(clippy::cast_ptr_alignment, reason = "blocks are aligned to more")]
fn link_in(block: *mut u8) -> *mut *mut u8 {
    block.cast()
}

impl Free {
    const NONE: Self = Self {
        last: [ptr::null_mut(); SIZES],
        bytes: 0,
    };

    /// A free block of this size, if there is one.
    fn take(&mut self, size: Size) -> Option<*mut u8> {
        let last = self.last.get_mut(size.index())?;
        if last.is_null() {
            return None;
        }
        let block = *last;
        // SAFETY: an address was written there when the block was kept, and nobody has had it since.
        *last = unsafe { link_in(block).read() };
        self.bytes -= size.bytes;
        Some(block)
    }

    /// Keeps a block of this size, if there is room, and says whether.
    ///
    /// # Safety
    /// Nobody uses the block any more, and it is aligned for an address.
    unsafe fn keep(&mut self, block: *mut u8, size: Size) -> bool {
        let Some(last) = self.last.get_mut(size.index()) else {
            return false;
        };
        if self.bytes + size.bytes > MOST_KEPT {
            return false;
        }
        // SAFETY: the caller's.
        unsafe { link_in(block).write(*last) };
        *last = block;
        self.bytes += size.bytes;
        true
    }
}

impl Memory {
    /// An allocator that keeps nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            is_busy: AtomicBool::new(false),
            free: UnsafeCell::new(Free::NONE),
        }
    }

    /// Does `work` with the free blocks; none if another thread does not let go of them.
    #[inline]
    fn with_free<R>(&self, work: impl FnOnce(&mut Free) -> R) -> Option<R> {
        let is_ours = (0..PATIENCE).any(|_| {
            let was_busy = self.is_busy.swap(true, Ordering::Acquire);
            if was_busy {
                hint::spin_loop();
            }
            !was_busy
        });
        if !is_ours {
            return None;
        }
        // SAFETY: whoever comes now has to wait for `is_busy`, and `work` neither panics nor allocates.
        let done = work(unsafe { &mut *self.free.get() });
        self.is_busy.store(false, Ordering::Release);
        Some(done)
    }

    /// Gives all free blocks back.
    #[cold]
    fn clear(&self) {
        for index in 0..SIZES {
            let size = Size::at(index);
            while let Some(block) = self.take(size) {
                // SAFETY: it is of that size, was free, and is on no list any more.
                unsafe { size.drop_block(block) };
            }
        }
    }

    /// Keeps a block, or gives it back.
    ///
    /// # Safety
    /// [`Size::new_block`] of this size made it, and nobody uses it any more.
    unsafe fn give(&self, block: *mut u8, size: Size) {
        // SAFETY: the caller's; blocks are aligned to more than an address is.
        let keep = || self.with_free(|free| unsafe { free.keep(block, size) });
        let is_kept = size.bytes < 1 << LARGEST
            && keep().is_some_and(|is_kept| {
                is_kept || {
                    self.clear();
                    keep() == Some(true)
                }
            });
        if !is_kept {
            // SAFETY: the caller's.
            unsafe { size.drop_block(block) };
        }
    }

    /// A free block of this size, if there is one.
    #[inline]
    fn take(&self, size: Size) -> Option<*mut u8> {
        self.with_free(|free| free.take(size))?
    }
}

impl Memory {
    /// Moves what is at `from` to `to`, which has `size` bytes, and frees the memory there; nothing happens if
    /// there is no `to`.
    ///
    /// # Safety
    /// Both have as many bytes, and belong to the caller.
    unsafe fn moved(&self, from: *mut u8, layout: Layout, to: *mut u8, size: usize) -> *mut u8 {
        if !to.is_null() {
            // SAFETY: the caller's, of as many bytes as both have.
            unsafe { ptr::copy_nonoverlapping(from, to, layout.size().min(size)) };
            // SAFETY: the caller's.
            unsafe { self.dealloc(from, layout) };
        }
        to
    }
}

/// So many zeros, if there is memory for them.
///
/// ```
/// assert_eq!(tfrecs_core::memory::zeros(3), Some(vec![0; 3]));
/// assert_eq!(tfrecs_core::memory::zeros(usize::MAX), None);
/// ```
#[must_use]
pub fn zeros(size: usize) -> Option<Vec<u8>> {
    if size == 0 {
        return Some(Vec::new());
    }
    let layout = Layout::array::<u8>(size).ok()?;
    // SAFETY: the size is not zero.
    let start = unsafe { alloc::alloc_zeroed(layout) };
    if start.is_null() {
        return None;
    }
    // SAFETY: it comes from the allocator that boxes use, with the layout of so many bytes, all zero.
    let all = unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(start, size)) };
    Some(all.into_vec())
}

impl Memory {
    /// A new block, after all else: with what is kept free given back, and from the reserve.
    #[cold]
    fn last_resort(&self, size: Option<Size>, layout: Layout, zeroed: bool) -> *mut u8 {
        self.clear();
        let block = match size {
            Some(size) => size.new_block(layout.size(), zeroed),
            // SAFETY: the caller's, whose layout it is.
            None => unsafe { System.alloc_zeroed(layout) },
        };
        if !block.is_null() {
            return block;
        }
        let block = reserve::alloc(layout);
        if zeroed && !block.is_null() {
            // SAFETY: the block is as large as that, and ours.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    #[inline]
    fn or_last(&self, block: *mut u8, size: Option<Size>, layout: Layout, zeroed: bool) -> *mut u8 {
        if block.is_null() {
            self.last_resort(size, layout, zeroed)
        } else {
            block
        }
    }
}

/// Fails if there is no memory for so many bytes more: before work begins that cannot say so itself.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
pub fn check_room(size: usize) -> Result<()> {
    let none = || ErrorKind::OutOfMemory(size).into();
    let layout = Layout::array::<u8>(size).map_err(|_| none())?;
    let Some(size) = Size::of(layout).filter(|size| size.is_large()) else {
        return Ok(()); // so little that the reserve has it
    };
    let block = size.new_block(0, false);
    if block.is_null() {
        return Err(none());
    }
    // SAFETY: a new block of this size; it is freed at once, so nothing refers to it.
    unsafe { size.drop_block(block) };
    Ok(())
}

/// Allocate `len` zeros.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
pub fn try_zeros(size: usize) -> Result<Vec<u8>> {
    zeros(size).ok_or_else(|| ErrorKind::OutOfMemory(size).into())
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: a block comes from where its layout says: the system's allocator, or, for all layouts of one
// `Size`, a block of that size, new or kept, which has room for the layout and is aligned to more.
unsafe impl GlobalAlloc for Memory {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = Size::of(layout);
        let block = match size {
            // SAFETY: the caller's.
            None => unsafe { System.alloc(layout) },
            Some(size) => (self.take(size)).unwrap_or_else(|| size.new_block(layout.size(), false)),
        };
        self.or_last(block, size, layout, false)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(size) = Size::of(layout) else {
            // SAFETY: the caller's.
            let block = unsafe { System.alloc_zeroed(layout) };
            return self.or_last(block, None, layout, true);
        };
        let Some(block) = self.take(size) else {
            let block = size.new_block(layout.size(), true);
            return self.or_last(block, Some(size), layout, true);
        };
        // SAFETY: the block is as large as that, and ours.
        unsafe { block.write_bytes(0, layout.size()) };
        block
    }

    #[inline]
    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        match Size::of(layout) {
            _ if reserve::owns(address) => reserve::release(address, layout),
            // SAFETY: the caller's; blocks of this layout come from there.
            None => unsafe { System.dealloc(address, layout) },
            // SAFETY: as above.
            Some(size) => unsafe { self.give(address, size) },
        }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller says that `new_size` makes a layout.
        let wanted = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        match (Size::of(layout), Size::of(wanted)) {
            // SAFETY: both have as many bytes as their layouts say.
            _ if reserve::owns(address) => unsafe {
                self.moved(address, layout, self.alloc(wanted), new_size)
            },
            (None, None) => {
                // SAFETY: the caller's.
                let block = unsafe { System.realloc(address, layout, new_size) };
                if !block.is_null() {
                    return block;
                }
                // SAFETY: nothing has changed; both have as many bytes as their layouts say.
                unsafe { self.moved(address, layout, self.alloc(wanted), new_size) }
            }
            (Some(size), Some(new)) if size == new => address,
            (Some(size), Some(new)) if size.is_large() && new.is_large() => {
                let kept = self.take(new);
                // SAFETY: a block of that size, that only the caller knows of.
                let remap = || unsafe { pages::remap(address, size.bytes, new.bytes) };
                let other = kept.unwrap_or_else(remap);
                if kept.is_none() && !other.is_null() {
                    return other;
                }
                let other = if other.is_null() {
                    // All of it in large pages, so that it can be moved as it is when it grows again.
                    let block = new.new_block(new.bytes, false);
                    self.or_last(block, Some(new), wanted, false)
                } else {
                    other
                };
                // SAFETY: as below.
                unsafe { self.moved(address, layout, other, new_size) }
            }
            // SAFETY: both have as many bytes as their layouts say.
            _ => unsafe { self.moved(address, layout, self.alloc(wanted), new_size) },
        }
    }
}
