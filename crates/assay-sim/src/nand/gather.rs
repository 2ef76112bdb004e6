//! Gathers the pages of programs of several pages (`multi_page.rs`).

use super::chips::Chips;
use super::counts::CollectionWait;
use super::geometry::Ppa;
use super::multi_page::{MultiPageProgram, Replaced};
use super::observe::{Cause, Observed};
use super::ops::{NO_OP, OpKind};
use super::token::Token;
use crate::events::Queue;
use assay_spec::Nanos;

impl Chips {
    /// Returns `true` if several pages are programmed together.
    #[inline]
    pub(crate) fn has_multi_page(&self) -> bool {
        self.multi_page.is_some()
    }

    /// Uses `block` with one bit a cell from now on, or with all bits.
    pub(crate) fn use_as_slc(&mut self, block: u32, is_slc: bool) {
        if let Some(multi_page) = &mut self.multi_page {
            multi_page.use_as_slc(block, is_slc);
        }
        if let Some(observer) = &mut self.observer {
            observer.observe(Observed::UsedAs { block, is_slc });
        }
    }

    /// Returns `true` if the block of `page` is used with one bit a cell.
    pub(super) fn is_slc(&self, page: u32) -> bool {
        self.multi_page.as_ref().is_some_and(|m| m.is_slc(self.geometry.block(page)))
    }

    /// Returns the number of pages of a program with all bits of its cells.
    pub(crate) fn pages_per_program(&self) -> u16 {
        self.multi_page.as_ref().map_or(1, |multi_page| multi_page.unit(false) as u16)
    }

    /// Returns the number of pages that are programmed together with `page`, including itself.
    pub(crate) fn program_unit(&self, page: u32) -> u32 {
        self.multi_page.as_ref().map_or(1, |multi_page| multi_page.unit(self.is_slc(page)))
    }

    /// Returns `true` if a program of `ppa` has been requested and waits for the pages it lacks.
    pub(crate) fn is_buffered(&self, ppa: Ppa) -> bool {
        self.multi_page.as_ref().is_some_and(|multi_page| multi_page.is_open(ppa))
    }

    /// Returns `true` if the newest copy of a page of `block` is in an open program, thus on no
    /// chip yet.
    pub(crate) fn is_buffered_from(&self, block: u32) -> bool {
        self.multi_page.as_ref().is_some_and(|multi_page| multi_page.replaced(block) > 0)
    }

    /// Returns `true` if all copies that [`Chips::is_buffered_from`] finds are in the open program
    /// whose next page is `next`.
    pub(crate) fn is_buffered_before(&self, block: u32, next: Ppa) -> bool {
        let Some(multi_page) = &self.multi_page else { return false };
        multi_page.replaced_by(block, next) == multi_page.replaced(block)
    }

    /// Returns the number of programs of several pages queued since the beginning.
    pub(crate) fn multi_page_programs(&self) -> u64 {
        self.multi_page.as_ref().map_or(0, |multi_page| multi_page.programs())
    }

    /// Adds page `ppa` to the pages it is programmed with. The program waits for `reads`. Returns
    /// the operation, for the queue, if the page is the last of it.
    #[inline(never)]
    pub(super) fn add_to_program(
        &mut self,
        ppa: Ppa,
        cause: Cause,
        token: Token,
        reads: &[u32],
        replaced: Option<Replaced>,
    ) -> Option<u32> {
        self.counts.programs[cause as usize] += 1;
        let (unit, is_slc) = (self.program_unit(ppa.page), self.is_slc(ppa.page));
        let place = self.geometry.page_in_block(ppa.page) % unit;
        // The first page of a program opens a new one.
        let open = self.multi_page.as_ref().and_then(|m| m.find_open(ppa.plane, ppa.page));
        let index = match open.filter(|_| place > 0) {
            Some(index) => index,
            None => self.open_program(ppa, cause, is_slc),
        };
        let token = match cause == Cause::Host && token != Token::NONE {
            true => self.count_and_mark(OpKind::Program, ppa.plane, cause, token),
            false => token,
        };
        let op = self.multi_page.as_mut()?.add(ppa.plane, index, token, replaced);
        self.pool.get_mut(op).waits += reads.len() as u16;
        self.pool.wait_for(op, reads);
        if place + 1 == unit { self.close_program(ppa.plane, index) } else { None }
    }

    /// Opens a program that begins with page `ppa`, and returns its index among those of the plane.
    fn open_program(&mut self, ppa: Ppa, cause: Cause, is_slc: bool) -> usize {
        let op = self.pool.put(OpKind::Program, cause, ppa, Token::NONE);
        // The program waits for its own last page.
        self.pool.get_mut(op).waits = 1;
        self.pool.get_mut(op).is_slc = is_slc;
        self.count_collecting(ppa.plane, cause);
        self.multi_page.as_mut().map_or(0, |multi_page| multi_page.open(ppa, op))
    }

    /// Closes the open program whose next page would be `page`, without that page and those behind
    /// it, and returns its operation, for the queue. Returns `None` if there is no such program.
    pub(super) fn close_short(&mut self, plane: u32, page: u32) -> Option<u32> {
        let index = self.multi_page.as_ref()?.find_open(plane, page)?;
        self.close_program(plane, index)
    }

    /// Closes the open program `index` of `plane`, and returns its operation, for the queue.
    fn close_program(&mut self, plane: u32, index: usize) -> Option<u32> {
        let (op, number) = self.multi_page.as_mut()?.close(plane, index);
        let program = self.pool.get_mut(op);
        program.multi_page = number;
        program.waits -= 1;
        Some(op)
    }

    /// Returns the event queue and the bus time of operation `index`.
    pub(super) fn transfer_time(&self, index: u32) -> (Queue, Nanos) {
        match self.pages_of(index) {
            1 => (Queue::Transfer, self.chip.page_transfer),
            count => (Queue::Other, self.chip.page_transfer * u64::from(count)),
        }
    }

    /// Returns the closed program of several pages that is operation `index`.
    fn closed_program(&self, index: u32) -> Option<&MultiPageProgram> {
        self.multi_page.as_ref()?.closed(self.pool.get(index).multi_page)
    }

    /// Returns the number of pages of operation `index`.
    pub(super) fn pages_of(&self, index: u32) -> u32 {
        self.closed_program(index).map_or(1, |program| program.count)
    }

    /// Ends the waits behind collection of the pages of program `index`, which is loaded.
    pub(super) fn on_program_loaded(&mut self, index: u32) {
        let is_behind = |token: &&Token| token.is_behind_collection();
        let program = self.closed_program(index);
        let behind = program.map_or(0, |program| program.tokens.iter().filter(is_behind).count());
        (0..behind).for_each(|_| self.end_collection_wait(CollectionWait::Program));
    }

    /// Takes the pages of program `index`, which is in the cells.
    pub(super) fn take_program(&mut self, index: u32) -> Option<MultiPageProgram> {
        let number = std::mem::replace(&mut self.pool.get_mut(index).multi_page, NO_OP);
        self.multi_page.as_mut()?.take(number)
    }

    /// Returns the event queue and the array time of read `index`, which begins now, as
    /// [`Chips::sense_time`] does, without retries. The time is zero if the register, or the latch,
    /// holds the physical page already.
    pub(super) fn sense(&mut self, index: u32, latch: Option<&mut u32>) -> (Queue, Nanos) {
        let op = self.pool.get(index);
        let (plane, page, is_slc) = (op.ppa.plane, op.ppa.page, op.is_slc);
        let Some(multi_page) = &mut self.multi_page else { return (Queue::Sense, self.chip.read) };
        match (multi_page.sense(plane, page, latch), is_slc) {
            (true, _) => (Queue::Other, Nanos::ZERO),
            (false, true) => (Queue::Other, self.chip.slc[0]),
            (false, false) => (Queue::Sense, self.chip.read),
        }
    }

    /// Notes that a program overwrites the register of `plane`.
    pub(super) fn overwrite_register(&mut self, plane: u32) {
        if let Some(multi_page) = &mut self.multi_page {
            multi_page.overwrite_register(plane);
        }
    }
}
