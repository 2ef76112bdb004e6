//! The random numbers of a stream: PCG-64 (O'Neill 2014), and our own samplers on top, so that a
//! seed means the same stream in every version of every library.

use assay_spec::Nanos;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A seeded generator.
#[derive(Debug)]
pub struct Random(Pcg64Mcg);

impl Random {
    /// The generator of `seed`.
    pub fn new(seed: u64) -> Random {
        Random(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Uniform in 0..n (Lemire 2019, without rejection: the bias is below n / 2⁶⁴).
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0);
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in 0..1, 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Exponential with the given mean; the gaps of a Poisson process.
    pub fn exponential(&mut self, mean: Nanos) -> Nanos {
        // 1 − u is never 0, so the logarithm is finite.
        Nanos((-libm::log(1.0 - self.unit()) * mean.0 as f64) as u64)
    }
}
