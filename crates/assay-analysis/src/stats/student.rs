//! Student's t: quantile and the interval of a mean (Student, Biometrika 6, 1908).
//!
//! For means of independent repeats. Not for single latencies, which are neither independent nor
//! normal: [`super::batch`] is for their means over batches.

use super::special::beta_regularised;
use super::{Basis, Estimate, all_equal, mean, variance};

/// Returns P(T ≤ t) for `freedom` degrees of freedom (positive, need not be whole).
pub fn cdf(t: f64, freedom: f64) -> f64 {
    let tail = 0.5 * beta_regularised(freedom / 2.0, 0.5, freedom / (freedom + t * t));
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Returns the t with P(T ≤ t) = `p`; infinite if `p` is 0 or 1, and NaN without freedom.
pub fn quantile(p: f64, freedom: f64) -> f64 {
    if !(freedom > 0.0 && (0.0..=1.0).contains(&p)) {
        return f64::NAN;
    }
    if p == 0.0 || p == 1.0 {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let (mut low, mut high) = (-1.0, 1.0);
    while cdf(high, freedom) < p && high < 1e300 {
        high *= 2.0;
    }
    while cdf(low, freedom) > p && low > -1e300 {
        low *= 2.0;
    }
    // Bisection is slower than Newton's method and never wrong.
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if cdf(middle, freedom) < p { low = middle } else { high = middle }
    }
    low + (high - low) / 2.0
}

/// Returns the factor of the standard error for a two-sided 95 % interval.
pub fn t95(freedom: f64) -> f64 {
    quantile(0.975, freedom)
}

/// Returns the mean of independent repeats with its 95 % interval; `None` for no values.
pub fn of_repeats(values: &[f64]) -> Option<Estimate> {
    let value = mean(values)?;
    let Some(variance) = variance(values) else {
        return Some(Estimate::bare(value, "one repeat"));
    };
    if all_equal(values) {
        return Some(Estimate::identical(values[0], values.len() as u64));
    }
    let n = values.len() as f64;
    let half = t95(n - 1.0) * (variance / n).sqrt();
    let interval = Some((value - half, value + half));
    Some(Estimate { value, interval, basis: Basis::Repeats(values.len() as u64) })
}

impl Estimate {
    /// Returns the sample standard deviation of the repeats whose mean this is, and their number.
    pub fn deviation(&self) -> Option<(f64, u64)> {
        match (&self.basis, self.interval) {
            (Basis::Identical(n), _) => Some((0.0, *n)),
            // The lower end may have been cut at 0.
            (Basis::Repeats(n), Some((_, high))) => {
                let count = *n as f64;
                Some(((high - self.value) * count.sqrt() / t95(count - 1.0), *n))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: scipy 1.17.1, `stats.t.ppf`; the whole degrees are those of every printed table.
    #[test]
    fn quantiles_agree_with_tables() {
        let cases = [
            (0.975, 1.0, 12.706204736174694),
            (0.975, 2.0, 4.302652729749462),
            (0.975, 4.0, 2.7764451051977934),
            (0.975, 9.0, 2.262157162798205),
            (0.975, 30.0, 2.0422724563012378),
            (0.95, 7.0, 1.8945786050900062),
            (0.995, 3.0, 5.840909309733355),
            (0.975, 1.5, 6.016663104427929),
            (0.975, 1000.0, 1.9623390808264083),
        ];
        for (p, freedom, expected) in cases {
            let got = quantile(p, freedom);
            assert!((got - expected).abs() < 1e-9 * expected, "t({p}, {freedom}) = {got}");
            assert!((quantile(1.0 - p, freedom) + expected).abs() < 1e-9 * expected);
        }
        assert!(quantile(0.5, 0.0).is_nan());
    }

    /// Reference: scipy 1.17.1, `stats.t.interval` with `stats.sem`.
    #[test]
    fn interval_of_five_repeats() {
        let e = of_repeats(&[3.1, 2.9, 3.3, 3.0, 3.2]).unwrap();
        let (low, high) = e.interval.unwrap();
        assert!((low - 2.9036756838522444).abs() < 1e-9 && (high - 3.296324316147756).abs() < 1e-9);
        assert_eq!(e.basis, Basis::Repeats(5));
        assert_eq!(of_repeats(&[1.0]).unwrap().interval, None);
        assert_eq!(of_repeats(&[]), None);
        let same = of_repeats(&[0.1, 0.1, 0.1]).unwrap();
        assert_eq!((same.interval, same.basis), (Some((0.1, 0.1)), Basis::Identical(3)));
    }
}
