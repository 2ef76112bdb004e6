//! Metrics of a cell by name, each with its uncertainty.
//!
//! Base units: ns, bytes/s, 1/s, shares of 1. With two repeats or more, a metric is computed for
//! each repeat, and its interval is the t interval over the repeats around their mean. A percentile
//! is always that of all requests of all repeats together; its interval comes from order
//! statistics, is widened by how far the repeats lie apart (a t interval of their logarithms), and
//! is never narrower than the bucket of the histogram. With one repeat, the interval comes from
//! batch means of the series for bandwidth, iops and mean, from order statistics for quantiles, and
//! from Wilson's method for shares.

mod device_counters;
mod error;
mod first;

pub use device_counters::NAMES as TOLD;
pub use error::MetricError;

use crate::stats::{Basis, Estimate, batch, order, proportion, student};
use assay_spec::record::{CellRecord, RepeatRecord};
use assay_spec::{Histogram, Nanos, Op};
use first::First;

/// The metrics, for documentation: (name, unit, meaning).
pub const NAMES: &[(&str, &str, &str)] = &[
    ("bandwidth", "bytes/s", "bytes completed in the measured phase over its length"),
    ("iops", "1/s", "requests completed in the measured phase over its length"),
    ("mean", "ns", "mean latency, exact"),
    ("mean_rate", "1/s", "mean of one over the latency of each request, within 0.4 %"),
    ("sd", "ns", "sample standard deviation of the latency"),
    ("min", "ns", "smallest latency, exact"),
    ("max", "ns", "largest latency, exact; also of a request in flight at the end"),
    ("p50, p99, p99.9 ...", "ns", "percentile of the latency, within 0.4 %"),
    ("share<T, share>T", "share", "requests faster, or slower, than T, e.g. share<300us"),
    ("share=T..T", "share", "requests between two latencies, e.g. share=75us..90us"),
    ("requests", "count", "requests completed without error, all repeats together"),
    ("errors", "count", "requests that ended with an error, all repeats together"),
    ("elapsed", "ns", "length of the measured phase"),
    (
        "first4, first100 ...",
        "ns",
        "mean latency of the first requests; the workload keeps `first`",
    ),
    ("rest", "ns", "mean latency of those kept after the first four; rest100: after the first 100"),
    ("period", "count", "distance in requests at which high latencies come back, of those kept"),
    ("read. write. trim. flush.", "", "in front of any of these: only this kind of request"),
    ("any other name", "as told", "a number the target or the workload tells of itself, e.g. wa"),
];

/// The meaning of a metric name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    Bandwidth,
    Iops,
    Mean,
    MeanRate,
    Deviation,
    Min,
    Max,
    Quantile(f64),
    Share(Nanos, Nanos),
    Requests,
    Errors,
    Elapsed,
    First(First),
}

fn measure(name: &str) -> Option<Measure> {
    Some(match name {
        "bandwidth" => Measure::Bandwidth,
        "iops" => Measure::Iops,
        "mean" => Measure::Mean,
        "mean_rate" => Measure::MeanRate,
        "sd" => Measure::Deviation,
        "min" => Measure::Min,
        "max" => Measure::Max,
        "requests" => Measure::Requests,
        "errors" => Measure::Errors,
        "elapsed" => Measure::Elapsed,
        _ => {
            let first = || first::named(name).map(Measure::First);
            return quantile(name).or_else(|| share(name)).or_else(first);
        }
    })
}

fn quantile(name: &str) -> Option<Measure> {
    let digits = name.strip_prefix('p')?;
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let percent: f64 = digits.parse().ok()?;
    (percent > 0.0 && percent < 100.0).then_some(Measure::Quantile(percent / 100.0))
}

fn share(name: &str) -> Option<Measure> {
    let rest = name.strip_prefix("share")?;
    let all = Nanos::NEVER;
    if let Some(limit) = rest.strip_prefix('<') {
        return Some(Measure::Share(Nanos::ZERO, limit.parse().ok()?));
    }
    if let Some(limit) = rest.strip_prefix('>') {
        return Some(Measure::Share(limit.parse().ok()?, all));
    }
    let (low, high) = rest.strip_prefix('=')?.split_once("..")?;
    Some(Measure::Share(low.parse().ok()?, high.parse().ok()?))
}

/// Splits `read.p50` into the kind of request and the metric.
fn direction(name: &str) -> (Option<Op>, &str) {
    for op in Op::ALL {
        if let Some(rest) = name.strip_prefix(op.name()).and_then(|r| r.strip_prefix('.')) {
            return (Some(op), rest);
        }
    }
    (None, name)
}

/// Returns `true` if `name` is a metric of some cell: a measured one, or one that modelled drives
/// report.
pub fn is_known(name: &str) -> bool {
    is_measured(name) || device_counters::is_told(name)
}

/// Returns `true` if `name` is measured. A target reports the other metrics, and only the target
/// knows their units.
pub(crate) fn is_measured(name: &str) -> bool {
    measure(direction(name).1).is_some()
}

/// Returns the latencies of one repeat, for one kind of request or all.
pub fn histogram_of_repeat(repeat: &RepeatRecord, op: Option<Op>) -> Histogram {
    let mut all = Histogram::new();
    merge_into(&mut all, repeat, op);
    all
}

/// Returns the latencies of a cell over all repeats, for one kind of request or all.
pub fn histogram(cell: &CellRecord, op: Option<Op>) -> Histogram {
    merged(&cell.repeats, op)
}

fn merged(repeats: &[RepeatRecord], op: Option<Op>) -> Histogram {
    let mut all = Histogram::new();
    repeats.iter().for_each(|r| merge_into(&mut all, r, op));
    all
}

fn merge_into(all: &mut Histogram, repeat: &RepeatRecord, op: Option<Op>) {
    for o in repeat.ops.iter().filter(|o| op.is_none_or(|op| o.op == op)) {
        all.merge(&o.latency);
    }
}

/// Returns a metric of a cell in base units, with its uncertainty.
///
/// # Errors
/// If the cell was not measured, no request of the kind completed, too few of the first requests
/// were kept, they have no period, or the name is unknown.
pub fn estimate(cell: &CellRecord, name: &str) -> Result<Estimate, MetricError> {
    of_repeats(measured(cell)?, name)
}

/// Returns the metric of one repeat alone. Repeats are counted from 0.
///
/// # Errors
/// As [`estimate`]; also if the cell has no such repeat.
pub fn in_repeat(cell: &CellRecord, repeat: usize, name: &str) -> Result<f64, MetricError> {
    let one = measured(cell)?.get(repeat..=repeat);
    let one = one.ok_or_else(|| MetricError::Skipped(format!("no repeat {}", repeat + 1)))?;
    of_repeats(one, name).map(|estimate| estimate.value)
}

/// Returns the repeats of a cell: one or more.
fn measured(cell: &CellRecord) -> Result<&[RepeatRecord], MetricError> {
    if let Some(reason) = &cell.skipped {
        return Err(MetricError::Skipped(reason.clone()));
    }
    if cell.repeats.is_empty() {
        return Err(MetricError::Skipped("no repeat was completed".into()));
    }
    Ok(&cell.repeats)
}

fn of_repeats(repeats: &[RepeatRecord], name: &str) -> Result<Estimate, MetricError> {
    let (op, rest) = direction(name);
    match measure(rest) {
        None => told(repeats, name),
        Some(Measure::First(what)) => first::estimate(repeats, op, what),
        Some(measure) => known(repeats, op, measure),
    }
}

/// Returns the sample standard deviation of a metric over the repeats of a cell, and the number of
/// repeats. `None` with one repeat, and for metrics that are not the mean over the repeats.
pub fn deviation(cell: &CellRecord, name: &str) -> Option<(f64, u64)> {
    let pooled = matches!(
        measure(direction(name).1),
        Some(Measure::Quantile(_) | Measure::First(_) | Measure::Min | Measure::Max)
    );
    let several = cell.repeats.len() > 1 && !pooled;
    several.then(|| estimate(cell, name).ok()?.deviation()).flatten()
}

/// Returns a number that the program of the workload printed, or that the target reports.
fn told(repeats: &[RepeatRecord], name: &str) -> Result<Estimate, MetricError> {
    let of = |r: &RepeatRecord| {
        let printed = r.program.iter().find(|metric| metric.name == name).map(|m| m.value);
        printed.or_else(|| r.device.iter().find(|(n, _)| n == name).map(|(_, v)| *v))
    };
    let values: Option<Vec<f64>> = repeats.iter().map(of).collect();
    values
        .and_then(|v| student::of_repeats(&v))
        .ok_or_else(|| MetricError::NoSuchMetric(name.to_owned()))
}

fn known(
    repeats: &[RepeatRecord],
    op: Option<Op>,
    measure: Measure,
) -> Result<Estimate, MetricError> {
    let merged = merged(repeats, op);
    let sum = |f: fn(&assay_spec::record::OpRecord) -> u64| {
        let ops = repeats.iter().flat_map(|r| &r.ops);
        ops.filter(|o| op.is_none_or(|op| o.op == op)).map(f).sum::<u64>() as f64
    };
    match measure {
        Measure::Errors => return Ok(Estimate::bare(sum(|o| o.errors), "a count, exact")),
        Measure::Requests => return Ok(Estimate::bare(sum(|o| o.requests), "a count, exact")),
        _ if merged.is_empty() && measure != Measure::Elapsed => {
            return Err(MetricError::NoRequests(op.map_or("", Op::name)));
        }
        // An extreme has no interval: another run may always go beyond it.
        Measure::Min => return Ok(extreme(merged.min(), &merged, "smallest")),
        Measure::Max => {
            return Ok(extreme(merged.max().max(late(repeats, op)), &merged, "largest"));
        }
        _ => {}
    }
    let values: Vec<f64> = repeats.iter().filter_map(|r| one(r, op, measure)).collect();
    let all = values.len() > 1 && values.len() == repeats.len();
    if let Measure::Quantile(q) = measure {
        let fair = all && repeats.iter().all(|r| quantile_is_fair(r, op, q));
        return Ok(pooled_quantile(&merged, q, if fair { &values } else { &[] }));
    }
    let mean = student::of_repeats(&values).filter(|_| all);
    let estimate = mean.unwrap_or_else(|| single(repeats, op, measure, &merged, &values));
    Ok(at_least(0.0, estimate))
}

/// Returns the quantile of all requests together. `repeats` has the quantile of each repeat, if
/// these are reliable.
fn pooled_quantile(merged: &Histogram, q: f64, repeats: &[f64]) -> Estimate {
    let none = || Estimate::bare(f64::NAN, "no requests");
    let mut estimate = order::quantile(merged, q).unwrap_or_else(none);
    let logs: Vec<f64> = repeats.iter().map(|v| libm::log(v.max(1.0))).collect();
    if let Some(apart) = student::of_repeats(&logs)
        && let (Some((low, high)), Basis::Repeats(_)) = (apart.interval, &apart.basis)
    {
        let (inner_low, inner_high) = estimate.interval.unwrap_or((estimate.value, estimate.value));
        let interval = (libm::exp(low).min(inner_low), libm::exp(high).max(inner_high));
        estimate = Estimate { interval: Some(interval), basis: apart.basis, ..estimate };
    }
    let bucket = |v: f64| assay_spec::histogram::bucket(Nanos(v as u64));
    if let Some((low, high)) = &mut estimate.interval {
        *low = assay_spec::histogram::lower_bound(bucket(*low)).0 as f64;
        *high = assay_spec::histogram::lower_bound(bucket(*high) + 1).0 as f64;
    }
    estimate
}

/// The number of requests that a repeat must have beyond a quantile for its value to be more than
/// the chance of a few.
const BEYOND: f64 = 10.0;

/// Returns `true` if a repeat has enough requests beyond the quantile to show how far the repeats
/// lie apart.
fn quantile_is_fair(repeat: &RepeatRecord, op: Option<Op>, q: f64) -> bool {
    let ops = repeat.ops.iter().filter(|o| op.is_none_or(|op| o.op == op));
    let n: u64 = ops.map(|o| o.latency.count()).sum();
    n as f64 * q.min(1.0 - q) >= BEYOND
}

/// Returns the longest time of a request that was in flight at the end of a phase.
fn late(repeats: &[RepeatRecord], op: Option<Op>) -> Option<Nanos> {
    let ops = repeats.iter().flat_map(|r| &r.ops);
    ops.filter(|o| op.is_none_or(|op| o.op == op)).filter_map(|o| o.late).max()
}

fn extreme(value: Option<Nanos>, merged: &Histogram, word: &str) -> Estimate {
    let reason = format!("the {word} of {}", merged.count());
    Estimate::bare(value.map_or(f64::NAN, |v| v.0 as f64), reason)
}

/// Cuts the interval at `floor`: times and rates are never below it, though a symmetric interval
/// may be.
fn at_least(floor: f64, mut estimate: Estimate) -> Estimate {
    if let Some((low, _)) = &mut estimate.interval {
        *low = low.max(floor);
    }
    estimate
}

/// Returns the metric of one repeat.
fn one(repeat: &RepeatRecord, op: Option<Op>, measure: Measure) -> Option<f64> {
    let seconds = repeat.elapsed.as_secs_f64();
    let ops = || repeat.ops.iter().filter(|o| op.is_none_or(|op| o.op == op));
    let rate = |n: u64| (seconds > 0.0).then(|| n as f64 / seconds);
    let merged = match measure {
        Measure::Bandwidth | Measure::Iops | Measure::Elapsed => Histogram::new(),
        _ => histogram_of_repeat(repeat, op),
    };
    match measure {
        Measure::Bandwidth => rate(ops().map(|o| o.bytes.0).sum()),
        Measure::Iops => rate(ops().map(|o| o.requests).sum()),
        Measure::Mean => merged.mean(),
        Measure::MeanRate => merged.mean_rate(),
        Measure::Deviation => merged.deviation(),
        Measure::Quantile(q) => merged.quantile(q).map(|v| v.0 as f64),
        Measure::Share(low, high) => merged.share(low, high),
        Measure::Elapsed => Some(repeat.elapsed.0 as f64),
        Measure::Min | Measure::Max | Measure::Requests | Measure::Errors => None,
        // These metrics come from the requests that are kept beside the histogram.
        Measure::First(_) => None,
    }
}

/// Returns the metric if the repeats give no interval.
fn single(
    repeats: &[RepeatRecord],
    op: Option<Op>,
    measure: Measure,
    merged: &Histogram,
    values: &[f64],
) -> Estimate {
    let value = crate::stats::mean(values).unwrap_or(f64::NAN);
    let mixed = op.is_some() && repeats.iter().any(|r| r.ops.len() > 1);
    match (measure, repeats.first()) {
        (Measure::Bandwidth | Measure::Iops | Measure::Mean, Some(repeat)) => match measure {
            _ if mixed => Estimate::bare(
                value,
                "one repeat, and its series does not separate kinds of requests",
            ),
            Measure::Bandwidth => batch::around(value, &bandwidth_series(repeat)),
            Measure::Iops => batch::around(value, &iops_series(repeat)),
            _ => batch::around(value, &latency_series(repeat)),
        },
        (Measure::Share(..), _) => {
            let e = proportion::share(value, merged.count());
            // A single repeat's share and the merged one are the same number.
            Estimate { value, ..e }
        }
        _ => Estimate::bare(value, "one repeat"),
    }
}

/// Returns the number of intervals of the series that the measured phase covers wholly: the last is
/// usually cut short.
fn whole(repeat: &RepeatRecord) -> usize {
    let interval = repeat.series.interval.0;
    let covered = repeat.elapsed.0.checked_div(interval).unwrap_or(0);
    repeat.series.requests.len().min(usize::try_from(covered).unwrap_or(usize::MAX))
}

/// Returns the bytes per second of each whole interval of the series.
pub fn bandwidth_series(repeat: &RepeatRecord) -> Vec<f64> {
    let seconds = repeat.series.interval.as_secs_f64();
    repeat.series.bytes.iter().take(whole(repeat)).map(|b| *b as f64 / seconds).collect()
}

/// Returns the requests per second of each whole interval of the series.
pub fn iops_series(repeat: &RepeatRecord) -> Vec<f64> {
    let seconds = repeat.series.interval.as_secs_f64();
    repeat.series.requests.iter().take(whole(repeat)).map(|n| *n as f64 / seconds).collect()
}

/// Returns the mean latency in ns of each whole interval in which a request completed.
pub fn latency_series(repeat: &RepeatRecord) -> Vec<f64> {
    let pairs = repeat.series.requests.iter().zip(&repeat.series.latency_sum_ns);
    let means = pairs.take(whole(repeat)).filter(|(n, _)| **n > 0);
    means.map(|(n, sum)| *sum as f64 / *n as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood_or_refused() {
        assert_eq!(measure("p99.9"), Some(Measure::Quantile(0.9990000000000001)));
        for bad in ["p0", "p100", "p", "p-1", "pinf", "p1e1x", "share", "share<5", "share=1us", ""]
        {
            assert_eq!(measure(bad), None, "{bad}");
        }
        let expected = Measure::Share(Nanos(75_000), Nanos(90_000));
        assert_eq!(measure("share=75us..90us"), Some(expected));
        assert_eq!(direction("read.share<1ms"), (Some(Op::Read), "share<1ms"));
        assert_eq!(direction("readmean"), (None, "readmean"));
        assert!(is_known("write.p50") && !is_known("write.queue"));
        assert!(is_known("read.first4") && is_known("wa") && !is_known("read.wa"));
        assert!(is_measured("period") && !is_measured("wa"));
    }

    #[test]
    fn a_percentile_is_that_of_all_requests_together() {
        // One repeat is fast; the other two have a slow tenth.
        let fast = vec![100; 1000];
        let slow: Vec<u64> = (0..1000).map(|i| if i % 10 == 0 { 900 } else { 100 }).collect();
        let cell = crate::load::sample::cell(&[&fast, &slow, &slow]);
        let p99 = estimate(&cell, "p99").unwrap();
        let (low, high) = p99.interval.unwrap();
        let near = |v: f64, to: f64| (v / to - 1.0).abs() < 0.004;
        assert!(near(p99.value, 900.0), "200 of 3000, and not the mean of 100, 900 and 900");
        assert!(low < 100.0 && high >= 900.0, "the repeats lie far apart: {low} to {high}");
        assert_eq!(p99.basis, Basis::Repeats(3));
        let p50 = estimate(&cell, "p50").unwrap();
        let (low, high) = p50.interval.unwrap();
        assert!(low <= 100.0 && high > 100.0, "never narrower than a bucket: {low} to {high}");
    }

    #[test]
    fn hand_numbers_of_one_and_three_repeats() {
        let cell =
            crate::load::sample::cell(&[&[100, 200, 300], &[110, 210, 310], &[90, 190, 290]]);
        let get = |name: &str| estimate(&cell, name).unwrap();
        assert!((get("mean").value - 200.0).abs() < 1e-9);
        assert_eq!(get("mean").basis, Basis::Repeats(3));
        let all = [100.0, 200.0, 300.0, 110.0, 210.0, 310.0, 90.0, 190.0, 290.0];
        let rate = all.map(|ns: f64| 1e9 / ns).iter().sum::<f64>() / 9.0;
        assert!((get("mean_rate").value / rate - 1.0).abs() < 0.004);
        // Means 200, 210, 190: s = 10, t(2) = 4.3027, half = 24.84.
        assert_eq!(deviation(&cell, "mean").map(|(sd, n)| (sd.round(), n)), Some((10.0, 3)));
        assert_eq!(deviation(&cell, "p50"), None, "that of all requests together");
        assert!((get("mean").half_width().unwrap() - 24.8414).abs() < 1e-3);
        assert_eq!((get("min").value, get("max").value), (90.0, 310.0));
        assert_eq!(get("requests").value, 9.0);
        assert!((get("iops").value - 3.0).abs() < 1e-12);
        assert!((get("bandwidth").value - 3.0 * 4096.0).abs() < 1e-9);
        assert!((get("share<250ns").value - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(get("wa").value, 1.5);
        assert_eq!(estimate(&cell, "write.mean"), Err(MetricError::NoRequests("write")));
        assert!(matches!(estimate(&cell, "wall"), Err(MetricError::NoSuchMetric(_))));
        let single = crate::load::sample::cell(&[&[100, 200, 300]]);
        assert_eq!(estimate(&single, "mean").unwrap().interval, None);
        assert!(matches!(estimate(&single, "sd").unwrap().basis, Basis::None(_)));
    }
}
