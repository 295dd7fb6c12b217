//! Many indices in ascending order, without being deaf to signals meanwhile.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::slice::Iter;

use crate::error::{ErrorKind, Result};
use crate::runtime::interrupt::Pulse;

/// How many indices are sorted, or gone through, before signals are asked for.
pub const AT_ONCE: usize = 1 << 16;

/// Room for that many elements, if there is memory for them.
pub fn room_for<T>(count: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    let reserved = room.try_reserve_exact(count);
    reserved.map_err(|_| ErrorKind::OutOfMemory(count.saturating_mul(size_of::<T>())))?;
    Ok(room)
}

/// The indices in ascending order, and at which place each one stood.
pub fn in_order(indices: &[usize]) -> Result<Vec<(usize, usize)>> {
    let mut all = room_for(indices.len())?;
    all.extend((indices.iter().copied()).zip(0..));
    if indices.is_sorted() {
        return Ok(all);
    }
    let mut pulse = Pulse::start();
    for some in all.chunks_mut(AT_ONCE) {
        pulse.check()?;
        some.sort_unstable();
    }
    if all.len() <= AT_ONCE {
        return Ok(all);
    }
    merged(&all, &mut pulse)
}

/// Pieces of [`AT_ONCE`] that are sorted, as one.
fn merged(all: &[(usize, usize)], pulse: &mut Pulse) -> Result<Vec<(usize, usize)>> {
    let mut pieces: Vec<_> = all.chunks(AT_ONCE).map(<[_]>::iter).collect();
    let first =
        |(number, piece): (usize, &mut Iter<'_, _>)| Some(Reverse((*piece.next()?, number)));
    let mut heads: BinaryHeap<_> = pieces.iter_mut().enumerate().filter_map(first).collect();
    let mut merged = room_for(all.len())?;
    while let Some(mut head) = heads.peek_mut() {
        let Reverse((least, number)) = *head;
        merged.push(least);
        match pieces.get_mut(number).and_then(Iterator::next) {
            Some(next) => *head = Reverse((*next, number)),
            None => drop(PeekMut::pop(head)),
        }
        if merged.len() % AT_ONCE == 0 {
            pulse.check()?;
        }
    }
    Ok(merged)
}
