//! Integers to varints, into a slot.
//!
//! Where there is AVX-512 with VBMI2, eight of them at a time: each is spread over the eight bytes of
//! its lane, seven bits a byte; its bytes up to the last that is not zero are kept, all but that one
//! get the bit that says that more follow, and those that are kept are moved together.
//!
//! ```text
//! lane    300 = 0b10_0101100     spread   0x2c 0x02 0 0 0 0 0 0     kept  yes yes no …
//! marked  0xac 0x02              moved to the end of what the lane before has kept
//! ```
#![allow(
    clippy::inline_always,
    unsafe_code,
    reason = "instructions that not every processor has are unsafe to use; `Cpu::is_wide` says that they are there"
)]

use super::cpu::Cpu;
use super::slots::Slot;

/// Adds these integers as varints.
#[inline(always)]
pub fn put_varints(cpu: impl Cpu, values: &[i64], slot: &mut Slot<'_>) -> Option<()> {
    #[cfg(target_arch = "x86_64")]
    if cpu.is_wide() {
        let (eights, rest) = values.as_chunks();
        if !eights.is_empty() {
            // SAFETY: it has all that.
            unsafe { x86::put_eights(cpu, eights, slot)? };
            return put_one_by_one(cpu, rest, slot);
        }
    }
    put_one_by_one(cpu, values, slot)
}

#[inline(always)]
fn put_one_by_one(cpu: impl Cpu, values: &[i64], slot: &mut Slot<'_>) -> Option<()> {
    let mut values = values.iter();
    values.try_for_each(|value| slot.put_varint_by(cpu, value.cast_unsigned()))
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm512_and_si512, _mm512_loadu_si512, _mm512_mask_add_epi8, _mm512_maskz_compress_epi8,
        _mm512_multishift_epi64_epi8, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_storeu_si512,
        _mm512_test_epi8_mask, _mm512_test_epi64_mask,
    };

    use super::{Cpu, Slot, put_one_by_one};

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn put_eights(
        cpu: impl Cpu,
        eights: &[[i64; 8]],
        slot: &mut Slot<'_>,
    ) -> Option<()> {
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
            // The first byte of each lane is kept, and every one with another that is not zero after.
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
