//! One record in a file: length, checksum of the length, data, checksum of the data.
//!
//! ```text
//! uint64 length        little-endian
//! uint32 masked CRC-32C of the 8 bytes of length
//! byte   data[length]
//! uint32 masked CRC-32C of data
//! ```

use std::ops::Range;

use super::crc;
use crate::error::ErrorKind;

/// Bytes before a record's data.
pub const HEADER: usize = 12;
/// Bytes after a record's data.
pub const FOOTER: usize = 4;

/// The length that a header announces, if the header's own checksum holds.
///
/// # Errors
/// [`ErrorKind::LengthChecksum`].
pub fn parse_header(header: &[u8; HEADER]) -> Result<u64, ErrorKind> {
    let [l0, l1, l2, l3, l4, l5, l6, l7, c0, c1, c2, c3] = *header;
    let length = u64::from_le_bytes([l0, l1, l2, l3, l4, l5, l6, l7]);
    if crc::masked_length(length) == u32::from_le_bytes([c0, c1, c2, c3]) {
        Ok(length)
    } else {
        Err(ErrorKind::LengthChecksum)
    }
}

/// The header of a record of `length` bytes.
#[must_use]
pub fn header(length: u64) -> [u8; HEADER] {
    let [l0, l1, l2, l3, l4, l5, l6, l7] = length.to_le_bytes();
    let [c0, c1, c2, c3] = crc::masked_length(length).to_le_bytes();
    [l0, l1, l2, l3, l4, l5, l6, l7, c0, c1, c2, c3]
}

/// The footer of a record that holds `data`.
#[must_use]
pub fn footer(data: &[u8]) -> [u8; FOOTER] {
    crc::masked(data).to_le_bytes()
}

/// Where the data lies in `frame`, which is one whole record: its length is checked always, its data where
/// that is to be verified.
///
/// # Errors
/// [`ErrorKind::LengthChecksum`], also where the header has another length; [`ErrorKind::DataChecksum`].
pub fn checked(frame: &[u8], verify: bool) -> Result<Range<usize>, ErrorKind> {
    let (header, rest) = frame
        .split_first_chunk::<HEADER>()
        .ok_or(ErrorKind::LengthChecksum)?;
    let (data, footer) = rest
        .split_last_chunk::<FOOTER>()
        .ok_or(ErrorKind::LengthChecksum)?;
    if parse_header(header)? != data.len() as u64 {
        return Err(ErrorKind::LengthChecksum);
    }
    if verify && crc::masked(data) != u32::from_le_bytes(*footer) {
        return Err(ErrorKind::DataChecksum);
    }
    Ok(HEADER..HEADER + data.len())
}

/// Fills in the header and the footer of `frame`, which has its record in place.
///
/// ```
/// use tfrecs_core::record::format::frame::{self, FOOTER, HEADER};
///
/// let mut frame = *b"............foo....";
/// frame::seal(&mut frame);
/// assert_eq!(frame[..HEADER], frame::header(3));
/// assert_eq!(frame[frame.len() - FOOTER..], frame::footer(b"foo"));
/// ```
pub fn seal(frame: &mut [u8]) {
    let Some((first, rest)) = frame.split_first_chunk_mut::<HEADER>() else {
        return;
    };
    let Some((record, last)) = rest.split_last_chunk_mut::<FOOTER>() else {
        return;
    };
    *first = header(record.len() as u64);
    *last = footer(record);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_bytes_of_foo() {
        // The one record of a file that TensorFlow wrote, from apache/beam's tests.
        let file = b"\x03\0\0\0\0\0\0\0\xb0\x99\x49\x0efoo\x61\x8a\xbe\xfe";
        assert_eq!(parse_header(&header(3)), Ok(3));
        assert_eq!(header(3), file[..HEADER]);
        assert_eq!(footer(b"foo"), file[15..]);
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_noticed() {
        for length in [0, 1, 3, 1 << 20, u64::MAX] {
            for bit in 0..HEADER * 8 {
                let mut bad = header(length);
                bad[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(
                    parse_header(&bad),
                    Err(ErrorKind::LengthChecksum),
                    "bit {bit}"
                );
            }
        }
    }
}
