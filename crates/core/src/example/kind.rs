//! Which of the messages that people put into records a record looks like.
//!
//! Nothing in a record names its message, and protobuf skips fields it does not know. So an Event read as an
//! Example gives no features, and a `SequenceExample` loses its feature lists. The checks here look at the outermost
//! fields of a record only, of which writers make one or two.
//!
//! ```text
//! Example         1 bytes (Features)
//! SequenceExample 1 bytes (context), 2 bytes (FeatureLists)
//! Event           1 fixed64 (wall time), 2 varint (step), 3..=10 bytes
//! TensorProto     1 varint (type), 2 bytes (shape), 3 varint, 4.. values
//! ```

use super::event::Event;
use super::message::{for_each_feature, for_each_feature_list};
use super::tensor::proto::Proto;
use super::wire::{Wire, WireError, WireType};
use crate::error::{Error, Result};

/// A message of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// `tf.train.Example`.
    Example,
    /// `tf.train.SequenceExample`.
    SequenceExample,
    /// `tensorflow.Event`, in tensorboard's files.
    Event,
    /// `tensorflow.TensorProto`.
    Tensor,
    /// None of these.
    Other,
}

impl MessageKind {
    /// Guesses the message of a record. The empty record is an Example.
    #[must_use]
    pub fn of(record: &[u8]) -> Self {
        let Ok(fields) = fields(record) else {
            return Self::Other;
        };
        if fields.iter().all(|field| *field == (1, WireType::Bytes)) {
            return if has_features(record) {
                Self::Example
            } else {
                Self::Other
            };
        }
        if fields.iter().all(|field| is_of_sequence(*field)) {
            return if has_lists(record) {
                Self::SequenceExample
            } else {
                Self::Other
            };
        }
        if fields.iter().all(|field| is_of_event(*field)) && Event::parse(record).is_ok() {
            return Self::Event;
        }
        if is_tensor(record, &fields) {
            Self::Tensor
        } else {
            Self::Other
        }
    }

    /// The message's name, and the function that reads it.
    fn described(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Example => Some(("an Example", "decode_example()")),
            Self::SequenceExample => Some(("a SequenceExample", "decode_sequence_example()")),
            Self::Event => Some(("an Event of tensorboard", "read_events()")),
            Self::Tensor => Some(("a TensorProto", "parse_tensor()")),
            Self::Other => None,
        }
    }
}

type Field = (u32, WireType);

fn fields(message: &[u8]) -> std::result::Result<Vec<Field>, WireError> {
    let (mut wire, mut found) = (Wire(message), Vec::new());
    while !wire.is_empty() {
        let (number, wire_type) = wire.tag()?;
        wire.skip(number, wire_type)?;
        // Repetitions say nothing new, and a record may have millions.
        if found.last() != Some(&(number, wire_type)) && found.len() < MOST_FIELDS {
            found.push((number, wire_type));
        }
    }
    Ok(found)
}

/// More kinds of fields, in turn, than any of the messages has.
const MOST_FIELDS: usize = 64;

fn is_of_sequence(field: Field) -> bool {
    matches!(field, (1 | 2, WireType::Bytes))
}

fn is_of_event(field: Field) -> bool {
    matches!(
        field,
        (1, WireType::Fixed64) | (2, WireType::Varint) | (3..=10, WireType::Bytes)
    )
}

fn is_tensor(record: &[u8], fields: &[Field]) -> bool {
    let mut dtypes = fields.iter().filter(|(number, _)| *number == 1);
    let has_type = dtypes.all(|(_, wire_type)| *wire_type == WireType::Varint);
    has_type && Proto::parse(record).is_ok_and(|proto| proto.dtype(None).is_ok())
}

/// Whether all entries of an Example's map can be read, and nothing else is among them.
fn has_features(record: &[u8]) -> bool {
    let named = for_each_feature(record, |entry| entry.name().map(drop));
    named.is_ok() && only_first(record).is_ok()
}

fn has_lists(record: &[u8]) -> bool {
    let named = for_each_feature_list(record, |entry| entry.name().map(drop));
    named.is_ok() && for_each_feature(record, |entry| entry.name().map(drop)).is_ok()
}

/// Checks that a record has the fields of an Example, and no others.
///
/// # Errors
/// Content that names the message the record looks like. What is broken is left to whatever decodes it.
#[inline]
pub fn check_example(record: &[u8]) -> Result<()> {
    // What writers write: one field, the features.
    let mut wire = Wire(record);
    while let Some(rest) = wire.0.strip_prefix(&[0x0a]) {
        wire.0 = rest;
        if wire.bytes().is_err() {
            return Ok(());
        }
    }
    if wire.is_empty() {
        return Ok(());
    }
    check(record, MessageKind::Example, |field| {
        field == (1, WireType::Bytes)
    })
}

/// Checks that an Example in which no feature was found has no fields beside features.
///
/// # Errors
/// As [`check_example`].
pub fn check_no_features(record: &[u8]) -> Result<()> {
    only_first(record).map_err(|unknown| unlike(record, MessageKind::Example, unknown))
}

/// Checks that a record has the fields of a `SequenceExample`, and no others.
///
/// # Errors
/// As [`check_example`].
pub fn check_sequence_example(record: &[u8]) -> Result<()> {
    check(record, MessageKind::SequenceExample, is_of_sequence)
}

fn check(record: &[u8], wanted: MessageKind, is_known: impl Fn(Field) -> bool) -> Result<()> {
    let mut wire = Wire(record);
    while let Ok((number, wire_type)) = wire.tag() {
        if !is_known((number, wire_type)) {
            return Err(unlike(record, wanted, number));
        }
        if wire.skip(number, wire_type).is_err() {
            break;
        }
    }
    Ok(())
}

/// Whether the messages in field 1 have a field 1 of bytes and nothing else; if not, the number of a field that
/// they have.
fn only_first(record: &[u8]) -> std::result::Result<(), u32> {
    let mut wire = Wire(record);
    while let Ok((number, wire_type)) = wire.tag() {
        if (number, wire_type) != (1, WireType::Bytes) {
            return Err(number);
        }
        let Ok(inner) = wire.bytes() else {
            return Ok(());
        };
        let unknown = fields(inner).unwrap_or_default();
        if let Some((number, _)) = unknown.iter().find(|field| **field != (1, WireType::Bytes)) {
            return Err(*number);
        }
    }
    Ok(())
}

fn unlike(record: &[u8], wanted: MessageKind, unknown: u32) -> Error {
    let (message, _) = wanted.described().unwrap_or_default();
    let text = match MessageKind::of(record).described() {
        Some((found, reader)) if found != message => {
            format!("not {message}: it looks like {found}, which {reader} reads")
        }
        _ => format!(
            "not {message}: it has an unknown field {unknown}; decode_proto() reads other messages"
        ),
    };
    Error::content(format!(
        "{text}; unknown_fields=\"ignore\" drops unknown fields"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &[u8] = b"\x0a\x09\x0a\x07\x0a\x01a\x12\x02\x1a\x00";
    const SEQUENCE: &[u8] = b"\x12\x07\x0a\x05\x0a\x01f\x12\x00";
    const EVENT: &[u8] = b"\x09\0\0\0\0\0\0\xf0\x3f\x10\x07";
    const TENSOR: &[u8] = b"\x08\x01\x12\x00\x2a\x04\0\0\0\0";

    #[test]
    fn messages_are_told_apart() {
        for (record, kind) in [
            (EXAMPLE, MessageKind::Example),
            (b"", MessageKind::Example),
            (b"\x0a\x00", MessageKind::Example),
            (SEQUENCE, MessageKind::SequenceExample),
            (b"\x0a\x00\x12\x00", MessageKind::SequenceExample),
            (EVENT, MessageKind::Event),
            (TENSOR, MessageKind::Tensor),
            (b"\x08\x7f", MessageKind::Other),
            (b"\x1d\0\0\0\0", MessageKind::Other),
            (b"a text", MessageKind::Other),
        ] {
            assert_eq!(MessageKind::of(record), kind, "{record:x?}");
        }
    }

    #[test]
    fn unknown_fields_are_refused_where_they_are_outermost() {
        let example = |record: &[u8]| check_example(record).is_ok();
        assert!(example(EXAMPLE) && example(b"") && example(b"\x0a\x00\x0a\x00"));
        for record in [SEQUENCE, EVENT, TENSOR, b"\x0a\x00\x1d\0\0\0\0"] {
            assert!(!example(record), "{record:x?}");
        }
        let sequence = |record: &[u8]| check_sequence_example(record).is_ok();
        assert!(sequence(EXAMPLE) && sequence(SEQUENCE) && sequence(b""));
        assert!(!sequence(EVENT) && !sequence(TENSOR));
        assert!(check_no_features(b"\x0a\x02\x0a\x00").is_ok());
        assert!(check_no_features(b"\x0a\x02\x10\x01").is_err());
        // What is broken is an error of the decoder's.
        assert!(example(b"\x0a\x09") && sequence(b"\x12\x09"));
    }
}
