//! Experiment files and the expressions in them.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assay_fuzz::experiment(data));
