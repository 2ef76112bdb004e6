//! Random work on random small drives, under the checker.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assay_fuzz::drives(data));
