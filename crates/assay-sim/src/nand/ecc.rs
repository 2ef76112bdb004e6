//! Wrong bits, and reads that are tried again.
//!
//! The share of wrong bits of a block grows with its erases by a power law (Mielke et al., IRPS
//! 2008). Those of a codeword are Poisson; a page comes out if none of its codewords has more than
//! can be put right. If it does not, it is sensed again by other voltages, which leaves fewer: for
//! so long its plane does nothing else. The transfers of attempts that fail are not on the bus. A
//! block with one bit a cell has no wrong bits that matter.
//!
//! How many attempts a page needs is a matter of its cells and how often they were erased: it is
//! the same each time. What is made of a page that cannot be put right is lost with it, wherever
//! it goes, until it is written anew.

use super::{FlashCommand, Nand, Ppa};
use crate::events::Queue;
use assay_spec::Nanos;
use assay_spec::device::{EccSpec, NandSpec};
use assay_spec::seed::mix;
use std::collections::HashSet;

pub(crate) struct Ecc {
    spec: EccSpec,
    /// Erases after which a block has the share of wrong bits of a worn one.
    cycles: f64,
    /// Bits of a codeword, and codewords of a page.
    bits: f64,
    codewords: f64,
    /// By block: how often it has been erased.
    erases: Vec<u32>,
    /// By erases: the chances that so many attempts are enough, of 2⁶⁴; empty if not known yet.
    chances: Vec<Vec<u64>>,
    /// Physical pages whose contents are not what they should be.
    lost: HashSet<u32>,
    /// Attempts beyond the first, and pages given up, since the last mark.
    pub retries: u64,
    pub given_up: u64,
}

impl Ecc {
    /// For the chips of `nand`, whose blocks take `cycles` erases in the mean, and have been erased
    /// so often; never, if nothing is said.
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

    /// Attempts beyond the first that page `page` of `block` needs, if any number is enough.
    fn attempts(&mut self, page: u32, block: u32) -> Option<u32> {
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

    fn chances_at(&self, erases: u32) -> Vec<u64> {
        let wrong = wrong_bits(&self.spec, f64::from(erases) / self.cycles);
        let enough = |attempt: u32| {
            let mean = self.bits * wrong / self.spec.gain.powi(attempt as i32);
            (at_most(self.spec.corrects, mean).powf(self.codewords) * u64::MAX as f64) as u64
        };
        (0..=self.spec.retries).map(enough).collect()
    }

    pub(super) fn mark(&mut self) {
        (self.retries, self.given_up) = (0, 0);
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
    let (mut log, each) = (-mean, mean.ln());
    let mut sum = log.exp();
    for k in 1..=most {
        log += each - f64::from(k).ln();
        sum += log.exp();
    }
    sum.min(1.0)
}

impl Nand {
    /// Whether wrong bits matter.
    #[inline]
    pub(crate) fn has_ecc(&self) -> bool {
        self.ecc.is_some()
    }

    /// They do from now on.
    pub(crate) fn has_wrong_bits(&mut self, ecc: Ecc) {
        self.ecc = Some(Box::new(ecc));
    }

    /// After a power cut blocks are found to have been erased so often.
    pub(crate) fn finds_erases(&mut self, erases: impl Iterator<Item = u32>) {
        let Some(ecc) = &mut self.ecc else { return };
        ecc.erases.iter_mut().zip(erases).for_each(|(own, erases)| *own = erases);
    }

    /// Whether the blocks have been erased as often as is known here.
    pub(crate) fn knows_erases(&self, erases: &[u32]) -> bool {
        self.ecc.as_ref().is_none_or(|ecc| ecc.erases.iter().zip(erases).all(|(a, b)| a == b))
    }

    /// The read `head` begins, which takes so long if it comes out at once: how long it takes.
    pub(super) fn sense_until_right(
        &mut self,
        head: u32,
        queue: Queue,
        duration: Nanos,
    ) -> (Queue, Nanos) {
        let (page, is_slc) = (self.pool.get(head).ppa.page, self.pool.get(head).is_slc);
        let block = self.geometry.block(page);
        let Some(ecc) = self.ecc.as_mut().filter(|_| !is_slc) else { return (queue, duration) };
        let enough = ecc.attempts(page, block);
        let retries = enough.unwrap_or(ecc.spec.retries);
        ecc.retries += u64::from(retries);
        ecc.given_up += u64::from(enough.is_none());
        match retries {
            0 => (queue, duration),
            _ => (Queue::Other, duration + ecc.spec.retry * u64::from(retries)),
        }
    }

    /// Whether what `ppa` holds, or is getting, cannot be had any more.
    pub(crate) fn is_lost(&mut self, ppa: Ppa) -> bool {
        let is_slc = self.has_multi_page() && self.is_slc(ppa.page);
        let (block, is_buffered) = (self.geometry.block(ppa.page), self.is_buffered(ppa));
        let Some(ecc) = &mut self.ecc else { return false };
        let is_sensed = !is_slc && !is_buffered;
        ecc.lost.contains(&ppa.page) || is_sensed && ecc.attempts(ppa.page, block).is_none()
    }

    /// What `ppa` is getting is lost, or a part of it.
    pub(crate) fn note_lost(&mut self, ppa: Ppa) {
        self.ecc.iter_mut().for_each(|ecc| ecc.lost.extend([ppa.page]));
    }

    /// What is asked for leaves what was lost behind, or takes it along.
    pub(super) fn note_command(&mut self, command: &FlashCommand) {
        let (to, is_lost) = match *command {
            FlashCommand::Read { .. } => return,
            FlashCommand::Program { page, .. } => (page, false),
            FlashCommand::Copy { from, to } => (to, self.is_lost(self.geometry.ppa(from))),
            FlashCommand::Erase { page } => {
                let block = self.geometry.block(page);
                self.ecc.iter_mut().for_each(|ecc| ecc.erases[block as usize] += 1);
                return;
            }
        };
        let Some(ecc) = &mut self.ecc else { return };
        match is_lost {
            true => ecc.lost.insert(to),
            false => ecc.lost.remove(&to),
        };
    }

    /// Attempts at reads beyond the first, and pages given up, since the last mark; nothing if
    /// there are no wrong bits that matter.
    pub(crate) fn tried_again(&self) -> Option<(u64, u64)> {
        self.ecc.as_ref().map(|ecc| (ecc.retries, ecc.given_up))
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
