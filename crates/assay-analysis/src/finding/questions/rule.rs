//! When two measurements count as different: one rule and one place for its numbers.
//!
//! A difference must be large, so that it matters, and certain, so that it is none of chance: both
//! by the interval, so that no answer hangs on a mean that lies by a hair on one side of a bound.

use super::Ask;
use crate::metric;
use crate::stats::ratio::{Mean, of as ratio};
use crate::stats::{Basis, Estimate, shift};
use assay_spec::record::CellRecord;
use assay_spec::units::{human_time, three_digits};
use assay_spec::{Histogram, Op};

/// A mean must be this many times another to be called slower. A tenth is what a user may notice
/// and more than two equal drives or two days differ by.
pub const LARGE: f64 = 1.1;
/// Where an interval takes the requests as independent it may be too narrow: then this share of
/// the requests must have moved (distance of Kolmogorov and Smirnov), as a few outliers may not.
pub const MOVED: f64 = 0.05;
/// Where this share of the requests lies apart, whatever the mean of the rest, the interval of the
/// mean is not needed: a few long waits at the start of a run make it as wide as can be.
pub const APART: f64 = 0.9;
/// Confidence of the intervals of this crate.
pub const CONFIDENCE: f64 = 0.95;
/// Share of the requests of a stream that must be fast for the stream to have become fast: the
/// others may wait for what the drive does now and then.
pub const FAST: f64 = 0.9;
/// A read ahead must begin in this part of the requests kept, so that enough are left after it.
pub const BEGIN: f64 = 0.5;
/// Steps of half a unit find it open every other time: half of the requests are spared, with room
/// for those that are spared at any step. A KS distance below the lower bound counts as level.
pub const HALF: (f64, f64) = (0.35, 0.65);
/// Steps of a quarter of a unit: three of four are spared.
pub const QUARTER: (f64, f64) = (0.65, 0.82);

/// The rule in words.
pub fn in_words() -> String {
    let large = three_digits(LARGE);
    format!(
        "slower: the whole 95 % interval of the ratio of mean latencies is {large} or more, over \
         repeats or batches; or of the requests taken as independent, if also the KS distance is \
         at least {MOVED}; or mean and median are both so much larger and the KS distance, less \
         what chance makes it, is at least {APART}. Alike: the whole interval is less than \
         {large} times either way, or the ratio is and the KS distance is below {MOVED}. What is \
         neither is not determined"
    )
}

/// Requests of one kind, or all, of a cell.
pub type Part<'a> = (&'a CellRecord, Option<Op>);

/// How one mean stands to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Larger, by the rule.
    Slower,
    /// Smaller, by the rule.
    Faster,
    /// Certainly not large.
    Alike,
    /// Neither is certain.
    Unclear,
}

/// One part held against another.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Mean latency over that of the other, with its interval.
    pub ratio: Estimate,
    /// Means of the two in ns.
    pub means: (f64, f64),
    /// Probability of superiority and distance of the distributions.
    pub shift: shift::Shift,
    /// By the rule.
    pub standing: Standing,
}

impl Difference {
    /// `3.00 times; KS distance 1.00`.
    pub fn times(&self) -> String {
        let (times, distance) = (three_digits(self.ratio.value), self.shift.distance);
        format!("{times} times; KS distance {distance:.2}")
    }

    /// Why it is unclear: `may be more or less than 1.1 times, 95 % interval 1.021 to 1.152`.
    pub fn why_unclear(&self) -> String {
        let interval = match self.ratio.interval {
            // One digit more, as it is close.
            Some((low, high)) => format!("95 % interval {low:.3} to {high:.3}"),
            None => "without interval".into(),
        };
        format!("may be more or less than {LARGE} times, {interval}")
    }

    /// The two means in words, the first first.
    pub fn both(&self) -> (String, String) {
        (human_time(self.means.0), human_time(self.means.1))
    }

    /// Everything, for the evidence.
    pub fn line(&self) -> String {
        let ((x, y), times) = (self.both(), three_digits(self.ratio.value));
        let interval = self.ratio.interval.map_or("without interval".into(), |(low, high)| {
            format!("95 % interval {} to {}", three_digits(low), three_digits(high))
        });
        let shift::Shift { superiority, distance } = self.shift;
        format!("{x} against {y}: {times} times ({interval}), A {superiority:.2}, KS {distance:.2}")
    }
}

/// The mean of a part with its standard error. Where repeats and batches give none, that of the
/// requests as if they were independent: periodic ones are surer than that, others less.
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

/// Holds `part` against `base`.
pub fn difference(part: Part<'_>, base: Part<'_>) -> Result<Difference, String> {
    let [x, y] = [part, base].map(|(cell, op)| metric::histogram(cell, op));
    let (a, b) = (mean_of(part, &x)?, mean_of(base, &y)?);
    let nothing = || format!("{} or {} has no requests", part.0.id, base.0.id);
    let shift = shift::between(&x, &y).ok_or_else(nothing)?;
    let moved = shift.distance >= MOVED;
    let sure = moved || (measured(&a) && measured(&b));
    let ratio = ratio(&a, &b);
    let standing = match standing(&ratio, sure, moved) {
        Standing::Unclear => apart(&ratio, &shift, [&x, &y]),
        certain => certain,
    };
    Ok(Difference { means: (a.value, b.value), shift, standing, ratio })
}

/// True of an error that repeats or batches have shown.
fn measured(mean: &Mean) -> bool {
    !matches!(mean.basis, Basis::None(_))
}

/// `sure` says whether the interval of the ratio may be believed, `moved` whether many requests
/// have.
fn standing(ratio: &Estimate, sure: bool, moved: bool) -> Standing {
    let small = |r: f64| r < LARGE && r > 1.0 / LARGE;
    match ratio.interval {
        Some((low, _)) if sure && low >= LARGE => Standing::Slower,
        Some((_, high)) if sure && high <= 1.0 / LARGE => Standing::Faster,
        Some((low, high)) if small(low) && small(high) => Standing::Alike,
        _ if small(ratio.value) && !moved => Standing::Alike,
        _ => Standing::Unclear,
    }
}

/// Where nearly all requests of the one took longer than nearly all of the other, and the means
/// agree with it.
fn apart(ratio: &Estimate, shift: &shift::Shift, [x, y]: [&Histogram; 2]) -> Standing {
    let median = |h: &Histogram| h.quantile(0.5).map_or(0.0, |ns| ns.0 as f64);
    let (a, b) = (median(x), median(y));
    if shift.distance - shift::chance(x.count(), y.count()) < APART {
        return Standing::Unclear;
    }
    if ratio.value >= LARGE && a >= LARGE * b {
        Standing::Slower
    } else if ratio.value <= 1.0 / LARGE && b >= LARGE * a {
        Standing::Faster
    } else {
        Standing::Unclear
    }
}

/// A comparison that was asked for, with what it is called in a sentence.
#[derive(Clone, Debug)]
pub struct Named {
    /// `random reads`.
    pub what: String,
    /// What they are held against: `sequential ones`.
    pub base: String,
    /// How it came out.
    pub by: Difference,
}

impl Named {
    /// Compares and keeps the evidence.
    pub fn ask<'a>(
        ask: &mut Ask<'a>,
        (what, against): (&str, &str),
        part: Part<'a>,
        base: Part<'a>,
    ) -> Result<Named, String> {
        let by = ask.compare(part, base)?;
        Ok(Named { what: what.to_owned(), base: against.to_owned(), by })
    }

    /// `random reads take 226 µs and sequential ones 75.6 µs (3.00 times; KS distance 1.00)`.
    pub fn told(&self) -> String {
        let (x, y) = self.by.both();
        format!("{} take {x} and {} {y} ({})", self.what, self.base, self.by.times())
    }
}

/// Those that stand so.
pub fn that_are(all: &[Named], standing: Standing) -> Vec<&Named> {
    all.iter().filter(|n| n.by.standing == standing).collect()
}

/// Told one after the other.
pub fn told(all: &[&Named]) -> String {
    all.iter().map(|n| n.told()).collect::<Vec<_>>().join("; ")
}

/// The one with the largest ratio.
pub fn largest<'a>(all: &[&'a Named]) -> Option<&'a Named> {
    all.iter().copied().max_by(|a, b| a.by.ratio.value.total_cmp(&b.by.ratio.value))
}

/// Why differences that are not certain leave a question open.
pub fn unclear(all: &[Named]) -> Result<(), String> {
    match that_are(all, Standing::Unclear).as_slice() {
        [] => Ok(()),
        open => {
            let one = |n: &&Named| format!("{}, {}", n.told(), n.by.why_unclear());
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
            standing(&Estimate { value, interval, basis: Basis::Batches(10) }, sure, moved)
        };
        assert_eq!(by(1.3, Some((1.1, 1.5)), true, true), Standing::Slower);
        assert_eq!(by(1.3, Some((1.0999, 1.5)), true, true), Standing::Unclear);
        assert_eq!(by(1.3, Some((1.2, 1.4)), false, false), Standing::Unclear);
        assert_eq!(by(0.7, Some((0.6, 0.9)), true, true), Standing::Faster);
        assert_eq!(by(1.102, Some((1.07, 1.13)), true, false), Standing::Unclear);
        assert_eq!(by(1.098, Some((1.07, 1.13)), true, true), Standing::Unclear);
        assert_eq!(by(1.05, Some((1.01, 1.0999)), true, true), Standing::Alike);
        // A few outliers make a wide interval of requests that hardly differ.
        assert_eq!(by(1.05, Some((0.8, 1.3)), true, false), Standing::Alike);
        assert_eq!(by(1.0, None, true, true), Standing::Unclear);
    }

    /// So many requests of each latency.
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
        assert_eq!(by(&[(1430, 5000), (50_000, 60)], &fast), Standing::Slower);
        assert_eq!(by(&fast, &[(1430, 5000), (50_000, 60)]), Standing::Faster);
        // A tenth of them, less what chance does, must not be as fast as the others.
        assert_eq!(by(&[(1430, 4700), (150, 300)], &fast), Standing::Slower);
        assert_eq!(by(&[(1430, 4600), (150, 400)], &fast), Standing::Unclear);
        // Apart, but not by much; or slower in the mean by a few alone.
        assert_eq!(by(&[(164, 5000)], &fast), Standing::Unclear);
        assert_eq!(by(&[(148, 5000), (5_000_000, 20)], &fast), Standing::Unclear);
        // Too few to say.
        assert_eq!(by(&[(1430, 100)], &[(150, 100)]), Standing::Unclear);
    }
}
