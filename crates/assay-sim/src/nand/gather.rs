//! Gathers the pages of programs of several pages, and reports their ends (`multi_page.rs`).

use super::counts::CollectionWait;
use super::multi_page::MultiPageProgram;
use super::observe::Observed;
use super::ops::{NO_OP, OpKind};
use super::{Cause, FlashEvent, Nand, Ppa, Token};
use crate::events::Queue;
use assay_spec::Nanos;

impl Nand {
    /// Returns `true` if several pages are programmed together.
    #[inline]
    pub(crate) fn has_multi_page(&self) -> bool {
        self.multi_page.is_some()
    }

    /// Uses `block` with one bit a cell from now on, or with all bits.
    pub(crate) fn use_as_slc(&mut self, block: u32, is_slc: bool) {
        if let Some(mode) = self.multi_page.as_mut().and_then(|g| g.in_slc.get_mut(block as usize))
        {
            *mode = is_slc;
        }
        if let Some(observer) = &mut self.observer {
            observer.observe(Observed::UsedAs { block, is_slc });
        }
    }

    /// Returns `true` if the block of `page` is used with one bit a cell.
    pub(super) fn is_slc(&self, page: u32) -> bool {
        let block = self.geometry.block(page) as usize;
        self.multi_page.as_ref().is_some_and(|g| g.in_slc.get(block) == Some(&true))
    }

    /// Returns the number of pages of a program with all bits of its cells.
    pub(crate) fn pages_per_program(&self) -> u16 {
        self.multi_page.as_ref().map_or(1, |multi_page| multi_page.pages as u16)
    }

    /// Returns the number of pages that are programmed together with `page`, including itself.
    pub(crate) fn program_unit(&self, page: u32) -> u32 {
        let Some(multi_page) = &self.multi_page else { return 1 };
        if self.is_slc(page) { multi_page.slc_pages } else { multi_page.pages }
    }

    /// Returns `true` if a program of `ppa` has been requested and waits for the pages it lacks.
    pub(crate) fn is_buffered(&self, ppa: Ppa) -> bool {
        let Some(multi_page) = &self.multi_page else { return false };
        let open = &multi_page.open[ppa.plane as usize];
        open.iter()
            .any(|program| (program.first..program.first + program.count).contains(&ppa.page))
    }

    /// Returns `true` if the newest copy of a page of `block` is in an open program, thus on no
    /// chip yet.
    pub(crate) fn is_buffered_from(&self, block: u32) -> bool {
        self.multi_page.as_ref().is_some_and(|g| g.replaced[block as usize] > 0)
    }

    /// Returns `true` if all copies that [`Nand::is_buffered_from`] finds are in the open program
    /// whose next page is `next`.
    pub(crate) fn is_buffered_before(&self, block: u32, next: Ppa) -> bool {
        let Some(multi_page) = &self.multi_page else { return false };
        let mut open_programs = multi_page.open[next.plane as usize].iter();
        let program = open_programs.find(|program| program.first + program.count == next.page);
        let is_of = |number: &&u32| self.erases.block(**number) == block;
        let there = program.map_or(0, |program| program.replaces.iter().filter(is_of).count());
        there == usize::from(multi_page.replaced[block as usize])
    }

    /// Returns the number of programs of several pages queued since the beginning.
    pub(crate) fn multi_page_programs(&self) -> u64 {
        self.multi_page.as_ref().map_or(0, |g| g.asks)
    }

    /// Adds page `ppa`, which lay in block `old`, to the pages it is programmed with, and queues
    /// the program when it is the last of them. The program waits for `reads`.
    #[inline(never)]
    pub(super) fn add_to_program(
        &mut self,
        ppa: Ppa,
        cause: Cause,
        token: Token,
        reads: &[u32],
        old: u32,
    ) {
        self.counts.programs[cause as usize] += 1;
        let (unit, is_slc) = (self.program_unit(ppa.page), self.is_slc(ppa.page));
        let place = self.geometry.page_in_block(ppa.page) % unit;
        let open = |nand: &Nand| {
            let open_programs = &nand.multi_page.as_ref()?.open[ppa.plane as usize];
            open_programs.iter().position(|program| program.first + program.count == ppa.page)
        };
        // The first page of a program opens a new one.
        let index = match open(self).filter(|_| place > 0) {
            Some(index) => index,
            None => self.open_program(ppa, cause, is_slc),
        };
        let token = match cause == Cause::Host && token != Token::NONE {
            true => self.count_and_mark(OpKind::Program, ppa.plane, cause, token),
            false => token,
        };
        let Some(multi_page) = &mut self.multi_page else { return };
        let program = &mut multi_page.open[ppa.plane as usize][index];
        program.count += 1;
        if token != Token::NONE {
            program.tokens.push(token);
        }
        if old != NO_OP {
            program.replaces.push(self.erases.add(old));
            multi_page.replaced[old as usize] += 1;
        }
        let op = program.op;
        self.pool.get_mut(op).waits += reads.len() as u16;
        self.wait_for(op, reads);
        if place + 1 == unit {
            self.enqueue_multi_page(ppa.plane, index);
        }
    }

    /// Opens a program that begins with page `ppa`, and returns its index among those of the plane.
    fn open_program(&mut self, ppa: Ppa, cause: Cause, is_slc: bool) -> usize {
        let op = self.pool.put(OpKind::Program, cause, ppa, Token::NONE);
        // The program waits for its own last page.
        self.pool.get_mut(op).waits = 1;
        self.pool.get_mut(op).is_slc = is_slc;
        self.count_collecting(ppa.plane, cause);
        let Some(multi_page) = &mut self.multi_page else { return 0 };
        let open_programs = &mut multi_page.open[ppa.plane as usize];
        open_programs.push(MultiPageProgram {
            op,
            first: ppa.page,
            count: 0,
            tokens: Vec::new(),
            replaces: Vec::new(),
        });
        open_programs.len() - 1
    }

    /// Queues the open program whose next page would be `page`, without that page and those behind
    /// it. Returns `false` if there is no such program.
    pub(crate) fn program_short(&mut self, plane: u32, page: u32) -> bool {
        let Some(multi_page) = &self.multi_page else { return false };
        let mut open_programs = multi_page.open[plane as usize].iter();
        let found = open_programs.position(|program| program.first + program.count == page);
        if let Some(index) = found {
            self.enqueue_multi_page(plane, index);
        }
        found.is_some()
    }

    /// Queues the open program `index` of `plane`.
    fn enqueue_multi_page(&mut self, plane: u32, index: usize) {
        let Some(multi_page) = &mut self.multi_page else { return };
        let program = multi_page.open[plane as usize].swap_remove(index);
        multi_page.asks += 1;
        for number in &program.replaces {
            multi_page.replaced[self.erases.block(*number) as usize] -= 1;
        }
        let op = program.op;
        let number = multi_page.free.pop().unwrap_or(multi_page.queued.len() as u32);
        if number as usize == multi_page.queued.len() {
            multi_page.queued.push(None);
        }
        multi_page.queued[number as usize] = Some(program);
        let program = self.pool.get_mut(op);
        program.multi_page = number;
        program.waits -= 1;
        self.enqueue(op, plane);
    }

    /// Returns the event queue and the bus time of operation `index`.
    pub(super) fn transfer_time(&self, index: u32) -> (Queue, Nanos) {
        match self.pages_of(index) {
            1 => (Queue::Transfer, self.chip.page_transfer),
            count => (Queue::Other, self.chip.page_transfer * u64::from(count)),
        }
    }

    /// Returns the number of pages of operation `index`.
    pub(super) fn pages_of(&self, index: u32) -> u32 {
        let number = self.pool.get(index).multi_page;
        let program =
            self.multi_page.as_ref().and_then(|g| g.queued.get(number as usize)?.as_ref());
        program.map_or(1, |program| program.count)
    }

    /// Ends the waits behind collection of the pages of program `index`, which is loaded.
    pub(super) fn program_loaded(&mut self, index: u32) {
        let number = self.pool.get(index).multi_page;
        let program =
            self.multi_page.as_ref().and_then(|g| g.queued.get(number as usize)?.as_ref());
        let behind =
            program.map_or(0, |g| g.tokens.iter().filter(|t| t.is_behind_collection()).count());
        let now = self.events.now();
        let end = |_| self.counts.end_collection_wait(CollectionWait::Program, now);
        (0..behind).for_each(end);
    }

    /// Reports the pages of program `index`, which is in the cells of `plane`, and counts it as
    /// ended in its groups of replacers.
    pub(super) fn program_ended(
        &mut self,
        index: u32,
        plane: u32,
        flash_events: &mut Vec<FlashEvent>,
    ) {
        let number = std::mem::replace(&mut self.pool.get_mut(index).multi_page, NO_OP);
        let Some(multi_page) = &mut self.multi_page else { return };
        let Some(program) = multi_page.queued.get_mut(number as usize).and_then(Option::take)
        else {
            return;
        };
        multi_page.free.push(number);
        flash_events
            .extend(program.tokens.iter().map(|token| FlashEvent::Programmed(*token, plane)));
        program.replaces.into_iter().for_each(|number| self.on_group_program_done(number));
    }

    /// Returns the event queue and the array time of read `index`, which begins now. The time is
    /// zero if the register holds the physical page already.
    pub(super) fn sense(&mut self, index: u32) -> (Queue, Nanos) {
        let op = self.pool.get(index);
        let (plane, page, is_slc) = (op.ppa.plane, op.ppa.page, op.is_slc);
        let Some(multi_page) = &mut self.multi_page else { return (Queue::Sense, self.chip.read) };
        let physical = page / multi_page.part;
        let array = self.geometry.array(plane);
        let is_there = match self.suspension.as_mut().filter(|s| s.is_in(array)) {
            Some(suspension) => suspension.latch_page(plane, physical),
            None => {
                let before =
                    std::mem::replace(&mut multi_page.sensed_page[plane as usize], physical);
                before == physical
            }
        };
        match (is_there, is_slc) {
            (true, _) => (Queue::Other, Nanos::ZERO),
            (false, true) => (Queue::Other, self.chip.slc[0]),
            (false, false) => (Queue::Sense, self.chip.read),
        }
    }

    /// Notes that a program overwrites the register of `plane`.
    pub(super) fn overwrites_register(&mut self, plane: u32) {
        if let Some(multi_page) = &mut self.multi_page {
            multi_page.sensed_page[plane as usize] = NO_OP;
        }
        if let Some(suspension) = &mut self.suspension {
            suspension.invalidate_latch(plane);
        }
    }

    /// Notes in the new read `index` whether `page` has one bit a cell.
    pub(super) fn note_slc(&mut self, index: u32, page: u32) {
        self.pool.get_mut(index).is_slc = self.is_slc(page);
    }
}
