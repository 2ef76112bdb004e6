//! Drift over time: Mann-Kendall test (Mann 1945, Kendall 1975) with the slope of Theil and Sen
//! (Sen, JASA 63, 1968) and its interval.
//!
//! The test assumes no distribution and is robust against spikes. It assumes that neighbouring
//! values are independent; periodic garbage collection violates that and makes the test see drift
//! too easily, so that a small slope matters more than a small p. Series of more than 400 values
//! are averaged down first.

use super::special::{Z95, normal_cdf};

const LONGEST: usize = 400;

/// The result of the drift test.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// The number of values tested, after averaging down.
    pub values: usize,
    /// Kendall's S: rising pairs minus falling pairs.
    pub s: i64,
    /// The two-sided probability of at least such an S without drift.
    pub p: f64,
    /// The median slope, per element of the original series.
    pub slope: f64,
    /// The 95 % interval of the slope.
    pub interval: (f64, f64),
    /// The change over the whole series relative to its mean, with its interval: (low, value,
    /// high).
    pub relative: (f64, f64, f64),
}

impl Drift {
    /// Returns `true` if the interval of the slope excludes zero.
    pub fn drifts(&self) -> bool {
        self.interval.0 > 0.0 || self.interval.1 < 0.0
    }
}

/// Tests a series; `None` below 8 values, where the test has no power, and if a value is not
/// finite.
pub fn test(series: &[f64]) -> Option<Drift> {
    if series.len() < 8 || series.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let stride = series.len().div_ceil(LONGEST);
    let values: Vec<f64> =
        series.chunks_exact(stride).map(|c| c.iter().sum::<f64>() / stride as f64).collect();
    let n = values.len();
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    let mut s = 0_i64;
    for i in 0..n {
        for j in i + 1..n {
            let rise = values[j] - values[i];
            s += i64::from(rise > 0.0) - i64::from(rise < 0.0);
            slopes.push(rise / (j - i) as f64 / stride as f64);
        }
    }
    slopes.sort_by(f64::total_cmp);
    let variance = variance_of_s(&values);
    let z = if variance > 0.0 { (s - s.signum()) as f64 / variance.sqrt() } else { 0.0 };
    let (pairs, reach) = (slopes.len() as f64, Z95 * variance.sqrt());
    let upper = (((pairs + reach) / 2.0).round() as usize).min(slopes.len() - 1);
    let lower = (((pairs - reach) / 2.0).round() - 1.0).max(0.0) as usize;
    let slope = super::median(&slopes)?;
    let interval = (slopes[lower], slopes[upper]);
    let average = super::mean(&values)?;
    let whole = if average == 0.0 { 0.0 } else { (series.len() - 1) as f64 / average.abs() };
    Some(Drift {
        values: n,
        s,
        p: (2.0 * normal_cdf(-z.abs())).min(1.0),
        slope,
        interval,
        relative: (interval.0 * whole, slope * whole, interval.1 * whole),
    })
}

/// Returns the variance of S without drift, corrected for ties.
fn variance_of_s(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let term = |k: usize| (k * (k - 1) * (2 * k + 5)) as f64;
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|group| term(group.len())).sum();
    (term(values.len()) - ties) / 18.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: scipy 1.17.1 `stats.theilslopes`; S, variance and p from their textbook formulas
    /// in NumPy.
    #[test]
    fn agrees_with_scipy() {
        let rising = [10., 12., 11., 14., 13., 15., 14., 17., 16., 18., 17., 21.];
        let d = test(&rising).unwrap();
        assert_eq!(d.s, 54);
        assert!((variance_of_s(&rising) - 210.66666666666666).abs() < 1e-9);
        assert!((d.p - 0.0002606563091741007).abs() < 1e-12, "{}", d.p);
        assert!((d.slope - 0.75).abs() < 1e-12);
        assert!((d.interval.0 - 0.5555555555555556).abs() < 1e-12, "{:?}", d.interval);
        assert!((d.interval.1 - 1.0).abs() < 1e-12);
        assert!(d.drifts());
        let flat = test(&[5., 3., 6., 4., 5., 5., 4., 6., 3., 5.]).unwrap();
        assert_eq!((flat.s, flat.p, flat.slope), (0, 1.0, 0.0));
        assert_eq!(flat.interval, (-0.5, 0.5));
        assert!(!flat.drifts());
    }

    #[test]
    fn short_constant_and_long_series() {
        assert!(test(&[1.0; 7]).is_none());
        assert!(!test(&[1.0; 8]).unwrap().drifts());
        assert!(test(&[f64::NAN; 20]).is_none());
        let ramp: Vec<f64> = (0..10_000).map(|i| 100.0 + f64::from(i)).collect();
        let d = test(&ramp).unwrap();
        assert!(d.values <= LONGEST && (d.slope - 1.0).abs() < 1e-9, "{d:?}");
    }
}
