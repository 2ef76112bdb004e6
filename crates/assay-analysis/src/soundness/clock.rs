//! The clock is coarser than what it measures: latencies come in steps, and percentiles are steps
//! of the clock.
//!
//! On a real device latencies spread over neighbouring buckets of the histogram, which are 0.8 %
//! wide, however narrow their distribution is. A clock with a step leaves the neighbours of every
//! occupied bucket empty; a clock that stands still gives zeros.

use super::case::{Case, Fault};
use crate::metric;
use assay_spec::Histogram;
use assay_spec::histogram::lower_bound;
use assay_spec::units::human_time;

/// The smallest number of latencies that is checked: fewer leave buckets empty by chance.
const FEWEST: u64 = 1000;
/// The share of zeros from which the clock stood still.
const ZEROS: f64 = 0.01;
/// The share of latencies in buckets without neighbours from which the clock has steps.
const ALONE: f64 = 0.95;
/// The smallest step that hides something, as a share of the median.
const STEP: f64 = 0.05;

pub(super) fn check(case: &Case<'_>) -> Option<Fault> {
    // Virtual time has only the steps of the model, and a null target has no latency.
    if case.target?.virtual_time || case.is_of_kind("null") {
        return None;
    }
    let latency = metric::histogram(case.cell, None);
    if latency.count() < FEWEST {
        return None;
    }
    let (zeros, alone) = shares(&latency);
    let values: Vec<u64> = latency.buckets().map(|(b, _)| lower_bound(b).0).collect();
    let step = values.windows(2).map(|pair| pair[1] - pair[0]).min();
    let median = latency.quantile(0.5)?.0 as f64;
    let hides = step.is_none_or(|step| step as f64 >= STEP * median);
    if zeros < ZEROS && (alone < ALONE || !hides) {
        return None;
    }
    let different = values.len();
    Some(Fault {
        statement: match step {
            Some(step) => format!(
                "latencies come in steps of about {}: the clock is too coarse for them",
                human_time(step as f64)
            ),
            None => "all latencies are the same: the clock is too coarse for them".into(),
        },
        evidence: vec![
            format!("{}: {} latencies, {different} different", case.cell.id, latency.count()),
            format!("{:.1} % are zero", 100.0 * zeros),
            format!("{:.1} % have no neighbour within 0.8 %", 100.0 * alone),
        ],
        threshold: format!(
            "{:.0} % zeros, or {:.0} % without a neighbour and steps of {:.0} % of the median, of \
             at least {FEWEST}",
            100.0 * ZEROS,
            100.0 * ALONE,
            100.0 * STEP
        ),
        hint: "trust the bandwidth, not the latencies; in a virtual machine choose a finer clock \
               (`cat /sys/devices/system/clocksource/clocksource0/current_clocksource`)",
    })
}

/// Returns the share of zeros, and the share of latencies in buckets whose neighbours are empty.
fn shares(latency: &Histogram) -> (f64, f64) {
    let buckets: Vec<(usize, u64)> = latency.buckets().collect();
    let far = |a: usize, b: usize| buckets.get(b).is_none_or(|(i, _)| i.abs_diff(a) > 1);
    let mut alone = 0;
    for (at, (bucket, count)) in buckets.iter().enumerate() {
        if far(*bucket, at.wrapping_sub(1)) && far(*bucket, at + 1) {
            alone += count;
        }
    }
    let zeros = buckets.first().filter(|(bucket, _)| *bucket == 0).map_or(0, |(_, count)| *count);
    let share = |n: u64| n as f64 / latency.count() as f64;
    (share(zeros), share(alone))
}
