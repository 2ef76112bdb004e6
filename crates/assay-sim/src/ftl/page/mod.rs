//! Page-level mapping: every logical page may lie anywhere (Ban 1995; the survey of Gal and Toledo,
//! ACM Computing Surveys 2005).
//!
//! Pages go to the planes in turn, or to the plane their number says. Each plane is a little log of
//! its own: it opens a free block, fills it in order, closes it, and empties blocks when few are
//! left free (`collect.rs`): into blocks of its own, or of all planes in turn (`drive.rs`).
//!
//! *Speed.* A write touches three random cache lines: its map entry, the bit of the old copy, and
//! the count of the old block; each moved page one. All are asked for early. The tables are flat
//! and in huge pages: 4 bytes a logical page, 4 bytes and a bit a physical one.
//!
//! *Invariants.* Map and back-map are inverse of each other on valid pages. A closed block's stale
//! count is its number of pages that no map entry points to. Pages of a block are programmed in
//! order. A block is free, open or closed. A plane holds at most `plane_limit` valid pages, so that
//! one of its closed blocks has a stale page whenever space must be found. What is left of a block
//! that is being emptied finds room in its own plane at any time, wherever its pages go; a plane
//! that empties none has a free block for the next.

mod bits;
mod cache;
mod collect;
mod drive;
mod recover;
pub(crate) mod saved;
mod steady;
#[cfg(test)]
mod steady_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod theory;
pub(crate) mod trims;
pub(crate) mod twin;

use super::gc::{Candidates, Victim, policy};
use super::wear::{Endurance, FreeBlocks};
use super::{Ftl, NONE};
use crate::nand::{Cause, Flash, Nand, Spot};
use crate::ssd::MAP;
use assay_mem::prefetch;
use assay_spec::Op;
use assay_spec::device::{
    Allocation, CollectionSpec, EnduranceSpec, Frontiers, NandSpec, PageMapSpec, SlcCacheSpec,
    WearSpec,
};
use cache::SlcCache;
use collect::Collecting;
use saved::SavedMap;
use std::collections::VecDeque;
use std::ops::Range;
use trims::Trims;

/// A translation layer that maps every page on its own.
pub(crate) struct PageMap {
    allocation: Allocation,
    tables: Tables,
    planes: Vec<Plane>,
    /// The most valid pages a plane takes.
    plane_limit: u32,
    next_plane: u32,
    saved: Option<SavedMap>,
    trims: Trims,
    /// How many programs of several pages had been asked for when emptied blocks were looked at.
    gathered: u64,
}

/// Where every page is, and what is known of every block: what the planes' logs share.
struct Tables {
    collection: CollectionSpec,
    wear: WearSpec,
    /// What is on the flash is enough to go on when the power fails.
    is_safe: bool,
    pages_per_block: u32,
    pages_per_plane: u32,
    /// Logical page to physical.
    forward: Vec<u32>,
    /// Physical page to logical: of a closed or open block, whatever was last programmed there.
    backward: Vec<u32>,
    /// One bit a physical page: not stale. Of an open block also set for pages yet to come, so that
    /// only what goes stale must touch it.
    current: Vec<u64>,
    blocks: Blocks,
    victim: Box<dyn Victim>,
    /// Planes with fewer free blocks than they should have, in the order in which they are to
    /// collect; only if the whole drive takes their pages.
    due: VecDeque<u32>,
    cache: Option<SlcCache>,
    endurance: Option<Endurance>,
    /// Collections that could not be spread because the host had used up its room.
    urgent: u64,
}

/// What is known of each block.
struct Blocks {
    /// Pages gone stale since it was opened.
    stale: Vec<u16>,
    /// When it was closed, counted in closed blocks; 0 if it is open or free.
    closed: Vec<u32>,
    closings: u32,
    erases: Vec<u32>,
    per_plane: u32,
    pages: u32,
}

impl Blocks {
    fn new(nand: &NandSpec) -> Blocks {
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

    fn range(&self, plane: u32) -> std::ops::Range<usize> {
        let first = (plane * self.per_plane) as usize;
        first..first + self.per_plane as usize
    }

    fn candidates(&self, plane: u32, least: u16) -> Candidates<'_> {
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
    fn turn_over(&mut self, full: u32, block: u32) {
        if full != NONE {
            self.closings += 1;
            self.closed[full as usize] = self.closings;
        }
        assert_eq!(self.closed[block as usize], 0, "a free block is not closed");
        self.stale[block as usize] = 0;
    }
}

/// Pages that are mapped of a drive of `host` pages: those of a map that is saved, too.
fn mapped_pages(nand: &NandSpec, spec: &PageMapSpec, host: u32) -> u32 {
    let saved = spec.save_map_every.map(|_| saved::map_pages(nand.page, u64::from(host)) as u32);
    host + saved.unwrap_or_default()
}

/// A plane's log.
struct Plane {
    index: u32,
    free: FreeBlocks,
    host: Open,
    /// Where collected pages go; unused if they share the host's.
    collect: Open,
    collecting: Option<Collecting>,
    /// Blocks that are empty but for copies of pages that wait to be programmed with others.
    emptied: Vec<(u32, Cause)>,
    /// Whether it is in `Tables::due`.
    is_due: bool,
    /// Valid pages.
    live: u32,
    /// Blocks with one bit a cell, and free ones that are kept for such.
    cached: u32,
    kept_for_cache: u32,
}

/// An open block, its next page, and how many are used.
#[derive(Clone, Copy, Debug)]
struct Open {
    block: u32,
    next: u32,
    end: u32,
}

impl Open {
    /// Pages of a block of `pages` that are written or will not be.
    fn written(&self, pages: u32) -> u32 {
        self.next + pages - self.end
    }
}

/// Entries of the back-map in a cache line.
const LINE: u32 = 16;

/// Which open block a page goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frontier {
    Host,
    Collect,
}

impl PageMap {
    /// The map of `logical` pages, all unwritten, or all written in order, and what is spare
    /// before, if `filled`.
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
            true => trims::record_pages(nand.page, u64::from(host)) as u32,
            false => 0,
        };
        let mut map = PageMap {
            allocation: spec.allocation,
            saved,
            trims: Trims::new(nand.page, host, logical),
            tables: Tables::new(nand, spec, logical + records, seed),
            planes: (0..nand.planes()).map(|p| Plane::new(p, nand, spec)).collect(),
            plane_limit: (nand.blocks_per_plane - 3 - spec.safety_blocks(nand))
                * nand.pages_per_block
                - 1,
            next_plane: 0,
            gathered: 0,
        };
        if filled {
            // The same placement as writing the pages in order; a test holds it to that.
            // None of it lies in the cache.
            let cache = map.tables.cache.take();
            let before = logical - map.tables.spare_pages(&map.planes, logical);
            (before..logical).chain(0..logical).for_each(|page| {
                map.forget(page);
                let plane = map.choose_plane(page);
                map.tables.place(&mut map.planes[plane], page, Frontier::Host);
            });
            map.tables.cache = cache;
        }
        map
    }

    /// The same of blocks that wear out. Planes take no more than they hold without their spare
    /// ones.
    pub(crate) fn wearing_out(mut self, spec: Option<EnduranceSpec>) -> PageMap {
        let spare = spec.map_or(0, |spec| spec.spare_blocks);
        self.plane_limit -= spare * self.tables.pages_per_block;
        self.tables.endurance = spec.map(|spec| Endurance::new(spec, self.planes.len()));
        self.tables.blocks.erases.fill(spec.map_or(0, |spec| spec.erased()));
        self
    }

    /// The plane that takes `page`. It has room: the declaration was checked for that.
    #[inline]
    fn choose_plane(&mut self, page: u32) -> usize {
        if self.allocation == Allocation::Static {
            return page as usize % self.planes.len();
        }
        let limit = self.plane_limit;
        self.next_in_turn(|plane| plane.live < limit)
            .expect("the capacity was checked against the flash: not every plane is full")
    }

    /// The next plane in turn for which `takes` holds, if there is one.
    #[inline]
    fn next_in_turn(&mut self, takes: impl Fn(&Plane) -> bool) -> Option<usize> {
        for _ in 0..self.planes.len() {
            let plane = self.next_plane as usize;
            self.next_plane = if plane + 1 == self.planes.len() { 0 } else { plane as u32 + 1 };
            if takes(&self.planes[plane]) {
                return Some(plane);
            }
        }
        None
    }

    /// Programs `page` where the next one goes; returns the plane.
    #[inline]
    fn put(&mut self, nand: &mut Nand, page: u32, cause: Cause, token: u64) -> u32 {
        // The old copy is stale before the collector looks, so that it is not moved for nothing;
        // but as long as the new one has no place, it may be all there is when the power fails.
        let is_safe = self.tables.is_safe;
        if !is_safe {
            self.forget(page);
        }
        let chosen = if self.tables.collection.over_drive {
            self.make_room_on_drive(nand, page)
        } else {
            let chosen = self.choose_plane(page);
            self.frees_emptied(nand, chosen);
            self.tables.make_room(&mut self.planes[chosen], nand, cause);
            let mut rounds = 0;
            while self.tables.lacks_room(&self.planes[chosen]) {
                if !self.frees_emptied(nand, chosen) {
                    self.tables.collect_at_once(&mut self.planes[chosen], nand);
                }
                rounds += 1;
                assert!(rounds <= 8 * self.tables.blocks.per_plane, "plane {chosen} gains nothing");
            }
            chosen
        };
        let old = if is_safe { self.replace(page) } else { None };
        let spot = self.tables.place(&mut self.planes[chosen], page, Frontier::Host);
        if self.tables.cache.is_some() {
            self.tables.tell_mode(nand, spot);
        }
        // On one plane the order of asking is enough, unless pages are gathered first.
        let old = old.filter(|old| self.tables.plane_of(*old) != spot.plane || nand.gathers());
        let block = old.map_or(NONE, |old| nand.geometry.block(old));
        nand.program(spot, cause, token, block);
        if is_safe && nand.gathers() {
            self.free_emptied(nand);
        }
        if self.tables.collection.over_drive || nand.gathers() {
            nand.erase_what_can_be();
        }
        spot.plane
    }

    /// Emptied blocks whose pages are on the chips elsewhere by now are free.
    pub(super) fn free_emptied(&mut self, nand: &mut Nand) {
        let is_new = std::mem::replace(&mut self.gathered, nand.gathered()) != nand.gathered();
        if self.tables.is_safe && is_new {
            self.planes.iter_mut().for_each(|plane| self.tables.free_emptied(plane, nand));
        }
    }

    /// The old copy of `page`, if there is one, goes stale; returns where it is.
    #[inline(never)]
    fn replace(&mut self, page: u32) -> Option<u32> {
        self.trims.written(page);
        let old = self.tables.forward[page as usize];
        self.forget(page);
        (old != NONE).then_some(old)
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
        let own = Spot { plane: p.index, page: next };
        !may_wait
            && !self.tables.collection.over_drive
            && p.emptied.iter().any(|(block, _)| !nand.is_gathered_at(*block, own))
    }

    /// Programs the pages of the map that have changed; returns how many.
    #[cold]
    fn write_map(&mut self, nand: &mut Nand) -> u32 {
        let pages = self.saved.as_mut().map(SavedMap::take).unwrap_or_default();
        for page in &pages {
            self.put(nand, *page, Cause::Map, u64::from(MAP) << 32 | u64::from(*page));
        }
        // Everything waits for them.
        self.drain(nand);
        pages.len() as u32
    }

    /// The old copy of `page`, if there is one, goes stale.
    #[inline]
    fn forget(&mut self, page: u32) {
        let old = std::mem::replace(&mut self.tables.forward[page as usize], NONE);
        if old != NONE {
            self.tables.make_stale(old, page);
            self.planes[self.tables.plane_of(old) as usize].live -= 1;
        }
    }
}

impl Plane {
    fn new(index: u32, nand: &NandSpec, spec: PageMapSpec) -> Plane {
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
    fn new(nand: &NandSpec, spec: PageMapSpec, logical: u32, seed: u64) -> Tables {
        let pages = nand.pages() as usize;
        Tables {
            collection: spec.collection,
            wear: spec.wear,
            is_safe: spec.power_fail_safe,
            pages_per_block: nand.pages_per_block,
            pages_per_plane: nand.pages_per_plane() as u32,
            forward: assay_mem::table(logical as usize, NONE),
            backward: assay_mem::table(pages, NONE),
            current: assay_mem::table(pages.div_ceil(64), 0),
            blocks: Blocks::new(nand),
            victim: policy(spec.collection.victim, seed),
            due: VecDeque::new(),
            cache: spec.slc.map(|slc| SlcCache::new(slc, nand)),
            endurance: None,
            urgent: 0,
        }
    }

    /// How many of the `logical` pages leave old copies when they are written in order, again and
    /// again: whole blocks of every plane, but for those that it keeps free.
    fn spare_pages(&self, planes: &[Plane], logical: u32) -> u32 {
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
    fn kept_free(&self) -> usize {
        usize::from(self.is_safe)
    }

    #[inline]
    fn plane_of(&self, physical: u32) -> u32 {
        physical / self.pages_per_plane
    }

    /// Gives `page` the next physical page of a plane's frontier.
    #[inline]
    fn place(&mut self, plane: &mut Plane, page: u32, frontier: Frontier) -> Spot {
        let shared = self.collection.frontiers == Frontiers::One;
        let own = frontier == Frontier::Collect && !shared;
        let open = if own { &mut plane.collect } else { &mut plane.host };
        if open.next == open.end {
            self.open_next(plane, own);
        }
        let open = if own { &mut plane.collect } else { &mut plane.host };
        let physical = open.block * self.pages_per_block + open.next;
        if physical.is_multiple_of(LINE) {
            prefetch(&self.backward, (physical + LINE) as usize);
        }
        open.next += 1;
        plane.live += 1;
        self.forward[page as usize] = physical;
        self.backward[physical as usize] = page;
        Spot { plane: plane.index, page: physical }
    }

    /// Closes the full block of a frontier, if there is one, and opens the next.
    #[inline]
    fn open_next(&mut self, plane: &mut Plane, own: bool) {
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
    fn turn_over(&mut self, full: u32, block: u32) {
        self.blocks.turn_over(full, block);
        let first = u64::from(block) * u64::from(self.pages_per_block);
        collect::set_bits(&mut self.current, first, u64::from(self.pages_per_block));
    }

    #[inline]
    fn make_stale(&mut self, physical: u32, page: u32) {
        debug_assert_eq!(self.backward[physical as usize], page, "the maps are inverse");
        let (word, bit) = (physical as usize / 64, physical % 64);
        debug_assert_ne!(self.current[word] >> bit & 1, 0, "a page goes stale once");
        self.current[word] &= !(1 << bit);
        self.blocks.stale[(physical / self.pages_per_block) as usize] += 1;
    }
}

impl Ftl for PageMap {
    #[inline]
    fn read(&mut self, nand: &mut Nand, page: u32, cause: Cause, token: u64) -> bool {
        let Some(spot) = self.locate(page) else { return false };
        if nand.is_gathering(spot) {
            return false;
        }
        nand.read(spot, cause, token);
        true
    }

    #[inline]
    fn write(&mut self, nand: &mut Nand, page: u32, _run: &Range<u32>, token: u64) -> u32 {
        if let Some(saved) = &mut self.saved {
            saved.change(page);
        }
        self.put(nand, page, Cause::Host, token)
    }

    #[inline]
    fn save_map(&mut self, nand: &mut Nand) -> u32 {
        let due = self.saved.as_mut().is_some_and(SavedMap::is_due);
        if due { self.write_map(nand) } else { 0 }
    }

    fn trim(&mut self, page: u32) {
        if let Some(saved) = &mut self.saved {
            saved.change(page);
        }
        match self.tables.is_safe {
            true => self.trim_later(page),
            false => self.forget(page),
        }
    }

    fn takes_trims(&self) -> bool {
        !(self.tables.is_safe && self.is_worn_out())
    }

    fn are_trims_due(&self) -> bool {
        self.trims.are_due()
    }

    fn recover(&mut self, nand: &mut Nand, flash: &Flash) -> bool {
        if self.tables.is_safe {
            self.find(nand, flash);
        }
        self.tables.is_safe
    }

    fn record_trims(&mut self, nand: &mut Nand) -> u32 {
        self.write_record(nand)
    }

    fn trims_are_recorded(&mut self) {
        self.record_is_written();
    }

    fn drain(&mut self, nand: &mut Nand) {
        if nand.gathers() {
            self.planes.iter_mut().for_each(|plane| self.tables.pad(plane, nand));
            self.free_emptied(nand);
        }
    }

    fn background(&mut self, nand: &mut Nand) -> bool {
        let mut asked = false;
        if self.is_worn_out() {
            // Nobody writes to it any more: what it did would only wear it on.
            nand.erase_what_can_be();
            return false;
        }
        if self.tables.collection.over_drive {
            asked = self.collect_over_drive_in_background(nand);
        } else {
            for plane in &mut self.planes {
                asked |= self.tables.collect_in_background(plane, nand);
            }
        }
        if nand.gathers() {
            self.free_emptied(nand);
            // Over the drive every plane would pay for it, and for nothing if nobody writes.
            let planes = if self.tables.collection.over_drive { 0 } else { self.planes.len() };
            for plane in 0..planes {
                asked |= self.frees_emptied(nand, plane);
            }
        }
        nand.erase_what_can_be();
        asked
    }

    #[inline]
    fn expect_later(&self, page: u32) {
        prefetch(&self.tables.forward, page as usize);
    }

    #[inline]
    fn expect_sooner(&self, page: u32, op: Op) {
        if op == Op::Read {
            return;
        }
        let old = self.tables.forward[page as usize];
        prefetch(&self.tables.current, old as usize / 64);
        prefetch(&self.tables.blocks.stale, (old / self.tables.pages_per_block) as usize);
    }

    fn locate(&self, page: u32) -> Option<Spot> {
        let physical = Some(self.tables.forward[page as usize]).filter(|p| *p != NONE)?;
        if self.trims.has(page) {
            return None;
        }
        Some(Spot { plane: self.tables.plane_of(physical), page: physical })
    }

    fn check(&self) {
        self.check_maps();
        self.check_planes();
        self.tables.check_cache(&self.planes);
        self.check_room();
    }

    fn erases(&self) -> &[u32] {
        &self.tables.blocks.erases
    }

    fn is_worn_out(&self) -> bool {
        self.tables.endurance.as_ref().is_some_and(|e| e.is_over)
    }

    fn free_blocks(&self) -> u64 {
        self.planes.iter().map(|p| p.free.len() as u64).sum()
    }

    fn counters(&self) -> Vec<(String, f64)> {
        let mut all = vec![("urgent_collections".to_owned(), self.tables.urgent as f64)];
        let endurance = self.tables.endurance.iter();
        all.extend(endurance.flat_map(|e| e.counters(&self.tables.blocks.erases)));
        all
    }

    fn mark(&mut self) {
        self.tables.urgent = 0;
    }
}

impl PageMap {
    fn check_maps(&self) {
        let t = &self.tables;
        let mut live = vec![0_u32; self.planes.len()];
        for (page, physical) in t.forward.iter().enumerate().filter(|(_, p)| **p != NONE) {
            assert_eq!(t.backward[*physical as usize], page as u32, "the maps are inverse");
            let current = t.current[*physical as usize / 64] >> (physical % 64) & 1;
            assert_eq!(current, 1, "a mapped page is current");
            live[t.plane_of(*physical) as usize] += 1;
        }
        for (plane, live) in self.planes.iter().zip(live) {
            assert_eq!(plane.live, live, "valid pages of plane {}", plane.index);
            // After a power cut some may be back that had left.
            let back = self.tables.kept_free() as u32 * self.tables.pages_per_block;
            assert!(live <= self.plane_limit + back);
        }
    }

    fn check_planes(&self) {
        let mut free = 0_i64;
        for plane in &self.planes {
            let blocks = self.tables.blocks.range(plane.index);
            let mut states = vec!["closed"; blocks.len()];
            let mut claim = |block: u32, state: &'static str| {
                let was = std::mem::replace(&mut states[block as usize - blocks.start], state);
                assert_eq!(was, "closed", "block {block} is {was} and {state}");
            };
            plane.free.iter().for_each(|block| claim(block, "free"));
            let bad =
                self.tables.endurance.as_ref().map_or(&[][..], |e| e.bad(plane.index as usize));
            bad.iter().for_each(|block| claim(*block, "bad"));
            free -= bad.len() as i64;
            plane.emptied.iter().for_each(|(block, _)| claim(*block, "emptied"));
            free -= plane.emptied.len() as i64;
            let has_next = plane.collecting.is_some() || plane.empty_blocks() > 0;
            assert!(has_next, "plane {} empties no block and has none free", plane.index);
            for open in [plane.host, plane.collect].iter().filter(|open| open.block != NONE) {
                claim(open.block, "open");
            }
            for (block, state) in blocks.zip(states) {
                self.check_block(block as u32, state, plane);
                let is_open = [plane.host.block, plane.collect.block].contains(&(block as u32));
                free += i64::from(self.tables.blocks.closed[block] == 0 && !is_open);
            }
        }
        assert_eq!(self.free_blocks() as i64, free, "blocks neither open, closed nor bad");
    }

    fn check_block(&self, block: u32, state: &str, plane: &Plane) {
        let t = &self.tables;
        let (b, first) = (block as usize, block * t.pages_per_block);
        assert_eq!(t.blocks.closed[b] != 0, state == "closed", "block {block} is {state}");
        let written = match state {
            "free" | "bad" | "emptied" => 0,
            "open" if block == plane.host.block => plane.host.written(t.pages_per_block),
            "open" => plane.collect.next,
            _ => t.pages_per_block,
        };
        let mapped = |p: &u32| {
            let page = t.backward[*p as usize];
            page != NONE && t.forward[page as usize] == *p
        };
        let valid = (first..first + written.min(t.pages_per_block)).filter(mapped).count() as u32;
        // A block being emptied still counts what has been moved out of it as current.
        let moved = plane.collecting.as_ref().filter(|c| c.block == block).map_or(0, |c| c.moved);
        assert_eq!(u32::from(t.blocks.stale[b]) + valid + moved, written, "pages of block {block}");
    }
}
