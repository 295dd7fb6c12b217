//! The checksum of the format: CRC-32C (Castagnoli), masked.
//!
//! The mask keeps a file of records that itself holds records from carrying checksums of checksums
//! (TensorFlow, `tsl/lib/hash/crc32c.h`).

#[cfg(target_arch = "x86_64")]
mod folding;
pub(crate) mod prefix;

const MASK_DELTA: u32 = 0xa282_ead8;

/// The masked CRC-32C of `data`, as it stands in a file.
///
/// ```
/// assert_eq!(tfrecs_core::record::format::crc::masked(b"foo").to_le_bytes(), *b"\x61\x8a\xbe\xfe");
/// ```
#[must_use]
pub fn masked(data: &[u8]) -> u32 {
    mask(crc32c(data))
}

/// The masked CRC-32C of the eight bytes of a record's length.
///
/// ```
/// use tfrecs_core::record::format::crc;
///
/// assert_eq!(crc::masked_length(3), crc::masked(&3u64.to_le_bytes()));
/// ```
#[must_use]
#[inline]
pub fn masked_length(length: u64) -> u32 {
    let Ok(low) = u32::try_from(length) else {
        return masked(&length.to_le_bytes());
    };
    // The upper bytes are zero, and so is what they would add; a byte each is left to look up.
    let bytes = (!low).to_le_bytes();
    let parts = BEFORE_SEVEN_TO_FOUR.iter().zip(bytes);
    let part = |(table, byte): (&[u32; 256], u8)| table.get(usize::from(byte)).copied();
    mask(parts.filter_map(part).fold(!0, |crc, part| crc ^ part))
}

#[inline]
fn crc32c(data: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if let Some(crc) = folding::crc32c(data) {
        return crc;
    }
    crc32c::crc32c(data)
}

#[inline]
fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(MASK_DELTA)
}

/// The remainder of a polynomial times x, the bits of both in reverse order, as are those of
/// Castagnoli's polynomial here.
const fn times_x(crc: u32) -> u32 {
    (crc >> 1) ^ ((crc & 1) * 0x82f6_3b78)
}

/// What a byte adds to a checksum if that many others follow: seven, six, five, four.
static BEFORE_SEVEN_TO_FOUR: [[u32; 256]; 4] = [before(7), before(6), before(5), before(4)];

/// What each byte adds to a checksum if that many others follow.
#[allow(clippy::indexing_slicing, reason = "happens while compiling")]
const fn before(others: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256u32 {
        let (mut crc, mut bits) = (byte, 8 * (others + 1));
        while bits > 0 {
            crc = times_x(crc);
            bits -= 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// CRC-32C bit by bit, from its polynomial.
    fn bitwise(data: &[u8]) -> u32 {
        !data.iter().fold(!0, |crc, &byte| bit_by_bit(crc, byte))
    }

    fn bit_by_bit(crc: u32, byte: u8) -> u32 {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            if crc & 1 == 1 {
                (crc >> 1) ^ 0x82f6_3b78
            } else {
                crc >> 1
            }
        })
    }

    proptest! {
        #[test]
        fn agrees_with_the_bitwise_definition(data in prop::collection::vec(any::<u8>(), 0..2000)) {
            let crc = bitwise(&data);
            let expected = crc.rotate_right(15).wrapping_add(0xa282_ead8);
            prop_assert_eq!(masked(&data), expected);
            prop_assert_eq!(mask(crc32c::crc32c(&data)), expected, "on any processor");
        }

        #[test]
        fn large_buffers_agree_with_their_bits(
            data in prop::collection::vec(any::<u8>(), 2000..20_000),
            start in 0usize..64,
        ) {
            let crc = bitwise(&data[start..]);
            let expected = crc.rotate_right(15).wrapping_add(0xa282_ead8);
            prop_assert_eq!(masked(&data[start..]), expected);
        }

        #[test]
        fn lengths_are_bytes_too(length in any::<u64>(), shift in 0u32..64) {
            let length = length >> shift;
            prop_assert_eq!(masked_length(length), masked(&length.to_le_bytes()));
        }
    }

    #[test]
    fn every_length_of_a_buffer() {
        let data: Vec<u8> = (0..10_000u32)
            .map(|i| i.wrapping_mul(0x9e37_79b9).to_le_bytes()[3])
            .collect();
        let mut crc = !0u32;
        for (length, &byte) in data.iter().enumerate() {
            let expected = (!crc).rotate_right(15).wrapping_add(0xa282_ead8);
            assert_eq!(masked(&data[..length]), expected, "{length}");
            crc = bit_by_bit(crc, byte);
        }
    }

    #[test]
    fn every_length_of_a_small_record() {
        for length in 0..1 << 17 {
            assert_eq!(masked_length(length), masked(&length.to_le_bytes()));
        }
    }
}
