//! Fields of messages: the values of a feature, tags and lengths, and what stands around a message.

use super::super::spec::Kind;
use super::super::wire::{push_varint, varint_len};

/// The values of one feature.
#[derive(Clone, Copy, Debug)]
pub enum FeatureValues<'a> {
    /// No list at all: a Feature without a kind.
    None,
    /// A `BytesList`.
    Bytes(&'a [&'a [u8]]),
    /// A `FloatList`.
    Float32(&'a [f32]),
    /// An `Int64List`.
    Int64(&'a [i64]),
    /// A list of this kind in the form of the wire: its packed numbers, or its byte strings with their
    /// tags and lengths. A [`ListEncoder`](super::ListEncoder) makes them.
    Encoded(Kind, &'a [u8]),
}

/// Tag of a length-delimited field 1.
pub(crate) const FIRST: u8 = 0x0a;
/// Tag of a length-delimited field 2.
pub(crate) const SECOND: u8 = 0x12;

impl FeatureValues<'_> {
    pub(crate) fn kind(self) -> Option<Kind> {
        match self {
            Self::None => None,
            Self::Bytes(_) => Some(Kind::Bytes),
            Self::Float32(_) => Some(Kind::Float32),
            Self::Int64(_) => Some(Kind::Int64),
            Self::Encoded(kind, _) => Some(kind),
        }
    }

    pub(crate) fn is_packed(self) -> bool {
        matches!(self.kind(), Some(Kind::Float32 | Kind::Int64))
    }

    /// The bytes of the packed values, or of all byte strings with their tags and lengths.
    #[inline]
    pub(crate) fn content_len(self) -> usize {
        match self {
            Self::None => 0,
            Self::Bytes(values) => values.iter().map(|value| field_len(value.len())).sum(),
            Self::Float32(values) => values.len() * 4,
            Self::Int64(values) => values.iter().map(|v| varint_len(v.cast_unsigned())).sum(),
            Self::Encoded(_, content) => content.len(),
        }
    }

    pub(crate) fn list_len(self, content: usize) -> usize {
        if content > 0 && self.is_packed() {
            field_len(content)
        } else {
            content
        }
    }

    pub(crate) fn push_list(self, content: usize, out: &mut Vec<u8>) {
        if content > 0 && self.is_packed() {
            push_header(out, FIRST, content);
        }
        match self {
            Self::None => {}
            Self::Bytes(values) => {
                for value in values {
                    push_field(out, FIRST, value);
                }
            }
            Self::Float32(values) => {
                out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            }
            Self::Int64(values) => {
                for value in values {
                    push_varint(out, value.cast_unsigned());
                }
            }
            Self::Encoded(_, content) => out.extend_from_slice(content),
        }
    }

    pub(crate) fn feature_len(self, content: usize) -> usize {
        self.kind().map_or(0, |_| field_len(self.list_len(content)))
    }

    pub(crate) fn push_feature(self, content: usize, out: &mut Vec<u8>) {
        if let Some(kind) = self.kind() {
            push_header(out, kind.tag(), self.list_len(content));
            self.push_list(content, out);
        }
    }
}

/// A length-delimited field with `length` bytes in it, all told.
pub(crate) fn field_len(length: usize) -> usize {
    1 + varint_len(length as u64) + length
}

pub(crate) fn push_header(out: &mut Vec<u8>, tag: u8, length: usize) {
    out.push(tag);
    push_varint(out, length as u64);
}

pub(crate) fn push_field(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    push_header(out, tag, bytes.len());
    out.extend_from_slice(bytes);
}

/// Messages one after the other, and where each ends.
pub type Encoded = (Vec<u8>, Vec<usize>);

/// What stands around each message.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    /// Bytes before it.
    pub before: usize,
    /// Bytes after it.
    pub after: usize,
    /// Is called with each message in its envelope, which is all zeros, and fills that in.
    pub seal: fn(&mut [u8]),
}

impl Envelope {
    /// Nothing around them.
    pub const NONE: Self = Self {
        before: 0,
        after: 0,
        seal: |_| {},
    };
}

/// How many bytes are encoded between two looks at the clock.
pub(crate) const PULSE_BYTES: usize = 1 << 20;
