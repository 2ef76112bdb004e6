//! What may be asked of the chips.

use super::observe::FlashCommand;
use super::ops::{Kind, NO_OP};
use super::{BEHIND, Batch, Cause, NOBODY, Nand, Plane, Ppa, page_of};
use assay_spec::Nanos;

impl Nand {
    /// Asks for a read; `token` is told when the data is in the controller. Returns its number, for
    /// a program that waits for it.
    #[inline]
    pub(crate) fn read(&mut self, ppa: Ppa, cause: Cause, token: u64) -> u32 {
        self.counts.reads[cause as usize] += 1;
        if self.fast_path.is_some() {
            self.serve(Kind::Read, ppa.plane, cause, token, self.read);
            return NO_OP;
        }
        let first = match self.suspension.is_some() && is_awaited(cause, token) {
            true => self.to_read_first(ppa),
            false => None,
        };
        let is_old = first.is_some_and(|from| from != ppa);
        let (ppa, first) = (first.unwrap_or(ppa), first.is_some());
        self.notify_command(cause, FlashCommand::Read { page: ppa.page, subject: subject(token) });
        // What goes first has no collection before it.
        let token = if first { token } else { self.marked(Kind::Read, ppa.plane, cause, token) };
        let index = self.pool.put(Kind::Read, cause, ppa, token);
        if self.has_multi_page() {
            self.note_slc(index, ppa.page);
        }
        if is_old {
            self.hold_up_erase(index);
        }
        match first {
            true => self.ask_first(index, ppa.plane),
            false => self.ask(index, ppa.plane),
        }
        index
    }

    /// Asks for a read that does not begin before all of `others` have ended.
    pub(crate) fn read_after(&mut self, ppa: Ppa, cause: Cause, token: u64, others: &[u32]) -> u32 {
        self.counts.reads[cause as usize] += 1;
        self.notify_command(cause, FlashCommand::Read { page: ppa.page, subject: subject(token) });
        let token = self.marked(Kind::Read, ppa.plane, cause, token);
        let index = self.pool.put(Kind::Read, cause, ppa, token);
        self.pool.get_mut(index).waits = others.len() as u16;
        self.ask(index, ppa.plane);
        self.wait_for(index, others);
        index
    }

    /// The operation `index` waits for `others`, behind whatever else waits for all of them.
    #[inline]
    pub(super) fn wait_for(&mut self, index: u32, others: &[u32]) {
        for other in others {
            match self.pool.get(*other).unblocks {
                NO_OP => self.pool.get_mut(*other).unblocks = index,
                first => return self.join_those_waiting(index, first),
            }
        }
    }

    #[cold]
    fn join_those_waiting(&mut self, index: u32, first: u32) {
        let mut last = first;
        while self.pool.get(last).sibling != NO_OP {
            last = self.pool.get(last).sibling;
        }
        self.pool.get_mut(last).sibling = index;
    }

    /// Asks for a program that needs the data of `reads`: it is not loaded before they have ended.
    /// Returns its number, if it is not one of several pages.
    #[inline]
    pub(crate) fn program_after(
        &mut self,
        ppa: Ppa,
        cause: Cause,
        token: u64,
        reads: &[u32],
    ) -> u32 {
        self.program_with(ppa, cause, token, reads, NO_OP)
    }

    /// The same of a page that lay in block `old`, if it lay in one, which is not erased before
    /// this has ended; not needed if the plane's order sees to that.
    #[inline]
    pub(crate) fn program_with(
        &mut self,
        ppa: Ppa,
        cause: Cause,
        token: u64,
        reads: &[u32],
        old: u32,
    ) -> u32 {
        if self.fast_path.is_some() {
            debug_assert!(reads.is_empty(), "it waits for more than its plane");
            self.counts.programs[cause as usize] += 1;
            let (_, time) = self.program_time(ppa.page);
            self.serve(Kind::Program, ppa.plane, cause, token, time);
            return NO_OP;
        }
        self.notify_command(
            cause,
            FlashCommand::Program { page: ppa.page, subject: subject(token) },
        );
        self.note_write(ppa, None);
        if self.has_multi_page() {
            self.add_to_program(ppa, cause, token, reads, old);
            return NO_OP;
        }
        let token = self.marked(Kind::Program, ppa.plane, cause, token);
        let index = self.pool.put(Kind::Program, cause, ppa, token);
        self.replaces(index, old);
        self.ask_program(index, ppa, cause, reads);
        index
    }

    /// Asks for a program of what the page `from` holds, which is not loaded before `others`, its
    /// read among them, have ended. The block of `from` is not erased before it has.
    pub(crate) fn program_from(&mut self, to: Ppa, cause: Cause, from: Ppa, others: &[u32]) {
        self.notify_command(cause, FlashCommand::Copy { from: from.page, to: to.page });
        self.note_write(to, Some(from));
        let old = match self.keeps_replaced {
            true => self.geometry.block(from.page),
            false => NO_OP,
        };
        if self.has_multi_page() {
            return self.add_to_program(to, cause, NOBODY, others, old);
        }
        let index = self.pool.put(Kind::Program, cause, to, NOBODY);
        if from.plane != to.plane {
            self.replaces(index, old);
        }
        self.count_collecting(to.plane, cause);
        self.ask_program(index, to, cause, others);
    }

    #[inline]
    fn ask_program(&mut self, index: u32, ppa: Ppa, cause: Cause, others: &[u32]) {
        self.counts.programs[cause as usize] += 1;
        self.pool.get_mut(index).waits = others.len() as u16;
        self.ask(index, ppa.plane);
        self.wait_for(index, others);
    }

    /// Asks for a program that is loaded and then waits until it is released; returns its number.
    pub(crate) fn program_held(&mut self, ppa: Ppa, cause: Cause, token: u64) -> u32 {
        self.notify_command(
            cause,
            FlashCommand::Program { page: ppa.page, subject: subject(token) },
        );
        self.note_write(ppa, None);
        let token = self.marked(Kind::Program, ppa.plane, cause, token);
        let index = self.pool.put(Kind::Program, cause, ppa, token);
        self.pool.get_mut(index).held = true;
        self.ask_program(index, ppa, cause, &[]);
        index
    }

    /// Held programs begin together, when the last of them is loaded: one confirmation for all.
    pub(crate) fn release_together(&mut self, programs: Vec<u32>) {
        let loading = programs.iter().filter(|p| !self.pool.get(**p).loaded).count();
        match loading {
            0 => self.release(&programs),
            _ => self.batches.push(Batch { programs, loading }),
        }
    }

    /// A held program is loaded; if it was the last of its batch, they begin.
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

    /// Held programs may begin, those of one die together.
    pub(crate) fn release(&mut self, programs: &[u32]) {
        for program in programs {
            self.pool.get_mut(*program).held = false;
        }
        for program in programs {
            let plane = self.pool.get(*program).ppa.plane;
            self.confirm(plane);
        }
    }

    /// Asks for a page to be moved to another of its plane through the register, without the bus.
    #[inline(always)]
    pub(crate) fn copy_back(&mut self, from: Ppa, to: Ppa, cause: Cause) {
        debug_assert_eq!(from.plane, to.plane, "copy-back stays in its plane");
        self.counts.reads[cause as usize] += 1;
        self.counts.programs[cause as usize] += 1;
        let duration = self.read + self.program_time(to.page).1;
        match self.fast_path.is_some() {
            true => self.serve_copy(from.plane, cause, duration),
            false => self.copy_step_by_step(from, to, cause, duration),
        }
    }

    fn copy_step_by_step(&mut self, from: Ppa, to: Ppa, cause: Cause, duration: Nanos) {
        self.notify_command(cause, FlashCommand::Copy { from: from.page, to: to.page });
        self.note_write(to, Some(from));
        let Plane { head, tail, .. } = self.planes[from.plane as usize];
        let alone = self.planes.len() == self.arrays.len();
        // An erase that other planes hold up may come between.
        let may_come = self.keeps_replaced || self.erases_left > 0;
        let joins = alone && !self.cache_register && !may_come && self.suspension.is_none();
        if head != NO_OP && joins && self.observer.is_none() {
            // Nothing comes between copies in a row when neither another plane nor a load can:
            // they are one that takes as long.
            let last = self.pool.get_mut(tail);
            if last.kind == Kind::Copy && last.cause == cause {
                last.duration += duration;
                return;
            }
        }
        let index = self.pool.put(Kind::Copy, cause, to, u64::from(from.page));
        self.count_collecting(to.plane, cause);
        self.pool.get_mut(index).duration = duration;
        self.ask(index, to.plane);
    }

    /// Asks for the erase of the block that begins with page `ppa`.
    pub(crate) fn erase(&mut self, ppa: Ppa, cause: Cause) {
        self.counts.erases[cause as usize] += 1;
        if self.fast_path.is_some() {
            return self.serve(Kind::Erase, ppa.plane, cause, NOBODY, self.erase);
        }
        self.notify_command(cause, FlashCommand::Erase { page: ppa.page });
        self.note_erase(ppa.page);
        let index = self.pool.put(Kind::Erase, cause, ppa, NOBODY);
        if self.waits_for_replacers(index, ppa) {
            return;
        }
        self.count_collecting(ppa.plane, cause);
        self.ask(index, ppa.plane);
    }

    /// The operation `index` waits for its turn on `plane`.
    #[inline]
    pub(super) fn ask(&mut self, index: u32, plane: u32) {
        assert!(self.fast_path.is_none(), "what a server does it does in turn");
        self.pending += 1;
        let op = self.pool.get(index);
        let (kind, ppa) = (op.kind, op.ppa);
        if matches!(kind, Kind::Program | Kind::Copy)
            && let Some(erase) = self.erase_due(ppa)
        {
            self.queue(erase, plane);
        }
        self.queue(index, plane);
    }

    /// An operation for `cause` is asked of `plane`: what collection has there is counted.
    #[inline]
    pub(super) fn count_collecting(&mut self, plane: u32, cause: Cause) {
        self.planes[plane as usize].collecting += u32::from(cause.collects());
    }

    /// `token`, marked if it is the host's and collection is before it on `plane`.
    #[inline]
    pub(super) fn marked(&mut self, kind: Kind, plane: u32, cause: Cause, token: u64) -> u64 {
        self.count_collecting(plane, cause);
        match cause == Cause::Host && self.planes[plane as usize].collecting > 0 {
            true => self.mark_behind(kind, token),
            false => token,
        }
    }

    #[inline(never)]
    fn mark_behind(&mut self, kind: Kind, token: u64) -> u64 {
        let (kind, alone) = match kind {
            Kind::Read => (0, self.read + self.shift),
            _ => (1, self.shift),
        };
        self.behind_open[kind] += 1;
        self.behind[kind].begin(self.events.now() + alone);
        token | BEHIND
    }

    #[inline]
    fn queue(&mut self, index: u32, plane: u32) {
        if self.suspension.is_some() && self.pool.get(index).kind == Kind::Erase {
            self.keep_behind_readers(index, plane);
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

/// Whether the host waits for a read.
fn is_awaited(cause: Cause, token: u64) -> bool {
    matches!(cause, Cause::Host | Cause::Map) && token != NOBODY
}

/// The logical page that a token is about.
fn subject(token: u64) -> Option<u32> {
    (token != NOBODY).then_some(page_of(token))
}
