//! A map of which only a part is in memory, and collection.

use super::small::{greedy, nand};
use super::*;
use crate::ftl::Ftl;

/// Whatever is elsewhere has another entry: what the host wrote, and what was moved.
#[test]
fn moved_pages_change_their_entries() {
    for over_drive in [false, true] {
        let mut spec = PageMapSpec { map_cache: Some(Bytes(8 * 640)), ..greedy() };
        (spec.collection.over_drive, spec.collection.copy) = (over_drive, CopyPath::Controller);
        let (mut map, mut flash) =
            (PageMap::new(&nand(), spec, 640, 0, true), Nand::new(&nand(), 0));
        let before = map.tables.l2p.clone();
        (0..300).for_each(|step| write(&mut map, &mut flash, mix(step) as u32 % 60));
        settle(&mut flash);
        let cached_map = map.tables.cached_map.as_ref().expect("a part of it is in memory");
        assert_eq!(cached_map.counts[2], 0, "none of the map is written yet");
        let is_elsewhere = |page: &u32| map.tables.l2p[*page as usize] != before[*page as usize];
        let elsewhere: Vec<u32> = (0..640).filter(is_elsewhere).collect();
        assert!(elsewhere.len() > 62, "some are moved: {}", elsewhere.len());
        assert!(elsewhere.iter().all(|page| cached_map.has_changed(Lpn(*page))));
        map.check();
    }
}
