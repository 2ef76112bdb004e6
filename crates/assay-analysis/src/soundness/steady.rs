//! The run is not in steady state: the number depends on when the measurement stopped.
//!
//! SNIA's rule allows the fitted line to change by a tenth of the mean over the window. This check
//! applies the same tenth to the second half of the series, second by second, with the slope of
//! Theil and Sen; the interval of the slope must also exclude zero. A declared rule that did not
//! hold is a fault by itself.

use super::case::{Case, Fault, late};
use crate::stats::drift::{self, Drift};
use assay_spec::units::three_digits;

/// The change of the line over the second half, relative to its mean, that SNIA's rule allows.
const CHANGE: f64 = 0.10;

const HINT: &str = "measure for longer, settle first (`[workload.settle]`), or let the phase end \
     when it is steady (`measure = { steady = … }`)";

pub(super) fn check(case: &Case<'_>) -> Option<Fault> {
    let rule = case.cell.repeats.iter().filter_map(|r| r.steady.as_ref()).find(|s| !s.reached);
    // The rate of work on files changes by itself: a cache fills, a history has larger steps.
    let of_files = case.workload.is_some_and(|w| w.files.is_some());
    let is_explained = of_files || super::throttled::explains(case);
    let series = if is_explained { Vec::new() } else { case.rates() };
    let trend = trend(&series);
    if trend.is_none() && rule.is_none() {
        return None;
    }
    let mut evidence = Vec::new();
    if let Some(d) = &trend {
        let (low, change, high) = d.relative;
        evidence.push(format!(
            "{}: {} % over the last {} seconds (95 % interval {} to {}, p = {})",
            case.cell.id,
            three_digits(100.0 * change),
            d.values,
            three_digits(100.0 * low),
            three_digits(100.0 * high),
            three_digits(d.p)
        ));
    }
    if let Some(s) = rule {
        evidence
            .push(format!("the steady-state rule did not hold after {} rounds", s.rounds.len()));
    }
    let statement = match &trend {
        Some(d) => {
            let verb = if d.slope < 0.0 { "falling" } else { "rising" };
            format!("IOPS are still {verb} when the measurement ends: this is no steady state")
        }
        None => "the steady-state rule of the experiment did not hold at its end".to_owned(),
    };
    let threshold = format!(
        "a change of {:.0} % over the second half whose interval excludes zero, or a rule not met",
        100.0 * CHANGE
    );
    Some(Fault { statement, evidence, threshold, hint: HINT })
}

/// Returns the drift of a series in its second half, if it is more than allowed.
pub(super) fn trend(series: &[f64]) -> Option<Drift> {
    let found = drift::test(late(series))?;
    (found.drifts() && found.relative.1.abs() > CHANGE).then_some(found)
}
