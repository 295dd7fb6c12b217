#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tfrecs_fuzz::mutate::mutate(data, size, max_size, seed)
});

fuzz_target!(|data: &[u8]| tfrecs_fuzz::agreement::tensors(data));
