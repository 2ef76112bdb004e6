//! Too short: nobody can tell from the run whether the number would have stayed.
//!
//! A phase that ends by time must have as many seconds as a test of drift needs. One that ends by
//! an amount is as long as its work; it is too short if it has neither repeats nor seconds enough
//! for an interval, and too few requests for percentiles, too.

use super::case::{Case, Fault};
use crate::metric;
use assay_spec::experiment::Amount;
use assay_spec::units::human_time;

/// Seconds that a test of drift needs.
const SECONDS: u64 = 8;
/// Requests that a p99 needs.
const REQUESTS: u64 = 100;

pub(super) fn check(case: &Case<'_>) -> Option<Fault> {
    let workload = case.workload?;
    // A clock that runs fast or slow by a little ends a phase a little early.
    let is_long = |ns: u64| ns >= SECONDS * 1_000_000_000 - 1_000_000;
    let longest = case.cell.repeats.iter().map(|r| r.elapsed.0).max().filter(|ns| !is_long(*ns))?;
    let by_time = match &workload.files {
        // Work on files that was done to its end says how long the whole takes.
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
            "{} are too short to tell whether the number stays what it is",
            human_time(longest as f64)
        ),
        evidence: vec![
            format!(
                "{}: {} of the {SECONDS} s that a test of drift needs",
                case.cell.id,
                human_time(longest as f64)
            ),
            format!("{requests} requests; bandwidth: {}", bandwidth.basis),
        ],
        threshold: format!(
            "less than {SECONDS} s of a phase that ends by time, or fewer than {REQUESTS} requests \
             and no interval"
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
