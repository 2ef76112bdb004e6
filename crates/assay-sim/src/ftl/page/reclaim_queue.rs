//! Emptied blocks that are not free yet: newer copies of their pages wait to be programmed with
//! others. They are free when those pages have been given to the chips.

use super::PageMap;
use super::planes::{Open, PlaneTable};
use super::tables::Tables;
use crate::ftl::Deferred;
use crate::nand::{Cause, Nand, Ppa};

impl PageMap {
    /// Frees the emptied blocks whose pages have been given to the chips since the last call.
    pub(super) fn free_emptied(&mut self, nand: &mut Nand) {
        let is_new =
            std::mem::replace(&mut self.multi_page_programs, nand.chips.multi_page_programs())
                != nand.chips.multi_page_programs();
        if self.tables.is_safe && is_new {
            self.planes.iter_mut().for_each(|plane| self.tables.free_emptied(plane, nand));
        }
    }

    /// Programs the pages that the emptied blocks of `plane` wait for, if the plane needs the
    /// blocks. Returns `true` if it gets some.
    #[inline]
    pub(super) fn drain_for_emptied(&mut self, nand: &mut Nand, plane: usize) -> bool {
        let before = self.planes[plane].emptied.len();
        if before == 0 || !(self.planes[plane].wants_emptied() || self.is_held_up(nand, plane)) {
            return false;
        }
        self.program_gathered(nand);
        self.planes[plane].emptied.len() < before
    }

    /// Returns `true` if nothing that `plane` collects would free its emptied blocks, and it has no
    /// more free blocks than it always keeps.
    #[cold]
    fn is_held_up(&self, nand: &Nand, plane: usize) -> bool {
        let p = &self.planes[plane];
        let may_wait = p.collecting.is_some() || p.free.len() > self.tables.kept_free();
        // Without an open block this is no page, and no program is found at it.
        let first = p.collect.block.wrapping_mul(self.tables.pages_per_block);
        let next = first.wrapping_add(p.collect.next);
        let own = Ppa { plane: p.index, page: next };
        !may_wait
            && !self.tables.collection.over_drive
            && p.emptied.iter().any(|(block, _)| !nand.chips.is_buffered_before(*block, own))
    }
}

impl Tables {
    /// Frees the emptied blocks of `plane` whose pages have been given to the chips.
    pub(super) fn free_emptied(&mut self, plane: &mut PlaneTable, nand: &mut Nand) {
        let mut index = 0;
        while let Some((block, cause)) = plane.emptied.get(index).copied() {
            if nand.chips.is_buffered_from(block) {
                index += 1;
                continue;
            }
            plane.emptied.remove(index);
            self.free(plane, nand, block, cause);
        }
    }

    /// Programs the pages that `plane` has gathered though others are missing: those stay empty.
    /// The collector's program waits if the plane has no further free block and gets none by this,
    /// because the collector must find room for all pages that it has begun to move.
    pub(super) fn pad(&mut self, plane: &mut PlaneTable, nand: &mut Nand) {
        for is_host in [true, false] {
            let open = if is_host { plane.host } else { plane.collect };
            let page = open.block.wrapping_mul(self.pages_per_block).wrapping_add(open.next);
            let gains = plane.collecting.is_none() && plane.emptied.len() > 1;
            let has_room = is_host || plane.free.len() > self.kept_free() || gains;
            if open.next == open.end || !has_room || !nand.program_short(plane.index, page) {
                continue;
            }
            let unit = nand.chips.program_unit(page);
            let skipped = unit - open.next % unit;
            self.make_void(page, skipped);
            nand.chips.counts.programs[Cause::Pad as usize] += u64::from(skipped);
            let open = if is_host { &mut plane.host } else { &mut plane.collect };
            *open = Open { next: open.next + skipped, ..*open };
        }
    }
}
