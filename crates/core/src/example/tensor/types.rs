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
    /// As in memory, in so many parts of 4 or 8 bytes: the field, and the bytes of a part.
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

/// `byte` with the bits that do not count made zero, or copies of the sign.
#[must_use]
pub fn normal(byte: u8, (bits, signed): (u32, bool)) -> u8 {
    let unused = 8 - bits;
    if signed {
        ((byte << unused).cast_signed() >> unused).cast_unsigned()
    } else {
        (byte << unused) >> unused
    }
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
    fn only_some_bits_of_narrow_types_count() {
        let of = |name| TensorType::of_name(name).and_then(TensorType::narrow);
        for byte in 0..=u8::MAX {
            let (four, two) = (byte & 15, byte & 3);
            let signed = [
                four | if four < 8 { 0 } else { 0xf0 },
                two | if two < 2 { 0 } else { 0xfc },
            ];
            assert_eq!(
                ["int4", "int2"].map(|name| normal(byte, of(name).unwrap())),
                signed
            );
            let names = ["uint4", "float4_e2m1fn", "uint2"];
            assert_eq!(
                names.map(|name| normal(byte, of(name).unwrap())),
                [four, four, two]
            );
        }
        assert_eq!(all().filter(|dtype| dtype.narrow().is_some()).count(), 5);
    }
}
