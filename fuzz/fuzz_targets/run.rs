//! Run directories: `run.json` and `cells.json`, and everything that shows them.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assay_fuzz::run(data));
