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
}
