//! Page-level mapping: every logical page may lie anywhere (Ban 1995; the survey of Gal and Toledo,
//! ACM Computing Surveys 2005).
//!
//! Pages go to the planes in turn, or to the plane that their number gives. Each plane is a log: it
//! opens a free block, fills it in order and closes it. It empties blocks when few free ones are
//! left (`gc_per_plane.rs`). Valid pages move within their plane, or to all planes in turn
//! (`gc_global.rs`).
//!
//! *Invariants.* The l2p and p2l tables are inverse of each other on valid pages. The stale count
//! of a closed block is the number of its pages that no l2p entry points to. The pages of a block
//! are programmed in order. A block is free, open or closed. A plane holds at most `plane_limit`
//! valid pages, so that one of its closed blocks has a stale page whenever space must be found. The
//! pages left in a block that is being emptied find room in their own plane at any time, wherever
//! they go. A plane that empties no block has a free block for the next collection.
//!
//! *Hot path.* A write touches three random cache lines: its l2p entry, the valid bit of the old
//! copy, and the stale count of the old block. A moved page touches one. All are prefetched. The
//! tables are flat and in huge pages: 4 bytes a logical page, 4 bytes and a bit a physical one.

mod bitmap;
mod bits;
mod blocks;
mod cached_map;
mod check;
mod gc_global;
mod gc_per_plane;
mod layer;
pub(crate) mod map_checkpoint;
mod planes;
mod reclaim_queue;
mod recovery;
pub(crate) mod scaled_drive;
mod slc_cache;
pub(crate) mod steady;
#[cfg(test)]
mod steady_tests;
mod tables;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod theory;
pub(crate) mod trim;

use super::wear::Endurance;
use super::{Lpn, NONE};
use crate::ftl::{Census, Deferred, Ftl};
use crate::nand::{Cause, Nand, Observed, Token, Waiter};
use assay_spec::device::{Allocation, EnduranceSpec, NandSpec, PageMapSpec};
use cached_map::CachedMap;
use map_checkpoint::SavedMap;
use planes::{Frontier, PlaneTable};
use tables::{Tables, mapped_pages};
use trim::Trims;

/// A translation layer that maps each page on its own.
pub(crate) struct PageMap {
    allocation: Allocation,
    tables: Tables,
    planes: Vec<PlaneTable>,
    /// The most valid pages that a plane takes.
    plane_limit: u32,
    /// The plane whose turn is next.
    next_plane: u32,
    /// The checkpoints of the map, if it is saved.
    saved: Option<SavedMap>,
    trims: Trims,
    /// The number of multi-page programs queued when the emptied blocks were last checked.
    multi_page_programs: u64,
}

impl PageMap {
    /// Returns the map of `logical` host pages: all unwritten, or, if `filled`, all written in
    /// order after the spare space has been filled with old copies.
    pub(crate) fn new(
        nand: &NandSpec,
        spec: PageMapSpec,
        logical: u32,
        seed: u64,
        filled: bool,
    ) -> PageMap {
        let saved = spec.save_map_every.map(|every| SavedMap::new(every, nand.page, logical));
        let host = logical;
        let logical = mapped_pages(nand, &spec, host);
        let records = match spec.power_fail_safe {
            true => trim::record_pages(nand.page, u64::from(host)) as u32,
            false => 0,
        };
        let mut map = PageMap {
            allocation: spec.allocation,
            saved,
            trims: Trims::new(nand.page, host, Lpn(logical)),
            tables: Tables::new(nand, spec, logical + records, seed),
            planes: (0..nand.planes()).map(|p| PlaneTable::new(p, nand, spec)).collect(),
            plane_limit: (nand.blocks_per_plane - 3 - spec.safety_blocks(nand))
                * nand.pages_per_block
                - 1,
            next_plane: 0,
            multi_page_programs: 0,
        };
        if filled {
            // Places pages as writes in order would; a test compares the two. None is in the SLC
            // cache.
            let cache = map.tables.cache.take();
            let before = logical - map.tables.spare_pages(&map.planes, logical);
            (before..logical).chain(0..logical).map(Lpn).for_each(|page| {
                map.forget(page);
                let plane = map.choose_plane(page);
                map.tables.place(&mut map.planes[plane], page, Frontier::Host);
            });
            map.tables.cache = cache;
        }
        // The map pages on flash are up to date, and no entry is in memory.
        map.tables.cached_map = spec.map_cache.map(|size| {
            let room = size.0 / PageMapSpec::CACHED_ENTRY;
            Box::new(CachedMap::new(room, nand.page, host))
        });
        map
    }

    /// Makes the blocks wear out as `spec` says. Planes then take only the valid pages that they
    /// hold without their spare blocks.
    pub(crate) fn wearing_out(mut self, spec: Option<EnduranceSpec>) -> PageMap {
        let spare = spec.map_or(0, |spec| spec.spare_blocks);
        self.plane_limit -= spare * self.tables.pages_per_block;
        self.tables.endurance = spec.map(|spec| Endurance::new(spec, self.planes.len()));
        self.tables.blocks.erases.fill(spec.map_or(0, |spec| spec.erased()));
        self
    }

    /// Returns the plane that takes `page`. It has room, because the capacity was checked.
    #[inline]
    fn choose_plane(&mut self, page: Lpn) -> usize {
        if self.allocation == Allocation::Static {
            return page.index() % self.planes.len();
        }
        let limit = self.plane_limit;
        self.next_in_turn(|plane| plane.live < limit)
            .expect("the capacity was checked against the flash: not every plane is full")
    }

    /// Returns the next plane in turn for which `takes` returns `true`.
    #[inline]
    fn next_in_turn(&mut self, takes: impl Fn(&PlaneTable) -> bool) -> Option<usize> {
        for _ in 0..self.planes.len() {
            let plane = self.next_plane as usize;
            self.next_plane = if plane + 1 == self.planes.len() { 0 } else { plane as u32 + 1 };
            if takes(&self.planes[plane]) {
                return Some(plane);
            }
        }
        None
    }

    /// Programs `lpn` at the next place after `reads`, and collects first if it must. Returns the
    /// plane.
    #[inline]
    fn put(&mut self, nand: &mut Nand, lpn: Lpn, cause: Cause, token: Token, reads: &[u32]) -> u32 {
        // The old copy goes stale before GC looks, so that it is not moved for nothing. With power
        // cuts it stays valid until the new copy has a place: it may be the only one when the power
        // fails.
        let is_safe = self.tables.is_safe;
        if !is_safe {
            self.forget(lpn);
        }
        let chosen = if self.tables.collection.over_drive {
            self.make_room_on_drive(nand, lpn)
        } else {
            let chosen = self.choose_plane(lpn);
            self.drain_for_emptied(nand, chosen);
            self.tables.make_room(&mut self.planes[chosen], nand, cause);
            let mut rounds = 0;
            while self.tables.lacks_room(&self.planes[chosen]) {
                if !self.drain_for_emptied(nand, chosen) {
                    self.tables.collect_at_once(&mut self.planes[chosen], nand);
                }
                rounds += 1;
                assert!(rounds <= 8 * self.tables.blocks.per_plane, "plane {chosen} gains nothing");
            }
            chosen
        };
        let old = if is_safe { self.replace(lpn) } else { None };
        let ppa = self.tables.place(&mut self.planes[chosen], lpn, Frontier::Host);
        if self.tables.cache.is_some() {
            self.tables.set_block_mode(nand, ppa);
        }
        // Within a plane the queue's order is enough, unless pages are gathered for their program.
        let old = old
            .filter(|old| self.tables.plane_of(*old) != ppa.plane || nand.chips.has_multi_page());
        let block = old.map_or(NONE, |old| nand.chips.geometry.block(old));
        nand.program_with(ppa, cause, token, reads, block);
        if is_safe && nand.chips.has_multi_page() {
            self.free_emptied(nand);
        }
        if self.tables.collection.over_drive || nand.chips.has_multi_page() {
            nand.erase_on_idle_planes();
        }
        ppa.plane
    }

    /// Makes the old copy of `page` stale and returns its physical page, if there is one.
    #[inline(never)]
    fn replace(&mut self, page: Lpn) -> Option<u32> {
        self.trims.written(page);
        let old = self.tables.l2p[page.index()];
        self.forget(page);
        (old != NONE).then_some(old)
    }

    /// Programs the map pages that have changed, and returns their number.
    #[cold]
    fn write_map(&mut self, nand: &mut Nand) -> u32 {
        let pages = self.saved.as_mut().map(SavedMap::take).unwrap_or_default();
        for page in &pages {
            self.put(nand, *page, Cause::Map, Token::new(Waiter::MapSave, *page), &[]);
        }
        // All writes wait for these pages.
        self.program_gathered(nand);
        pages.len() as u32
    }

    /// Unmaps `page`, and makes its old copy stale if there is one.
    #[inline]
    fn forget(&mut self, page: Lpn) {
        let old = std::mem::replace(&mut self.tables.l2p[page.index()], NONE);
        if old != NONE {
            self.tables.make_stale(old, page);
            self.planes[self.tables.plane_of(old) as usize].live -= 1;
        }
    }

    /// Writes the map pages that are due, `most` at most. The old copy of a map page is read first,
    /// unless all its entries have changed.
    fn write_changed(&mut self, nand: &mut Nand, most: u32) {
        for _ in 0..most {
            let is_over = self.is_worn_out();
            let Some(cached_map) = self.tables.cached_map.as_mut().filter(|_| !is_over) else {
                return;
            };
            let Some(number) = cached_map.due() else { return };
            let page = cached_map.page(number);
            let is_whole = cached_map.written(number);
            let old = self.locate(page).filter(|ppa| !is_whole && !nand.chips.is_buffered(*ppa));
            let read = old.map(|ppa| nand.read(ppa, Cause::Map, Token::NONE));
            let token = Token::new(Waiter::MapMiss, page);
            self.put(nand, page, Cause::Map, token, read.as_slice());
        }
    }

    /// Writes all map pages that are due, each once at most, after many entries have changed at
    /// once.
    fn write_all_changed(&mut self, nand: &mut Nand) {
        let pages = self.tables.cached_map.as_ref().map_or(0, |cached_map| cached_map.pages());
        self.write_changed(nand, pages);
    }

    /// Notes the trim of `page`, which stays mapped until the trim is recorded.
    fn trim_later(&mut self, page: Lpn) {
        if self.tables.l2p[page.index()] != NONE && !self.trims.has(page) {
            self.trims.trim(page);
        }
    }

    /// Queues the programs of the record pages that have changed, and returns their number.
    fn write_record(&mut self, nand: &mut Nand) -> u32 {
        let changed = self.trims.begin_record();
        for number in &changed {
            if let Some(observer) = nand.observer() {
                observer.observe(Observed::Records(self.trims.record(*number)));
            }
            let page = self.trims.page(*number);
            self.put(nand, page, Cause::Map, Token::new(Waiter::MapSave, page), &[]);
        }
        if !changed.is_empty() {
            self.program_gathered(nand);
        }
        changed.len() as u32
    }

    /// Unmaps the pages whose trims are now recorded in the cells.
    fn record_is_written(&mut self) {
        let trimmed = self.trims.end_record();
        trimmed.into_iter().for_each(|page| self.forget(page));
    }

    /// Sets the mode of the cached blocks on the chips, for a drive that does not begin empty.
    pub(crate) fn set_block_modes(&self, nand: &mut Nand) {
        self.tables.cache.iter().for_each(|cache| cache.set_block_modes(nand));
    }
}
