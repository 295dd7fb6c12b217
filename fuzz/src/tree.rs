//! Protobuf messages as trees of fields, so that a change deep inside keeps the lengths around it right.

/// A field: its tag, and what it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub tag: u64,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Varint(u64),
    /// Four bytes or eight.
    Fixed(Vec<u8>),
    Bytes(Vec<u8>),
    /// Bytes that can be read as fields.
    Message(Vec<Field>),
    /// Fields, without a length before them.
    Group(Vec<Field>),
}

/// Record, map, entry, feature, list; and a level for what a `SequenceExample` has in between.
const MAX_DEPTH: usize = 6;

/// The fields of `bytes`, if they can be read as such.
pub fn parse(bytes: &[u8]) -> Option<Vec<Field>> {
    parse_to(bytes, MAX_DEPTH)
}

fn parse_to(mut bytes: &[u8], depth: usize) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let content = match tag & 7 {
            0 => Content::Varint(varint(&mut bytes)?),
            1 => Content::Fixed(take(&mut bytes, 8)?.to_vec()),
            2 => {
                let length = varint(&mut bytes)?;
                delimited(take(&mut bytes, length)?, depth)
            }
            5 => Content::Fixed(take(&mut bytes, 4)?.to_vec()),
            _ => return None,
        };
        fields.push(Field { tag, content });
    }
    Some(fields)
}

fn delimited(bytes: &[u8], depth: usize) -> Content {
    let fields = depth
        .checked_sub(1)
        .and_then(|depth| parse_to(bytes, depth));
    match fields {
        Some(fields) if !fields.is_empty() => Content::Message(fields),
        _ => Content::Bytes(bytes.to_vec()),
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let length = bytes.iter().take(10).position(|&byte| byte < 0x80)? + 1;
    let (varint, rest) = bytes.split_at(length);
    *bytes = rest;
    let digits = varint.iter().rev();
    Some(digits.fold(0, |value, &byte| value << 7 | u64::from(byte & 0x7f)))
}

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(taken)
}

/// The bytes of `fields`, with the lengths that they have.
pub fn encode(fields: &[Field]) -> Vec<u8> {
    let mut out = Vec::new();
    for field in fields {
        push_varint(&mut out, field.tag);
        match &field.content {
            Content::Varint(value) => push_varint(&mut out, *value),
            Content::Fixed(bytes) => out.extend(bytes),
            Content::Bytes(bytes) => push_delimited(&mut out, bytes),
            Content::Message(fields) => push_delimited(&mut out, &encode(fields)),
            Content::Group(fields) => {
                out.extend(encode(fields));
                push_varint(&mut out, field.tag | 4);
            }
        }
    }
    out
}

fn push_delimited(out: &mut Vec<u8>, bytes: &[u8]) {
    push_varint(out, bytes.len() as u64);
    out.extend(bytes);
}

/// Appends `value` as a varint.
pub fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
