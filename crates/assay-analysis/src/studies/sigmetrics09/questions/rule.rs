//! The rule by which two measurements count as different, and the only place for its numbers.
//!
//! A difference must be large, so that it matters, and certain, so that it is not due to chance.
//! Both are judged by the interval, so that no answer depends on a mean that lies just on one side
//! of a bound.

use crate::metric;
use crate::stats::ratio::{Mean, of as ratio};
use crate::stats::{Basis, Estimate, shift};
use assay_spec::record::CellRecord;
use assay_spec::units::{human_time, three_digits};
use assay_spec::{Histogram, Op};

/// The smallest ratio of two means at which the larger one is called slower. A tenth is what a user
/// may notice, and more than the difference between two equal drives or two days.
pub const LARGE: f64 = 1.1;
/// The share of the requests that must have moved (distance of Kolmogorov and Smirnov) if the
/// interval takes the requests as independent. Such an interval may be too narrow, and a few
/// outliers do not move this share.
pub const MOVED: f64 = 0.05;
/// The share of the requests that must lie apart for a difference to be certain without the
/// interval of the mean, which a few long waits at the start of a run make arbitrarily wide.
pub const APART: f64 = 0.9;
/// The confidence of the intervals of this crate.
pub const CONFIDENCE: f64 = 0.95;
/// The share of the requests of a stream that must be fast for the stream to count as fast: the
/// others may wait for occasional work of the drive.
pub const FAST: f64 = 0.9;
/// The part of the kept requests in which read-ahead must begin, so that enough requests are left
/// after it.
pub const BEGIN: f64 = 0.5;
/// The bounds of the KS distance for steps of half a mapping unit. Every other step finds its unit
/// open, so that half of the requests are spared; the bounds leave room for requests that are
/// spared at any step. A distance below the lower bound counts as level.
pub const HALF: (f64, f64) = (0.35, 0.65);
/// The bounds of the KS distance for steps of a quarter of a unit: three of four requests are
/// spared.
pub const QUARTER: (f64, f64) = (0.65, 0.82);

/// Returns the rule in words.
pub fn in_words() -> String {
    let large = three_digits(LARGE);
    format!(
        "slower if the whole 95 % interval of the ratio of mean latencies, over repeats or \
         batches, is at least {large}; or if that holds for the interval over requests taken as \
         independent, and the KS distance is at least {MOVED}; or if mean and median are both \
         larger by that factor, and the KS distance minus its size by chance is at least {APART}. \
         Alike if the whole interval is less than {large} times either way; or if the ratio is, \
         and the KS distance is below {MOVED}. Otherwise not determined"
    )
}

/// The requests of a cell of one kind, or of all kinds.
pub type Part<'a> = (&'a CellRecord, Option<Op>);

/// The relation of one mean to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The mean is larger, by the rule.
    Slower,
    /// The mean is smaller, by the rule.
    Faster,
    /// The difference is certainly not large.
    Alike,
    /// Neither is certain: the difference may be large or not.
    Unclear,
}

/// The difference between two parts.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The mean latency of the first part over that of the second, with its interval.
    pub ratio: Estimate,
    /// The means of the two parts in ns.
    pub means: (f64, f64),
    /// The probability of superiority and the distance of the distributions.
    pub shift: shift::Shift,
    /// The relation of the means by the rule.
    pub change: Change,
}

impl Difference {
    /// Returns the ratio and the distance: `3.00 times; KS distance 1.00`.
    pub fn times(&self) -> String {
        let (times, distance) = (three_digits(self.ratio.value), self.shift.distance);
        format!("{times} times; KS distance {distance:.2}")
    }

    /// Returns why it is unclear:
    /// `may be more or less than 1.1 times, 95 % interval 1.021 to 1.152`.
    pub fn why_unclear(&self) -> String {
        let interval = match self.ratio.interval {
            // Four digits instead of three, as the interval is close to the bound.
            Some((low, high)) => format!("95 % interval {low:.3} to {high:.3}"),
            None => "without interval".into(),
        };
        format!("may be more or less than {LARGE} times, {interval}")
    }

    /// Returns the two means in words, that of the first part first.
    pub fn both(&self) -> (String, String) {
        (human_time(self.means.0), human_time(self.means.1))
    }

    /// Returns all numbers of the difference, for the evidence.
    pub fn line(&self) -> String {
        let ((x, y), times) = (self.both(), three_digits(self.ratio.value));
        let interval = self.ratio.interval.map_or("without interval".into(), |(low, high)| {
            format!("95 % interval {} to {}", three_digits(low), three_digits(high))
        });
        let shift::Shift { superiority, distance } = self.shift;
        format!("{x} against {y}: {times} times ({interval}), A {superiority:.2}, KS {distance:.2}")
    }
}

/// Returns the mean of a part with its standard error. If repeats and batches give no error, it is
/// that of the requests taken as independent, which is too large for periodic requests and too
/// small for others.
fn mean_of((cell, op): Part<'_>, all: &Histogram) -> Result<Mean, String> {
    let name = op.map_or("mean".to_owned(), |op| format!("{}.mean", op.name()));
    let estimate = metric::estimate(cell, &name).map_err(|e| format!("{}: {e}", cell.id))?;
    let mut mean = Mean::of_estimate(&estimate);
    if mean.error.is_none() && all.count() > 1 {
        let n = all.count() as f64;
        mean.error = all.deviation().map(|sd| (sd / n.sqrt(), n - 1.0));
    }
    Ok(mean)
}

/// Compares `part` with `base`.
pub fn difference(part: Part<'_>, base: Part<'_>) -> Result<Difference, String> {
    let [x, y] = [part, base].map(|(cell, op)| metric::histogram(cell, op));
    let (a, b) = (mean_of(part, &x)?, mean_of(base, &y)?);
    let nothing = || format!("{} or {} has no requests", part.0.id, base.0.id);
    let shift = shift::between(&x, &y).ok_or_else(nothing)?;
    let moved = shift.distance >= MOVED;
    let sure = moved || (measured(&a) && measured(&b));
    let ratio = ratio(&a, &b);
    let change = match change(&ratio, sure, moved) {
        Change::Unclear => apart(&ratio, &shift, [&x, &y]),
        certain => certain,
    };
    Ok(Difference { means: (a.value, b.value), shift, change, ratio })
}

/// Returns `true` if repeats or batches gave the error of the mean.
fn measured(mean: &Mean) -> bool {
    !matches!(mean.basis, Basis::None(_))
}

/// Applies the rule. `sure` says whether the interval of the ratio is reliable, `moved` whether
/// many requests have moved.
fn change(ratio: &Estimate, sure: bool, moved: bool) -> Change {
    let small = |r: f64| r < LARGE && r > 1.0 / LARGE;
    match ratio.interval {
        Some((low, _)) if sure && low >= LARGE => Change::Slower,
        Some((_, high)) if sure && high <= 1.0 / LARGE => Change::Faster,
        Some((low, high)) if small(low) && small(high) => Change::Alike,
        _ if small(ratio.value) && !moved => Change::Alike,
        _ => Change::Unclear,
    }
}

/// Returns `Slower` or `Faster` if nearly all requests of one part took longer than nearly all of
/// the other, and the means and medians agree with that; `Unclear` otherwise.
fn apart(ratio: &Estimate, shift: &shift::Shift, [x, y]: [&Histogram; 2]) -> Change {
    let median = |h: &Histogram| h.quantile(0.5).map_or(0.0, |ns| ns.0 as f64);
    let (a, b) = (median(x), median(y));
    if shift.distance - shift::chance(x.count(), y.count()) < APART {
        return Change::Unclear;
    }
    if ratio.value >= LARGE && a >= LARGE * b {
        Change::Slower
    } else if ratio.value <= 1.0 / LARGE && b >= LARGE * a {
        Change::Faster
    } else {
        Change::Unclear
    }
}

/// A comparison that was made for a question, with the names of both sides in a sentence.
#[derive(Clone, Debug)]
pub struct NamedDifference {
    /// The name of the part: `random reads`.
    pub what: String,
    /// The name of the other part of the comparison: `sequential ones`.
    pub base: String,
    /// The result of the comparison.
    pub by: Difference,
}

impl NamedDifference {
    /// Returns the comparison in words, such as
    /// `random reads take 226 µs and sequential ones 75.6 µs (3.00 times; KS distance 1.00)`.
    pub fn told(&self) -> String {
        let (x, y) = self.by.both();
        format!("{} take {x} and {} {y} ({})", self.what, self.base, self.by.times())
    }
}

/// Returns the comparisons with this change.
pub fn that_are(all: &[NamedDifference], change: Change) -> Vec<&NamedDifference> {
    all.iter().filter(|n| n.by.change == change).collect()
}

/// Returns the comparisons in words, one after the other.
pub fn told(all: &[&NamedDifference]) -> String {
    all.iter().map(|n| n.told()).collect::<Vec<_>>().join("; ")
}

/// Returns the comparison with the largest ratio.
pub fn largest<'a>(all: &[&'a NamedDifference]) -> Option<&'a NamedDifference> {
    all.iter().copied().max_by(|a, b| a.by.ratio.value.total_cmp(&b.by.ratio.value))
}

/// Returns an error that says why the question is open if any comparison is unclear.
pub fn unclear(all: &[NamedDifference]) -> Result<(), String> {
    match that_are(all, Change::Unclear).as_slice() {
        [] => Ok(()),
        open => {
            let one = |n: &&NamedDifference| format!("{}, {}", n.told(), n.by.why_unclear());
            Err(open.iter().map(one).collect::<Vec<_>>().join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_answer_hangs_on_a_hair() {
        let by = |value, interval, sure, moved| {
            change(&Estimate { value, interval, basis: Basis::Batches(10) }, sure, moved)
        };
        assert_eq!(by(1.3, Some((1.1, 1.5)), true, true), Change::Slower);
        assert_eq!(by(1.3, Some((1.0999, 1.5)), true, true), Change::Unclear);
        assert_eq!(by(1.3, Some((1.2, 1.4)), false, false), Change::Unclear);
        assert_eq!(by(0.7, Some((0.6, 0.9)), true, true), Change::Faster);
        assert_eq!(by(1.102, Some((1.07, 1.13)), true, false), Change::Unclear);
        assert_eq!(by(1.098, Some((1.07, 1.13)), true, true), Change::Unclear);
        assert_eq!(by(1.05, Some((1.01, 1.0999)), true, true), Change::Alike);
        // A few outliers make a wide interval of requests that hardly differ.
        assert_eq!(by(1.05, Some((0.8, 1.3)), true, false), Change::Alike);
        assert_eq!(by(1.0, None, true, true), Change::Unclear);
    }

    /// Returns a histogram of pairs (latency in ns, number of requests).
    fn histogram(of: &[(u64, u64)]) -> Histogram {
        let mut h = Histogram::new();
        of.iter().for_each(|(ns, n)| (0..*n).for_each(|_| h.record(assay_spec::Nanos(*ns))));
        h
    }

    #[test]
    fn distributions_that_lie_apart_need_no_interval() {
        let by = |x: &[(u64, u64)], y: &[(u64, u64)]| {
            let (x, y) = (histogram(x), histogram(y));
            let value = x.mean().unwrap_or(0.0) / y.mean().unwrap_or(1.0);
            let wide = Estimate { value, interval: Some((0.04, 4600.0)), basis: Basis::Batches(2) };
            apart(&wide, &shift::between(&x, &y).expect("requests"), [&x, &y])
        };
        let fast = [(150, 5000)];
        assert_eq!(by(&[(1430, 5000), (50_000, 60)], &fast), Change::Slower);
        assert_eq!(by(&fast, &[(1430, 5000), (50_000, 60)]), Change::Faster);
        // At most a tenth of them, less what chance does, may be as fast as the others.
        assert_eq!(by(&[(1430, 4700), (150, 300)], &fast), Change::Slower);
        assert_eq!(by(&[(1430, 4600), (150, 400)], &fast), Change::Unclear);
        // Apart, but not by much; or slower in the mean because of a few requests only.
        assert_eq!(by(&[(164, 5000)], &fast), Change::Unclear);
        assert_eq!(by(&[(148, 5000), (5_000_000, 20)], &fast), Change::Unclear);
        // Too few requests to decide.
        assert_eq!(by(&[(1430, 100)], &[(150, 100)]), Change::Unclear);
    }
}
