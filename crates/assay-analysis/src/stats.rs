//! Statistics: one method a file, each with its source and its limits, each tested against SciPy.
//!
//! Everything is at the 95 % level. Functions take plain slices or histograms and return values;
//! none of them prints, and none of them panics on empty or degenerate input.

pub mod batch;
pub mod drift;
pub mod effects;
pub mod knee;
pub mod least;
pub mod order;
pub mod period;
pub mod proportion;
pub mod ratio;
pub mod shift;
pub mod special;
pub mod student;

/// A number with its uncertainty, or with the reason why it has none.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The number, in base units (ns, bytes/s, 1/s, share of 1).
    pub value: f64,
    /// The 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// The source of the interval.
    pub basis: Basis,
}

/// The source of an interval.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "kebab-case")]
pub enum Basis {
    /// Student t over this many independent repeats.
    Repeats(u64),
    /// This many repeats or batches that all gave the same value: the interval is that point.
    Identical(u64),
    /// Binomial order statistics of this many latencies of one repeat.
    OrderStatistics(u64),
    /// Batch means: this many batches of the series of one repeat.
    Batches(u64),
    /// Wilson's score interval for a share of this many requests of one repeat.
    Proportion(u64),
    /// Student t of a least-squares fit over this many cells.
    LeastSquares(u64),
    /// No interval, for this reason.
    None(String),
}

impl Estimate {
    /// Returns a number without an interval, for this reason.
    pub fn bare(value: f64, reason: impl Into<String>) -> Estimate {
        Estimate { value, interval: None, basis: Basis::None(reason.into()) }
    }

    /// Returns a number that was the same in `n` repeats or batches. Chance had no part in it,
    /// which differs from an uncertainty that was measured and found to be zero.
    pub fn identical(value: f64, n: u64) -> Estimate {
        Estimate { value, interval: Some((value, value)), basis: Basis::Identical(n) }
    }

    /// Returns half the width of the interval.
    pub fn half_width(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (high - low) / 2.0)
    }

    /// Returns the same number in another unit: value and interval times `factor`, which must be
    /// positive.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Estimate {
        Estimate {
            value: self.value * factor,
            interval: self.interval.map(|(low, high)| (low * factor, high * factor)),
            basis: self.basis.clone(),
        }
    }
}

impl std::fmt::Display for Basis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Basis::Repeats(n) => write!(f, "t interval over {n} repeats"),
            Basis::Identical(n) => write!(f, "identical in all {n}"),
            Basis::OrderStatistics(n) => write!(f, "order statistics of {n} requests"),
            Basis::Batches(n) => write!(f, "{n} batch means of one repeat"),
            Basis::Proportion(n) => write!(f, "Wilson interval of {n} requests"),
            Basis::LeastSquares(n) => write!(f, "least squares over {n} cells"),
            Basis::None(reason) => write!(f, "no interval: {reason}"),
        }
    }
}

/// Returns the arithmetic mean; `None` for no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns `true` for two or more equal values.
pub(crate) fn all_equal(values: &[f64]) -> bool {
    values.len() > 1 && values.iter().all(|v| *v == values[0])
}

/// Returns the sample variance (divisor n − 1); `None` below two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let m = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - m) * (v - m)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

/// Returns the median; `None` for no values. Values that are not numbers sort last.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_repeats_gives_back_their_deviation() {
        let values = [3.1, 2.9, 3.3, 3.0, 3.2];
        let (sd, n) = student::of_repeats(&values).unwrap().deviation().unwrap();
        assert_eq!(n, 5);
        assert!((sd * sd - variance(&values).unwrap()).abs() < 1e-12, "{sd}");
        assert_eq!(Estimate::identical(4.0, 3).deviation(), Some((0.0, 3)));
        assert_eq!(Estimate::bare(4.0, "one").deviation(), None);
    }

    #[test]
    fn moments_and_median_of_nothing_one_and_some() {
        assert_eq!((mean(&[]), variance(&[1.0]), median(&[])), (None, None, None));
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(variance(&[1.0, 2.0, 6.0]), Some(7.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[9.0, 1.0, 2.0, 4.0]), Some(3.0));
    }
}
