//! Reads of the host that go before everything else on their array, and programs and erases that
//! are left for them and gone on with afterwards (Wu and He, FAST 2012).
//!
//! Such a read waits for what the array is at, unless that can be left, and for nothing that waits
//! with it. Of a page that is being moved it reads the old copy, as long as that is there; of one
//! that is about to be written otherwise it stays in its plane's queue. What it reads has a latch
//! of its own on the plane, for the register may hold what was left. An erase of its block that has
//! not begun does not before it has ended.
//!
//! Nobody waits for ever: reads are let in as they stand, then one operation of the queues has its
//! turn; and what has been left so often is not left again.

use super::geometry::Geometry;
use super::observe::{Operation, Step};
use super::ops::{Kind, NO_OP};
use super::{Nand, Ppa};
use crate::events::Queue;
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, SuspendSpec};
use std::collections::{HashMap, VecDeque};

/// What reads that go before others need to know.
pub(super) struct Suspension {
    spec: SuspendSpec,
    arrays: Vec<PriorityReads>,
    /// By plane.
    latches: Vec<Latch>,
    /// Pages that are asked to be written and are not in the cells yet, each with where it is moved
    /// from, if it is.
    coming: HashMap<Copy, Option<Copy>>,
    /// By block: erases asked for, and begun.
    erases: [Vec<u32>; 2],
    /// How often something was left, since the last mark.
    pub count: u64,
}

/// The reads of an array that go before others.
#[derive(Clone, Debug, Default)]
struct PriorityReads {
    /// They have not begun. So many of them go before anything else.
    waiting: VecDeque<u32>,
    let_in: usize,
    /// What the array does is one of them.
    is_in: bool,
    /// What was left for them, and how long it had to go.
    left: Option<(u32, Nanos)>,
    /// It is being left: the array cannot read yet.
    is_leaving: bool,
    /// How often reads have been let in before it was done.
    times: u32,
    /// When what the array does ends.
    until: Nanos,
}

/// What a physical page holds between two erases of its block: the page, and how many come before.
type Copy = (u32, u32);

/// Where the page of such a read waits for the bus.
#[derive(Clone, Debug)]
struct Latch {
    op: u32,
    /// The physical page that it has, if that is known.
    page: u32,
}

impl Suspension {
    pub(super) fn new(spec: SuspendSpec, nand: &NandSpec, geometry: &Geometry) -> Suspension {
        let blocks = nand.planes() as usize * nand.blocks_per_plane as usize;
        Suspension {
            spec,
            arrays: vec![PriorityReads::default(); geometry.arrays()],
            latches: vec![Latch { op: NO_OP, page: NO_OP }; nand.planes() as usize],
            coming: HashMap::new(),
            erases: [vec![0; blocks], vec![0; blocks]],
            count: 0,
        }
    }

    /// Whether operations of the queues may begin on an array that does nothing.
    #[inline]
    pub(super) fn lets_others(&self, array: usize) -> bool {
        self.arrays[array].let_in == 0 && self.arrays[array].left.is_none()
    }

    /// Whether reads wait for `array`.
    pub(super) fn has_waiting(&self, array: usize) -> bool {
        !self.arrays[array].waiting.is_empty()
    }

    /// Whether `array` is about to leave what it is at.
    #[inline]
    pub(super) fn is_leaving(&self, array: usize) -> bool {
        self.arrays[array].is_leaving
    }

    /// Whether `array` does one of these reads.
    #[inline]
    pub(super) fn is_in(&self, array: usize) -> bool {
        self.arrays[array].is_in
    }

    /// What `array` begins ends then.
    #[inline]
    pub(super) fn note_end(&mut self, array: usize, end: Nanos) {
        self.arrays[array].until = end;
    }

    /// What `array` was at is done.
    pub(super) fn done(&mut self, array: usize) {
        self.arrays[array].times = 0;
    }

    /// How long everything that was left has to go.
    pub(super) fn left(&self) -> Nanos {
        self.arrays.iter().filter_map(|r| r.left).fold(Nanos::ZERO, |sum, (_, left)| sum + left)
    }

    /// The latch of `plane` may not have what is in the cells any more.
    pub(super) fn forgets_latched(&mut self, plane: u32) {
        self.latches[plane as usize].page = NO_OP;
    }

    /// The latch of `plane` gets physical page `page`; whether it has it.
    pub(super) fn latches(&mut self, plane: u32, page: u32) -> bool {
        std::mem::replace(&mut self.latches[plane as usize].page, page) == page
    }
}

impl Nand {
    /// What a read of `ppa` can read that goes before all that is asked of its array: the page, or
    /// where it is being moved from; nothing if it is written otherwise, or that is erased.
    pub(super) fn to_read_first(&self, ppa: Ppa) -> Option<Ppa> {
        let Suspension { coming, erases: [asked, begun], .. } = &**self.suspension.as_ref()?;
        let block = |page: u32| self.geometry.block(page) as usize;
        let mut copy = (ppa.page, asked[block(ppa.page)]);
        while let Some(from) = coming.get(&copy) {
            copy = (*from)?;
        }
        let is_there = begun[block(copy.0)] == copy.1;
        is_there.then(|| self.geometry.ppa(copy.0))
    }

    /// What is asked to be written to `to` comes from there, or is new.
    #[inline]
    pub(super) fn note_write(&mut self, to: Ppa, from: Option<Ppa>) {
        let Some(suspension) = &mut self.suspension else { return };
        let asked = &suspension.erases[0];
        let copy = |page: u32| (page, asked[self.geometry.block(page) as usize]);
        let (to, from) = (copy(to.page), from.map(|from| copy(from.page)));
        suspension.coming.insert(to, from);
    }

    /// What operation `index` wrote is in the cells.
    pub(super) fn note_written(&mut self, index: u32) {
        let (first, pages) = (self.pool.get(index).ppa.page, self.pages_of(index));
        let Some(suspension) = &mut self.suspension else { return };
        let begun = suspension.erases[1][self.geometry.block(first) as usize];
        for page in first..first + pages {
            suspension.coming.remove(&(page, begun));
        }
    }

    /// The erase of the block of `page` is asked for.
    #[inline]
    pub(super) fn note_erase(&mut self, page: u32) {
        if let Some(suspension) = &mut self.suspension {
            suspension.erases[0][self.geometry.block(page) as usize] += 1;
        }
    }

    /// It begins.
    pub(super) fn note_erasing(&mut self, page: u32) {
        if let Some(suspension) = &mut self.suspension {
            suspension.erases[1][self.geometry.block(page) as usize] += 1;
        }
    }

    /// The read `index` of `plane` goes before others.
    pub(super) fn ask_first(&mut self, index: u32, plane: u32) {
        self.pending += 1;
        let array = self.planes[plane as usize].array as usize;
        let Some(suspension) = &mut self.suspension else { return };
        suspension.arrays[array].waiting.push_back(index);
        if self.arrays[array].op != NO_OP {
            self.leave(array);
        } else if suspension.lets_others(array) {
            suspension.arrays[array].let_in = 1;
            self.serve_readers(array);
        }
    }

    /// Read `index` reads an old copy: the erase of its block does not begin before, if it waits on
    /// the plane.
    #[cold]
    pub(super) fn hold_up_erase(&mut self, index: u32) {
        let Ppa { plane, page } = self.pool.get(index).ppa;
        let some = |index: u32| Some(index).filter(|index| *index != NO_OP);
        let first = some(self.planes[plane as usize].head);
        let mut queue = std::iter::successors(first, |last| some(self.pool.get(*last).next));
        let block = self.geometry.block(page);
        let erase = queue.find(|index| {
            let op = self.pool.get(*index);
            op.kind == Kind::Erase && self.geometry.block(op.ppa.page) == block
        });
        if let Some(erase) = erase {
            self.pool.get_mut(erase).waits += 1;
            self.wait_for(erase, &[index]);
        }
    }

    /// `array` leaves what it is at, if that can be and is the shorter way.
    fn leave(&mut self, array: usize) {
        let Some(suspension) = &mut self.suspension else { return };
        let (now, spec) = (self.events.now(), suspension.spec);
        let readers = &mut suspension.arrays[array];
        let index = self.arrays[array].op;
        let can_be = matches!(self.pool.get(index).kind, Kind::Program | Kind::Erase);
        let is_shorter = readers.until > now + spec.suspend;
        if !can_be || !is_shorter || readers.is_leaving || readers.times == spec.most {
            return;
        }
        readers.left = Some((index, readers.until - now));
        readers.times += 1;
        readers.is_leaving = true;
        suspension.count += 1;
        let slot = self.array_slot(array);
        self.events.call_off(slot);
        let end = self.events.after(Queue::Other, slot, spec.suspend);
        self.array_total += spec.suspend;
        self.tell_left(array, index, end, false);
    }

    /// `array` has left what it was at.
    pub(super) fn has_left(&mut self, array: usize) {
        self.arrays[array].op = NO_OP;
        let Some(suspension) = &mut self.suspension else { return };
        let readers = &mut suspension.arrays[array];
        readers.is_leaving = false;
        readers.let_in = readers.waiting.len();
        self.serve_readers(array);
    }

    /// It goes on with it.
    fn go_on(&mut self, array: usize) {
        let slot = self.array_slot(array);
        let Some(suspension) = &mut self.suspension else { return };
        let resume = suspension.spec.resume;
        let Some((index, left)) = suspension.arrays[array].left.take() else { return };
        self.arrays[array].op = index;
        let end = self.events.after(Queue::Other, slot, resume + left);
        suspension.note_end(array, end);
        self.array_total += resume;
        self.tell_left(array, index, end, true);
    }

    /// `array`, which does nothing, begins a read that goes before others, or goes on with what it
    /// left; false if it has neither, and others may have it.
    pub(super) fn serve_readers(&mut self, array: usize) -> bool {
        let Some(suspension) = &mut self.suspension else { return false };
        let readers = &mut suspension.arrays[array];
        if readers.let_in == 0 && readers.left.is_some() {
            if readers.waiting.is_empty() || readers.times == suspension.spec.most {
                self.go_on(array);
                return true;
            }
            // It stays left: for those that have come it would be again.
            readers.times += 1;
            readers.let_in = readers.waiting.len();
        }
        if readers.let_in == 0 {
            return false;
        }
        let can_begin = |index: &u32| {
            let plane = self.pool.get(*index).ppa.plane;
            self.cache_register || suspension.latches[plane as usize].op == NO_OP
        };
        // If all of them wait for their latch, the array does, too.
        let Some(place) = readers.waiting.range(..readers.let_in).position(can_begin) else {
            return true;
        };
        let Some(index) = readers.waiting.remove(place) else { return true };
        readers.let_in -= 1;
        readers.is_in = true;
        let plane = self.pool.get(index).ppa.plane;
        let (queue, duration) = self.sense_time(index);
        self.start(plane, index, queue, duration);
        true
    }

    /// `array` has fallen idle: the reads that wait now go before what its planes have to do.
    pub(super) fn serve_array_and_readers(&mut self, array: usize) {
        let let_in = |nand: &mut Nand| {
            let Some(suspension) = &mut nand.suspension else { return };
            let readers = &mut suspension.arrays[array];
            if !std::mem::take(&mut readers.is_in) {
                readers.let_in = readers.waiting.len();
            }
        };
        let_in(self);
        if self.serve_readers(array) {
            return;
        }
        self.serve_planes_of(array);
        if self.arrays[array].op == NO_OP {
            let_in(self);
            self.serve_readers(array);
        } else if self.suspension.as_ref().is_some_and(|s| s.has_waiting(array)) {
            // It has its turn; but those that came meanwhile do not wait for it if it can be left.
            self.leave(array);
        }
    }

    /// A read that went before others is sensed on `plane`.
    pub(super) fn reader_sensed(&mut self, array: usize, plane: u32) {
        let Some(suspension) = &mut self.suspension else { return };
        let index = self.arrays[array].op;
        let latch = &mut suspension.latches[plane as usize];
        self.arrays[array].waits = latch.op != NO_OP;
        if self.arrays[array].waits {
            // It stays on the array until the one before it is through.
            return;
        }
        latch.op = index;
        self.arrays[array].op = NO_OP;
        self.shift(plane, index);
        self.serve_array(array);
    }

    /// Read `index` is through on the bus; true if it was one that went before others.
    pub(super) fn reader_shifted(&mut self, plane: u32, index: u32) -> bool {
        let Some(suspension) = &mut self.suspension else { return false };
        let latch = &mut suspension.latches[plane as usize];
        if latch.op != index {
            return false;
        }
        latch.op = NO_OP;
        let array = self.planes[plane as usize].array as usize;
        let next = self.arrays[array].op;
        if next == NO_OP {
            self.serve_readers(array);
        } else if suspension.is_in(array)
            && self.arrays[array].waits
            && self.pool.get(next).ppa.plane == plane
        {
            self.reader_sensed(array, plane);
        }
        true
    }

    /// Erase `index` of `plane` is asked for: reads of its block that wait go before it.
    pub(super) fn keep_behind_readers(&mut self, index: u32, plane: u32) {
        let Some(suspension) = &self.suspension else { return };
        let array = self.planes[plane as usize].array as usize;
        let block = self.geometry.block(self.pool.get(index).ppa.page);
        let waiting = suspension.arrays[array].waiting.iter().copied();
        // If an erase of the block waits for them already, this one is behind it on the plane.
        let is_of = |read: &u32| {
            let read = self.pool.get(*read);
            self.geometry.block(read.ppa.page) == block && read.unblocks == NO_OP
        };
        let before: Vec<u32> = waiting.filter(is_of).collect();
        self.pool.get_mut(index).waits += before.len() as u16;
        self.wait_for(index, &before);
    }

    /// Observers are told what has become of operation `index` of `array`, and of those that joined
    /// it: left for reads, which begin at `end`, or gone on with until then.
    #[cold]
    fn tell_left(&mut self, array: usize, index: u32, end: Nanos, goes_on: bool) {
        if self.observer.is_none() {
            return;
        }
        let start = self.events.now();
        let joined = self.arrays[array].joined.iter().copied();
        let told: Vec<Operation> = std::iter::once(index)
            .chain(joined)
            .map(|index| {
                let op = self.pool.get(index);
                let (cause, plane) = (op.cause, op.ppa.plane);
                let (step, page) = match op.kind {
                    Kind::Erase => (Step::Erase, op.ppa.page),
                    _ => (Step::Program, op.ppa.page + self.pages_of(index) - 1),
                };
                Operation { step, cause, plane, page, start, end }
            })
            .collect();
        let Some(observer) = &mut self.observer else { return };
        for operation in &told {
            match goes_on {
                true => observer.resumed(operation),
                false => observer.suspended(operation),
            }
        }
    }

    /// How often something was left for reads, since the last mark, if that can be.
    pub(crate) fn suspensions(&self) -> Option<u64> {
        self.suspension.as_ref().map(|suspension| suspension.count)
    }
}
