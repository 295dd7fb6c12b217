//! Vectors from memory and to memory: the only pointers of the code that works on vectors.
//!
//! Each function takes a reference to exactly as many bytes or values as it loads or stores, so that
//! its bounds are those of safe Rust. None of the instructions asks for an alignment.
#![allow(
    unsafe_code,
    reason = "the processor's loads and stores take pointers; here each comes from a reference"
)]

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_loadu_si128, _mm256_storeu_si256, _mm512_loadu_si512,
    _mm512_maskz_loadu_epi8, _mm512_storeu_si512,
};
use std::mem::MaybeUninit;

#[inline]
#[target_feature(enable = "sse2")]
pub fn load16(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: 16 bytes that are there.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub fn load64(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: 64 bytes that are there.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Up to 64 bytes, then zeros; and a bit for each byte that is there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub fn load_rest(bytes: &[u8]) -> (__m512i, u64) {
    let there = match bytes.len() {
        length @ 0..64 => (1 << length) - 1,
        _ => u64::MAX,
    };
    // SAFETY: the bits stand for bytes that are there; the instruction touches no others.
    let vector = unsafe { _mm512_maskz_loadu_epi8(there, bytes.as_ptr().cast()) };
    (vector, there)
}

#[inline]
#[target_feature(enable = "avx")]
pub fn store4(place: &mut [MaybeUninit<i64>; 4], values: __m256i) {
    // SAFETY: room for 4 values of 8 bytes, in which any bytes are a value.
    unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), values) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub fn store8(place: &mut [MaybeUninit<i64>; 8], values: __m512i) {
    // SAFETY: room for 8 values of 8 bytes, in which any bytes are a value.
    unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), values) }
}
