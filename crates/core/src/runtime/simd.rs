//! Loops compiled several times, for the widest vectors that the processor has.
//!
//! A wheel must run on every processor of its kind, so the compiler uses only what all of them have:
//! on x86-64 vectors of 16 bytes, without most of what converts integers. A loop over many values that it can turn
//! into vectors is worth compiling for newer processors as well.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;

/// What a processor has, if more than every one of its kind.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
enum Vectors {
    Avx512,
    Avx2,
    Usual,
}

#[cfg(target_arch = "x86_64")]
static VECTORS: LazyLock<Vectors> = LazyLock::new(|| {
    let avx2 = is_x86_feature_detected!("avx2");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (avx2, avx512) {
        (true, true) => Vectors::Avx512,
        (true, false) => Vectors::Avx2,
        _ => Vectors::Usual,
    }
});

/// Has the processor fetch the first of these bytes, not too many, from memory while it does something else.
#[inline]
#[allow(
    unsafe_code,
    reason = "the instruction takes a pointer, here to bytes that are there"
)]
pub fn fetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(LINE).take(AHEAD / LINE) {
        // SAFETY: nothing is read as far as the program can tell, not even what cannot be read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// As much as a processor fetches at once.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// What lies after that many bytes, the processor fetches by itself.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 1024;

/// Does `work`, which is to be marked `#[inline(always)]`, with the widest vectors there are.
///
/// ```
/// use tfrecs_core::runtime::simd;
///
/// let sum: u64 = simd::widest(#[inline(always)] || (0..1000).sum());
/// assert_eq!(sum, 499_500);
/// ```
#[inline]
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the processor must have the instructions")]
pub fn widest<R>(work: impl FnOnce() -> R) -> R {
    match *VECTORS {
        // SAFETY: the processor has said that it has them.
        Vectors::Avx512 => unsafe { with_avx512(work) },
        // SAFETY: as above.
        Vectors::Avx2 => unsafe { with_avx2(work) },
        Vectors::Usual => work(),
    }
}

/// Does `work` as every processor of this kind can.
#[inline]
#[cfg(not(target_arch = "x86_64"))]
pub fn widest<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn with_avx512<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}
