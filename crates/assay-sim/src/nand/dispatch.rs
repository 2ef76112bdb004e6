//! Decides which operation begins on an array, and handles the ends of senses, programs, erases and
//! transfers.

use super::counts::CollectionWait;
use super::ops::{NO_OP, OpKind};
use super::pending_erases::ReadyErase;
use super::suspension::{Suspension, TransferEnd};
use super::{FlashEvent, Nand, Token};
use crate::events::Queue;
use assay_spec::Nanos;

impl Nand {
    /// Returns `true` if an operation of a plane's queue may begin on the array of `plane`.
    #[inline]
    pub(super) fn is_array_idle(&self, plane: u32) -> bool {
        let array = self.chips.array_of(plane);
        let lets_others = |s: &Suspension| s.lets_others(array);
        self.chips.arrays[array].op == NO_OP && self.suspension.as_deref().is_none_or(lets_others)
    }

    /// Returns `true` if the array of `plane` senses, or has sensed, a page of `plane` for its
    /// register.
    fn is_sensing(&self, plane: u32) -> bool {
        self.chips.is_reading(plane) && !self.has_priority_read(self.chips.array_of(plane))
    }

    /// Returns `true` if `array` serves a priority read.
    #[inline]
    fn has_priority_read(&self, array: usize) -> bool {
        self.suspension.as_ref().is_some_and(|suspension| suspension.has_priority_read(array))
    }

    /// Begins the operations that `plane` can begin.
    pub(super) fn serve_plane(&mut self, plane: u32) {
        loop {
            let p = &self.chips.planes[plane as usize];
            let (head, register) = (p.head, p.register);
            if head == NO_OP {
                return self.erase_if_idle(plane);
            }
            let op = self.chips.pool.get(head);
            if op.waits > 0 {
                return;
            }
            let (kind, next, duration) = (op.kind, op.next, op.duration);
            let idle = self.is_array_idle(plane);
            let cache_register = self.chips.chip.cache_register;
            if kind == OpKind::Program {
                // Without a cache register data is loaded only while the array is idle; with one,
                // not while the array senses a page that will need the register.
                let room = idle || (cache_register && !self.is_sensing(plane));
                if register == NO_OP && room {
                    let p = &mut self.chips.planes[plane as usize];
                    (p.head, p.register) = (next, head);
                    self.chips.transfer(plane, head);
                }
                return;
            }
            // With one register even an erase waits until the data is out: its command needs the
            // bus that transfers the data.
            let is_taken =
                || !cache_register || self.chips.pool.get(register).kind == OpKind::Program;
            if !idle || register != NO_OP && is_taken() {
                return;
            }
            let (queue, duration) = match kind {
                OpKind::Read => self.chips.sense_time(head, None),
                OpKind::Copy => (Queue::Other, duration),
                _ => (Queue::Other, self.chips.chip.erase),
            };
            let p = &mut self.chips.planes[plane as usize];
            p.head = next;
            if kind != OpKind::Erase && !cache_register {
                p.register = head;
            }
            self.start(plane, head, queue, duration);
            // With a cache register, data may be loaded during the operation.
            if !cache_register || kind == OpKind::Read {
                return;
            }
        }
    }

    /// Begins operation `index` on the array of `plane`, or joins it to the multi-plane program
    /// that begins now.
    #[inline]
    pub(super) fn start(&mut self, plane: u32, index: u32, queue: Queue, duration: Nanos) {
        let end = self.chips.start(plane, index, queue, duration);
        if let Some(suspension) = &mut self.suspension {
            suspension.on_start(&self.chips, plane, index, end);
        }
    }

    /// Programs the page loaded on `plane` if it may begin, together with those of the die's other
    /// planes.
    #[inline]
    pub(super) fn confirm(&mut self, plane: u32) {
        let index = self.chips.planes[plane as usize].register;
        if index != NO_OP && self.is_array_idle(plane) {
            self.confirm_loaded(plane, index);
        }
    }

    /// Programs operation `index`, which has the register of `plane`, as [`Nand::confirm`] does.
    fn confirm_loaded(&mut self, plane: u32, index: u32) {
        let op = self.chips.pool.get(index);
        if op.kind != OpKind::Program || !op.loaded || op.held {
            return;
        }
        if !self.chips.chip.multi_plane {
            return self.start_program(plane, index);
        }
        let page = (self.chips.geometry.page_in_block(op.ppa.page), op.is_slc);
        let siblings = self.chips.geometry.planes_of_die(plane);
        if siblings.iter().any(|sibling| self.chips.will_join(sibling, page)) {
            return;
        }
        for sibling in siblings.iter() {
            let index = self.chips.planes[sibling as usize].register;
            if index != NO_OP && self.chips.is_ready_for(index, page) {
                self.start_program(sibling, index);
            }
        }
    }

    /// Begins program `index`, which is loaded on `plane`.
    fn start_program(&mut self, plane: u32, index: u32) {
        self.chips.overwrite_register(plane);
        if let Some(suspension) = &mut self.suspension {
            suspension.invalidate_latch(plane);
        }
        let op = self.chips.pool.get(index);
        let (queue, duration) = match op.is_slc {
            true => (Queue::Other, self.chips.chip.slc[1]),
            false => self.chips.chip.program_step(self.chips.geometry.page_in_block(op.ppa.page)),
        };
        self.start(plane, index, queue, duration);
        if self.chips.chip.cache_register {
            // The data has moved on to the page register.
            self.chips.planes[plane as usize].register = NO_OP;
            self.serve_plane(plane);
        }
    }

    /// Handles the end of the program, copy or erase of `array`, and of the programs that joined
    /// it.
    pub(super) fn on_array_done(&mut self, array: usize, flash_events: &mut Vec<FlashEvent>) {
        // The array counts as busy until the operations of all its planes have ended.
        self.on_program_or_erase_done(self.chips.arrays[array].op, flash_events);
        if !self.chips.arrays[array].joined.is_empty() {
            self.on_joined_done(array, flash_events);
        }
        self.chips.arrays[array].op = NO_OP;
        if let Some(suspension) = &mut self.suspension {
            suspension.on_done(array);
        }
        self.serve_array(array);
    }

    /// Handles the end of the programs that joined the one of `array`.
    fn on_joined_done(&mut self, array: usize, flash_events: &mut Vec<FlashEvent>) {
        while let Some(joined) = self.chips.arrays[array].joined.pop() {
            self.on_program_or_erase_done(joined, flash_events);
        }
    }

    /// Handles the end of program, copy or erase `index`.
    #[inline]
    fn on_program_or_erase_done(&mut self, index: u32, flash_events: &mut Vec<FlashEvent>) {
        let op = self.chips.pool.get(index);
        let (kind, token, plane) = (op.kind, op.token, op.ppa.plane);
        if !self.chips.chip.cache_register && kind != OpKind::Erase {
            self.chips.planes[plane as usize].register = NO_OP;
        }
        if kind != OpKind::Erase
            && let Some(suspension) = &mut self.suspension
        {
            suspension.on_programmed(&self.chips, index);
        }
        if kind == OpKind::Program && token != Token::NONE {
            flash_events.push(FlashEvent::Programmed(token, plane));
        }
        if kind == OpKind::Program && self.chips.has_multi_page() {
            self.on_multi_page_done(index, plane, flash_events);
        }
        self.end(index);
    }

    /// Reports the pages of program `index`, which is in the cells of `plane`, and counts it as
    /// ended in its groups of replacers.
    fn on_multi_page_done(&mut self, index: u32, plane: u32, flash_events: &mut Vec<FlashEvent>) {
        let Some(program) = self.chips.take_program(index) else { return };
        let programmed = |token| FlashEvent::Programmed(token, plane);
        flash_events.extend(program.tokens.into_iter().map(programmed));
        program.replaced.into_iter().for_each(|page| self.on_group_program_done(page.group));
    }

    /// Ends operation `index` and serves the operations that wait for it.
    #[inline]
    fn end(&mut self, index: u32) {
        self.chips.pool.pending -= 1;
        let op = self.chips.pool.get(index);
        let (waiting, replaces) = (op.first_waiter, op.replaces);
        if op.cause.collects() {
            self.chips.planes[op.ppa.plane as usize].collecting -= 1;
        }
        self.chips.pool.release(index);
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
            let op = self.chips.pool.get_mut(waiting);
            op.waits -= 1;
            let plane = op.ppa.plane;
            waiting = op.next_waiter;
            self.serve_plane(plane);
        }
    }

    /// Notes that a program of group `number` has ended. If it was the last, the erase of the
    /// group, if requested, then waits for its plane only.
    #[inline]
    fn on_group_program_done(&mut self, number: u32) {
        if self.erases.on_program_done(number) {
            self.on_group_done(number);
        }
    }

    /// Handles the end of group `number`.
    fn on_group_done(&mut self, number: u32) {
        let Some(ready) = self.erases.free(number, &mut self.chips.pool) else { return };
        let (ReadyErase::InQueue(erase)
        | ReadyErase::WhenIdle(erase)
        | ReadyErase::Unqueued(erase)) = ready;
        let op = self.chips.pool.get(erase);
        let (plane, cause) = (op.ppa.plane, op.cause);
        match ready {
            ReadyErase::InQueue(_) => self.serve_plane(plane),
            ReadyErase::WhenIdle(_) => {
                self.leave_erase(erase, plane);
                self.erase_if_idle(plane);
            }
            ReadyErase::Unqueued(_) => {
                self.chips.count_collecting(plane, cause);
                self.enqueue(erase, plane);
            }
        }
    }

    /// Handles the end of a sense: moves the page to the register that the bus reaches, and
    /// transfers it.
    pub(super) fn on_sensed(&mut self, array: usize) {
        let index = self.chips.arrays[array].op;
        let plane = self.chips.pool.get(index).ppa.plane;
        if let Some(suspension) = &mut self.suspension
            && suspension.has_priority_read(array)
        {
            if suspension.on_sensed(&mut self.chips, array) {
                self.serve_array(array);
            }
            return;
        }
        if self.chips.chip.cache_register && self.chips.planes[plane as usize].register != NO_OP {
            // The page stays in the page register until the cache register is free.
            self.chips.arrays[array].waits = true;
            return;
        }
        self.chips.arrays[array].op = NO_OP;
        self.chips.planes[plane as usize].register = index;
        self.chips.transfer(plane, index);
        self.serve_array(array);
    }

    /// Handles the end of the transfer on `channel` and begins the next one.
    pub(super) fn on_transfer_done(&mut self, channel: usize, flash_events: &mut Vec<FlashEvent>) {
        let index = self.chips.end_transfer(channel);
        let op = self.chips.pool.get_mut(index);
        let (plane, token) = (op.ppa.plane, op.token);
        if op.kind == OpKind::Program {
            op.loaded = true;
            let held = op.held;
            if self.chips.has_multi_page() {
                self.chips.on_program_loaded(index);
            }
            if token != Token::NONE {
                flash_events.push(FlashEvent::Loaded(token));
                if token.is_behind_collection() {
                    self.chips.end_collection_wait(CollectionWait::Program);
                }
            }
            return if held { self.on_loaded_while_held(index) } else { self.confirm(plane) };
        }
        if token != Token::NONE {
            flash_events.push(FlashEvent::Read(token));
            if token.is_behind_collection() {
                self.chips.end_collection_wait(CollectionWait::Read);
            }
        }
        self.free_register(plane, index);
        self.end(index);
        self.serve_plane(plane);
    }

    /// Frees the register of `plane`, or its latch, from which read `index` has been transferred,
    /// and moves a page there that waits for it on the array.
    #[inline]
    fn free_register(&mut self, plane: u32, index: u32) {
        let array = self.chips.array_of(plane);
        if let Some(suspension) = &mut self.suspension {
            match suspension.on_transferred(&mut self.chips, plane, index) {
                TransferEnd::OfQueuedRead => {}
                TransferEnd::OfPriorityRead => return,
                TransferEnd::FreesArray => return self.serve_array(array),
            }
        }
        self.chips.planes[plane as usize].register = NO_OP;
        let (index, waits) = (self.chips.arrays[array].op, self.chips.arrays[array].waits);
        if waits && !self.has_priority_read(array) && self.chips.pool.get(index).ppa.plane == plane
        {
            (self.chips.arrays[array].op, self.chips.arrays[array].waits) = (NO_OP, false);
            self.chips.planes[plane as usize].register = index;
            self.chips.transfer(plane, index);
            self.serve_array(array);
        }
    }

    /// Begins the next operation of `array`, which has fallen idle.
    #[inline]
    fn serve_array(&mut self, array: usize) {
        match self.suspension.is_some() {
            true => self.serve_array_and_reads(array),
            false => self.serve_planes_of(array),
        }
    }

    /// Serves `array`, now idle: admits the reads that wait, unless a priority read has just ended;
    /// then serves admitted reads, or else the planes.
    fn serve_array_and_reads(&mut self, array: usize) {
        let Some(suspension) = &mut self.suspension else { return };
        suspension.admit(array);
        if suspension.serve(&mut self.chips, array) {
            return;
        }
        self.serve_planes_of(array);
        let Some(suspension) = &mut self.suspension else { return };
        if self.chips.arrays[array].op == NO_OP {
            suspension.admit(array);
            suspension.serve(&mut self.chips, array);
        } else {
            // A queued operation has its turn, but is suspended if possible for reads that wait.
            suspension.suspend_for_waiting(&mut self.chips, array);
        }
    }

    /// Serves the planes that share `array` in turn.
    #[inline]
    fn serve_planes_of(&mut self, array: usize) {
        let planes = self.chips.geometry.planes_of_array(array);
        if planes.len() == 1 {
            self.confirm(array as u32);
            return self.serve_plane(array as u32);
        }
        let first = self.chips.arrays[array].turn;
        self.chips.arrays[array].turn = (first + 1) % planes.len();
        for offset in 0..planes.len() {
            let plane = planes.get((first + offset) % planes.len());
            self.confirm(plane);
            self.serve_plane(plane);
        }
    }
}
