//! Block traces: records of blktrace in both byte orders, and text of blkparse.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assay_fuzz::trace(data));
