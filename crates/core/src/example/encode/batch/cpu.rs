//! What processors do differently when varints are written: spreading an integer over bytes, and adding up lengths.
//!
//! ```text
//!   300            =  0b10_0101100
//!   spread         =  00 00 00 00 00 00 02 2c    seven bits in each byte, the lowest last
//!   as a varint    =  ac 02                      little-endian, with the high bit of every byte but the last set
//! ```
//!
//! BMI2 spreads by one instruction (`pdep`), any other processor by three shifts and masks. AVX-512 adds up the
//! lengths of eight integers at a time.
//!
//! If you change this: each kind of processor is compared with `Processor::Any` by the tests of this module and of
//! `put_varints`; a new one is added to `Processor::all`, or no test runs it.
#![allow(
    clippy::inline_always,
    unsafe_code,
    reason = "instructions that not every processor has are unsafe to use; a value of a type that uses \
              them is the proof that they are there"
)]

use crate::example::wire::varint_len;

/// A kind of processor.
pub trait Cpu: Copy {
    /// Seven bits of `value`, which has 56 at most, in each byte.
    fn spread(self, value: u64) -> u64;

    /// The length of these integers as varints.
    fn varints_len(self, values: &[i64]) -> usize;

    /// Whether it has the instructions for eight integers at a time: AVX-512 with VBMI2, and BMI2.
    fn is_wide(self) -> bool {
        false
    }
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
}

#[inline(always)]
fn sum_of_lengths(values: &[i64]) -> usize {
    let lengths = values.iter().map(|value| varint_len(value.cast_unsigned()));
    lengths.sum()
}

#[cfg(target_arch = "x86_64")]
pub use x86::X86;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::_pdep_u64;

    use super::{Cpu, sum_of_lengths};

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
        fn is_wide(self) -> bool {
            self.wide
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,lzcnt,popcnt")]
    fn wide_sum(values: &[i64]) -> usize {
        sum_of_lengths(values)
    }
}
