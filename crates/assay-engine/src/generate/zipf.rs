//! Draws from a Zipf distribution by rejection-inversion (Hörmann and Derflinger, ACM TOMACS 1996):
//! constant time and memory for any number of units.
//!
//! Popular units are scattered over the span by a fixed permutation, rank ↦ rank · m mod n. It is
//! the same for every seed, so that two seeds differ in their draws but not in the hot addresses.

use super::random::Random;

/// A Zipf distribution over `n` units; `h_half`, `h_n` and `cut` are constants of the method.
#[derive(Debug)]
pub(super) struct Zipf {
    n: u64,
    theta: f64,
    h_half: f64,
    h_n: f64,
    cut: f64,
    multiplier: u64,
}

impl Zipf {
    pub(super) fn new(n: u64, theta: f64) -> Zipf {
        // At 1 the integral is a logarithm. Slightly above 1 the formula below gives the same value
        // to about seven digits.
        let theta = if (theta - 1.0).abs() < 1e-9 { 1.0 + 1e-9 } else { theta };
        let mut zipf = Zipf { n, theta, h_half: 0.0, h_n: 0.0, cut: 0.0, multiplier: 1 };
        zipf.h_half = zipf.integral(1.5) - 1.0;
        zipf.h_n = zipf.integral(n as f64 + 0.5);
        zipf.cut = 2.0 - zipf.inverse(zipf.integral(2.5) - libm::pow(2.0, -theta));
        zipf.multiplier = coprime_near_golden(n);
        zipf
    }

    /// Returns the integral of t^-θ over t from 1 to `x`.
    fn integral(&self, x: f64) -> f64 {
        (libm::pow(x, 1.0 - self.theta) - 1.0) / (1.0 - self.theta)
    }

    /// Returns the upper limit for which the integral is `y`.
    fn inverse(&self, y: f64) -> f64 {
        libm::pow(1.0 + y * (1.0 - self.theta), 1.0 / (1.0 - self.theta))
    }

    /// Draws a unit, in 0..n.
    pub(super) fn sample(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.h_n + random.unit() * (self.h_half - self.h_n);
            let x = self.inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, self.n as f64);
            if k - x <= self.cut || u >= self.integral(k + 0.5) - libm::pow(k, -self.theta) {
                return self.scatter(k as u64 - 1);
            }
        }
    }

    /// Returns the unit that has this rank, from 0.
    fn scatter(&self, rank: u64) -> u64 {
        (u128::from(rank) * u128::from(self.multiplier) % u128::from(self.n)) as u64
    }
}

/// Returns a multiplier m near n/φ without a common divisor with n, so that rank ↦ rank · m mod n
/// is a permutation.
fn coprime_near_golden(n: u64) -> u64 {
    let gcd = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let start = ((n as f64) * 0.618_033_988_749_895) as u64;
    (start.max(1)..).find(|m| gcd(*m, n) == 1).unwrap_or(1)
}
