//! The sweeps of Figure 8 of SIGMETRICS 2009: value in bytes and workload.

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// Of writes.
pub const WRITE_RANGES: &[(f64, &str)] = &[
    (1e9, "rnd-wr-range-1gb"),
    (2e9, "rnd-wr-range-2gb"),
    (4e9, "rnd-wr-range-4gb"),
    (8e9, "rnd-wr-range-8gb"),
    (16e9, "rnd-wr-range-16gb"),
    (30e9, "rnd-wr-range-30gb"),
];
/// Of writes.
pub const WRITE_STEPS: &[(f64, &str)] = &[
    (4.0 * KIB, "stride-wr-step-4k"),
    (64.0 * KIB, "stride-wr-step-64k"),
    (256.0 * KIB, "stride-wr-step-256k"),
    (1.0 * MIB, "stride-wr-step-1m"),
    (2.0 * MIB, "stride-wr-step-2m"),
    (4.0 * MIB, "stride-wr-step-4m"),
    (8.0 * MIB, "stride-wr-step-8m"),
    (16.0 * MIB, "stride-wr-step-16m"),
    (32.0 * MIB, "stride-wr-step-32m"),
    (64.0 * MIB, "stride-wr-step-64m"),
    (128.0 * MIB, "stride-wr-step-128m"),
];
/// Of writes.
pub const WRITE_RANGES_256K: &[(f64, &str)] = &[
    (1e9, "rnd-wr-range-1gb-256k"),
    (2e9, "rnd-wr-range-2gb-256k"),
    (4e9, "rnd-wr-range-4gb-256k"),
    (8e9, "rnd-wr-range-8gb-256k"),
    (16e9, "rnd-wr-range-16gb-256k"),
    (30e9, "rnd-wr-range-30gb-256k"),
];
/// Of writes.
pub const WRITE_STEPS_256K: &[(f64, &str)] = &[
    (256.0 * KIB, "stride-wr-step-256k-256k"),
    (1.0 * MIB, "stride-wr-step-1m-256k"),
    (4.0 * MIB, "stride-wr-step-4m-256k"),
    (16.0 * MIB, "stride-wr-step-16m-256k"),
    (64.0 * MIB, "stride-wr-step-64m-256k"),
    (128.0 * MIB, "stride-wr-step-128m-256k"),
];
/// Of reads.
pub const READ_RANGES: &[(f64, &str)] = &[
    (1e9, "rnd-rd-range-1gb"),
    (2e9, "rnd-rd-range-2gb"),
    (4e9, "rnd-rd-range-4gb"),
    (8e9, "rnd-rd-range-8gb"),
    (16e9, "rnd-rd-range-16gb"),
    (30e9, "rnd-rd-range-30gb"),
];
/// Of reads.
pub const READ_STEPS: &[(f64, &str)] = &[
    (4.0 * KIB, "stride-rd-step-4k"),
    (64.0 * KIB, "stride-rd-step-64k"),
    (256.0 * KIB, "stride-rd-step-256k"),
    (1.0 * MIB, "stride-rd-step-1m"),
    (2.0 * MIB, "stride-rd-step-2m"),
    (4.0 * MIB, "stride-rd-step-4m"),
    (8.0 * MIB, "stride-rd-step-8m"),
    (16.0 * MIB, "stride-rd-step-16m"),
    (32.0 * MIB, "stride-rd-step-32m"),
    (64.0 * MIB, "stride-rd-step-64m"),
    (128.0 * MIB, "stride-rd-step-128m"),
];
/// Of reads.
pub const READ_RANGES_256K: &[(f64, &str)] = &[
    (1e9, "rnd-rd-range-1gb-256k"),
    (2e9, "rnd-rd-range-2gb-256k"),
    (4e9, "rnd-rd-range-4gb-256k"),
    (8e9, "rnd-rd-range-8gb-256k"),
    (16e9, "rnd-rd-range-16gb-256k"),
    (30e9, "rnd-rd-range-30gb-256k"),
];
/// Of reads.
pub const READ_STEPS_256K: &[(f64, &str)] = &[
    (256.0 * KIB, "stride-rd-step-256k-256k"),
    (1.0 * MIB, "stride-rd-step-1m-256k"),
    (4.0 * MIB, "stride-rd-step-4m-256k"),
    (16.0 * MIB, "stride-rd-step-16m-256k"),
    (64.0 * MIB, "stride-rd-step-64m-256k"),
    (128.0 * MIB, "stride-rd-step-128m-256k"),
];
