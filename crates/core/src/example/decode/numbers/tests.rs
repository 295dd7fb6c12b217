//! Many numbers at once, beside one by one.

use proptest::prelude::*;

use super::*;
use crate::example::wire::push_varint;

fn int64_list(values: &[i64], packed: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &value in values {
        if !packed {
            bytes.push(0x08);
        }
        push_varint(&mut bytes, value.cast_unsigned());
    }
    if packed {
        let mut list = vec![0x0a];
        push_varint(&mut list, bytes.len() as u64);
        list.append(&mut bytes);
        bytes = list;
    }
    bytes
}

/// Many values at once are converted, and refused, as each by itself.
fn convert_as_one_by_one<C: Conversion<To: PartialEq + std::fmt::Debug>>(
    of: impl Fn(i64) -> Option<C::To>,
    list: &[u8],
    values: &[i64],
) {
    let mut all = Vec::new();
    let read = C::push_list(list, &mut all);
    let misfit = values.iter().find(|&&value| of(value).is_none());
    assert_eq!(read, Ok(misfit.map(|&value| Misfit::Int64(value))));
    let expected: Vec<_> = values.iter().filter_map(|&value| of(value)).collect();
    assert_eq!(all, expected);
}

/// Every sign, exponent and bit that a type of 16 bits keeps, and below them what decides on rounding.
#[test]
fn floats_are_rounded_to_the_nearest() {
    for upper in 0..1u32 << 19 {
        for lower in [0, 1, 0x0800, 0x0fff, 0x1000, 0x1001, 0x1800, 0x1fff] {
            let value = f32::from_bits(upper << 13 | lower);
            let half = f16::from_f32_const(value).to_bits();
            assert_eq!(f16::of(value).to_bits(), half, "{value:e}");
            let brain = bf16::from_f32(value).to_bits();
            assert_eq!(bf16::of(value).to_bits(), brain, "{value:e}");
        }
    }
}

fn float_list(values: &[f32], packed: bool) -> Vec<u8> {
    let mut list = Vec::new();
    if packed {
        list.push(0x0a);
        push_varint(&mut list, 4 * values.len() as u64);
    }
    for value in values {
        if !packed {
            list.push(0x0d);
        }
        list.extend(value.to_le_bytes());
    }
    list
}

/// Many values at once are converted, and told to be too large, as each by itself.
fn floats_become<T: Float>(bits: impl Fn(T) -> u64, list: &[u8], values: &[f32]) {
    let mut all = Vec::new();
    let read = Floats::<T>::push_list(list, &mut all);
    let too_large = |&&value: &&f32| value.is_finite() && T::of(value).is_infinite();
    let misfit = values.iter().find(too_large);
    assert_eq!(read, Ok(misfit.map(|&value| Misfit::Float32(value))));
    let expected: Vec<_> = values.iter().map(|&value| bits(T::of(value))).collect();
    assert_eq!(all.into_iter().map(bits).collect::<Vec<_>>(), expected);
}

fn floats() -> impl Strategy<Value = Vec<f32>> {
    let usual = prop_oneof![20 => -1000f32..1000.0, 1 => Just(f32::INFINITY), 1 => -1e-6f32..1e-6];
    let any_bits = any::<u32>().prop_map(f32::from_bits);
    prop_oneof![
        prop::collection::vec(usual.clone(), 0..600),
        prop::collection::vec(prop_oneof![200 => usual, 1 => any_bits.clone()], 0..600),
        prop::collection::vec(any_bits, 0..600),
    ]
}

fn values() -> impl Strategy<Value = Vec<i64>> {
    let around = |limit: i64| limit.saturating_sub(2)..=limit.saturating_add(2);
    let value = prop_oneof![
        8 => 0..2i64,
        8 => 0..128i64,
        1 => around(0),
        1 => around(127),
        1 => around(-128),
        1 => around(255),
        1 => around(32_767),
        1 => around(-32_768),
        1 => around(65_535),
        1 => around(i64::from(i32::MAX)),
        1 => around(i64::from(i32::MIN)),
        1 => around(i64::from(u32::MAX)),
        1 => any::<i64>(),
    ];
    let rarely = prop::collection::vec(0..100i64, 0..600);
    prop_oneof![
        prop::collection::vec(value.clone(), 0..20),
        prop::collection::vec(value.clone(), 0..600),
        (rarely, any::<prop::sample::Index>(), value).prop_map(|(mut values, place, odd)| {
            if !values.is_empty() {
                let place = place.index(values.len());
                values[place] = odd;
            }
            values
        }),
    ]
}

proptest! {
    #[test]
    fn integers_are_converted_as_one_by_one(values in values(), packed in any::<bool>()) {
        let list = int64_list(&values, packed);
        convert_as_one_by_one::<Integers<Int8Type>>(|v| v.try_into().ok(), &list, &values);
        convert_as_one_by_one::<Integers<Int16Type>>(|v| v.try_into().ok(), &list, &values);
        convert_as_one_by_one::<Integers<Int32Type>>(|v| v.try_into().ok(), &list, &values);
        convert_as_one_by_one::<Integers<UInt8Type>>(|v| v.try_into().ok(), &list, &values);
        convert_as_one_by_one::<Integers<UInt16Type>>(|v| v.try_into().ok(), &list, &values);
        convert_as_one_by_one::<Integers<UInt32Type>>(|v| v.try_into().ok(), &list, &values);
        convert_as_one_by_one::<Integers<UInt64Type>>(|v| v.try_into().ok(), &list, &values);
        let truth = |value| match value {
            0 => Some(0),
            1 => Some(1),
            _ => None,
        };
        convert_as_one_by_one::<Truth>(truth, &list, &values);
    }

    #[test]
    fn floats_are_converted_as_one_by_one(values in floats(), packed in any::<bool>()) {
        let list = float_list(&values, packed);
        floats_become::<f64>(f64::to_bits, &list, &values);
        floats_become::<f16>(|half| half.to_bits().into(), &list, &values);
        floats_become::<bf16>(|brain| brain.to_bits().into(), &list, &values);
    }
}
