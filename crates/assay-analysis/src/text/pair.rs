//! How a comparison names two targets and writes their ratio.

use crate::stats::Estimate;
use assay_spec::units::three_digits;

/// Returns what a row is compared with: another target, another run, or both.
pub(super) fn against(target: &str, reference: &str, runs: Option<&(String, String)>) -> String {
    match runs {
        None => reference.to_owned(),
        Some((_, base)) if target == reference => base.clone(),
        Some((_, base)) => format!("{reference} ({base})"),
    }
}

/// Returns the name of the target, with that of the run if there are two.
pub(super) fn labelled(target: &str, runs: Option<&(String, String)>) -> String {
    match runs {
        Some((run, _)) => format!("{target} ({run})"),
        None => target.to_owned(),
    }
}

pub(super) fn ratio(e: &Estimate) -> String {
    match e.interval {
        Some((low, high)) if low == high => format!("{} =", three_digits(e.value)),
        Some((low, high)) => {
            format!("{} ({}..{})", three_digits(e.value), three_digits(low), three_digits(high))
        }
        None => format!("{} *", three_digits(e.value)),
    }
}
