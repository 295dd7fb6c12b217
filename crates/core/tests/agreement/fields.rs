//! Messages as prost reads them, one level at a time.
//!
//! Decoding level by level shows where in a record a fault lies, and reads no more than what was
//! asked for. Three things that protobuf allows, and prost's generated code refuses or fixes
//! otherwise, are said here by hand: a field of another wire type than its own is unknown (prost
//! refuses the message), a map's key is bytes (prost wants UTF-8), and what was read before a fault
//! is kept.

use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, bytes, float, int64, skip_field};
use prost::{DecodeError, Message};
use tfrecs_core::example::spec::Kind;

use super::answer::Fault;

type Result<T> = std::result::Result<T, Fault>;

/// A message that is only ever read.
macro_rules! read_only {
    ($name:ident) => {
        impl Message for $name {
            fn encode_raw(&self, _: &mut impl BufMut) {
                unimplemented!("only read")
            }

            fn encoded_len(&self) -> usize {
                unimplemented!("only read")
            }

            fn clear(&mut self) {
                *self = Self::default();
            }

            fn merge_field(
                &mut self,
                tag: u32,
                wire_type: WireType,
                buf: &mut impl Buf,
                ctx: DecodeContext,
            ) -> std::result::Result<(), DecodeError> {
                self.read_field(tag, wire_type, buf, ctx)
            }
        }
    };
}

pub(super) use read_only;

/// The length-delimited fields of any message, in order: their numbers and their bytes.
#[derive(Debug, Default)]
pub struct Fields(pub Vec<(u32, Vec<u8>)>);

impl Fields {
    fn read_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> std::result::Result<(), DecodeError> {
        if wire_type != WireType::LengthDelimited {
            return skip_field(wire_type, tag, buf, ctx);
        }
        let mut content = Vec::new();
        bytes::merge(wire_type, &mut content, buf, ctx)?;
        self.0.push((tag, content));
        Ok(())
    }

    /// The bytes of every field `number`.
    pub fn all(self, number: u32) -> impl Iterator<Item = Vec<u8>> {
        self.0
            .into_iter()
            .filter_map(move |(tag, content)| (tag == number).then_some(content))
    }
}

read_only!(Fields);

/// An `Int64List`.
#[derive(Debug, Default)]
struct Integers(Vec<i64>);

impl Integers {
    fn read_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> std::result::Result<(), DecodeError> {
        match (tag, wire_type) {
            (1, WireType::LengthDelimited | WireType::Varint) => {
                int64::merge_repeated(wire_type, &mut self.0, buf, ctx)
            }
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }
}

read_only!(Integers);

/// A `FloatList`.
#[derive(Debug, Default)]
struct Floats(Vec<f32>);

impl Floats {
    fn read_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> std::result::Result<(), DecodeError> {
        match (tag, wire_type) {
            (1, WireType::LengthDelimited | WireType::ThirtyTwoBit) => {
                float::merge_repeated(wire_type, &mut self.0, buf, ctx)
            }
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }
}

read_only!(Floats);

/// What there is of a message up to its first fault, and the fault.
fn read<M: Message + Default>(bytes: &[u8]) -> (M, Option<Fault>) {
    let mut message = M::default();
    let outcome = message.merge(bytes);
    (message, outcome.err().map(|error| fault_of(&error)))
}

/// Why prost refuses a message.
pub fn fault_of(error: &DecodeError) -> Fault {
    if error.to_string().contains("recursion limit reached") {
        Fault::TooDeep
    } else {
        Fault::Wire
    }
}

/// A whole message, or its fault.
fn whole<M: Message + Default>(bytes: &[u8]) -> Result<M> {
    match read(bytes) {
        (message, None) => Ok(message),
        (_, Some(fault)) => Err(fault),
    }
}

/// An entry of a map: its key and its message.
pub type Entry = (Vec<u8>, Merged);

/// The entries of the maps in field `number` of a record, up to the first fault.
pub fn entries(record: &[u8], number: u32) -> Vec<Result<Entry>> {
    let mut all = Vec::new();
    let (record, fault) = read::<Fields>(record);
    for map in record.all(number) {
        let (map, fault) = read::<Fields>(&map);
        all.extend(map.all(1).map(|bytes| entry(&bytes)));
        all.extend(fault.map(Err));
    }
    all.extend(fault.map(Err));
    let whole = all.iter().take_while(|entry| entry.is_ok()).count();
    all.truncate(whole + 1);
    all
}

fn entry(bytes: &[u8]) -> Result<Entry> {
    let fields: Fields = whole(bytes)?;
    let (mut key, mut value) = (Vec::new(), Vec::new());
    for (number, content) in fields.0 {
        match number {
            1 => key = content,
            2 => value.push(content),
            _ => {}
        }
    }
    Ok((key, merged(&value)))
}

/// A message that came in parts, or what is wrong with one of them: nobody need ask for it.
pub type Merged = Result<Vec<u8>>;

/// Joins the parts of a message. Each must be one by itself, as for TensorFlow, protobuf and prost's derived
/// code; the bytes of all, read as one, may be sound where the first ends inside an unknown field, whose
/// content is then what follows.
fn merged(parts: &[Vec<u8>]) -> Merged {
    if parts.len() > 1 {
        for part in parts {
            whole::<Fields>(part)?;
        }
    }
    Ok(parts.concat())
}

/// The features of a `FeatureList`, and what is wrong after them.
pub fn steps(list: &[u8]) -> (Vec<Vec<u8>>, Option<Fault>) {
    let (fields, fault) = read::<Fields>(list);
    (fields.all(1).collect(), fault)
}

/// The list that a Feature holds, if any.
pub fn feature(bytes: &[u8]) -> Result<Option<(Kind, Merged)>> {
    let fields: Fields = whole(bytes)?;
    let mut held: Option<(Kind, Vec<Vec<u8>>)> = None;
    for (number, content) in fields.0 {
        let kind = match number {
            1 => Kind::Bytes,
            2 => Kind::Float32,
            3 => Kind::Int64,
            _ => continue,
        };
        match &mut held {
            Some((same, parts)) if *same == kind => parts.push(content),
            _ => held = Some((kind, vec![content])),
        }
    }
    Ok(held.map(|(kind, parts)| (kind, merged(&parts))))
}

/// The values of a list, as they are in it.
#[derive(Debug, PartialEq)]
pub enum List {
    Bytes(Vec<Vec<u8>>),
    Floats(Vec<f32>),
    Integers(Vec<i64>),
}

/// The values of a list of kind `kind`.
pub fn list(kind: Kind, bytes: &[u8]) -> Result<List> {
    Ok(match kind {
        Kind::Bytes => List::Bytes(whole::<Fields>(bytes)?.all(1).collect()),
        Kind::Float32 => List::Floats(whole::<Floats>(bytes)?.0),
        Kind::Int64 => List::Integers(whole::<Integers>(bytes)?.0),
    })
}
