//! Metrics of the first requests, which a workload with `first` keeps one by one.

use super::error::MetricError;
use crate::stats::{Estimate, batch, mean, period, student};
use assay_spec::Op;
use assay_spec::record::RepeatRecord;

/// A metric of the first requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// The mean of this many requests.
    Mean(usize),
    /// The mean of the requests after this many.
    Rest(usize),
    /// The distance in requests at which high latencies come back.
    Period,
}

/// The number of requests that `rest` leaves out: those before read-ahead begins, on drives that
/// have it.
const USUAL: usize = 4;
/// The largest number of requests that a workload keeps.
const MOST: usize = 100_000;
/// The smallest number of latencies from which batch means are taken.
const BATCHED: usize = 10;

/// Parses the name of a metric of the first requests: `first4`, `rest`, `rest100`, `period`.
pub(super) fn named(name: &str) -> Option<First> {
    let count = |digits: &str| {
        let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
        digits.parse().ok().filter(|n| plain && (1..=MOST).contains(n))
    };
    match name {
        "rest" => Some(First::Rest(USUAL)),
        "period" => Some(First::Period),
        _ => match (name.strip_prefix("first"), name.strip_prefix("rest")) {
            (Some(digits), _) => count(digits).map(First::Mean),
            (_, Some(digits)) => count(digits).map(First::Rest),
            _ => None,
        },
    }
}

/// Returns the metric over all repeats, from its value in each repeat.
pub(super) fn estimate(
    repeats: &[RepeatRecord],
    op: Option<Op>,
    what: First,
) -> Result<Estimate, MetricError> {
    let values: Result<Vec<f64>, MetricError> =
        repeats.iter().map(|repeat| of_repeat(&kept(repeat, op), what)).collect();
    let values = values?;
    match (repeats, values.as_slice()) {
        ([repeat], [value]) => Ok(single(*value, &kept(repeat, op), what)),
        _ => student::of_repeats(&values)
            .ok_or_else(|| MetricError::Skipped("no repeat was completed".into())),
    }
}

fn kept(repeat: &RepeatRecord, op: Option<Op>) -> Vec<f64> {
    let first = repeat.first.as_ref();
    let latencies = first.map(|first| first.latencies(op)).unwrap_or_default();
    latencies.into_iter().map(|ns| ns as f64).collect()
}

fn of_repeat(kept: &[f64], what: First) -> Result<f64, MetricError> {
    let (wanted, part) = match what {
        First::Mean(n) => (n, kept.get(..n)),
        First::Rest(n) => (n + 1, kept.get(n..)),
        First::Period => (2, Some(kept)),
    };
    let part = part.filter(|_| kept.len() >= wanted);
    let too_few = MetricError::TooFewKept { kept: kept.len(), wanted };
    let part = part.ok_or(too_few)?;
    match what {
        First::Period => period::of(part).map(|lag| lag as f64).ok_or(MetricError::NoPeriod),
        _ => Ok(mean(part).unwrap_or(f64::NAN)),
    }
}

/// Returns the metric of the only repeat, with an interval if the kept latencies give one.
fn single(value: f64, kept: &[f64], what: First) -> Estimate {
    match what {
        First::Rest(n) if kept.len() >= n + BATCHED => batch::around(value, &kept[n..]),
        First::Rest(_) => Estimate::bare(value, "one repeat with too few requests for batches"),
        First::Mean(n) => {
            Estimate::bare(value, format!("one repeat has its first {n} requests only once"))
        }
        First::Period => Estimate::bare(value, "one repeat"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric;
    use crate::stats::Basis;
    use assay_spec::Nanos;
    use assay_spec::record::{CellRecord, FirstRecord};

    /// Returns a cell whose repeats kept these requests.
    fn cell(repeats: &[Vec<(Op, u64)>]) -> CellRecord {
        let empty: Vec<&[u64]> = repeats.iter().map(|_| [100].as_slice()).collect();
        let mut cell = crate::load::sample::cell(&empty);
        for (repeat, requests) in cell.repeats.iter_mut().zip(repeats) {
            let requests: Vec<(Op, Nanos)> =
                requests.iter().map(|(op, ns)| (*op, Nanos(*ns))).collect();
            repeat.first = Some(FirstRecord::new(&requests));
        }
        cell
    }

    fn reads(latencies: impl IntoIterator<Item = u64>) -> Vec<(Op, u64)> {
        latencies.into_iter().map(|ns| (Op::Read, ns)).collect()
    }

    #[test]
    fn names_are_understood_or_refused() {
        let cases = [
            ("first4", Some(First::Mean(4))),
            ("first100000", Some(First::Mean(100_000))),
            ("rest", Some(First::Rest(4))),
            ("rest20", Some(First::Rest(20))),
            ("period", Some(First::Period)),
        ];
        for (name, expected) in cases {
            assert_eq!(named(name), expected, "{name}");
        }
        for name in ["first", "first0", "first04", "first100001", "first+4", "rest-1", "periods"] {
            assert_eq!(named(name), None, "{name}");
        }
    }

    #[test]
    fn the_first_and_the_rest_of_one_repeat_and_of_three() {
        let slow_start = |slow: u64| reads((0..30).map(|i| if i < 4 { slow + i } else { 80 }));
        let get = |cell: &CellRecord, name: &str| metric::estimate(cell, name).expect(name);
        let one = cell(&[slow_start(200)]);
        assert_eq!((get(&one, "first4").value, get(&one, "rest").value), (201.5, 80.0));
        assert_eq!(get(&one, "first1").value, 200.0);
        assert!((get(&one, "rest3").value - (203.0 + 26.0 * 80.0) / 27.0).abs() < 1e-9);
        assert_eq!(get(&one, "first4").interval, None);
        assert_eq!(get(&one, "rest").basis, Basis::Identical(20));
        let three = cell(&[slow_start(200), slow_start(210), slow_start(190)]);
        assert_eq!(get(&three, "first4").value, 201.5);
        assert_eq!(get(&three, "first4").basis, Basis::Repeats(3));
        assert_eq!(get(&three, "rest").basis, Basis::Identical(3));
    }

    #[test]
    fn one_kind_of_request_is_taken_by_itself() {
        let turns = (0..24).map(|i| if i % 2 == 0 { (Op::Read, 100) } else { (Op::Write, 10 + i) });
        let mixed = cell(&[turns.collect()]);
        let get = |name: &str| metric::estimate(&mixed, name).expect(name).value;
        assert_eq!((get("read.first4"), get("write.first2"), get("first2")), (100.0, 12.0, 55.5));
        let none = metric::estimate(&mixed, "trim.first1");
        assert_eq!(none, Err(MetricError::TooFewKept { kept: 0, wanted: 1 }));
    }

    #[test]
    fn a_period_is_in_requests_and_may_be_missing() {
        let comb = |p: u64| reads((0..500).map(|i| if i % p == 5 { 2_000_000 } else { 75_000 }));
        let period = |repeats: &[Vec<(Op, u64)>]| metric::estimate(&cell(repeats), "period");
        let one = period(&[comb(64)]).expect("a period");
        assert_eq!((one.value, one.interval), (64.0, None));
        let three = period(&[comb(64), comb(64), comb(64)]).expect("a period");
        assert_eq!((three.value, three.basis), (64.0, Basis::Identical(3)));
        assert_eq!(period(&[comb(64), reads([80; 500])]), Err(MetricError::NoPeriod));
    }

    #[test]
    fn what_was_not_kept_says_what_to_write() {
        let few = cell(&[reads([1, 2, 3])]);
        let told = |name: &str| metric::estimate(&few, name).expect_err(name).to_string();
        let four = "3 of the first requests were kept, but 4 are needed; `first` in the workload";
        assert!(told("first4").starts_with(four), "{}", told("first4"));
        assert!(told("rest").contains("but 5 are needed"), "{}", told("rest"));
        let none = crate::load::sample::cell(&[&[100]]);
        assert!(metric::estimate(&none, "period").is_err());
    }
}
