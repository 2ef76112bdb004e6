//! Blocks that are empty but for copies of pages that wait to be programmed with others: they are
//! free when those pages are on the chips.

use super::{PageMap, Plane, Tables};
use crate::ftl::Ftl;
use crate::nand::{Nand, Ppa};

impl PageMap {
    /// Emptied blocks whose pages are on the chips elsewhere by now are free.
    pub(super) fn free_emptied(&mut self, nand: &mut Nand) {
        let is_new = std::mem::replace(&mut self.multi_page_programs, nand.multi_page_programs())
            != nand.multi_page_programs();
        if self.tables.is_safe && is_new {
            self.planes.iter_mut().for_each(|plane| self.tables.free_emptied(plane, nand));
        }
    }

    /// If `plane` wants its emptied blocks, what they wait for is programmed; true if it gets some.
    #[inline]
    pub(super) fn frees_emptied(&mut self, nand: &mut Nand, plane: usize) -> bool {
        let before = self.planes[plane].emptied.len();
        if before == 0 || !(self.planes[plane].wants_emptied() || self.is_held_up(nand, plane)) {
            return false;
        }
        self.drain(nand);
        self.planes[plane].emptied.len() < before
    }

    /// Whether nothing that `plane` collects would free its emptied block, and no more are free
    /// than at any time.
    #[cold]
    fn is_held_up(&self, nand: &Nand, plane: usize) -> bool {
        let p = &self.planes[plane];
        let may_wait = p.collecting.is_some() || p.free.len() > self.tables.kept_free();
        // Without an open block this is no page, and nothing is gathered at it.
        let first = p.collect.block.wrapping_mul(self.tables.pages_per_block);
        let next = first.wrapping_add(p.collect.next);
        let own = Ppa { plane: p.index, page: next };
        !may_wait
            && !self.tables.collection.over_drive
            && p.emptied.iter().any(|(block, _)| !nand.is_buffered_before(*block, own))
    }
}

impl Tables {
    /// Those of the emptied blocks of `plane` are free whose pages are on the chips elsewhere.
    pub(super) fn free_emptied(&mut self, plane: &mut Plane, nand: &mut Nand) {
        let mut index = 0;
        while let Some((block, cause)) = plane.emptied.get(index).copied() {
            if nand.is_buffered_from(block) {
                index += 1;
                continue;
            }
            plane.emptied.remove(index);
            self.free(plane, nand, block, cause);
        }
    }
}

impl Plane {
    /// Blocks that are free or will be.
    pub(super) fn empty_blocks(&self) -> usize {
        self.free.len() + self.emptied.len()
    }

    /// Whether emptied blocks are wanted before another is begun: they are worth more than what
    /// programs that lack pages cost, or no other is left. One that waits for the collector's own
    /// program is free when the next that is emptied has filled that.
    pub(super) fn wants_emptied(&self) -> bool {
        let count = self.emptied.len();
        self.collecting.is_none() && (count > 1 || (count == 1 && self.free.len() == 0))
    }
}
