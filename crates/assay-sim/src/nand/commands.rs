//! The commands that a mapping layer gives to the chips.

use super::counts::CollectionWait;
use super::observe::FlashCommand;
use super::ops::{NO_OP, OpKind};
use super::{Batch, Cause, Nand, Plane, Ppa, Token};
use assay_spec::Nanos;

impl Nand {
    /// Queues a read; a [`FlashEvent::Read`](super::FlashEvent) with `token` reports when the data
    /// is in the controller. Returns the operation's number, for programs that wait for it; `NO_OP`
    /// on the fast path.
    #[inline]
    pub(crate) fn read(&mut self, ppa: Ppa, cause: Cause, token: Token) -> u32 {
        self.counts.reads[cause as usize] += 1;
        if self.fast_path.is_some() {
            self.serve(OpKind::Read, ppa.plane, cause, token, self.chip.read);
            return NO_OP;
        }
        let first = match self.suspension.is_some() && is_awaited(cause, token) {
            true => self.to_read_first(ppa),
            false => None,
        };
        let is_old = first.is_some_and(|from| from != ppa);
        let (ppa, first) = (first.unwrap_or(ppa), first.is_some());
        self.notify_command(cause, FlashCommand::Read { page: ppa.page, subject: token.subject() });
        // A priority read does not wait behind collection.
        let token =
            if first { token } else { self.count_and_mark(OpKind::Read, ppa.plane, cause, token) };
        let index = self.pool.put(OpKind::Read, cause, ppa, token);
        if self.has_multi_page() {
            self.note_slc(index, ppa.page);
        }
        if is_old {
            self.hold_up_erase(index);
        }
        match first {
            true => self.enqueue_priority_read(index, ppa.plane),
            false => self.enqueue(index, ppa.plane),
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
        self.counts.reads[cause as usize] += 1;
        self.notify_command(cause, FlashCommand::Read { page: ppa.page, subject: token.subject() });
        let token = self.count_and_mark(OpKind::Read, ppa.plane, cause, token);
        let index = self.pool.put(OpKind::Read, cause, ppa, token);
        self.pool.get_mut(index).waits = others.len() as u16;
        self.enqueue(index, ppa.plane);
        self.wait_for(index, others);
        index
    }

    /// Makes operation `index` wait for `others`, behind the operations that wait for all of them
    /// already.
    #[inline]
    pub(super) fn wait_for(&mut self, index: u32, others: &[u32]) {
        for other in others {
            match self.pool.get(*other).first_waiter {
                NO_OP => self.pool.get_mut(*other).first_waiter = index,
                first => return self.join_those_waiting(index, first),
            }
        }
    }

    /// Appends operation `index` to the list of waiting operations that begins with `first`.
    #[cold]
    fn join_those_waiting(&mut self, index: u32, first: u32) {
        let mut last = first;
        while self.pool.get(last).next_waiter != NO_OP {
            last = self.pool.get(last).next_waiter;
        }
        self.pool.get_mut(last).next_waiter = index;
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
        if self.fast_path.is_some() {
            debug_assert!(reads.is_empty(), "it waits for more than its plane");
            self.counts.programs[cause as usize] += 1;
            let (_, time) = self.chip.program_step(self.geometry.page_in_block(ppa.page));
            self.serve(OpKind::Program, ppa.plane, cause, token, time);
            return NO_OP;
        }
        self.notify_command(
            cause,
            FlashCommand::Program { page: ppa.page, subject: token.subject() },
        );
        self.note_write(ppa, None);
        if self.has_multi_page() {
            self.add_to_program(ppa, cause, token, reads, old);
            return NO_OP;
        }
        let token = self.count_and_mark(OpKind::Program, ppa.plane, cause, token);
        let index = self.pool.put(OpKind::Program, cause, ppa, token);
        self.add_to_erase_group(index, old);
        self.enqueue_program(index, ppa, cause, reads);
        index
    }

    /// Queues a program of what page `from` holds. It is not loaded before `others`, which include
    /// the read of `from`, have ended. After [`Nand::keep_replaced`] the block of `from` is not
    /// erased before the program has ended.
    pub(crate) fn program_from(&mut self, to: Ppa, cause: Cause, from: Ppa, others: &[u32]) {
        self.notify_command(cause, FlashCommand::Copy { from: from.page, to: to.page });
        self.note_write(to, Some(from));
        let old = match self.erases.follow_replacers() {
            true => self.geometry.block(from.page),
            false => NO_OP,
        };
        if self.has_multi_page() {
            return self.add_to_program(to, cause, Token::NONE, others, old);
        }
        let index = self.pool.put(OpKind::Program, cause, to, Token::NONE);
        if from.plane != to.plane {
            self.add_to_erase_group(index, old);
        }
        self.count_collecting(to.plane, cause);
        self.enqueue_program(index, to, cause, others);
    }

    /// Counts and queues program `index`, which waits for `others`.
    #[inline]
    fn enqueue_program(&mut self, index: u32, ppa: Ppa, cause: Cause, others: &[u32]) {
        self.counts.programs[cause as usize] += 1;
        self.pool.get_mut(index).waits = others.len() as u16;
        self.enqueue(index, ppa.plane);
        self.wait_for(index, others);
    }

    /// Queues a program that is loaded and then waits until it is released. Returns its number.
    pub(crate) fn program_held(&mut self, ppa: Ppa, cause: Cause, token: Token) -> u32 {
        self.notify_command(
            cause,
            FlashCommand::Program { page: ppa.page, subject: token.subject() },
        );
        self.note_write(ppa, None);
        let token = self.count_and_mark(OpKind::Program, ppa.plane, cause, token);
        let index = self.pool.put(OpKind::Program, cause, ppa, token);
        self.pool.get_mut(index).held = true;
        self.enqueue_program(index, ppa, cause, &[]);
        index
    }

    /// Releases held programs when the last of them is loaded: they begin together, confirmed once.
    pub(crate) fn release_together(&mut self, programs: Vec<u32>) {
        let loading = programs.iter().filter(|p| !self.pool.get(**p).loaded).count();
        match loading {
            0 => self.release(&programs),
            _ => self.batches.push(Batch { programs, loading }),
        }
    }

    /// Notes that a held program is loaded; releases its batch if it was the last of it.
    pub(super) fn loaded_while_held(&mut self, program: u32) {
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
            self.pool.get_mut(*program).held = false;
        }
        for program in programs {
            let plane = self.pool.get(*program).ppa.plane;
            self.confirm(plane);
        }
    }

    /// Queues a copy-back: moves a page within its plane through the register, without the bus.
    #[inline(always)]
    pub(crate) fn copy_back(&mut self, from: Ppa, to: Ppa, cause: Cause) {
        debug_assert_eq!(from.plane, to.plane, "copy-back stays in its plane");
        self.counts.reads[cause as usize] += 1;
        self.counts.programs[cause as usize] += 1;
        let duration =
            self.chip.read + self.chip.program_step(self.geometry.page_in_block(to.page)).1;
        match self.fast_path.is_some() {
            true => self.serve_copy(from.plane, cause, duration),
            false => self.copy_step_by_step(from, to, cause, duration),
        }
    }

    /// Queues a copy-back of `duration` off the fast path.
    fn copy_step_by_step(&mut self, from: Ppa, to: Ppa, cause: Cause, duration: Nanos) {
        self.notify_command(cause, FlashCommand::Copy { from: from.page, to: to.page });
        self.note_write(to, Some(from));
        let Plane { head, tail, .. } = self.planes[from.plane as usize];
        let alone = self.planes.len() == self.arrays.len();
        // An erase that waits for other planes may come between two copies.
        let may_come = self.erases.may_come();
        let joins = alone && !self.chip.cache_register && !may_come && self.suspension.is_none();
        if head != NO_OP && joins && self.observer.is_none() {
            // With neither another plane on the array nor a load, nothing comes between consecutive
            // copies: one operation of their total duration is the same.
            let last = self.pool.get_mut(tail);
            if last.kind == OpKind::Copy && last.cause == cause {
                last.duration += duration;
                return;
            }
        }
        let index = self.pool.put(OpKind::Copy, cause, to, Token::NONE);
        self.pool.get_mut(index).source = from.page;
        self.count_collecting(to.plane, cause);
        self.pool.get_mut(index).duration = duration;
        self.enqueue(index, to.plane);
    }

    /// Queues the erase of the block that begins with page `ppa`.
    pub(crate) fn erase(&mut self, ppa: Ppa, cause: Cause) {
        self.counts.erases[cause as usize] += 1;
        if self.fast_path.is_some() {
            return self.serve(OpKind::Erase, ppa.plane, cause, Token::NONE, self.chip.erase);
        }
        self.notify_command(cause, FlashCommand::Erase { page: ppa.page });
        self.note_erase(ppa.page);
        let index = self.pool.put(OpKind::Erase, cause, ppa, Token::NONE);
        if self.delay_behind_replacers(index, ppa) {
            return;
        }
        self.count_collecting(ppa.plane, cause);
        self.enqueue(index, ppa.plane);
    }

    /// Appends operation `index` to the queue of `plane`; if it is the first program of a block
    /// whose erase has not begun, the erase goes before it.
    #[inline]
    pub(super) fn enqueue(&mut self, index: u32, plane: u32) {
        assert!(self.fast_path.is_none(), "what a server does it does in turn");
        self.pool.pending += 1;
        let op = self.pool.get(index);
        let (kind, ppa) = (op.kind, op.ppa);
        if matches!(kind, OpKind::Program | OpKind::Copy)
            && let Some(erase) = self.erase_due(ppa)
        {
            self.queue(erase, plane);
        }
        self.queue(index, plane);
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

    /// Appends operation `index` to the queue of `plane` and serves the plane if the queue was
    /// empty.
    #[inline]
    fn queue(&mut self, index: u32, plane: u32) {
        if self.suspension.is_some() && self.pool.get(index).kind == OpKind::Erase {
            self.delay_behind_reads(index, plane);
        }
        let p = &mut self.planes[plane as usize];
        if p.head == NO_OP {
            p.head = index;
            p.tail = index;
            self.serve_plane(plane);
        } else {
            self.pool.get_mut(p.tail).next = index;
            p.tail = index;
        }
    }
}

/// Returns `true` if the host waits for a read of `cause` with `token`.
fn is_awaited(cause: Cause, token: Token) -> bool {
    matches!(cause, Cause::Host | Cause::Map) && token != Token::NONE
}
