//! Mutations that know protobuf: half of all inputs are changed as trees of fields, which libFuzzer's
//! own mutations, blind to the lengths of five nested levels, would mostly break.

use libfuzzer_sys::fuzzer_mutate;

use crate::agreement::input::BOUNDARY;
use crate::tree::{Content, Field, encode, parse, push_varint};

/// Changes `data[..size]` to at most `max_size` bytes, and says to how many.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut dice = Dice(u64::from(seed) << 1 | 1);
    if dice.roll(2) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let changed = change_records(&data[..size], &mut dice);
    if changed.len() > max_size || changed == data[..size] {
        return fuzzer_mutate(data, size, max_size);
    }
    data[..changed.len()].copy_from_slice(&changed);
    changed.len()
}

/// Random numbers enough for choices (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        for shift in [13, -7, 17] {
            self.0 ^= if shift > 0 {
                self.0 << shift
            } else {
                self.0 >> -shift
            };
        }
        (self.0 >> 11) as usize % sides.max(1)
    }
}

/// The input with one record's tree changed, or two records swapped or doubled.
fn change_records(data: &[u8], dice: &mut Dice) -> Vec<u8> {
    let (request, rest) = data.split_at(request_len(data));
    let mut records = split(rest);
    let index = dice.roll(records.len());
    if dice.roll(8) == 0 {
        let other = dice.roll(records.len());
        let copy = records[other].clone();
        records.insert(index, copy);
    } else {
        records[index] = change_record(&records[index], dice);
    }
    [request, &records.join(BOUNDARY)].concat()
}

/// What comes before the first thing that looks like a record.
fn request_len(data: &[u8]) -> usize {
    let starts = 1..data.len().min(20);
    let first = data
        .split(|byte| *byte == BOUNDARY[0])
        .next()
        .unwrap_or_default();
    let whole = starts.clone().find(|&start| {
        first
            .get(start..)
            .is_some_and(|record| !record.is_empty() && parse(record).is_some())
    });
    whole.unwrap_or(1.min(data.len()))
}

fn split(mut data: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while let Some(end) = data
        .windows(BOUNDARY.len())
        .position(|part| part == BOUNDARY)
    {
        records.push(data[..end].to_vec());
        data = &data[end + BOUNDARY.len()..];
    }
    records.push(data.to_vec());
    records
}

fn change_record(record: &[u8], dice: &mut Dice) -> Vec<u8> {
    let Some(mut fields) = parse(record) else {
        return record.to_vec();
    };
    let spare = pick(&fields, dice);
    change_fields(&mut fields, spare, dice);
    encode(&fields)
}

/// A copy of some field of the tree.
fn pick(fields: &[Field], dice: &mut Dice) -> Option<Field> {
    let field = fields.get(dice.roll(fields.len()))?;
    match &field.content {
        Content::Message(inner) | Content::Group(inner) if dice.roll(3) > 0 => {
            pick(inner, dice).or_else(|| Some(field.clone()))
        }
        _ => Some(field.clone()),
    }
}

/// Goes down to some level of the tree, and changes something there.
fn change_fields(fields: &mut Vec<Field>, spare: Option<Field>, dice: &mut Dice) {
    let index = dice.roll(fields.len());
    let Some(field) = fields.get_mut(index) else {
        fields.extend(spare);
        return;
    };
    match &mut field.content {
        Content::Message(inner) | Content::Group(inner) if dice.roll(5) > 0 => {
            change_fields(inner, spare, dice);
        }
        _ => change_here(fields, index, spare, dice),
    }
}

fn change_here(fields: &mut Vec<Field>, index: usize, spare: Option<Field>, dice: &mut Dice) {
    let other = dice.roll(fields.len());
    match dice.roll(8) {
        0 => drop(fields.remove(index)),
        1 => fields.insert(other, fields[index].clone()),
        2 => fields.swap(index, other),
        3 => fields.insert(index, spare.unwrap_or_else(|| fields[index].clone())),
        4 => fields[index].tag = (1 + dice.roll(4) as u64) << 3 | (fields[index].tag & 7),
        5 => change_kind(&mut fields[index], dice),
        _ => change_content(&mut fields[index].content, dice),
    }
}

/// Another wire type, with the same bytes in it as far as possible.
fn change_kind(field: &mut Field, dice: &mut Dice) {
    let inner = match std::mem::replace(&mut field.content, Content::Varint(0)) {
        Content::Message(inner) | Content::Group(inner) => inner,
        other => vec![Field {
            tag: field.tag,
            content: other,
        }],
    };
    let (wire_type, content) = match dice.roll(6) {
        0 => (0, Content::Varint(NUMBERS[dice.roll(NUMBERS.len())])),
        1 => (1, Content::Fixed(vec![dice.roll(256) as u8; 8])),
        2 => (5, Content::Fixed(vec![dice.roll(256) as u8; 4])),
        3 => (3, Content::Group(inner)),
        4 => (2, Content::Bytes(encode(&inner))),
        _ => (2, Content::Message(inner)),
    };
    *field = Field {
        tag: field.tag & !7 | wire_type,
        content,
    };
}

/// At the edges of types, of varints' lengths, and of what floats round to.
const NUMBERS: [u64; 18] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 56,
    i64::MAX as u64,
    1 << 63,
    -129i64 as u64,
    u64::MAX,
];

const FLOATS: [f32; 10] = [
    0.0,
    -1.5,
    65504.0,
    65520.0,
    6e-8,
    3e-8,
    1.0 + 1.0 / 2048.0,
    f32::MAX,
    f32::NAN,
    f32::NEG_INFINITY,
];

fn change_content(content: &mut Content, dice: &mut Dice) {
    let bytes = match content {
        Content::Varint(value) => {
            *value = NUMBERS[dice.roll(NUMBERS.len())];
            return;
        }
        Content::Fixed(bytes) => {
            let size = bytes.len();
            fuzzer_mutate(bytes, size, size);
            return;
        }
        Content::Bytes(bytes) => std::mem::take(bytes),
        Content::Message(inner) | Content::Group(inner) => encode(inner),
    };
    *content = Content::Bytes(changed_bytes(bytes, dice));
}

/// A name, packed numbers, or something like what was there.
fn changed_bytes(mut bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    match dice.roll(6) {
        0 => {
            bytes =
                [&b"a"[..], b"b", b"", "\u{e9}".as_bytes(), b"c", b"\xff"][dice.roll(6)].to_vec()
        }
        1 => push_varint(&mut bytes, NUMBERS[dice.roll(NUMBERS.len())]),
        2 => bytes.extend(FLOATS[dice.roll(FLOATS.len())].to_le_bytes()),
        3 => bytes.truncate(dice.roll(bytes.len())),
        _ => {
            let size = bytes.len();
            bytes.resize(size + 16, 0);
            let size = fuzzer_mutate(&mut bytes, size, size + 16);
            bytes.truncate(size);
        }
    }
    bytes
}
