//! Whether protobuf's parsers accept a record: all of its bytes, also those that no result shows.
//!
//! A decoder skips much: unknown fields, a list that a later one of another kind replaces, a key that a later one
//! replaces. Protobuf's parsers read it all first, and refuse the record if any of it is broken. The limits here are
//! those of protobuf's C++ and upb parsers: tags and lengths of at most five bytes, text in UTF-8, and messages and
//! groups nested at most 100 deep.

use crate::error;
use crate::example::canonical;
use crate::example::message::{FIRST, SECOND};
use crate::example::wire::WireResult as Result;
use crate::example::wire::{MAX_DEPTH, Wire, WireError, WireType};

/// A message of a record.
#[derive(Clone, Copy)]
enum Message {
    Example,
    SequenceExample,
    Features,
    FeatureLists,
    /// An entry of Features: a name and a Feature.
    FeatureEntry,
    /// An entry of `FeatureLists`: a name and a `FeatureList`.
    ListEntry,
    FeatureList,
    Feature,
    BytesList,
    FloatList,
    Int64List,
}

/// What the bytes of a length-delimited field hold.
enum MapContent {
    Message(Message),
    Text,
    Bytes,
    PackedFloats,
    PackedVarints,
}

impl Message {
    /// What a length-delimited field of this number holds; bytes, if the field is unknown.
    fn content(self, number: u32) -> MapContent {
        use Message as M;
        MapContent::Message(match (self, number) {
            (M::Example | M::SequenceExample, FIRST) => M::Features,
            (M::SequenceExample, SECOND) => M::FeatureLists,
            (M::Features, FIRST) => M::FeatureEntry,
            (M::FeatureLists, FIRST) => M::ListEntry,
            (M::FeatureEntry | M::ListEntry, FIRST) => return MapContent::Text,
            (M::FeatureEntry, SECOND) | (M::FeatureList, FIRST) => M::Feature,
            (M::ListEntry, SECOND) => M::FeatureList,
            (M::Feature, 1) => M::BytesList,
            (M::Feature, 2) => M::FloatList,
            (M::Feature, 3) => M::Int64List,
            (M::FloatList, FIRST) => return MapContent::PackedFloats,
            (M::Int64List, FIRST) => return MapContent::PackedVarints,
            _ => return MapContent::Bytes,
        })
    }
}

/// The message that a record is read as.
#[derive(Clone, Copy, Debug)]
pub enum Record {
    /// An Example.
    Example,
    /// A `SequenceExample`.
    SequenceExample,
}

impl Record {
    /// Checks that protobuf accepts a record.
    ///
    /// # Errors
    /// The first fault in the bytes.
    pub fn check(self, record: &[u8]) -> error::Result<()> {
        let message = match self {
            Self::Example => Message::Example,
            Self::SequenceExample => Message::SequenceExample,
        };
        check(message, record, 0)
    }

    /// Checks the same of a record whose lists have all been read: no more than their numbers can be wrong with
    /// one of the usual form.
    ///
    /// # Errors
    /// The first fault in the bytes.
    pub fn check_around_lists(self, record: &[u8]) -> error::Result<()> {
        let is_usual = match self {
            Self::Example => canonical::is_example(record),
            Self::SequenceExample => canonical::is_sequence(record),
        };
        if is_usual { Ok(()) } else { self.check(record) }
    }
}

/// Checks a message that is nested in `depth` others. Calls itself at most five deep, as deep as the messages nest.
fn check(message: Message, bytes: &[u8], depth: usize) -> error::Result<()> {
    let checked = check_fields(message, bytes, depth);
    match message {
        Message::FeatureEntry | Message::ListEntry => {
            checked.map_err(|error| match name_in(bytes) {
                Some(name) => error.at_feature(name),
                None => error,
            })
        }
        _ => checked,
    }
}

/// Returns the name in an entry whose value may be broken, but which is whole itself.
fn name_in(entry: &[u8]) -> Option<&str> {
    let (mut fields, mut key) = (Fields(Wire(entry)), &b""[..]);
    while !fields.0.is_empty() {
        match fields.tag().ok()? {
            (FIRST, WireType::Bytes) => key = fields.bytes().ok()?,
            (_, wire_type) => fields.skip_simple(wire_type).ok()?,
        }
    }
    std::str::from_utf8(key).ok()
}

fn check_fields(message: Message, bytes: &[u8], depth: usize) -> error::Result<()> {
    let mut fields = Fields(Wire(bytes));
    while !fields.0.is_empty() {
        match fields.tag()? {
            (number, WireType::Bytes) => {
                check_content(&message.content(number), fields.bytes()?, depth)?;
            }
            (number, WireType::StartGroup) => fields.skip_group(number, depth)?,
            (_, wire_type) => fields.skip_simple(wire_type)?,
        }
    }
    Ok(())
}

fn check_content(content: &MapContent, bytes: &[u8], depth: usize) -> error::Result<()> {
    match content {
        MapContent::Message(message) => return check(*message, bytes, depth + 1),
        MapContent::Text if std::str::from_utf8(bytes).is_err() => {
            return Err(WireError::NotUtf8.into());
        }
        MapContent::PackedFloats if !bytes.len().is_multiple_of(4) => {
            return Err(WireError::RaggedFloats.into());
        }
        MapContent::PackedVarints => check_varints(bytes)?,
        MapContent::Text | MapContent::Bytes | MapContent::PackedFloats => {}
    }
    Ok(())
}

fn check_varints(packed: &[u8]) -> Result<()> {
    let mut wire = Wire(packed);
    while !wire.is_empty() {
        wire.varint()?;
    }
    Ok(())
}

/// Fields of a message, with the limits of protobuf's parsers.
struct Fields<'a>(Wire<'a>);

impl<'a> Fields<'a> {
    fn tag(&mut self) -> Result<(u32, WireType)> {
        let before = self.0.0.len();
        let tag = self.0.tag()?;
        if before - self.0.0.len() > Wire::MOST_SHORT {
            return Err(WireError::OverlongTag);
        }
        Ok(tag)
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let before = self.0;
        match self.0.short_bytes() {
            Some(bytes) => Ok(bytes),
            // Either cut short, or with a length of more bytes.
            None => Err({ before }
                .bytes()
                .err()
                .unwrap_or(WireError::OverlongLength)),
        }
    }

    fn skip_simple(&mut self, wire_type: WireType) -> Result<()> {
        match wire_type {
            WireType::Bytes => self.bytes().map(drop),
            simple => self.0.skip_simple(simple),
        }
    }

    /// Skips the fields of group `number`, up to its end, in a message that is nested in `depth` others.
    fn skip_group(&mut self, number: u32, depth: usize) -> Result<()> {
        let mut open = vec![number];
        while let Some(&innermost) = open.last() {
            if depth + open.len() > MAX_DEPTH {
                return Err(WireError::TooDeep);
            }
            if self.0.is_empty() {
                return Err(WireError::UnmatchedGroup);
            }
            match self.tag()? {
                (number, WireType::StartGroup) => open.push(number),
                (number, WireType::EndGroup) if number == innermost => drop(open.pop()),
                (_, wire_type) => self.skip_simple(wire_type)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_example(record: &[u8]) -> std::result::Result<(), String> {
        check(Message::Example, record, 0).map_err(|error| error.to_string())
    }

    fn check_sequence(record: &[u8]) -> std::result::Result<(), String> {
        check(Message::SequenceExample, record, 0).map_err(|error| error.to_string())
    }

    fn broken(feature: Option<&str>, error: WireError) -> std::result::Result<(), String> {
        let error = error::Error::from(error);
        Err(match feature {
            Some(name) => error.at_feature(name).to_string(),
            None => error.to_string(),
        })
    }

    fn delimited(number: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![number << 3 | 2];
        crate::example::wire::push_varint(&mut bytes, content.len() as u64);
        bytes.extend(content);
        bytes
    }

    /// An Example or, from field 2 on, a `SequenceExample`, with `content` nested in `path` from the outside in.
    fn nested(path: &[u8], content: &[u8]) -> Vec<u8> {
        path.iter()
            .rev()
            .fold(content.to_vec(), |bytes, &number| delimited(number, &bytes))
    }

    #[test]
    fn messages_and_groups_share_one_limit_of_depth() {
        let groups = |depth| [vec![0x7b; depth], vec![0x7c; depth]].concat();
        for path in [
            &[][..],
            &[1],
            &[1, 1],
            &[1, 1, 2],
            &[1, 1, 2, 3],
            &[2, 1, 2, 1, 3],
        ] {
            let deepest = nested(path, &groups(MAX_DEPTH - path.len()));
            let deeper = nested(path, &groups(MAX_DEPTH - path.len() + 1));
            assert_eq!(check_sequence(&deepest), Ok(()), "{path:?}");
            assert_eq!(
                check_sequence(&deeper),
                broken((path.len() > 2).then_some(""), WireError::TooDeep),
                "{path:?}"
            );
        }
    }

    #[test]
    fn tags_and_lengths_have_at_most_five_bytes() {
        let padded = |value: u8, len: usize| {
            let mut bytes = vec![value | 0x80];
            bytes.resize(len - 1, 0x80);
            bytes.push(0);
            bytes
        };
        for len in 2..=10 {
            let tag = [padded(0x0a, len), vec![0]].concat();
            let unknown = [padded(0x78, len), vec![0]].concat();
            let length = [vec![0x0a], padded(0, len)].concat();
            let value = [vec![0x78], padded(0, len)].concat();
            let too_long = |error| if len > 5 { broken(None, error) } else { Ok(()) };
            assert_eq!(check_example(&tag), too_long(WireError::OverlongTag));
            assert_eq!(check_example(&unknown), too_long(WireError::OverlongTag));
            assert_eq!(check_example(&length), too_long(WireError::OverlongLength));
            assert_eq!(check_example(&value), Ok(()), "a value may have ten");
        }
    }

    #[test]
    fn what_is_replaced_must_be_sound_too() {
        // A list of a kind that a later list replaces, and a key that a later key replaces.
        let list = nested(
            &[1, 1, 2],
            &[delimited(1, b"\x80"), delimited(2, b"")].concat(),
        );
        assert_eq!(
            check_example(&list),
            broken(Some(""), WireError::TruncatedVarint)
        );
        let key = nested(
            &[1, 1],
            &[delimited(1, b"\xff"), delimited(1, b"k")].concat(),
        );
        assert_eq!(check_example(&key), broken(Some("k"), WireError::NotUtf8));
    }
}
