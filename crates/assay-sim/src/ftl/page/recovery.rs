//! Recovery after a power cut: rebuilds the map from what the cells and the out-of-band areas say.
//! The controller knows nothing else.
//!
//! Of each logical page the newest version is valid, unless a newer record says that it is trimmed.
//! Blocks without valid pages are erased. The block opened last of each frontier is filled on
//! behind its torn pages; all others are closed. Pages that had been moved or written when the
//! power failed may be back where they were. So a plane can hold more than its limit, or lack the
//! room to collect: then pages of it move to other planes first.

use super::PageMap;
use super::bitmap::{clear_bits, set_bits};
use super::planes::{Frontier, Move, Open, PlaneTable};
use super::tables::Tables;
use crate::ftl::{Deferred, NONE};
use crate::lpn::Lpn;
use crate::nand::{Cause, Flash, Found, Nand, Ppa, Token};
use assay_spec::device::Frontiers;
use std::ops::Range;

/// Takes over what the recovery scan has found. Queues the erases and moves that must come
/// before anything else. The map must be empty.
pub(super) fn recover(map: &mut PageMap, nand: &mut Nand, flash: &Flash) {
    assert!(map.planes.iter().all(|plane| plane.live == 0), "it knows nothing yet");
    let newest = find_newest(map, flash);
    for (page, physical) in (0..).map(Lpn).zip(newest) {
        map.tables.l2p[page.index()] = physical;
    }
    find_trimmed(map, flash);
    for page in (0..map.tables.l2p.len() as u32).map(Lpn) {
        let physical = map.tables.l2p[page.index()];
        if physical != NONE {
            map.tables.p2l[physical as usize] = page.0;
            map.planes[map.tables.plane_of(physical) as usize].live += 1;
        }
    }
    for plane in 0..map.planes.len() {
        find_blocks(map, nand, flash, plane);
    }
    // Twice, because planes that come last have room for what the first ones had to keep.
    for plane in (0..map.planes.len()).chain(0..map.planes.len()) {
        make_room_again(map, nand, plane);
    }
    map.planes.iter_mut().for_each(|plane| map.tables.note_due(plane));
}

/// Returns the physical page of each logical page's newest version, or `NONE`. Of several
/// copies it is the one in the block opened last, for the other block was being emptied.
fn find_newest(map: &PageMap, flash: &Flash) -> Vec<u32> {
    let mut newest: Vec<(u64, u64, u32)> = vec![(0, 0, NONE); map.tables.l2p.len()];
    for (physical, found) in (0..).zip(&flash.pages) {
        let Found::Holds(spare) = *found else { continue };
        let opened = flash.blocks[(physical / map.tables.pages_per_block) as usize].opened;
        let best = &mut newest[spare.lpn().index()];
        *best = (*best).max((spare.version, opened, physical));
    }
    newest.into_iter().map(|(.., physical)| physical).collect()
}

/// Returns the version that `physical` holds, or 0.
fn version_of(flash: &Flash, physical: u32) -> u64 {
    match flash.pages.get(physical as usize) {
        Some(Found::Holds(spare)) => spare.version,
        _ => 0,
    }
}

/// Unmaps the pages that a newer record says are trimmed.
fn find_trimmed(map: &mut PageMap, flash: &Flash) {
    for page in Lpn::iter(map.trims.pages(map.tables.l2p.len())) {
        let at = map.tables.l2p[page.index()];
        let version = version_of(flash, at);
        let Some(record) = flash.records.get(&version) else { continue };
        for trimmed in record.pages() {
            let Some(physical) = map.tables.l2p.get_mut(trimmed.index()) else { break };
            if version_of(flash, *physical) < version {
                *physical = NONE;
                map.trims.note_recorded(trimmed);
            }
        }
    }
}

/// Finds the state of each block of a plane, and erases those without valid pages.
fn find_blocks(map: &mut PageMap, nand: &mut Nand, flash: &Flash, plane: usize) {
    let tables = &mut map.tables;
    let per_block = tables.pages_per_block;
    let range = tables.blocks.range(plane as u32);
    let plane = &mut map.planes[plane];
    plane.free.clear();
    let mut used: Vec<u32> = Vec::new();
    // The blocks without valid pages, and whether they must be erased first.
    let mut empty: Vec<(u32, bool)> = Vec::new();
    for block in range.start as u32..range.end as u32 {
        let pages = block * per_block..(block + 1) * per_block;
        nand.chips.use_as_slc(block, false);
        tables.blocks.erases[block as usize] = flash.blocks[block as usize].erases;
        match pages.clone().any(|p| tables.p2l[p as usize] != NONE) {
            true => used.push(block),
            false if pages.clone().all(|p| flash.pages[p as usize] == Found::Erased) => {
                empty.push((block, false));
            }
            false => empty.push((block, true)),
        }
    }
    used.sort_by_key(|block| flash.blocks[*block as usize].opened);
    let shared = tables.collection.frontiers == Frontiers::One;
    for block in used {
        let found = flash.blocks[block as usize];
        nand.chips.use_as_slc(block, found.is_slc);
        if let (Some(cache), true) = (&mut tables.cache, found.is_slc) {
            cache.enter(plane, block);
        }
        let end = if found.is_slc { tables.slc_pages() } else { per_block };
        let next = first_erased(flash, block * per_block, per_block, nand);
        let own = found.by_collector && !shared;
        let open = if own { &mut plane.collect } else { &mut plane.host };
        let before = std::mem::replace(open, Open { block, next: next.min(end), end });
        if before.block != NONE {
            // The block before is full, or is not filled on.
            tables.blocks.closings += 1;
            tables.blocks.closed[before.block as usize] = tables.blocks.closings;
            count(tables, before.block, 0..0);
        }
        count(tables, block, next.min(end)..end);
    }
    empty.sort_by_key(|(_, is_dirty)| *is_dirty);
    for (block, is_dirty) in empty {
        match is_dirty {
            true => erase_found(tables, plane, nand, block),
            false => tables.put_free(plane, block),
        }
    }
    find_worn(tables, plane);
}

/// Empties blocks until the plane can collect, can take pages of others, and is within its
/// limit.
fn make_room_again(map: &mut PageMap, nand: &mut Nand, plane: usize) {
    for _ in 0..map.tables.blocks.per_plane {
        let p = &map.planes[plane];
        if p.live <= map.plane_limit && p.empty_blocks() > map.tables.kept_free() + 1 {
            return;
        }
        let Some(block) = emptiest(&map.tables, &map.planes[plane]) else { return };
        map.tables.start_with(&mut map.planes[plane], block, Cause::Collect);
        while let Some(next) = map.tables.take_next(&mut map.planes[plane]) {
            move_anywhere(map, nand, plane, &next);
        }
        map.tables.erase(&mut map.planes[plane], nand);
        map.program_gathered(nand);
    }
}

/// Moves a page to the next plane with room and below its limit, or within its own if there is
/// none.
fn move_anywhere(map: &mut PageMap, nand: &mut Nand, plane: usize, next: &Move) {
    let target = map.next_with_room(Frontier::Collect).unwrap_or(plane);
    let p = &map.planes[target];
    let needs_block = p.collect.next == p.collect.end && p.free.len() == 0;
    let frontier = if needs_block { Frontier::Host } else { Frontier::Collect };
    let to = map.tables.place(&mut map.planes[target], next.page, frontier);
    let read = nand.read(next.from, next.cause, Token::NONE);
    nand.program_from(to, next.cause, next.from, &[read]);
}

/// Returns the index in its block of the first page that the next program can use: it and all later
/// pages are erased, and no program of them has begun.
fn first_erased(flash: &Flash, first: u32, pages: u32, nand: &Nand) -> u32 {
    let is_used = |index: &u32| flash.pages[(first + index) as usize] != Found::Erased;
    let used = (0..pages).rev().find(is_used).map_or(0, |index| index + 1);
    used.next_multiple_of(nand.chips.program_unit(first))
}

/// Counts the valid pages of `block`: those that are mapped, and those still `to_come`.
fn count(tables: &mut Tables, block: u32, to_come: Range<u32>) {
    let pages = tables.pages_per_block;
    let first = block * pages;
    clear_bits(&mut tables.valid_bitmap, u64::from(first), u64::from(pages));
    let (start, count) = (first + to_come.start, to_come.end - to_come.start);
    set_bits(&mut tables.valid_bitmap, u64::from(start), u64::from(count));
    let mut stale = pages - count;
    for page in (first..first + pages).filter(|p| tables.p2l[*p as usize] != NONE) {
        set_bits(&mut tables.valid_bitmap, u64::from(page), 1);
        stale -= 1;
    }
    tables.blocks.stale[block as usize] = stale as u16;
}

/// Erases `block`, which has no valid page, and frees it.
fn erase_found(tables: &mut Tables, plane: &mut PlaneTable, nand: &mut Nand, block: u32) {
    tables.blocks.erases[block as usize] += 1;
    let first = Ppa { plane: plane.index, page: block * tables.pages_per_block };
    nand.erase(first, Cause::Collect);
    tables.put_free(plane, block);
}

/// Returns `true` if `block` has been erased as often as it can be.
fn is_worn(tables: &Tables, block: u32) -> bool {
    let erases = tables.blocks.erases[block as usize];
    tables.endurance.as_ref().is_some_and(|e| e.is_worn(block, erases))
}

/// Notes how many blocks of `plane` are worn: if more than its spare ones, the drive takes no
/// writes.
fn find_worn(tables: &mut Tables, plane: &PlaneTable) {
    let worn = tables.blocks.range(plane.index).filter(|b| is_worn(tables, *b as u32)).count();
    if let Some(endurance) = &mut tables.endurance {
        endurance.finds_worn(worn);
    }
}

/// Returns the closed block of `plane` with the fewest valid pages, by its index in the plane.
fn emptiest(tables: &Tables, plane: &PlaneTable) -> Option<usize> {
    let range = tables.blocks.range(plane.index);
    let closed = |b: &usize| tables.blocks.closed[range.start + b] != 0;
    (0..range.len()).filter(closed).max_by_key(|b| tables.blocks.stale[range.start + b])
}
