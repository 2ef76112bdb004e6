//! Request logs in Parquet.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assay_fuzz::requests(data));
