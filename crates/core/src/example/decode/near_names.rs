//! The names that a record has where a feature that was asked for is missing: most often a typing error.

use crate::error::Error;
use crate::example::message::{Entry, for_each_feature, for_each_feature_list};
use crate::example::record_error::RecordError;
use crate::example::wire::WireError;

/// How many names a message has.
const MOST_NAMES: usize = 3;

/// How alike two names must be, from 0 to 1.
const ALIKE: f64 = 0.75;

/// Adds to an error about a feature that a record lacks which similar names the record has.
///
/// `records` are those among which the error has its place.
#[must_use]
pub fn with_near_names(error: RecordError, records: &[&[u8]]) -> RecordError {
    let record = error.index.and_then(|index| records.get(index));
    let hint = record
        .zip(error.error.feature())
        .and_then(|(record, wanted)| name_hint(record, wanted));
    match hint {
        Some(hint) => RecordError {
            index: error.index,
            error: said(&error.error, &hint),
        },
        None => error,
    }
}

/// What to say of a feature that a record lacks: which similar names the record has, if there are any.
#[must_use]
pub fn name_hint(record: &[u8], wanted: &str) -> Option<String> {
    let near = near_names(record, wanted);
    (!near.is_empty()).then(|| format!("; did you mean {}?", near.join(" or ")))
}

fn said(error: &Error, hint: &str) -> Error {
    let text = Error::content(format!("{}{hint}", error.kind()));
    text.at_feature(error.feature().unwrap_or_default())
}

/// The names most like `wanted`, in quotes; none if the record has that very name.
fn near_names(record: &[u8], wanted: &str) -> Vec<String> {
    let mut found: Vec<(f64, String)> = Vec::new();
    let mut has_wanted = false;
    let mut visit = |entry: Entry<'_>| {
        let name = entry.name()?;
        has_wanted |= name == wanted;
        let alike = likeness(name, wanted);
        if alike >= ALIKE && !found.iter().any(|(_, other)| other == name) {
            found.push((alike, name.to_owned()));
        }
        Ok::<(), WireError>(())
    };
    // What is broken in the record is not what this is about.
    let _ = for_each_feature(record, &mut visit)
        .and_then(|()| for_each_feature_list(record, &mut visit));
    if has_wanted {
        return Vec::new();
    }
    found.sort_by(|(one, name), (other, next)| other.total_cmp(one).then_with(|| name.cmp(next)));
    let names = found.into_iter().take(MOST_NAMES);
    names.map(|(_, name)| format!("{name:?}")).collect()
}

/// How alike two names are: by letters that are missing, added, changed or swapped, whatever their case, or one
/// being the last part of the other (`label` and `image/class/label`).
fn likeness(name: &str, wanted: &str) -> f64 {
    let (name, wanted) = (name.to_lowercase(), wanted.to_lowercase());
    let is_part = |whole: &str, part: &str| whole.rsplit(['/', '.', '_']).next() == Some(part);
    if is_part(&name, &wanted) || is_part(&wanted, &name) {
        return ALIKE;
    }
    strsim::normalized_damerau_levenshtein(&name, &wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(names: &[&str]) -> Vec<u8> {
        let mut map = Vec::new();
        for name in names {
            let length = u8::try_from(name.len()).unwrap_or_default();
            map.extend([0x0a, length + 4, 0x0a, length]);
            map.extend(name.as_bytes());
            map.extend([0x12, 0x00]);
        }
        let mut record = vec![0x0a, u8::try_from(map.len()).unwrap_or_default()];
        record.extend(map);
        record
    }

    #[test]
    fn similar_names_are_found() {
        let near = |names: &[&str], wanted: &str| near_names(&record(names), wanted);
        assert_eq!(near(&["label", "image"], "lable"), ["\"label\""]);
        assert_eq!(near(&["Label"], "label"), ["\"Label\""]);
        assert_eq!(
            near(&["image/class/label"], "label"),
            ["\"image/class/label\""]
        );
        assert_eq!(
            near(&["lables", "label", "labe"], "lable").first(),
            Some(&"\"lables\"".to_owned())
        );
        assert!(near(&["age", "height"], "label").is_empty());
        assert!(near(&["label", "labels"], "label").is_empty());
        assert!(near_names(b"\xff", "label").is_empty());
    }
}
