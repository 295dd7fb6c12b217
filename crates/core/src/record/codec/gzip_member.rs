//! A gzip member that says how long it is.
//!
//! A file of many such members can be written and read by several threads, and entered in the middle.
//! To everybody else it is a gzip file: what a member says of itself stands in the extra field of its
//! header, which readers skip that do not know it (RFC 1952, 2.3.1.1).
//!
//! ```text
//! 1f 8b 08 04   magic, deflate, flags: an extra field and nothing else
//! 00000000 00 ff   no time, no extra flags, no particular system
//! uint16 12     length of the extra field
//! "TF" uint16 8 identifier and length of the one subfield
//! uint32 size   of the whole member
//! uint32 frames how many records begin in it
//! byte   deflate blocks[size - 32]
//! uint32 CRC-32 of the content
//! uint32 length of the content
//! ```
//!
//! A member begins where a record's frame begins, and ends where one ends; but a frame that is larger than
//! [`LARGEST`] is cut into several members, of which only the first counts it.

use super::libdeflate::{Packer, Unpacker, crc32};
use crate::error::ErrorKind;
use crate::runtime::memory::try_reserve;

/// Bytes of frames after which a member is complete: enough to compress well (1.8 % after one
/// stream), little enough to stay in a core's cache and to be entered for a single record.
pub const COMPLETE: usize = 256 << 10;
/// The most bytes of frames in a member.
pub const LARGEST: usize = 1 << 20;

/// Bytes before the deflate blocks.
pub const HEADER: usize = 24;
const TRAILER: usize = 8;

/// What the header begins with, up to the size.
const BEGIN: [u8; 16] = *b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x0c\0TF\x08\0";

/// A member that holds nothing, and says nothing: TensorFlow's file without records.
pub const EMPTY: &[u8; 20] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0";

/// The size of the member that begins with `start`, if it is one that says so and is no larger than any
/// that [`pack`] makes.
#[must_use]
pub fn announced(start: &[u8; HEADER]) -> Option<usize> {
    let (begin, rest) = start.split_first_chunk()?;
    let size = usize::try_from(u32::from_le_bytes(*rest.first_chunk()?)).ok()?;
    let possible = HEADER + TRAILER..=2 * LARGEST;
    (*begin == BEGIN && possible.contains(&size)).then_some(size)
}

/// How many records begin in the member that begins with `start`, which is one that says so.
#[must_use]
pub fn frames(start: &[u8; HEADER]) -> u32 {
    start
        .last_chunk()
        .map_or(0, |frames| u32::from_le_bytes(*frames))
}

/// Adds a member that holds `content`, in which that many `frames` begin, to the end of `output`.
///
/// # Errors
/// There is no memory for it.
pub fn pack(
    packer: &mut Packer,
    content: &[u8],
    frames: u32,
    output: &mut Vec<u8>,
) -> Result<(), ErrorKind> {
    let start = output.len();
    output.extend_from_slice(&BEGIN);
    output.extend_from_slice(&[0; 4]); // the size, when it is known
    output.extend_from_slice(&frames.to_le_bytes());
    packer.pack(content, output)?;
    output.extend_from_slice(&crc32(content).to_le_bytes());
    output.extend_from_slice(&modulo_2_32(content.len()).to_le_bytes());
    let size = modulo_2_32(output.len() - start).to_le_bytes();
    let place = start + BEGIN.len();
    if let Some(field) = output.get_mut(place..place + size.len()) {
        field.copy_from_slice(&size);
    }
    Ok(())
}

/// How many bytes of a file TensorFlow inflates at a time, and how many of those after such a piece may be the
/// end of a member.
const PIECE: (u64, u64) = (256 << 10, 16);

/// Whether TensorFlow may take the end of a member here for that of the file: if all that a piece of the file
/// begins with is the end of a member, of which nothing comes out, and there is no other piece after it, it
/// does not look at the members that follow (2.21; its own default for the length of a piece).
#[must_use]
pub fn ends_badly(end: u64) -> bool {
    (1..=PIECE.1).contains(&(end % PIECE.0))
}

/// The same member with another length, so that it does not end badly if it begins at `start`: not compressed, after
/// as many empty blocks as that takes. None for what is no member of ours.
#[must_use]
pub fn with_another_end(member: &[u8], start: u64) -> Option<Vec<u8>> {
    let header = member.first_chunk::<HEADER>()?;
    let trailer = member.last_chunk::<TRAILER>()?;
    let content = unpack(&mut Unpacker::new()?, member)?;
    let stored = |empty: usize| {
        let mut other = Vec::new();
        try_reserve(&mut other, member.len().max(content.len() * 9 / 8)).ok()?;
        other.extend_from_slice(header);
        (0..empty).for_each(|_| store(&[], false, &mut other));
        let mut pieces = content.chunks(usize::from(u16::MAX)).peekable();
        while let Some(piece) = pieces.next() {
            store(piece, pieces.peek().is_none(), &mut other);
        }
        other.extend_from_slice(trailer);
        let size = modulo_2_32(other.len()).to_le_bytes();
        let field = other.get_mut(BEGIN.len()..BEGIN.len() + size.len())?;
        field.copy_from_slice(&size);
        Some(other)
    };
    let mut others = (0..8).filter_map(stored);
    others.find(|other| !ends_badly(start + other.len() as u64))
}

/// Adds a block that is not compressed (RFC 1951, 3.2.4).
fn store(content: &[u8], is_last: bool, output: &mut Vec<u8>) {
    let length = u16::try_from(content.len()).unwrap_or(0);
    output.push(u8::from(is_last));
    output.extend_from_slice(&length.to_le_bytes());
    output.extend_from_slice(&(!length).to_le_bytes());
    output.extend_from_slice(content);
}

/// What `member` holds, if it is sound, whole, and holds no more than a member can: everything else is
/// for somebody to judge who goes through it byte by byte.
pub fn unpack(unpacker: &mut Unpacker, member: &[u8]) -> Option<Vec<u8>> {
    let (begin, rest) = member.split_first_chunk::<HEADER>()?;
    announced(begin).filter(|&size| size == member.len())?;
    let (rest, length) = rest.split_last_chunk()?;
    let (blocks, checksum) = rest.split_last_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    if length > LARGEST {
        return None;
    }
    let content = unpacker.unpack(blocks, length)?;
    (crc32(&content) == u32::from_le_bytes(*checksum)).then_some(content)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "gzip's length is modulo 2^32"
)]
fn modulo_2_32(length: usize) -> u32 {
    length as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut member = Vec::new();
        pack(&mut Packer::new(6).unwrap(), content, 1, &mut member).unwrap();
        member
    }

    proptest! {
        #[test]
        fn a_member_with_another_end_holds_the_same(
            content in prop::collection::vec(any::<u8>(), 1..3000),
            times in 1_usize..200,
            piece in 1_u64..9,
            after in 1_u64..=16,
        ) {
            let content = content.repeat(times.min(LARGEST / content.len()));
            let member = packed(&content);
            let start = (piece * PIECE.0 * 8 + after).saturating_sub(member.len() as u64);
            prop_assert!(ends_badly(start + member.len() as u64));
            let other = with_another_end(&member, start).unwrap();
            prop_assert!(!ends_badly(start + other.len() as u64));
            prop_assert_eq!(announced(other.first_chunk().unwrap()), Some(other.len()));
            prop_assert_eq!(frames(other.first_chunk().unwrap()), 1);
            prop_assert_eq!(unpack(&mut Unpacker::new().unwrap(), &other), Some(content));
        }

        #[test]
        fn what_is_packed_comes_out_again(content: Vec<u8>) {
            let member = packed(&content);
            let found = announced(member.first_chunk().unwrap());
            prop_assert_eq!(found, Some(member.len()));
            prop_assert_eq!(unpack(&mut Unpacker::new().unwrap(), &member), Some(content));
        }
    }

    #[test]
    fn a_member_that_is_cut_or_flipped_is_left_to_others() {
        let content = b"some content, some content, and no more".repeat(3);
        let member = packed(&content);
        let mut unpacker = Unpacker::new().unwrap();
        for cut in 0..member.len() {
            assert_eq!(unpack(&mut unpacker, &member[..cut]), None);
        }
        for bit in 0..member.len() * 8 {
            let mut bad = member.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let found = unpack(&mut unpacker, &bad);
            // How many frames begin in it does not matter here, nor do the bits that fill the last byte.
            assert!(found.is_none_or(|found| found == content), "bit {bit}");
        }
    }

    #[test]
    fn a_large_member_is_left_to_others() {
        let mut unpacker = Unpacker::new().unwrap();
        let largest = vec![7; LARGEST];
        assert_eq!(unpack(&mut unpacker, &packed(&largest)), Some(largest));
        assert_eq!(unpack(&mut unpacker, &packed(&vec![7; LARGEST + 1])), None);
    }
}
