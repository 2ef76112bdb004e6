//! What may stand behind `--on`: drives, arrays, lists of them.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assay_fuzz::target(data));
