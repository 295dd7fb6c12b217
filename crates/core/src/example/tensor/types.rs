//! The types of tensors, and the field that the values of each lie in.

/// A type of tensor.
#[derive(Debug, PartialEq, Eq)]
pub struct TensorType {
    /// `DataType`'s number.
    pub number: u32,
    /// The name: NumPy's, that of the library `ml_dtypes`, or `TensorFlow`'s where neither has the type.
    pub name: &'static str,
    /// The bytes of a value in memory; of byte strings, those of an offset.
    pub width: usize,
    /// Where and how its values are written one by one.
    pub field: Field,
}

/// Where and how the values of a type are written one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// As in memory, in that many parts of 4 or 8 bytes: the field, and the bytes of a part.
    Fixed(u32, usize),
    /// As varints: the field, and what a varint means.
    Varint(u32, Meaning),
    /// As bytes of one value each, in `float8_val`.
    Bytes,
    /// As byte strings.
    Strings,
}

/// What a varint means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// An int32 between two limits.
    Between(i32, i32),
    /// As many of its bytes as the type is wide.
    Whole,
    /// True, if it is not 0.
    Truth,
}

/// `half_val`, the bits of 2-byte floats.
const HALF_VAL: u32 = 13;
/// `float8_val`, the bits of floats of 8 bits and fewer.
pub const FLOAT8_VAL: u32 = 18;
/// `string_val`.
pub const STRING_VAL: u32 = 8;

/// The integers of `bits` bits, as protobuf has them: `int_val`.
const fn int(bits: u32) -> Field {
    let half = 1i32 << (bits - 1);
    Field::Varint(7, Meaning::Between(-half, half - 1))
}

const fn uint(field: u32, bits: u32) -> Field {
    Field::Varint(field, Meaning::Between(0, (1 << bits) - 1))
}

const INT32: Field = Field::Varint(7, Meaning::Whole);
const HALF: Field = uint(HALF_VAL, 16);

const INT4: u32 = 29;
const UINT4: u32 = 30;
const INT2: u32 = 31;
const UINT2: u32 = 32;
const FLOAT4: u32 = 33;

const fn of(number: u32, name: &'static str, width: usize, field: Field) -> TensorType {
    TensorType {
        number,
        name,
        width,
        field,
    }
}

/// Numbers of 32 bits.
pub static FLOAT32: TensorType = of(1, "float32", 4, Field::Fixed(5, 4));
/// Byte strings.
pub static STRING: TensorType = of(7, "bytes", 8, Field::Strings);

static TYPES: [TensorType; 29] = [
    of(2, "float64", 8, Field::Fixed(6, 8)),
    of(3, "int32", 4, INT32),
    of(4, "uint8", 1, uint(7, 8)),
    of(5, "int16", 2, int(16)),
    of(6, "int8", 1, int(8)),
    of(8, "complex64", 8, Field::Fixed(9, 4)),
    of(9, "int64", 8, Field::Varint(10, Meaning::Whole)),
    of(10, "bool", 1, Field::Varint(11, Meaning::Truth)),
    of(11, "qint8", 1, int(8)),
    of(12, "quint8", 1, uint(7, 8)),
    of(13, "qint32", 4, INT32),
    of(14, "bfloat16", 2, HALF),
    of(15, "qint16", 2, int(16)),
    of(16, "quint16", 2, uint(7, 16)),
    of(17, "uint16", 2, uint(7, 16)),
    of(18, "complex128", 16, Field::Fixed(12, 8)),
    of(19, "float16", 2, HALF),
    of(22, "uint32", 4, Field::Varint(16, Meaning::Whole)),
    of(23, "uint64", 8, Field::Varint(17, Meaning::Whole)),
    of(24, "float8_e5m2", 1, Field::Bytes),
    of(25, "float8_e4m3fn", 1, Field::Bytes),
    of(26, "float8_e4m3fnuz", 1, Field::Bytes),
    of(27, "float8_e4m3b11fnuz", 1, Field::Bytes),
    of(28, "float8_e5m2fnuz", 1, Field::Bytes),
    of(INT4, "int4", 1, int(4)),
    of(UINT4, "uint4", 1, uint(7, 4)),
    of(INT2, "int2", 1, int(2)),
    of(UINT2, "uint2", 1, uint(7, 2)),
    of(FLOAT4, "float4_e2m1fn", 1, Field::Bytes),
];

fn all() -> impl Iterator<Item = &'static TensorType> {
    [&FLOAT32, &STRING].into_iter().chain(&TYPES)
}

impl TensorType {
    /// The type with this number in `DataType`.
    #[must_use]
    pub fn of_number(number: u32) -> Option<&'static Self> {
        all().find(|dtype| dtype.number == number)
    }

    /// The type with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<&'static Self> {
        all().find(|dtype| dtype.name == name)
    }

    /// How many bits of a value's byte count, if not all, and whether the highest of them is a sign.
    #[must_use]
    pub fn narrow(&self) -> Option<(u32, bool)> {
        match self.number {
            INT4 => Some((4, true)),
            UINT4 | FLOAT4 => Some((4, false)),
            INT2 => Some((2, true)),
            UINT2 => Some((2, false)),
            _ => None,
        }
    }
}

/// The value in `byte`, of which only some bits count: the others must be zeros, or copies of the
/// sign, and are made so.
#[must_use]
pub fn widened(byte: u8, (bits, signed): (u32, bool)) -> Option<u8> {
    let unused = 8 - bits;
    let plain = (byte << unused) >> unused;
    let extended = ((byte << unused).cast_signed() >> unused).cast_unsigned();
    let value = if signed { extended } else { plain };
    (byte == plain || byte == value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique() {
        for dtype in all() {
            assert_eq!(TensorType::of_number(dtype.number), Some(dtype));
            assert_eq!(TensorType::of_name(dtype.name), Some(dtype));
        }
        assert_eq!(TensorType::of_number(0), None);
        assert_eq!(TensorType::of_number(101), None);
    }

    #[test]
    fn narrow_values_fit_their_bits() {
        let of = |name| {
            TensorType::of_name(name)
                .and_then(TensorType::narrow)
                .unwrap()
        };
        for byte in 0..=u8::MAX {
            for name in ["uint4", "float4_e2m1fn"] {
                assert_eq!(
                    widened(byte, of(name)),
                    (byte < 16).then_some(byte),
                    "{name}"
                );
            }
            assert_eq!(widened(byte, of("uint2")), (byte < 4).then_some(byte));
            let int4 = [byte, byte | 0xf0][usize::from(byte & 8 > 0)];
            let fits = !(16..0xf8).contains(&byte);
            assert_eq!(widened(byte, of("int4")), fits.then_some(int4), "{byte}");
            let int2 = [byte, byte | 0xfc][usize::from(byte & 2 > 0)];
            let fits = !(4..0xfe).contains(&byte);
            assert_eq!(widened(byte, of("int2")), fits.then_some(int2), "{byte}");
        }
        assert_eq!(all().filter(|dtype| dtype.narrow().is_some()).count(), 5);
    }
}
