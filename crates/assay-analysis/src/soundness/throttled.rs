//! The drive was throttled because it was warm: its speed depends on how warm it was before, and on
//! the length of the measurement.
//!
//! Only modelled drives report throttling. The limits of a cloud volume are part of the product and
//! not a fault.

use super::case::{Case, Fault};
use assay_spec::units::three_digits;

/// The share of the time with commands held back from which it is a fault.
const SHARE: f64 = 0.01;

const HINT: &str = "measure for a shorter time, or let the drive cool down first (a step of \
                    `[[workload.precondition]]` with `idle`); or measure until the result does not \
                    change any more, and report how long that took";

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

/// Returns `true` if throttling explains changes over time.
pub(super) fn explains(case: &Case<'_>) -> bool {
    share(case) >= SHARE
}

/// Returns the share of the time in which the drive held commands back; 0 if the drive does not
/// report its temperature.
fn share(case: &Case<'_>) -> f64 {
    if case.told("temperature_max_c").next().is_none() {
        return 0.0;
    }
    let time: f64 = case.cell.repeats.iter().map(|r| r.elapsed.0 as f64).sum();
    case.told("throttled_ns").sum::<f64>() / time.max(1.0)
}
