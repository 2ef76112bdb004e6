//! A map made again from what is found on the flash: the controller has lost its power, and knows
//! nothing but what the cells and the spare areas say.
//!
//! Of each logical page the newest version counts, unless a newer record says that it is trimmed.
//! Blocks with nothing that counts are erased. The blocks that were being filled are filled on,
//! behind what was torn; if it is not known what a block was for, it is closed. What had been moved
//! or written when the power failed may be back where it was, so a plane can hold more than it
//! should, or lack the room to collect: then pages of it go to others first.

use super::gc_per_plane::{Move, clear_bits, set_bits};
use super::{Frontier, NONE, Open, PageMap};
use crate::ftl::Ftl;
use crate::nand::{Cause, Flash, Found, NOBODY, Nand, OutOfBand, Ppa};
use assay_spec::device::Frontiers;
use std::ops::Range;

impl PageMap {
    /// Takes over what is found. Asks for erases and moves that must come before anything else.
    pub(super) fn find(&mut self, nand: &mut Nand, flash: &Flash) {
        assert!(self.planes.iter().all(|plane| plane.live == 0), "it knows nothing yet");
        let newest = self.find_newest(flash);
        for (page, physical) in (0..).zip(newest) {
            self.tables.l2p[page as usize] = physical;
        }
        self.find_trimmed(flash);
        for page in 0..self.tables.l2p.len() as u32 {
            let physical = self.tables.l2p[page as usize];
            if physical != NONE {
                self.tables.p2l[physical as usize] = page;
                self.planes[self.tables.plane_of(physical) as usize].live += 1;
            }
        }
        for plane in 0..self.planes.len() {
            self.find_blocks(nand, flash, plane);
        }
        // Twice: those that come last have room for what the first had to keep.
        for plane in (0..self.planes.len()).chain(0..self.planes.len()) {
            self.make_room_again(nand, plane);
        }
        self.planes.iter_mut().for_each(|plane| self.tables.note_due(plane));
    }

    /// The physical page of each logical one's newest version; of copies of it the one in the block
    /// that was opened last, for the other is being emptied.
    fn find_newest(&self, flash: &Flash) -> Vec<u32> {
        let mut newest: Vec<(u64, u64, u32)> = vec![(0, 0, NONE); self.tables.l2p.len()];
        for (physical, found) in (0..).zip(&flash.pages) {
            let Found::Holds(OutOfBand { logical, version }) = *found else { continue };
            let opened = flash.blocks[(physical / self.tables.pages_per_block) as usize].opened;
            let best = &mut newest[logical as usize];
            *best = (*best).max((version, opened, physical));
        }
        newest.into_iter().map(|(.., physical)| physical).collect()
    }

    fn version(flash: &Flash, physical: u32) -> u64 {
        match flash.pages.get(physical as usize) {
            Some(Found::Holds(spare)) => spare.version,
            _ => 0,
        }
    }

    /// Pages that a newer record says are trimmed are not there.
    fn find_trimmed(&mut self, flash: &Flash) {
        for page in self.trims.pages(self.tables.l2p.len()) {
            let at = self.tables.l2p[page as usize];
            let version = Self::version(flash, at);
            let Some(record) = flash.records.get(&version) else { continue };
            for trimmed in record.pages() {
                let Some(physical) = self.tables.l2p.get_mut(trimmed as usize) else { break };
                if Self::version(flash, *physical) < version {
                    *physical = NONE;
                    self.trims.note_recorded(trimmed);
                }
            }
        }
    }

    /// What each block of a plane is.
    fn find_blocks(&mut self, nand: &mut Nand, flash: &Flash, plane: usize) {
        let tables = &mut self.tables;
        let per_block = tables.pages_per_block;
        let range = tables.blocks.range(plane as u32);
        let plane = &mut self.planes[plane];
        plane.free.clear();
        let mut used: Vec<u32> = Vec::new();
        // What can be written, and whether it is to be erased before.
        let mut empty: Vec<(u32, bool)> = Vec::new();
        for block in range.start as u32..range.end as u32 {
            let pages = block * per_block..(block + 1) * per_block;
            nand.use_as_slc(block, false);
            tables.blocks.erases[block as usize] = flash.blocks[block as usize].erases;
            match pages.clone().any(|p| tables.p2l[p as usize] != NONE) {
                true => used.push(block),
                false if pages.clone().all(|p| flash.pages[p as usize] == Found::Erased) => {
                    empty.push((block, false));
                }
                false => empty.push((block, true)),
            }
        }
        used.sort_by_key(|block| flash.blocks[*block as usize].opened);
        let shared = tables.collection.frontiers == Frontiers::One;
        for block in used {
            let found = flash.blocks[block as usize];
            nand.use_as_slc(block, found.is_slc);
            tables.enter_cache(plane, block, found.is_slc);
            let end = if found.is_slc { tables.slc_pages() } else { per_block };
            let next = first_erased(flash, block * per_block, per_block, nand);
            let own = found.by_collector && !shared;
            let open = if own { &mut plane.collect } else { &mut plane.host };
            let before = std::mem::replace(open, Open { block, next: next.min(end), end });
            if before.block != NONE {
                // It is full, or nobody goes on with it.
                tables.blocks.closings += 1;
                tables.blocks.closed[before.block as usize] = tables.blocks.closings;
                tables.count(before.block, 0..0);
            }
            tables.count(block, next.min(end)..end);
        }
        empty.sort_by_key(|(_, is_dirty)| *is_dirty);
        for (block, is_dirty) in empty {
            match is_dirty {
                true => tables.erase_found(plane, nand, block),
                false => tables.put_free(plane, block),
            }
        }
        tables.find_worn(plane);
    }

    /// A plane can collect, and take what others have too much of, and holds no more than it may.
    fn make_room_again(&mut self, nand: &mut Nand, plane: usize) {
        for _ in 0..self.tables.blocks.per_plane {
            let p = &self.planes[plane];
            if p.live <= self.plane_limit && p.empty_blocks() > self.tables.kept_free() + 1 {
                return;
            }
            let Some(block) = self.tables.emptiest(&self.planes[plane]) else { return };
            self.tables.start_with(&mut self.planes[plane], block, Cause::Collect);
            while let Some(next) = self.tables.take_next(&mut self.planes[plane]) {
                self.move_anywhere(nand, plane, &next);
            }
            self.tables.erase(&mut self.planes[plane], nand);
            self.drain(nand);
        }
    }

    /// A page goes to a plane that has room for it: to one that holds less, if it can.
    fn move_anywhere(&mut self, nand: &mut Nand, plane: usize, next: &Move) {
        let target = self.next_with_room(Frontier::Collect).unwrap_or(plane);
        let p = &self.planes[target];
        let needs_block = p.collect.next == p.collect.end && p.free.len() == 0;
        let frontier = if needs_block { Frontier::Host } else { Frontier::Collect };
        let to = self.tables.place(&mut self.planes[target], next.page, frontier);
        let read = nand.read(next.from, next.cause, NOBODY);
        nand.program_from(to, next.cause, next.from, &[read]);
    }
}

/// The first page of a block that is erased, as are all behind it, and that no program has begun.
fn first_erased(flash: &Flash, first: u32, pages: u32, nand: &Nand) -> u32 {
    let is_used = |index: &u32| flash.pages[(first + index) as usize] != Found::Erased;
    let used = (0..pages).rev().find(is_used).map_or(0, |index| index + 1);
    used.next_multiple_of(nand.program_unit(first))
}

impl super::Tables {
    /// Of `block` the pages count that are mapped, and those still `to_come`.
    fn count(&mut self, block: u32, to_come: Range<u32>) {
        let pages = self.pages_per_block;
        let first = block * pages;
        clear_bits(&mut self.valid_bitmap, u64::from(first), u64::from(pages));
        let (start, count) = (first + to_come.start, to_come.end - to_come.start);
        set_bits(&mut self.valid_bitmap, u64::from(start), u64::from(count));
        let mut stale = pages - count;
        for page in (first..first + pages).filter(|p| self.p2l[*p as usize] != NONE) {
            set_bits(&mut self.valid_bitmap, u64::from(page), 1);
            stale -= 1;
        }
        self.blocks.stale[block as usize] = stale as u16;
    }

    /// A block with nothing that counts is erased.
    fn erase_found(&mut self, plane: &mut super::Plane, nand: &mut Nand, block: u32) {
        self.blocks.erases[block as usize] += 1;
        let first = Ppa { plane: plane.index, page: block * self.pages_per_block };
        nand.erase(first, Cause::Collect);
        self.put_free(plane, block);
    }

    fn is_worn(&self, block: u32) -> bool {
        let erases = self.blocks.erases[block as usize];
        self.endurance.as_ref().is_some_and(|e| e.is_worn(block, erases))
    }

    /// If more blocks of `plane` are worn than there are spare ones, the drive took no more writes.
    fn find_worn(&mut self, plane: &super::Plane) {
        let worn = self.blocks.range(plane.index).filter(|b| self.is_worn(*b as u32)).count();
        if let Some(endurance) = &mut self.endurance {
            endurance.finds_worn(worn);
        }
    }

    /// The closed block of `plane` with the fewest pages that count, by its place in the plane.
    fn emptiest(&self, plane: &super::Plane) -> Option<usize> {
        let range = self.blocks.range(plane.index);
        let closed = |b: &usize| self.blocks.closed[range.start + b] != 0;
        (0..range.len()).filter(closed).max_by_key(|b| self.blocks.stale[range.start + b])
    }
}
