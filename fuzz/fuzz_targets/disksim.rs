//! DiskSim's files, and what the importer makes of them.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assay_fuzz::disksim(data));
