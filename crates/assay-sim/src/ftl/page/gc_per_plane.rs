//! Garbage collection within a plane: empties a victim page by page, and erases it. The valid pages
//! stay in the plane; `gc_global.rs` moves them to all planes.
//!
//! With `pace = "spread"` a victim with v of n pages valid is emptied while the host writes the n −
//! v pages that this gains: v moves, evenly spread over n − v host pages. With `"whole-block"` the
//! plane stops for it. With either pace, a plane collects at once before the host may take its last
//! free block: that one is the collector's.

use super::bitmap::next_bit;
use super::planes::{Collecting, Frontier, Move, PlaneTable};
use super::tables::{LINE, Tables};
use crate::ftl::wear::cold_block;
use crate::lpn::Lpn;
use crate::nand::{Cause, Nand, Ppa, Token};
use assay_mem::prefetch;
use assay_spec::device::{BackgroundSpec, CopyPath, EraseTime, Pace};

/// The number of pages by which map entries are prefetched ahead.
const AHEAD: u32 = 16;
/// The number of cache lines by which the p2l table is prefetched ahead.
const LINES_AHEAD: u32 = 4;

impl Tables {
    /// Does the collection that is due with a page for `plane`, so that there is room for it. A map
    /// page takes blocks of the reserve while they last, because everything waits for the map.
    #[inline]
    pub(super) fn make_room(&mut self, plane: &mut PlaneTable, nand: &mut Nand, cause: Cause) {
        let reserve = match cause {
            Cause::Map => self.collection.reserve_blocks.min(2),
            _ => self.collection.reserve_blocks,
        };
        let wanted =
            plane.free.len() < (reserve + plane.kept_for_cache) as usize + self.kept_free();
        if plane.collecting.is_some() || (wanted && self.start(plane)) {
            match self.collection.pace {
                Pace::Spread => self.advance(plane, nand),
                Pace::WholeBlock => self.finish(plane, nand),
            }
        }
    }

    /// Returns `true` if the next host page would need the collector's free block.
    #[inline]
    pub(super) fn lacks_room(&self, plane: &PlaneTable) -> bool {
        plane.host.next == plane.host.end && plane.free.len() < 2 + self.kept_free()
    }

    /// Empties a block at once. Panics if no block of `plane` has a stale page.
    pub(super) fn collect_at_once(&mut self, plane: &mut PlaneTable, nand: &mut Nand) {
        self.urgent += 1;
        let started = plane.collecting.is_some() || self.start(plane);
        assert!(started, "plane {} is full, though it holds less than its limit", plane.index);
        self.finish(plane, nand);
        self.free_emptied(plane, nand);
    }

    /// Chooses a victim in `plane`, and begins to empty it. Returns `false` if no block has a stale
    /// page.
    pub(super) fn start(&mut self, plane: &mut PlaneTable) -> bool {
        self.start_worth(plane, 1)
    }

    /// Does as [`Tables::start`] with victims of at least `least` stale pages. A cold block that
    /// wear levelling empties needs none.
    fn start_worth(&mut self, plane: &mut PlaneTable, least: u16) -> bool {
        let blocks = self.blocks.candidates(plane.index, least);
        let erases = &self.blocks.erases[self.blocks.range(plane.index)];
        let chosen = match cold_block(self.wear, blocks.closed, erases) {
            Some(block) => Some((block, Cause::Wear)),
            None => self.victim.choose(blocks).map(|block| (block, Cause::Collect)),
        };
        let Some((index, cause)) = chosen else { return false };
        self.start_with(plane, index, cause);
        true
    }

    /// Begins to empty block `index` of `plane`.
    pub(super) fn start_with(&mut self, plane: &mut PlaneTable, index: usize, cause: Cause) {
        let block = (self.blocks.range(plane.index).start + index) as u32;
        // Emptying a block of the SLC cache is folding.
        let cause = if self.is_slc(block) { Cause::Fold } else { cause };
        let gain = u32::from(self.blocks.stale[block as usize]);
        let cursor = block * self.pages_per_block;
        for line in 0..LINES_AHEAD {
            prefetch(&self.p2l, (cursor + line * LINE) as usize);
        }
        prefetch(&self.valid_bitmap, cursor as usize / 64);
        let valid = self.pages_per_block - gain;
        let (moved, credit, is_urgent) = (0, 0, false);
        plane.collecting =
            Some(Collecting { block, cause, cursor, moved, valid, gain, credit, is_urgent });
    }

    /// Makes the moves that are due with one host page, and erases the block if it is then empty.
    fn advance(&mut self, plane: &mut PlaneTable, nand: &mut Nand) {
        let Some(job) = &mut plane.collecting else { return };
        for _ in 0..job.due() {
            if !self.move_next(plane, nand) {
                break;
            }
        }
        if self.is_empty(plane) {
            self.erase(plane, nand);
        }
    }

    /// Returns `true` if the block that is being emptied has no valid page left.
    pub(super) fn is_empty(&self, plane: &PlaneTable) -> bool {
        plane.collecting.as_ref().is_some_and(|job| {
            job.moved + u32::from(self.blocks.stale[job.block as usize]) == self.pages_per_block
        })
    }

    /// Makes all moves that are left, and erases the block.
    fn finish(&mut self, plane: &mut PlaneTable, nand: &mut Nand) {
        while self.move_next(plane, nand) {}
        self.erase(plane, nand);
    }

    /// Takes the next valid page out of the block that is being emptied. Returns `None` if there is
    /// none. The caller must place it.
    #[inline(always)]
    pub(super) fn take_next(&mut self, plane: &mut PlaneTable) -> Option<Move> {
        let job = plane.collecting.as_mut()?;
        let end = (job.block + 1) * self.pages_per_block;
        let Some(from) = next_bit(&self.valid_bitmap, job.cursor, end) else {
            job.cursor = end;
            return None;
        };
        job.cursor = from + 1;
        job.moved += 1;
        let cause = job.cause;
        prefetch(&self.p2l, (from + LINES_AHEAD * LINE) as usize);
        if let Some(page) = self.p2l.get((from + AHEAD) as usize) {
            prefetch(&self.l2p, *page as usize);
        }
        let page = Lpn(self.p2l[from as usize]);
        debug_assert_eq!(self.l2p[page.index()], from, "a valid_bitmap page is mapped");
        plane.live -= 1;
        self.change_entry(page);
        Some(Move { from: Ppa { plane: plane.index, page: from }, page, cause })
    }

    /// Moves the next valid page within its plane. Returns `false` if there is none.
    #[inline(always)]
    fn move_next(&mut self, plane: &mut PlaneTable, nand: &mut Nand) -> bool {
        let Some(Move { from, page, cause }) = self.take_next(plane) else { return false };
        if plane.free.len() == 0 {
            // If the collector's block is full, all its programs are complete, and blocks that
            // waited for them are free.
            self.free_emptied(plane, nand);
        }
        let to = self.place(plane, page, Frontier::Collect);
        match self.collection.copy {
            CopyPath::CopyBack => nand.copy_back(from, to, cause),
            CopyPath::Controller => {
                let read = nand.read(from, cause, Token::NONE);
                nand.program_from(to, cause, from, &[read]);
            }
        }
        true
    }

    /// Erases the emptied block. Returns `false` if the erase waits for gathered pages. Panics if
    /// the block has a valid page.
    pub(super) fn erase(&mut self, plane: &mut PlaneTable, nand: &mut Nand) -> bool {
        assert!(self.is_empty(plane), "a block is erased that holds something");
        let Some(job) = plane.collecting.take() else { return false };
        let block = job.block as usize;
        self.blocks.closed[block] = 0;
        self.blocks.stale[block] = 0;
        if let Some(cache) = &mut self.cache {
            cache.leave(plane, job.block);
            nand.chips.use_as_slc(job.block, false);
        }
        let waits = nand.chips.is_buffered_from(job.block);
        match waits {
            true => plane.emptied.push((job.block, job.cause)),
            false => self.free(plane, nand, job.block, job.cause),
        }
        !waits
    }

    /// Queues the erase of the emptied `block`, and adds it to the free blocks.
    pub(super) fn free(
        &mut self,
        plane: &mut PlaneTable,
        nand: &mut Nand,
        block: u32,
        cause: Cause,
    ) {
        self.blocks.erases[block as usize] += 1;
        self.put_free(plane, block);
        let first = Ppa { plane: plane.index, page: block * self.pages_per_block };
        match self.collection.erase {
            EraseTime::AtOnce => nand.erase(first, cause),
            EraseTime::WhenIdle => nand.erase_when_idle(first, cause),
        }
    }

    /// Adds an erased block to the free blocks, unless it goes bad.
    pub(super) fn put_free(&mut self, plane: &mut PlaneTable, block: u32) {
        match self.goes_bad(plane, block) {
            true => self.note_due(plane),
            false => plane.free.put(block, self.blocks.erases[block as usize]),
        }
    }

    /// Returns `true` if the erased `block` is worn and has been retired. If no other block is
    /// free, the collector needs this one: it is used once more.
    #[inline]
    fn goes_bad(&mut self, plane: &PlaneTable, block: u32) -> bool {
        let Some(endurance) = &mut self.endurance else { return false };
        let erases = self.blocks.erases[block as usize];
        plane.free.len() > 0
            && endurance.is_worn(block, erases)
            && endurance.retire(plane.index as usize, block)
    }

    /// Returns `true` if `plane` is idle and has a block to empty in the background. Chooses one if
    /// needed.
    pub(super) fn may_collect_in_background(
        &mut self,
        plane: &mut PlaneTable,
        nand: &Nand,
    ) -> bool {
        let background = self.collection.background;
        if (background.is_none() && self.cache.is_none()) || !nand.is_plane_idle(plane.index) {
            return false;
        }
        if plane.collecting.is_some() {
            return true;
        }
        let to_fold = self.cache.as_ref().and_then(|cache| cache.to_fold(plane, &self.blocks));
        if let Some(block) = to_fold.filter(|_| !plane.wants_emptied()) {
            self.start_with(plane, block, Cause::Fold);
            return true;
        }
        let lacks = |b: BackgroundSpec| plane.empty_blocks() < b.blocks as usize;
        background.is_some_and(lacks)
            && !plane.wants_emptied()
            // A victim must gain at least what an incomplete program may waste: else this would
            // never end.
            && self.start_worth(plane, nand.chips.pages_per_program())
    }

    /// Queues the next move or erase on `plane` if it is idle. Returns `false` if none is due.
    pub(super) fn collect_in_background(
        &mut self,
        plane: &mut PlaneTable,
        nand: &mut Nand,
    ) -> bool {
        while self.may_collect_in_background(plane, nand) {
            if self.move_next(plane, nand) || self.erase(plane, nand) {
                return true;
            }
        }
        false
    }
}
