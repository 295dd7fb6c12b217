//! An allocator that keeps freed blocks and hands them out again.
//!
//! Batches come and go, each with buffers of kilobytes and megabytes. The system takes such memory back as
//! soon as it is free, and clears it page by page when it is next written to, which costs more than the
//! writing. So freed blocks are kept, and the one freed last goes out first: it is the likeliest to be in
//! the processor's cache still. Large blocks come in pages of 2 MB where they fill such: clearing one costs
//! a fraction of clearing 512 small ones.
//!
//! Two rules bound what is kept: when more than 64 MB are free, all of it goes back; and of each size, what
//! nobody needed while the last GB was freed goes back. Without the second rule a long run grows: each rare
//! coincidence of several blocks in use leaves one more block free for ever.
//!
//! ```text
//! free blocks of one size     3 3 2 1 2 3 2 3    one trim to the next
//! fewest of them                    ^ 1          one block was never needed: it goes back
//! ```
//!
//! A binary may make this the global allocator; nothing in the core depends on it. Small blocks, and all
//! blocks on other systems than Linux, come from the system's allocator.
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

/// How many bytes are freed from one trim to the next: long enough for each pipeline to show what it needs.
const PERIOD: usize = 1 << 30;

/// How often to look whether another thread has done with the list of free blocks, before doing without.
/// It has in no time, unless it went missing in a fork.
const PATIENCE: usize = 100;

/// The system's allocator, and blocks that are used again.
///
/// ```
/// use tfrecs_core::runtime::memory::Memory;
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
    /// How many there are of each size, and the fewest that there were since the last trim.
    count: [usize; SIZES],
    fewest: [usize; SIZES],
    bytes: usize,
    /// How many bytes were freed since the last trim.
    freed: usize,
}

/// What became of a freed block.
struct Given {
    is_kept: bool,
    is_time_to_trim: bool,
}

/// Where in a free block the address of another one stands.
#[allow(clippy::cast_ptr_alignment, reason = "blocks are aligned to more")]
fn link_in(block: *mut u8) -> *mut *mut u8 {
    block.cast()
}

impl Free {
    const NONE: Self = Self {
        last: [ptr::null_mut(); SIZES],
        count: [0; SIZES],
        fewest: [0; SIZES],
        bytes: 0,
        freed: 0,
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
        if let Some(count) = self.count.get_mut(size.index())
            && let Some(fewest) = self.fewest.get_mut(size.index())
        {
            *count -= 1;
            *fewest = (*fewest).min(*count);
        }
        Some(block)
    }

    /// A free block of this size that nobody needed since the last trim. After the last one, the next period
    /// begins for this size.
    fn take_unused(&mut self, size: Size) -> Option<*mut u8> {
        let count = *self.count.get(size.index())?;
        let fewest = self.fewest.get_mut(size.index())?;
        let Some(left) = fewest.checked_sub(1) else {
            *fewest = count;
            return None;
        };
        let block = self.take(size);
        *self.fewest.get_mut(size.index())? = left;
        block
    }

    /// Keep a block of this size, if there is room.
    ///
    /// # Safety
    /// Nobody uses the block any more, and it is aligned for an address.
    unsafe fn keep(&mut self, block: *mut u8, size: Size) -> Given {
        self.freed = self.freed.saturating_add(size.bytes);
        let mut given = Given {
            is_kept: false,
            is_time_to_trim: self.freed >= PERIOD,
        };
        if given.is_time_to_trim {
            self.freed = 0;
        }
        let Some(last) = self.last.get_mut(size.index()) else {
            return given;
        };
        if self.bytes + size.bytes > MOST_KEPT {
            return given;
        }
        // SAFETY: the caller's.
        unsafe { link_in(block).write(*last) };
        *last = block;
        self.bytes += size.bytes;
        if let Some(count) = self.count.get_mut(size.index()) {
            *count += 1;
        }
        given.is_kept = true;
        given
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

    /// Gives back what nobody needed since the last time.
    #[cold]
    fn trim(&self) {
        for index in 0..SIZES {
            let size = Size::at(index);
            let unused = || self.with_free(|free| free.take_unused(size)).flatten();
            while let Some(block) = unused() {
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
        if size.bytes >= 1 << LARGEST {
            // SAFETY: the caller's.
            return unsafe { size.drop_block(block) };
        }
        let mut given = keep();
        if given.as_ref().is_some_and(|given| !given.is_kept) {
            self.clear();
            given = keep();
        }
        if given.as_ref().is_none_or(|given| !given.is_kept) {
            // SAFETY: the caller's.
            unsafe { size.drop_block(block) };
        }
        if given.is_some_and(|given| given.is_time_to_trim) {
            self.trim();
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

/// Returns that many zeros, if there is memory for them.
///
/// ```
/// assert_eq!(tfrecs_core::runtime::memory::zeros(3), Some(vec![0; 3]));
/// assert_eq!(tfrecs_core::runtime::memory::zeros(usize::MAX), None);
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
    // SAFETY: it comes from the allocator that boxes use, with the layout of that many bytes, all zero.
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

/// Fails if there is no memory for that many bytes more: before work begins that cannot say so itself.
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

/// Make room for `more` items, or for twice as many as there are.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`]; the items are as before.
pub fn try_reserve<T>(items: &mut Vec<T>, more: usize) -> Result<(), ErrorKind> {
    let none = |_| ErrorKind::OutOfMemory(more.saturating_mul(size_of::<T>()));
    items.try_reserve(more).map_err(none)
}

/// Append an item.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`]; the items are as before.
#[inline]
pub fn try_push<T>(items: &mut Vec<T>, item: T) -> Result<(), ErrorKind> {
    try_reserve(items, 1)?;
    items.push(item);
    Ok(())
}

/// Append all items of a slice.
///
/// # Errors
/// As for [`try_push`].
pub fn try_extend<T: Clone>(items: &mut Vec<T>, more: &[T]) -> Result<(), ErrorKind> {
    try_reserve(items, more.len())?;
    items.extend_from_slice(more);
    Ok(())
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
