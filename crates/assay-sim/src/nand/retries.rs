//! Reads of pages with bit errors: retries, and data that is lost (`ecc.rs`).

use super::ecc::Ecc;
use super::{FlashCommand, Nand, Ppa};
use crate::events::Queue;
use assay_spec::Nanos;

impl Nand {
    /// Returns `true` if reads may have bit errors.
    #[inline]
    pub(crate) fn has_ecc(&self) -> bool {
        self.ecc.is_some()
    }

    /// Makes reads have the bit errors of `ecc` from now on.
    pub(crate) fn set_ecc(&mut self, ecc: Ecc) {
        self.ecc = Some(Box::new(ecc));
    }

    /// Sets the numbers of erases to those that are found, block by block, after a power failure.
    pub(crate) fn set_erases(&mut self, erases: impl Iterator<Item = u32>) {
        let Some(ecc) = &mut self.ecc else { return };
        ecc.erases.iter_mut().zip(erases).for_each(|(own, erases)| *own = erases);
    }

    /// Returns `true` if the erases known here equal `erases`, by block, or there are no bit
    /// errors.
    pub(crate) fn has_erases(&self, erases: &[u32]) -> bool {
        self.ecc.as_ref().is_none_or(|ecc| ecc.erases.iter().zip(erases).all(|(a, b)| a == b))
    }

    /// Returns the event queue and the array time, with its retries, of read `head`, which begins
    /// now and takes `duration` without retries.
    pub(super) fn sense_until_right(
        &mut self,
        head: u32,
        queue: Queue,
        duration: Nanos,
    ) -> (Queue, Nanos) {
        let (page, is_slc) = (self.pool.get(head).ppa.page, self.pool.get(head).is_slc);
        let block = self.geometry.block(page);
        let Some(ecc) = self.ecc.as_mut().filter(|_| !is_slc) else { return (queue, duration) };
        match ecc.time_retries(page, block) {
            None => (queue, duration),
            Some(more) => (Queue::Other, duration + more),
        }
    }

    /// Returns `true` if the data that `ppa` holds, or is to hold, cannot be read any more.
    pub(crate) fn is_lost(&mut self, ppa: Ppa) -> bool {
        let is_slc = self.has_multi_page() && self.is_slc(ppa.page);
        let (block, is_buffered) = (self.geometry.block(ppa.page), self.is_buffered(ppa));
        let Some(ecc) = &mut self.ecc else { return false };
        let is_sensed = !is_slc && !is_buffered;
        ecc.lost.contains(&ppa.page) || is_sensed && ecc.attempts(ppa.page, block).is_none()
    }

    /// Notes that the data to be programmed to `ppa` is lost, or a part of it.
    pub(crate) fn note_lost(&mut self, ppa: Ppa) {
        self.ecc.iter_mut().for_each(|ecc| ecc.lost.extend([ppa.page]));
    }

    /// Follows `command`: a copy takes lost data along, a program replaces it, an erase counts.
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

    /// Returns the read attempts beyond the first and the failed reads since the last mark, or
    /// `None` if there are no bit errors.
    pub(crate) fn retry_counts(&self) -> Option<(u64, u64)> {
        self.ecc.as_ref().map(|ecc| (ecc.retries, ecc.given_up))
    }
}
