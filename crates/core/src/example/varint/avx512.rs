//! Varints by windows of 64 bytes: AVX-512 with its instructions on bytes (VBMI, VBMI2; since Intel's
//! Ice Lake and AMD's Zen 4).
//!
//! `vpcompressb` makes, of the bits that say where varints begin, the list of these places; `vpermb`
//! brings the bytes from there on to the lane of each value, whatever its length.

use std::arch::x86_64::{
    __m512i, __mmask8, _mm_cvtsi64_si128, _mm512_add_epi8, _mm512_add_epi32, _mm512_add_epi64,
    _mm512_and_si512, _mm512_andnot_si512, _mm512_castsi512_si256, _mm512_cvtepu8_epi64,
    _mm512_cvtepu32_epi64, _mm512_extracti64x4_epi64, _mm512_madd_epi16, _mm512_maddubs_epi16,
    _mm512_mask_mov_epi64, _mm512_maskz_compress_epi8, _mm512_movepi8_mask,
    _mm512_permutexvar_epi8, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32,
    _mm512_set1_epi64, _mm512_slli_epi64, _mm512_srli_epi64, _mm512_ternarylogic_epi32,
    _mm512_ternarylogic_epi64, _mm512_testn_epi64_mask,
};
use std::mem::MaybeUninit;

use super::Decode;
use crate::runtime::lanes::{load_rest, load64, store8};

/// The road, if the processor has all that it needs: nobody has it otherwise.
pub fn road() -> Option<Decode> {
    let is_there = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    is_there.then_some(decode)
}

#[allow(unsafe_code, reason = "the processor must have the instructions")]
fn decode(bytes: &mut &[u8], room: &mut [MaybeUninit<i64>]) -> usize {
    // SAFETY: `road`, which alone gives this away, has asked the processor.
    unsafe { by_windows(bytes, room) }
}

/// See [`Decode`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn by_windows(bytes: &mut &[u8], room: &mut [MaybeUninit<i64>]) -> usize {
    let mut written = 0;
    while !bytes.is_empty()
        && let Some(room) = room
            .get_mut(written..)
            .and_then(<[_]>::first_chunk_mut::<64>)
    {
        let (window, there) = match bytes.first_chunk::<64>() {
            Some(all) => (load64(all), u64::MAX),
            None => load_rest(bytes),
        };
        let ends = !_mm512_movepi8_mask(window) & there;
        let continues = !ends & there;
        let four = runs_of_four(continues);
        if ends == 0 {
            break;
        }
        if ends == u64::MAX {
            widen(bytes, room);
        } else if four == 0 {
            short(window, ends, room);
        } else if runs_of_ten(continues, four) == 0 {
            long(window, ends, room);
        } else {
            break;
        }
        let whole = 64 - ends.leading_zeros() as usize;
        *bytes = bytes.get(whole..).unwrap_or_default();
        written += ends.count_ones() as usize;
    }
    written
}

/// Where four bits follow each other: a varint of five bytes or more.
#[inline]
fn runs_of_four(bits: u64) -> u64 {
    let two = bits & bits >> 1;
    two & two >> 2
}

/// Where ten bits follow each other: what is no varint.
#[inline]
fn runs_of_ten(bits: u64, four: u64) -> u64 {
    four & four >> 4 & bits >> 8 & bits >> 9
}

/// Values of a byte each.
#[inline]
#[target_feature(enable = "avx512f")]
fn widen(bytes: &[u8], room: &mut [MaybeUninit<i64>; 64]) {
    let (eights, _) = bytes.as_chunks::<8>();
    for (eight, place) in eights.iter().zip(room.as_chunks_mut().0) {
        let eight = _mm_cvtsi64_si128(i64::from_le_bytes(*eight));
        store8(place, _mm512_cvtepu8_epi64(eight));
    }
}

/// The places in a window where varints begin, one a byte.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi2")]
fn starts(ends: u64) -> __m512i {
    let places = bytes_of(|place| place);
    _mm512_maskz_compress_epi8(ends << 1 | 1, places)
}

/// A vector of 64 bytes, of each of which `byte` tells the value; one in the program's constants.
#[inline]
#[target_feature(enable = "avx512f")]
fn bytes_of(byte: impl Fn(u8) -> u8) -> __m512i {
    let mut all = [0; 64];
    for (place, all) in (0..).zip(&mut all) {
        *all = byte(place);
    }
    load64(&all)
}

/// Values of up to four bytes each, 16 at once.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
fn short(window: __m512i, ends: u64, room: &mut [MaybeUninit<i64>; 64]) {
    let starts = starts(ends);
    let count = ends.count_ones() as usize;
    let mut which = bytes_of(|byte| byte / 4);
    let (places, _) = room.as_chunks_mut::<8>();
    let (pairs, _) = places.as_chunks_mut::<2>();
    for [low, high] in pairs.iter_mut().take(count.div_ceil(16)) {
        let from = _mm512_permutexvar_epi8(which, starts);
        let from = _mm512_add_epi8(from, bytes_of(|byte| byte % 4));
        let lanes = _mm512_permutexvar_epi8(from, window);
        let last = _mm512_andnot_si512(lanes, _mm512_set1_epi8(i8::MIN));
        let before = _mm512_add_epi32(last, _mm512_set1_epi32(-1));
        // a & (b ^ c)
        let value = _mm512_ternarylogic_epi32::<0x60>(lanes, last, before);
        let value = squeeze(_mm512_and_si512(value, _mm512_set1_epi8(0x7f)));
        store8(low, _mm512_cvtepu32_epi64(_mm512_castsi512_si256(value)));
        store8(
            high,
            _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64::<1>(value)),
        );
        which = _mm512_add_epi8(which, _mm512_set1_epi8(16));
    }
}

/// The low seven bits of the four bytes of each lane, pushed together.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn squeeze(sevens: __m512i) -> __m512i {
    let pairs = _mm512_maddubs_epi16(_mm512_set1_epi16(0x8001u16.cast_signed()), sevens);
    _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x4000_0001))
}

/// Values of up to ten bytes each, 8 at once.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
fn long(window: __m512i, ends: u64, room: &mut [MaybeUninit<i64>; 64]) {
    let starts = starts(ends);
    let count = ends.count_ones() as usize;
    let mut which = bytes_of(|byte| byte / 8);
    let (places, _) = room.as_chunks_mut::<8>();
    for place in places.iter_mut().take(count.div_ceil(8)) {
        let from = _mm512_permutexvar_epi8(which, starts);
        let from = _mm512_add_epi8(from, bytes_of(|byte| byte % 8));
        let (lanes, open) = until_end(_mm512_permutexvar_epi8(from, window));
        let fours = squeeze(lanes);
        // The lower four's 28 bits, then the upper four's.
        let value = _mm512_ternarylogic_epi64::<0xca>(
            _mm512_set1_epi64(0x0fff_ffff),
            fours,
            _mm512_srli_epi64::<4>(fours),
        );
        let from = _mm512_add_epi8(from, _mm512_set1_epi8(8));
        let (more, _) = until_end(_mm512_permutexvar_epi8(from, window));
        let ninth = _mm512_slli_epi64::<56>(more);
        let tenth = _mm512_slli_epi64::<63>(_mm512_srli_epi64::<8>(more));
        // a | b | c
        let all = _mm512_ternarylogic_epi64::<0xfe>(value, ninth, tenth);
        store8(place, _mm512_mask_mov_epi64(value, open, all));
        which = _mm512_add_epi8(which, _mm512_set1_epi8(8));
    }
}

/// The groups of seven bits up to where the first varint in each lane of eight bytes ends; and the lanes in which none does.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn until_end(lanes: __m512i) -> (__m512i, __mmask8) {
    let last = _mm512_andnot_si512(lanes, _mm512_set1_epi8(i8::MIN));
    let before = _mm512_add_epi64(last, _mm512_set1_epi64(-1));
    let open = _mm512_testn_epi64_mask(last, last);
    // a & (b ^ c)
    let sevens = _mm512_ternarylogic_epi64::<0x60>(lanes, last, before);
    (_mm512_and_si512(sevens, _mm512_set1_epi8(0x7f)), open)
}
