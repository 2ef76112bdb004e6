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
mod commands;
mod counts;
mod ecc;
mod geometry;
mod multi_page;
pub mod observe;
mod ops;
mod pending_erases;
mod plane_fast_path;
mod suspend;
mod token;

pub use cells::{BlockFound, Flash, Found, OutOfBand, Record};
pub use checker::Checker;
pub(crate) use ecc::Ecc;

use crate::events::{Events, Queue};
use crate::waits::Waits;
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, PlaneMode};
use counts::Counts;
use geometry::Geometry;
use multi_page::MultiPage;
pub use observe::{Cause, FlashCommand, Observer, Operation, Step};
use ops::{NO_OP, Pool};
use pending_erases::EraseDependencies;
use plane_fast_path::PlaneFastPath;
use std::collections::VecDeque;
use suspend::Suspension;
pub(crate) use token::{Token, Waiter};

/// A physical page address and the plane of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ppa {
    /// The number of the plane within the drive.
    pub plane: u32,
    /// (plane · blocks + block) · pages + page.
    pub page: u32,
}

/// The end of an operation, or of a part of it, with the token of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlashEvent {
    /// The data of a read is in the controller.
    Read(Token),
    /// The data of a program is in the register of its plane.
    Loaded(Token),
    /// The data of a program is in the cells of the plane given second.
    Programmed(Token, u32),
}

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
struct Array {
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
    /// The first event slot of the channels. On the fast path: of the planes as they send a page.
    first_slot: usize,
    /// The first event slot of the arrays, behind those of the channels.
    first_array: usize,
    planes: Vec<Plane>,
    arrays: Vec<Array>,
    channels: Vec<Channel>,
    pool: Pool,
    batches: Vec<Batch>,
    /// Programs of several pages, if the chips have them.
    multi_page: Option<MultiPage>,
    /// By plane: erases to begin when the plane has nothing else to do.
    erases: Vec<VecDeque<u32>>,
    /// The number of erases in `erases`, and of those that wait for replacers outside the queues.
    erases_left: usize,
    /// Erases that wait for programs of other planes.
    replacing: EraseDependencies,
    /// The model of bit errors and read retries, if the drive has one.
    ecc: Option<Box<Ecc>>,
    /// The fast path for planes that do one operation at a time; only without an observer.
    fast_path: Option<Box<PlaneFastPath>>,
    /// Whether the chips allow the fast path.
    fits_fast_path: bool,
    /// Priority reads and suspended operations, if the chips can suspend.
    suspension: Option<Box<Suspension>>,
    /// Whether a block is erased only after the programs that replaced its pages are in the cells.
    keeps_replaced: bool,
    /// The time to sense a page.
    read: Nanos,
    /// The times to program a fast page and a slow page.
    program: [Nanos; 2],
    /// The time to erase a block.
    erase: Nanos,
    /// The times to sense and to program a page with one bit a cell.
    slc: [Nanos; 2],
    /// The time to transfer a page over the bus.
    page_transfer: Nanos,
    /// Whether planes have a cache register.
    cache_register: bool,
    /// Whether the planes of a die program together.
    multi_plane: bool,
    /// The number of operations queued or under way.
    pending: u64,
    pub counts: Counts,
    /// Array time since the last mark. A step counts as a whole when it begins, on the fast path
    /// when it ends.
    array_total: Nanos,
    /// Bus time since the last mark, counted in the same way as `array_total`.
    channel_total: Nanos,
    /// Waits of the host's reads and programs behind collection: until the page is in the
    /// controller, or in its register, less the time that takes alone.
    collection_waits: [Waits; 2],
    /// The numbers of the host's reads and programs that wait behind collection now.
    open_collection_waits: [usize; 2],
    /// The observer of all commands and steps, if there is one.
    observer: Option<Box<dyn Observer>>,
}

impl Nand {
    /// Builds the chips of `spec`; the drive around them has the first `first_slot` event slots.
    pub(crate) fn new(spec: &NandSpec, first_slot: usize) -> Nand {
        let geometry = Geometry::new(spec);
        let plane = |index: u32| Plane {
            head: NO_OP,
            tail: NO_OP,
            register: NO_OP,
            array: geometry.array(index) as u32,
            channel: geometry.channel(index) as u32,
            collecting: 0,
        };
        let array = Array { op: NO_OP, joined: Vec::new(), waits: false, turn: 0 };
        let channel = || Channel { now: NO_OP, first: NO_OP, last: NO_OP };
        Nand {
            events: Events::new(first_slot + (spec.channels + spec.planes()) as usize),
            first_slot,
            first_array: first_slot + spec.channels as usize,
            planes: (0..spec.planes()).map(plane).collect(),
            arrays: vec![array; geometry.arrays()],
            channels: (0..spec.channels).map(|_| channel()).collect(),
            pool: Pool::new(),
            batches: Vec::new(),
            multi_page: MultiPage::new(spec),
            erases: vec![VecDeque::new(); spec.planes() as usize],
            erases_left: 0,
            replacing: EraseDependencies::new(spec),
            ecc: None,
            fast_path: None,
            fits_fast_path: PlaneFastPath::fit(spec),
            suspension: spec.suspend.map(|how| Box::new(Suspension::new(how, spec, &geometry))),
            keeps_replaced: false,
            read: spec.read,
            program: [spec.program, spec.program_slow],
            erase: spec.erase,
            slc: spec.slc.map_or([spec.read, spec.program], |slc| [slc.read, slc.program]),
            page_transfer: spec.page.time_at(spec.bus),
            cache_register: spec.cache_register,
            multi_plane: spec.plane_mode == PlaneMode::MultiPlane,
            pending: 0,
            counts: Counts::default(),
            array_total: Nanos::ZERO,
            channel_total: Nanos::ZERO,
            collection_waits: Default::default(),
            open_collection_waits: [0; 2],
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
        self.pending == 0
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
        if let Some(observer) = &mut self.observer {
            observer.command(cause, &command);
        }
        if self.ecc.is_some() {
            self.note_command(&command);
        }
    }

    /// Returns the event queue and the time of a program of `page`.
    #[inline]
    fn program_time(&self, page: u32) -> (Queue, Nanos) {
        let [fast, slow] = self.program;
        match fast == slow || self.geometry.page_in_block(page) & 1 == 0 {
            true => (Queue::Program, fast),
            false => (Queue::ProgramSlow, slow),
        }
    }

    /// Returns the event slot of `array`.
    #[inline]
    fn array_slot(&self, array: usize) -> usize {
        self.first_array + array
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
            Queue::Transfer => self.on_transfer_done(slot - self.first_slot, flash_events),
            Queue::Other if slot < self.first_array => {
                self.on_transfer_done(slot - self.first_slot, flash_events);
            }
            Queue::Sense => self.on_sensed(slot - self.first_array),
            Queue::Other => self.on_other_array_event(slot - self.first_array, flash_events),
            _ => self.on_array_done(slot - self.first_array, flash_events),
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
        let counted = [self.array_total, self.channel_total];
        match &self.fast_path {
            Some(fast_path) => fast_path.busy(counted, self.events.now()),
            None => {
                let ahead = self.ahead();
                [0, 1].map(|i| counted[i] - ahead[i])
            }
        }
    }

    /// Returns the part of `array_total` and `channel_total` that lies in the future: each step is
    /// counted as a whole when it begins.
    fn ahead(&self) -> [Nanos; 2] {
        let left = self.suspension.as_ref().map_or(Nanos::ZERO, |suspension| suspension.left());
        let mut ahead = [left, Nanos::ZERO];
        for (slot, at) in self.events.pending().filter(|(slot, _)| *slot >= self.first_slot) {
            ahead[usize::from(slot < self.first_array)] += at - self.events.now();
        }
        ahead
    }

    /// Returns number and time of the host's waits behind collection until `now`: of reads, of
    /// programs.
    pub(crate) fn waited_behind(&self, now: Nanos) -> [(u64, Nanos); 2] {
        [0, 1].map(|i| {
            let waits = &self.collection_waits[i];
            (waits.count(), waits.total(now, self.open_collection_waits[i]))
        })
    }

    /// Ends a wait behind collection: of a read if `kind` is 0, of a program if it is 1.
    #[cold]
    fn end_collection_wait(&mut self, kind: usize) {
        self.open_collection_waits[kind] -= 1;
        self.collection_waits[kind].end(self.events.now());
    }

    /// Sets a mark: counts and busy times begin at zero from now on.
    pub(crate) fn mark(&mut self) {
        let now = self.events.now();
        for (waits, open) in self.collection_waits.iter_mut().zip(self.open_collection_waits) {
            waits.mark(now, open);
        }
        self.counts.mark();
        [self.array_total, self.channel_total] = match &mut self.fast_path {
            Some(fast_path) => {
                fast_path.mark(now);
                [Nanos::ZERO; 2]
            }
            None => self.ahead(),
        };
        self.ecc.iter_mut().for_each(|ecc| ecc.mark());
        self.suspension.iter_mut().for_each(|suspension| suspension.count = 0);
    }
}

#[cfg(test)]
mod tests;
