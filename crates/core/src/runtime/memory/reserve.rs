//! A reserve of memory for small blocks, used when the system has none left.
//!
//! Allocations whose size follows the data are fallible, and raise an error. But raising an error also allocates, as
//! do a hundred small steps before it, and Rust aborts the process when a small allocation fails. So some megabytes of
//! address space are reserved (no page is touched before it is needed), and small blocks that the system refuses come
//! from there. Nothing here is fast: it serves a process that is about to fail.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::hint;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Size of the reserve.
const BYTES: usize = 16 << 20;

/// The largest block; callers that allocate more handle a failure.
const MOST: usize = 2 << 20;

/// Alignment of blocks; their sizes are multiples of it.
const ALIGN: usize = 64;

/// The most free pieces that are recorded; any more are lost.
const PIECES: usize = 1024;

/// All zeros, and apart from what is not: so it takes no room in the library's file.
struct Room(UnsafeCell<[u8; BYTES]>);

// SAFETY: each byte of the room belongs to the block that it was handed out in.
unsafe impl Sync for Room {}

static ROOM: Room = Room(UnsafeCell::new([0; BYTES]));

struct Reserve {
    is_busy: AtomicBool,
    /// In order, and never side by side; the empty ones come last.
    free: UnsafeCell<[Range<usize>; PIECES]>,
}

// SAFETY: `free` is touched only by the thread that has set `is_busy`.
unsafe impl Sync for Reserve {}

static RESERVE: Reserve = Reserve {
    is_busy: AtomicBool::new(false),
    free: UnsafeCell::new({
        let mut free = [const { 0..0 }; PIECES];
        // The first bytes align the others.
        free[0] = ALIGN..BYTES;
        free
    }),
};

/// How often to look whether another thread has done with the list, before doing without: it may have gone missing in
/// a fork.
const PATIENCE: usize = 1 << 20;

/// Does `work` with the free pieces; none if another thread does not let go of them.
fn with_free<R>(work: impl FnOnce(&mut [Range<usize>]) -> Option<R>) -> Option<R> {
    let is_ours = (0..PATIENCE).any(|_| {
        let was_busy = RESERVE.is_busy.swap(true, Ordering::Acquire);
        if was_busy {
            hint::spin_loop();
        }
        !was_busy
    });
    if !is_ours {
        return None;
    }
    // SAFETY: whoever comes now has to wait for `is_busy`, and `work` neither panics nor allocates.
    let done = work(unsafe { &mut *RESERVE.free.get() });
    RESERVE.is_busy.store(false, Ordering::Release);
    done
}

/// The first aligned address of the room; offsets count from it.
fn origin() -> *mut u8 {
    let room = ROOM.0.get().cast::<u8>();
    let skipped = room.align_offset(ALIGN);
    // SAFETY: fewer than the room has.
    unsafe { room.add(skipped) }
}

/// How many bytes a block for this layout takes.
fn size_of(layout: Layout) -> usize {
    layout.size().next_multiple_of(ALIGN)
}

/// A block for this layout; null if it is too large, or nothing is left.
#[cold]
pub fn alloc(layout: Layout) -> *mut u8 {
    if layout.size() > MOST || layout.align() > ALIGN {
        return ptr::null_mut();
    }
    let size = size_of(layout);
    let place = with_free(|free| {
        let piece = free.iter_mut().find(|piece| piece.len() > size)?;
        piece.end -= size;
        Some(piece.end)
    });
    // SAFETY: the place lies in the room, ALIGN bytes before its end at least.
    place.map_or(ptr::null_mut(), |place| unsafe {
        origin().add(place - ALIGN)
    })
}

/// Whether the block at this address comes from here.
#[inline]
pub fn owns(address: *const u8) -> bool {
    let room = ROOM.0.get();
    address.addr().wrapping_sub(room.addr()) < BYTES
}

/// Takes back the block for this layout at an address in the room.
#[cold]
pub fn release(address: *const u8, layout: Layout) {
    let begin = address.addr() - origin().addr() + ALIGN;
    let block = begin..begin + size_of(layout);
    with_free(|free| {
        let after = free
            .iter()
            .position(|piece| piece.is_empty() || piece.start > block.start)?;
        insert(free, after, block);
        Some(())
    });
}

/// Puts a block before the piece with this number, and makes one piece of it and of those at its sides.
fn insert(free: &mut [Range<usize>], at: usize, block: Range<usize>) {
    let touches_next = free.get(at).is_some_and(|next| next.start == block.end);
    let before = at.checked_sub(1).and_then(|at| free.get_mut(at));
    match before {
        Some(before) if before.end == block.start => {
            before.end = block.end;
            if touches_next {
                let end = free.get(at).map_or(block.end, |next| next.end);
                if let Some(before) = free.get_mut(at - 1) {
                    before.end = end;
                }
                remove(free, at);
            }
        }
        _ if touches_next => {
            if let Some(next) = free.get_mut(at) {
                next.start = block.start;
            }
        }
        _ => {
            // If all are taken, the last piece is lost.
            if let Some(tail) = free.get_mut(at..) {
                tail.rotate_right(1);
            }
            if let Some(place) = free.get_mut(at) {
                *place = block;
            }
        }
    }
}

fn remove(free: &mut [Range<usize>], at: usize) {
    if let Some(tail) = free.get_mut(at..) {
        tail.rotate_left(1);
    }
    if let Some(last) = free.last_mut() {
        *last = 0..0;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// There is one reserve: one test at a time.
    static TURN: Mutex<()> = Mutex::new(());

    fn of(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    fn free() -> Vec<Range<usize>> {
        let copy = |free: &mut [Range<usize>]| Some(free.to_vec());
        let mut all = with_free(copy).unwrap();
        all.retain(|piece| !piece.is_empty());
        all
    }

    /// Several threads at once, each of which holds some blocks and looks whether they stay as they are; in the end
    /// all of the room is one piece again.
    #[test]
    fn blocks_lie_apart_and_the_room_comes_back() {
        let _turn = TURN.lock().unwrap();
        std::thread::scope(|scope| {
            for number in 1..=4_u8 {
                scope.spawn(move || {
                    let mut held: Vec<(*mut u8, Layout)> = Vec::new();
                    for round in 1..3000_usize {
                        let layout = of(round * 7919 % 20_000 + 1, 1 << (round % 7));
                        let block = alloc(layout);
                        if !block.is_null() {
                            assert!(owns(block) && block.addr().is_multiple_of(layout.align()));
                            // SAFETY: a block of that size, which is ours.
                            unsafe { block.write_bytes(number, layout.size()) };
                            held.push((block, layout));
                        }
                        if held.len() > 40 || round == 2999 {
                            while let Some((block, layout)) = held.pop() {
                                // SAFETY: as above.
                                let bytes =
                                    unsafe { std::slice::from_raw_parts(block, layout.size()) };
                                assert!(bytes.iter().all(|&byte| byte == number));
                                release(block, layout);
                                if held.len() > 20 && round % 3 == 0 {
                                    held.swap(0, 7);
                                }
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(free(), std::iter::once(ALIGN..BYTES).collect::<Vec<_>>());
        assert!(alloc(of(MOST + 1, 1)).is_null() && alloc(of(1, 128)).is_null());
        let all: Vec<_> = (0..100).map(|_| alloc(of(MOST, 1))).collect();
        let count = all.iter().filter(|block| !block.is_null()).count();
        assert_eq!(count, BYTES / MOST - 1);
        for block in all.iter().filter(|block| !block.is_null()) {
            release(*block, of(MOST, 1));
        }
        assert!(!owns(ptr::null()));
        assert_eq!(free(), std::iter::once(ALIGN..BYTES).collect::<Vec<_>>());
    }

    #[test]
    fn too_many_pieces_lose_only_themselves() {
        let _turn = TURN.lock().unwrap();
        let blocks: Vec<_> = (0..3 * PIECES).map(|_| alloc(of(64, 1))).collect();
        for block in blocks
            .iter()
            .step_by(2)
            .chain(blocks.iter().skip(1).step_by(2))
        {
            release(*block, of(64, 1));
        }
        let pieces = free();
        assert!(pieces.is_sorted_by(|one, next| one.end < next.start));
        // Give back what the room lost, for the other tests.
        with_free(|free| {
            free.fill(0..0);
            free[0] = ALIGN..BYTES;
            Some(())
        });
    }
}
