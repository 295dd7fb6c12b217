//! The table of compressions.

mod names;

/// How a file is compressed. TensorFlow's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all: `""`.
    #[default]
    None,
    /// gzip members, one or several (RFC 1952): `"GZIP"`.
    Gzip,
    /// One zlib stream (RFC 1950): `"ZLIB"`.
    Zlib,
}

impl Compression {
    /// zlib's window parameter for reading this: 15 bits, + 16 for gzip's header and trailer.
    pub(crate) fn window_bits(self) -> u8 {
        if self == Self::Gzip { 15 + 16 } else { 15 }
    }
}
