//! The steady state of a drive after long random writes, without writing it.
//!
//! A twin, a small drive with the same share of spare pages and the same policies, is written until
//! it is steady. Each block of the drive is then modelled on a block of the twin that was closed as
//! long ago, relative to the others of its plane. It has as many valid pages, in the same places,
//! and each is a logical page from the same part of the address space; these are dealt out in
//! shuffled order. That takes one random write a page instead of the several passes of a history.
//!
//! It leaves out three things: no block is being emptied, no block has ever been erased, and the
//! SLC caches of all planes are equally full.

use super::PageMap;
use super::bitmap::set_bits;
use super::planes::Open;
use super::scaled_drive::{Like, Shape, Twin};
use super::tables::Tables;
use crate::ftl::history::RandomWrites;
use crate::lpn::Lpn;
use assay_spec::device::{Allocation, NandSpec, PageMapSpec};
use assay_spec::seed::mix;

/// Returns the map of `host` pages as random writes leave it. Panics if the drive has no twin.
pub(crate) fn steady_map(
    nand: &NandSpec,
    spec: PageMapSpec,
    host: u32,
    seed: u64,
    writes: RandomWrites,
) -> PageMap {
    let mut map = PageMap::new(nand, spec, host, seed, false);
    let shape = Shape::of(nand, &spec, host).expect("who asks has checked that");
    become_like(&mut map, &Twin::written(nand, spec, &shape, writes), &shape);
    map
}

/// Models the blocks of this empty map on those of `twin`.
fn become_like(map: &mut PageMap, twin: &Twin, shape: &Shape) {
    let planes = map.planes.len() as u32;
    let likes: Vec<Vec<Like>> = (0..planes).map(|p| likes(map, twin, p, shape)).collect();
    // By page of the twin: the number of the drive's pages that stand for it, later the next of
    // them.
    let is_static = map.allocation == Allocation::Static;
    let (parts, step) = if is_static { (planes, twin.planes) } else { (1, 1) };
    let per_part = twin.logical.div_ceil(step) as usize;
    let mut next = vec![0_u32; per_part * parts as usize];
    let part = |plane: u32| if is_static { plane as usize * per_part } else { 0 };
    let mut valid = Vec::new();
    for (plane, likes) in (0..).zip(&likes) {
        for like in likes {
            twin.valid(*like, plane, step, room(map, twin, like.model), &mut valid);
            valid.iter().for_each(|(_, p)| next[part(plane) + (p.0 / step) as usize] += 1);
        }
    }
    for part in next.chunks_mut(per_part) {
        let mut sum = 0;
        part.iter_mut().for_each(|n| sum += std::mem::replace(n, sum));
    }
    enter_caches(map, twin, &likes);
    // Chance decides which of the pages that stand for one of the twin's lies where.
    for (plane, index) in shuffled(&likes, twin.writes.seed) {
        let like = likes[plane as usize][index as usize];
        twin.valid(like, plane, step, room(map, twin, like.model), &mut valid);
        let place = &mut next[part(plane)..];
        let block = block_of(map, plane, index);
        let pages = valid.iter().map(|(slot, p)| {
            let n = &mut place[(p.0 / step) as usize];
            *n += 1;
            let page = if is_static { (*n - 1) * planes + plane } else { *n - 1 };
            (*slot, Lpn(page))
        });
        lay(&mut map.tables, block, pages);
    }
    for (plane, likes) in (0..).zip(&likes) {
        close_and_open(map, twin, plane, likes);
    }
    map.planes.iter_mut().for_each(|plane| map.tables.note_due(plane));
    if let Some(cached_map) = &mut map.tables.cached_map {
        cached_map.become_like(&twin.changed, twin.writes);
    }
}

/// Puts blocks into the SLC caches, open ones first: the next writes go to them, and there may
/// be too many blocks.
fn enter_caches(map: &mut PageMap, twin: &Twin, likes: &[Vec<Like>]) {
    for (index, likes) in (0..).zip(likes) {
        let first = block_of(map, index, 0);
        let plane = &mut map.planes[index as usize];
        for (like, block) in likes.iter().zip(first..first + likes.len() as u32).rev() {
            if let (Some(cache), true) = (&mut map.tables.cache, twin.is_slc(like.model)) {
                cache.enter(plane, block);
            }
        }
    }
}

/// Returns block `index` of `plane`. The first blocks of a plane are used, the others free.
fn block_of(map: &PageMap, plane: u32, index: u32) -> u32 {
    plane * map.tables.blocks.per_plane + index
}

/// Returns the models of the blocks of `plane`: closed ones, oldest first, then open ones.
fn likes(map: &PageMap, twin: &Twin, plane: u32, shape: &Shape) -> Vec<Like> {
    let snapshot = twin.snapshot_for(plane);
    let closed = map.tables.blocks.per_plane - shape.free(snapshot) - snapshot.open.len() as u32;
    let is_static = map.allocation == Allocation::Static;
    let of_age = |i: u32| twin.of_age(plane, is_static, i, closed);
    let mut likes: Vec<Like> = (0..closed).map(of_age).collect();
    let open: Vec<Like> = snapshot.open.iter().map(|(like, _)| *like).collect();
    let wanted = share(map, plane, shape, twin.writes.seed);
    let has = likes.iter().chain(&open).map(|l| i64::from(twin.count(l.model))).sum::<i64>();
    // Spreads what the plane lacks, or has too much, over all closed blocks. What some cannot
    // take goes to the next ones that can.
    let lacking = i64::from(wanted) - has;
    let (twice, n) = (2 * lacking, i64::from(closed));
    let part = |i: i64| (twice * i + n).div_euclid(2 * n);
    let mut left = 0;
    for i in 0..2 * n {
        left += if i < n { part(i + 1) - part(i) } else { 0 };
        let like = &mut likes[(i % n) as usize];
        let count = i64::from(twin.count(like.model)) + i64::from(like.more);
        let more = left.clamp(-count, i64::from(room(map, twin, like.model)) - count);
        like.more += more as i32;
        left -= more;
    }
    assert_eq!(left, 0, "plane {plane} does not hold its share");
    likes.extend(open);
    likes
}

/// Returns the number of valid pages of `plane`. Each plane gets as many writes as the others
/// while chance decides which pages go stale. The more pages a plane has, the more it loses, so
/// the variance is half its number of pages. What one plane has more another has less.
fn share(map: &PageMap, plane: u32, shape: &Shape, seed: u64) -> u32 {
    let planes = map.planes.len() as u32;
    let mean = shape.mapped / planes + u32::from(plane < shape.mapped % planes);
    let (pair, half) = (plane % (planes / 2).max(1), planes / 2);
    if map.allocation == Allocation::Static || plane >= 2 * half {
        return mean;
    }
    let uniform = |i: u64| mix(mix(mix(seed) ^ u64::from(pair)) ^ i) as f64 / u64::MAX as f64;
    let normal = (0..12).map(uniform).sum::<f64>() - 6.0;
    // Planes of a nearly full drive differ less.
    let pages = shape.mapped / planes;
    let most = (map.tables.blocks.per_plane * map.tables.pages_per_block).saturating_sub(pages) / 8;
    let more = (f64::from(pages) / 2.0).sqrt() * normal;
    let more = more.clamp(-f64::from(most), f64::from(most)) as i32;
    mean.saturating_add_signed(if plane < half { more } else { -more })
}

/// Returns the number of pages that a block modelled on `model` has room for.
fn room(map: &PageMap, twin: &Twin, model: u32) -> u32 {
    if twin.is_slc(model) { map.tables.slc_pages() } else { map.tables.pages_per_block }
}

/// Takes the blocks of `plane` from the free ones, closes them, and opens the last.
fn close_and_open(map: &mut PageMap, twin: &Twin, plane: u32, likes: &[Like]) {
    let (first, planes) = (block_of(map, plane, 0), map.planes.len() as u32);
    let (own, t) = (&mut map.planes[plane as usize], &mut map.tables);
    let open = &twin.snapshot_for(plane).open;
    let closed = likes.len() - open.len();
    for block in 0..likes.len() as u32 {
        assert_eq!(own.free.take(), Some(first + block), "blocks are taken in order");
    }
    for i in 0..closed as u32 {
        t.blocks.closed[(first + i) as usize] = i * planes + plane + 1;
    }
    t.blocks.closings = t.blocks.closings.max(closed as u32 * planes + planes);
    own.live = likes.iter().map(|l| (twin.count(l.model) as i32 + l.more) as u32).sum();
    let written = (first + closed as u32..).zip(open);
    let mut opened = written.map(|(block, (_, next))| {
        let end = if t.is_slc(block) { t.slc_pages() } else { t.pages_per_block };
        // Pages not written yet are not stale.
        let rest = end - next;
        t.blocks.stale[block as usize] -= rest as u16;
        let unwritten = u64::from(block * t.pages_per_block + next);
        set_bits(&mut t.valid_bitmap, unwritten, u64::from(rest));
        Open { block, next: *next, end }
    });
    own.host = opened.next().unwrap_or(own.host);
    own.collect = opened.next().unwrap_or(own.collect);
}

/// Maps `pages`, (place in the block, logical page), to their places in `block`. Its other
/// pages are stale.
fn lay(tables: &mut Tables, block: u32, pages: impl Iterator<Item = (u16, Lpn)>) {
    let first = block * tables.pages_per_block;
    let mut count = 0;
    for (slot, page) in pages {
        let physical = first + u32::from(slot);
        tables.l2p[page.index()] = physical;
        tables.p2l[physical as usize] = page.0;
        tables.valid_bitmap[physical as usize / 64] |= 1 << (physical % 64);
        count += 1;
    }
    tables.blocks.stale[block as usize] = (tables.pages_per_block - count) as u16;
}

/// Returns all blocks of all planes, (plane, index), in random order.
fn shuffled(likes: &[Vec<Like>], seed: u64) -> Vec<(u32, u32)> {
    let each = |(plane, likes): (u32, &Vec<Like>)| (0..likes.len() as u32).map(move |i| (plane, i));
    let mut order: Vec<(u32, u32)> = (0..).zip(likes).flat_map(each).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, (mix(seed ^ !(i as u64)) % (i as u64 + 1)) as usize);
    }
    order
}
