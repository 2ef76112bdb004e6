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

use super::{Open, PageMap, PlaneTable, Tables, gc_per_plane};
use crate::nand::{Cause, Nand, Ppa};
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
}

impl PageMap {
    /// Sets the mode of the cached blocks on the chips, for a drive that does not begin empty.
    pub(crate) fn set_block_modes(&self, nand: &mut Nand) {
        let all = self.tables.cache.iter().flat_map(|cache| (0..).zip(&cache.is_in));
        all.filter(|(_, is_in)| **is_in).for_each(|(block, _)| nand.use_as_slc(block, true));
    }
}

impl Tables {
    /// Puts `block`, which `plane` opens for the host, into the cache if it may be there. Returns
    /// how many of its pages are to be used.
    pub(super) fn open_for_host(&mut self, plane: &mut PlaneTable, block: u32) -> u32 {
        let kept = self.collection.reserve_blocks + plane.kept_for_cache;
        // `block` is no longer among the free blocks.
        let free = plane.free.len() as u32;
        let Some(cache) = &mut self.cache else { return self.pages_per_block };
        let may_grow = plane.cached < cache.most && free > kept;
        let has_own = plane.cached < cache.fixed && free > 1;
        if !may_grow && !has_own {
            return self.pages_per_block;
        }
        cache.is_in[block as usize] = true;
        plane.cached += 1;
        plane.kept_for_cache = cache.fixed.saturating_sub(plane.cached);
        let pages = cache.pages;
        self.make_void(block * self.pages_per_block + pages, self.pages_per_block - pages);
        pages
    }

    /// Marks `count` pages from `first` on, which are not written, as stale.
    fn make_void(&mut self, first: u32, count: u32) {
        gc_per_plane::clear_bits(&mut self.valid_bitmap, u64::from(first), u64::from(count));
        self.blocks.stale[(first / self.pages_per_block) as usize] += count as u16;
    }

    /// Returns the number of pages of a block with one bit a cell.
    pub(super) fn slc_pages(&self) -> u32 {
        self.cache.as_ref().map_or(self.pages_per_block, |cache| cache.pages)
    }

    /// Returns `true` if `block` is in the cache.
    pub(super) fn is_slc(&self, block: u32) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.is_in[block as usize])
    }

    /// Puts `block`, which is in use, into the cache if it has one bit a cell and the cache has
    /// room. Else it is emptied like any other block.
    pub(super) fn enter_cache(&mut self, plane: &mut PlaneTable, block: u32, is_slc: bool) {
        let Some(cache) = self.cache.as_mut().filter(|_| is_slc) else { return };
        if plane.cached < cache.most.max(cache.fixed) {
            cache.is_in[block as usize] = true;
            plane.cached += 1;
            plane.kept_for_cache = cache.fixed.saturating_sub(plane.cached);
        }
    }

    /// Removes `block`, which has been emptied, from the cache.
    pub(super) fn leaves_cache(&mut self, plane: &mut PlaneTable, block: u32) {
        let Some(cache) = &mut self.cache else { return };
        if std::mem::take(&mut cache.is_in[block as usize]) {
            plane.cached -= 1;
            plane.kept_for_cache = cache.fixed.saturating_sub(plane.cached);
        }
    }

    /// Sets the mode of the block of `ppa` on the chips if `ppa` is its first page.
    #[inline(never)]
    pub(super) fn set_block_mode(&self, nand: &mut Nand, ppa: Ppa) {
        if ppa.page.is_multiple_of(self.pages_per_block) {
            let block = ppa.page / self.pages_per_block;
            nand.use_as_slc(block, self.is_slc(block));
        }
    }

    /// Returns the reason for emptying `block`, chosen for `cause`: a cached block is folded.
    pub(super) fn cause_of(&self, block: u32, cause: Cause) -> Cause {
        if self.is_slc(block) { Cause::Fold } else { cause }
    }

    /// Returns the block of `plane` to fold next, by its index: the oldest closed one in the cache.
    pub(super) fn to_fold(&self, plane: &PlaneTable) -> Option<usize> {
        let cache = self.cache.as_ref().filter(|_| plane.cached > 0)?;
        let range = self.blocks.range(plane.index);
        let closed = &self.blocks.closed[range.clone()];
        let is_full = |b: &usize| cache.is_in[range.start + b] && closed[*b] != 0;
        (0..closed.len()).filter(is_full).min_by_key(|b| closed[*b])
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
            let unit = nand.program_unit(page);
            let skipped = unit - open.next % unit;
            self.make_void(page, skipped);
            nand.counts.programs[Cause::Pad as usize] += u64::from(skipped);
            let open = if is_host { &mut plane.host } else { &mut plane.collect };
            *open = Open { next: open.next + skipped, ..*open };
        }
    }

    /// Checks the cache counts of each plane, and that cached blocks are used only in part. Panics
    /// otherwise.
    pub(super) fn check_cache(&self, planes: &[PlaneTable]) {
        let Some(cache) = &self.cache else { return };
        for plane in planes {
            let range = self.blocks.range(plane.index);
            let cached = cache.is_in[range.clone()].iter().filter(|is_in| **is_in).count();
            assert_eq!(cached, plane.cached as usize, "cached blocks of plane {}", plane.index);
            assert!(plane.cached <= cache.most.max(cache.fixed), "plane {}", plane.index);
            let kept = cache.fixed.saturating_sub(plane.cached);
            assert_eq!(plane.kept_for_cache, kept, "plane {}", plane.index);
            let rest = self.pages_per_block - cache.pages;
            for block in range.filter(|b| cache.is_in[*b]) {
                assert!(u32::from(self.blocks.stale[block]) >= rest, "block {block} holds less");
            }
        }
    }
}
