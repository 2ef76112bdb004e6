//! Wrong bits, and reads that are tried again.
//!
//! The share of wrong bits of a block grows with its erases by a power law (Mielke et al., IRPS
//! 2008). Those of a codeword are Poisson; a page comes out if none of its codewords has more than
//! can be put right. If it does not, it is sensed again by other voltages, which leaves fewer: for
//! so long its plane does nothing else. The transfers of attempts that fail are not on the bus. A
//! block with one bit a cell has no wrong bits that matter.

use super::{Nand, Spot};
use crate::events::Queue;
use assay_spec::Nanos;
use assay_spec::device::{EccSpec, NandSpec};
use assay_spec::seed::mix;
use std::collections::HashMap;

pub(crate) struct Ecc {
    spec: EccSpec,
    /// Erases after which a block has the share of wrong bits of a worn one.
    cycles: f64,
    /// Bits of a codeword, and codewords of a page.
    bits: f64,
    codewords: f64,
    /// By block: how often it has been erased.
    erases: Vec<u32>,
    /// Reads under way that will not come out.
    failing: Vec<u32>,
    /// By erases: the chances that so many attempts are enough, of 2⁶⁴.
    chances: HashMap<u32, Vec<u64>>,
    /// By plane: reads that were drawn for. What two planes do at once has no order.
    reads: Vec<u64>,
    /// Attempts beyond the first, and pages given up, since the last mark.
    pub retries: u64,
    pub lost: u64,
}

impl Ecc {
    /// For the chips of `nand`, whose blocks take `cycles` erases in the mean.
    pub(crate) fn new(spec: EccSpec, nand: &NandSpec, cycles: Option<u32>) -> Ecc {
        Ecc {
            spec,
            cycles: f64::from(cycles.unwrap_or(1)),
            bits: spec.codeword.0 as f64 * 8.0,
            codewords: (nand.page.0 as f64 / spec.codeword.0 as f64).max(1.0),
            erases: Vec::new(),
            failing: Vec::new(),
            chances: HashMap::new(),
            reads: vec![0; nand.planes() as usize],
            retries: 0,
            lost: 0,
        }
    }

    /// What a read of `spot`, in `block`, takes beyond the first attempt, and whether it comes out.
    pub(super) fn read(&mut self, spot: Spot, block: u32) -> (Nanos, bool) {
        let erases = self.erases[block as usize];
        let reads = &mut self.reads[spot.plane as usize];
        *reads += 1;
        let draw = mix(mix(*reads) ^ u64::from(spot.page));
        let (spec, cycles) = (self.spec, self.cycles);
        let (bits, codewords) = (self.bits, self.codewords);
        let chances = self.chances.entry(erases).or_insert_with(|| {
            let wrong = wrong_bits(&spec, f64::from(erases) / cycles);
            let enough = |attempt: u32| {
                let mean = bits * wrong / spec.gain.powi(attempt as i32);
                (at_most(spec.corrects, mean).powf(codewords) * u64::MAX as f64) as u64
            };
            (0..=spec.retries).map(enough).collect()
        });
        let enough = chances.iter().position(|chance| draw < *chance);
        let retries = enough.map_or(spec.retries, |n| n as u32);
        self.retries += u64::from(retries);
        self.lost += u64::from(enough.is_none());
        (spec.retry * u64::from(retries), enough.is_some())
    }

    pub(super) fn mark(&mut self) {
        (self.retries, self.lost) = (0, 0);
    }
}

/// The share of wrong bits of a block that has had `share` of its erases.
fn wrong_bits(spec: &EccSpec, share: f64) -> f64 {
    (spec.fresh + (spec.worn - spec.fresh) * share.powf(spec.growth)).min(0.5)
}

/// The chance that a Poisson number of this mean is no more than `most`.
fn at_most(most: u32, mean: f64) -> f64 {
    if mean == 0.0 {
        return 1.0;
    }
    // The terms by their logarithms: the first may be too small for a number.
    let mut log = -mean;
    let mut sum = log.exp();
    for k in 1..=most {
        log += mean.ln() - f64::from(k).ln();
        sum += log.exp();
    }
    sum.min(1.0)
}

impl Nand {
    /// Wrong bits matter from now on; the blocks have been erased so often.
    pub(crate) fn has_wrong_bits(&mut self, ecc: Ecc, erases: &[u32]) {
        self.ecc = Some(Box::new(Ecc { erases: erases.to_vec(), ..ecc }));
    }

    /// After a power cut blocks are found to have been erased so often.
    pub(crate) fn finds_erases(&mut self, erases: &[u32]) {
        self.ecc.iter_mut().for_each(|ecc| ecc.erases.copy_from_slice(erases));
    }

    /// The read `head` begins, which takes so long if it comes out at once: how long it takes.
    #[cold]
    pub(super) fn sense_until_right(
        &mut self,
        head: u32,
        queue: Queue,
        duration: Nanos,
    ) -> (Queue, Nanos) {
        let (spot, is_slc) = (self.pool.get(head).spot, self.pool.get(head).is_slc);
        let block = self.geometry.block(spot.page);
        // What is in the register already has been put right, or not.
        let Some(ecc) = self.ecc.as_mut().filter(|_| duration > Nanos::ZERO && !is_slc) else {
            return (queue, duration);
        };
        let (more, is_right) = ecc.read(spot, block);
        if !is_right {
            ecc.failing.push(head);
        }
        match more {
            Nanos::ZERO => (queue, duration),
            more => (Queue::Other, duration + more),
        }
    }

    /// Whether the data of read `index`, which is through, is lost.
    #[cold]
    pub(super) fn is_lost(&mut self, index: u32) -> bool {
        let Some(ecc) = &mut self.ecc else { return false };
        let Some(at) = ecc.failing.iter().position(|failing| *failing == index) else {
            return false;
        };
        ecc.failing.swap_remove(at);
        true
    }

    /// Erase `index` is done.
    #[cold]
    pub(super) fn note_erase(&mut self, index: u32) {
        let block = self.geometry.block(self.pool.get(index).spot.page);
        self.ecc.iter_mut().for_each(|ecc| ecc.erases[block as usize] += 1);
    }

    /// Attempts at reads beyond the first, and pages given up, since the last mark; nothing if
    /// there are no wrong bits that matter.
    pub(crate) fn tried_again(&self) -> Option<(u64, u64)> {
        self.ecc.as_ref().map(|ecc| (ecc.retries, ecc.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_of_poisson_numbers() {
        // By hand: e⁻² (1 + 2 + 2), and what tables say of a mean of 100.
        assert!((at_most(2, 2.0) - 5.0 * (-2.0_f64).exp()).abs() < 1e-12);
        assert!((at_most(100, 100.0) - 0.526_562).abs() < 1e-6);
        assert!((at_most(1100, 1000.0) - 0.999_1).abs() < 1e-4);
        assert_eq!((at_most(5, 0.0), at_most(5, 5000.0)), (1.0, 0.0));
    }
}
