//! Wilson's score interval for a share (E. B. Wilson, JASA 22, 1927).
//!
//! For the share of requests within a latency range in one repeat. Requests are assumed to be
//! independent; with repeats the t interval over their shares is used instead.

use super::special::Z95;
use super::{Basis, Estimate};

/// Returns a share of `n` requests with its 95 % interval.
pub fn share(value: f64, n: u64) -> Estimate {
    if n == 0 {
        return Estimate::bare(value, "no requests");
    }
    let (n_f, z2) = (n as f64, Z95 * Z95);
    let centre = (value + z2 / (2.0 * n_f)) / (1.0 + z2 / n_f);
    let spread = (value * (1.0 - value) / n_f + z2 / (4.0 * n_f * n_f)).max(0.0).sqrt();
    let half = Z95 / (1.0 + z2 / n_f) * spread;
    let interval = Some(((centre - half).max(0.0), (centre + half).min(1.0)));
    Estimate { value, interval, basis: Basis::Proportion(n) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: scipy 1.17.1, `stats.binomtest(k, n).proportion_ci(method="wilson")`.
    #[test]
    fn agrees_with_scipy() {
        let cases = [
            (5.0, 100, 0.021543679154367973, 0.11175046923191914),
            (0.0, 50, 0.0, 0.07134759913335872),
            (999.0, 1000, 0.9943574414020421, 0.9998234536293739),
        ];
        for (k, n, low, high) in cases {
            let got = share(k / n as f64, n).interval.unwrap();
            assert!((got.0 - low).abs() < 1e-12 && (got.1 - high).abs() < 1e-12, "{got:?}");
        }
        assert!(share(0.5, 0).interval.is_none());
    }
}
