//! Priority reads: an array suspends programs and erases for the host (Wu and He, FAST 2012).
//!
//! A priority read waits for the operation under way on its array unless that can be suspended, and
//! for no waiting operation. It reads the old copy of a page that is being moved, as long as that
//! exists; a read of a page that gets new data stays in its plane's queue. A latch on the plane
//! takes the page, as the register may hold suspended data. Erases of its block wait for it.
//!
//! No operation waits for ever: the reads that wait at one time are admitted, then one operation of
//! the queues has its turn; and an operation is suspended a limited number of times.

use super::chips::Chips;
use super::geometry::{Geometry, Ppa};
use super::ops::{NO_OP, OpKind};
use crate::events::Queue;
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, SuspendSpec};
use std::collections::{HashMap, VecDeque};

/// The priority reads and suspended operations of all arrays.
pub(super) struct Suspension {
    spec: SuspendSpec,
    arrays: Vec<PriorityReads>,
    /// By plane: its latch for priority reads.
    latches: Vec<Latch>,
    /// Page contents whose program is requested and has not ended; of a move, with the old copy.
    pending_programs: HashMap<PageVersion, Option<PageVersion>>,
    /// By block: the numbers of erases requested, and begun.
    erases: [Vec<u32>; 2],
    /// The number of suspensions since the last mark.
    count: u64,
}

/// The priority reads of an array, and the operation that it suspended for them.
#[derive(Clone, Debug, Default)]
struct PriorityReads {
    /// Reads that have not begun.
    waiting: VecDeque<u32>,
    /// The number of admitted reads: the first of `waiting`, before all other operations.
    admitted: usize,
    /// Whether the operation under way is a priority read.
    is_reading: bool,
    /// The suspended operation, and the time that it has left to run.
    suspended: Option<(u32, Nanos)>,
    /// Whether the array is suspending its operation and cannot sense yet.
    is_suspending: bool,
    /// How often the operation has been suspended, or kept suspended, for reads.
    admissions: u32,
    /// When the operation under way ends.
    ends_at: Nanos,
}

/// A page content between two erases of its block: the page, and the number of erases before.
type PageVersion = (u32, u32);

/// The latch of a plane, where the page of a priority read waits for the bus.
#[derive(Clone, Debug)]
struct Latch {
    /// The read whose page it holds, or `NO_OP`.
    op: u32,
    /// The physical page that it holds, or `NO_OP` if that is not known.
    page: u32,
}

/// What the end of the transfer of a read means for priority reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferEnd {
    /// The read was one of a plane's queue.
    OfQueuedRead,
    /// The read was a priority read.
    OfPriorityRead,
    /// The read was a priority read, and the array that waited for its latch has fallen idle.
    FreesArray,
}

impl Suspension {
    /// Creates the state for the chips of `nand`: no reads, nothing suspended.
    pub(super) fn new(spec: SuspendSpec, nand: &NandSpec, geometry: &Geometry) -> Suspension {
        let blocks = nand.planes() as usize * nand.blocks_per_plane as usize;
        Suspension {
            spec,
            arrays: vec![PriorityReads::default(); geometry.arrays()],
            latches: vec![Latch { op: NO_OP, page: NO_OP }; nand.planes() as usize],
            pending_programs: HashMap::new(),
            erases: [vec![0; blocks], vec![0; blocks]],
            count: 0,
        }
    }

    /// Returns `true` if operations of the queues may begin on `array` when it is idle.
    #[inline]
    pub(super) fn lets_others(&self, array: usize) -> bool {
        self.arrays[array].admitted == 0 && self.arrays[array].suspended.is_none()
    }

    /// Returns `true` if priority reads wait for `array`.
    pub(super) fn has_waiting(&self, array: usize) -> bool {
        !self.arrays[array].waiting.is_empty()
    }

    /// Returns `true` if `array` is suspending its operation.
    #[inline]
    pub(super) fn is_suspending(&self, array: usize) -> bool {
        self.arrays[array].is_suspending
    }

    /// Returns `true` if the operation under way on `array` is a priority read.
    #[inline]
    pub(super) fn has_priority_read(&self, array: usize) -> bool {
        self.arrays[array].is_reading
    }

    /// Notes that operation `index` begins on the array of `plane`; it ends at `end`, or with the
    /// operation under way if `end` is `None`.
    pub(super) fn on_start(&mut self, chips: &Chips, plane: u32, index: u32, end: Option<Nanos>) {
        if let Some(end) = end {
            self.arrays[chips.array_of(plane)].ends_at = end;
        }
        let op = chips.pool.get(index);
        if op.kind == OpKind::Erase {
            self.erases[1][chips.geometry.block(op.ppa.page) as usize] += 1;
        }
    }

    /// Notes that the operation of `array` has ended.
    pub(super) fn on_done(&mut self, array: usize) {
        self.arrays[array].admissions = 0;
    }

    /// Returns the sum of the times that all suspended operations have left to run.
    pub(super) fn left(&self) -> Nanos {
        self.arrays
            .iter()
            .filter_map(|r| r.suspended)
            .fold(Nanos::ZERO, |sum, (_, left)| sum + left)
    }

    /// Notes that the latch of `plane` may not hold what is in the cells any more.
    pub(super) fn invalidate_latch(&mut self, plane: u32) {
        self.latches[plane as usize].page = NO_OP;
    }

    /// Returns the number of suspensions since the last mark.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Sets a mark: the count begins at zero from now on.
    pub(super) fn mark(&mut self) {
        self.count = 0;
    }

    /// Returns the page that a priority read of `ppa` can sense: itself or, if it is being moved,
    /// the old copy. Returns `None` if it gets new data, or if the erase of the old copy has begun.
    pub(super) fn to_read_first(&self, geometry: &Geometry, ppa: Ppa) -> Option<Ppa> {
        let [requested, begun] = &self.erases;
        let block = |page: u32| geometry.block(page) as usize;
        let mut copy = (ppa.page, requested[block(ppa.page)]);
        while let Some(from) = self.pending_programs.get(&copy) {
            copy = (*from)?;
        }
        let is_there = begun[block(copy.0)] == copy.1;
        is_there.then(|| geometry.ppa(copy.0))
    }

    /// Notes a requested program of `to`, with the old copy `from` if it is a move.
    pub(super) fn note_program(&mut self, geometry: &Geometry, to: Ppa, from: Option<Ppa>) {
        let requested = &self.erases[0];
        let copy = |page: u32| (page, requested[geometry.block(page) as usize]);
        let (to, from) = (copy(to.page), from.map(|from| copy(from.page)));
        self.pending_programs.insert(to, from);
    }

    /// Notes that the pages of operation `index` are in the cells.
    pub(super) fn on_programmed(&mut self, chips: &Chips, index: u32) {
        let (first, pages) = (chips.pool.get(index).ppa.page, chips.pages_of(index));
        let begun = self.erases[1][chips.geometry.block(first) as usize];
        for page in first..first + pages {
            self.pending_programs.remove(&(page, begun));
        }
    }

    /// Notes that the erase of `block` is requested.
    pub(super) fn note_erase(&mut self, block: u32) {
        self.erases[0][block as usize] += 1;
    }

    /// Queues priority read `index` of `plane`.
    pub(super) fn enqueue(&mut self, chips: &mut Chips, index: u32, plane: u32) {
        chips.pool.pending += 1;
        let array = chips.array_of(plane);
        self.arrays[array].waiting.push_back(index);
        if chips.arrays[array].op != NO_OP {
            self.suspend(chips, array);
        } else if self.lets_others(array) {
            self.arrays[array].admitted = 1;
            self.serve(chips, array);
        }
    }

    /// Suspends the operation of `array` if possible, unless it would end sooner than that takes.
    fn suspend(&mut self, chips: &mut Chips, array: usize) {
        let (now, spec) = (chips.events.now(), self.spec);
        let reads = &mut self.arrays[array];
        let index = chips.arrays[array].op;
        let can_be = matches!(chips.pool.get(index).kind, OpKind::Program | OpKind::Erase);
        let is_shorter = reads.ends_at > now + spec.suspend;
        if !can_be || !is_shorter || reads.is_suspending || reads.admissions == spec.max_admissions
        {
            return;
        }
        reads.suspended = Some((index, reads.ends_at - now));
        reads.admissions += 1;
        reads.is_suspending = true;
        self.count += 1;
        let slot = chips.geometry.array_slot(array);
        chips.events.call_off(slot);
        let end = chips.events.after(Queue::Other, slot, spec.suspend);
        chips.counts.array_busy += spec.suspend;
        chips.notify_suspension(array, index, end, false);
    }

    /// Suspends the operation of `array`, if possible, for reads that wait.
    pub(super) fn suspend_for_waiting(&mut self, chips: &mut Chips, array: usize) {
        if self.has_waiting(array) {
            self.suspend(chips, array);
        }
    }

    /// Handles the end of the suspend time of `array`: admits and serves the reads that wait.
    pub(super) fn on_suspended(&mut self, chips: &mut Chips, array: usize) {
        chips.arrays[array].op = NO_OP;
        let reads = &mut self.arrays[array];
        reads.is_suspending = false;
        reads.admitted = reads.waiting.len();
        self.serve(chips, array);
    }

    /// Resumes the suspended operation of `array`.
    fn resume(&mut self, chips: &mut Chips, array: usize) {
        let slot = chips.geometry.array_slot(array);
        let resume = self.spec.resume;
        let Some((index, left)) = self.arrays[array].suspended.take() else { return };
        chips.arrays[array].op = index;
        let end = chips.events.after(Queue::Other, slot, resume + left);
        self.arrays[array].ends_at = end;
        chips.counts.array_busy += resume;
        chips.notify_suspension(array, index, end, true);
    }

    /// Admits the reads that wait for `array`, unless a priority read has just ended there.
    pub(super) fn admit(&mut self, array: usize) {
        let reads = &mut self.arrays[array];
        if !std::mem::take(&mut reads.is_reading) {
            reads.admitted = reads.waiting.len();
        }
    }

    /// Begins a priority read on `array`, which is idle, or resumes its suspended operation.
    /// Returns `false` if there is neither, so that operations of the queues may begin.
    pub(super) fn serve(&mut self, chips: &mut Chips, array: usize) -> bool {
        let reads = &mut self.arrays[array];
        if reads.admitted == 0 && reads.suspended.is_some() {
            if reads.waiting.is_empty() || reads.admissions == self.spec.max_admissions {
                self.resume(chips, array);
                return true;
            }
            // It stays suspended: it would be suspended again for the reads that have come.
            reads.admissions += 1;
            reads.admitted = reads.waiting.len();
        }
        if reads.admitted == 0 {
            return false;
        }
        let can_begin = |index: &u32| {
            let plane = chips.pool.get(*index).ppa.plane;
            chips.chip.cache_register || self.latches[plane as usize].op == NO_OP
        };
        // If all admitted reads wait for their latches, the array waits, too.
        let Some(place) = reads.waiting.range(..reads.admitted).position(can_begin) else {
            return true;
        };
        let Some(index) = reads.waiting.remove(place) else { return true };
        reads.admitted -= 1;
        reads.is_reading = true;
        let plane = chips.pool.get(index).ppa.plane;
        let latch = &mut self.latches[plane as usize].page;
        let (queue, duration) = chips.sense_time(index, Some(latch));
        let end = chips.start(plane, index, queue, duration);
        self.on_start(chips, plane, index, end);
        true
    }

    /// Handles the end of the sense of the priority read on `array`. Returns `true` if the array
    /// has fallen idle, `false` if it keeps the page until the latch of the plane is free.
    pub(super) fn on_sensed(&mut self, chips: &mut Chips, array: usize) -> bool {
        let index = chips.arrays[array].op;
        let plane = chips.pool.get(index).ppa.plane;
        let latch = &mut self.latches[plane as usize];
        chips.arrays[array].waits = latch.op != NO_OP;
        if chips.arrays[array].waits {
            return false;
        }
        latch.op = index;
        chips.arrays[array].op = NO_OP;
        chips.transfer(plane, index);
        true
    }

    /// Handles the end of the transfer of read `index` of `plane`.
    pub(super) fn on_transferred(
        &mut self,
        chips: &mut Chips,
        plane: u32,
        index: u32,
    ) -> TransferEnd {
        let latch = &mut self.latches[plane as usize];
        if latch.op != index {
            return TransferEnd::OfQueuedRead;
        }
        latch.op = NO_OP;
        let array = chips.array_of(plane);
        let next = chips.arrays[array].op;
        if next == NO_OP {
            self.serve(chips, array);
        } else if self.has_priority_read(array)
            && chips.arrays[array].waits
            && chips.pool.get(next).ppa.plane == plane
            && self.on_sensed(chips, array)
        {
            return TransferEnd::FreesArray;
        }
        TransferEnd::OfPriorityRead
    }

    /// Delays the erase of the block of read `index`, an old copy, if it is in the plane's queue.
    #[cold]
    pub(super) fn delay_queued_erase(chips: &mut Chips, index: u32) {
        let Ppa { plane, page } = chips.pool.get(index).ppa;
        let some = |index: u32| Some(index).filter(|index| *index != NO_OP);
        let first = some(chips.planes[plane as usize].head);
        let mut queue = std::iter::successors(first, |last| some(chips.pool.get(*last).next));
        let block = chips.geometry.block(page);
        let erase = queue.find(|index| {
            let op = chips.pool.get(*index);
            op.kind == OpKind::Erase && chips.geometry.block(op.ppa.page) == block
        });
        if let Some(erase) = erase {
            chips.pool.get_mut(erase).waits += 1;
            chips.pool.wait_for(erase, &[index]);
        }
    }

    /// Makes the new erase `index` of `plane` wait for the waiting priority reads of its block.
    pub(super) fn delay_new_erase(&self, chips: &mut Chips, index: u32, plane: u32) {
        let block = chips.geometry.block(chips.pool.get(index).ppa.page);
        let waiting = self.arrays[chips.array_of(plane)].waiting.iter().copied();
        // If an earlier erase waits for some of them already, this one is behind it in the queue.
        let is_of = |read: &u32| {
            let read = chips.pool.get(*read);
            chips.geometry.block(read.ppa.page) == block && read.first_waiter == NO_OP
        };
        let before: Vec<u32> = waiting.filter(is_of).collect();
        chips.pool.get_mut(index).waits += before.len() as u16;
        chips.pool.wait_for(index, &before);
    }
}
