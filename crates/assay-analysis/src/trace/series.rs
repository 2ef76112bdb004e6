//! Requests over time.

use assay_spec::Op;
use assay_spec::trace::{BLOCK, TraceRow};

/// The approximate number of intervals.
const INTERVALS: f64 = 160.0;
/// The number of points of a cumulated line: more than a screen has.
const POINTS: u64 = 1000;

/// The requests and bytes a second of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// The length of an interval in s.
    pub interval: f64,
    /// The requests a second: (middle of the interval in s, requests a second).
    pub requests: Vec<(f64, f64)>,
    /// The bytes a second: (middle of the interval in s, bytes a second).
    pub bytes: Vec<(f64, f64)>,
}

/// Returns the rates of the requests that ended in each interval up to `end` ns.
pub fn rates(rows: &[TraceRow], op: Op, end: u64) -> Rates {
    let seconds = (end as f64 / 1e9).max(1e-9);
    let interval = round_up(seconds / INTERVALS);
    // A shorter rest at the end belongs to the last interval.
    let count = ((seconds / interval) as usize).max(1);
    let mut sums = vec![(0.0, 0.0); count];
    for row in rows.iter().filter(|row| row.op == op && row.error == 0) {
        let place = (row.complete.0 as f64 / 1e9 / interval) as usize;
        let sum = &mut sums[place.min(count - 1)];
        *sum = (sum.0 + 1.0, sum.1 + row.length.0 as f64);
    }
    let last = seconds - (count - 1) as f64 * interval;
    let each = |pick: fn(&(f64, f64)) -> f64| {
        let points = sums.iter().enumerate().map(|(i, sum)| {
            let length = if i + 1 == count { last } else { interval };
            (i as f64 * interval + length / 2.0, pick(sum) / length)
        });
        points.collect()
    };
    Rates { interval, requests: each(|sum| sum.0), bytes: each(|sum| sum.1) }
}

/// Returns the smallest of 1, 2 or 5 times a power of ten that is at least `v`.
fn round_up(v: f64) -> f64 {
    let decade = libm::pow(10.0, libm::floor(libm::log10(v)));
    let steps = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * decade);
    steps.into_iter().find(|step| *step >= v * 0.999_999).unwrap_or(v)
}

/// Returns the blocks moved so far as (seconds, blocks), from zero to `end` ns.
pub fn cumulated(rows: &[TraceRow], is_of: impl Fn(Op) -> bool, end: u64) -> Vec<(f64, f64)> {
    let mut sums = vec![0_u64; POINTS as usize + 1];
    for row in rows.iter().filter(|row| is_of(row.op) && row.error == 0) {
        // A point has the requests that ended by its time.
        let share = u128::from(row.complete.0) * u128::from(POINTS);
        let place = share.div_ceil(u128::from(end.max(1))).min(u128::from(POINTS));
        sums[place as usize] += row.length.0 / BLOCK.0;
    }
    let mut sum = 0;
    let point = |(i, blocks): (usize, u64)| {
        sum += blocks;
        (end as f64 / 1e9 * i as f64 / POINTS as f64, sum as f64)
    };
    sums.into_iter().enumerate().map(point).collect()
}
