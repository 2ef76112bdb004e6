//! Programs of several pages: what is written together is gathered in the controller first.
//!
//! A physical page has room for several pages that are mapped on their own, and with several bits a
//! cell so many physical pages are programmed in one go. Pages of a block that belong together come
//! one after the other; when the last is there, they are loaded and programmed as one. Before, they
//! are on no chip, and whoever wants one has it from the controller.

use super::ops::{Kind, NO_OP};
use super::{BEHIND, Cause, FlashEvent, NOBODY, Nand, Ppa};
use crate::events::Queue;
use assay_spec::Nanos;
use assay_spec::device::NandSpec;

/// Pages that are programmed together.
struct MultiPageProgram {
    /// The operation they will be.
    op: u32,
    first: u32,
    count: u32,
    /// Whom to tell.
    tokens: Vec<u64>,
    /// Replacers that they belong to, once for each page.
    replaces: Vec<u32>,
}

/// What is gathered, and what is on its way.
pub(super) struct MultiPage {
    /// Pages of a program.
    pages: u32,
    /// Per plane: those that lack pages.
    open: Vec<Vec<MultiPageProgram>>,
    /// By block: pages of it whose only newer copies are in those.
    replaced: Vec<u16>,
    /// How often one was asked for.
    asks: u64,
    /// By the number that their operation has: those that are asked for, and numbers that are free.
    queued: Vec<Option<MultiPageProgram>>,
    free: Vec<u32>,
    /// Of a program with one bit a cell.
    slc_pages: u32,
    /// Blocks with one bit a cell.
    in_slc: Vec<bool>,
    /// Pages of a physical page, as far as that is known; and by plane, which its register has.
    part: u32,
    sensed_page: Vec<u32>,
}

impl MultiPage {
    pub(super) fn new(spec: &NandSpec) -> Option<MultiPage> {
        let blocks = u64::from(spec.planes()) * u64::from(spec.blocks_per_plane);
        (spec.pages_per_program > 1).then(|| MultiPage {
            pages: spec.pages_per_program,
            open: (0..spec.planes()).map(|_| Vec::new()).collect(),
            replaced: vec![0; blocks as usize],
            asks: 0,
            queued: Vec::new(),
            free: Vec::new(),
            slc_pages: spec.pages_per_program / spec.slc.map_or(1, |slc| slc.bits),
            part: spec.slc.map_or(1, |slc| spec.pages_per_program / slc.bits),
            sensed_page: vec![NO_OP; spec.planes() as usize],
            in_slc: vec![false; if spec.slc.is_some() { blocks as usize } else { 0 }],
        })
    }
}

impl Nand {
    /// Whether several pages are programmed together.
    #[inline]
    pub(crate) fn has_multi_page(&self) -> bool {
        self.multi_page.is_some()
    }

    /// From now on `block` is used with one bit a cell, or not.
    pub(crate) fn use_as_slc(&mut self, block: u32, is_slc: bool) {
        if let Some(mode) = self.multi_page.as_mut().and_then(|g| g.in_slc.get_mut(block as usize))
        {
            *mode = is_slc;
        }
        if let Some(observer) = &mut self.observer {
            observer.used_as(block, is_slc);
        }
    }

    /// Whether `page` has one bit a cell.
    pub(super) fn is_slc(&self, page: u32) -> bool {
        let block = self.geometry.block(page) as usize;
        self.multi_page.as_ref().is_some_and(|g| g.in_slc.get(block) == Some(&true))
    }

    /// Pages of a program with all bits of its cells.
    pub(crate) fn pages_per_program(&self) -> u16 {
        self.multi_page.as_ref().map_or(1, |multi_page| multi_page.pages as u16)
    }

    /// Pages that are programmed together with `page`, itself among them.
    pub(crate) fn program_unit(&self, page: u32) -> u32 {
        let Some(multi_page) = &self.multi_page else { return 1 };
        if self.is_slc(page) { multi_page.slc_pages } else { multi_page.pages }
    }

    /// Whether `ppa` has been asked to be programmed and waits for others.
    pub(crate) fn is_buffered(&self, ppa: Ppa) -> bool {
        let Some(multi_page) = &self.multi_page else { return false };
        let open = &multi_page.open[ppa.plane as usize];
        open.iter().any(|gang| (gang.first..gang.first + gang.count).contains(&ppa.page))
    }

    /// Whether the newest copy of a page of `block` waits for others, and is on no chip yet.
    pub(crate) fn is_buffered_from(&self, block: u32) -> bool {
        self.multi_page.as_ref().is_some_and(|g| g.replaced[block as usize] > 0)
    }

    /// Whether all of those wait for the program of which `next` is the next page.
    pub(crate) fn is_buffered_before(&self, block: u32, next: Ppa) -> bool {
        let Some(multi_page) = &self.multi_page else { return false };
        let mut open_programs = multi_page.open[next.plane as usize].iter();
        let gang = open_programs.find(|gang| gang.first + gang.count == next.page);
        let is_of = |number: &&u32| self.replacing.block(**number) == block;
        let there = gang.map_or(0, |gang| gang.replaces.iter().filter(is_of).count());
        there == usize::from(multi_page.replaced[block as usize])
    }

    /// How many programs of several pages have been asked for.
    pub(crate) fn multi_page_programs(&self) -> u64 {
        self.multi_page.as_ref().map_or(0, |g| g.asks)
    }

    /// A page, which lay in block `old`, joins those it is programmed with; all are asked for when
    /// it is the last.
    #[inline(never)]
    pub(super) fn add_to_program(
        &mut self,
        ppa: Ppa,
        cause: Cause,
        token: u64,
        reads: &[u32],
        old: u32,
    ) {
        self.counts.programs[cause as usize] += 1;
        let (unit, is_slc) = (self.program_unit(ppa.page), self.is_slc(ppa.page));
        let place = self.geometry.page_in_block(ppa.page) % unit;
        let open = |nand: &Nand| {
            let open_programs = &nand.multi_page.as_ref()?.open[ppa.plane as usize];
            open_programs.iter().position(|gang| gang.first + gang.count == ppa.page)
        };
        // A page that begins a program goes on with none.
        let index = match open(self).filter(|_| place > 0) {
            Some(index) => index,
            None => self.open_gang(ppa, cause, is_slc),
        };
        let token = match cause == Cause::Host && token != NOBODY {
            true => self.marked(Kind::Program, ppa.plane, cause, token),
            false => token,
        };
        let Some(multi_page) = &mut self.multi_page else { return };
        let gang = &mut multi_page.open[ppa.plane as usize][index];
        gang.count += 1;
        if token != NOBODY {
            gang.tokens.push(token);
        }
        if old != NO_OP {
            gang.replaces.push(self.replacing.add(old));
            multi_page.replaced[old as usize] += 1;
        }
        let op = gang.op;
        self.pool.get_mut(op).waits += reads.len() as u16;
        self.wait_for(op, reads);
        if place + 1 == unit {
            self.ask_gang(ppa.plane, index);
        }
    }

    fn open_gang(&mut self, ppa: Ppa, cause: Cause, is_slc: bool) -> usize {
        let op = self.pool.put(Kind::Program, cause, ppa, NOBODY);
        // For itself, as long as it lacks pages.
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

    /// What is gathered for the program of which `page` would be the next is programmed without it
    /// and what comes behind; false if nothing is.
    pub(crate) fn program_short(&mut self, plane: u32, page: u32) -> bool {
        let Some(multi_page) = &self.multi_page else { return false };
        let mut open_programs = multi_page.open[plane as usize].iter();
        let found = open_programs.position(|gang| gang.first + gang.count == page);
        if let Some(index) = found {
            self.ask_gang(plane, index);
        }
        found.is_some()
    }

    fn ask_gang(&mut self, plane: u32, index: usize) {
        let Some(multi_page) = &mut self.multi_page else { return };
        let gang = multi_page.open[plane as usize].swap_remove(index);
        multi_page.asks += 1;
        for number in &gang.replaces {
            multi_page.replaced[self.replacing.block(*number) as usize] -= 1;
        }
        let op = gang.op;
        let number = multi_page.free.pop().unwrap_or(multi_page.queued.len() as u32);
        if number as usize == multi_page.queued.len() {
            multi_page.queued.push(None);
        }
        multi_page.queued[number as usize] = Some(gang);
        let program = self.pool.get_mut(op);
        program.gang = number;
        program.waits -= 1;
        self.ask(op, plane);
    }

    /// How long the bus takes for operation `index`, and with which others it is queued.
    pub(super) fn shift_time(&self, index: u32) -> (Queue, Nanos) {
        match self.pages_of(index) {
            1 => (Queue::Shift, self.shift),
            count => (Queue::Other, self.shift * u64::from(count)),
        }
    }

    /// Pages that operation `index` is about.
    pub(super) fn pages_of(&self, index: u32) -> u32 {
        let number = self.pool.get(index).gang;
        let gang = self.multi_page.as_ref().and_then(|g| g.queued.get(number as usize)?.as_ref());
        gang.map_or(1, |gang| gang.count)
    }

    /// The pages of operation `index` are loaded: they do not wait behind collection any longer.
    pub(super) fn program_loaded(&mut self, index: u32) {
        let number = self.pool.get(index).gang;
        let gang = self.multi_page.as_ref().and_then(|g| g.queued.get(number as usize)?.as_ref());
        let behind = gang.map_or(0, |g| g.tokens.iter().filter(|t| **t & BEHIND != 0).count());
        (0..behind).for_each(|_| self.not_behind(1));
    }

    /// And in the cells.
    pub(super) fn program_ended(
        &mut self,
        index: u32,
        plane: u32,
        flash_events: &mut Vec<FlashEvent>,
    ) {
        let number = std::mem::replace(&mut self.pool.get_mut(index).gang, NO_OP);
        let Some(multi_page) = &mut self.multi_page else { return };
        let Some(gang) = multi_page.queued.get_mut(number as usize).and_then(Option::take) else {
            return;
        };
        multi_page.free.push(number);
        flash_events.extend(gang.tokens.iter().map(|token| FlashEvent::Programmed(*token, plane)));
        gang.replaces.into_iter().for_each(|number| self.replaced(number));
    }

    /// How long the array takes for read `index`, which begins, and with which others it is queued:
    /// nothing, if the physical page is in the register.
    pub(super) fn sense(&mut self, index: u32) -> (Queue, Nanos) {
        let op = self.pool.get(index);
        let (plane, page, is_slc) = (op.ppa.plane, op.ppa.page, op.is_slc);
        let Some(multi_page) = &mut self.multi_page else { return (Queue::Sense, self.read) };
        let physical = page / multi_page.part;
        let array = self.geometry.array(plane);
        let is_there = match self.suspension.as_mut().filter(|s| s.is_in(array)) {
            Some(suspension) => suspension.latches(plane, physical),
            None => {
                let before =
                    std::mem::replace(&mut multi_page.sensed_page[plane as usize], physical);
                before == physical
            }
        };
        match (is_there, is_slc) {
            (true, _) => (Queue::Other, Nanos::ZERO),
            (false, true) => (Queue::Other, self.slc[0]),
            (false, false) => (Queue::Sense, self.read),
        }
    }

    /// A program takes the register of `plane`.
    pub(super) fn overwrites_register(&mut self, plane: u32) {
        if let Some(multi_page) = &mut self.multi_page {
            multi_page.sensed_page[plane as usize] = NO_OP;
        }
        if let Some(suspension) = &mut self.suspension {
            suspension.forgets_latched(plane);
        }
    }

    /// The read `index`, which is new, is of a page with one bit a cell, or not.
    pub(super) fn note_slc(&mut self, index: u32, page: u32) {
        self.pool.get_mut(index).is_slc = self.is_slc(page);
    }
}
