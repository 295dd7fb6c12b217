//! The order of the values of a sparse tensor.

use std::cmp::Ordering;

/// The places of values such that within each row they ascend by their indices: by `keys[0]`, then
/// by the others; values with the same indices stay as they were.
///
/// Rows lie between `row_splits`, and each of `keys` has an index for each value. Rows that are in
/// order already, as most writers write them, cost one comparison a value.
#[must_use]
pub fn order_rows(row_splits: &[i64], keys: &[&[i64]]) -> Vec<i64> {
    let values = keys.iter().map(|key| key.len()).min().unwrap_or(0);
    let mut order: Vec<i64> = (0..).take(values).collect();
    let mut packed = Vec::new();
    for bounds in row_splits.windows(2) {
        let [start, end] = *bounds else { continue };
        let row = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let Some(row) = row.and_then(|(start, end)| order.get_mut(start..end)) else {
            continue;
        };
        match keys {
            [key] => sort(row, key, &mut packed),
            _ => row.sort_by(|&a, &b| compare(keys, a, b)),
        }
    }
    order
}

/// Sorts `row`, ascending places, by their indices. Indices and places of at most 32 bits, as nearly all
/// are, are sorted as one number.
fn sort(row: &mut [i64], key: &[i64], packed: &mut Vec<u64>) {
    packed.clear();
    packed.extend(row.iter().map_while(|&place| {
        let index = u32::try_from(at(key, place)).ok()?;
        let place = u32::try_from(place).ok()?;
        Some(u64::from(index) << 32 | u64::from(place))
    }));
    if packed.len() < row.len() {
        return row.sort_by_key(|&place| at(key, place));
    }
    packed.sort_unstable();
    for (place, &both) in row.iter_mut().zip(packed.iter()) {
        *place = (both & u64::from(u32::MAX)).cast_signed();
    }
}

/// Whether values are so ordered already: [`order_rows`] would leave each in its place.
#[must_use]
pub fn is_ordered(row_splits: &[i64], keys: &[&[i64]]) -> bool {
    let values = keys.iter().map(|key| key.len()).min().unwrap_or(0);
    let values = i64::try_from(values).unwrap_or(i64::MAX);
    row_splits.windows(2).all(|bounds| {
        let &[start, end] = bounds else { return true };
        if start < 0 || end > values {
            return true; // such a row is left alone
        }
        match keys {
            [key] => between(key, start, end).is_sorted(),
            _ => (start..end.saturating_sub(1)).all(|a| compare(keys, a, a + 1).is_le()),
        }
    })
}

fn between(key: &[i64], start: i64, end: i64) -> &[i64] {
    let bounds = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    let row = bounds.and_then(|(start, end)| key.get(start..end));
    row.unwrap_or_default()
}

fn compare(keys: &[&[i64]], a: i64, b: i64) -> Ordering {
    let by_each = keys.iter().map(|key| at(key, a).cmp(&at(key, b)));
    by_each.fold(Ordering::Equal, Ordering::then)
}

#[inline]
fn at(key: &[i64], place: i64) -> i64 {
    let place = usize::try_from(place).unwrap_or(usize::MAX);
    key.get(place).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_ascend_and_equals_stay(
            rows in prop::collection::vec(prop::collection::vec((-2..3i64, -2..3i64), 0..9), 0..6),
            both in any::<bool>(),
            shift in prop_oneof![Just(0), Just(2), Just((1 << 32) - 1), Just(1 << 40)],
        ) {
            let rows: Vec<Vec<_>> = rows
                .into_iter()
                .map(|row| row.into_iter().map(|(a, b)| (a + shift, b)).collect())
                .collect();
            let flat: Vec<(i64, i64)> = rows.iter().flatten().copied().collect();
            let (first, second): (Vec<i64>, Vec<i64>) = flat.iter().copied().unzip();
            let mut splits = vec![0];
            splits.extend(rows.iter().scan(0, |end, row| {
                *end += i64::try_from(row.len()).unwrap();
                Some(*end)
            }));
            let keys: &[&[i64]] = if both { &[&first, &second] } else { &[&first] };
            let mut expected = Vec::new();
            for (row, start) in rows.iter().zip(&splits) {
                let mut tagged: Vec<_> = (*start..).zip(row).collect();
                tagged.sort_by_key(|&(place, &(a, b))| (a, if both { b } else { 0 }, place));
                expected.extend(tagged.into_iter().map(|(place, _)| place));
            }
            prop_assert_eq!(is_ordered(&splits, keys), expected.is_sorted());
            prop_assert_eq!(order_rows(&splits, keys), expected);
        }
    }
}
