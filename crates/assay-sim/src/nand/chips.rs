//! The chips and the buses: what each plane, array and channel does now, and the operations.

use super::chip::Chip;
use super::counts::{CollectionWait, Counts};
use super::ecc::Ecc;
use super::geometry::{Geometry, Ppa};
use super::multi_page::MultiPage;
use super::observe::{Cause, FlashCommand, Observed, Observer, Operation, Step};
use super::ops::{NO_OP, Op, OpKind, Pool};
use super::token::Token;
use crate::events::{Events, Queue};
use assay_spec::Nanos;
use assay_spec::device::NandSpec;

/// A plane: its queue of operations that have not begun, its register, array and channel.
pub(super) struct Plane {
    /// The first operation of the queue, or `NO_OP`.
    pub(super) head: u32,
    /// The last operation of the queue; meaningless if `head` is `NO_OP`.
    pub(super) tail: u32,
    /// The operation whose data is in the register that the bus reaches.
    pub(super) register: u32,
    pub(super) array: u32,
    pub(super) channel: u32,
    /// The number of operations of collection that wait on this plane or are under way.
    pub(super) collecting: u32,
}

/// A cell array.
#[derive(Clone, Debug)]
pub(super) struct CellArray {
    /// The operation under way, or the read whose sensed page waits for a register.
    pub(super) op: u32,
    /// Programs of other planes in the same multi-plane program.
    pub(super) joined: Vec<u32>,
    /// Whether the array holds a sensed page that waits for its plane's register.
    pub(super) waits: bool,
    /// The index, within the planes of the array, of the plane served first when the array falls
    /// idle.
    pub(super) turn: u32,
}

/// A bus.
pub(super) struct Channel {
    /// The operation whose page it transfers, or `NO_OP`.
    pub(super) now: u32,
    /// The first operation that waits for it, or `NO_OP`.
    pub(super) first: u32,
    /// The last operation that waits for it; meaningless if `first` is `NO_OP`.
    pub(super) last: u32,
}

/// The chips of a drive, their buses, and the events of the drive: which operation each plane,
/// array and channel has. They carry out the steps that [`Nand`](super::Nand), the priority reads
/// and the fast path begin.
pub(crate) struct Chips {
    pub geometry: Geometry,
    /// The events of the whole drive.
    pub events: Events,
    pub(super) planes: Vec<Plane>,
    pub(super) arrays: Vec<CellArray>,
    pub(super) channels: Vec<Channel>,
    pub(super) pool: Pool,
    /// Programs of several pages, if the chips have them.
    pub(super) multi_page: Option<MultiPage>,
    /// The model of bit errors and read retries, if the drive has one.
    pub(super) ecc: Option<Box<Ecc>>,
    pub(super) chip: Chip,
    pub counts: Counts,
    /// The observer of all commands and steps, if there is one.
    pub(super) observer: Option<Box<dyn Observer>>,
}

impl Chips {
    /// Builds the chips of `spec`; the drive around them has the first `first_slot` event slots.
    pub(super) fn new(spec: &NandSpec, first_slot: usize) -> Chips {
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
        Chips {
            events: Events::new(first_slot + (spec.channels + spec.planes()) as usize),
            planes: (0..spec.planes()).map(plane).collect(),
            arrays: vec![array; geometry.arrays()],
            channels: (0..spec.channels).map(|_| channel()).collect(),
            pool: Pool::new(),
            multi_page: MultiPage::new(spec),
            ecc: None,
            chip: Chip::new(spec),
            counts: Counts::new(),
            observer: None,
            geometry,
        }
    }

    /// Returns the array of `plane`.
    #[inline]
    pub(super) fn array_of(&self, plane: u32) -> usize {
        self.planes[plane as usize].array as usize
    }

    /// Returns `true` if the operation under way on `array` is a read. The array must be busy.
    pub(super) fn has_read(&self, array: usize) -> bool {
        self.pool.get(self.arrays[array].op).kind == OpKind::Read
    }

    /// Returns `true` if the operation under way on the array of `plane` is a read of `plane`.
    pub(super) fn is_reading(&self, plane: u32) -> bool {
        let index = self.arrays[self.array_of(plane)].op;
        index != NO_OP && {
            let op = self.pool.get(index);
            op.kind == OpKind::Read && op.ppa.plane == plane
        }
    }

    /// Returns the event queue and the array time of read `index`, which begins now. `latch` holds
    /// the number of the physical page in the latch of a priority read, and gets the new one; for
    /// other reads it is `None`.
    #[inline]
    pub(super) fn sense_time(&mut self, index: u32, latch: Option<&mut u32>) -> (Queue, Nanos) {
        let (queue, duration) = match self.multi_page.is_some() {
            true => self.sense(index, latch),
            false => (Queue::Sense, self.chip.read),
        };
        match self.ecc.is_some() {
            true => self.sense_until_right(index, queue, duration),
            false => (queue, duration),
        }
    }

    /// Returns the event queue and the array time, with its retries, of read `index`, which takes
    /// `duration` without retries.
    fn sense_until_right(&mut self, index: u32, queue: Queue, duration: Nanos) -> (Queue, Nanos) {
        let (page, is_slc) = (self.pool.get(index).ppa.page, self.pool.get(index).is_slc);
        let block = self.geometry.block(page);
        let Some(ecc) = self.ecc.as_mut().filter(|_| !is_slc) else { return (queue, duration) };
        match ecc.time_retries(page, block) {
            None => (queue, duration),
            Some(more) => (Queue::Other, duration + more),
        }
    }

    /// Begins operation `index` on the array of `plane` and returns when it ends, or joins it to
    /// the multi-plane program that begins now and returns `None`.
    #[inline]
    pub(super) fn start(
        &mut self,
        plane: u32,
        index: u32,
        queue: Queue,
        duration: Nanos,
    ) -> Option<Nanos> {
        let array = self.array_of(plane);
        let mut end = None;
        if self.arrays[array].op == NO_OP {
            self.arrays[array].op = index;
            self.counts.array_busy += duration;
            end = Some(self.events.after(queue, self.geometry.array_slot(array), duration));
        } else {
            // It ends with the program that it joins.
            self.arrays[array].joined.push(index);
        }
        if self.observer.is_some() {
            self.notify_start(index, duration);
        }
        end
    }

    /// Reports operation `index`, which begins and takes `duration`, to the observer.
    #[cold]
    fn notify_start(&mut self, index: u32, duration: Nanos) {
        let mut op = *self.pool.get(index);
        if op.kind == OpKind::Program {
            // A program of several pages is reported by its last page.
            op.ppa.page += self.pages_of(index) - 1;
        }
        let now = self.events.now();
        self.notify_array_step(&op, now, now + duration);
    }

    /// Reports the step or steps of `op` on its array to the observer.
    fn notify_array_step(&mut self, op: &Op, start: Nanos, end: Nanos) {
        let Some(observer) = &mut self.observer else { return };
        let mut notify = |step, page, start, end| {
            let (cause, plane) = (op.cause, op.ppa.plane);
            let operation = Operation { step, cause, plane, page, start, end };
            observer.observe(Observed::Operation(operation));
        };
        match op.kind {
            OpKind::Read => notify(Step::Sense, op.ppa.page, start, end),
            OpKind::Program => notify(Step::Program, op.ppa.page, start, end),
            OpKind::Erase => notify(Step::Erase, op.ppa.page, start, end),
            OpKind::Copy => {
                // This is one copy: with an observer copies are not merged.
                let sensed = start + self.chip.read;
                notify(Step::Sense, op.source, start, sensed);
                notify(Step::Program, op.ppa.page, sensed, end);
            }
        }
    }

    /// Reports to the observer that operation `index` of `array`, with those joined to it, is
    /// suspended, which takes until `end`, or is resumed and ends then.
    #[cold]
    pub(super) fn notify_suspension(
        &mut self,
        array: usize,
        index: u32,
        end: Nanos,
        is_resumed: bool,
    ) {
        if self.observer.is_none() {
            return;
        }
        let start = self.events.now();
        let joined = self.arrays[array].joined.iter().copied();
        let operations: Vec<Operation> = std::iter::once(index)
            .chain(joined)
            .map(|index| {
                let op = self.pool.get(index);
                let (cause, plane) = (op.cause, op.ppa.plane);
                let (step, page) = match op.kind {
                    OpKind::Erase => (Step::Erase, op.ppa.page),
                    _ => (Step::Program, op.ppa.page + self.pages_of(index) - 1),
                };
                Operation { step, cause, plane, page, start, end }
            })
            .collect();
        let Some(observer) = &mut self.observer else { return };
        let observed = if is_resumed { Observed::Resumed } else { Observed::Suspended };
        operations.into_iter().map(observed).for_each(|what| observer.observe(what));
    }

    /// Returns `true` if `plane` is about to load a program of the same page in a block, with as
    /// many bits a cell: the other planes of the die then wait for it. They do not wait for a held
    /// program, which may be held for long.
    pub(super) fn will_join(&self, plane: u32, page: (u32, bool)) -> bool {
        let p = &self.planes[plane as usize];
        let (head, register) = (p.head, p.register);
        let same = |op: &Op, geometry: &Geometry| {
            op.kind == OpKind::Program && (geometry.page_in_block(op.ppa.page), op.is_slc) == page
        };
        if register != NO_OP {
            let op = *self.pool.get(register);
            return same(&op, &self.geometry) && !op.loaded && !op.held;
        }
        head != NO_OP && {
            let op = *self.pool.get(head);
            same(&op, &self.geometry) && op.waits == 0 && !op.held
        }
    }

    /// Returns `true` if `index` is a loaded program that may begin, of `page`: the page in its
    /// block, and whether it has one bit a cell.
    pub(super) fn is_ready_for(&self, index: u32, page: (u32, bool)) -> bool {
        let op = *self.pool.get(index);
        let same = (self.geometry.page_in_block(op.ppa.page), op.is_slc) == page;
        op.kind == OpKind::Program && op.loaded && !op.held && same
    }

    /// Counts an operation for `cause` on `plane` if it is one of collection.
    #[inline]
    pub(super) fn count_collecting(&mut self, plane: u32, cause: Cause) {
        self.planes[plane as usize].collecting += u32::from(cause.collects());
    }

    /// Counts an operation for `cause` on `plane`. Returns `token`, marked as behind collection if
    /// the operation is the host's and collection is before it.
    #[inline]
    pub(super) fn count_and_mark(
        &mut self,
        kind: OpKind,
        plane: u32,
        cause: Cause,
        token: Token,
    ) -> Token {
        self.count_collecting(plane, cause);
        match cause == Cause::Host && self.planes[plane as usize].collecting > 0 {
            true => self.begin_collection_wait(kind, token),
            false => token,
        }
    }

    /// Begins a wait behind collection and returns `token` marked as behind collection.
    #[inline(never)]
    fn begin_collection_wait(&mut self, kind: OpKind, token: Token) -> Token {
        let (wait, alone) = match kind {
            OpKind::Read => (CollectionWait::Read, self.chip.read + self.chip.page_transfer),
            _ => (CollectionWait::Program, self.chip.page_transfer),
        };
        self.counts.begin_collection_wait(wait, self.events.now() + alone);
        token.behind_collection()
    }

    /// Ends a wait behind collection now.
    pub(super) fn end_collection_wait(&mut self, wait: CollectionWait) {
        self.counts.end_collection_wait(wait, self.events.now());
    }

    /// Reports `command` to the observer and to the model of bit errors.
    #[inline]
    pub(super) fn notify_command(&mut self, cause: Cause, command: FlashCommand) {
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

    /// Follows `command` in the model of bit errors: a copy takes lost data along, a program
    /// replaces it, an erase counts.
    fn note_command(&mut self, command: &FlashCommand) {
        let (to, is_lost) = match *command {
            FlashCommand::Read { .. } => return,
            FlashCommand::Program { page, .. } => (page, false),
            FlashCommand::Copy { from, to } => (to, self.is_lost(self.geometry.ppa(from))),
            FlashCommand::Erase { page } => {
                let block = self.geometry.block(page);
                self.ecc.iter_mut().for_each(|ecc| ecc.count_erase(block));
                return;
            }
        };
        self.ecc.iter_mut().for_each(|ecc| ecc.set_lost(to, is_lost));
    }

    /// Returns `true` if the data that `ppa` holds, or is to hold, cannot be read any more.
    pub(crate) fn is_lost(&mut self, ppa: Ppa) -> bool {
        let is_sensed = !self.is_slc(ppa.page) && !self.is_buffered(ppa);
        let block = self.geometry.block(ppa.page);
        let Some(ecc) = &mut self.ecc else { return false };
        ecc.is_lost(ppa.page) || is_sensed && ecc.attempts(ppa.page, block).is_none()
    }
}
