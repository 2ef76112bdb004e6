//! The state that the parts of a page map share: the mapping tables, the state of each block, and
//! the log of each plane.

use super::bitmap::{clear_bits, set_bits};
use super::blocks::Blocks;
use super::cached_map::CachedMap;
use super::planes::{Frontier, Open, PlaneTable};
use super::slc_cache::SlcCache;
use crate::ftl::NONE;
use crate::ftl::gc::{Victim, policy};
use crate::ftl::wear::Endurance;
use crate::lpn::Lpn;
use crate::nand::{Nand, Ppa};
use assay_mem::prefetch;
use assay_spec::device::{CollectionSpec, Frontiers, NandSpec, PageMapSpec, WearSpec};
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

/// Returns the number of mapped logical pages of a drive with `host` host pages. Map pages on flash
/// are mapped, too.
pub(super) fn mapped_pages(nand: &NandSpec, spec: &PageMapSpec, host: u32) -> u32 {
    host + spec.map_pages(nand.page, u64::from(host)) as u32
}

/// The number of p2l entries in a cache line.
pub(super) const LINE: u32 = 16;

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
    pub(super) fn place(&mut self, plane: &mut PlaneTable, page: Lpn, frontier: Frontier) -> Ppa {
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
        self.l2p[page.index()] = physical;
        self.p2l[physical as usize] = page.0;
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
        let reserve = self.collection.reserve_blocks;
        if let (Some(cache), false) = (&mut self.cache, own)
            && let Some(pages) = cache.open_for_host(plane, block, reserve)
        {
            self.make_void(block * self.pages_per_block + pages, self.pages_per_block - pages);
            end = pages;
        }
        let open = if own { &mut plane.collect } else { &mut plane.host };
        *open = Open { block, next: 0, end };
        self.note_due(plane);
    }

    /// Closes block `full` unless it is `NONE`, and opens `block` with all bits set.
    #[inline]
    pub(super) fn turn_over(&mut self, full: u32, block: u32) {
        self.blocks.turn_over(full, block);
        let first = u64::from(block) * u64::from(self.pages_per_block);
        set_bits(&mut self.valid_bitmap, first, u64::from(self.pages_per_block));
    }

    /// Notes that the map entry of `page` changes, unless the whole map is in memory.
    #[inline]
    pub(super) fn change_entry(&mut self, page: Lpn) {
        if let Some(cached_map) = &mut self.cached_map {
            cached_map.change(page);
        }
    }

    /// Marks physical page `physical`, the old copy of `page`, as stale.
    #[inline]
    pub(super) fn make_stale(&mut self, physical: u32, page: Lpn) {
        debug_assert_eq!(self.p2l[physical as usize], page.0, "the maps are inverse");
        let (word, bit) = (physical as usize / 64, physical % 64);
        debug_assert_ne!(self.valid_bitmap[word] >> bit & 1, 0, "a page goes stale once");
        self.valid_bitmap[word] &= !(1 << bit);
        self.blocks.stale[(physical / self.pages_per_block) as usize] += 1;
    }

    /// Returns `true` if `plane` has fewer free blocks than it should.
    #[inline]
    pub(super) fn is_low(&self, plane: &PlaneTable) -> bool {
        plane.empty_blocks() < self.collection.reserve_blocks as usize + self.kept_free()
    }

    /// Queues `plane` for its turn to collect if it is low and collection is over the drive. Called
    /// when it has taken a free block.
    #[inline]
    pub(super) fn note_due(&mut self, plane: &mut PlaneTable) {
        if self.collection.over_drive && !plane.is_due && self.is_low(plane) {
            plane.is_due = true;
            self.due.push_back(plane.index);
        }
    }

    /// Counts the collection of `plane` as urgent, once: it is not spread over host writes, or not
    /// over the drive.
    #[cold]
    pub(super) fn count_urgent(&mut self, plane: usize, planes: &mut [PlaneTable]) {
        let Some(job) = &mut planes[plane].collecting else { return };
        self.urgent += u64::from(!job.is_urgent);
        job.is_urgent = true;
    }

    /// Marks `count` pages from `first` on, which are not written, as stale.
    pub(super) fn make_void(&mut self, first: u32, count: u32) {
        clear_bits(&mut self.valid_bitmap, u64::from(first), u64::from(count));
        self.blocks.stale[(first / self.pages_per_block) as usize] += count as u16;
    }

    /// Returns `true` if `block` is in the SLC cache.
    #[inline]
    pub(super) fn is_slc(&self, block: u32) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.has(block))
    }

    /// Returns the number of pages of a block with one bit a cell.
    #[inline]
    pub(super) fn slc_pages(&self) -> u32 {
        self.cache.as_ref().map_or(self.pages_per_block, SlcCache::pages)
    }

    /// Sets the mode of the block of `ppa` on the chips if `ppa` is its first page.
    #[inline(never)]
    pub(super) fn set_block_mode(&self, nand: &mut Nand, ppa: Ppa) {
        if ppa.page.is_multiple_of(self.pages_per_block) {
            let block = ppa.page / self.pages_per_block;
            nand.chips.use_as_slc(block, self.is_slc(block));
        }
    }
}
