//! Ledgers of claims, judged without a run.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assay_fuzz::ledger(data));
