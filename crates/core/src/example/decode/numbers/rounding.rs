//! float32 to types of 16 bits, to the nearest, of two as near to the even one: without a branch, so
//! that the compiler can round many side by side.
//!
//! A NaN stays a NaN, and as much of it as fits.

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;

/// The upper half of a word.
#[inline]
fn upper(bits: u32) -> u16 {
    let [_, _, low, high] = bits.to_le_bytes();
    u16::from_le_bytes([low, high])
}

/// The lower half of a word.
#[inline]
fn lower(bits: u32) -> u16 {
    let [low, high, _, _] = bits.to_le_bytes();
    u16::from_le_bytes([low, high])
}

/// The bits of the bfloat16 nearest to `value`.
#[inline]
pub fn to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let odd = bits >> 16 & 1;
    let rounded = bits.wrapping_add(0x7fff + odd);
    let nan = bits | 0x0040_0000;
    upper(if bits & !SIGN > INFINITY {
        nan
    } else {
        rounded
    })
}

/// The bits of the float16 nearest to `value`.
#[inline]
pub fn to_f16(value: f32) -> u16 {
    // The lowest normal number of float16, and the lowest that is rounded to infinity.
    const NORMAL: u32 = (127 - 14) << 23;
    const TOO_LARGE: u32 = 0x477f_f000;
    let bits = value.to_bits();
    let size = bits & !SIGN;
    let odd = size >> 13 & 1;
    let normal = size
        .wrapping_sub((127 - 15) << 23)
        .wrapping_add(0x0fff + odd)
        >> 13;
    // Below them, a float16 counts steps of 2^-24, as a float32 does just above 0.5.
    let small = (f32::from_bits(size) + 0.5)
        .to_bits()
        .wrapping_sub(0.5f32.to_bits());
    let nan = 0x7e00 | size >> 13 & 0x03ff;
    let finite = if size < NORMAL { small } else { normal };
    let infinite = if size > INFINITY { nan } else { 0x7c00 };
    let rounded = if size < TOO_LARGE { finite } else { infinite };
    lower(rounded) | upper(bits & SIGN)
}
