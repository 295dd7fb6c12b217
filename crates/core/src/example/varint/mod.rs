//! Packed varints, many at a time.
//!
//! Only the last byte of a varint says that it is over. Reading one after the other means a branch on each length,
//! which no processor can predict. So a kernel looks at a window of bytes at once:
//!
//! ```text
//!   bytes            07   ac 02   01   ff ff 03        the values 7, 300, 1, 65535
//!   ends (high bit
//!   is not set)       1    0  1    1    0  0  1        gathered in one word: where each begins, how many there are
//!   cut out          07 | ac 02 | 01 | ff ff 03        one per lane
//!   7 bits together   7 |   300 |  1 |    65535        side by side, in all lanes
//! ```
//!
//! There is a kernel for AVX-512 (`avx512.rs`: windows of 64 bytes), one for AVX2 (`avx2.rs`: 16 bytes) and one for every
//! machine (`plain.rs`: 8 bytes). The best that the processor has is chosen once. A kernel stops before anything that is no
//! varint, and where there is no room for another window; `plain` takes the rest, and [`Wire::varint`] says what is wrong.
//!
//! If you change this: all kernels agree with [`Wire::varint`], value for value and error for error; the tests compare each of
//! `ROADS` with it, exhaustively for short inputs. To add one, write it as in `avx2.rs` and name it in `ROADS`.
use std::mem::MaybeUninit;
use std::sync::LazyLock;

use super::wire::{Wire, WireError};
pub(crate) use plain::{HIGH_BITS, squeeze};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod plain;
#[cfg(test)]
mod tests;

/// Takes varints from the front of the bytes, writes them from the front of the room, says how many.
///
/// Exactly that many values of the room are initialized afterwards (more may have been written to).
type Decode = fn(&mut &[u8], &mut [MaybeUninit<i64>]) -> usize;

/// The best first; each tells its function if this processor has all that it needs.
static ROADS: &[fn() -> Option<Decode>] = &[
    #[cfg(target_arch = "x86_64")]
    avx512::road,
    #[cfg(target_arch = "x86_64")]
    avx2::road,
    || Some(plain::decode),
];

static BEST: LazyLock<Decode> = LazyLock::new(|| {
    ROADS
        .iter()
        .find_map(|road| road())
        .unwrap_or(plain::decode)
});

/// Lists of fewer bytes, a single value of whatever length among them, are read as plainly as possible:
/// a window costs more than their values do.
const SHORT: usize = 11;

/// As many values as the largest window can have.
const WINDOW: usize = 64;

/// How many values [`for_each_slice`] reads at once: few enough that they stay in the nearest cache.
const AT_ONCE: usize = 256;

/// How many varints end in `bytes`.
///
/// ```
/// assert_eq!(tfrecs_core::example::varint::count(&[1, 0x80, 0x01, 0x80]), 2);
/// ```
#[must_use]
#[inline]
pub fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte < 0x80).count()
}

/// Appends the varints that `bytes` consists of.
///
/// ```
/// use tfrecs_core::example::{varint, wire::WireError};
///
/// let mut values = Vec::new();
/// varint::decode_into(&[1, 0xac, 0x02], &mut values)?;
/// assert_eq!(values, [1, 300]);
/// # Ok::<(), WireError>(())
/// ```
///
/// # Errors
/// Those of [`Wire::varint`]; the values before are appended.
#[inline]
pub fn decode_into(mut bytes: &[u8], out: &mut Vec<i64>) -> Result<(), WireError> {
    if bytes.len() < SHORT {
        return one_by_one(bytes, |value| out.push(value));
    }
    // Each value takes at least one byte; only where that is not room enough they are counted.
    if out.capacity() - out.len() < bytes.len() {
        reserve(bytes, out);
    }
    let more = decode(&mut bytes, out.spare_capacity_mut());
    lengthen(out, more);
    finish(bytes)
}

#[inline]
fn one_by_one(bytes: &[u8], mut visit: impl FnMut(i64)) -> Result<(), WireError> {
    let mut wire = Wire(bytes);
    while !wire.is_empty() {
        visit(wire.varint()?.cast_signed());
    }
    Ok(())
}

#[cold]
fn reserve(bytes: &[u8], out: &mut Vec<i64>) {
    let count = count(bytes);
    if out.capacity() - out.len() < count {
        // Where there must be new memory anyway, a little more lets the roads go to the very end.
        out.reserve(count + WINDOW);
    }
}

#[allow(
    unsafe_code,
    reason = "the values were written where the vector's own end"
)]
#[inline]
fn lengthen(out: &mut Vec<i64>, more: usize) {
    debug_assert!(more <= out.capacity() - out.len());
    // SAFETY: a road initializes that many values from the front of the spare capacity it was given.
    unsafe { out.set_len(out.len() + more) };
}

/// Calls `visit` with the varints that `bytes` consists of, some hundred at a time, in order.
///
/// # Errors
/// Those of [`Wire::varint`], after the values before.
#[inline]
pub fn for_each_slice(mut bytes: &[u8], mut visit: impl FnMut(&[i64])) -> Result<(), WireError> {
    if bytes.len() < SHORT {
        return one_by_one(bytes, |value| visit(&[value]));
    }
    let mut buffer = [MaybeUninit::uninit(); AT_ONCE];
    while !bytes.is_empty() {
        let mut there = BEST(&mut bytes, &mut buffer);
        if there == 0 {
            there = plain::decode(&mut bytes, &mut buffer);
        }
        if there == 0 {
            return finish(bytes);
        }
        visit(initialized(&buffer, there));
    }
    Ok(())
}

#[allow(unsafe_code, reason = "the values were written")]
#[inline]
fn initialized(buffer: &[MaybeUninit<i64>], there: usize) -> &[i64] {
    let values = buffer.get(..there).unwrap_or_default();
    // SAFETY: a road initializes as many values as it says, and that many lie in `values`.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

/// Takes varints until there are no more, there is no more room, or what comes is none.
#[inline]
fn decode(bytes: &mut &[u8], room: &mut [MaybeUninit<i64>]) -> usize {
    let mut written = BEST(bytes, room);
    if !bytes.is_empty() {
        written += plain::decode(bytes, room.get_mut(written..).unwrap_or_default());
    }
    written
}

/// What is wrong with the rest.
#[inline]
fn finish(rest: &[u8]) -> Result<(), WireError> {
    if rest.is_empty() {
        return Ok(());
    }
    Wire(rest).varint().map(drop)
}
