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

/// The type of a column's values: that of the list they are read from, or one they are converted
/// to while they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// Byte strings.
    Bytes,
    /// Of an `Int64List`, as it is.
    Int64,
    /// Of an `Int64List`.
    Int32,
    /// Of an `Int64List`.
    Int16,
    /// Of an `Int64List`.
    Int8,
    /// Of an `Int64List`.
    UInt64,
    /// Of an `Int64List`.
    UInt32,
    /// Of an `Int64List`.
    UInt16,
    /// Of an `Int64List`.
    UInt8,
    /// Of an `Int64List` of 0 and 1.
    Bool,
    /// Of a `FloatList`, as it is.
    Float32,
    /// Of a `FloatList`.
    Float64,
    /// Of a `FloatList`, rounded.
    Float16,
    /// Of a `FloatList`, rounded.
    BFloat16,
}

impl DType {
    const ALL: [Self; 14] = [
        Self::Bytes,
        Self::Int64,
        Self::Int32,
        Self::Int16,
        Self::Int8,
        Self::UInt64,
        Self::UInt32,
        Self::UInt16,
        Self::UInt8,
        Self::Bool,
        Self::Float32,
        Self::Float64,
        Self::Float16,
        Self::BFloat16,
    ];

    /// The type with NumPy's `name`; byte strings are "bytes".
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// NumPy's name of the type; of byte strings "bytes".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Int64 => "int64",
            Self::Int32 => "int32",
            Self::Int16 => "int16",
            Self::Int8 => "int8",
            Self::UInt64 => "uint64",
            Self::UInt32 => "uint32",
            Self::UInt16 => "uint16",
            Self::UInt8 => "uint8",
            Self::Bool => "bool",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Float16 => "float16",
            Self::BFloat16 => "bfloat16",
        }
    }

    /// The kind of the list that values of this type are read from.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Bytes => Kind::Bytes,
            Self::Float32 | Self::Float64 | Self::Float16 | Self::BFloat16 => Kind::Float32,
            _ => Kind::Int64,
        }
    }
}

impl From<Kind> for DType {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Bytes => Self::Bytes,
            Kind::Float32 => Self::Float32,
            Kind::Int64 => Self::Int64,
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
    /// As many elements as there are: a column of lists; null where the feature is missing.
    Ragged {
        /// The shape of an element: `[]` for `VarLenFeature`, any for `FixedLenSequenceFeature`.
        shape: Vec<usize>,
    },
}

/// How many values `shape` has.
#[must_use]
pub fn elements_of(shape: &[usize]) -> usize {
    shape
        .iter()
        .fold(1, |all: usize, &size| all.saturating_mul(size))
}

/// One feature to parse.
#[derive(Clone, Debug)]
pub struct FeatureSpec {
    /// Its name in the records and in the batch.
    pub name: String,
    /// The type of its values.
    pub dtype: DType,
    /// The layout of its column.
    pub layout: Layout,
}

/// One feature list of a `SequenceExample` to parse.
#[derive(Clone, Debug)]
pub struct ListSpec {
    /// What each step of it is: `Layout::Fixed` without a default, or `Layout::Ragged`.
    pub step: FeatureSpec,
    /// Whether a record without it is taken for one with no steps.
    pub allow_missing: bool,
}
