//! Random work on small drives, and each policy where it matters.

mod cached_map;
pub(super) mod small;

use super::planes::Open;
use super::*;
use crate::ftl::{Ftl, MapWrites, Trim};
use crate::nand::{FlashEvent, Token};
use assay_spec::device::{
    BackgroundSpec, CollectionSpec, CopyPath, EraseTime, Frontiers, Pace, ProgramTime, VictimSpec,
    WearSpec,
};
use assay_spec::{Bytes, Nanos, seed::mix};
use small::{greedy, nand};

/// Writes and trims at random, checking everything now and then.
fn torture(
    nand_spec: &NandSpec,
    spec: PageMapSpec,
    logical: u32,
    seed: u64,
    steps: u64,
) -> PageMap {
    let filled = seed.is_multiple_of(2);
    let map = PageMap::new(nand_spec, spec, logical, seed, filled);
    torture_on(map, nand_spec, filled, logical, seed, steps)
}

/// The same of a map whose pages have all been written, or none.
pub(super) fn torture_on(
    mut map: PageMap,
    nand_spec: &NandSpec,
    filled: bool,
    logical: u32,
    seed: u64,
    steps: u64,
) -> PageMap {
    map.check();
    let mut nand = Nand::new(nand_spec, 0);
    let mut written = vec![filled; logical as usize];
    for step in 0..steps {
        let r = mix(seed << 32 | step);
        // Half of the work on an eighth of the pages, so that there is hot and cold.
        let range = if r >> 60 & 1 == 0 { logical } else { logical.div_ceil(8) };
        let page = (r >> 8) as u32 % range;
        if r & 15 == 0 {
            map.trim(Lpn(page));
            written[page as usize] = false;
        } else {
            write(&mut map, &mut nand, page);
            written[page as usize] = true;
        }
        if r & 63 == 1 {
            settle(&mut nand);
            (0..r >> 61).for_each(|_| {
                map.background(&mut nand);
                settle(&mut nand);
            });
        }
        if step % 97 == 0 {
            map.check();
        }
    }
    map.check();
    for (page, written) in written.iter().enumerate() {
        assert_eq!(map.locate(Lpn(page as u32)).is_some(), *written, "page {page}");
    }
    map
}

fn write(map: &mut PageMap, nand: &mut Nand, page: u32) {
    let page = Lpn(page);
    map.write(nand, page, &(page..page + 1), Token::NONE);
}

/// Everything asked of the flash happens.
fn settle(nand: &mut Nand) {
    while let Some((queue, slot)) = nand.chips.events.pop(Nanos::NEVER) {
        nand.on_event(queue, slot, &mut Vec::new());
    }
    assert!(nand.is_idle());
}

/// Collections as they are declared, by chance.
pub(super) fn any_collection(seed: u64) -> PageMapSpec {
    let victims = [
        VictimSpec::Greedy,
        VictimSpec::Fifo,
        VictimSpec::CostBenefit,
        VictimSpec::RandomGreedy { choices: 4 },
    ];
    let wears = [WearSpec::None, WearSpec::Dynamic, WearSpec::Static { spread: 4 }];
    let background = BackgroundSpec { after: Nanos(1000), blocks: 6 };
    let pick = |n, salt| pick(seed, n, salt);
    let allocation = [Allocation::Dynamic, Allocation::Static][pick(2, 1)];
    let copy = [CopyPath::CopyBack, CopyPath::Controller][pick(2, 6)];
    let may_leave = allocation == Allocation::Dynamic && copy == CopyPath::Controller;
    PageMapSpec {
        allocation,
        collection: CollectionSpec {
            victim: victims[pick(4, 2)],
            reserve_blocks: 2 + pick(4, 3) as u32,
            pace: [Pace::Spread, Pace::WholeBlock][pick(2, 4)],
            frontiers: [Frontiers::One, Frontiers::Two][pick(2, 5)],
            copy,
            over_drive: may_leave && pick(4, 12) > 0,
            erase: [EraseTime::AtOnce, EraseTime::WhenIdle][pick(2, 13)],
            background: [None, Some(background)][pick(2, 7)],
        },
        wear: wears[pick(3, 8)],
        ..greedy()
    }
}

pub(super) fn pick(seed: u64, n: u64, salt: u64) -> usize {
    (mix(seed ^ salt << 40) % n) as usize
}

#[test]
fn random_work_under_every_policy_keeps_every_invariant() {
    for seed in 0..192_u64 {
        let pick = |n, salt| pick(seed, n, salt);
        let spec = any_collection(seed);
        let nand_spec = NandSpec {
            blocks_per_plane: 8 + pick(20, 9) as u32,
            pages_per_block: [4, 8, 7, 65][pick(4, 10)],
            ..nand()
        };
        // Up to the fullest drive that a declaration may ask for.
        let room = nand_spec.blocks_per_plane - spec.collection.reserve_blocks.max(3);
        let most = 4 * (room * nand_spec.pages_per_block - 1);
        let logical = most - [0, 1, most / 7, most / 3][pick(4, 11)];
        torture(&nand_spec, spec, logical, seed, 3000);
    }
}

#[test]
fn filled_by_construction_is_filled_by_writing() {
    let built = PageMap::new(&nand(), greedy(), 500, 0, true);
    let mut written = PageMap::new(&nand(), greedy(), 500, 0, false);
    let mut nand = Nand::new(&nand(), 0);
    let spare = built.tables.spare_pages(&built.planes, 500);
    assert!(spare > 0 && spare < 500);
    (500 - spare..500).chain(0..500).for_each(|page| {
        write(&mut written, &mut nand, page);
    });
    assert_eq!(built.tables.l2p, written.tables.l2p);
    assert_eq!(built.tables.valid_bitmap, written.tables.valid_bitmap);
    assert_eq!(built.tables.blocks.closed, written.tables.blocks.closed);
    let free = |map: &PageMap| -> Vec<usize> { map.planes.iter().map(|p| p.free.len()).collect() };
    assert_eq!(free(&built), free(&written));
}

#[test]
fn sequential_overwriting_moves_nothing_and_changes_nothing() {
    for victim in [VictimSpec::Greedy, VictimSpec::Fifo] {
        let mut spec = greedy();
        spec.collection.victim = victim;
        let mut map = PageMap::new(&nand(), spec, 500, 0, true);
        let mut nand = Nand::new(&nand(), 0);
        let free = |map: &PageMap| map.planes.iter().map(|p| p.free.len()).max();
        let built = free(&map);
        (0..5000).for_each(|i| {
            write(&mut map, &mut nand, i % 500);
        });
        assert_eq!(nand.chips.counts.programmed(), 5000, "write amplification 1");
        assert!(free(&map) <= built && built <= free(&map).map(|f| f + 1), "{built:?}");
        map.check();
    }
}

#[test]
fn spread_collection_is_never_urgent_under_random_writes() {
    let big = NandSpec { blocks_per_plane: 100, pages_per_block: 64, ..nand() };
    let mut map = PageMap::new(&big, greedy(), 4 * 90 * 64, 1, true);
    let mut nand = Nand::new(&big, 0);
    for step in 0..200_000_u64 {
        write(&mut map, &mut nand, (mix(step) % (4 * 90 * 64)) as u32);
    }
    assert!(nand.chips.counts.erases[Cause::Collect as usize] > 1000);
    assert_eq!(map.tables.urgent, 0);
    map.check();
}

#[test]
fn static_levelling_keeps_the_spread_that_none_does_not() {
    let spread = |wear| {
        // One page in eight is hot, the rest is never written again.
        let spec = PageMapSpec { wear, ..greedy() };
        let mut map = PageMap::new(&nand(), spec, 560, 1, true);
        let mut nand = Nand::new(&nand(), 0);
        for step in 0..60_000_u64 {
            write(&mut map, &mut nand, (mix(step) % 70) as u32);
        }
        let erases = &map.tables.blocks.erases;
        erases.iter().max().expect("blocks") - erases.iter().min().expect("blocks")
    };
    assert!(spread(WearSpec::None) > 100, "cold blocks are never erased");
    // All cold blocks fall behind together and are emptied one by one.
    let levelled = spread(WearSpec::Static { spread: 10 });
    assert!(levelled <= 20, "{levelled}");
}

#[test]
fn background_collection_works_until_it_has_its_blocks() {
    let mut spec = greedy();
    spec.collection.background = Some(BackgroundSpec { after: Nanos(1_000_000), blocks: 5 });
    let mut map = PageMap::new(&nand(), spec, 560, 1, true);
    let mut nand = Nand::new(&nand(), 0);
    (0..2000_u64).for_each(|i| write(&mut map, &mut nand, (mix(i) % 560) as u32));
    assert!(!map.background(&mut nand), "the planes are busy");
    settle(&mut nand);
    let free = |map: &PageMap| map.planes.iter().map(|p| p.free.len()).min();
    assert!(free(&map) < Some(5));
    let mut rounds = 0;
    while map.background(&mut nand) {
        settle(&mut nand);
        rounds += 1;
    }
    assert!(free(&map) >= Some(5), "{:?} after {rounds} rounds", free(&map));
    assert!(rounds > 8);
    map.check();
}

/// Twenty planes of which every block has 122 valid pages of 128, and which are below their
/// reserve; first in, first out, a block at a time.
fn twenty_planes(over_drive: bool) -> (PageMap, Nand) {
    let spec = NandSpec {
        channels: 10,
        program: ProgramTime { fast: Nanos(900_000), ..nand().program },
        read: Nanos(50_000),
        pages_per_block: 128,
        ..nand()
    };
    let mut map_spec = greedy();
    map_spec.collection = CollectionSpec {
        victim: VictimSpec::Fifo,
        reserve_blocks: 5,
        pace: Pace::WholeBlock,
        copy: CopyPath::Controller,
        over_drive,
        erase: EraseTime::AtOnce,
        ..map_spec.collection
    };
    let logical = 20 * 20 * 128;
    let mut map = PageMap::new(&spec, map_spec, logical, 1, true);
    // Page k is in place k / 20 of its plane.
    (0..logical).filter(|k| k / 20 % 128 < 6).for_each(|k| map.trim(Lpn(k)));
    (map, Nand::new(&spec, 0))
}

#[test]
fn a_block_collected_over_the_drive_is_striped_over_all_planes() {
    let time = |over_drive| {
        let (mut map, mut nand) = twenty_planes(over_drive);
        write(&mut map, &mut nand, 0);
        assert_eq!(nand.chips.counts.programs[Cause::Collect as usize], 122);
        assert_eq!(nand.chips.counts.erases[Cause::Collect as usize], 1);
        settle(&mut nand);
        map.check();
        let moved: Vec<u32> = map.planes.iter().map(|p| p.collect.next % 128).collect();
        (moved, nand.now())
    };
    let (moved, over_drive) = time(true);
    assert!(moved.iter().all(|n| (6..=7).contains(n)), "{moved:?}");
    let (moved, local) = time(false);
    assert_eq!(moved.iter().sum::<u32>(), 122, "{moved:?}");
    assert_eq!(moved.iter().max(), Some(&122), "{moved:?}");
    // What is left is the reads: all from one plane, over one bus.
    assert!(over_drive * 3 < local, "{over_drive} over the drive, {local} in the plane");
}

#[test]
fn spread_over_the_drive_is_never_urgent_under_random_writes() {
    let big = NandSpec { blocks_per_plane: 100, pages_per_block: 64, ..nand() };
    let logical = 4 * 90 * 64;
    let amplification = |over_drive| {
        let mut spec = greedy();
        spec.collection.copy = CopyPath::Controller;
        spec.collection.over_drive = over_drive;
        let mut map = PageMap::new(&big, spec, logical, 1, true);
        let mut nand = Nand::new(&big, 0);
        for step in 0..200_000_u64 {
            write(&mut map, &mut nand, (mix(step) % u64::from(logical)) as u32);
        }
        assert_eq!(map.tables.urgent, 0);
        map.check();
        nand.chips.counts.programmed() as f64 / 200_000.0
    };
    let (local, drive) = (amplification(false), amplification(true));
    assert!((drive / local - 1.0).abs() < 0.05, "{local} in the plane, {drive} over the drive");
}

#[test]
fn the_last_free_block_and_what_is_open_without_one_are_the_collectors() {
    let mut plane = PlaneTable::new(0, &nand(), greedy());
    let room = |plane: &PlaneTable| {
        let of = |frontier, shared| plane.has_room(frontier, shared, 0);
        [of(Frontier::Host, false), of(Frontier::Collect, false), of(Frontier::Host, true)]
    };
    let half = Open { block: 0, next: 4, end: 8 };
    while plane.free.len() > 1 {
        plane.free.take();
    }
    assert_eq!(room(&plane), [false; 3], "nobody opens the last block");
    (plane.host, plane.collect) = (half, half);
    assert_eq!(room(&plane), [true; 3], "it is there for what is left");
    plane.free.take();
    assert_eq!(room(&plane), [true, false, false], "half a block is all there is");
}

/// One plane that saves its map after every sixteen pages, collects whole blocks with fewer than
/// five free, and has just run down to four: eight pages were written again and again, so that what
/// it may empty holds nothing.
fn run_down() -> (PageMap, Nand) {
    let nand_spec = NandSpec { channels: 1, dies_per_channel: 1, ..nand() };
    let collection = CollectionSpec {
        reserve_blocks: 5,
        pace: Pace::WholeBlock,
        frontiers: Frontiers::One,
        ..greedy().collection
    };
    let save_map_every = Some(Bytes(16 * 4096));
    let spec = PageMapSpec { collection, save_map_every, ..greedy() };
    let (mut map, mut nand) =
        (PageMap::new(&nand_spec, spec, 50, 0, false), Nand::new(&nand_spec, 0));
    for page in (0..8).cycle() {
        write(&mut map, &mut nand, page);
        settle(&mut nand);
        if map.planes[0].free.len() == 4 {
            break;
        }
    }
    assert_eq!(nand.chips.counts.erases, [0; Cause::COUNT]);
    (map, nand)
}

/// How long it takes until a page for `cause` is in the cells.
fn time_to_put(map: &mut PageMap, nand: &mut Nand, page: u32, cause: Cause) -> Nanos {
    let begin = nand.now();
    let page = Lpn(page);
    map.put(nand, page, cause, Token::new(Waiter::Request(0), page), &[]);
    let mut flash_events = Vec::new();
    while let Some((queue, slot)) = nand.chips.events.pop(Nanos::NEVER) {
        nand.on_event(queue, slot, &mut flash_events);
        if flash_events.iter().any(|event| matches!(event, FlashEvent::Programmed(..))) {
            return nand.now() - begin;
        }
    }
    panic!("it is programmed");
}

#[test]
fn a_page_of_the_map_takes_from_the_reserve_down_to_the_collectors_block() {
    let at_once = Nanos(100_000 + 900);
    let (mut map, mut nand) = run_down();
    // The host's page waits for the erase of an emptied block.
    let waits = Nanos(3000) + at_once;
    assert_eq!(time_to_put(&mut map, &mut nand, 9, Cause::Host), waits);

    let (mut map, mut nand) = run_down();
    let first = 50;
    let mut erased = Vec::new();
    for _ in 0..40 {
        let free = map.planes[0].free.len();
        let took = time_to_put(&mut map, &mut nand, first, Cause::Map);
        settle(&mut nand);
        match took == at_once {
            true => assert!(free >= 2, "with {free} free blocks it must collect"),
            false => erased.push((free, took)),
        }
        map.check();
    }
    // It is the last free block that makes it collect, before the page: not the reserve.
    assert!(erased.iter().all(|collected| *collected == (1, waits)), "{erased:?}");
    assert!(erased.len() > 1, "in the time of five blocks");
    // The host's next page, which finds as many free, collects up to two, and one each from there.
    let free = map.planes[0].free.len();
    assert!(free < 5);
    assert_eq!(time_to_put(&mut map, &mut nand, 9, Cause::Host), waits);
    assert_eq!(map.planes[0].free.len(), free + 1);
}

#[test]
fn the_map_is_saved_with_the_page_that_makes_it_due() {
    let (mut map, mut nand) = run_down();
    for page in 0..48 {
        write(&mut map, &mut nand, page % 8);
        let due = map.checkpoint_if_due(&mut nand);
        settle(&mut nand);
        assert_eq!(due, u32::from(page % 16 == 15), "page {page}");
    }
    assert_eq!(nand.chips.counts.programs[Cause::Map as usize], 3, "all entries are in one page");
    map.check();
}
