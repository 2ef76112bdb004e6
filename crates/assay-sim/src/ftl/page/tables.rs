//! The state that the parts of a page map share: the mapping tables, the state of each block, and
//! the log of each plane.

use super::NONE;
use super::cached_mapping_table::CachedMap;
use super::gc_per_plane::{self, Collecting};
use super::slc_cache::SlcCache;
use crate::ftl::gc::{Candidates, Victim, policy};
use crate::ftl::wear::{Endurance, FreeBlocks};
use crate::nand::{Cause, Ppa};
use assay_mem::prefetch;
use assay_spec::device::{
    CollectionSpec, Frontiers, NandSpec, PageMapSpec, SlcCacheSpec, WearSpec,
};
use std::collections::VecDeque;

/// The mapping tables and the state of each block, which the logs of all planes share.
pub(super) struct Tables {
    /// The garbage collection policy.
    pub(super) collection: CollectionSpec,
    /// The wear-levelling policy.
    pub(super) wear: WearSpec,
    /// Whether the flash alone is enough to recover from a power cut.
    pub(super) is_safe: bool,
    pub(super) pages_per_block: u32,
    pub(super) pages_per_plane: u32,
    /// Logical page to physical page, or `NONE`.
    pub(super) l2p: Vec<u32>,
    /// Physical page to logical page. In open and closed blocks: the page last programmed there,
    /// whether it is valid or not.
    pub(super) p2l: Vec<u32>,
    /// One bit for each physical page, set if the page is not stale. It is also set for pages of an
    /// open block that are yet to be programmed, so that only a page that goes stale must touch it.
    pub(super) valid_bitmap: Vec<u64>,
    /// The state of each block.
    pub(super) blocks: Blocks,
    /// The victim policy.
    pub(super) victim: Box<dyn Victim>,
    /// The planes with fewer free blocks than they should have, in the order in which they collect.
    /// Used only if collection is over the whole drive.
    pub(super) due: VecDeque<u32>,
    /// The SLC cache, if there is one.
    pub(super) cache: Option<SlcCache>,
    /// The cached mapping table, unless the whole map is in memory.
    pub(super) cached_map: Option<Box<CachedMap>>,
    /// The endurance of the blocks, if they wear out.
    pub(super) endurance: Option<Endurance>,
    /// The number of urgent collections: a lack of free blocks kept them from being spread over
    /// host writes, or over the drive.
    pub(super) urgent: u64,
}

/// The state of each block, by block number.
pub(super) struct Blocks {
    /// The pages that have gone stale since the block was opened.
    pub(super) stale: Vec<u16>,
    /// The value of `closings` when the block was closed; 0 if it is open or free.
    pub(super) closed: Vec<u32>,
    /// The number of blocks closed so far.
    pub(super) closings: u32,
    /// The number of erases of the block.
    pub(super) erases: Vec<u32>,
    /// The number of blocks of a plane.
    pub(super) per_plane: u32,
    /// The number of pages of a block.
    pub(super) pages: u32,
}

impl Blocks {
    /// Returns the state of blocks that are all free and were never erased.
    pub(super) fn new(nand: &NandSpec) -> Blocks {
        let count = (nand.planes() * nand.blocks_per_plane) as usize;
        Blocks {
            stale: vec![0; count],
            closed: vec![0; count],
            closings: 0,
            erases: vec![0; count],
            per_plane: nand.blocks_per_plane,
            pages: nand.pages_per_block,
        }
    }

    /// Returns the blocks of `plane`.
    pub(super) fn range(&self, plane: u32) -> std::ops::Range<usize> {
        let first = (plane * self.per_plane) as usize;
        first..first + self.per_plane as usize
    }

    /// Returns the blocks of `plane` for a victim policy. A victim must have `least` stale pages.
    pub(super) fn candidates(&self, plane: u32, least: u16) -> Candidates<'_> {
        Candidates {
            stale: &self.stale[self.range(plane)],
            closed: &self.closed[self.range(plane)],
            now: self.closings,
            pages_per_block: self.pages,
            plane,
            least,
        }
    }

    /// Closes block `full` unless it is `NONE`, and resets the stale count of `block`, which opens.
    pub(super) fn turn_over(&mut self, full: u32, block: u32) {
        if full != NONE {
            self.closings += 1;
            self.closed[full as usize] = self.closings;
        }
        assert_eq!(self.closed[block as usize], 0, "a free block is not closed");
        self.stale[block as usize] = 0;
    }
}

/// Returns the number of mapped logical pages of a drive with `host` host pages. Map pages on flash
/// are mapped, too.
pub(super) fn mapped_pages(nand: &NandSpec, spec: &PageMapSpec, host: u32) -> u32 {
    host + spec.map_pages(nand.page, u64::from(host)) as u32
}

/// The log of a plane.
pub(super) struct PlaneTable {
    /// The number of the plane.
    pub(super) index: u32,
    /// The free blocks.
    pub(super) free: FreeBlocks,
    /// The open block for host pages.
    pub(super) host: Open,
    /// The open block for moved pages. Unused if they share the host's.
    pub(super) collect: Open,
    /// The block that is being emptied.
    pub(super) collecting: Option<Collecting>,
    /// Emptied blocks that are not free yet: newer copies of their pages wait to be programmed with
    /// others. Each with the cause of its collection.
    pub(super) emptied: Vec<(u32, Cause)>,
    /// Whether the plane is in `Tables::due`.
    pub(super) is_due: bool,
    /// The number of valid pages.
    pub(super) live: u32,
    /// The number of blocks in the SLC cache.
    pub(super) cached: u32,
    /// The number of free blocks that are kept for the SLC cache.
    pub(super) kept_for_cache: u32,
}

/// An open block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// The number of the block, or `NONE`.
    pub(super) block: u32,
    /// The next page to program. If it is `end`, the block is full.
    pub(super) next: u32,
    /// The number of pages that are used: fewer than the block has if it is in the SLC cache.
    pub(super) end: u32,
}

impl Open {
    /// Returns how many pages of the block, which has `pages`, are written or will never be.
    pub(super) fn written(&self, pages: u32) -> u32 {
        self.next + pages - self.end
    }
}

/// The number of p2l entries in a cache line.
pub(super) const LINE: u32 = 16;

/// The open block that a page goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frontier {
    /// The block for host pages.
    Host,
    /// The block for moved pages.
    Collect,
}

impl PlaneTable {
    /// Returns the log of plane `index`, all of whose blocks are free.
    pub(super) fn new(index: u32, nand: &NandSpec, spec: PageMapSpec) -> PlaneTable {
        let none = Open { block: NONE, next: nand.pages_per_block, end: nand.pages_per_block };
        let first = index * nand.blocks_per_plane;
        let fixed = spec.slc.map_or(0, |slc| SlcCacheSpec::blocks(slc.fixed, nand));
        let free = FreeBlocks::new(spec.wear, first..first + nand.blocks_per_plane);
        PlaneTable {
            index,
            free,
            host: none,
            collect: none,
            collecting: None,
            emptied: Vec::new(),
            is_due: false,
            live: 0,
            cached: 0,
            kept_for_cache: fixed,
        }
    }
}

impl Tables {
    /// Returns the tables of `logical` unwritten pages. `seed` is for the victim policy.
    pub(super) fn new(nand: &NandSpec, spec: PageMapSpec, logical: u32, seed: u64) -> Tables {
        let pages = nand.pages() as usize;
        Tables {
            collection: spec.collection,
            wear: spec.wear,
            is_safe: spec.power_fail_safe,
            pages_per_block: nand.pages_per_block,
            pages_per_plane: nand.pages_per_plane() as u32,
            l2p: assay_mem::table(logical as usize, NONE),
            p2l: assay_mem::table(pages, NONE),
            valid_bitmap: assay_mem::table(pages.div_ceil(64), 0),
            blocks: Blocks::new(nand),
            victim: policy(spec.collection.victim, seed),
            due: VecDeque::new(),
            cache: spec.slc.map(|slc| SlcCache::new(slc, nand)),
            cached_map: None,
            endurance: None,
            urgent: 0,
        }
    }

    /// Returns how many of the `logical` pages leave old copies when the drive is written in order
    /// again and again: they fill the blocks of each plane that neither hold data nor are kept
    /// free.
    pub(super) fn spare_pages(&self, planes: &[PlaneTable], logical: u32) -> u32 {
        let count = planes.len() as u32;
        let full = logical.div_ceil(count * self.pages_per_block);
        let resting = self.collection.background.map_or(0, |b| b.blocks);
        let fixed = planes.first().map_or(0, |plane| plane.kept_for_cache);
        let kept = self.collection.reserve_blocks.max(resting).max(2) + fixed;
        let kept = kept + self.kept_free() as u32;
        let spare = self.blocks.per_plane.saturating_sub(full + kept);
        (spare * count * self.pages_per_block).min(logical)
    }

    /// Returns the number of blocks that a plane keeps free at any time, so that after a power cut
    /// there is room in spite of torn pages.
    #[inline]
    pub(super) fn kept_free(&self) -> usize {
        usize::from(self.is_safe)
    }

    /// Returns the plane of a physical page.
    #[inline]
    pub(super) fn plane_of(&self, physical: u32) -> u32 {
        physical / self.pages_per_plane
    }

    /// Maps `page` to the next physical page of a plane's frontier, and returns that. Opens a block
    /// first if the frontier is full. The old copy of `page` must be stale already.
    #[inline(always)]
    pub(super) fn place(&mut self, plane: &mut PlaneTable, page: u32, frontier: Frontier) -> Ppa {
        let shared = self.collection.frontiers == Frontiers::One;
        let own = frontier == Frontier::Collect && !shared;
        let open = if own { &mut plane.collect } else { &mut plane.host };
        if open.next == open.end {
            self.open_next(plane, own);
        }
        let open = if own { &mut plane.collect } else { &mut plane.host };
        let physical = open.block * self.pages_per_block + open.next;
        if physical.is_multiple_of(LINE) {
            prefetch(&self.p2l, (physical + LINE) as usize);
        }
        open.next += 1;
        plane.live += 1;
        self.l2p[page as usize] = physical;
        self.p2l[physical as usize] = page;
        Ppa { plane: plane.index, page: physical }
    }

    /// Closes the full block of a frontier, if there is one, and opens the next. `own` is true for
    /// the collector's own frontier. Panics if no block is free.
    #[inline(never)]
    pub(super) fn open_next(&mut self, plane: &mut PlaneTable, own: bool) {
        let block = plane.free.take().expect("a free block is kept");
        let full = if own { plane.collect.block } else { plane.host.block };
        self.turn_over(full, block);
        let mut end = self.pages_per_block;
        if self.cache.is_some() && !own {
            end = self.open_for_host(plane, block);
        }
        let open = if own { &mut plane.collect } else { &mut plane.host };
        *open = Open { block, next: 0, end };
        self.note_due(plane);
    }

    /// Closes block `full` unless it is `NONE`, and opens `block` with all bits set.
    pub(super) fn turn_over(&mut self, full: u32, block: u32) {
        self.blocks.turn_over(full, block);
        let first = u64::from(block) * u64::from(self.pages_per_block);
        gc_per_plane::set_bits(&mut self.valid_bitmap, first, u64::from(self.pages_per_block));
    }

    /// Notes that the map entry of `page` changes, unless the whole map is in memory.
    #[inline]
    pub(super) fn change_entry(&mut self, page: u32) {
        if let Some(cached_map) = &mut self.cached_map {
            cached_map.change(page);
        }
    }

    /// Marks physical page `physical`, the old copy of `page`, as stale.
    #[inline]
    pub(super) fn make_stale(&mut self, physical: u32, page: u32) {
        debug_assert_eq!(self.p2l[physical as usize], page, "the maps are inverse");
        let (word, bit) = (physical as usize / 64, physical % 64);
        debug_assert_ne!(self.valid_bitmap[word] >> bit & 1, 0, "a page goes stale once");
        self.valid_bitmap[word] &= !(1 << bit);
        self.blocks.stale[(physical / self.pages_per_block) as usize] += 1;
    }
}
