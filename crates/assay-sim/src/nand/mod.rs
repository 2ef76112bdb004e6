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

mod array;
mod bus;
mod cells;
mod checker;
mod chip;
mod commands;
mod counts;
mod ecc;
mod erase;
mod fast_path;
mod gather;
mod geometry;
mod multi_page;
pub mod observe;
mod ops;
mod pending_erases;
mod plane_fast_path;
mod priority_reads;
mod record;
mod retries;
mod suspension;
mod token;

pub use cells::{BlockFound, Flash, Found, OutOfBand};
pub use checker::Checker;
pub(crate) use ecc::Ecc;

use crate::events::{Events, Queue};
use assay_spec::Nanos;
use assay_spec::device::NandSpec;
use chip::Chip;
use counts::{CollectionWait, Counts};
use geometry::Geometry;
pub(crate) use geometry::Ppa;
use multi_page::MultiPage;
pub use observe::{Cause, FlashCommand, Observed, Observer, Operation, Step};
use ops::{NO_OP, Pool};
use pending_erases::PendingErases;
use plane_fast_path::PlaneFastPath;
use priority_reads::Suspension;
pub use record::Record;
pub(crate) use token::{FlashEvent, Token, Waiter};

/// A plane: its queue of operations that have not begun, its register, array and channel.
struct Plane {
    /// The first operation of the queue, or `NO_OP`.
    head: u32,
    /// The last operation of the queue; meaningless if `head` is `NO_OP`.
    tail: u32,
    /// The operation whose data is in the register that the bus reaches.
    register: u32,
    array: u32,
    channel: u32,
    /// The number of operations of collection that wait on this plane or are under way.
    collecting: u32,
}

/// A cell array.
#[derive(Clone, Debug)]
struct CellArray {
    /// The operation under way, or the read whose sensed page waits for a register.
    op: u32,
    /// Programs of other planes in the same multi-plane program.
    joined: Vec<u32>,
    /// Whether the array holds a sensed page that waits for its plane's register.
    waits: bool,
    /// The index, within the planes of the array, of the plane served first when the array falls
    /// idle.
    turn: u32,
}

/// A bus.
struct Channel {
    /// The operation whose page it transfers, or `NO_OP`.
    now: u32,
    /// The first operation that waits for it, or `NO_OP`.
    first: u32,
    /// The last operation that waits for it; meaningless if `first` is `NO_OP`.
    last: u32,
}

/// Held programs that will begin together.
struct Batch {
    programs: Vec<u32>,
    /// The number of programs that are not loaded yet.
    loading: usize,
}

/// The flash chips of a drive.
pub(crate) struct Nand {
    pub geometry: Geometry,
    /// The events of the whole drive.
    pub events: Events,
    planes: Vec<Plane>,
    arrays: Vec<CellArray>,
    channels: Vec<Channel>,
    pool: Pool,
    batches: Vec<Batch>,
    /// Programs of several pages, if the chips have them.
    multi_page: Option<MultiPage>,
    erases: PendingErases,
    /// The model of bit errors and read retries, if the drive has one.
    ecc: Option<Box<Ecc>>,
    /// The fast path for planes that do one operation at a time; only without an observer.
    fast_path: Option<Box<PlaneFastPath>>,
    /// Priority reads and suspended operations, if the chips can suspend.
    suspension: Option<Box<Suspension>>,
    chip: Chip,
    pub counts: Counts,
    /// The observer of all commands and steps, if there is one.
    observer: Option<Box<dyn Observer>>,
}

impl Nand {
    /// Builds the chips of `spec`; the drive around them has the first `first_slot` event slots.
    pub(crate) fn new(spec: &NandSpec, first_slot: usize) -> Nand {
        let geometry = Geometry::new(spec, first_slot);
        let plane = |index: u32| Plane {
            head: NO_OP,
            tail: NO_OP,
            register: NO_OP,
            array: geometry.array(index) as u32,
            channel: geometry.channel(index) as u32,
            collecting: 0,
        };
        let array = CellArray { op: NO_OP, joined: Vec::new(), waits: false, turn: 0 };
        let channel = || Channel { now: NO_OP, first: NO_OP, last: NO_OP };
        Nand {
            events: Events::new(first_slot + (spec.channels + spec.planes()) as usize),
            planes: (0..spec.planes()).map(plane).collect(),
            arrays: vec![array; geometry.arrays()],
            channels: (0..spec.channels).map(|_| channel()).collect(),
            pool: Pool::new(),
            batches: Vec::new(),
            multi_page: MultiPage::new(spec),
            erases: PendingErases::new(spec),
            ecc: None,
            fast_path: None,
            suspension: spec.suspend.map(|how| Box::new(Suspension::new(how, spec, &geometry))),
            chip: Chip::new(spec),
            counts: Counts::new(),
            observer: None,
            geometry,
        }
    }

    /// Sends every command and step to `observer`, and leaves the fast path. Call before the first
    /// request.
    pub(crate) fn observe(&mut self, observer: Box<dyn Observer>) {
        self.fast_path = None;
        self.observer = Some(observer);
    }

    /// Returns the observer, if there is one. The parts around the flash report to it, too.
    #[inline]
    pub(crate) fn observer(&mut self) -> Option<&mut (dyn Observer + 'static)> {
        self.observer.as_deref_mut()
    }

    /// Returns `true` if no operation is under way or waiting.
    pub(crate) fn is_idle(&self) -> bool {
        self.pool.pending == 0
    }

    /// Returns `true` if no array and no channel is busy. Operations may wait even then, for
    /// operations that have not been requested.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.arrays.iter().all(|a| a.op == NO_OP)
            && self.channels.iter().all(|c| c.now == NO_OP)
            && self.fast_path.as_ref().is_none_or(|fast_path| fast_path.are_idle())
    }

    /// Reports `command` to the observer and to the model of bit errors.
    #[inline]
    fn notify_command(&mut self, cause: Cause, command: FlashCommand) {
        if self.observer.is_some() || self.ecc.is_some() {
            self.notify_followers(cause, command);
        }
    }

    #[inline(never)]
    fn notify_followers(&mut self, cause: Cause, command: FlashCommand) {
        if let Some(observer) = &mut self.observer {
            observer.observe(Observed::Command(cause, command));
        }
        if self.ecc.is_some() {
            self.note_command(&command);
        }
    }

    /// Handles the event of `slot`, which was in `queue`.
    #[inline(always)]
    pub(crate) fn on_event(
        &mut self,
        queue: Queue,
        slot: usize,
        flash_events: &mut Vec<FlashEvent>,
    ) {
        if self.fast_path.is_some() {
            return self.on_plane_done(slot, flash_events);
        }
        match queue {
            // Transfers of several pages and operations on pages with one bit a cell are in
            // `Queue::Other`.
            Queue::Transfer => {
                self.on_transfer_done(self.geometry.channel_of_slot(slot), flash_events);
            }
            Queue::Other if self.geometry.is_channel_slot(slot) => {
                self.on_transfer_done(self.geometry.channel_of_slot(slot), flash_events);
            }
            Queue::Sense => self.on_sensed(self.geometry.array_of_slot(slot)),
            Queue::Other => {
                self.on_other_array_event(self.geometry.array_of_slot(slot), flash_events);
            }
            _ => self.on_array_done(self.geometry.array_of_slot(slot), flash_events),
        }
    }

    /// Handles the end of a step of `array` that was in `Queue::Other`.
    fn on_other_array_event(&mut self, array: usize, flash_events: &mut Vec<FlashEvent>) {
        if self.is_suspending(array) {
            self.on_suspended(array);
        } else if self.is_sensed(array) {
            self.on_sensed(array);
        } else {
            self.on_array_done(array, flash_events);
        }
    }

    /// Returns the busy time of all arrays and of all channels from the last mark until now.
    pub(crate) fn busy(&self) -> [Nanos; 2] {
        let counted = [self.counts.array_busy, self.counts.channel_busy];
        match &self.fast_path {
            Some(fast_path) => fast_path.busy(counted, self.events.now()),
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
        for (slot, at) in
            self.events.pending().filter(|(slot, _)| *slot >= self.geometry.channel_slot(0))
        {
            ahead[usize::from(self.geometry.is_channel_slot(slot))] += at - self.events.now();
        }
        ahead
    }

    /// Returns number and time of the host's waits behind collection until `now`: of reads, of
    /// programs.
    pub(crate) fn waited_behind(&self, now: Nanos) -> [(u64, Nanos); 2] {
        [CollectionWait::Read, CollectionWait::Program].map(|wait| self.counts.waited(wait, now))
    }

    /// Sets a mark: counts and busy times begin at zero from now on.
    pub(crate) fn mark(&mut self) {
        let now = self.events.now();
        let ahead = match &mut self.fast_path {
            Some(fast_path) => {
                fast_path.mark(now);
                [Nanos::ZERO; 2]
            }
            None => self.ahead(),
        };
        self.counts.mark(now, ahead);
        self.ecc.iter_mut().for_each(|ecc| ecc.mark());
        self.suspension.iter_mut().for_each(|suspension| suspension.count = 0);
    }
}

#[cfg(test)]
mod tests;
