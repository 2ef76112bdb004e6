//! The twin of a drive: a small drive of the same kind, written at random until it is steady, and
//! then copied in snapshots.

use super::cached_map::Changed;
use super::{NONE, PageMap, mapped_pages};
use crate::ftl::history::{FtlHarness, RandomWrites};
use crate::lpn::Lpn;
use assay_spec::Bytes;
use assay_spec::device::{
    Allocation, EraseTime, Frontiers, NandSpec, PageMapSpec, SlcCacheSpec, WearSpec,
};
use assay_spec::seed::mix;
use std::ops::Range;

/// The most planes of a twin.
const PLANES: u32 = 4;
/// The fewest blocks of a twin's plane.
const BLOCKS: u32 = 96;
/// The approximate number of a twin's pages.
const PAGES: u32 = 1 << 17;
/// The fewest blocks of a plane at which blocks resemble each other.
const FEWEST_BLOCKS: u32 = 48;
/// The largest share of valid pages at which a twin finds the steady state.
const FULLEST: f64 = 0.98;
/// The smallest share of valid pages at which a drive has a steady state.
const EMPTIEST: f64 = 0.25;
/// The passes, each of as many pages as the twin's flash has, before it can be steady.
const MIN_PASSES: usize = 4;
/// The most passes.
const MAX_PASSES: usize = 40;
/// The relative change of write amplification between passes below which the twin is steady.
const STEADY_CHANGE: f64 = 0.01;
/// The number of snapshots, a quarter of a pass apart: more of them give more blocks as models.
const SNAPSHOTS: usize = 6;

/// The model of a block.
#[derive(Clone, Copy)]
pub(super) struct Like {
    /// The number of a block of the twin.
    pub(super) model: u32,
    /// The number of valid pages that the block has more than its model.
    pub(super) more: i32,
}

/// The valid pages of a block of the twin: place and logical page.
type Valid = [(u16, Lpn)];

/// A snapshot of a plane of the twin.
pub(super) struct PlaneSnapshot {
    /// The closed blocks, the oldest first.
    closed: Range<usize>,
    /// The open blocks and the number of pages written: the host's, and the collector's if it has
    /// one.
    pub(super) open: Vec<(Like, u32)>,
    /// The number of free blocks, without those kept for the SLC cache.
    free: u32,
    /// The number of free blocks kept for the SLC cache.
    kept_for_cache: u32,
}

/// The snapshots of a twin.
pub(super) struct Twin {
    /// The history that the twin went through.
    pub(super) writes: RandomWrites,
    /// The number of the twin's planes.
    pub(super) planes: u32,
    /// The number of the twin's mapped logical pages.
    pub(super) logical: u32,
    /// Whether all planes are equally far in filling their open blocks.
    is_in_step: bool,
    /// By block: the index of its first valid page in `pages`.
    blocks: Vec<usize>,
    /// The valid pages of all blocks.
    pages: Vec<(u16, Lpn)>,
    /// By block: whether it has one bit a cell.
    is_slc: Vec<bool>,
    /// The snapshots: all planes of the first, then those of the next.
    snapshots: Vec<PlaneSnapshot>,
    /// The changed entries in memory, if only a part of the map is there.
    pub(super) changed: Changed,
}

/// The size of a twin, and what it takes over from the drive.
pub(crate) struct Shape {
    planes: u32,
    blocks: u32,
    /// The number of the twin's host pages.
    host: u32,
    /// The size of the twin's cached mapping table, unless the whole map is in memory.
    cache: Option<Bytes>,
    /// The twin's SLC cache.
    slc: Option<SlcCacheSpec>,
    /// The blocks of a plane that may always be in the SLC cache: the twin's, and the drive's.
    fixed: [u32; 2],
    /// The number of the drive's mapped pages.
    pub(super) mapped: u32,
}

impl Shape {
    /// Returns the shape of the twin of a drive of `host` pages, or the reason why there is none.
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
        // Large blocks have many pages, so fewer planes have enough of them.
        let planes = 4 * PAGES / (BLOCKS * nand.pages_per_block);
        let planes = planes.clamp(1, PLANES).min(nand.planes());
        let blocks = (PAGES / (planes * nand.pages_per_block)).max(BLOCKS).max(8 * kept);
        let blocks = blocks.min(usable);
        // The same share of blocks can be in the SLC cache; at least one if the drive has any.
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
        // The blocks that are empty in the mean: free ones, and the rest of the open ones.
        let open = if spec.collection.frontiers == Frontiers::One { 0.5 } else { 1.0 };
        let room = |blocks: u32| f64::from(blocks) - (f64::from(kept) - 0.5 + open);
        let most = planes * (full_ones * nand.pages_per_block - 1);
        let share = full * room(blocks) / room(usable) * pages;
        let pages = ((share * f64::from(planes)) as u32).min(most);
        // A cached mapping table and its map pages keep their share, too.
        let of_all = f64::from(host) / f64::from(mapped);
        let own = if spec.map_cache.is_some() { (f64::from(pages) * of_all) as u32 } else { pages };
        let share = f64::from(own) / f64::from(host);
        let cache = spec.map_cache.map(|size| Bytes((size.0 as f64 * share) as u64));
        Ok(Shape { planes, blocks, host: own, cache, slc, fixed, mapped })
    }

    /// Returns the number of free blocks of a drive's plane that is modelled on `snapshot`.
    pub(super) fn free(&self, snapshot: &PlaneSnapshot) -> u32 {
        let [twin, drive] = self.fixed.map(u64::from);
        let kept = u64::from(snapshot.kept_for_cache) * drive + twin / 2;
        snapshot.free + kept.checked_div(twin).unwrap_or(0) as u32
    }
}

impl Twin {
    /// Returns the twin of a drive, written until it is steady and then copied in snapshots.
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
            snapshots: Vec::new(),
            changed: Changed::default(),
        };
        for _ in 0..SNAPSHOTS {
            harness.write(u64::from(host) / 4);
            twin.take_snapshot(&harness.map);
        }
        twin.blocks.push(twin.pages.len());
        twin.changed = harness
            .map
            .tables
            .cached_map
            .map(|cached_map| cached_map.snapshot())
            .unwrap_or_default();
        twin
    }

    /// Takes a snapshot of each plane of `map`.
    fn take_snapshot(&mut self, map: &PageMap) {
        let t = &map.tables;
        for plane in &map.planes {
            let blocks = t.blocks.range(plane.index);
            // A block being emptied is no model: many like it would be spare space for nothing.
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
            // A plane that empties a block may have no free one; a plane that empties none has one.
            let free = plane.free.len().max(1) as u32;
            let kept_for_cache = plane.kept_for_cache.min(free - 1);
            let free = free - kept_for_cache;
            self.snapshots.push(PlaneSnapshot { closed, open: copied, free, kept_for_cache });
        }
    }

    /// Copies the valid pages of `block`.
    fn copy(&mut self, map: &PageMap, block: u32) {
        self.blocks.push(self.pages.len());
        self.is_slc.push(map.tables.is_slc(block));
        let first = block * map.tables.pages_per_block;
        for slot in 0..map.tables.pages_per_block {
            let page = map.tables.p2l[(first + slot) as usize];
            if page != NONE && map.tables.l2p[Lpn(page).index()] == first + slot {
                self.pages.push((slot as u16, Lpn(page)));
            }
        }
    }

    /// Returns the snapshot that gives `plane` its open and free blocks. If host pages go to the
    /// planes in turn, and not between moved ones, all planes are equally far in filling a block:
    /// then it is one moment for all.
    pub(super) fn snapshot_for(&self, plane: u32) -> &PlaneSnapshot {
        let turn = if self.is_in_step { 0 } else { u64::from(plane) };
        self.snapshot_at_turn(plane, mix(self.writes.seed ^ turn))
    }

    fn snapshot_at_turn(&self, plane: u32, turn: u64) -> &PlaneSnapshot {
        let snapshots = self.snapshots.len() as u32 / self.planes;
        let snapshot = (turn % u64::from(snapshots)) as u32;
        &self.snapshots[(snapshot * self.planes + plane % self.planes) as usize]
    }

    /// Returns the model of the `rank`th oldest of `closed` blocks of `plane`: one of the same
    /// relative age.
    pub(super) fn of_age(&self, plane: u32, is_static: bool, rank: u32, closed: u32) -> Like {
        let turn = mix(self.writes.seed ^ (u64::from(plane) << 32 | u64::from(rank)));
        let snapshot = match is_static {
            // With static allocation only every n-th page lies on a plane.
            true => self.snapshot_at_turn(plane, turn),
            false => &self.snapshots[(turn % self.snapshots.len() as u64) as usize],
        };
        let blocks = &snapshot.closed;
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

    /// Fills `valid` with the valid pages of a block of `plane` that is modelled on `like` and has
    /// `room` pages. Only every `step`th logical page lies on the plane.
    pub(super) fn valid(
        &self,
        like: Like,
        plane: u32,
        step: u32,
        room: u32,
        valid: &mut Vec<(u16, Lpn)>,
    ) {
        valid.clear();
        valid.extend_from_slice(self.of(like.model));
        // Chance decides which pages are added, and where pages are added or removed.
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
                // With static allocation only every `step`th page lies on a plane.
                let page = (turn(slot + 1) % pages) as u32 / step * step + plane % step;
                (slot as u16, Lpn(page))
            }));
        }
    }
}

/// Writes pass after pass until one programs as much as the one before.
fn settle(harness: &mut FtlHarness<PageMap>) {
    let pass = harness.map.tables.p2l.len() as u64;
    let mut last = f64::NAN;
    for done in 0..MAX_PASSES {
        let ratio = harness.write(pass);
        if done >= MIN_PASSES && (ratio / last - 1.0).abs() < STEADY_CHANGE {
            break;
        }
        last = ratio;
    }
}
