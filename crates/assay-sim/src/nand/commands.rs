//! The commands that a mapping layer gives to the chips.

use super::chips::Plane;
use super::multi_page::Replaced;
use super::observe::FlashCommand;
use super::ops::{NO_OP, OpKind};
use super::suspension::Suspension;
use super::{Batch, Cause, Nand, Ppa, Token};
use assay_spec::Nanos;

impl Nand {
    /// Queues a read; a [`FlashEvent::Read`](super::FlashEvent) with `token` reports when the data
    /// is in the controller. Returns the operation's number, for programs that wait for it; `NO_OP`
    /// on the fast path.
    #[inline]
    pub(crate) fn read(&mut self, ppa: Ppa, cause: Cause, token: Token) -> u32 {
        self.chips.counts.reads[cause as usize] += 1;
        if let Some(fast_path) = &mut self.fast_path {
            let time = self.chips.chip.read;
            fast_path.enqueue(&mut self.chips, OpKind::Read, ppa.plane, cause, token, time);
            return NO_OP;
        }
        let suspension = self.suspension.as_ref().filter(|_| is_awaited(cause, token));
        let first = suspension.and_then(|s| s.to_read_first(&self.chips.geometry, ppa));
        let is_old = first.is_some_and(|from| from != ppa);
        let (ppa, first) = (first.unwrap_or(ppa), first.is_some());
        self.chips
            .notify_command(cause, FlashCommand::Read { page: ppa.page, subject: token.subject() });
        // A priority read does not wait behind collection.
        let token = if first {
            token
        } else {
            self.chips.count_and_mark(OpKind::Read, ppa.plane, cause, token)
        };
        let index = self.chips.pool.put(OpKind::Read, cause, ppa, token);
        if self.chips.has_multi_page() {
            self.chips.pool.get_mut(index).is_slc = self.chips.is_slc(ppa.page);
        }
        if is_old {
            Suspension::delay_queued_erase(&mut self.chips, index);
        }
        match &mut self.suspension {
            Some(suspension) if first => suspension.enqueue(&mut self.chips, index, ppa.plane),
            _ => self.enqueue(index, ppa.plane),
        }
        index
    }

    /// Queues a read that does not begin before all of `others` have ended. Returns its number.
    pub(crate) fn read_after(
        &mut self,
        ppa: Ppa,
        cause: Cause,
        token: Token,
        others: &[u32],
    ) -> u32 {
        self.chips.counts.reads[cause as usize] += 1;
        self.chips
            .notify_command(cause, FlashCommand::Read { page: ppa.page, subject: token.subject() });
        let token = self.chips.count_and_mark(OpKind::Read, ppa.plane, cause, token);
        let index = self.chips.pool.put(OpKind::Read, cause, ppa, token);
        self.chips.pool.get_mut(index).waits = others.len() as u16;
        self.enqueue(index, ppa.plane);
        self.chips.pool.wait_for(index, others);
        index
    }

    /// Queues a program of the data of `reads`: it is not loaded before they have ended. Returns
    /// its number, or `NO_OP` if it is one of several pages or on the fast path.
    #[inline]
    pub(crate) fn program_after(
        &mut self,
        ppa: Ppa,
        cause: Cause,
        token: Token,
        reads: &[u32],
    ) -> u32 {
        self.program_with(ppa, cause, token, reads, NO_OP)
    }

    /// Queues a program as [`Nand::program_after`] does, and delays the erase of block `old`, where
    /// the page lay, until the program has ended. `old` is `NO_OP` if there is none, or if the
    /// order of the plane's queue delays the erase anyway.
    #[inline]
    pub(crate) fn program_with(
        &mut self,
        ppa: Ppa,
        cause: Cause,
        token: Token,
        reads: &[u32],
        old: u32,
    ) -> u32 {
        if let Some(fast_path) = &mut self.fast_path {
            debug_assert!(reads.is_empty(), "it waits for more than its plane");
            self.chips.counts.programs[cause as usize] += 1;
            let (_, time) =
                self.chips.chip.program_step(self.chips.geometry.page_in_block(ppa.page));
            fast_path.enqueue(&mut self.chips, OpKind::Program, ppa.plane, cause, token, time);
            return NO_OP;
        }
        self.chips.notify_command(
            cause,
            FlashCommand::Program { page: ppa.page, subject: token.subject() },
        );
        self.note_program(ppa, None);
        if self.chips.has_multi_page() {
            self.add_to_program(ppa, cause, token, reads, old);
            return NO_OP;
        }
        let token = self.chips.count_and_mark(OpKind::Program, ppa.plane, cause, token);
        let index = self.chips.pool.put(OpKind::Program, cause, ppa, token);
        self.add_to_erase_group(index, old);
        self.enqueue_program(index, ppa, cause, reads);
        index
    }

    /// Queues a program of what page `from` holds. It is not loaded before `others`, which include
    /// the read of `from`, have ended. After [`Nand::keep_replaced`] the block of `from` is not
    /// erased before the program has ended.
    pub(crate) fn program_from(&mut self, to: Ppa, cause: Cause, from: Ppa, others: &[u32]) {
        self.chips.notify_command(cause, FlashCommand::Copy { from: from.page, to: to.page });
        self.note_program(to, Some(from));
        let old = match self.erases.is_following() {
            true => self.chips.geometry.block(from.page),
            false => NO_OP,
        };
        if self.chips.has_multi_page() {
            return self.add_to_program(to, cause, Token::NONE, others, old);
        }
        let index = self.chips.pool.put(OpKind::Program, cause, to, Token::NONE);
        if from.plane != to.plane {
            self.add_to_erase_group(index, old);
        }
        self.chips.count_collecting(to.plane, cause);
        self.enqueue_program(index, to, cause, others);
    }

    /// Notes a requested program of `to`, with the old copy `from` if it is a move, for priority
    /// reads.
    #[inline]
    fn note_program(&mut self, to: Ppa, from: Option<Ppa>) {
        if let Some(suspension) = &mut self.suspension {
            suspension.note_program(&self.chips.geometry, to, from);
        }
    }

    /// Notes that program `index` replaces a page of block `old`, unless that is `NO_OP`.
    #[inline]
    fn add_to_erase_group(&mut self, index: u32, old: u32) {
        if old != NO_OP {
            self.chips.pool.get_mut(index).replaces = self.erases.add(old);
        }
    }

    /// Adds page `ppa`, which lay in block `old`, to the pages it is programmed with, and queues
    /// the program when it is the last of them. The program waits for `reads`.
    fn add_to_program(&mut self, ppa: Ppa, cause: Cause, token: Token, reads: &[u32], old: u32) {
        let replaced = (old != NO_OP).then(|| Replaced { block: old, group: self.erases.add(old) });
        if let Some(program) = self.chips.add_to_program(ppa, cause, token, reads, replaced) {
            self.enqueue(program, ppa.plane);
        }
    }

    /// Queues the open program whose next page would be `page`, without that page and those behind
    /// it. Returns `false` if there is no such program.
    pub(crate) fn program_short(&mut self, plane: u32, page: u32) -> bool {
        let program = self.chips.close_short(plane, page);
        if let Some(program) = program {
            self.enqueue(program, plane);
        }
        program.is_some()
    }

    /// Counts and queues program `index`, which waits for `others`.
    #[inline]
    fn enqueue_program(&mut self, index: u32, ppa: Ppa, cause: Cause, others: &[u32]) {
        self.chips.counts.programs[cause as usize] += 1;
        self.chips.pool.get_mut(index).waits = others.len() as u16;
        self.enqueue(index, ppa.plane);
        self.chips.pool.wait_for(index, others);
    }

    /// Queues a program that is loaded and then waits until it is released. Returns its number.
    pub(crate) fn program_held(&mut self, ppa: Ppa, cause: Cause, token: Token) -> u32 {
        self.chips.notify_command(
            cause,
            FlashCommand::Program { page: ppa.page, subject: token.subject() },
        );
        self.note_program(ppa, None);
        let token = self.chips.count_and_mark(OpKind::Program, ppa.plane, cause, token);
        let index = self.chips.pool.put(OpKind::Program, cause, ppa, token);
        self.chips.pool.get_mut(index).held = true;
        self.enqueue_program(index, ppa, cause, &[]);
        index
    }

    /// Releases held programs when the last of them is loaded: they begin together, confirmed once.
    pub(crate) fn release_together(&mut self, programs: Vec<u32>) {
        let loading = programs.iter().filter(|p| !self.chips.pool.get(**p).loaded).count();
        match loading {
            0 => self.release(&programs),
            _ => self.batches.push(Batch { programs, loading }),
        }
    }

    /// Notes that a held program is loaded; releases its batch if it was the last of it.
    pub(super) fn on_loaded_while_held(&mut self, program: u32) {
        let Some(index) = self.batches.iter().position(|b| b.programs.contains(&program)) else {
            return;
        };
        self.batches[index].loading -= 1;
        if self.batches[index].loading == 0 {
            let batch = self.batches.swap_remove(index);
            self.release(&batch.programs);
        }
    }

    /// Lets held programs begin, those of one die together.
    pub(crate) fn release(&mut self, programs: &[u32]) {
        for program in programs {
            self.chips.pool.get_mut(*program).held = false;
        }
        for program in programs {
            let plane = self.chips.pool.get(*program).ppa.plane;
            self.confirm(plane);
        }
    }

    /// Queues a copy-back: moves a page within its plane through the register, without the bus.
    #[inline(always)]
    pub(crate) fn copy_back(&mut self, from: Ppa, to: Ppa, cause: Cause) {
        debug_assert_eq!(from.plane, to.plane, "copy-back stays in its plane");
        self.chips.counts.reads[cause as usize] += 1;
        self.chips.counts.programs[cause as usize] += 1;
        let duration = self.chips.chip.read
            + self.chips.chip.program_step(self.chips.geometry.page_in_block(to.page)).1;
        match &mut self.fast_path {
            Some(fast_path) => fast_path.enqueue_copy(&mut self.chips, from.plane, cause, duration),
            None => self.copy_step_by_step(from, to, cause, duration),
        }
    }

    /// Queues a copy-back of `duration` off the fast path.
    fn copy_step_by_step(&mut self, from: Ppa, to: Ppa, cause: Cause, duration: Nanos) {
        self.chips.notify_command(cause, FlashCommand::Copy { from: from.page, to: to.page });
        self.note_program(to, Some(from));
        let Plane { head, tail, .. } = self.chips.planes[from.plane as usize];
        let alone = self.chips.planes.len() == self.chips.arrays.len();
        // An erase that waits for other planes may come between two copies.
        let may_come = self.erases.may_come();
        let joins =
            alone && !self.chips.chip.cache_register && !may_come && self.suspension.is_none();
        if head != NO_OP && joins && self.chips.observer.is_none() {
            // With neither another plane on the array nor a load, nothing comes between consecutive
            // copies: one operation of their total duration is the same.
            let last = self.chips.pool.get_mut(tail);
            if last.kind == OpKind::Copy && last.cause == cause {
                last.duration += duration;
                return;
            }
        }
        let index = self.chips.pool.put(OpKind::Copy, cause, to, Token::NONE);
        self.chips.pool.get_mut(index).source = from.page;
        self.chips.count_collecting(to.plane, cause);
        self.chips.pool.get_mut(index).duration = duration;
        self.enqueue(index, to.plane);
    }

    /// Queues the erase of the block that begins with page `ppa`.
    pub(crate) fn erase(&mut self, ppa: Ppa, cause: Cause) {
        self.chips.counts.erases[cause as usize] += 1;
        if let Some(fast_path) = &mut self.fast_path {
            let (plane, time) = (ppa.plane, self.chips.chip.erase);
            let kind = OpKind::Erase;
            return fast_path.enqueue(&mut self.chips, kind, plane, cause, Token::NONE, time);
        }
        let (index, is_delayed) = self.request_erase(ppa, cause);
        if !is_delayed {
            self.chips.count_collecting(ppa.plane, cause);
            self.enqueue(index, ppa.plane);
        }
    }

    /// Queues the erase of the block that begins with page `ppa` for when its plane is idle:
    /// operations requested of the plane at the same time go first. If there are none, call
    /// [`Nand::erase_on_idle_planes`].
    pub(crate) fn erase_when_idle(&mut self, ppa: Ppa, cause: Cause) {
        self.chips.counts.erases[cause as usize] += 1;
        let (index, is_delayed) = self.request_erase(ppa, cause);
        match is_delayed {
            true => self.chips.pool.get_mut(index).held = true,
            false => self.leave_erase(index, ppa.plane),
        }
    }

    /// Requests the erase of the block that begins with page `ppa`. Returns its number, and `true`
    /// if it waits for programs that replace pages of the block.
    fn request_erase(&mut self, ppa: Ppa, cause: Cause) -> (u32, bool) {
        self.chips.notify_command(cause, FlashCommand::Erase { page: ppa.page });
        let block = self.chips.geometry.block(ppa.page);
        if let Some(suspension) = &mut self.suspension {
            suspension.note_erase(block);
        }
        let index = self.chips.pool.put(OpKind::Erase, cause, ppa, Token::NONE);
        (index, self.erases.delay(index, block))
    }

    /// Leaves erase `index` for when `plane` is idle.
    pub(super) fn leave_erase(&mut self, index: u32, plane: u32) {
        assert!(self.fast_path.is_none(), "what a server does it does in turn");
        self.chips.pool.pending += 1;
        self.erases.queue_for_idle(index, plane);
    }

    /// Delays erases from now on until the programs that replaced pages of the block have ended.
    pub(crate) fn keep_replaced(&mut self) {
        self.erases.follow_replacers();
    }

    /// Appends operation `index` to the queue of `plane`; if it is the first program of a block
    /// whose erase has not begun, the erase goes before it.
    #[inline]
    pub(super) fn enqueue(&mut self, index: u32, plane: u32) {
        assert!(self.fast_path.is_none(), "what a server does it does in turn");
        self.chips.pool.pending += 1;
        let op = self.chips.pool.get(index);
        let (kind, ppa) = (op.kind, op.ppa);
        if matches!(kind, OpKind::Program | OpKind::Copy) && self.erases.has_waiting() {
            self.queue_erase_before(ppa);
        }
        self.queue(index, plane);
    }

    /// Queues the erase that must come before page `ppa` is written, if it is not in the queue yet.
    #[inline]
    fn queue_erase_before(&mut self, ppa: Ppa) {
        if self.chips.geometry.page_in_block(ppa.page) == 0
            && let Some(erase) = self.erases.take(ppa, &mut self.chips.pool)
        {
            self.chips.count_collecting(ppa.plane, self.chips.pool.get(erase).cause);
            self.queue(erase, ppa.plane);
        }
    }

    /// Appends operation `index` to the queue of `plane` and serves the plane if the queue was
    /// empty.
    #[inline]
    fn queue(&mut self, index: u32, plane: u32) {
        if let Some(suspension) = &mut self.suspension
            && self.chips.pool.get(index).kind == OpKind::Erase
        {
            suspension.delay_new_erase(&mut self.chips, index, plane);
        }
        let p = &mut self.chips.planes[plane as usize];
        if p.head == NO_OP {
            p.head = index;
            p.tail = index;
            self.serve_plane(plane);
        } else {
            self.chips.pool.get_mut(p.tail).next = index;
            p.tail = index;
        }
    }
}

/// Returns `true` if the host waits for a read of `cause` with `token`.
fn is_awaited(cause: Cause, token: Token) -> bool {
    matches!(cause, Cause::Host | Cause::Map) && token != Token::NONE
}
