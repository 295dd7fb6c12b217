//! Rows of different lengths, as dense and as sparse tensors have them.

/// Rows of `values`, which lie between `row_splits`, as the rows of a table of `longest` elements each, an
/// element being as long as `filler`, which stands where a row has no more; none if there is no memory.
/// What a row of the table has no room for is left out, as is a row that lies outside of the values.
///
/// ```
/// use tfrecs_core::example::sparse::rows::side_by_side;
///
/// let table = side_by_side(b"aabbbc", &[0, 2, 5, 6], 3, b".").unwrap();
/// assert_eq!(table, b"aa.bbbc..");
/// ```
#[must_use]
pub fn side_by_side(
    values: &[u8],
    row_splits: &[i64],
    longest: usize,
    filler: &[u8],
) -> Option<Vec<u8>> {
    let rows = row_splits.len().saturating_sub(1);
    let row = longest.saturating_mul(filler.len());
    let mut table = filled(rows.saturating_mul(row), filler)?;
    let places = table.chunks_exact_mut(row.max(1));
    for (bounds, place) in row_splits.windows(2).zip(places) {
        let &[start, end] = bounds else { continue };
        let content = between(values, start, end, filler.len());
        let length = content.len().min(place.len());
        if let (Some(place), Some(content)) = (place.get_mut(..length), content.get(..length)) {
            place.copy_from_slice(content);
        }
    }
    Some(table)
}

fn filled(size: usize, filler: &[u8]) -> Option<Vec<u8>> {
    let mut table = Vec::new();
    table.try_reserve_exact(size).ok()?;
    if filler.iter().all(|&byte| byte == 0) {
        // The system may have memory that is zero already, and need not be written to.
        drop(table);
        return Some(vec![0; size]);
    }
    table.extend(filler.iter().cycle().take(size));
    Some(table)
}

fn between(values: &[u8], start: i64, end: i64, element: usize) -> &[u8] {
    let at = |split: i64| usize::try_from(split).ok()?.checked_mul(element);
    let bounds = at(start).zip(at(end));
    let row = bounds.and_then(|(start, end)| values.get(start..end));
    row.unwrap_or_default()
}

/// For each of `values` values the number of its row and its place in that row, one after the other.
#[must_use]
pub fn coordinates(row_splits: &[i64], values: usize) -> Vec<i64> {
    let mut all = vec![0; values.saturating_mul(2)];
    let (mut pairs, _) = all.as_chunks_mut::<2>();
    for (row, bounds) in (0..).zip(row_splits.windows(2)) {
        let &[start, end] = bounds else { continue };
        let length = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
        let (here, after) = pairs.split_at_mut(length.min(pairs.len()));
        for (place, pair) in (0..).zip(here) {
            *pair = [row, place];
        }
        pairs = after;
    }
    all
}

/// The length of the longest row.
#[must_use]
pub fn longest(row_splits: &[i64]) -> i64 {
    let lengths = row_splits.windows(2).map(|bounds| match bounds {
        &[start, end] => end.saturating_sub(start),
        _ => 0,
    });
    lengths.max().unwrap_or(0).max(0)
}

/// The first line of a table of indices, a column for each dimension of `shape`, with one outside of it.
#[must_use]
pub fn first_outside(indices: &[i64], shape: &[i64]) -> Option<usize> {
    if shape.is_empty() {
        return None;
    }
    let is_outside = |(index, size): (&i64, &i64)| !(0..*size).contains(index);
    let mut lines = indices.chunks_exact(shape.len());
    lines.position(|line| line.iter().zip(shape).any(is_outside))
}

/// For each value the number of its row and its indices, of which each of `keys` has one, one after the
/// other; value i is the one at place `order[i]`, if there is an order.
#[must_use]
pub fn indices(row_splits: &[i64], keys: &[&[i64]], order: Option<&[i64]>) -> Vec<i64> {
    let values = keys.iter().map(|key| key.len()).min().unwrap_or(0);
    let rank = keys.len().saturating_add(1);
    let mut all = vec![0; values.saturating_mul(rank)];
    let mut table = all.chunks_exact_mut(rank).enumerate();
    for (row, bounds) in (0..).zip(row_splits.windows(2)) {
        let &[start, end] = bounds else { continue };
        let length = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
        for (value, line) in table.by_ref().take(length) {
            let place = match order {
                Some(order) => order
                    .get(value)
                    .map_or(0, |&place| place.try_into().unwrap_or(0)),
                None => value,
            };
            let [first, rest @ ..] = line else { continue };
            *first = row;
            for (index, key) in rest.iter_mut().zip(keys) {
                *index = key.get(place).copied().unwrap_or(0);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn splits_of(rows: &[Vec<u16>]) -> Vec<i64> {
        let lengths = rows.iter().map(|row| i64::try_from(row.len()).unwrap());
        let ends = lengths.scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    }

    proptest! {
        #[test]
        fn every_value_gets_to_its_place(
            rows in prop::collection::vec(prop::collection::vec(any::<u16>(), 0..40), 0..6),
            wider in 0..3usize,
            filler in prop_oneof![Just(0), any::<u8>()],
        ) {
            let longest = rows.iter().map(Vec::len).max().unwrap_or(0) + wider;
            let mut expected = Vec::new();
            for row in &rows {
                let filler = vec![u16::from_le_bytes([filler; 2]); longest - row.len()];
                expected.extend(row.iter().chain(&filler).flat_map(|value| value.to_le_bytes()));
            }
            let values: Vec<u8> = rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
            let table = side_by_side(&values, &splits_of(&rows), longest, &[filler; 2]);
            prop_assert_eq!(table.unwrap(), expected);
        }

        #[test]
        fn every_value_has_its_coordinates(
            rows in prop::collection::vec(prop::collection::vec(any::<u16>(), 0..6), 0..6),
        ) {
            let mut expected = Vec::new();
            for (number, row) in (0..).zip(&rows) {
                expected.extend((0..).zip(row).flat_map(|(place, _)| [number, place]));
            }
            let (splits, count) = (splits_of(&rows), expected.len() / 2);
            prop_assert_eq!(coordinates(&splits, count), expected);
            let most = rows.iter().map(Vec::len).max().unwrap_or(0);
            prop_assert_eq!(usize::try_from(longest(&splits)), Ok(most));
        }

        #[test]
        fn every_value_has_its_indices(
            rows in prop::collection::vec(prop::collection::vec(any::<u16>(), 0..6), 0..6),
            more in 0..3usize,
        ) {
            let flat: Vec<i64> = rows.iter().flatten().copied().map(i64::from).collect();
            let other: Vec<i64> = flat.iter().map(|index| -index).collect();
            let keys = [flat.as_slice(), &other, &other];
            let mut expected = Vec::new();
            for (number, row) in (0..).zip(&rows) {
                for index in row.iter().copied().map(i64::from) {
                    expected.extend([number, index, -index, -index].iter().take(2 + more));
                }
            }
            let splits = splits_of(&rows);
            prop_assert_eq!(&indices(&splits, &keys[..=more], None), &expected);
            let turned: Vec<Vec<i64>> =
                keys.iter().map(|key| key.iter().rev().copied().collect()).collect();
            let turned: Vec<&[i64]> = turned.iter().map(Vec::as_slice).collect();
            let order: Vec<i64> = (0..i64::try_from(flat.len()).unwrap()).rev().collect();
            prop_assert_eq!(indices(&splits, &turned[..=more], Some(&order)), expected);
        }

        #[test]
        fn the_first_index_outside_is_found(
            table in prop::collection::vec(prop::array::uniform3(-1..6i64), 0..6),
            shape in prop::array::uniform3(0..6i64),
        ) {
            let fits = |line: &[i64; 3]| line.iter().zip(&shape).all(|(&at, &size)| at >= 0 && at < size);
            let expected = table.iter().position(|line| !fits(line));
            prop_assert_eq!(first_outside(table.as_flattened(), &shape), expected);
        }

        #[test]
        fn any_splits_do_no_harm(
            splits in prop::collection::vec(prop_oneof![any::<i64>(), -2..9i64], 0..6),
            element in 0..5usize,
            longest in 0..9usize,
        ) {
            let table = side_by_side(&[1; 16], &splits, longest, &vec![7; element]).unwrap();
            prop_assert_eq!(table.len(), splits.len().saturating_sub(1) * longest * element);
            prop_assert_eq!(coordinates(&splits, 5).len(), 10);
            prop_assert!(super::longest(&splits) >= 0);
            prop_assert_eq!(indices(&splits, &[&[1; 4], &[2; 5]], Some(&splits)).len(), 12);
        }
    }
}
