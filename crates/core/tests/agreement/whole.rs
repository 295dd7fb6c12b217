//! Whether protobuf refuses a record as a whole: also for bytes that no column shows.
//!
//! Columns that are inferred are of records that are sound all through. The rules read only what a column
//! shows, so this walks through all the rest, with prost's readers of tags, varints and fields.

use prost::bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// Tags and lengths of more bytes are refused.
const MOST: usize = 5;

/// What the fields of a message hold, by number: other messages, a name, or numbers.
#[derive(Clone, Copy)]
pub enum Kind {
    Bytes,
    Text,
    Floats,
    Integers,
    Message(&'static [(u32, Kind)]),
}

use Kind::{Bytes, Floats, Integers, Message, Text};

const FEATURE: Kind = Message(&[
    (1, Message(&[(1, Bytes)])),
    (2, Message(&[(1, Floats)])),
    (3, Message(&[(1, Integers)])),
]);
const FEATURES: Kind = Message(&[(1, Message(&[(1, Text), (2, FEATURE)]))]);
const FEATURE_LIST: Kind = Message(&[(1, FEATURE)]);
const FEATURE_LISTS: Kind = Message(&[(1, Message(&[(1, Text), (2, FEATURE_LIST)]))]);
pub const EXAMPLE: Kind = Message(&[(1, FEATURES)]);
pub const SEQUENCE: Kind = Message(&[(1, FEATURES), (2, FEATURE_LISTS)]);

/// Why a record is not accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    Broken,
    /// It has groups, which prost follows to another depth, and with tags of any length.
    HasGroups,
}

/// Reads all of `bytes`.
pub fn read(kind: Kind, mut bytes: &[u8]) -> Result<(), Reason> {
    let all = bytes;
    match kind {
        Bytes => Ok(()),
        Text => std::str::from_utf8(all)
            .map(drop)
            .map_err(|_| Reason::Broken),
        Floats if all.len().is_multiple_of(4) => Ok(()),
        Floats => Err(Reason::Broken),
        Integers => {
            while bytes.has_remaining() {
                decode_varint(&mut bytes).map_err(|_| Reason::Broken)?;
            }
            Ok(())
        }
        Message(fields) => {
            while bytes.has_remaining() {
                read_field(fields, &mut bytes)?;
            }
            Ok(())
        }
    }
}

fn read_field(fields: &[(u32, Kind)], bytes: &mut &[u8]) -> Result<(), Reason> {
    let (tag, wire_type) = short(bytes, |bytes| decode_key(bytes).ok())?;
    match wire_type {
        WireType::LengthDelimited => {
            let len = short(bytes, |bytes| decode_varint(bytes).ok())?;
            let len = usize::try_from(len).map_err(|_| Reason::Broken)?;
            let (content, rest) = bytes.split_at_checked(len).ok_or(Reason::Broken)?;
            *bytes = rest;
            let known = fields.iter().find(|(number, _)| *number == tag);
            read(known.map_or(Bytes, |(_, kind)| *kind), content)
        }
        WireType::StartGroup => Err(Reason::HasGroups),
        _ => {
            skip_field(wire_type, tag, bytes, DecodeContext::default()).map_err(|_| Reason::Broken)
        }
    }
}

/// What `read` takes off `bytes`, if that is no more than [`MOST`] bytes.
fn short<T>(bytes: &mut &[u8], read: impl Fn(&mut &[u8]) -> Option<T>) -> Result<T, Reason> {
    let before = bytes.len();
    read(bytes)
        .filter(|_| before - bytes.len() <= MOST)
        .ok_or(Reason::Broken)
}
