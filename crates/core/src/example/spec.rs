//! What is wanted of records: the features to parse, and how each is laid out in a column.

/// The three kinds of values that a Feature can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Byte strings: `BytesList`, `tf.string`.
    Bytes,
    /// 32-bit floats: `FloatList`, `tf.float32`.
    Float32,
    /// 64-bit integers: `Int64List`, `tf.int64`.
    Int64,
}

impl Kind {
    /// The kind of the list in field `number` of a Feature.
    #[must_use]
    #[inline]
    pub fn of_field(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Bytes),
            2 => Some(Self::Float32),
            3 => Some(Self::Int64),
            _ => None,
        }
    }

    /// The kind of the list that begins with `tag` in a Feature.
    #[must_use]
    #[inline]
    pub fn of_tag(tag: u8) -> Option<Self> {
        match tag {
            0x0a => Some(Self::Bytes),
            0x12 => Some(Self::Float32),
            0x1a => Some(Self::Int64),
            _ => None,
        }
    }

    /// The tag of this list in a Feature.
    #[must_use]
    pub fn tag(self) -> u8 {
        match self {
            Self::Bytes => 0x0a,
            Self::Float32 => 0x12,
            Self::Int64 => 0x1a,
        }
    }

    /// TensorFlow's word for the type.
    #[must_use]
    pub fn dtype(self) -> &'static str {
        match self {
            Self::Bytes => "string",
            Self::Float32 => "float",
            Self::Int64 => "int64",
        }
    }

    /// TensorFlow's word for the values.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Float32 => "float",
            Self::Int64 => "int64",
        }
    }
}

/// The values that stand in for a missing feature.
#[derive(Clone, Debug)]
pub enum Default {
    /// Of kind [`Kind::Bytes`].
    Bytes(Vec<Vec<u8>>),
    /// Of kind [`Kind::Float32`].
    Float32(Vec<f32>),
    /// Of kind [`Kind::Int64`].
    Int64(Vec<i64>),
}

/// How the values of a feature are laid out in its column.
#[derive(Clone, Debug)]
pub enum Layout {
    /// The same shape in every record (`FixedLenFeature`): a dense column.
    Fixed {
        /// The shape in one record.
        shape: Vec<usize>,
        /// What stands in for a missing feature: as many values as `shape` has elements.
        default: Option<Default>,
    },
    /// As many values as there are (`VarLenFeature`): a column of lists; null where the feature is
    /// missing.
    Ragged,
}

/// One feature to parse.
#[derive(Clone, Debug)]
pub struct FeatureSpec {
    /// Its name in the records and in the batch.
    pub name: String,
    /// The kind of its values.
    pub kind: Kind,
    /// The layout of its column.
    pub layout: Layout,
}
