//! One error type for the whole core: a kind, and the position where it was found.
//!
//! The text is made only when an error is shown; until then an [`Error`] is a boxed value that
//! callers complete on its way up (a parser knows the feature, a reader the record, a file's owner
//! the path).

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

mod wire;

pub use wire::WireError;

/// The core's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and where: path, record number, byte offset, feature, each if known.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    record: Option<u64>,
    offset: Option<u64>,
    feature: Option<String>,
    name: Option<String>,
}

/// The coarse class of an error: what a caller would want to catch separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// The bytes are there, and they are wrong.
    Corrupt,
    /// The file ends too early.
    Truncated,
    /// The file is something else altogether.
    NotTfRecord,
    /// A record is sound, and the message in it is not what was asked for.
    Parse,
    /// The caller asked for something impossible.
    Spec,
    /// The object cannot do this now (closed, failed before).
    State,
    /// More than the caller allows: of memory, or of work.
    Limit,
    /// There is no memory left.
    Memory,
    /// The operating system refused.
    Io,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The checksum of a length field does not match.
    LengthChecksum,
    /// The checksum of a record's data does not match.
    DataChecksum,
    /// The file ends inside a record's 12-byte header, after this many bytes of it.
    TruncatedHeader(usize),
    /// The file ends inside a record: that many bytes of data and checksum were announced, that many
    /// are there.
    TruncatedRecord {
        /// Bytes that the length field announces, checksum included.
        need: u64,
        /// Bytes that are there.
        have: u64,
    },
    /// The file was truncated while it was read.
    Shrunk {
        /// Its size before, in bytes.
        from: u64,
        /// Its size now, in bytes.
        to: u64,
    },
    /// Records of that many bytes do not fill what stands between header and footer of a file of that many.
    PartialRecord {
        /// Bytes before the first record.
        header: u64,
        /// Bytes of a record.
        record: u64,
        /// Bytes after the last record.
        footer: u64,
        /// Bytes of the file.
        size: u64,
    },
    /// The length field holds a number that no file can have.
    ImpossibleLength(u64),
    /// A compressed stream stops before its end marker or its trailer.
    TruncatedStream(&'static str),
    /// A compressed stream is broken: the codec, and the decompressor's words.
    BadStream(&'static str, String),
    /// Bytes follow the end of a compressed stream that must not be there.
    TrailingData(&'static str, &'static str),
    /// More is lost of a damaged file than the caller allows: bytes, regions, and what is wrong with the last.
    LostTooMuch(u64, u64, Box<ErrorKind>),
    /// The file is of another format: what it looks like.
    NotTfRecord(&'static str),
    /// A record is longer than [`Limits`](crate::record::Limits) allows: that many bytes instead of that many.
    RecordLimit {
        /// Bytes of the record's data.
        length: u64,
        /// Bytes that are allowed.
        limit: u64,
    },
    /// More than that many bytes come out of a compressed file.
    DecompressedLimit(u64),
    /// There is no memory for that many bytes.
    OutOfMemory(usize),
    /// The operating system allows no other thread: its text.
    NoThread(String),
    /// A message is not valid protobuf.
    Wire(WireError),
    /// A message is valid, and its content is not what the spec asks for.
    Content(String),
    /// The request itself makes no sense.
    Spec(String),
    /// The object is not in a state to do this.
    State(String),
    /// The operating system's error: its kind, its number, its text.
    Io(io::ErrorKind, Option<i32>, String),
}

impl ErrorKind {
    /// The class of this error.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::LengthChecksum
            | Self::DataChecksum
            | Self::LostTooMuch(..)
            | Self::BadStream(..)
            | Self::TrailingData(..) => Category::Corrupt,
            Self::TruncatedHeader(_)
            | Self::TruncatedRecord { .. }
            | Self::Shrunk { .. }
            | Self::PartialRecord { .. }
            | Self::ImpossibleLength(_)
            | Self::TruncatedStream(_) => Category::Truncated,
            Self::NotTfRecord(_) => Category::NotTfRecord,
            Self::RecordLimit { .. } | Self::DecompressedLimit(_) => Category::Limit,
            Self::OutOfMemory(_) | Self::NoThread(_) => Category::Memory,
            Self::Wire(_) | Self::Content(_) => Category::Parse,
            Self::Spec(_) => Category::Spec,
            Self::State(_) => Category::State,
            Self::Io(..) => Category::Io,
        }
    }
}

/// Formats a count with its noun: `1 byte`, `2 bytes`.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

impl ErrorKind {
    /// The text of a record that is not whole.
    fn fmt_partial(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::PartialRecord {
            header,
            record,
            footer,
            size,
        } = self
        else {
            return Ok(());
        };
        let Some(body) = size.checked_sub(header.saturating_add(*footer)) else {
            return write!(
                f,
                "the file has {}, fewer than header ({}) and footer ({}) together",
                counted(*size, "byte"),
                counted(*header, "byte"),
                counted(*footer, "byte"),
            );
        };
        write!(
            f,
            "excluding the header ({}) and footer ({}), the file has {}, which is not an exact \
             multiple of the record length ({})",
            counted(*header, "byte"),
            counted(*footer, "byte"),
            counted(body, "byte"),
            counted(*record, "byte"),
        )
    }

    /// Formats the errors of files that end too early.
    fn fmt_too_short(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TruncatedHeader(have) => write!(
                f,
                "truncated record: the file ends after {have} of the 12 bytes of a record header"
            ),
            Self::TruncatedRecord { need, have } => write!(
                f,
                "truncated record: its header announces {need} more bytes (data and checksum), \
                 and the file ends after {have}"
            ),
            Self::Shrunk { from, to } => write!(
                f,
                "the file became shorter while it was read: it had {}, and ends after {to}",
                counted(*from, "byte")
            ),
            _ => Ok(()),
        }
    }

    /// The text of what is too much.
    fn fmt_too_much(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RecordLimit { length, limit } => write!(
                f,
                "the record has {}, and max_record_bytes allows {limit}; \
                 if you trust the file, allow more",
                counted(*length, "byte")
            ),
            Self::DecompressedLimit(limit) => write!(
                f,
                "more comes out of the compressed file than the {} that \
                 max_decompressed_bytes allows; if you trust the file, allow more",
                counted(*limit, "byte")
            ),
            Self::OutOfMemory(bytes) => {
                write!(f, "there is no memory left: {bytes} more bytes are needed")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LengthChecksum => {
                write!(
                    f,
                    "corrupted record: the checksum of its length field does not match"
                )
            }
            Self::DataChecksum => {
                write!(
                    f,
                    "corrupted record: the checksum of its data does not match"
                )
            }
            Self::TruncatedHeader(_) | Self::TruncatedRecord { .. } | Self::Shrunk { .. } => {
                self.fmt_too_short(f)
            }
            Self::PartialRecord { .. } => self.fmt_partial(f),
            Self::ImpossibleLength(length) => write!(
                f,
                "truncated record: its header announces {length} bytes, more than any file holds"
            ),
            Self::TruncatedStream(codec) => {
                write!(
                    f,
                    "the {codec} stream is cut off: its end marker or trailer is missing"
                )
            }
            Self::BadStream(codec, why) => write!(f, "the {codec} stream is corrupted: {why}"),
            Self::TrailingData(codec, what) => {
                write!(f, "{what} after the end of the {codec} stream")
            }
            Self::LostTooMuch(bytes, regions, last) => write!(
                f,
                "more is lost than is allowed: {} in {}, here {last}",
                counted(*bytes, "byte"),
                counted(*regions, "place")
            ),
            Self::NotTfRecord(what) => write!(f, "not a TFRecord file: it looks like {what}"),
            Self::RecordLimit { .. } | Self::DecompressedLimit(_) | Self::OutOfMemory(_) => {
                self.fmt_too_much(f)
            }
            Self::NoThread(text) => write!(f, "cannot start a thread: {text}"),
            Self::Wire(error) => write!(f, "broken protobuf message: {error}"),
            Self::Content(text) | Self::Spec(text) | Self::State(text) | Self::Io(_, _, text) => {
                f.write_str(text)
            }
        }
    }
}

impl Error {
    /// An error without a position yet.
    #[must_use]
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner {
            kind,
            path: None,
            record: None,
            offset: None,
            feature: None,
            name: None,
        }))
    }

    /// An impossible request, in words.
    #[must_use]
    pub fn spec(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Spec(text.into()))
    }

    /// Content that does not fit the request, in words.
    #[must_use]
    pub fn content(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Content(text.into()))
    }

    /// A call that comes at the wrong time, in words.
    #[must_use]
    pub fn state(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::State(text.into()))
    }

    /// Adds the file's path, unless one is known already.
    #[must_use]
    pub fn with_path(mut self, path: &Path) -> Self {
        self.0.path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// Adds the record's number (from 0), unless one is known already.
    #[must_use]
    pub fn at_record(mut self, record: u64) -> Self {
        self.0.record.get_or_insert(record);
        self
    }

    /// Adds the byte offset, unless one is known already.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Adds the feature's name, unless one is known already.
    #[must_use]
    pub fn at_feature(mut self, feature: &str) -> Self {
        self.0.feature.get_or_insert_with(|| feature.to_owned());
        self
    }

    /// Adds the name that the caller gave the record (TensorFlow's `example_names`).
    #[must_use]
    pub fn with_name(mut self, name: &str) -> Self {
        self.0.name.get_or_insert_with(|| name.to_owned());
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Whether the file became shorter while it was read.
    #[must_use]
    pub fn is_shrunk(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Shrunk { .. })
    }

    /// Whether nothing is wrong, but a signal wants the call to end.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Io(io::ErrorKind::Interrupted, ..))
    }

    /// The class of what went wrong.
    #[must_use]
    pub fn category(&self) -> Category {
        self.0.kind.category()
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The record's number, from 0.
    #[must_use]
    pub fn record(&self) -> Option<u64> {
        self.0.record
    }

    /// The offset of the record's first byte in the file (in the decompressed stream, where the
    /// file is compressed).
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The feature's name.
    #[must_use]
    pub fn feature(&self) -> Option<&str> {
        self.0.feature.as_deref()
    }
}

impl fmt::Display for Error {
    /// `path: record 7 at byte 1234: feature 'x': reason`, as much of it as is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = self.path() {
            write!(f, "{}: ", path.display())?;
        }
        match (self.record(), self.offset()) {
            // Of a file that is something else, there is no record to speak of.
            _ if self.category() == Category::NotTfRecord => {}
            (Some(record), Some(offset)) => write!(f, "record {record} at byte {offset}: ")?,
            (Some(record), None) => write!(f, "record {record}: ")?,
            (None, Some(offset)) => write!(f, "at byte {offset}: ")?,
            (None, None) => {}
        }
        if let Some(name) = &self.0.name {
            write!(f, "Name: {name}, ")?;
        }
        if let Some(feature) = self.feature() {
            write!(f, "feature {feature:?}: ")?;
        }
        self.0.kind.fmt(f)
    }
}

impl std::error::Error for Error {}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::new(ErrorKind::from(error))
    }
}

impl From<io::Error> for ErrorKind {
    /// Keeps the system's own words, without the number that Rust puts after them.
    fn from(error: io::Error) -> Self {
        let text = error.to_string();
        let words = text.split(" (os error").next().unwrap_or_default();
        Self::Io(error.kind(), error.raw_os_error(), words.to_owned())
    }
}

impl From<WireError> for Error {
    fn from(error: WireError) -> Self {
        Self::new(ErrorKind::Wire(error))
    }
}
