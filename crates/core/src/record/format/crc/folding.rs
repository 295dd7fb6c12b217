//! CRC-32C by folding: 256 bytes at once, with AVX-512 and VPCLMULQDQ (since Intel's Ice Lake and AMD's
//! Zen 4).
//!
//! A checksum is the remainder of a polynomial, whose coefficients are the bits of the data, on division
//! by that of Castagnoli. What stands `d` bits before something else may be multiplied with the remainder of x^d and
//! added to it: the whole then has the same remainder. So four vectors of 64 bytes are folded into the next
//! four until only those are left, then into one, then into 16 bytes; the processor's instruction for
//! CRCs, eight bytes at a time, does the rest. (Intel, "Fast CRC Computation for Generic Polynomials
//! Using PCLMULQDQ Instruction", 2009.)

use std::arch::x86_64::{
    __m128i, __m512i, _mm_crc32_u8, _mm_crc32_u32, _mm_crc32_u64, _mm_cvtsi32_si128,
    _mm_cvtsi128_si64, _mm_extract_epi64, _mm_set_epi64x, _mm_xor_si128, _mm512_broadcast_i32x4,
    _mm512_clmulepi64_epi128, _mm512_extracti32x4_epi32, _mm512_set_epi64, _mm512_setzero_si512,
    _mm512_ternarylogic_epi64, _mm512_xor_si512, _mm512_zextsi128_si512,
};
use std::sync::LazyLock;

use crate::runtime::lanes::load64;

static IS_THERE: LazyLock<bool> = LazyLock::new(|| {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("vpclmulqdq")
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("sse4.2")
});

/// The CRC-32C of `data`, if the processor has all that this needs.
#[allow(unsafe_code, reason = "the processor must have the instructions")]
#[inline]
pub fn crc32c(data: &[u8]) -> Option<u32> {
    // SAFETY: the processor has said that it has them.
    IS_THERE.then(|| unsafe { folded(data) })
}

#[target_feature(enable = "avx512f,avx512vl,vpclmulqdq,pclmulqdq,sse4.2")]
fn folded(data: &[u8]) -> u32 {
    let (blocks, rest) = data.as_chunks::<64>();
    let (first, blocks) = match blocks.split_first() {
        Some((first, blocks)) => (load64(first), blocks),
        None => return !one_by_one(!0, rest),
    };
    // The checksum of nothing is all ones, and joins the first four bytes.
    let first = _mm512_xor_si512(first, _mm512_zextsi128_si512(_mm_cvtsi32_si128(-1)));
    let all = match blocks.split_first_chunk::<3>() {
        Some((next, blocks)) => four_by_four(first, next, blocks),
        None => fold_each(first, blocks),
    };
    let sixteen = into_sixteen(all);
    let crc = _mm_crc32_u64(0, _mm_cvtsi128_si64(sixteen).cast_unsigned());
    let crc = _mm_crc32_u64(crc, _mm_extract_epi64::<1>(sixteen).cast_unsigned());
    !one_by_one(low_half(crc), rest)
}

/// Folds four vectors into the next four, and in the end into one.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn four_by_four(first: __m512i, next: &[[u8; 64]; 3], blocks: &[[u8; 64]]) -> __m512i {
    let [second, third, fourth] = next;
    let mut all = [first, load64(second), load64(third), load64(fourth)];
    let (fours, rest) = blocks.as_chunks::<4>();
    let far = everywhere(BY_256);
    for four in fours {
        for (vector, block) in all.iter_mut().zip(four) {
            *vector = fold(*vector, far, load64(block));
        }
    }
    let [first, second, third, fourth] = all;
    let third = fold(third, everywhere(BY_64), fourth);
    let second = fold(second, everywhere(BY_128), third);
    fold_each(fold(first, everywhere(BY_192), second), rest)
}

#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn fold_each(mut all: __m512i, blocks: &[[u8; 64]]) -> __m512i {
    let near = everywhere(BY_64);
    for block in blocks {
        all = fold(all, near, load64(block));
    }
    all
}

/// Moves each 16 bytes of `vector` by the distance that `factors` are for, and adds them to `to`.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn fold(vector: __m512i, factors: __m512i, to: __m512i) -> __m512i {
    let low = _mm512_clmulepi64_epi128::<0x00>(vector, factors);
    let high = _mm512_clmulepi64_epi128::<0x11>(vector, factors);
    // a ^ b ^ c
    _mm512_ternarylogic_epi64::<0x96>(low, high, to)
}

/// Folds the quarters of a vector into the last one.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,vpclmulqdq")]
fn into_sixteen(all: __m512i) -> __m128i {
    let ([p0, p1], [q0, q1], [r0, r1]) = (BY_48, BY_32, BY_16);
    let factors = _mm512_set_epi64(0, 0, r1, r0, q1, q0, p1, p0);
    let last = _mm512_extracti32x4_epi32::<3>(all);
    let folded = fold(all, factors, _mm512_setzero_si512());
    let first = _mm512_extracti32x4_epi32::<0>(folded);
    let second = _mm512_extracti32x4_epi32::<1>(folded);
    let third = _mm512_extracti32x4_epi32::<2>(folded);
    _mm_xor_si128(_mm_xor_si128(first, second), _mm_xor_si128(third, last))
}

/// What takes 16 bytes further by that many: a factor for their first half and one for the other.
///
/// The bits of a vector are in reverse order, and so the product of a half with 32 bits is by x^33 too
/// high; the first half by 64 bits too low.
const fn factors(bytes: u32) -> [i64; 2] {
    let bits = 8 * bytes;
    [power(bits + 64 - 33) as i64, power(bits - 33) as i64]
}

/// The remainder of x to that many, its bits in reverse order.
const fn power(exponent: u32) -> u32 {
    let (mut value, mut to_do) = (1 << 31, exponent);
    while to_do > 0 {
        value = super::times_x(value);
        to_do -= 1;
    }
    value
}

const BY_16: [i64; 2] = factors(16);
const BY_32: [i64; 2] = factors(32);
const BY_48: [i64; 2] = factors(48);
const BY_64: [i64; 2] = factors(64);
const BY_128: [i64; 2] = factors(128);
const BY_192: [i64; 2] = factors(192);
const BY_256: [i64; 2] = factors(256);

#[inline]
#[target_feature(enable = "avx512f")]
fn everywhere([first, other]: [i64; 2]) -> __m512i {
    _mm512_broadcast_i32x4(_mm_set_epi64x(other, first))
}

#[inline]
#[target_feature(enable = "sse4.2")]
fn one_by_one(crc: u32, rest: &[u8]) -> u32 {
    let (eights, rest) = rest.as_chunks::<8>();
    let mut crc = u64::from(crc);
    for eight in eights {
        crc = _mm_crc32_u64(crc, u64::from_le_bytes(*eight));
    }
    let (fours, rest) = rest.as_chunks::<4>();
    let mut crc = low_half(crc);
    for four in fours {
        crc = _mm_crc32_u32(crc, u32::from_le_bytes(*four));
    }
    for &byte in rest {
        crc = _mm_crc32_u8(crc, byte);
    }
    crc
}

/// A checksum, as the instruction for eight bytes returns it.
#[inline]
fn low_half(crc: u64) -> u32 {
    let [a, b, c, d, ..] = crc.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
