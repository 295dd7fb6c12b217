//! Messages as every writer writes them: fields in order, each once, numbers packed in one piece, and no more bytes
//! for tags and lengths than protobuf allows.
//!
//! All but a few records are of this form, and are read without the care that the others need. A message that is not
//! of this form is left to `message.rs`, which reads whatever protobuf's wire format allows.

use crate::example::spec::Kind;
use crate::example::wire::{Wire, WireError, varint_len};

/// The forms of messages that are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All that the wire format allows.
    Any,
    /// The usual form; others are [`WireError::Unusual`].
    Usual,
}

/// Tag of a length-delimited field 1, and of a field 2.
const FIRST_TAG: u8 = 0x0a;
const SECOND_TAG: u8 = 0x12;

/// Takes the bytes of a field off `wire`, if its tag is `tag`.
#[inline]
fn take_field<'a>(wire: &mut Wire<'a>, tag: u8) -> Option<&'a [u8]> {
    let mut rest = Wire(wire.0.strip_prefix(&[tag])?);
    let bytes = rest.short_bytes()?;
    *wire = rest;
    Some(bytes)
}

/// Returns the bytes of field 1 if the message has no other field.
#[inline]
fn only_field(message: &[u8]) -> Option<&[u8]> {
    let mut wire = Wire(message);
    let bytes = take_field(&mut wire, FIRST_TAG)?;
    wire.is_empty().then_some(bytes)
}

/// Returns the list of a Feature that has just one.
#[must_use]
#[inline]
pub fn only_list(feature: &[u8]) -> Option<(Kind, &[u8])> {
    let (&tag, rest) = feature.split_first()?;
    let kind = Kind::of_tag(tag)?;
    let mut wire = Wire(rest);
    let list = wire.short_bytes()?;
    wire.is_empty().then_some((kind, list))
}

/// Returns the value of a `BytesList` that has just one.
#[must_use]
#[inline]
pub fn only_bytes(list: &[u8]) -> Option<&[u8]> {
    only_field(list)
}

/// Returns the value of an `Int64List` that has just one, packed.
#[must_use]
#[inline]
pub fn only_int64(list: &[u8]) -> Option<i64> {
    let mut packed = Wire(only_field(list)?);
    let value = packed.varint().ok()?;
    packed.is_empty().then_some(value.cast_signed())
}

/// Returns the packed values of an `Int64List` that are in one piece.
#[must_use]
#[inline]
pub fn only_packed(list: &[u8]) -> Option<&[u8]> {
    only_field(list)
}

/// Returns the values of a `FloatList` that are packed in one piece.
#[must_use]
#[inline]
pub fn only_floats(list: &[u8]) -> Option<&[[u8; 4]]> {
    let (floats, rest) = only_field(list)?.as_chunks::<4>();
    rest.is_empty().then_some(floats)
}

/// Returns key and value of an entry that has each once, the key first.
#[must_use]
#[inline]
pub fn only_pair(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut wire = Wire(entry);
    let key = take_field(&mut wire, FIRST_TAG)?;
    let value = take_field(&mut wire, SECOND_TAG)?;
    wire.is_empty().then_some((key, value))
}

/// Takes the next entry off a map: its key and value.
#[inline]
pub fn take_entry<'a>(map: &mut Wire<'a>) -> Option<(&'a [u8], &'a [u8])> {
    only_pair(take_field(map, FIRST_TAG)?)
}

/// Calls `push` with each value of a `BytesList`.
///
/// # Errors
/// [`WireError::Unusual`], after the values before what is unusual.
#[inline]
pub fn for_each_bytes<'a>(list: &'a [u8], mut push: impl FnMut(&'a [u8])) -> Result<(), WireError> {
    let mut wire = Wire(list);
    while let Some(value) = next_first(&mut wire)? {
        push(value);
    }
    Ok(())
}

/// Checks the form of a list, if it is one of numbers.
///
/// # Errors
/// [`WireError::Unusual`].
#[inline]
pub fn check_numbers(kind: Option<Kind>, list: &[u8], form: Form) -> Result<(), WireError> {
    let is_unusual =
        form == Form::Usual && kind.is_some_and(|kind| kind != Kind::Bytes && !is_list(kind, list));
    if is_unusual {
        Err(WireError::Unusual)
    } else {
        Ok(())
    }
}

/// Takes the next field 1 off a `FeatureList` or a `BytesList`.
///
/// # Errors
/// [`WireError::Unusual`].
#[inline]
pub fn next_first<'a>(list: &mut Wire<'a>) -> Result<Option<&'a [u8]>, WireError> {
    match take_field(list, FIRST_TAG) {
        None if !list.is_empty() => Err(WireError::Unusual),
        field => Ok(field),
    }
}

/// Returns the map in field `field` of a record that has no fields but 1 and 2, and that one once.
#[must_use]
#[inline]
pub fn only_map(record: &[u8], field: u32) -> Option<&[u8]> {
    let (mut wire, mut found) = (Wire(record), None);
    while !wire.is_empty() {
        let tag = *wire.0.first()?;
        if !matches!(tag, FIRST_TAG | SECOND_TAG) {
            return None;
        }
        let map = take_field(&mut wire, tag)?;
        if u32::from(tag >> 3) == field && found.replace(map).is_some() {
            return None;
        }
    }
    found
}

/// Counts the bytes of the fields of a message that are of this form, to find out whether it has others.
#[derive(Default)]
pub struct Count(usize);

impl Count {
    /// Adds a field that holds a message, if that is of this form.
    #[inline]
    pub fn add_entry(&mut self, message: Option<&[u8]>) {
        if let Some(message) = message {
            self.add(message);
        }
    }

    /// Adds a field with these bytes.
    #[inline]
    pub fn add(&mut self, field: &[u8]) {
        self.0 += 1 + varint_len(field.len() as u64) + field.len();
    }

    /// Whether the fields that were added are all of a message.
    #[must_use]
    #[inline]
    pub fn is_all_of(&self, message: &[u8]) -> bool {
        self.0 == message.len()
    }

    /// Whether the entries that were added are all of the maps of a record, and it has nothing else.
    #[must_use]
    #[inline]
    pub fn is_all_of_maps(&self, record: &[u8]) -> bool {
        let (mut wire, mut len) = (Wire(record), 0);
        while let Some(&tag @ (FIRST_TAG | SECOND_TAG)) = wire.0.first()
            && let Some(map) = take_field(&mut wire, tag)
        {
            len += map.len();
        }
        wire.is_empty() && self.0 == len
    }
}

/// Whether a serialized Example is of this form, but for the numbers in its lists, which are not looked at.
#[must_use]
pub fn is_example(record: &[u8]) -> bool {
    has_only(record, |tag, map| {
        tag == FIRST_TAG && has_entries(map, is_feature)
    })
}

/// Whether a serialized `SequenceExample` is of this form; as [`is_example`].
#[must_use]
pub fn is_sequence(record: &[u8]) -> bool {
    has_only(record, |tag, map| match tag {
        FIRST_TAG => has_entries(map, is_feature),
        SECOND_TAG => has_entries(map, is_feature_list),
        _ => false,
    })
}

/// Whether `is_usual` accepts the tag and the bytes of every field.
#[inline]
fn has_only(message: &[u8], is_usual: impl Fn(u8, &[u8]) -> bool) -> bool {
    let mut wire = Wire(message);
    while let Some(&tag) = wire.0.first() {
        let Some(bytes) = take_field(&mut wire, tag) else {
            return false;
        };
        if !is_usual(tag, bytes) {
            return false;
        }
    }
    true
}

/// Whether a map has only entries of a key and a value that `is_usual` accepts.
#[inline]
fn has_entries(map: &[u8], is_usual: impl Fn(&[u8]) -> bool) -> bool {
    has_only(map, |tag, entry| {
        tag == FIRST_TAG && only_pair(entry).is_some_and(|(_, value)| is_usual(value))
    })
}

fn is_feature_list(list: &[u8]) -> bool {
    has_only(list, |tag, step| tag == FIRST_TAG && is_feature(step))
}

/// Whether a Feature has one list of this form, or none.
#[must_use]
#[inline]
fn is_feature(feature: &[u8]) -> bool {
    feature.is_empty() || only_list(feature).is_some_and(|(kind, list)| is_list(kind, list))
}

#[inline]
fn is_list(kind: Kind, list: &[u8]) -> bool {
    match kind {
        Kind::Bytes => has_only(list, |tag, _| tag == FIRST_TAG),
        Kind::Float32 => list.is_empty() || only_floats(list).is_some(),
        Kind::Int64 => list.is_empty() || only_field(list).is_some(),
    }
}
