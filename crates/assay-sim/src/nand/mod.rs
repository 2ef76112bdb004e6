//! NAND flash chips and the channels that connect them to the controller.
//!
//! A channel is a bus that its dies share; it serves requests in the order in which they come. A
//! plane has a page register and, with `cache_register`, a cache register, so that the bus
//! transfers data while the array works. Each plane or each die has an array (`plane_mode`). A
//! plane serves its operations in the order in which it got them. Terms as in ONFI 1.0.
//!
//! The mapping layers, not this module, know what a page holds. A [`FlashEvent`] reports the end of
//! an operation that has a token. [`Observer`]s see every command and every step; a [`Checker`]
//! follows the drive through them.
//!
//! *Invariants.* An array, a register and a channel serve one operation at a time. A plane's array
//! operations begin in the order of its queue.

mod bus;
mod cells;
mod checker;
mod chip;
mod chips;
mod commands;
mod counts;
mod dispatch;
mod ecc;
mod gather;
mod geometry;
mod multi_page;
pub mod observe;
mod ops;
mod pending_erases;
mod plane_fast_path;
mod record;
mod suspension;
mod token;

pub use cells::{BlockFound, Flash, Found, OutOfBand};
pub use checker::Checker;
pub(crate) use ecc::Ecc;

use crate::events::{Events, Queue};
use assay_spec::Nanos;
use assay_spec::device::NandSpec;
use chips::Chips;
use counts::CollectionWait;
pub(crate) use geometry::Ppa;
pub use observe::{Cause, FlashCommand, Observed, Observer, Operation, Step};
use ops::NO_OP;
use pending_erases::PendingErases;
use plane_fast_path::PlaneFastPath;
pub use record::Record;
use suspension::Suspension;
pub(crate) use token::{FlashEvent, Token, Waiter};

/// Held programs that will begin together.
struct Batch {
    programs: Vec<u32>,
    /// The number of programs that are not loaded yet.
    loading: usize,
}

/// The flash of a drive: chips, buses, and the operations that wait for them.
pub(crate) struct Nand {
    pub chips: Chips,
    batches: Vec<Batch>,
    erases: PendingErases,
    /// The fast path for planes that do one operation at a time; only without an observer.
    fast_path: Option<Box<PlaneFastPath>>,
    /// Priority reads and suspended operations, if the chips can suspend.
    suspension: Option<Box<Suspension>>,
}

impl Nand {
    /// Builds the chips of `spec`; the drive around them has the first `first_slot` event slots.
    pub(crate) fn new(spec: &NandSpec, first_slot: usize) -> Nand {
        let chips = Chips::new(spec, first_slot);
        let suspension = |how| Box::new(Suspension::new(how, spec, &chips.geometry));
        Nand {
            batches: Vec::new(),
            erases: PendingErases::new(spec),
            fast_path: None,
            suspension: spec.suspend.map(suspension),
            chips,
        }
    }

    /// Switches to the fast path if the chips allow it and there is neither an observer nor a model
    /// of bit errors. Call before the first request, and only for a drive whose operations wait for
    /// nothing but their turn on the plane, and that itself waits for the cells, not for registers.
    pub(crate) fn use_plane_fast_path(&mut self, spec: &NandSpec) {
        if PlaneFastPath::fit(spec) && self.chips.observer.is_none() && self.chips.ecc.is_none() {
            let fast_path = PlaneFastPath::new(&self.chips);
            self.chips.events = Events::new(fast_path.slots());
            self.fast_path = Some(Box::new(fast_path));
        }
    }

    /// Returns `true` if the fast path is in use.
    #[cfg(test)]
    pub(crate) fn uses_plane_fast_path(&self) -> bool {
        self.fast_path.is_some()
    }

    /// Sends every command and step to `observer`, and leaves the fast path. Call before the first
    /// request.
    pub(crate) fn observe(&mut self, observer: Box<dyn Observer>) {
        self.fast_path = None;
        self.chips.observer = Some(observer);
    }

    /// Returns the observer, if there is one. The parts around the flash report to it, too.
    #[inline]
    pub(crate) fn observer(&mut self) -> Option<&mut (dyn Observer + 'static)> {
        self.chips.observer.as_deref_mut()
    }

    /// Returns the present time.
    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        self.chips.events.now()
    }

    /// Returns `true` if reads may have bit errors.
    #[inline]
    pub(crate) fn has_ecc(&self) -> bool {
        self.chips.ecc.is_some()
    }

    /// Makes reads have the bit errors of `ecc` from now on.
    pub(crate) fn set_ecc(&mut self, ecc: Ecc) {
        self.chips.ecc = Some(Box::new(ecc));
    }

    /// Sets the numbers of erases to those that are found, block by block, after a power failure.
    pub(crate) fn set_erases(&mut self, erases: impl Iterator<Item = u32>) {
        if let Some(ecc) = &mut self.chips.ecc {
            ecc.set_erases(erases);
        }
    }

    /// Returns `true` if the erases known here equal `erases`, by block, or there are no bit
    /// errors.
    pub(crate) fn has_erases(&self, erases: &[u32]) -> bool {
        self.chips.ecc.as_ref().is_none_or(|ecc| ecc.has_erases(erases))
    }

    /// Notes that the data to be programmed to `ppa` is lost, or a part of it.
    pub(crate) fn note_lost(&mut self, ppa: Ppa) {
        self.chips.ecc.iter_mut().for_each(|ecc| ecc.set_lost(ppa.page, true));
    }

    /// Returns the read attempts beyond the first and the failed reads since the last mark, or
    /// `None` if there are no bit errors.
    pub(crate) fn retry_counts(&self) -> Option<(u64, u64)> {
        self.chips.ecc.as_ref().map(|ecc| ecc.counts())
    }

    /// Returns the suspensions since the last mark, or `None` if the chips cannot suspend.
    pub(crate) fn suspensions(&self) -> Option<u64> {
        self.suspension.as_ref().map(|suspension| suspension.count())
    }

    /// Returns `true` if no operation is under way or waiting.
    pub(crate) fn is_idle(&self) -> bool {
        self.chips.pool.pending == 0
    }

    /// Returns `true` if `plane` has no operation under way or waiting.
    pub(crate) fn is_plane_idle(&self, plane: u32) -> bool {
        if let Some(fast_path) = &self.fast_path {
            return fast_path.is_idle(plane);
        }
        let p = &self.chips.planes[plane as usize];
        let has_readers = |s: &Suspension| s.has_waiting(p.array as usize);
        p.head == NO_OP
            && p.register == NO_OP
            && self.is_array_idle(plane)
            && !self.suspension.as_deref().is_some_and(has_readers)
    }

    /// Returns `true` if no array and no channel is busy. Operations may wait even then, for
    /// operations that have not been requested.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.chips.arrays.iter().all(|a| a.op == NO_OP)
            && self.chips.channels.iter().all(|c| c.now == NO_OP)
            && self.fast_path.as_ref().is_none_or(|fast_path| fast_path.are_idle())
    }

    /// Handles the event of `slot`, which was in `queue`.
    #[inline(always)]
    pub(crate) fn on_event(
        &mut self,
        queue: Queue,
        slot: usize,
        flash_events: &mut Vec<FlashEvent>,
    ) {
        if let Some(fast_path) = &mut self.fast_path {
            return fast_path.on_event(&mut self.chips, slot, flash_events);
        }
        match queue {
            // Transfers of several pages and operations on pages with one bit a cell are in
            // `Queue::Other`.
            Queue::Transfer => {
                self.on_transfer_done(self.chips.geometry.channel_of_slot(slot), flash_events);
            }
            Queue::Other if self.chips.geometry.is_channel_slot(slot) => {
                self.on_transfer_done(self.chips.geometry.channel_of_slot(slot), flash_events);
            }
            Queue::Sense => self.on_sensed(self.chips.geometry.array_of_slot(slot)),
            Queue::Other => {
                self.on_other_array_event(self.chips.geometry.array_of_slot(slot), flash_events);
            }
            _ => self.on_array_done(self.chips.geometry.array_of_slot(slot), flash_events),
        }
    }

    /// Handles the end of a step of `array` that was in `Queue::Other`.
    fn on_other_array_event(&mut self, array: usize, flash_events: &mut Vec<FlashEvent>) {
        if let Some(suspension) = &mut self.suspension
            && suspension.is_suspending(array)
        {
            suspension.on_suspended(&mut self.chips, array);
        } else if self.chips.has_read(array) {
            self.on_sensed(array);
        } else {
            self.on_array_done(array, flash_events);
        }
    }

    /// Begins erases on the planes that are idle.
    #[inline]
    pub(crate) fn erase_on_idle_planes(&mut self) {
        if self.erases.has_waiting() {
            (0..self.chips.planes.len() as u32).for_each(|plane| self.erase_one_if_idle(plane));
        }
    }

    /// Begins an erase that waits on `plane` if all planes of its array are idle.
    #[inline]
    pub(super) fn erase_if_idle(&mut self, plane: u32) {
        if self.erases.has_waiting() {
            self.erase_one_if_idle(plane);
        }
    }

    /// Does the work of [`Nand::erase_if_idle`] when erases wait somewhere.
    #[cold]
    fn erase_one_if_idle(&mut self, plane: u32) {
        if !self.erases.has_idle_erase(plane) {
            return;
        }
        let array = self.chips.array_of(plane);
        let mut planes = self.chips.geometry.planes_of_array(array).iter();
        if !planes.all(|plane| self.is_plane_idle(plane)) {
            return;
        }
        if let Some(index) = self.erases.take_first(plane) {
            self.chips.count_collecting(plane, self.chips.pool.get(index).cause);
            self.start(plane, index, Queue::Other, self.chips.chip.erase);
        }
    }

    /// Returns the busy time of all arrays and of all channels from the last mark until now.
    pub(crate) fn busy(&self) -> [Nanos; 2] {
        let counted = [self.chips.counts.array_busy, self.chips.counts.channel_busy];
        match &self.fast_path {
            Some(fast_path) => fast_path.busy(counted, self.chips.events.now()),
            None => {
                let ahead = self.ahead();
                [0, 1].map(|i| counted[i] - ahead[i])
            }
        }
    }

    /// Returns the part of the counted array and bus time that lies in the future: each step is
    /// counted as a whole when it begins.
    fn ahead(&self) -> [Nanos; 2] {
        let left = self.suspension.as_ref().map_or(Nanos::ZERO, |suspension| suspension.left());
        let mut ahead = [left, Nanos::ZERO];
        for (slot, at) in self
            .chips
            .events
            .pending()
            .filter(|(slot, _)| *slot >= self.chips.geometry.channel_slot(0))
        {
            ahead[usize::from(self.chips.geometry.is_channel_slot(slot))] +=
                at - self.chips.events.now();
        }
        ahead
    }

    /// Returns number and time of the host's waits behind collection until `now`: of reads, of
    /// programs.
    pub(crate) fn waited_behind(&self, now: Nanos) -> [(u64, Nanos); 2] {
        [CollectionWait::Read, CollectionWait::Program]
            .map(|wait| self.chips.counts.waited(wait, now))
    }

    /// Sets a mark: counts and busy times begin at zero from now on.
    pub(crate) fn mark(&mut self) {
        let now = self.chips.events.now();
        let ahead = match &mut self.fast_path {
            Some(fast_path) => {
                fast_path.mark(now);
                [Nanos::ZERO; 2]
            }
            None => self.ahead(),
        };
        self.chips.counts.mark(now, ahead);
        self.chips.ecc.iter_mut().for_each(|ecc| ecc.mark());
        self.suspension.iter_mut().for_each(|suspension| suspension.mark());
    }
}

#[cfg(test)]
mod tests;
