//! Where every page is, what is known of every block, and each plane's log: what the parts of a
//! page map share.

use super::NONE;
use super::cached_mapping_table::Demand;
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

/// Where every page is, and what is known of every block: what the planes' logs share.
pub(super) struct Tables {
    pub(super) collection: CollectionSpec,
    pub(super) wear: WearSpec,
    /// What is on the flash is enough to go on when the power fails.
    pub(super) is_safe: bool,
    pub(super) pages_per_block: u32,
    pub(super) pages_per_plane: u32,
    /// Logical page to physical.
    pub(super) l2p: Vec<u32>,
    /// Physical page to logical: of a closed or open block, whatever was last programmed there.
    pub(super) p2l: Vec<u32>,
    /// One bit a physical page: not stale. Of an open block also set for pages yet to come, so that
    /// only what goes stale must touch it.
    pub(super) valid_bitmap: Vec<u64>,
    pub(super) blocks: Blocks,
    pub(super) victim: Box<dyn Victim>,
    /// Planes with fewer free blocks than they should have, in the order in which they are to
    /// collect; only if the whole drive takes their pages.
    pub(super) due: VecDeque<u32>,
    pub(super) cache: Option<SlcCache>,
    /// What is in memory of the map, if that is not all.
    pub(super) demand: Option<Box<Demand>>,
    pub(super) endurance: Option<Endurance>,
    /// Collections that could not be spread because the host had used up its room.
    pub(super) urgent: u64,
}

/// What is known of each block.
pub(super) struct Blocks {
    /// Pages gone stale since it was opened.
    pub(super) stale: Vec<u16>,
    /// When it was closed, counted in closed blocks; 0 if it is open or free.
    pub(super) closed: Vec<u32>,
    pub(super) closings: u32,
    pub(super) erases: Vec<u32>,
    pub(super) per_plane: u32,
    pub(super) pages: u32,
}

impl Blocks {
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

    pub(super) fn range(&self, plane: u32) -> std::ops::Range<usize> {
        let first = (plane * self.per_plane) as usize;
        first..first + self.per_plane as usize
    }

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

    /// Closes the block `full`, if there is one, and opens `block`.
    pub(super) fn turn_over(&mut self, full: u32, block: u32) {
        if full != NONE {
            self.closings += 1;
            self.closed[full as usize] = self.closings;
        }
        assert_eq!(self.closed[block as usize], 0, "a free block is not closed");
        self.stale[block as usize] = 0;
    }
}

/// Pages that are mapped of a drive of `host` pages: those of a map that is on flash, too.
pub(super) fn mapped_pages(nand: &NandSpec, spec: &PageMapSpec, host: u32) -> u32 {
    host + spec.map_pages(nand.page, u64::from(host)) as u32
}

/// A plane's log.
pub(super) struct Plane {
    pub(super) index: u32,
    pub(super) free: FreeBlocks,
    pub(super) host: Open,
    /// Where collected pages go; unused if they share the host's.
    pub(super) collect: Open,
    pub(super) collecting: Option<Collecting>,
    /// Blocks that are empty but for copies of pages that wait to be programmed with others.
    pub(super) emptied: Vec<(u32, Cause)>,
    /// Whether it is in `Tables::due`.
    pub(super) is_due: bool,
    /// Valid pages.
    pub(super) live: u32,
    /// Blocks with one bit a cell, and free ones that are kept for such.
    pub(super) cached: u32,
    pub(super) kept_for_cache: u32,
}

/// An open block, its next page, and how many are used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) block: u32,
    pub(super) next: u32,
    pub(super) end: u32,
}

impl Open {
    /// Pages of a block of `pages` that are written or will not be.
    pub(super) fn written(&self, pages: u32) -> u32 {
        self.next + pages - self.end
    }
}

/// Entries of the back-map in a cache line.
pub(super) const LINE: u32 = 16;

/// Which open block a page goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frontier {
    Host,
    Collect,
}

impl Plane {
    pub(super) fn new(index: u32, nand: &NandSpec, spec: PageMapSpec) -> Plane {
        let none = Open { block: NONE, next: nand.pages_per_block, end: nand.pages_per_block };
        let first = index * nand.blocks_per_plane;
        let fixed = spec.slc.map_or(0, |slc| SlcCacheSpec::blocks(slc.fixed, nand));
        let free = FreeBlocks::new(spec.wear, first..first + nand.blocks_per_plane);
        Plane {
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
            demand: None,
            endurance: None,
            urgent: 0,
        }
    }

    /// How many of the `logical` pages leave old copies when they are written in order, again and
    /// again: whole blocks of every plane, but for those that it keeps free.
    pub(super) fn spare_pages(&self, planes: &[Plane], logical: u32) -> u32 {
        let count = planes.len() as u32;
        let full = logical.div_ceil(count * self.pages_per_block);
        let resting = self.collection.background.map_or(0, |b| b.blocks);
        let fixed = planes.first().map_or(0, |plane| plane.kept_for_cache);
        let kept = self.collection.reserve_blocks.max(resting).max(2) + fixed;
        let kept = kept + self.kept_free() as u32;
        let spare = self.blocks.per_plane.saturating_sub(full + kept);
        (spare * count * self.pages_per_block).min(logical)
    }

    /// Blocks of a plane that are free at any time, so that there is room for what is torn.
    #[inline]
    pub(super) fn kept_free(&self) -> usize {
        usize::from(self.is_safe)
    }

    #[inline]
    pub(super) fn plane_of(&self, physical: u32) -> u32 {
        physical / self.pages_per_plane
    }

    /// Gives `page` the next physical page of a plane's frontier.
    #[inline(always)]
    pub(super) fn place(&mut self, plane: &mut Plane, page: u32, frontier: Frontier) -> Ppa {
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

    /// Closes the full block of a frontier, if there is one, and opens the next.
    #[inline(never)]
    pub(super) fn open_next(&mut self, plane: &mut Plane, own: bool) {
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

    /// Closes the block `full`, if there is one, and opens `block`.
    pub(super) fn turn_over(&mut self, full: u32, block: u32) {
        self.blocks.turn_over(full, block);
        let first = u64::from(block) * u64::from(self.pages_per_block);
        gc_per_plane::set_bits(&mut self.valid_bitmap, first, u64::from(self.pages_per_block));
    }

    /// `page` will be elsewhere: its entry changes, if not all of them are in memory.
    #[inline]
    pub(super) fn change_entry(&mut self, page: u32) {
        if let Some(demand) = &mut self.demand {
            demand.change(page);
        }
    }

    #[inline]
    pub(super) fn make_stale(&mut self, physical: u32, page: u32) {
        debug_assert_eq!(self.p2l[physical as usize], page, "the maps are inverse");
        let (word, bit) = (physical as usize / 64, physical % 64);
        debug_assert_ne!(self.valid_bitmap[word] >> bit & 1, 0, "a page goes stale once");
        self.valid_bitmap[word] &= !(1 << bit);
        self.blocks.stale[(physical / self.pages_per_block) as usize] += 1;
    }
}
