//! Checksums of any piece of a long stretch of bytes, each from two numbers.
//!
//! The register of a checksum is linear: that of a piece follows from those before and after it, both counted
//! from one fixed place with an empty register, and from the piece's length. So after one pass over the
//! bytes a piece costs a few multiplications, however long it is.

use std::sync::LazyLock;

use super::{mask, times_x};

/// The register that holds `x` to the zeroth.
const ONE: u32 = 1 << 31;

/// The register after `bytes`, from what it was before them.
#[must_use]
pub fn extend(register: u32, bytes: &[u8]) -> u32 {
    !crc32c::crc32c_append(!register, bytes)
}

/// The masked checksum of a piece of `length` bytes: the registers before and after it.
#[must_use]
pub fn masked_between(before: u32, after: u32, length: u64) -> u32 {
    mask(!(after_zeros(!before, length) ^ after))
}

/// The register after that many zero bytes.
#[must_use]
pub fn after_zeros(register: u32, mut count: u64) -> u32 {
    let mut product = register;
    for table in POWERS.iter() {
        if count == 0 {
            return product;
        }
        #[allow(clippy::cast_possible_truncation, reason = "a digit")]
        let digit = (count & 0xff) as usize;
        if digit > 0 {
            product = times(product, table.get(digit).copied().unwrap_or(ONE));
        }
        count >>= 8;
    }
    product
}

/// The register after one more byte.
#[must_use]
pub fn after_byte(register: u32, byte: u8) -> u32 {
    let [low, ..] = (register ^ u32::from(byte)).to_le_bytes();
    let table: &[u32; 256] = &TABLES.0;
    (register >> 8) ^ table.get(usize::from(low)).copied().unwrap_or_default()
}

/// The register before the last zero byte that it has seen.
#[must_use]
pub fn before_zero(register: u32) -> u32 {
    let [.., high] = register.to_le_bytes();
    let (low, change) = TABLES.1.get(usize::from(high)).copied().unwrap_or_default();
    ((register ^ change) << 8) | u32::from(low)
}

/// What each byte makes of an empty register; and, by the upper byte of that, the byte and all of it.
static TABLES: ([u32; 256], [(u8, u32); 256]) = tables();

#[allow(clippy::indexing_slicing, reason = "happens while compiling")]
const fn tables() -> ([u32; 256], [(u8, u32); 256]) {
    let forth = super::before(0);
    let mut back = [(0, 0); 256];
    let mut byte = 0u8;
    loop {
        let made = forth[byte as usize];
        back[(made >> 24) as usize] = (byte, made);
        if byte == 255 {
            return (forth, back);
        }
        byte += 1;
    }
}

/// The register after one more zero byte.
#[must_use]
pub fn after_zero(register: u32) -> u32 {
    (0..8).fold(register, |register, _| times_x(register))
}

/// What a masked checksum says the register is.
#[must_use]
pub fn unmasked(masked: u32) -> u32 {
    !masked.wrapping_sub(super::MASK_DELTA).rotate_left(15)
}

fn times(mut one: u32, mut other: u32) -> u32 {
    let mut product = 0;
    while one != 0 {
        product ^= other & (one >> 31).wrapping_neg();
        one <<= 1;
        other = times_x(other);
    }
    product
}

/// `x` to the power of 8 times each digit, for each place of a number of base 256.
static POWERS: LazyLock<Vec<Vec<u32>>> = LazyLock::new(|| {
    let mut base = after_zero(ONE);
    let mut tables = Vec::new();
    for _ in 0..8 {
        let mut table = vec![ONE];
        for _ in 0..255 {
            let last = table.last().copied().unwrap_or(ONE);
            table.push(times(last, base));
        }
        let last = table.last().copied().unwrap_or(ONE);
        base = times(last, base);
        tables.push(table);
    }
    tables
});

#[cfg(test)]
mod tests {
    use super::super::masked;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_have_the_checksums_of_their_bytes(
            bytes in prop::collection::vec(any::<u8>(), 0..2000),
            start: prop::sample::Index,
            end: prop::sample::Index,
        ) {
            let (start, end) = (start.index(bytes.len() + 1), end.index(bytes.len() + 1));
            let (start, end) = (start.min(end), start.max(end));
            let (before, after) = (extend(0, &bytes[..start]), extend(0, &bytes[..end]));
            let piece = &bytes[start..end];
            let found = masked_between(before, after, piece.len() as u64);
            prop_assert_eq!(found, masked(piece));
            prop_assert_eq!(unmasked(found), extend(!0, piece));
        }

        #[test]
        fn zeros_are_bytes_too(register: u32, count in 0u64..5000) {
            let zeros = vec![0; usize::try_from(count).unwrap()];
            prop_assert_eq!(after_zeros(register, count), extend(register, &zeros));
            prop_assert_eq!(before_zero(after_zero(register)), register);
            prop_assert_eq!(after_byte(register, 77), extend(register, &[77]));
        }

        #[test]
        fn far_is_two_times_near(register: u32, one in any::<u32>(), other: u32) {
            let (one, other) = (u64::from(one) << 20, u64::from(other));
            let twice = after_zeros(after_zeros(register, one), other);
            prop_assert_eq!(after_zeros(register, one + other), twice);
        }
    }
}
