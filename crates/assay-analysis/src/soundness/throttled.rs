//! The drive was throttled because it was warm: how fast it was depends on how warm it was before,
//! and for how long one measured.
//!
//! Only modelled drives tell it. The limits of a cloud volume are what it is sold with: no fault.

use super::case::{Case, Fault};
use assay_spec::units::three_digits;

/// Of the time, so much may be spent held back.
const SHARE: f64 = 0.01;

const HINT: &str = "measure for less long, or let the drive cool down before (a step of \
     `[[workload.precondition]]` with `idle`); or measure until it does not change any more, and \
     say how long that took";

pub(super) fn check(case: &Case<'_>) -> Option<Fault> {
    if !explains(case) {
        return None;
    }
    let warmest = case.told("temperature_max_c").fold(f64::NEG_INFINITY, f64::max);
    Some(Fault {
        statement: format!(
            "the drive was throttled: for {} % of the time it was too warm to begin a command",
            three_digits(100.0 * share(case))
        ),
        evidence: vec![format!("{}: at most {} °C", case.cell.id, three_digits(warmest))],
        threshold: format!("commands held back for {:.0} % of the time", 100.0 * SHARE),
        hint: HINT,
    })
}

/// Whether what happens in the course of time is explained by this.
pub(super) fn explains(case: &Case<'_>) -> bool {
    share(case) >= SHARE
}

/// The share of the time that a drive that tells how warm it was held commands back.
fn share(case: &Case<'_>) -> f64 {
    if case.told("temperature_max_c").next().is_none() {
        return 0.0;
    }
    let time: f64 = case.cell.repeats.iter().map(|r| r.elapsed.0 as f64).sum();
    case.told("throttled_ns").sum::<f64>() / time.max(1.0)
}
