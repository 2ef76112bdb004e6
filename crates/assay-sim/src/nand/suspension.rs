//! Priority reads: an array suspends programs and erases for the host (Wu and He, FAST 2012).
//!
//! A priority read waits for the operation under way on its array unless that can be suspended, and
//! for no waiting operation. It reads the old copy of a page that is being moved, as long as that
//! exists; a read of a page that gets new data stays in its plane's queue. A latch on the plane
//! takes the page, as the register may hold suspended data. Erases of its block wait for it.
//!
//! No operation waits for ever: the reads that wait at one time are admitted, then one operation of
//! the queues has its turn; and an operation is suspended a limited number of times.

use super::ops::{NO_OP, OpKind};
use super::{Nand, Ppa};
use crate::events::Queue;

impl Nand {
    /// Returns the page that a priority read of `ppa` can sense: itself or, if it is being moved,
    /// the old copy. Returns `None` if it gets new data, or if the erase of the old copy has begun.
    pub(super) fn to_read_first(&self, ppa: Ppa) -> Option<Ppa> {
        let suspension = self.suspension.as_ref()?;
        let [requested, begun] = &suspension.erases;
        let block = |page: u32| self.geometry.block(page) as usize;
        let mut copy = (ppa.page, requested[block(ppa.page)]);
        while let Some(from) = suspension.pending_programs.get(&copy) {
            copy = (*from)?;
        }
        let is_there = begun[block(copy.0)] == copy.1;
        is_there.then(|| self.geometry.ppa(copy.0))
    }

    /// Notes a requested program of `to`, with the old copy `from` if it is a move.
    #[inline]
    pub(super) fn note_write(&mut self, to: Ppa, from: Option<Ppa>) {
        let Some(suspension) = &mut self.suspension else { return };
        let requested = &suspension.erases[0];
        let copy = |page: u32| (page, requested[self.geometry.block(page) as usize]);
        let (to, from) = (copy(to.page), from.map(|from| copy(from.page)));
        suspension.pending_programs.insert(to, from);
    }

    /// Notes that the pages of operation `index` are in the cells.
    pub(super) fn note_written(&mut self, index: u32) {
        let (first, pages) = (self.pool.get(index).ppa.page, self.pages_of(index));
        let Some(suspension) = &mut self.suspension else { return };
        let begun = suspension.erases[1][self.geometry.block(first) as usize];
        for page in first..first + pages {
            suspension.pending_programs.remove(&(page, begun));
        }
    }

    /// Notes that the erase of the block of `page` is requested.
    #[inline]
    pub(super) fn note_erase(&mut self, page: u32) {
        if let Some(suspension) = &mut self.suspension {
            suspension.erases[0][self.geometry.block(page) as usize] += 1;
        }
    }

    /// Notes that the erase of the block of `page` begins.
    pub(super) fn note_erasing(&mut self, page: u32) {
        if let Some(suspension) = &mut self.suspension {
            suspension.erases[1][self.geometry.block(page) as usize] += 1;
        }
    }

    /// Queues priority read `index` of `plane`.
    pub(super) fn enqueue_priority_read(&mut self, index: u32, plane: u32) {
        self.pool.pending += 1;
        let array = self.planes[plane as usize].array as usize;
        let Some(suspension) = &mut self.suspension else { return };
        suspension.arrays[array].waiting.push_back(index);
        if self.arrays[array].op != NO_OP {
            self.suspend(array);
        } else if suspension.lets_others(array) {
            suspension.arrays[array].admitted = 1;
            self.serve_priority_reads(array);
        }
    }

    /// Delays the erase of the block of read `index`, an old copy, if it is in the plane's queue.
    #[cold]
    pub(super) fn hold_up_erase(&mut self, index: u32) {
        let Ppa { plane, page } = self.pool.get(index).ppa;
        let some = |index: u32| Some(index).filter(|index| *index != NO_OP);
        let first = some(self.planes[plane as usize].head);
        let mut queue = std::iter::successors(first, |last| some(self.pool.get(*last).next));
        let block = self.geometry.block(page);
        let erase = queue.find(|index| {
            let op = self.pool.get(*index);
            op.kind == OpKind::Erase && self.geometry.block(op.ppa.page) == block
        });
        if let Some(erase) = erase {
            self.pool.get_mut(erase).waits += 1;
            self.wait_for(erase, &[index]);
        }
    }

    /// Suspends the operation of `array` if possible, unless it would end sooner than that takes.
    fn suspend(&mut self, array: usize) {
        let Some(suspension) = &mut self.suspension else { return };
        let (now, spec) = (self.events.now(), suspension.spec);
        let reads = &mut suspension.arrays[array];
        let index = self.arrays[array].op;
        let can_be = matches!(self.pool.get(index).kind, OpKind::Program | OpKind::Erase);
        let is_shorter = reads.ends_at > now + spec.suspend;
        if !can_be || !is_shorter || reads.is_suspending || reads.admissions == spec.max_admissions
        {
            return;
        }
        reads.suspended = Some((index, reads.ends_at - now));
        reads.admissions += 1;
        reads.is_suspending = true;
        suspension.count += 1;
        let slot = self.geometry.array_slot(array);
        self.events.call_off(slot);
        let end = self.events.after(Queue::Other, slot, spec.suspend);
        self.counts.array_busy += spec.suspend;
        self.notify_suspension(array, index, end, false);
    }

    /// Handles the end of the suspend time of `array`: admits and serves the reads that wait.
    pub(super) fn on_suspended(&mut self, array: usize) {
        self.arrays[array].op = NO_OP;
        let Some(suspension) = &mut self.suspension else { return };
        let reads = &mut suspension.arrays[array];
        reads.is_suspending = false;
        reads.admitted = reads.waiting.len();
        self.serve_priority_reads(array);
    }

    /// Resumes the suspended operation of `array`.
    fn resume(&mut self, array: usize) {
        let slot = self.geometry.array_slot(array);
        let Some(suspension) = &mut self.suspension else { return };
        let resume = suspension.spec.resume;
        let Some((index, left)) = suspension.arrays[array].suspended.take() else { return };
        self.arrays[array].op = index;
        let end = self.events.after(Queue::Other, slot, resume + left);
        suspension.note_end(array, end);
        self.counts.array_busy += resume;
        self.notify_suspension(array, index, end, true);
    }

    /// Begins a priority read on `array`, which is idle, or resumes its suspended operation.
    /// Returns `false` if there is neither, so that operations of the queues may begin.
    pub(super) fn serve_priority_reads(&mut self, array: usize) -> bool {
        let Some(suspension) = &mut self.suspension else { return false };
        let reads = &mut suspension.arrays[array];
        if reads.admitted == 0 && reads.suspended.is_some() {
            if reads.waiting.is_empty() || reads.admissions == suspension.spec.max_admissions {
                self.resume(array);
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
            let plane = self.pool.get(*index).ppa.plane;
            self.chip.cache_register || suspension.latches[plane as usize].op == NO_OP
        };
        // If all admitted reads wait for their latches, the array waits, too.
        let Some(place) = reads.waiting.range(..reads.admitted).position(can_begin) else {
            return true;
        };
        let Some(index) = reads.waiting.remove(place) else { return true };
        reads.admitted -= 1;
        reads.is_reading = true;
        let plane = self.pool.get(index).ppa.plane;
        let (queue, duration) = self.sense_time(index);
        self.start(plane, index, queue, duration);
        true
    }

    /// Serves `array`, now idle: admits the reads that wait, unless a priority read has just ended;
    /// then serves admitted reads, or else the planes.
    pub(super) fn serve_array_and_reads(&mut self, array: usize) {
        let admit = |nand: &mut Nand| {
            let Some(suspension) = &mut nand.suspension else { return };
            let reads = &mut suspension.arrays[array];
            if !std::mem::take(&mut reads.is_reading) {
                reads.admitted = reads.waiting.len();
            }
        };
        admit(self);
        if self.serve_priority_reads(array) {
            return;
        }
        self.serve_planes_of(array);
        if self.arrays[array].op == NO_OP {
            admit(self);
            self.serve_priority_reads(array);
        } else if self.suspension.as_ref().is_some_and(|s| s.has_waiting(array)) {
            // A queued operation has its turn, but is suspended if possible for reads that wait.
            self.suspend(array);
        }
    }

    /// Handles the end of the sense of a priority read on `plane`.
    pub(super) fn on_priority_sensed(&mut self, array: usize, plane: u32) {
        let Some(suspension) = &mut self.suspension else { return };
        let index = self.arrays[array].op;
        let latch = &mut suspension.latches[plane as usize];
        self.arrays[array].waits = latch.op != NO_OP;
        if self.arrays[array].waits {
            // The page stays on the array until the transfer of the one before it ends.
            return;
        }
        latch.op = index;
        self.arrays[array].op = NO_OP;
        self.transfer(plane, index);
        self.serve_array(array);
    }

    /// Handles the end of the transfer of read `index`; returns `true` if it was a priority read.
    pub(super) fn on_priority_transferred(&mut self, plane: u32, index: u32) -> bool {
        let Some(suspension) = &mut self.suspension else { return false };
        let latch = &mut suspension.latches[plane as usize];
        if latch.op != index {
            return false;
        }
        latch.op = NO_OP;
        let array = self.planes[plane as usize].array as usize;
        let next = self.arrays[array].op;
        if next == NO_OP {
            self.serve_priority_reads(array);
        } else if suspension.is_in(array)
            && self.arrays[array].waits
            && self.pool.get(next).ppa.plane == plane
        {
            self.on_priority_sensed(array, plane);
        }
        true
    }

    /// Makes the new erase `index` of `plane` wait for the waiting priority reads of its block.
    pub(super) fn delay_behind_reads(&mut self, index: u32, plane: u32) {
        let Some(suspension) = &self.suspension else { return };
        let array = self.planes[plane as usize].array as usize;
        let block = self.geometry.block(self.pool.get(index).ppa.page);
        let waiting = suspension.arrays[array].waiting.iter().copied();
        // If an earlier erase waits for some of them already, this one is behind it in the queue.
        let is_of = |read: &u32| {
            let read = self.pool.get(*read);
            self.geometry.block(read.ppa.page) == block && read.first_waiter == NO_OP
        };
        let before: Vec<u32> = waiting.filter(is_of).collect();
        self.pool.get_mut(index).waits += before.len() as u16;
        self.wait_for(index, &before);
    }

    /// Returns the suspensions since the last mark, or `None` if the chips cannot suspend.
    pub(crate) fn suspensions(&self) -> Option<u64> {
        self.suspension.as_ref().map(|suspension| suspension.count)
    }
}
