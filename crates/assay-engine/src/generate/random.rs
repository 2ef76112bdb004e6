//! The random numbers of a stream: PCG-64 (O'Neill 2014) with samplers of assay's own, so that a
//! seed gives the same stream with every version of every library.

use assay_spec::Nanos;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A seeded random number generator.
#[derive(Debug)]
pub struct Random(Pcg64Mcg);

impl Random {
    /// Creates the generator for `seed`.
    pub fn new(seed: u64) -> Random {
        Random(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Draws uniformly from 0..n (Lemire 2019, without rejection: the bias is below n / 2⁶⁴).
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0);
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Draws uniformly from 0..1, with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Draws from the exponential distribution with this mean: a gap of a Poisson process.
    pub fn exponential(&mut self, mean: Nanos) -> Nanos {
        // 1 − u is never 0, so the logarithm is finite.
        Nanos((-libm::log(1.0 - self.unit()) * mean.0 as f64) as u64)
    }
}
