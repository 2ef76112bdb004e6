//! An SLC cache: host data goes to blocks with one bit a cell, which are faster and hold less, and
//! is folded into other blocks later.
//!
//! Only the first pages of such a block are used. The rest counts as stale from the start, so the
//! block is worth emptying whatever it holds, and emptying it is folding: its pages move to a block
//! with all bits. So nothing else need know of it. Blocks are folded, the oldest first, when the
//! drive has been left alone for a while, or when the plane must find space.
//!
//! The host gets such a block while fewer than `most` of a plane are in use and other blocks are
//! free beyond the reserve of GC. It gets the `fixed` ones at any time: blocks are kept free for
//! them. Otherwise it writes to blocks with all bits.

use super::blocks::Blocks;
use super::planes::PlaneTable;
use crate::nand::Nand;
use assay_spec::device::{NandSpec, SlcCacheSpec};

/// The state of the SLC cache.
pub(super) struct SlcCache {
    /// The blocks of a plane that may be in the cache at any time.
    fixed: u32,
    /// The most blocks of a plane in the cache.
    most: u32,
    /// The number of pages of a block in the cache.
    pages: u32,
    /// By block: whether it is in the cache.
    is_in: Vec<bool>,
}

impl SlcCache {
    /// Returns an empty cache.
    pub(super) fn new(spec: SlcCacheSpec, nand: &NandSpec) -> SlcCache {
        let bits = nand.slc.map_or(1, |slc| slc.bits);
        SlcCache {
            fixed: SlcCacheSpec::blocks(spec.fixed, nand),
            most: SlcCacheSpec::blocks(spec.size, nand),
            pages: nand.pages_per_block / bits,
            is_in: vec![false; (nand.planes() * nand.blocks_per_plane) as usize],
        }
    }

    /// Puts `block`, which `plane` opens for the host, into the cache if it may be there: it may
    /// grow while more than `reserve` blocks are free. Returns how many of its pages are to be
    /// used, or `None` if it is not in the cache.
    pub(super) fn open_for_host(
        &mut self,
        plane: &mut PlaneTable,
        block: u32,
        reserve: u32,
    ) -> Option<u32> {
        let kept = reserve + plane.kept_for_cache;
        // `block` is no longer among the free blocks.
        let free = plane.free.len() as u32;
        let may_grow = plane.cached < self.most && free > kept;
        let has_own = plane.cached < self.fixed && free > 1;
        (may_grow || has_own).then(|| {
            self.add(plane, block);
            self.pages
        })
    }

    fn add(&mut self, plane: &mut PlaneTable, block: u32) {
        self.is_in[block as usize] = true;
        plane.cached += 1;
        plane.kept_for_cache = self.fixed.saturating_sub(plane.cached);
    }

    /// Returns the number of pages of a block in the cache.
    #[inline]
    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    /// Returns `true` if `block` is in the cache.
    #[inline]
    pub(super) fn has(&self, block: u32) -> bool {
        self.is_in[block as usize]
    }

    /// Puts `block`, which is in use and has one bit a cell, into the cache if there is room. Else
    /// it is emptied like any other block.
    pub(super) fn enter(&mut self, plane: &mut PlaneTable, block: u32) {
        if plane.cached < self.most.max(self.fixed) {
            self.add(plane, block);
        }
    }

    /// Removes `block`, which has been emptied, from the cache.
    pub(super) fn leave(&mut self, plane: &mut PlaneTable, block: u32) {
        if std::mem::take(&mut self.is_in[block as usize]) {
            plane.cached -= 1;
            plane.kept_for_cache = self.fixed.saturating_sub(plane.cached);
        }
    }

    /// Returns the block of `plane` to fold next, by its index: the oldest closed one in the cache.
    pub(super) fn to_fold(&self, plane: &PlaneTable, blocks: &Blocks) -> Option<usize> {
        if plane.cached == 0 {
            return None;
        }
        let range = blocks.range(plane.index);
        let closed = &blocks.closed[range.clone()];
        let is_full = |b: &usize| self.is_in[range.start + b] && closed[*b] != 0;
        (0..closed.len()).filter(is_full).min_by_key(|b| closed[*b])
    }

    /// Sets the mode of the cached blocks on the chips, for a drive that does not begin empty.
    pub(super) fn set_block_modes(&self, nand: &mut Nand) {
        let cached = (0..).zip(&self.is_in).filter(|(_, is_in)| **is_in);
        cached.for_each(|(block, _)| nand.chips.use_as_slc(block, true));
    }

    /// Checks the cache counts of each plane, and that cached blocks are used only in part. Panics
    /// otherwise.
    pub(super) fn check(&self, planes: &[PlaneTable], blocks: &Blocks) {
        for plane in planes {
            let range = blocks.range(plane.index);
            let cached = self.is_in[range.clone()].iter().filter(|is_in| **is_in).count();
            assert_eq!(cached, plane.cached as usize, "cached blocks of plane {}", plane.index);
            assert!(plane.cached <= self.most.max(self.fixed), "plane {}", plane.index);
            let kept = self.fixed.saturating_sub(plane.cached);
            assert_eq!(plane.kept_for_cache, kept, "plane {}", plane.index);
            let rest = blocks.pages - self.pages;
            for block in range.filter(|b| self.is_in[*b]) {
                assert!(u32::from(blocks.stale[block]) >= rest, "block {block} holds less");
            }
        }
    }
}
