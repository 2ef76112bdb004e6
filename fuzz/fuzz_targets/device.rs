//! Device files, and a few requests to what they declare.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assay_fuzz::device(data));
