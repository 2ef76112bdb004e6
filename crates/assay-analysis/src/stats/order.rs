//! Distribution-free interval of a quantile from order statistics.
//!
//! The number of values below the true quantile q is binomial(n, q), so that two ranks bracket it
//! with a chosen probability (David and Nagaraja, *Order Statistics*, 3rd ed., section 7.1). The
//! binomial is summed exactly while its variance is below 100 and approximated by the normal above.
//! The values are assumed to be independent; queued requests are not quite, so that the interval of
//! one repeat is a lower bound of the uncertainty and repeats are to be preferred.

use super::special::{Z95, log_gamma};
use super::{Basis, Estimate};
use assay_spec::Histogram;

/// The error probability on either side.
const SIDE: f64 = 0.025;

/// Returns the ranks (from 1) whose values bracket the quantile `q` of `n` values with at least 95
/// %. The lower rank is 0 and the upper one `n + 1` if no value is extreme enough.
pub fn ranks(n: u64, q: f64) -> (u64, u64) {
    let variance = n as f64 * q * (1.0 - q);
    if variance >= 100.0 {
        let (centre, half) = (n as f64 * q, Z95 * variance.sqrt());
        let low = (centre - half).floor().max(0.0) as u64;
        return (low, ((centre + half).ceil() as u64 + 1).min(n + 1));
    }
    if q > 0.5 {
        // Counting from the sparse side is the mirror image of the same problem.
        let (low, high) = exact(n, 1.0 - q);
        (n + 1 - high, n + 1 - low)
    } else {
        exact(n, q)
    }
}

/// Returns the ranks by summing the binomial distribution from 0 upwards. `q` is at most 0.5.
fn exact(n: u64, q: f64) -> (u64, u64) {
    let total = n as f64;
    let log_pmf = |k: f64| {
        log_gamma(total + 1.0) - log_gamma(k + 1.0) - log_gamma(total - k + 1.0)
            + k * libm::log(q)
            + (total - k) * libm::log1p(-q)
    };
    let (mut below, mut low) = (0.0, 0);
    for k in 0..=n {
        below += libm::exp(log_pmf(k as f64));
        if below <= SIDE {
            low = k + 1;
        }
        if below >= 1.0 - SIDE {
            return (low, k + 1);
        }
    }
    (low, n + 1)
}

/// Returns the smallest number of values for which the quantile `q` has a two-sided interval.
pub fn needed(q: f64) -> u64 {
    let sparse = q.min(1.0 - q).max(1e-12);
    (libm::log(SIDE) / libm::log1p(-sparse)).ceil() as u64
}

/// Returns the quantile `q` of a histogram in nanoseconds with its interval; `None` for an empty
/// histogram.
pub fn quantile(histogram: &Histogram, q: f64) -> Option<Estimate> {
    let n = histogram.count();
    let value = histogram.quantile(q)?.0 as f64;
    let (low, high) = ranks(n, q);
    let at = |rank: u64| rank.checked_sub(1).and_then(|r| histogram.at_rank(r));
    match (at(low), at(high)) {
        (Some(low), Some(high)) => {
            let interval = Some((low.0 as f64, high.0 as f64));
            Some(Estimate { value, interval, basis: Basis::OrderStatistics(n) })
        }
        _ => {
            let reason = format!("{n} requests; an interval needs {}", needed(q));
            Some(Estimate::bare(value, reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::Nanos;

    /// Reference: scipy 1.17.1, searched in `stats.binom.cdf`.
    #[test]
    fn ranks_agree_with_scipy() {
        let cases = [
            (20, 0.5, (6, 15)),
            (100, 0.5, (40, 61)),
            (100, 0.9, (84, 96)),
            (1000, 0.99, (983, 997)),
            (5000, 0.999, (4990, 5000)),
            (400, 0.95, (371, 389)),
        ];
        for (n, q, expected) in cases {
            let got = ranks(n, q);
            // If k and its mirror image hit 2.5 % to the last bit, one rank may differ.
            let near = |a: u64, b: u64| a.abs_diff(b) <= 1;
            assert!(near(got.0, expected.0) && near(got.1, expected.1), "{n} {q}: {got:?}");
        }
    }

    #[test]
    fn too_few_values_give_a_reason() {
        assert_eq!(needed(0.999), 3688);
        let (n, mut h) = (3687, Histogram::new());
        (0..n).for_each(|i| h.record(Nanos(1000 + i)));
        let before = quantile(&h, 0.999).unwrap();
        assert!(matches!(before.basis, Basis::None(_)), "{before:?}");
        h.record(Nanos(9000));
        assert!(quantile(&h, 0.999).unwrap().interval.is_some());
        assert!(quantile(&Histogram::new(), 0.5).is_none());
    }

    /// 1,000 sets of 200 uniform values: the interval of the median must hold 0.5 in 95 % of them.
    #[test]
    fn the_interval_covers() {
        let (mut covered, mut state) = (0, 1_u64);
        for _ in 0..1000 {
            let mut h = Histogram::new();
            for _ in 0..200 {
                state = assay_spec::seed::mix(state.wrapping_add(0x9E37_79B9_7F4A_7C15));
                h.record(Nanos(state % 1_000_000));
            }
            let (low, high) = quantile(&h, 0.5).unwrap().interval.unwrap();
            covered += u32::from(low <= 500_000.0 && 500_000.0 <= high);
        }
        assert!((935..=985).contains(&covered), "{covered}");
    }
}
