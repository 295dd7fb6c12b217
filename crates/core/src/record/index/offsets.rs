//! How far records begin from where they are expected, in few bits.

/// Where record `place` of `count` would begin if all were equally long, the first of them at `first` and
/// what comes after them at `next`.
#[inline]
pub(crate) fn expected(first: u64, next: u64, place: usize, count: usize) -> u64 {
    let (span, place, count) = (next.wrapping_sub(first), place as u64, count.max(1) as u64);
    // In two parts, so that nothing is too large for 64 bits.
    let even = (span / count).wrapping_mul(place);
    first.wrapping_add(even + span % count * place / count)
}

/// A distance to either side as a number that is small where it is: 0, -1, 1, -2, …
#[inline]
pub(crate) fn folded(distance: u64) -> u64 {
    distance << 1 ^ (distance.cast_signed() >> 63).cast_unsigned()
}

/// The distance that [`folded`] made a number of.
#[inline]
pub(crate) fn unfolded(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

/// The number of `width` bits, 64 at most, that begins at bit `at`; what lies after the bytes is 0.
#[inline]
pub(crate) fn bits(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let from = bytes.get(at / 8..)?;
    let window = if let Some(window) = from.first_chunk::<16>() {
        *window
    } else {
        let mut window = [0; 16];
        window.get_mut(..from.len())?.copy_from_slice(from);
        window
    };
    let mask = (1_u128 << width.min(64)) - 1;
    u64::try_from(u128::from_le_bytes(window) >> (at % 8) & mask).ok()
}

/// Writes numbers of `width` bits one after the other, and zeros up to the next byte.
pub(crate) fn pack_bits(numbers: &[u64], width: u32, out: &mut Vec<u8>) {
    let (mut window, mut used) = (0_u128, 0);
    for &number in numbers {
        window |= u128::from(number) << used;
        used += width;
        while used >= 8 {
            out.push(window.to_le_bytes()[0]);
            window >>= 8;
            used -= 8;
        }
    }
    if used > 0 {
        out.push(window.to_le_bytes()[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_packed_without_a_gap() {
        let mut out = Vec::new();
        pack_bits(&[0b101, 0b011, 0b111], 3, &mut out);
        assert_eq!(out, [0b1101_1101, 0b1]);
        for width in 0..=64 {
            let numbers = [u64::MAX, 0, u64::MAX / 3].map(|it| it & mask(width));
            let mut out = vec![7];
            pack_bits(&numbers, width, &mut out);
            let width = width as usize;
            assert_eq!(out.len(), 1 + (3 * width).div_ceil(8));
            for (place, number) in numbers.into_iter().enumerate() {
                assert_eq!(bits(&out, 8 + place * width, width), Some(number));
            }
        }
    }

    fn mask(width: u32) -> u64 {
        u64::MAX.checked_shr(64 - width).unwrap_or(0)
    }

    #[test]
    fn distances_are_folded_to_small_numbers() {
        let distances = [0, -1, 1, -2, i64::MAX, i64::MIN];
        for (distance, wanted) in distances
            .into_iter()
            .zip([0, 1, 2, 3, u64::MAX - 1, u64::MAX])
        {
            assert_eq!(folded(distance.cast_unsigned()), wanted);
            assert_eq!(unfolded(wanted), distance.cast_unsigned());
        }
    }
}
