//! Batch means: the uncertainty of a mean from one long run (Law and Kelton, *Simulation Modeling
//! and Analysis*, section 9.5.3).
//!
//! The series is cut into 20 batches (or as many as there are elements, from 10 on), whose means
//! are nearly independent if a batch is long compared with the correlation of the process. If
//! neighbouring batches still correlate, no interval is given, since it would be too narrow. Not
//! for series that drift.

use super::student::t95;
use super::{Basis, Estimate, all_equal, mean, variance};

const BATCHES: usize = 20;
const FEWEST: usize = 10;

/// Returns `value`, the mean of the whole run, with the interval that the batches of `series` give.
pub fn around(value: f64, series: &[f64]) -> Estimate {
    if series.len() < FEWEST {
        let n = series.len();
        let reason = format!("one repeat with {n} of the {FEWEST} seconds that batch means need");
        return Estimate::bare(value, reason);
    }
    let length = (series.len() / BATCHES).max(1);
    // The oldest elements that do not fill a batch are left out of the interval, but not of the
    // value.
    let means: Vec<f64> = series
        .rchunks_exact(length)
        .take(BATCHES)
        .map(|batch| batch.iter().sum::<f64>() / length as f64)
        .collect();
    if all_equal(&means) {
        return Estimate::identical(value, means.len() as u64);
    }
    let k = means.len() as f64;
    let correlation = neighbour_correlation(&means);
    // 1.96 / √k is the 95 % point of the correlation of white noise.
    if correlation > super::special::Z95 / k.sqrt() {
        let reason = format!("one repeat, and its batches are correlated ({correlation:.2})");
        return Estimate::bare(value, reason);
    }
    let half = t95(k - 1.0) * (variance(&means).unwrap_or(0.0) / k).sqrt();
    let interval = Some((value - half, value + half));
    Estimate { value, interval, basis: Basis::Batches(means.len() as u64) }
}

/// Returns the correlation of each value with the next; 0 for a constant series.
pub fn neighbour_correlation(values: &[f64]) -> f64 {
    let Some(m) = mean(values) else { return 0.0 };
    let products: f64 = values.windows(2).map(|w| (w[0] - m) * (w[1] - m)).sum();
    let squares: f64 = values.iter().map(|v| (v - m) * (v - m)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_noise_gets_an_interval_and_a_ramp_does_not() {
        let noise: Vec<f64> = (0..100).map(|i| (assay_spec::seed::mix(i) % 1000) as f64).collect();
        let e = around(500.0, &noise);
        assert_eq!(e.basis, Basis::Batches(20));
        // The standard error of the mean of 100 uniform values of 0..1000 is 28.9; t(19) makes it
        // 60.
        let half = e.half_width().unwrap();
        assert!((30.0..110.0).contains(&half), "{half}");
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(around(49.5, &ramp).interval.is_none());
        assert_eq!(
            around(1.0, &[1.0; 9]).basis.to_string(),
            "no interval: one repeat with 9 of the 10 seconds that batch means need"
        );
        assert_eq!(around(1.0, &[1.0; 10]), Estimate::identical(1.0, 10));
    }

    /// Reference, by hand: the mean is 3, the products 2 + 0 + 0 + 2 = 4, the squares 10.
    #[test]
    fn correlation_of_a_short_ramp() {
        assert!((neighbour_correlation(&[1.0, 2.0, 3.0, 4.0, 5.0]) - 0.4).abs() < 1e-12);
        assert_eq!(neighbour_correlation(&[]), 0.0);
    }
}
