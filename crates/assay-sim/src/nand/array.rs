//! The arrays: sense, program and erase, and how the planes of a die share an array.

use super::geometry::Geometry;
use super::observe::{Observed, Operation, Step};
use super::ops::{NO_OP, Op, OpKind};
use super::{FlashEvent, Nand, Token};
use crate::events::Queue;
use assay_spec::Nanos;

impl Nand {
    /// Returns `true` if `plane` has no operation under way or waiting.
    pub(crate) fn is_plane_idle(&self, plane: u32) -> bool {
        if let Some(fast_path) = &self.fast_path {
            return fast_path.is_idle(plane);
        }
        let p = &self.planes[plane as usize];
        let has_readers = |s: &super::Suspension| s.has_waiting(p.array as usize);
        p.head == NO_OP
            && p.register == NO_OP
            && self.is_array_idle(plane)
            && !self.suspension.as_deref().is_some_and(has_readers)
    }

    /// Returns `true` if an operation of a plane's queue may begin on the array of `plane`.
    #[inline]
    pub(super) fn is_array_idle(&self, plane: u32) -> bool {
        let array = self.planes[plane as usize].array as usize;
        let lets_others = |s: &super::Suspension| s.lets_others(array);
        self.arrays[array].op == NO_OP && self.suspension.as_deref().is_none_or(lets_others)
    }

    /// Returns `true` if the array of `plane` senses, or has sensed, a page of `plane` for its
    /// register.
    pub(super) fn is_sensing(&self, plane: u32) -> bool {
        let array = self.planes[plane as usize].array as usize;
        let index = self.arrays[array].op;
        index != NO_OP && !self.has_priority_read(array) && {
            let op = self.pool.get(index);
            op.kind == OpKind::Read && op.ppa.plane == plane
        }
    }

    /// Returns `true` if the operation under way on `array` is a read. The array must be busy.
    pub(super) fn is_sensed(&self, array: usize) -> bool {
        self.pool.get(self.arrays[array].op).kind == OpKind::Read
    }

    /// Returns `true` if `array` serves a priority read.
    #[inline]
    pub(super) fn has_priority_read(&self, array: usize) -> bool {
        self.suspension.as_ref().is_some_and(|suspension| suspension.is_in(array))
    }

    /// Returns `true` if `array` is suspending its operation.
    #[inline]
    pub(super) fn is_suspending(&self, array: usize) -> bool {
        self.suspension.as_ref().is_some_and(|suspension| suspension.is_suspending(array))
    }

    /// Returns the event queue and the array time of read `index`, which begins now.
    #[inline]
    pub(super) fn sense_time(&mut self, index: u32) -> (Queue, Nanos) {
        let (queue, duration) = match self.has_multi_page() {
            true => self.sense(index),
            false => (Queue::Sense, self.chip.read),
        };
        match self.ecc.is_some() {
            true => self.sense_until_right(index, queue, duration),
            false => (queue, duration),
        }
    }

    /// Begins the operations that `plane` can begin.
    pub(super) fn serve_plane(&mut self, plane: u32) {
        loop {
            let p = &self.planes[plane as usize];
            let (head, register) = (p.head, p.register);
            if head == NO_OP {
                return self.erase_if_idle(plane);
            }
            let op = self.pool.get(head);
            if op.waits > 0 {
                return;
            }
            let (kind, next, duration) = (op.kind, op.next, op.duration);
            let idle = self.is_array_idle(plane);
            if kind == OpKind::Program {
                // Without a cache register data is loaded only while the array is idle; with one,
                // not while the array senses a page that will need the register.
                let room = idle || (self.chip.cache_register && !self.is_sensing(plane));
                if register == NO_OP && room {
                    let p = &mut self.planes[plane as usize];
                    (p.head, p.register) = (next, head);
                    self.transfer(plane, head);
                }
                return;
            }
            // With one register even an erase waits until the data is out: its command needs the
            // bus that transfers the data.
            let is_taken =
                || !self.chip.cache_register || self.pool.get(register).kind == OpKind::Program;
            if !idle || register != NO_OP && is_taken() {
                return;
            }
            let (queue, duration) = match kind {
                OpKind::Read => self.sense_time(head),
                OpKind::Copy => (Queue::Other, duration),
                _ => (Queue::Other, self.chip.erase),
            };
            let p = &mut self.planes[plane as usize];
            p.head = next;
            if kind != OpKind::Erase && !self.chip.cache_register {
                p.register = head;
            }
            self.start(plane, head, queue, duration);
            // With a cache register, data may be loaded during the operation.
            if !self.chip.cache_register || kind == OpKind::Read {
                return;
            }
        }
    }

    /// Begins operation `index` on the array of `plane`, or joins it to the multi-plane program
    /// that begins now.
    #[inline]
    pub(super) fn start(&mut self, plane: u32, index: u32, queue: Queue, duration: Nanos) {
        let array = self.planes[plane as usize].array as usize;
        if self.arrays[array].op == NO_OP {
            self.arrays[array].op = index;
            self.counts.array_busy += duration;
            let end = self.events.after(queue, self.geometry.array_slot(array), duration);
            if let Some(suspension) = &mut self.suspension {
                suspension.note_end(array, end);
            }
        } else {
            // It ends with the program that it joins.
            self.arrays[array].joined.push(index);
        }
        if self.suspension.is_some() && self.pool.get(index).kind == OpKind::Erase {
            self.note_erasing(self.pool.get(index).ppa.page);
        }
        if self.observer.is_some() {
            let mut op = *self.pool.get(index);
            if op.kind == OpKind::Program {
                // A program of several pages is reported by its last page.
                op.ppa.page += self.pages_of(index) - 1;
            }
            let now = self.events.now();
            self.notify_array_step(&op, now, now + duration);
        }
    }

    /// Reports the step or steps of `op` on its array to the observer.
    #[cold]
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

    /// Programs the page loaded on `plane` if it may begin, together with those of the die's other
    /// planes.
    #[inline]
    pub(super) fn confirm(&mut self, plane: u32) {
        let index = self.planes[plane as usize].register;
        if index != NO_OP && self.is_array_idle(plane) {
            self.confirm_loaded(plane, index);
        }
    }

    /// Programs operation `index`, which has the register of `plane`, as [`Nand::confirm`] does.
    fn confirm_loaded(&mut self, plane: u32, index: u32) {
        let op = self.pool.get(index);
        if op.kind != OpKind::Program || !op.loaded || op.held {
            return;
        }
        if !self.chip.multi_plane {
            return self.start_program(plane, index);
        }
        let page = (self.geometry.page_in_block(op.ppa.page), op.is_slc);
        let siblings = self.geometry.planes_of_die(plane);
        if siblings.iter().any(|sibling| self.will_join(sibling, page)) {
            return;
        }
        for sibling in siblings.iter() {
            let index = self.planes[sibling as usize].register;
            if index != NO_OP && self.is_ready_for(index, page) {
                self.start_program(sibling, index);
            }
        }
    }

    /// Returns `true` if `plane` is about to load a program of the same page in a block, with as
    /// many bits a cell: the other planes of the die then wait for it. They do not wait for a held
    /// program, which may be held for long.
    fn will_join(&self, plane: u32, page: (u32, bool)) -> bool {
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
    fn is_ready_for(&self, index: u32, page: (u32, bool)) -> bool {
        let op = *self.pool.get(index);
        let same = (self.geometry.page_in_block(op.ppa.page), op.is_slc) == page;
        op.kind == OpKind::Program && op.loaded && !op.held && same
    }

    /// Begins program `index`, which is loaded on `plane`.
    fn start_program(&mut self, plane: u32, index: u32) {
        self.overwrites_register(plane);
        let op = self.pool.get(index);
        let (queue, duration) = match op.is_slc {
            true => (Queue::Other, self.chip.slc[1]),
            false => self.chip.program_step(self.geometry.page_in_block(op.ppa.page)),
        };
        self.start(plane, index, queue, duration);
        if self.chip.cache_register {
            // The data has moved on to the page register.
            self.planes[plane as usize].register = NO_OP;
            self.serve_plane(plane);
        }
    }

    /// Handles the end of the program, copy or erase of `array`, and of the programs that joined
    /// it.
    pub(super) fn on_array_done(&mut self, array: usize, flash_events: &mut Vec<FlashEvent>) {
        // The array counts as busy until the operations of all its planes have ended.
        self.on_program_or_erase_done(self.arrays[array].op, flash_events);
        if !self.arrays[array].joined.is_empty() {
            self.on_joined_done(array, flash_events);
        }
        self.arrays[array].op = NO_OP;
        if let Some(suspension) = &mut self.suspension {
            suspension.done(array);
        }
        self.serve_array(array);
    }

    /// Handles the end of the programs that joined the one of `array`.
    fn on_joined_done(&mut self, array: usize, flash_events: &mut Vec<FlashEvent>) {
        while let Some(joined) = self.arrays[array].joined.pop() {
            self.on_program_or_erase_done(joined, flash_events);
        }
    }

    /// Handles the end of program, copy or erase `index`.
    #[inline]
    fn on_program_or_erase_done(&mut self, index: u32, flash_events: &mut Vec<FlashEvent>) {
        let op = self.pool.get(index);
        let (kind, token, plane) = (op.kind, op.token, op.ppa.plane);
        if !self.chip.cache_register && kind != OpKind::Erase {
            self.planes[plane as usize].register = NO_OP;
        }
        if self.suspension.is_some() && kind != OpKind::Erase {
            self.note_written(index);
        }
        if kind == OpKind::Program && token != Token::NONE {
            flash_events.push(FlashEvent::Programmed(token, plane));
        }
        if kind == OpKind::Program && self.has_multi_page() {
            self.program_ended(index, plane, flash_events);
        }
        self.end(index);
    }

    /// Ends operation `index` and serves the operations that wait for it.
    #[inline]
    pub(super) fn end(&mut self, index: u32) {
        self.pool.pending -= 1;
        let op = self.pool.get(index);
        let (waiting, replaces) = (op.first_waiter, op.replaces);
        if op.cause.collects() {
            self.planes[op.ppa.plane as usize].collecting -= 1;
        }
        self.pool.release(index);
        if waiting != NO_OP {
            self.serve_waiting(waiting);
        }
        if replaces != NO_OP {
            self.on_group_program_done(replaces);
        }
    }

    /// Takes one off the wait count of `waiting` and its siblings, and serves their planes.
    fn serve_waiting(&mut self, mut waiting: u32) {
        while waiting != NO_OP {
            let op = self.pool.get_mut(waiting);
            op.waits -= 1;
            let plane = op.ppa.plane;
            waiting = op.next_waiter;
            self.serve_plane(plane);
        }
    }

    /// Handles the end of a sense: moves the page to the register that the bus reaches, and
    /// transfers it.
    pub(super) fn on_sensed(&mut self, array: usize) {
        let index = self.arrays[array].op;
        let plane = self.pool.get(index).ppa.plane;
        if self.has_priority_read(array) {
            return self.on_priority_sensed(array, plane);
        }
        let register = self.planes[plane as usize].register;
        if self.chip.cache_register && register != NO_OP {
            // The page stays in the page register until the cache register is free.
            self.arrays[array].waits = true;
            return;
        }
        self.arrays[array].op = NO_OP;
        self.planes[plane as usize].register = index;
        self.transfer(plane, index);
        self.serve_array(array);
    }

    /// Begins the next operation of `array`, which has fallen idle.
    #[inline]
    pub(super) fn serve_array(&mut self, array: usize) {
        match self.suspension.is_some() {
            true => self.serve_array_and_reads(array),
            false => self.serve_planes_of(array),
        }
    }

    /// Serves the planes that share `array` in turn.
    #[inline]
    pub(super) fn serve_planes_of(&mut self, array: usize) {
        let planes = self.geometry.planes_of_array(array);
        if planes.len() == 1 {
            self.confirm(array as u32);
            return self.serve_plane(array as u32);
        }
        let first = self.arrays[array].turn;
        self.arrays[array].turn = (first + 1) % planes.len();
        for offset in 0..planes.len() {
            let plane = planes.get((first + offset) % planes.len());
            self.confirm(plane);
            self.serve_plane(plane);
        }
    }
}
