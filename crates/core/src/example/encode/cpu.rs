//! What processors do differently: integers to varints.
//!
//! Where there is AVX-512 with VBMI2, eight of them at a time: each is spread over the eight bytes of
//! its lane, seven bits a byte; its bytes up to the last that is not zero are kept, all but that one
//! get the bit that says that more follow, and those that are kept are moved together.
#![allow(
    clippy::inline_always,
    unsafe_code,
    reason = "instructions that not every processor has are unsafe to use; a value of a type that uses \
              them is the proof that they are there"
)]

use super::room::Slot;
use crate::example::wire::varint_len;

/// A kind of processor.
pub trait Cpu: Copy {
    /// Seven bits of `value`, which has 56 at most, in each byte.
    fn spread(self, value: u64) -> u64;

    /// The length of these integers as varints.
    fn varints_len(self, values: &[i64]) -> usize;

    /// Adds these integers as varints.
    fn put_varints(self, values: &[i64], slot: &mut Slot<'_>) -> Option<()>;
}

/// The processor at hand.
#[derive(Clone, Copy, Debug)]
pub enum Processor {
    /// Any one.
    Any,
    /// One that can do more.
    #[cfg(target_arch = "x86_64")]
    X86(X86),
}

impl Processor {
    /// Looks what it is.
    pub fn found() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(cpu) = X86::found() {
            return Self::X86(cpu);
        }
        Self::Any
    }

    /// All that it can be used as.
    #[cfg(test)]
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::Any];
        #[cfg(target_arch = "x86_64")]
        if let Some(cpu) = X86::found() {
            all.extend([Self::X86(cpu), Self::X86(cpu.narrow())]);
        }
        all
    }
}

/// Any processor.
#[derive(Clone, Copy, Debug)]
pub struct Any;

impl Cpu for Any {
    #[inline(always)]
    fn spread(self, value: u64) -> u64 {
        let halves = (value & 0x0fff_ffff) | ((value & 0x00ff_ffff_f000_0000) << 4);
        let quarters = (halves & 0x0000_3fff_0000_3fff) | ((halves & 0x0fff_c000_0fff_c000) << 2);
        (quarters & 0x007f_007f_007f_007f) | ((quarters & 0x3f80_3f80_3f80_3f80) << 1)
    }

    #[inline(always)]
    fn varints_len(self, values: &[i64]) -> usize {
        sum_of_lengths(values)
    }

    #[inline(always)]
    fn put_varints(self, values: &[i64], slot: &mut Slot<'_>) -> Option<()> {
        put_one_by_one(self, values, slot)
    }
}

#[inline(always)]
fn sum_of_lengths(values: &[i64]) -> usize {
    let lengths = values.iter().map(|value| varint_len(value.cast_unsigned()));
    lengths.sum()
}

#[inline(always)]
fn put_one_by_one(cpu: impl Cpu, values: &[i64], slot: &mut Slot<'_>) -> Option<()> {
    let mut values = values.iter();
    values.try_for_each(|value| slot.put_varint_by(cpu, value.cast_unsigned()))
}

#[cfg(target_arch = "x86_64")]
pub use x86::X86;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm512_and_si512, _mm512_loadu_si512, _mm512_mask_add_epi8, _mm512_maskz_compress_epi8,
        _mm512_multishift_epi64_epi8, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_storeu_si512,
        _mm512_test_epi8_mask, _mm512_test_epi64_mask, _pdep_u64,
    };

    use super::{Cpu, Slot, put_one_by_one, sum_of_lengths};

    /// A processor with AVX2, BMI2 and LZCNT, which most have that were made since 2013.
    #[derive(Clone, Copy, Debug)]
    pub struct X86 {
        /// Whether it also has what it takes for eight integers at a time.
        wide: bool,
    }

    impl X86 {
        /// The processor at hand, if it is one of these.
        pub fn found() -> Option<Self> {
            let found = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let wide = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vbmi")
                && is_x86_feature_detected!("avx512vbmi2");
            found.then_some(Self { wide })
        }

        /// The same without the instructions for eight integers at a time.
        #[cfg(test)]
        pub fn narrow(mut self) -> Self {
            self.wide = false;
            self
        }
    }

    impl Cpu for X86 {
        #[inline(always)]
        fn spread(self, value: u64) -> u64 {
            // SAFETY: it has BMI2.
            unsafe { _pdep_u64(value, 0x7f7f_7f7f_7f7f_7f7f) }
        }

        #[inline(always)]
        fn varints_len(self, values: &[i64]) -> usize {
            if self.wide {
                // SAFETY: it has all that.
                unsafe { wide_sum(values) }
            } else {
                sum_of_lengths(values)
            }
        }

        #[inline(always)]
        fn put_varints(self, values: &[i64], slot: &mut Slot<'_>) -> Option<()> {
            let (eights, rest) = values.as_chunks();
            if self.wide && !eights.is_empty() {
                // SAFETY: it has all that.
                unsafe { put_eights(self, eights, slot)? };
                return put_one_by_one(self, rest, slot);
            }
            put_one_by_one(self, values, slot)
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,lzcnt,popcnt")]
    fn wide_sum(values: &[i64]) -> usize {
        sum_of_lengths(values)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
    fn put_eights(cpu: X86, eights: &[[i64; 8]], slot: &mut Slot<'_>) -> Option<()> {
        let places = _mm512_set1_epi64(0x312a_231c_150e_0700);
        let low_bits = _mm512_set1_epi8(0x7f);
        let more = _mm512_set1_epi8(i8::MIN);
        for eight in eights {
            // SAFETY: these are 64 bytes.
            let values = unsafe { _mm512_loadu_si512(eight.as_ptr().cast()) };
            if _mm512_test_epi64_mask(values, _mm512_set1_epi64(!0 << 56)) != 0 {
                put_one_by_one(cpu, eight, slot)?;
                continue;
            }
            let spread = _mm512_multishift_epi64_epi8(places, values);
            let spread = _mm512_and_si512(spread, low_bits);
            // The first byte of each lane is kept, and every one with another that is not zero behind.
            let mut kept = _mm512_test_epi8_mask(spread, spread);
            kept |= (kept >> 1) & 0x7f7f_7f7f_7f7f_7f7f;
            kept |= (kept >> 2) & 0x3f3f_3f3f_3f3f_3f3f;
            kept |= (kept >> 4) & 0x0f0f_0f0f_0f0f_0f0f;
            let followed = (kept >> 1) & 0x7f7f_7f7f_7f7f_7f7f;
            kept |= 0x0101_0101_0101_0101;
            let marked = _mm512_mask_add_epi8(spread, followed, spread, more);
            let together = _mm512_maskz_compress_epi8(kept, marked);
            let mut bytes = [0; 64];
            // SAFETY: these are 64 bytes.
            unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), together) };
            slot.put_wide(&bytes, kept.count_ones() as usize)?;
        }
        Some(())
    }
}
