//! Every road that this processor can take, beside varints read one by one.

use proptest::prelude::*;

use super::*;
use crate::example::wire::push_varint;

/// The values up to the first fault, where each ends, and the fault.
fn one_after_another(bytes: &[u8]) -> (Vec<i64>, Vec<usize>, Result<(), WireError>) {
    let (mut values, mut ends) = (Vec::new(), vec![0]);
    let mut wire = Wire(bytes);
    while !wire.is_empty() {
        match wire.varint() {
            Ok(value) => values.push(value.cast_signed()),
            Err(error) => return (values, ends, Err(error)),
        }
        ends.push(bytes.len() - wire.0.len());
    }
    (values, ends, Ok(()))
}

fn roads() -> impl Iterator<Item = (usize, Decode)> {
    let there = |(nth, road): (usize, &fn() -> Option<Decode>)| Some((nth, road()?));
    ROADS.iter().enumerate().filter_map(there)
}

/// A value that no test has, where nothing was written.
const UNTOUCHED: i64 = 0x5a5a_a5a5_0123_4567;

fn all_roads_agree_on(bytes: &[u8]) {
    let (values, ends, outcome) = one_after_another(bytes);
    for (nth, decode) in roads() {
        let mut room = vec![MaybeUninit::new(UNTOUCHED); values.len() + 2 * WINDOW];
        let mut rest = bytes;
        let count = decode(&mut rest, &mut room);
        let written = initialized(&room, count);
        assert_eq!(written, &values[..count], "road {nth}: {bytes:?}");
        assert_eq!(rest, &bytes[ends[count]..], "road {nth}: {bytes:?}");
        let left = values.len() - count;
        assert!(left < WINDOW, "road {nth} gave up: {bytes:?}");
        assert!(left == 0 || outcome.is_err(), "road {nth}: {bytes:?}");
    }
    let mut all = vec![7];
    assert_eq!(decode_into(bytes, &mut all), outcome, "{bytes:?}");
    assert_eq!(all[1..], values, "{bytes:?}");
    let mut all = Vec::new();
    let by_slices = for_each_slice(bytes, |values| all.extend_from_slice(values));
    assert_eq!((all, by_slices), (values, outcome), "{bytes:?}");
}

/// `bits` as bytes: where one is set, the varint continues.
fn by_bits(bits: u32, length: u8) -> Vec<u8> {
    let byte = |place: u8| {
        let continues = u8::from(bits >> place & 1 == 1) << 7;
        continues | place.wrapping_mul(37) & 0x7f | 1
    };
    (0..length).map(byte).collect()
}

#[test]
fn every_sequence_of_lengths_in_sixteen_bytes() {
    for bits in 0..1 << 16 {
        all_roads_agree_on(&by_bits(bits, 16));
    }
}

#[test]
fn every_sequence_of_lengths_anywhere_in_a_large_window() {
    for before in (0..70).step_by(7) {
        for bits in 0..1 << 12 {
            let mut bytes = vec![0x55; before];
            bytes.extend(by_bits(bits, 12));
            bytes.extend([0x80, 0x03].repeat(40));
            all_roads_agree_on(&bytes);
        }
    }
}

#[test]
fn every_short_list_of_telling_bytes() {
    let telling = [0, 1, 0x7f, 0x80, 0x81, 0xff];
    let mut lists = vec![vec![]];
    for _ in 0..6 {
        let longer = |list: &Vec<u8>| telling.map(|byte| [list.as_slice(), &[byte]].concat());
        for list in &lists {
            all_roads_agree_on(list);
        }
        lists = lists.iter().flat_map(longer).collect();
    }
}

#[test]
fn every_length_at_every_place() {
    for length in 1..=12 {
        for before in 0..140 {
            for last in [0, 1, 0x7f] {
                let mut bytes = vec![0x2a; before];
                bytes.extend(vec![0xff; length - 1]);
                bytes.push(last);
                all_roads_agree_on(&bytes);
                bytes.extend([0x81, 0x01, 0x7f]);
                all_roads_agree_on(&bytes);
            }
        }
    }
}

#[test]
fn every_cut_of_a_list() {
    let mut bytes = Vec::new();
    for shift in 0..200 {
        push_varint(&mut bytes, u64::MAX >> (shift * 7 % 64));
    }
    for cut in 0..bytes.len() {
        all_roads_agree_on(&bytes[..cut]);
    }
}

/// No road writes beyond the room it has, whatever that is; and none stops while a window fits.
#[test]
fn every_size_of_the_room() {
    for value in [5, 300, 70_000, u64::MAX] {
        let mut bytes = Vec::new();
        for _ in 0..200 {
            push_varint(&mut bytes, value);
        }
        let (values, ends, _) = one_after_another(&bytes);
        for (nth, decode) in roads() {
            for size in 0..=200 {
                let mut room = vec![MaybeUninit::new(UNTOUCHED); 300];
                let mut rest = bytes.as_slice();
                let count = decode(&mut rest, &mut room[..size]);
                assert!(count <= size && count + WINDOW > size, "road {nth}");
                assert_eq!(initialized(&room, count), &values[..count], "road {nth}");
                assert_eq!(rest, &bytes[ends[count]..], "road {nth}");
                let after = &initialized(&room, 300)[size..];
                assert!(after.iter().all(|&value| value == UNTOUCHED), "road {nth}");
            }
        }
    }
}

#[test]
fn a_vector_with_room_does_not_move() {
    let bytes = [0x81, 0x01].repeat(500);
    let mut values = Vec::with_capacity(1000);
    let before = values.as_ptr();
    decode_into(&bytes[..400], &mut values).unwrap();
    decode_into(&bytes[400..], &mut values).unwrap();
    assert_eq!(values, [129; 500]);
    assert_eq!(values.as_ptr(), before);
}

#[test]
fn what_is_no_varint_takes_no_memory() {
    let mut values = Vec::new();
    assert_eq!(
        decode_into(&vec![0x80; 1 << 16], &mut values),
        Err(WireError::OverlongVarint)
    );
    assert!(values.capacity() <= 2 * WINDOW);
}

#[test]
fn the_best_road_is_the_first_that_is_there() {
    let (_, first) = roads().next().unwrap();
    assert!(std::ptr::fn_addr_eq(*BEST, first));
}

/// Values of up to that many bits, so that lists of all mixtures of lengths occur.
fn lists() -> impl Strategy<Value = Vec<u8>> {
    let value = |bits: u32| {
        (any::<u64>(), 0..=bits).prop_map(|(value, bits)| value.unbounded_shr(64 - bits))
    };
    let values = (1u32..=64).prop_flat_map(move |bits| prop::collection::vec(value(bits), 0..300));
    values.prop_map(|values| {
        let mut bytes = Vec::new();
        for value in values {
            push_varint(&mut bytes, value);
        }
        bytes
    })
}

proptest! {
    #[test]
    fn lists_of_values_at_any_alignment(list in lists(), before in 0usize..64) {
        let mut bytes = vec![0xff; before];
        bytes.extend(list);
        all_roads_agree_on(&bytes[before..]);
    }

    /// What lies after the bytes has no part in what they are.
    #[test]
    fn damaged_lists(mut list in lists(), damage in prop::collection::vec(any::<(u16, u8)>(), 1..20)) {
        for (place, byte) in damage {
            if let Some(length) = std::num::NonZero::new(list.len()) {
                list[usize::from(place) % length] = byte;
            }
        }
        let cut = list.len() / 2;
        all_roads_agree_on(&list[..cut]);
        all_roads_agree_on(&list);
    }

    #[test]
    fn any_bytes(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x80..=0xffu8, 0..0x80u8], 0..400),
    ) {
        all_roads_agree_on(&bytes);
    }
}
