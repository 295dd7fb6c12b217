//! The checksum of the format: CRC-32C (Castagnoli), masked.
//!
//! The mask keeps a file of records that itself holds records from carrying checksums of checksums
//! (TensorFlow, `tsl/lib/hash/crc32c.h`).

const MASK_DELTA: u32 = 0xa282_ead8;

/// The masked CRC-32C of `data`, as it stands in a file.
///
/// ```
/// assert_eq!(tfrecs_core::record::crc::masked(b"foo").to_le_bytes(), *b"\x61\x8a\xbe\xfe");
/// ```
#[must_use]
pub fn masked(data: &[u8]) -> u32 {
    crc32c::crc32c(data)
        .rotate_right(15)
        .wrapping_add(MASK_DELTA)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// CRC-32C bit by bit, from its polynomial.
    fn bitwise(data: &[u8]) -> u32 {
        let mut crc = !0u32;
        for &byte in data {
            crc ^= u32::from(byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 {
                    (crc >> 1) ^ 0x82f6_3b78
                } else {
                    crc >> 1
                };
            }
        }
        !crc
    }

    proptest! {
        #[test]
        fn agrees_with_the_bitwise_definition(data in prop::collection::vec(any::<u8>(), 0..2000)) {
            let crc = bitwise(&data);
            let expected = crc.rotate_right(15).wrapping_add(0xa282_ead8);
            prop_assert_eq!(masked(&data), expected);
        }
    }
}
