//! A small drive of the kind of another, written at random until it is steady, and looked at then.

use super::cached_mapping_table::Changed;
use super::{NONE, PageMap, mapped_pages};
use crate::ftl::history::{FtlHarness, RandomWrites};
use assay_spec::Bytes;
use assay_spec::device::{
    Allocation, EraseTime, Frontiers, NandSpec, PageMapSpec, SlcCacheSpec, WearSpec,
};
use assay_spec::seed::mix;
use std::ops::Range;

/// Planes of the twin, at most; its blocks a plane, at least; its pages, about.
const PLANES: u32 = 4;
const BLOCKS: u32 = 96;
const PAGES: u32 = 1 << 17;
/// Blocks of a plane that it takes for them to be like others.
const FEWEST_BLOCKS: u32 = 48;
/// How full a drive may be of valid pages, and must be, for it to have a steady state that a twin
/// of it finds.
const FULLEST: f64 = 0.98;
const EMPTIEST: f64 = 0.25;
/// As many pages as its flash has are written to the twin so often before it can be steady, and at
/// most.
const FEWEST: usize = 4;
const MOST: usize = 40;
/// It is steady when a pass programs so much as the one before.
const SAME: f64 = 0.01;
/// So often, a quarter of a pass apart, is it looked at: more blocks to take after.
const LOOKS: usize = 6;

/// Like which block of the twin one is.
#[derive(Clone, Copy)]
pub(super) struct Like {
    pub(super) model: u32,
    /// Valid pages it has more.
    pub(super) more: i32,
}

/// Valid pages of a block of the twin: place and logical page.
type Valid = [(u16, u32)];

/// A plane of the twin when it was looked at.
pub(super) struct Look {
    /// Its closed blocks, the oldest first.
    closed: Range<usize>,
    /// Its open ones and how far they are written: the host's and, if it has its own, the
    /// collector's.
    pub(super) open: Vec<(Like, u32)>,
    /// Its free ones, but for those that are kept for the cache; and those.
    free: u32,
    kept_for_cache: u32,
}

/// What the twin was like.
pub(super) struct Twin {
    /// The history that it went through.
    pub(super) writes: RandomWrites,
    pub(super) planes: u32,
    pub(super) logical: u32,
    is_in_step: bool,
    /// Where the valid pages of each block begin in `pages`.
    blocks: Vec<usize>,
    pages: Vec<(u16, u32)>,
    /// Which of them have one bit a cell.
    is_slc: Vec<bool>,
    /// Plane by plane, look by look.
    looks: Vec<Look>,
    /// What of its map it has in memory, changed.
    pub(super) changed: Changed,
}

/// How large a twin is, and what of the drive it is like.
pub(crate) struct Shape {
    planes: u32,
    blocks: u32,
    /// Pages of the host's.
    host: u32,
    /// What of a cache of entries the twin has, if the map is not in memory as a whole.
    cache: Option<Bytes>,
    /// The twin's cache of one bit a cell.
    slc: Option<SlcCacheSpec>,
    /// Blocks of a plane that always can be in the cache: the twin's, and the drive's.
    fixed: [u32; 2],
    /// The drive's pages that are mapped.
    pub(super) mapped: u32,
}

impl Shape {
    /// The twin of a drive of `host` pages; why there is none, if so.
    pub(crate) fn of(
        nand: &NandSpec,
        spec: &PageMapSpec,
        host: u32,
    ) -> Result<Shape, &'static str> {
        let mapped = mapped_pages(nand, spec, host);
        let kept = spec.collection.reserve_blocks.max(2) + u32::from(spec.power_fail_safe);
        let fixed = spec.slc.map_or(0, |slc| SlcCacheSpec::blocks(slc.fixed, nand));
        let usable = nand.blocks_per_plane;
        let full_ones = usable.saturating_sub(fixed);
        if full_ones < FEWEST_BLOCKS {
            return Err("its planes have fewer than 48 blocks");
        }
        if full_ones < 8 * kept || kept > FEWEST_BLOCKS {
            return Err("its planes keep many of their blocks free");
        }
        let pages = f64::from(nand.pages_per_block);
        let full = f64::from(mapped) / f64::from(nand.planes()) / pages;
        if full > FULLEST * f64::from(full_ones - kept - 2) {
            return Err("it has hardly any spare pages");
        }
        if full < EMPTIEST * f64::from(full_ones) {
            return Err("most of its pages are spare");
        }
        // Large blocks are many pages: fewer planes have enough of them.
        let planes = 4 * PAGES / (BLOCKS * nand.pages_per_block);
        let planes = planes.clamp(1, PLANES).min(nand.planes());
        let blocks = (PAGES / (planes * nand.pages_per_block)).max(BLOCKS).max(8 * kept);
        let blocks = blocks.min(usable);
        // As many of its blocks can be in the cache, of those that always can at least one.
        let of_cache = |size: Bytes| {
            let share = f64::from(blocks) / f64::from(usable);
            let own = f64::from(SlcCacheSpec::blocks(size, nand).min(usable)) * share;
            own.round().max(f64::from(u32::from(size.0 > 0))) as u32
        };
        let fixed = [spec.slc.map_or(0, |slc| of_cache(slc.fixed)), fixed];
        let full_ones = blocks.saturating_sub(3 + fixed[0]);
        if full_ones < FEWEST_BLOCKS / 2 + kept {
            return Err("its cache of one bit a cell takes most of its blocks");
        }
        let slc = spec.slc.map(|slc| {
            let bits = nand.slc.map_or(1, |slc| slc.bits);
            let block = nand.page * u64::from(nand.pages_per_block / bits * planes);
            let of = |size| block * u64::from(of_cache(size));
            SlcCacheSpec { size: of(slc.size), fixed: of(slc.fixed), ..slc }
        });
        // Blocks with nothing in them in the mean: free ones, and the rest of the open ones.
        let open = if spec.collection.frontiers == Frontiers::One { 0.5 } else { 1.0 };
        let room = |blocks: u32| f64::from(blocks) - (f64::from(kept) - 0.5 + open);
        let most = planes * (full_ones * nand.pages_per_block - 1);
        let share = full * room(blocks) / room(usable) * pages;
        let pages = ((share * f64::from(planes)) as u32).min(most);
        // A map of which only a part is in memory has its pages there, and that part.
        let of_all = f64::from(host) / f64::from(mapped);
        let own = if spec.map_cache.is_some() { (f64::from(pages) * of_all) as u32 } else { pages };
        let share = f64::from(own) / f64::from(host);
        let cache = spec.map_cache.map(|size| Bytes((size.0 as f64 * share) as u64));
        Ok(Shape { planes, blocks, host: own, cache, slc, fixed, mapped })
    }

    /// Blocks of one of the drive's planes that are free where the twin's looks like that.
    pub(super) fn free(&self, look: &Look) -> u32 {
        let [twin, drive] = self.fixed.map(u64::from);
        let kept = u64::from(look.kept_for_cache) * drive + twin / 2;
        look.free + kept.checked_div(twin).unwrap_or(0) as u32
    }
}

impl Twin {
    /// The twin of a drive, written until it is steady and looked at then.
    pub(super) fn written(
        nand: &NandSpec,
        spec: PageMapSpec,
        shape: &Shape,
        writes: RandomWrites,
    ) -> Twin {
        let Shape { planes, blocks, host, cache, slc, .. } = *shape;
        let twin_nand = NandSpec {
            channels: planes,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: blocks,
            pages_per_program: 1,
            ..*nand
        };
        let mut twin_spec = spec;
        twin_spec.collection.erase = EraseTime::AtOnce;
        twin_spec.collection.background = None;
        twin_spec.wear = WearSpec::None;
        twin_spec.save_map_every = None;
        twin_spec.map_cache = cache;
        twin_spec.slc = slc;
        let map = PageMap::new(&twin_nand, twin_spec, host, 0, true);
        let logical = mapped_pages(&twin_nand, &twin_spec, host);
        let mut harness = FtlHarness::new(map, &twin_nand, host, writes);
        if spec.power_fail_safe {
            harness = harness.keeping_replaced();
        }
        settle(&mut harness);
        let mut twin = Twin {
            writes,
            planes,
            logical,
            is_in_step: spec.allocation == Allocation::Dynamic
                && spec.collection.frontiers == Frontiers::Two,
            blocks: Vec::new(),
            pages: Vec::new(),
            is_slc: Vec::new(),
            looks: Vec::new(),
            changed: Changed::default(),
        };
        for _ in 0..LOOKS {
            harness.write(u64::from(host) / 4);
            twin.look_at(&harness.map);
        }
        twin.blocks.push(twin.pages.len());
        twin.changed = harness.map.tables.demand.map(|demand| demand.look_at()).unwrap_or_default();
        twin
    }

    fn look_at(&mut self, map: &PageMap) {
        let t = &map.tables;
        for plane in &map.planes {
            let blocks = t.blocks.range(plane.index);
            // One that is being emptied is like no other: many like it would be space for nothing.
            let emptied = plane.collecting.as_ref().map(|c| c.block as usize);
            let is_closed = |b: &usize| t.blocks.closed[*b] != 0 && Some(*b) != emptied;
            let mut closed: Vec<usize> = blocks.filter(is_closed).collect();
            closed.sort_by_key(|b| t.blocks.closed[*b]);
            let first = self.blocks.len();
            closed.iter().for_each(|b| self.copy(map, *b as u32));
            let closed = first..self.blocks.len();
            let open = [plane.host, plane.collect].into_iter().filter(|o| o.block != NONE);
            let mut copied = Vec::new();
            for o in open {
                let like = Like { model: self.blocks.len() as u32, more: 0 };
                copied.push((like, o.next));
                self.copy(map, o.block);
            }
            // One that empties a block may have no free one; one that does not, has.
            let free = plane.free.len().max(1) as u32;
            let kept_for_cache = plane.kept_for_cache.min(free - 1);
            let free = free - kept_for_cache;
            self.looks.push(Look { closed, open: copied, free, kept_for_cache });
        }
    }

    fn copy(&mut self, map: &PageMap, block: u32) {
        self.blocks.push(self.pages.len());
        self.is_slc.push(map.tables.is_slc(block));
        let first = block * map.tables.pages_per_block;
        for slot in 0..map.tables.pages_per_block {
            let page = map.tables.p2l[(first + slot) as usize];
            if page != NONE && map.tables.l2p[page as usize] == first + slot {
                self.pages.push((slot as u16, page));
            }
        }
    }

    /// Which plane of the twin, and when, `plane` has its open and free blocks from. Where the
    /// host's pages go to the planes in turn and not between moved ones, all are as far in filling
    /// a block: so it is one moment for all.
    pub(super) fn look_for(&self, plane: u32) -> &Look {
        let turn = if self.is_in_step { 0 } else { u64::from(plane) };
        self.look_at_turn(plane, mix(self.writes.seed ^ turn))
    }

    fn look_at_turn(&self, plane: u32, turn: u64) -> &Look {
        let looks = self.looks.len() as u32 / self.planes;
        let look = (turn % u64::from(looks)) as u32;
        &self.looks[(look * self.planes + plane % self.planes) as usize]
    }

    /// Like which block one of `plane` is that is the `rank`th oldest of `closed` ones.
    pub(super) fn of_age(&self, plane: u32, is_static: bool, rank: u32, closed: u32) -> Like {
        let turn = mix(self.writes.seed ^ (u64::from(plane) << 32 | u64::from(rank)));
        let look = match is_static {
            // Only every so many of the pages lie on a plane.
            true => self.look_at_turn(plane, turn),
            false => &self.looks[(turn % self.looks.len() as u64) as usize],
        };
        let blocks = &look.closed;
        let index = u64::from(rank) * blocks.len() as u64 / u64::from(closed);
        Like { model: blocks.start as u32 + index as u32, more: 0 }
    }

    fn of(&self, model: u32) -> &Valid {
        &self.pages[self.blocks[model as usize]..self.blocks[model as usize + 1]]
    }

    pub(super) fn count(&self, model: u32) -> u32 {
        self.of(model).len() as u32
    }

    pub(super) fn is_slc(&self, model: u32) -> bool {
        self.is_slc[model as usize]
    }

    /// The valid pages of a block of `plane`, with room for so many, `like` one of the twin's.
    pub(super) fn valid(
        &self,
        like: Like,
        plane: u32,
        step: u32,
        room: u32,
        valid: &mut Vec<(u16, u32)>,
    ) {
        valid.clear();
        valid.extend_from_slice(self.of(like.model));
        // Where pages come or go, and which ones come, is chance.
        let of_like = self.writes.seed ^ (u64::from(like.model) << 32);
        let turn = |i: u32| mix(of_like ^ u64::from(i)) >> 20;
        for i in like.more..0 {
            valid.swap_remove((turn(i.unsigned_abs()) % valid.len() as u64) as usize);
        }
        if like.more > 0 {
            let mut taken = vec![false; room as usize];
            valid.iter().for_each(|(slot, _)| taken[*slot as usize] = true);
            let start = (turn(0) % u64::from(room)) as u32;
            let places = (0..room).map(|i| (start + i) % room);
            let free = places.filter(|slot| !taken[*slot as usize]).take(like.more as usize);
            let pages = u64::from(self.logical / step * step);
            valid.extend(free.map(|slot| {
                // On a plane with fixed places only every `step`th page lies.
                let page = (turn(slot + 1) % pages) as u32 / step * step + plane % step;
                (slot as u16, page)
            }));
        }
    }
}

/// Pass after pass, until one programs as much as the one before.
fn settle(harness: &mut FtlHarness<PageMap>) {
    let pass = harness.map.tables.p2l.len() as u64;
    let mut last = f64::NAN;
    for done in 0..MOST {
        let ratio = harness.write(pass);
        if done >= FEWEST && (ratio / last - 1.0).abs() < SAME {
            break;
        }
        last = ratio;
    }
}
