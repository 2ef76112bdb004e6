//! A finished request.

use assay_spec::{Bytes, Nanos, Op};

/// A finished request, as it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The time of its submission, or of its intended arrival in an open loop, since the start of
    /// the measured phase.
    pub submit: Nanos,
    /// The time of its completion, since the same start.
    pub complete: Nanos,
    /// The address of its first byte on the target.
    pub offset: Bytes,
    /// Its length.
    pub length: Bytes,
    /// The kind of request.
    pub op: Op,
    /// The index of its job; 0 in an open loop, which is one process of arrivals.
    pub job: u32,
    /// Its `errno`, or 0.
    pub error: i32,
}
