//! The messages of `tf.train`, as far as their fields matter here.
//!
//! ```text
//! Example         { Features features = 1; }
//! SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }
//! Features        { map<string, Feature> feature = 1; }
//! FeatureLists    { map<string, FeatureList> feature_list = 1; }
//! FeatureList     { repeated Feature feature = 1; }
//! Feature         { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }
//! BytesList       { repeated bytes value = 1; }
//! FloatList       { repeated float value = 1 [packed]; }
//! Int64List       { repeated int64 value = 1 [packed]; }
//! ```
//!
//! Merging two protobuf messages is concatenating their bytes. Where a field that holds a message
//! comes twice, its parts are therefore joined ([`Cow::Owned`]) and read as one; that is rare, and
//! nothing else has to know about it. Each part must be a message by itself: two halves of a broken one
//! do not make a whole.

use std::borrow::Cow;

use super::spec::Kind;
use super::wire::{Wire, WireError, WireResult as Result, WireType};
use crate::example::canonical;
use crate::example::varint;

/// The field of Example, `SequenceExample`, Features, `FeatureLists` and `FeatureList` that matters
/// most, and the only one of all but `SequenceExample`.
pub const FIRST: u32 = 1;
/// `SequenceExample.feature_lists`.
pub const SECOND: u32 = 2;

/// One field of a message: its number and its bytes, if it is length-delimited and was asked for.
#[inline]
fn next_bytes<'a>(wire: &mut Wire<'a>, wanted: u32) -> Result<Option<&'a [u8]>> {
    if wanted == FIRST
        && let Some(rest) = wire.0.strip_prefix(&[0x0a])
    {
        wire.0 = rest;
        return wire.bytes().map(Some);
    }
    next_bytes_slowly(wire, wanted)
}

fn next_bytes_slowly<'a>(wire: &mut Wire<'a>, wanted: u32) -> Result<Option<&'a [u8]>> {
    while !wire.is_empty() {
        let (number, wire_type) = wire.tag()?;
        if number == wanted && wire_type == WireType::Bytes {
            return wire.bytes().map(Some);
        }
        wire.skip(number, wire_type)?;
    }
    Ok(None)
}

/// `so_far` with `more` merged in.
///
/// # Errors
/// What is wrong with the bytes of one of several parts.
pub(crate) fn merge<'a>(so_far: &mut Option<Cow<'a, [u8]>>, more: &'a [u8]) -> Result<()> {
    match so_far {
        None => *so_far = Some(Cow::Borrowed(more)),
        Some(bytes) => join(bytes, more)?,
    }
    Ok(())
}

/// Joins a message and what is to be merged into it.
///
/// # Errors
/// What is wrong with the bytes of either.
pub(crate) fn join<'a>(so_far: &mut Cow<'a, [u8]>, more: &'a [u8]) -> Result<()> {
    if let Cow::Borrowed(first) = so_far {
        check_fields(first)?;
    }
    check_fields(more)?;
    so_far.to_mut().extend_from_slice(more);
    Ok(())
}

fn check_fields(message: &[u8]) -> Result<()> {
    let mut wire = Wire(message);
    while !wire.is_empty() {
        let (number, wire_type) = wire.tag()?;
        wire.skip(number, wire_type)?;
    }
    Ok(())
}

/// A message in a field that may come several times. What is wrong with a part is reported when the message
/// is read, not before: nobody need ask for it.
#[derive(Default)]
pub struct Merged<'a> {
    bytes: Cow<'a, [u8]>,
    broken: Option<WireError>,
}

impl<'a> Merged<'a> {
    #[inline]
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes: Cow::Borrowed(bytes),
            broken: None,
        }
    }

    fn join(&mut self, more: &'a [u8]) {
        if self.broken.is_none() {
            self.broken = join(&mut self.bytes, more).err();
        }
    }

    /// The message's bytes.
    ///
    /// # Errors
    /// What is wrong with one of several parts.
    #[inline]
    pub fn get(&self) -> Result<&[u8]> {
        match self.broken {
            None => Ok(&self.bytes),
            Some(error) => Err(error),
        }
    }
}

/// An entry of a map from names to messages.
pub struct Entry<'a> {
    /// The name's bytes.
    pub key: &'a [u8],
    /// The message.
    pub value: Merged<'a>,
    /// The bytes of the entry, if it is as writers write it.
    pub usual: Option<&'a [u8]>,
}

impl<'a> Entry<'a> {
    /// Reads an entry; a key or a value that is not there is empty.
    #[inline]
    fn parse(bytes: &'a [u8]) -> Result<Self> {
        if let Some(entry) = Self::parse_usual(bytes) {
            return Ok(entry);
        }
        let mut wire = Wire(bytes);
        let mut key: &[u8] = b"";
        let mut value: Option<Merged<'a>> = None;
        while !wire.is_empty() {
            match (wire.tag()?, &mut value) {
                ((FIRST, WireType::Bytes), _) => key = wire.bytes()?,
                ((SECOND, WireType::Bytes), None) => value = Some(Merged::new(wire.bytes()?)),
                ((SECOND, WireType::Bytes), Some(so_far)) => so_far.join(wire.bytes()?),
                ((number, wire_type), _) => wire.skip(number, wire_type)?,
            }
        }
        Ok(Self {
            key,
            value: value.unwrap_or_default(),
            usual: None,
        })
    }

    /// The entry that every writer writes.
    #[inline]
    fn parse_usual(bytes: &'a [u8]) -> Option<Self> {
        let (key, value) = canonical::only_pair(bytes)?;
        Some(Self {
            key,
            value: Merged::new(value),
            usual: Some(bytes),
        })
    }

    /// The name as text.
    ///
    /// # Errors
    /// [`WireError::NotUtf8`].
    pub fn name(&self) -> Result<&'a str> {
        std::str::from_utf8(self.key).map_err(|_| WireError::NotUtf8)
    }
}

/// Calls `visit` with the bytes of every map in field `field` of `record`; together they are one map.
///
/// # Errors
/// Those of the bytes, and those of `visit`.
#[inline]
pub fn for_each_map<'a, E: From<WireError>>(
    record: &'a [u8],
    field: u32,
    mut visit: impl FnMut(Wire<'a>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut message = Wire(record);
    while let Some(map) = next_bytes(&mut message, field)? {
        visit(Wire(map))?;
    }
    Ok(())
}

/// Takes the next entry off a map.
///
/// # Errors
/// What is wrong with the bytes.
#[inline]
pub fn next_entry<'a>(map: &mut Wire<'a>) -> Result<Option<Entry<'a>>> {
    next_bytes(map, FIRST)?.map(Entry::parse).transpose()
}

/// Calls `visit` for every entry of the maps in field `field` of `record`, in order; of entries with
/// the same key, the last one counts.
fn for_each_entry<'a, E: From<WireError>>(
    record: &'a [u8],
    field: u32,
    mut visit: impl FnMut(Entry<'a>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    for_each_map(record, field, |mut map| {
        while let Some(entry) = next_entry(&mut map)? {
            visit(entry)?;
        }
        Ok(())
    })
}

/// Calls `visit` for every feature of an Example, or of the context of a `SequenceExample`, in order;
/// of features with the same name, the last one counts.
///
/// # Errors
/// Those of the bytes, and those of `visit`.
pub fn for_each_feature<'a, E: From<WireError>>(
    record: &'a [u8],
    visit: impl FnMut(Entry<'a>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    for_each_entry(record, FIRST, visit)
}

/// Calls `visit` for every feature list of a `SequenceExample`, in order; of lists with the same
/// name, the last one counts.
///
/// # Errors
/// Those of the bytes, and those of `visit`.
pub fn for_each_feature_list<'a, E: From<WireError>>(
    record: &'a [u8],
    visit: impl FnMut(Entry<'a>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    for_each_entry(record, SECOND, visit)
}

/// Calls `visit` with the bytes of every feature of a `FeatureList`, in order.
///
/// # Errors
/// Those of the bytes, and those of `visit`.
pub fn for_each_step<'a, E: From<WireError>>(
    feature_list: &'a [u8],
    mut visit: impl FnMut(&'a [u8]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut wire = Wire(feature_list);
    while let Some(feature) = next_step(&mut wire)? {
        visit(feature)?;
    }
    Ok(())
}

/// Takes the next feature off a `FeatureList`.
///
/// # Errors
/// What is wrong with the bytes.
#[inline]
pub fn next_step<'a>(feature_list: &mut Wire<'a>) -> Result<Option<&'a [u8]>> {
    next_bytes(feature_list, FIRST)
}

/// A Feature: which list it has, if any, and that list.
pub struct Feature<'a> {
    /// The list.
    pub list: Option<(Kind, Merged<'a>)>,
}

impl<'a> Feature<'a> {
    /// Reads a Feature.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut wire = Wire(bytes);
        let mut list: Option<(Kind, Merged<'a>)> = None;
        while !wire.is_empty() {
            let (number, wire_type) = wire.tag()?;
            let Some(kind) = Kind::of_field(number).filter(|_| wire_type == WireType::Bytes) else {
                wire.skip(number, wire_type)?;
                continue;
            };
            let more = wire.bytes()?;
            match &mut list {
                Some((same, so_far)) if *same == kind => so_far.join(more),
                _ => list = Some((kind, Merged::new(more))),
            }
        }
        Ok(Self { list })
    }
}

/// Appends the values of an `Int64List`.
///
/// # Errors
/// What is wrong with the bytes; the values before are appended.
#[inline]
pub fn push_int64s(list: &[u8], out: &mut Vec<i64>) -> Result<()> {
    let mut wire = Wire(list);
    while !wire.is_empty() {
        match wire.tag()? {
            (FIRST, WireType::Bytes) => varint::decode_into(wire.bytes()?, out)?,
            (FIRST, WireType::Varint) => out.push(wire.varint()?.cast_signed()),
            (number, wire_type) => wire.skip(number, wire_type)?,
        }
    }
    Ok(())
}

/// Calls `push` with the values of an `Int64List`, many at a time where they lie together.
///
/// # Errors
/// What is wrong with the bytes.
#[inline]
pub fn for_each_int64s(list: &[u8], mut push: impl FnMut(&[i64])) -> Result<()> {
    let mut wire = Wire(list);
    while !wire.is_empty() {
        match wire.tag()? {
            (FIRST, WireType::Bytes) => varint::for_each_slice(wire.bytes()?, &mut push)?,
            (FIRST, WireType::Varint) => push(&[wire.varint()?.cast_signed()]),
            (number, wire_type) => wire.skip(number, wire_type)?,
        }
    }
    Ok(())
}

/// Calls `push` with the values of a `FloatList`, as many at a time as lie together.
///
/// # Errors
/// What is wrong with the bytes.
#[inline]
pub fn for_each_floats(list: &[u8], mut push: impl FnMut(&[[u8; 4]])) -> Result<()> {
    let mut wire = Wire(list);
    while !wire.is_empty() {
        match wire.tag()? {
            (FIRST, WireType::Bytes) => {
                let (floats, rest) = wire.bytes()?.as_chunks::<4>();
                if !rest.is_empty() {
                    return Err(WireError::RaggedFloats);
                }
                push(floats);
            }
            (FIRST, WireType::Fixed32) => push(&[wire.fixed32()?]),
            (number, wire_type) => wire.skip(number, wire_type)?,
        }
    }
    Ok(())
}

/// Calls `push` with each value of a `BytesList`.
///
/// # Errors
/// What is wrong with the bytes.
#[inline]
pub fn for_each_bytes<'a>(list: &'a [u8], mut push: impl FnMut(&'a [u8])) -> Result<()> {
    let mut wire = Wire(list);
    while let Some(value) = next_bytes(&mut wire, FIRST)? {
        push(value);
    }
    Ok(())
}
