//! The run is too short to show whether the number would have stayed the same.
//!
//! A phase that ends by time must have as many seconds as a test of drift needs. A phase that ends
//! by an amount is as long as its work; it is too short if it has neither enough repeats or seconds
//! for an interval, nor enough requests for percentiles.

use super::case::{Case, Fault};
use crate::metric;
use assay_spec::experiment::Amount;
use assay_spec::units::human_time;

/// The number of seconds that a test of drift needs.
const SECONDS: u64 = 8;
/// The number of requests that a p99 needs.
const REQUESTS: u64 = 100;

pub(super) fn check(case: &Case<'_>) -> Option<Fault> {
    let workload = case.workload?;
    // A clock that runs slightly fast or slow ends a phase slightly early.
    let is_long = |ns: u64| ns >= SECONDS * 1_000_000_000 - 1_000_000;
    let longest = case.cell.repeats.iter().map(|r| r.elapsed.0).max().filter(|ns| !is_long(*ns))?;
    let by_time = match &workload.files {
        // Work on files that ran to its end reports the time of the whole.
        Some(_) => metric::estimate(case.cell, "full_time").is_err(),
        None => matches!(workload.phases.measure, Amount::Time(_)),
    };
    let bandwidth = metric::estimate(case.cell, "bandwidth").ok()?;
    let requests = metric::histogram(case.cell, None).count();
    let enough = bandwidth.interval.is_some() || requests >= REQUESTS;
    if !by_time && (workload.files.is_some() || enough) {
        return None;
    }
    Some(Fault {
        statement: format!(
            "{} are too short to tell whether the result is stable",
            human_time(longest as f64)
        ),
        evidence: vec![
            format!(
                "{}: {}; a test of drift needs {SECONDS} s",
                case.cell.id,
                human_time(longest as f64)
            ),
            format!("{requests} requests; bandwidth: {}", bandwidth.basis),
        ],
        threshold: format!(
            "a phase that ends by time and has less than {SECONDS} s, or fewer than {REQUESTS} \
             requests and no interval"
        ),
        hint: match workload.files {
            Some(_) => "give the work more `time`, or a larger `--budget`",
            None => {
                "measure for 30 s or longer, or until a steady-state rule holds (`measure = { \
                 steady = … }`); on real devices `[wall-clock] time` decides"
            }
        },
    })
}
