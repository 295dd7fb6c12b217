//! How large blocks are, and where new ones come from.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;

use super::pages;

/// The sizes of the least and the largest blocks that are kept, as powers of two.
pub const LEAST: u32 = 12;
pub const LARGEST: u32 = 25;

/// From a power of two to the next one there are that many sizes of small blocks. Of large ones there is one:
/// those of batches, which are never just as long, are to fit each other, and what is not used of them
/// takes no memory.
const STEPS: usize = 4;

/// How many sizes there are.
pub const SIZES: usize = (LARGEST - LEAST) as usize * STEPS;

/// How large a block is. All layouts of nearly the same size get blocks of the same size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// In bytes.
    pub bytes: usize,
}

impl Size {
    /// The size of the blocks for this layout; none if it is the system's allocator's business.
    #[inline]
    pub fn of(layout: Layout) -> Option<Self> {
        if layout.size() < pages::LEAST || layout.align() > ALIGN {
            return None;
        }
        let steps = if layout.size() < pages::LARGE {
            STEPS
        } else {
            1
        };
        let step = (layout.size().checked_next_power_of_two()? / 2 / steps).max(1);
        let bytes = layout.size().checked_next_multiple_of(step)?;
        Some(Self { bytes })
    }

    /// The size with this number.
    pub fn at(index: usize) -> Self {
        let step = (1 << LEAST) / STEPS;
        Self {
            bytes: (step * (STEPS + index % STEPS)) << (index / STEPS),
        }
    }

    /// Its number; beyond all of them if it is too large.
    #[inline]
    pub fn index(self) -> usize {
        let power = self.bytes.ilog2();
        let step = (self.bytes >> (power - STEPS.ilog2())) - STEPS;
        power.saturating_sub(LEAST) as usize * STEPS + step
    }

    /// Whether blocks of this size come straight from the system.
    pub fn is_large(self) -> bool {
        self.bytes >= pages::LARGE
    }

    fn layout(self) -> Option<Layout> {
        Layout::from_size_align(self.bytes, ALIGN).ok()
    }

    /// A new block, of which that many bytes will be used at first; null if there is no memory.
    pub fn new_block(self, used: usize, zeroed: bool) -> *mut u8 {
        match self.layout() {
            _ if self.is_large() => pages::map(self.bytes, used),
            // SAFETY: the size is not zero.
            Some(layout) if zeroed => unsafe { System.alloc_zeroed(layout) },
            // SAFETY: as above.
            Some(layout) => unsafe { System.alloc(layout) },
            None => ptr::null_mut(),
        }
    }

    /// Gives a block back to where it came from.
    ///
    /// # Safety
    /// [`Self::new_block`] of this size made it, and nobody uses it any more.
    pub unsafe fn drop_block(self, block: *mut u8) {
        match self.layout() {
            // SAFETY: the caller's.
            _ if self.is_large() => unsafe { pages::unmap(block, self.bytes) },
            // SAFETY: the caller's.
            Some(layout) => unsafe { System.dealloc(block, layout) },
            None => {}
        }
    }
}

/// What blocks are aligned to: more than that is the system's allocator's business.
const ALIGN: usize = 64;
