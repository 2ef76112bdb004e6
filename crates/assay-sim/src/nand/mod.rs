//! Flash chips on their buses.
//!
//! A channel is a bus that the dies on it share; it goes to whoever is ready first. A plane has a
//! page register, and with `cache_register` a second one, so that data moves over the bus while the
//! array works. The array is the plane's own or the die's (`plane_mode`). A plane does its
//! operations in the order in which it got them. Terms as in ONFI 1.0.
//!
//! Nothing here knows what a page holds; the mapping layers do. A [`FlashEvent`] ends an operation
//! that somebody waits for. [`Observer`]s see every command and every step: that is how a
//! [`Checker`] follows the drive.
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
use pending_erases::Replacing;
use plane_fast_path::PlaneFastPath;
use std::collections::VecDeque;
use suspend::Suspension;

/// A physical page and its plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ppa {
    pub plane: u32,
    /// (plane · blocks + block) · pages + page.
    pub page: u32,
}

/// Something that somebody waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlashEvent {
    /// The data of a read is in the controller.
    Read(u64),
    /// The data of a program is in its register.
    Loaded(u64),
    /// And in the cells of this plane.
    Programmed(u64, u32),
}

/// Of a program's token: the data is safe only when it is in the cells.
pub(crate) const IN_CELLS: u64 = 1 << 63;

/// Of a token of the host: operations of collection were before it on its plane when it was asked
/// for. Pages need one bit less.
pub(crate) const BEHIND: u64 = 1 << 31;

/// The logical page that a token is about.
#[inline]
pub(crate) fn page_of(token: u64) -> u32 {
    (token & !BEHIND) as u32
}

/// Whom nobody tells.
pub(crate) const NOBODY: u64 = u64::MAX;

/// A plane: the operations it has to begin, from `head` to `tail` (which means nothing if there is
/// no head), and what it belongs to.
struct Plane {
    head: u32,
    tail: u32,
    /// The operation whose data is in the register that the bus reaches.
    register: u32,
    array: u32,
    channel: u32,
    /// Operations of collection that wait here or are under way.
    collecting: u32,
}

/// A cell array: what it does, or holds sensed because the register is not free.
#[derive(Clone, Debug)]
struct Array {
    op: u32,
    /// Programs of other planes that are one with it.
    joined: Vec<u32>,
    /// It has sensed a page that waits for its plane's register.
    waits: bool,
    /// The plane served first when the array falls idle.
    turn: u32,
}

/// A bus: what is on it, and who waits for it, from first to last.
struct Channel {
    now: u32,
    first: u32,
    last: u32,
}

/// Held programs that will begin together.
struct Batch {
    programs: Vec<u32>,
    /// How many of them are not loaded.
    loading: usize,
}

/// The chips of a drive.
pub(crate) struct Nand {
    pub geometry: Geometry,
    /// The events of the whole drive.
    pub events: Events,
    /// The first of the event slots here: of channels, then of arrays. (Of servers: of planes that
    /// send, then of planes.)
    first_slot: usize,
    first_array: usize,
    planes: Vec<Plane>,
    arrays: Vec<Array>,
    channels: Vec<Channel>,
    pool: Pool,
    batches: Vec<Batch>,
    /// Programs of several pages, if there are such.
    multi_page: Option<MultiPage>,
    /// By plane: erases for when it has nothing else to do; and how many there are.
    erases: Vec<VecDeque<u32>>,
    erases_left: usize,
    replacing: Replacing,
    /// Wrong bits, if there are any that matter.
    ecc: Option<Box<Ecc>>,
    /// Planes that do one thing at a time, as long as nobody looks; and whether they could be.
    fast_path: Option<Box<PlaneFastPath>>,
    fits_fast_path: bool,
    /// Reads that go before others, if they do.
    suspension: Option<Box<Suspension>>,
    /// Blocks wait to be erased until what replaced their pages is in the cells.
    keeps_replaced: bool,
    read: Nanos,
    /// Of fast and slow pages.
    program: [Nanos; 2],
    erase: Nanos,
    /// Read and program of a page with one bit a cell.
    slc: [Nanos; 2],
    shift: Nanos,
    cache_register: bool,
    multi_plane: bool,
    /// Operations that have not ended.
    pending: u64,
    pub counts: Counts,
    array_total: Nanos,
    channel_total: Nanos,
    /// Reads and programs of the host that wait behind collection: until the page is in the
    /// controller, or in its register, less what that takes alone.
    behind: [Waits; 2],
    /// How many do.
    behind_open: [usize; 2],
    observer: Option<Box<dyn Observer>>,
}

impl Nand {
    /// The chips of `spec`; the drive around them has the first `first_slot` event slots.
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
            replacing: Replacing::new(spec),
            ecc: None,
            fast_path: None,
            fits_fast_path: PlaneFastPath::fit(spec),
            suspension: spec.suspend.map(|how| Box::new(Suspension::new(how, spec, &geometry))),
            keeps_replaced: false,
            read: spec.read,
            program: [spec.program, spec.program_slow],
            erase: spec.erase,
            slc: spec.slc.map_or([spec.read, spec.program], |slc| [slc.read, slc.program]),
            shift: spec.page.time_at(spec.bus),
            cache_register: spec.cache_register,
            multi_plane: spec.plane_mode == PlaneMode::MultiPlane,
            pending: 0,
            counts: Counts::default(),
            array_total: Nanos::ZERO,
            channel_total: Nanos::ZERO,
            behind: Default::default(),
            behind_open: [0; 2],
            observer: None,
            geometry,
        }
    }

    /// Tells every operation to `observer`; before the first.
    pub(crate) fn observe(&mut self, observer: Box<dyn Observer>) {
        self.fast_path = None;
        self.observer = Some(observer);
    }

    /// The observer, if there is one: what stands around the flash tells of itself, too.
    #[inline]
    pub(crate) fn observer(&mut self) -> Option<&mut (dyn Observer + 'static)> {
        self.observer.as_deref_mut()
    }

    /// Whether nothing is under way or waiting.
    pub(crate) fn is_idle(&self) -> bool {
        self.pending == 0
    }

    /// Whether nothing is under way: what waits, if anything does, waits for what has not been
    /// asked.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.arrays.iter().all(|a| a.op == NO_OP)
            && self.channels.iter().all(|c| c.now == NO_OP)
            && self.fast_path.as_ref().is_none_or(|fast_path| fast_path.are_idle())
    }

    #[inline]
    fn notify_command(&mut self, cause: Cause, command: FlashCommand) {
        if let Some(observer) = &mut self.observer {
            observer.command(cause, &command);
        }
        if self.ecc.is_some() {
            self.note_command(&command);
        }
    }

    /// How long a program of `page` takes, and with which others it is queued.
    #[inline]
    fn program_time(&self, page: u32) -> (Queue, Nanos) {
        let [fast, slow] = self.program;
        match fast == slow || self.geometry.page_in_block(page) & 1 == 0 {
            true => (Queue::Program, fast),
            false => (Queue::ProgramSlow, slow),
        }
    }

    #[inline]
    fn array_slot(&self, array: usize) -> usize {
        self.first_array + array
    }

    /// The event of `slot`, which was in `queue`, happens.
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
            // Several pages, or a page with one bit a cell, take another time.
            Queue::Shift => self.on_transfer_done(slot - self.first_slot, flash_events),
            Queue::Other if slot < self.first_array => {
                self.on_transfer_done(slot - self.first_slot, flash_events);
            }
            Queue::Sense => self.on_sensed(slot - self.first_array),
            Queue::Other => self.other(slot - self.first_array, flash_events),
            _ => self.on_array_done(slot - self.first_array, flash_events),
        }
    }

    /// What takes a time of its own on an array ends.
    fn other(&mut self, array: usize, flash_events: &mut Vec<FlashEvent>) {
        if self.is_left(array) {
            self.has_left(array);
        } else if self.is_sensed(array) {
            self.on_sensed(array);
        } else {
            self.on_array_done(array, flash_events);
        }
    }

    /// Busy time of all arrays and of all channels since the last mark, until now.
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

    /// What is counted of the time of arrays and of channels and has not passed: each step is
    /// counted as a whole when it begins.
    fn ahead(&self) -> [Nanos; 2] {
        let left = self.suspension.as_ref().map_or(Nanos::ZERO, |suspension| suspension.left());
        let mut ahead = [left, Nanos::ZERO];
        for (slot, at) in self.events.pending().filter(|(slot, _)| *slot >= self.first_slot) {
            ahead[usize::from(slot < self.first_array)] += at - self.events.now();
        }
        ahead
    }

    /// Number and time of the host's waits behind collection until now: of reads, and of programs.
    pub(crate) fn waited_behind(&self, now: Nanos) -> [(u64, Nanos); 2] {
        [0, 1].map(|i| {
            let waits = &self.behind[i];
            (waits.count(), waits.total(now, self.behind_open[i]))
        })
    }

    /// A wait behind collection has ended.
    #[cold]
    fn not_behind(&mut self, kind: usize) {
        self.behind_open[kind] -= 1;
        self.behind[kind].end(self.events.now());
    }

    /// Starts counting afresh.
    pub(crate) fn mark(&mut self) {
        let now = self.events.now();
        for (waits, open) in self.behind.iter_mut().zip(self.behind_open) {
            waits.mark(now, open);
        }
        self.counts = Counts::default();
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
