//! The period of a series: the distance at which its high values come back.
//!
//! The period is the lag with the largest autocorrelation (Box and Jenkins, *Time Series Analysis*,
//! chapter 2). The products of each lag are averaged over the pairs that it has, so that a multiple
//! of the period does not correlate less because it has fewer pairs. Of the lags within 5 % of the
//! best, the smallest is taken. A lag counts only if the correlation has fallen before and rises
//! again there: equal neighbours, as in a slow change, are no period. Not for series that drift
//! more than they swing.

use super::special::normal_cdf;
use super::{mean, variance};

/// The shortest period that is looked for.
const SHORTEST: usize = 2;
/// The number of periods that must fit into the series.
const FEWEST: usize = 3;
/// The share of the best correlation from which a lag is as good as the best.
const AS_GOOD: f64 = 0.95;
/// The probability that a series without a period is reported to have one.
const FALSE_ALARM: f64 = 0.05;

/// Returns the period of `values`, if they have one.
pub fn of(values: &[f64]) -> Option<usize> {
    let longest = values.len() / FEWEST;
    if longest < SHORTEST {
        return None;
    }
    let correlation = correlations(values, longest + 1)?;
    let z = chance_of_one_in((longest - SHORTEST + 1) as f64 / FALSE_ALARM);
    // The correlation of white noise at lag k is normal with variance 1 / (n - k).
    let chance = |lag: usize| z / ((values.len() - lag) as f64).sqrt();
    let mut lowest = correlation[1];
    let mut peaks: Vec<usize> = Vec::new();
    for lag in SHORTEST..=longest {
        let here = correlation[lag];
        let is_peak = here >= correlation[lag - 1] && here >= correlation[lag + 1];
        if is_peak && here > chance(lag) && here - lowest > chance(lag) {
            peaks.push(lag);
        }
        lowest = lowest.min(here);
    }
    let best = peaks.iter().map(|lag| correlation[*lag]).reduce(f64::max)?;
    peaks.into_iter().find(|lag| correlation[*lag] >= AS_GOOD * best)
}

/// Returns the autocorrelation at lags 0 to `longest`; `None` for a series that never changes.
fn correlations(values: &[f64], longest: usize) -> Option<Vec<f64>> {
    let m = mean(values)?;
    let n = values.len() as f64;
    let square = variance(values)? * (n - 1.0) / n;
    if !(square > 0.0 && square.is_finite()) {
        return None;
    }
    let off: Vec<f64> = values.iter().map(|v| v - m).collect();
    let at = |lag: usize| {
        let products: f64 = off.iter().zip(&off[lag..]).map(|(a, b)| a * b).sum();
        products / (off.len() - lag) as f64 / square
    };
    Some((0..=longest.min(values.len() - 1)).map(at).collect())
}

/// Returns the z that a normal value exceeds once in `n` times.
fn chance_of_one_in(n: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        // The lower tail keeps the digits that one minus the distribution function would lose.
        if normal_cdf(-middle) * n > 1.0 { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(n: usize, value: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..n).map(value).collect()
    }

    /// Returns a number from 0 to 1, without a period that matters here.
    fn noise(i: usize) -> f64 {
        let mut x = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[test]
    fn combs_have_the_period_of_their_teeth() {
        for period in [2, 3, 17, 64, 166] {
            let comb = series(500, |i| if i % period == period - 1 { 2e6 } else { 75e3 });
            assert_eq!(of(&comb), Some(period), "{period}");
            let rough = series(500, |i| comb[i] * (1.0 + 0.05 * noise(i)));
            assert_eq!(of(&rough), Some(period), "{period} with noise");
        }
    }

    #[test]
    fn teeth_of_several_heights_come_back_together() {
        // Every 16th is slow, and every fourth of those the slowest: the heights repeat at 64.
        let height = |i: usize| [1.0e6, 1.5e6, 2.5e6, 9.0e6][i / 16 % 4];
        let comb = series(500, |i| if i % 16 == 15 { height(i) } else { 75e3 });
        assert_eq!(of(&comb), Some(64));
    }

    #[test]
    fn waves_have_their_length() {
        let wave = series(600, |i| if i / 20 % 2 == 0 { 1.0 } else { 5.0 });
        assert_eq!(of(&wave), Some(40));
        let sine = series(600, |i| libm::sin(i as f64 * std::f64::consts::TAU / 25.0));
        assert_eq!(of(&sine), Some(25));
    }

    #[test]
    fn what_does_not_come_back_has_no_period() {
        assert_eq!(of(&series(500, |_| 75e3)), None, "never changes");
        assert_eq!(of(&series(500, |i| i as f64)), None, "rises");
        assert_eq!(of(&series(500, |i| if i < 4 { 220e3 } else { 80e3 })), None, "slow at first");
        assert_eq!(of(&series(500, |i| if i < 250 { 2.0 } else { 1.0 })), None, "a step");
        assert_eq!(of(&series(5, |i| (i % 2) as f64)), None, "too short");
        assert_eq!(of(&[]), None);
        // Two periods fit, but three are needed.
        assert_eq!(of(&series(200, |i| if i % 100 == 50 { 9.0 } else { 1.0 })), None);
    }

    #[test]
    fn noise_seldom_has_one() {
        let found = (0..200).filter(|k| of(&series(300, |i| noise(1000 * k + i))).is_some());
        let found = found.count();
        assert!(found <= 20, "{found} of 200; 10 are to be expected");
    }

    /// Reference, by hand: the products of 3, 1, 2, 5 about their mean 2.75.
    #[test]
    fn correlations_are_those_of_their_definition() {
        let got = correlations(&[3.0, 1.0, 2.0, 5.0], 2).expect("it changes");
        let (zero, one) = (8.75 / 4.0, (-0.4375 + 1.3125 - 1.6875) / 3.0);
        let two = (-0.1875 - 3.9375) / 2.0;
        for (got, expected) in got.iter().zip([1.0, one / zero, two / zero]) {
            assert!((got - expected).abs() < 1e-12, "{got} {expected}");
        }
    }

    /// Reference: tables of the normal distribution.
    #[test]
    fn the_chance_is_that_of_the_normal_distribution() {
        for (n, z) in [(40.0, 1.959_964), (1000.0, 3.090_232), (1e6, 4.753_424)] {
            assert!((chance_of_one_in(n) - z).abs() < 1e-5, "{n}");
        }
    }
}
