//! Flash chips on their buses.
//!
//! A channel is a bus that the dies on it share; it goes to whoever is ready first. A plane has a
//! page register, and with `cache_register` a second one, so that data moves over the bus while the
//! array works. The array is the plane's own or the die's (`plane_mode`). A plane does its
//! operations in the order in which it got them. Terms as in ONFI 1.0.
//!
//! Nothing here knows what a page holds. Mapping layers say where; whoever waits for an operation
//! is told by a [`Notice`]; [`Observer`]s are told everything, which is how [`Checker`] sees the
//! drive.
//!
//! *Invariants.* An array, a register and a channel serve one operation at a time. A plane's array
//! operations begin in the order of its queue.

mod array;
mod ask;
mod bus;
mod checker;
mod geometry;
pub mod observe;
mod ops;

pub use checker::Checker;

use crate::events::Events;
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, PlaneMode};
use geometry::Geometry;
pub use observe::{Asked, Cause, Observer, Operation, Step};
use ops::{Kind, NO_OP, Pool};
use std::collections::VecDeque;

/// A physical page and its plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub plane: u32,
    /// (plane · blocks + block) · pages + page.
    pub page: u32,
}

/// Something that somebody waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The data of a read is in the controller.
    Read(u64),
    /// The data of a program is in its register.
    Loaded(u64),
    /// And in the cells of this plane.
    Programmed(u64, u32),
}

/// Of a program's token: the data is safe only when it is in the cells.
pub(crate) const IN_CELLS: u64 = 1 << 63;

/// Whom nobody tells.
pub(crate) const NOBODY: u64 = u64::MAX;

struct Plane {
    head: u32,
    tail: u32,
    /// The operation whose data is in the register that the bus reaches.
    register: u32,
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

struct Channel {
    now: u32,
    queue: VecDeque<u32>,
}

/// The chips of a drive.
pub(crate) struct Nand {
    pub geometry: Geometry,
    /// The events of the whole drive.
    pub events: Events,
    /// The first of the event slots here: channels, then arrays.
    first_slot: usize,
    planes: Vec<Plane>,
    arrays: Vec<Array>,
    channels: Vec<Channel>,
    pool: Pool,
    read: Nanos,
    /// Of fast and slow pages.
    program: [Nanos; 2],
    erase: Nanos,
    shift: Nanos,
    cache_register: bool,
    multi_plane: bool,
    /// Operations that have not ended.
    pending: u64,
    pub counts: Counts,
    array_total: Nanos,
    channel_total: Nanos,
    observer: Option<Box<dyn Observer>>,
}

/// Operations since the last mark, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub reads: [u64; Cause::COUNT],
    pub programs: [u64; Cause::COUNT],
    pub erases: [u64; Cause::COUNT],
}

impl Counts {
    /// Programs of all causes.
    pub(crate) fn programmed(&self) -> u64 {
        self.programs.iter().sum()
    }
}

impl Nand {
    /// The chips of `spec`; the drive around them has the first `first_slot` event slots.
    pub(crate) fn new(spec: &NandSpec, first_slot: usize) -> Nand {
        let geometry = Geometry::new(spec);
        let plane = || Plane { head: NO_OP, tail: NO_OP, register: NO_OP };
        let array = Array { op: NO_OP, joined: Vec::new(), waits: false, turn: 0 };
        let channel = || Channel { now: NO_OP, queue: VecDeque::new() };
        Nand {
            events: Events::new(first_slot + (spec.channels + spec.planes()) as usize),
            first_slot,
            planes: (0..spec.planes()).map(|_| plane()).collect(),
            arrays: vec![array; geometry.arrays()],
            channels: (0..spec.channels).map(|_| channel()).collect(),
            geometry,
            pool: Pool::new(),
            read: spec.read,
            program: [spec.program, spec.program_slow],
            erase: spec.erase,
            shift: spec.page.time_at(spec.bus),
            cache_register: spec.cache_register,
            multi_plane: spec.plane_mode == PlaneMode::MultiPlane,
            pending: 0,
            counts: Counts::default(),
            array_total: Nanos::ZERO,
            channel_total: Nanos::ZERO,
            observer: None,
        }
    }

    /// Tells every operation from now on to `observer`.
    pub(crate) fn observe(&mut self, observer: Box<dyn Observer>) {
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

    /// Whether `plane` has nothing to do.
    pub(crate) fn is_plane_idle(&self, plane: u32) -> bool {
        let p = &self.planes[plane as usize];
        p.head == NO_OP && p.register == NO_OP && self.is_array_idle(plane)
    }

    fn is_array_idle(&self, plane: u32) -> bool {
        self.arrays[self.geometry.array(plane)].op == NO_OP
    }

    #[inline]
    fn tell(&mut self, cause: Cause, asked: Asked) {
        if let Some(observer) = &mut self.observer {
            observer.asked(cause, &asked);
        }
    }

    #[inline]
    fn program_time(&self, page: u32) -> Nanos {
        if self.program[0] == self.program[1] {
            return self.program[0];
        }
        self.program[(self.geometry.page_in_block(page) & 1) as usize]
    }

    fn array_slot(&self, array: usize) -> usize {
        self.first_slot + self.channels.len() + array
    }

    /// Begins what `plane` can begin.
    fn serve_plane(&mut self, plane: u32) {
        loop {
            let p = &self.planes[plane as usize];
            let (head, register) = (p.head, p.register);
            if head == NO_OP {
                return;
            }
            let idle = self.is_array_idle(plane);
            let op = *self.pool.get(head);
            if op.waits > 0 {
                return;
            }
            if op.kind == Kind::Program {
                // Without a cache register data comes in only while the array is at rest; with one,
                // not while a page is sensed that will need it.
                let room = idle || (self.cache_register && !self.is_sensing(plane));
                if register != NO_OP || !room {
                    return;
                }
                self.take(plane);
                self.planes[plane as usize].register = head;
                self.shift(plane, head);
                continue;
            }
            let loaded = register != NO_OP && self.pool.get(register).kind == Kind::Program;
            let needs_register = op.kind != Kind::Erase && !self.cache_register;
            if !idle || loaded || (needs_register && register != NO_OP) {
                return;
            }
            self.take(plane);
            let duration = match op.kind {
                Kind::Read => self.read,
                Kind::Copy => op.duration,
                _ => self.erase,
            };
            if needs_register {
                self.planes[plane as usize].register = head;
            }
            self.start(plane, head, duration);
        }
    }

    /// Whether the array of `plane` senses, or has sensed, a page of it.
    fn is_sensing(&mut self, plane: u32) -> bool {
        let array = self.geometry.array(plane);
        let index = self.arrays[array].op;
        index != NO_OP && {
            let op = self.pool.get(index);
            op.kind == Kind::Read && op.spot.plane == plane
        }
    }

    /// Removes the head of a plane's queue.
    #[inline]
    fn take(&mut self, plane: u32) {
        let p = &mut self.planes[plane as usize];
        p.head = self.pool.get(p.head).next;
        if p.head == NO_OP {
            p.tail = NO_OP;
        }
    }

    /// The event of `slot` happens.
    #[inline]
    pub(crate) fn happen(&mut self, slot: usize, notices: &mut Vec<Notice>) {
        let index = slot - self.first_slot;
        match index.checked_sub(self.channels.len()) {
            None => self.shifted(index, notices),
            Some(array) => self.array_done(array, notices),
        }
    }

    /// An operation has ended; the one that waits for it may go on.
    #[inline]
    fn end(&mut self, index: u32) {
        self.pending -= 1;
        let waiting = self.pool.get(index).unblocks;
        self.pool.release(index);
        if waiting != NO_OP {
            let op = self.pool.get(waiting);
            op.waits -= 1;
            let plane = op.spot.plane;
            self.serve_plane(plane);
        }
    }

    /// Busy time of all arrays and of all channels since the last mark.
    pub(crate) fn busy(&self) -> (Nanos, Nanos) {
        (self.array_total, self.channel_total)
    }

    /// Starts counting afresh.
    pub(crate) fn mark(&mut self) {
        self.counts = Counts::default();
        (self.array_total, self.channel_total) = (Nanos::ZERO, Nanos::ZERO);
    }
}

#[cfg(test)]
mod tests;
