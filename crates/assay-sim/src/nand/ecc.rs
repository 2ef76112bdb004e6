//! Bit errors and read retries.
//!
//! The bit error rate of a block grows with its erases by a power law (Mielke et al., IRPS 2008).
//! The bit errors of a codeword are Poisson; a page is read if none of its codewords has more than
//! the code corrects. Otherwise the page is sensed again with other voltages, which leaves fewer
//! errors, and the plane is busy for that time. The transfers of failed attempts are not on the
//! bus. A block with one bit a cell has no bit errors that matter.
//!
//! The number of attempts that a page needs depends on its cells and its erases only: it is the
//! same each time. Data made of a page that cannot be corrected is lost with it, wherever it is
//! copied, until it is written anew.

use assay_spec::Nanos;
use assay_spec::device::{EccSpec, NandSpec};
use assay_spec::seed::mix;
use std::collections::HashSet;

/// The model of bit errors, and the pages lost to them.
pub(crate) struct Ecc {
    spec: EccSpec,
    /// The erases after which a block has the bit error rate of a worn one.
    cycles: f64,
    /// The bits of a codeword.
    bits: f64,
    /// The codewords of a page.
    codewords: f64,
    /// By block: the number of its erases.
    erases: Vec<u32>,
    /// By erases: the chances, in units of 2⁻⁶⁴, that 0, 1, 2 ... retries suffice; empty until
    /// computed.
    chances: Vec<Vec<u64>>,
    /// Physical pages whose data is lost.
    lost: HashSet<u32>,
    /// Read attempts beyond the first since the last mark.
    retries: u64,
    /// Reads that failed in all attempts, since the last mark.
    given_up: u64,
}

impl Ecc {
    /// Builds the model for the chips of `nand`, whose blocks last `cycles` erases on average (1 if
    /// `None`). `erases` gives the erases so far by block; a block that it leaves out has none.
    pub(crate) fn new(spec: EccSpec, nand: &NandSpec, cycles: Option<u32>, erases: &[u32]) -> Ecc {
        let mut known = vec![0; (nand.planes() * nand.blocks_per_plane) as usize];
        known.iter_mut().zip(erases).for_each(|(own, erases)| *own = *erases);
        Ecc {
            spec,
            cycles: f64::from(cycles.unwrap_or(1)),
            bits: spec.codeword.0 as f64 * 8.0,
            codewords: (nand.page.0 as f64 / spec.codeword.0 as f64).max(1.0),
            erases: known,
            chances: Vec::new(),
            lost: HashSet::new(),
            retries: 0,
            given_up: 0,
        }
    }

    /// Returns the attempts beyond the first that `page` of `block` needs, or `None` if all would
    /// fail.
    pub(super) fn attempts(&mut self, page: u32, block: u32) -> Option<u32> {
        let erases = self.erases[block as usize];
        let draw = mix(mix(u64::from(page)) ^ u64::from(erases));
        if self.chances.len() <= erases as usize {
            self.chances.resize(erases as usize + 1, Vec::new());
        }
        if self.chances[erases as usize].is_empty() {
            self.chances[erases as usize] = self.chances_at(erases);
        }
        let enough = self.chances[erases as usize].iter().position(|chance| draw < *chance);
        enough.map(|attempts| attempts as u32)
    }

    /// Computes the chances for a block with `erases` erases; see the field `chances`.
    fn chances_at(&self, erases: u32) -> Vec<u64> {
        let wrong = wrong_bits(&self.spec, f64::from(erases) / self.cycles);
        let enough = |attempt: u32| {
            let mean = self.bits * wrong / self.spec.gain.powi(attempt as i32);
            (at_most(self.spec.corrects, mean).powf(self.codewords) * u64::MAX as f64) as u64
        };
        (0..=self.spec.retries).map(enough).collect()
    }

    /// Counts the attempts beyond the first of a read of `page`; returns the time that they take,
    /// or `None` if there are none.
    #[inline]
    pub(super) fn time_retries(&mut self, page: u32, block: u32) -> Option<Nanos> {
        let enough = self.attempts(page, block);
        let retries = enough.unwrap_or(self.spec.retries);
        self.retries += u64::from(retries);
        self.given_up += u64::from(enough.is_none());
        (retries > 0).then(|| self.spec.retry * u64::from(retries))
    }

    /// Counts an erase of `block`.
    pub(super) fn count_erase(&mut self, block: u32) {
        self.erases[block as usize] += 1;
    }

    /// Sets the numbers of erases to those that are found, block by block, after a power failure.
    pub(super) fn set_erases(&mut self, erases: impl Iterator<Item = u32>) {
        self.erases.iter_mut().zip(erases).for_each(|(own, erases)| *own = erases);
    }

    /// Returns `true` if the numbers of erases equal `erases`, by block.
    pub(super) fn has_erases(&self, erases: &[u32]) -> bool {
        self.erases.iter().zip(erases).all(|(a, b)| a == b)
    }

    /// Notes that the data of physical page `page` is lost, or that it is not.
    pub(super) fn set_lost(&mut self, page: u32, is_lost: bool) {
        match is_lost {
            true => self.lost.insert(page),
            false => self.lost.remove(&page),
        };
    }

    /// Returns `true` if the data of physical page `page` was made of lost data.
    pub(super) fn is_lost(&self, page: u32) -> bool {
        self.lost.contains(&page)
    }

    /// Returns the read attempts beyond the first and the failed reads since the last mark.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.retries, self.given_up)
    }

    /// Sets a mark: counts begin at zero from now on.
    pub(super) fn mark(&mut self) {
        (self.retries, self.given_up) = (0, 0);
    }
}

/// Returns the bit error rate of a block that has had `share` of its rated erases.
fn wrong_bits(spec: &EccSpec, share: f64) -> f64 {
    (spec.fresh + (spec.worn - spec.fresh) * share.powf(spec.growth)).min(0.5)
}

/// Returns the chance that a Poisson variable with mean `mean` is at most `most`.
fn at_most(most: u32, mean: f64) -> f64 {
    if mean == 0.0 {
        return 1.0;
    }
    // The terms are computed by their logarithms: the first may be too small for an `f64`.
    let (mut log, each) = (-mean, mean.ln());
    let mut sum = log.exp();
    for k in 1..=most {
        log += each - f64::from(k).ln();
        sum += log.exp();
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_of_poisson_numbers() {
        // By hand: e⁻² (1 + 2 + 2), and from tables for a mean of 100.
        assert!((at_most(2, 2.0) - 5.0 * (-2.0_f64).exp()).abs() < 1e-12);
        assert!((at_most(100, 100.0) - 0.526_562).abs() < 1e-6);
        assert!((at_most(1100, 1000.0) - 0.999_1).abs() < 1e-4);
        assert_eq!((at_most(5, 0.0), at_most(5, 5000.0)), (1.0, 0.0));
    }
}
