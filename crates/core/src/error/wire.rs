//! What can be wrong with the bytes of a message.

use std::fmt;

/// What can be wrong with a message's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// The bytes end inside a varint.
    TruncatedVarint,
    /// A varint of more than ten bytes.
    OverlongVarint,
    /// A tag of more than five bytes.
    OverlongTag,
    /// A length of more than five bytes.
    OverlongLength,
    /// A field announces more bytes than there are.
    TruncatedField,
    /// A tag with a wire type that does not exist.
    BadWireType(u8),
    /// A tag with field number 0 or beyond 2^29 - 1.
    BadFieldNumber,
    /// A group ends that never began, or never ends.
    UnmatchedGroup,
    /// Messages and groups inside each other, deeper than [`MAX_DEPTH`](crate::example::wire::MAX_DEPTH).
    TooDeep,
    /// A packed list of 4-byte floats whose length is no multiple of 4.
    RaggedFloats,
    /// A string field (a feature's name) that is not UTF-8.
    NotUtf8,
    /// A message that is not as writers write it, where only such are read.
    Unusual,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TruncatedVarint => f.write_str("it ends inside a varint"),
            Self::OverlongVarint => f.write_str("a varint is longer than ten bytes"),
            Self::OverlongTag => f.write_str("a tag is longer than five bytes"),
            Self::OverlongLength => f.write_str("a length is longer than five bytes"),
            Self::TruncatedField => f.write_str("a field announces more bytes than there are"),
            Self::BadWireType(t) => write!(f, "wire type {t} does not exist"),
            Self::BadFieldNumber => f.write_str("a field number is out of range"),
            Self::UnmatchedGroup => f.write_str("the start and the end of a group do not match"),
            Self::TooDeep => f.write_str("messages and groups are nested more than 100 deep"),
            Self::RaggedFloats => {
                f.write_str("the length of a packed float list is no multiple of 4")
            }
            Self::NotUtf8 => f.write_str("a feature's name is not UTF-8"),
            Self::Unusual => f.write_str("it is not as writers write it"),
        }
    }
}
