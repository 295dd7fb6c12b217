//! Varints by windows of 16 bytes: AVX2 (since Intel's Haswell and AMD's Zen).
//!
//! A table says, of the bits that begin varints in eight bytes, the places where they do; `pshufb` brings the
//! bytes from there on to the lane of each value, whatever its length. (`pext` could do what the table
//! does, but is slow before Zen 3.)

use std::arch::x86_64::{
    __m128i, __m256i, _mm_bsrli_si128, _mm_cvtsi64_si128, _mm_movemask_epi8, _mm256_add_epi8,
    _mm256_add_epi32, _mm256_add_epi64, _mm256_and_si256, _mm256_andnot_si256,
    _mm256_broadcastq_epi64, _mm256_broadcastsi128_si256, _mm256_castsi256_si128,
    _mm256_cmpeq_epi64, _mm256_cvtepu8_epi64, _mm256_cvtepu32_epi64, _mm256_extracti128_si256,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_or_si256, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32, _mm256_setr_epi64x,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi64, _mm256_srli_epi64,
    _mm256_xor_si256,
};
use std::mem::MaybeUninit;

use super::Decode;
use super::plain;
use crate::runtime::lanes::{load16, store4};

/// The road, if the processor has all that it needs: nobody has it otherwise.
pub fn road() -> Option<Decode> {
    let is_there = is_x86_feature_detected!("avx2")
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
#[target_feature(enable = "avx2,lzcnt,popcnt")]
fn by_windows(bytes: &mut &[u8], room: &mut [MaybeUninit<i64>]) -> usize {
    let mut written = 0;
    while let Some(room) = room
        .get_mut(written..)
        .and_then(<[_]>::first_chunk_mut::<16>)
        && !bytes.is_empty()
    {
        let mut copy = [0; 16];
        let (window, there) = match bytes.first_chunk::<16>() {
            Some(all) => (load16(all), u32::MAX),
            None => (load16(copied(bytes, &mut copy)), (1 << bytes.len()) - 1),
        };
        let all_ends = ends_of(window);
        let ends = all_ends & there;
        if ends.trailing_zeros() >= 8 {
            // A negative value; where one is are more, and this does not wait for how long it is.
            let [place, ..] = room;
            if !plain::long(bytes, place) {
                break;
            }
            written += 1;
            continue;
        }
        if !write(window, all_ends, room) {
            break;
        }
        let whole = 32 - ends.leading_zeros() as usize;
        *bytes = bytes.get(whole..).unwrap_or_default();
        written += ends.count_ones() as usize;
    }
    written
}

/// The last few bytes, with zeros after them.
#[inline]
fn copied<'a>(bytes: &[u8], copy: &'a mut [u8; 16]) -> &'a [u8; 16] {
    for (copy, byte) in copy.iter_mut().zip(bytes) {
        *copy = *byte;
    }
    copy
}

/// Which bytes of a window end varints.
#[inline]
#[target_feature(enable = "avx2")]
fn ends_of(window: __m128i) -> u32 {
    !_mm_movemask_epi8(window).cast_unsigned() & 0xffff
}

/// Writes the varints that end in a window; if there is something else in it, says so.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn write(window: __m128i, ends: u32, room: &mut [MaybeUninit<i64>; 16]) -> bool {
    let continues = !ends & 0xffff;
    let two = continues & continues >> 1;
    let four = two & two >> 2;
    if continues == 0 {
        widen(window, room);
    } else if four == 0 {
        short(window, ends, room);
    } else if four & four >> 4 & continues >> 8 & continues >> 9 == 0 {
        long(window, ends, room);
    } else {
        return false;
    }
    true
}

/// Values of a byte each.
#[inline]
#[target_feature(enable = "avx2")]
fn widen(window: __m128i, room: &mut [MaybeUninit<i64>; 16]) {
    let (fours, _) = room.as_chunks_mut::<4>();
    let mut window = window;
    for place in fours {
        store4(place, _mm256_cvtepu8_epi64(window));
        window = _mm_bsrli_si128::<4>(window);
    }
}

/// By the bits of a byte: the places of those that are set, in order, one a byte.
static PLACES: [u64; 256] = places();

#[allow(clippy::indexing_slicing, reason = "happens while compiling")]
const fn places() -> [u64; 256] {
    let mut table = [0; 256];
    let mut bits = 0;
    while bits < table.len() {
        let (mut place, mut shift) = (0, 0);
        while place < 8 {
            if bits >> place & 1 == 1 {
                table[bits] |= place << shift;
                shift += 8;
            }
            place += 1;
        }
        bits += 1;
    }
    table
}

#[inline]
fn places_of(bits: u8) -> u64 {
    PLACES.get(usize::from(bits)).copied().unwrap_or_default()
}

/// The places where varints begin, one a byte: of the first eight, and of the next.
#[inline]
#[target_feature(enable = "popcnt")]
fn starts(ends: u32) -> [u64; 2] {
    let [low, high, ..] = (ends << 1 | 1).to_le_bytes();
    let in_low = 8 * low.count_ones();
    let late = places_of(high) + 0x0808_0808_0808_0808;
    let first = places_of(low) | late.unbounded_shl(in_low);
    [first, late.unbounded_shr(64 - in_low)]
}

/// Values of up to four bytes each, 8 at once.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn short(window: __m128i, ends: u32, room: &mut [MaybeUninit<i64>; 16]) {
    let [first, next] = starts(ends);
    let (fours, _) = room.as_chunks_mut::<4>();
    let (eights, _) = fours.as_chunks_mut::<2>();
    let [one, two] = eights else { return };
    eight(window, first, one);
    if ends.count_ones() > 8 {
        eight(window, next, two);
    }
}

/// Values of up to ten bytes each, 4 at once.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn long(window: __m128i, ends: u32, room: &mut [MaybeUninit<i64>; 16]) {
    let [first, next] = starts(ends);
    let (fours, _) = room.as_chunks_mut::<4>();
    let starts = [first, first >> 32, next, next >> 32];
    let rounds = ends.count_ones().div_ceil(4) as usize;
    for (place, starts) in fours.iter_mut().zip(starts).take(rounds) {
        four(window, starts, place);
    }
}

/// The four varints that begin at the lower half of `starts`.
#[inline]
#[target_feature(enable = "avx2")]
fn four(window: __m128i, starts: u64, place: &mut [MaybeUninit<i64>; 4]) {
    let starts = _mm256_broadcastq_epi64(_mm_cvtsi64_si128(starts.cast_signed()));
    let which = _mm256_setr_epi64x(0, ONES, 2 * ONES, 3 * ONES);
    let from = _mm256_shuffle_epi8(starts, which);
    let from = _mm256_add_epi8(from, _mm256_set1_epi64x(0x0706_0504_0302_0100));
    let window = _mm256_broadcastsi128_si256(window);
    let (lanes, open) = until_end(_mm256_shuffle_epi8(window, from));
    let fours = squeeze(lanes);
    // The lower four's 28 bits, then the upper four's.
    let low = _mm256_and_si256(fours, _mm256_set1_epi64x(0x0fff_ffff));
    let high = _mm256_slli_epi64::<28>(_mm256_srli_epi64::<32>(fours));
    let value = _mm256_or_si256(low, high);
    let from = _mm256_add_epi8(from, _mm256_set1_epi8(8));
    let (more, _) = until_end(_mm256_shuffle_epi8(window, from));
    let ninth = _mm256_slli_epi64::<56>(more);
    let tenth = _mm256_slli_epi64::<63>(_mm256_srli_epi64::<8>(more));
    let more = _mm256_and_si256(open, _mm256_or_si256(ninth, tenth));
    store4(place, _mm256_or_si256(value, more));
}

const ONES: i64 = 0x0101_0101_0101_0101;

/// The groups of seven bits up to where the first varint in each lane of eight bytes ends; and all
/// bits of the lanes in which none does.
#[inline]
#[target_feature(enable = "avx2")]
fn until_end(lanes: __m256i) -> (__m256i, __m256i) {
    let last = _mm256_andnot_si256(lanes, _mm256_set1_epi8(i8::MIN));
    let before = _mm256_add_epi64(last, _mm256_set1_epi64x(-1));
    let open = _mm256_cmpeq_epi64(last, _mm256_setzero_si256());
    let until = _mm256_and_si256(_mm256_xor_si256(last, before), _mm256_set1_epi8(0x7f));
    (_mm256_and_si256(lanes, until), open)
}

/// The low seven bits of the four bytes of each lane, pushed together.
#[inline]
#[target_feature(enable = "avx2")]
fn squeeze(sevens: __m256i) -> __m256i {
    let pairs = _mm256_maddubs_epi16(_mm256_set1_epi16(0x8001u16.cast_signed()), sevens);
    _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x4000_0001))
}

/// The eight varints that begin at `starts`.
#[inline]
#[target_feature(enable = "avx2")]
fn eight(window: __m128i, starts: u64, [low, high]: &mut [[MaybeUninit<i64>; 4]; 2]) {
    let starts = _mm256_broadcastq_epi64(_mm_cvtsi64_si128(starts.cast_signed()));
    let which = _mm256_setr_epi32(
        0x0000_0000,
        0x0101_0101,
        0x0202_0202,
        0x0303_0303,
        0x0404_0404,
        0x0505_0505,
        0x0606_0606,
        0x0707_0707,
    );
    let from = _mm256_add_epi8(
        _mm256_shuffle_epi8(starts, which),
        _mm256_set1_epi32(0x0302_0100),
    );
    let lanes = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(window), from);
    let last = _mm256_andnot_si256(lanes, _mm256_set1_epi32(0x8080_8080u32.cast_signed()));
    let before = _mm256_add_epi32(last, _mm256_set1_epi32(-1));
    let until_end = _mm256_and_si256(_mm256_xor_si256(last, before), _mm256_set1_epi8(0x7f));
    let sevens = _mm256_and_si256(lanes, until_end);
    let values = squeeze(sevens);
    store4(low, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(values)));
    store4(
        high,
        _mm256_cvtepu32_epi64(_mm256_extracti128_si256::<1>(values)),
    );
}
