//! Checks that the mapping tables and the state of the blocks agree.

use super::PageMap;
use super::planes::PlaneTable;
use crate::ftl::{Census, NONE};
use crate::lpn::Lpn;

/// Checks l2p, p2l, the valid bitmap and the valid pages of each plane against each other.
pub(super) fn check_maps(map: &PageMap) {
    let t = &map.tables;
    let mut live = vec![0_u32; map.planes.len()];
    for (page, physical) in (0..).map(Lpn).zip(&t.l2p).filter(|(_, p)| **p != NONE) {
        assert_eq!(Lpn(t.p2l[*physical as usize]), page, "the maps are inverse");
        let valid_bitmap = t.valid_bitmap[*physical as usize / 64] >> (physical % 64) & 1;
        assert_eq!(valid_bitmap, 1, "a mapped page is valid_bitmap");
        live[t.plane_of(*physical) as usize] += 1;
    }
    for (plane, live) in map.planes.iter().zip(live) {
        assert_eq!(plane.live, live, "valid pages of plane {}", plane.index);
        // After a power cut, pages that had moved away may be back.
        let back = map.tables.kept_free() as u32 * map.tables.pages_per_block;
        assert!(live <= map.plane_limit + back);
    }
}

/// Checks that each block is in one state, and that the free blocks are counted right.
pub(super) fn check_planes(map: &PageMap) {
    let mut free = 0_i64;
    for plane in &map.planes {
        let blocks = map.tables.blocks.range(plane.index);
        let mut states = vec!["closed"; blocks.len()];
        let mut claim = |block: u32, state: &'static str| {
            let was = std::mem::replace(&mut states[block as usize - blocks.start], state);
            assert_eq!(was, "closed", "block {block} is {was} and {state}");
        };
        plane.free.iter().for_each(|block| claim(block, "free"));
        let bad = map.tables.endurance.as_ref().map_or(&[][..], |e| e.bad(plane.index as usize));
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
            check_block(map, block as u32, state, plane);
            let is_open = [plane.host.block, plane.collect.block].contains(&(block as u32));
            free += i64::from(map.tables.blocks.closed[block] == 0 && !is_open);
        }
    }
    assert_eq!(map.free_blocks() as i64, free, "blocks neither open, closed nor bad");
}

/// Checks the counts of `block`, which is in `state`.
fn check_block(map: &PageMap, block: u32, state: &str, plane: &PlaneTable) {
    let t = &map.tables;
    let (b, first) = (block as usize, block * t.pages_per_block);
    assert_eq!(t.blocks.closed[b] != 0, state == "closed", "block {block} is {state}");
    let written = match state {
        "free" | "bad" | "emptied" => 0,
        "open" if block == plane.host.block => plane.host.written(t.pages_per_block),
        "open" => plane.collect.next,
        _ => t.pages_per_block,
    };
    let mapped = |p: &u32| {
        let page = t.p2l[*p as usize];
        page != NONE && t.l2p[Lpn(page).index()] == *p
    };
    let valid = (first..first + written.min(t.pages_per_block)).filter(mapped).count() as u32;
    // In a block that is being emptied, moved pages still count as valid.
    let moved = plane.collecting.as_ref().filter(|c| c.block == block).map_or(0, |c| c.moved);
    assert_eq!(u32::from(t.blocks.stale[b]) + valid + moved, written, "pages of block {block}");
}
