//! Numbers of a list as numbers of a column's type, in arithmetic that is too slow for a decoder.

use tfrecs_core::example::DType;

/// The integers that `dtype` holds.
pub fn range_of(dtype: DType) -> (i128, i128) {
    match dtype {
        DType::Bool => (0, 1),
        DType::Int8 => (-(1 << 7), (1 << 7) - 1),
        DType::Int16 => (-(1 << 15), (1 << 15) - 1),
        DType::Int32 => (-(1 << 31), (1 << 31) - 1),
        DType::UInt8 => (0, (1 << 8) - 1),
        DType::UInt16 => (0, (1 << 16) - 1),
        DType::UInt32 => (0, (1 << 32) - 1),
        DType::UInt64 => (0, (1 << 64) - 1),
        _ => (-(1 << 63), (1 << 63) - 1),
    }
}

/// `value` as the nearest number of `dtype`, of two the even one; `None` where that is infinity.
pub fn rounded(value: f32, dtype: DType) -> Option<f64> {
    let value = f64::from(value);
    let (digits, least) = match dtype {
        DType::Float16 => (10, -14),
        DType::BFloat16 => (7, -126),
        _ => return Some(value),
    };
    if !value.is_finite() || value == 0.0 {
        return Some(value);
    }
    let exponent = exponent_of(value).max(least);
    let step = 2f64.powi(exponent - digits);
    let rounded = (value / step).round_ties_even() * step;
    // The exponents of a format are symmetric: the greatest is 1 - least.
    (rounded.abs() < 2f64.powi(2 - least)).then_some(rounded)
}

fn exponent_of(value: f64) -> i32 {
    // No float32 is subnormal as a float64.
    i32::try_from(value.to_bits() >> 52 & 0x7ff).unwrap() - 1023
}
