//! A state that was built against the same state written.

//!
//! Sequential writes have an exact twin: a filled drive, `tests.rs`.

#![allow(clippy::print_stdout)]

use super::tests::{any_collection, pick, small, torture_on};
use super::twin::RandomWrites;
use super::*;
use crate::nand::NOBODY;
use assay_spec::device::{CopyPath, EraseTime, Pace, PlaneMode, VictimSpec};
use assay_spec::{Bytes, Nanos};

fn nand(planes: u32, blocks: u32, pages: u32) -> NandSpec {
    NandSpec {
        channels: planes,
        dies_per_channel: 1,
        planes_per_die: 1,
        plane_mode: PlaneMode::Independent,
        blocks_per_plane: blocks,
        pages_per_block: pages,
        page: Bytes(4096),
        read: Nanos(1),
        program: Nanos(1),
        program_slow: Nanos(1),
        erase: Nanos(1),
        bus: Bytes(4_096_000_000_000),
        cache_register: false,
        pages_per_program: 1,
        slc: None,
    }
}

fn spec(victim: VictimSpec, allocation: Allocation, pace: Pace) -> PageMapSpec {
    PageMapSpec {
        allocation,
        collection: CollectionSpec {
            victim,
            reserve_blocks: 2,
            pace,
            frontiers: Frontiers::One,
            copy: CopyPath::CopyBack,
            over_drive: false,
            erase: EraseTime::AtOnce,
            background: None,
        },
        wear: WearSpec::None,
        save_map_every: None,
        power_fail_safe: false,
        slc: None,
    }
}

/// Writes after `history`; returns pages programmed a page written.
fn write(
    map: &mut PageMap,
    nand: &mut Nand,
    history: RandomWrites,
    pages: u32,
    steps: std::ops::Range<u64>,
) -> f64 {
    nand.mark();
    let count = steps.end - steps.start;
    let mut notices = Vec::new();
    for step in steps {
        let page = history.page(step, pages);
        map.write(nand, page, &(page..page + 1), NOBODY);
        while let Some((queue, slot)) = nand.events.pop(Nanos::NEVER) {
            nand.happen(queue, slot, &mut notices);
        }
        notices.clear();
    }
    nand.counts.programmed() as f64 / count as f64
}

/// Valid pages of the closed blocks, sorted.
fn valid(map: &PageMap) -> Vec<u32> {
    let t = &map.tables;
    let closed = (0..t.blocks.stale.len()).filter(|b| t.blocks.closed[*b] != 0);
    let mut all: Vec<u32> =
        closed.map(|b| t.pages_per_block - u32::from(t.blocks.stale[b])).collect();
    all.sort_unstable();
    all
}

/// The largest distance between two distributions.
fn distance(a: &[u32], b: &[u32]) -> f64 {
    let below = |all: &[u32], x: u32| all.partition_point(|y| *y <= x) as f64 / all.len() as f64;
    a.iter().chain(b).map(|x| (below(a, *x) - below(b, *x)).abs()).fold(0.0, f64::max)
}

/// How many pages lie on the plane of the one before.
fn together(map: &PageMap) -> f64 {
    let planes: Vec<u32> = map.tables.forward.iter().map(|p| map.tables.plane_of(*p)).collect();
    let pairs = planes.windows(2).filter(|pair| pair[0] == pair[1]);
    pairs.count() as f64 / planes.len() as f64
}

/// A drive that is built and one that is written: their blocks, and what they do next. It has four
/// times the blocks of its twin.
fn compare(
    victim: VictimSpec,
    allocation: Allocation,
    pace: Pace,
    frontiers: Frontiers,
    spare: f64,
    history: RandomWrites,
) {
    let mut spec = spec(victim, allocation, pace);
    spec.collection.frontiers = frontiers;
    compare_on(&nand(4, 2048, 64), spec, spare, history);
}

fn compare_on(nand_spec: &NandSpec, spec: PageMapSpec, spare: f64, history: RandomWrites) {
    let pages = (nand_spec.pages() as f64 / (1.0 + spare)) as u32;
    let mut built = PageMap::steady(nand_spec, spec, pages, 0, history);
    built.check();
    let mut written = PageMap::new(nand_spec, spec, pages, 0, true);
    let mut nand = Nand::new(nand_spec, 0);
    let past = 10 * u64::from(pages);
    write(&mut written, &mut nand, history, pages, 0..past);
    let off = distance(&valid(&built), &valid(&written));
    let neighbours = together(&built) - together(&written);
    let mut fresh = Nand::new(nand_spec, 0);
    // Of large blocks it takes some to say anything.
    let soon = past..past + u64::from((pages / 50).max(50 * nand_spec.pages_per_block));
    let later = soon.end..past + 1_000_000;
    let mut ratio = |steps: std::ops::Range<u64>| {
        let its = write(&mut built, &mut fresh, history, pages, steps.clone());
        its / write(&mut written, &mut nand, history, pages, steps)
    };
    let (soon, later) = (ratio(soon), ratio(later));
    built.check();
    let PageMapSpec { allocation, collection, .. } = spec;
    let what = format!("{} planes, {allocation:?}, {collection:?}, {spare}", nand_spec.planes());
    let said = format!(
        "{what}: distance {off:.4}, write amplification {soon:.4}, {later:.4}, \
         neighbours {neighbours:.4}"
    );
    println!("{said}");
    assert!(neighbours.abs() < 0.02, "{said}");
    let usual =
        0.02_f64.max(1.0 / f64::from(nand_spec.planes() * nand_spec.blocks_per_plane).sqrt());
    assert!(off < usual && (soon - 1.0).abs() < 0.04 && (later - 1.0).abs() < 0.005, "{said}");
}

#[test]
fn after_uniform_writes_built_is_as_written() {
    let uniform = RandomWrites::UNIFORM;
    let (fixed, anywhere) = (Allocation::Static, Allocation::Dynamic);
    let (spread, whole) = (Pace::Spread, Pace::WholeBlock);
    let (one, two) = (Frontiers::One, Frontiers::Two);
    let random = VictimSpec::RandomGreedy { choices: 4 };
    compare(VictimSpec::Greedy, anywhere, spread, one, 0.28, uniform);
    compare(VictimSpec::Greedy, fixed, whole, two, 0.12, uniform);
    compare(VictimSpec::Fifo, anywhere, spread, two, 0.28, uniform);
    compare(random, fixed, spread, one, 0.2, uniform);
}

/// Planes that are no multiple of the twin's; large blocks, of which the twin has the fewest; pages
/// that leave their plane.
#[test]
fn of_any_shape_built_is_as_written() {
    let (uniform, hot) = (RandomWrites::UNIFORM, RandomWrites { hot: 0.2, heat: 0.8 });
    let (fixed, anywhere) = (Allocation::Static, Allocation::Dynamic);
    let greedy = |allocation| spec(VictimSpec::Greedy, allocation, Pace::Spread);
    compare_on(&nand(6, 1024, 64), greedy(fixed), 0.15, hot);
    compare_on(&nand(7, 1024, 64), greedy(anywhere), 0.1, uniform);
    compare_on(&nand(3, 400, 512), greedy(anywhere), 0.2, uniform);
    let mut leaving = greedy(anywhere);
    (leaving.collection.over_drive, leaving.collection.copy) = (true, CopyPath::Controller);
    compare_on(&nand(6, 1024, 64), leaving, 0.2, uniform);
}

#[test]
fn after_hot_and_cold_writes_built_is_as_written() {
    let hot = RandomWrites { hot: 0.2, heat: 0.8 };
    let (fixed, anywhere) = (Allocation::Static, Allocation::Dynamic);
    let (spread, whole) = (Pace::Spread, Pace::WholeBlock);
    let (one, two) = (Frontiers::One, Frontiers::Two);
    compare(VictimSpec::CostBenefit, anywhere, spread, one, 0.28, hot);
    compare(VictimSpec::Greedy, fixed, spread, two, 0.28, hot);
    compare(VictimSpec::Fifo, anywhere, whole, one, 0.28, hot);
}

/// It goes on from the state that random writes lead to as from any other.
#[test]
fn random_work_goes_on_from_a_steady_state() {
    let mut seen = 0;
    for seed in 0..160_u64 {
        let pick = |n, salt| pick(seed, n, salt);
        let mut spec = any_collection(seed);
        spec.power_fail_safe = pick(3, 14) == 0;
        let nand_spec = NandSpec {
            blocks_per_plane: 40 + pick(100, 9) as u32,
            pages_per_block: [4, 8, 7, 65][pick(4, 10)],
            channels: 1 + pick(6, 15) as u32,
            dies_per_channel: 1,
            planes_per_die: 1,
            ..small::nand()
        };
        // Up to the fullest drive that has such a state, and beyond, where it is refused.
        let room = nand_spec.blocks_per_plane - spec.collection.reserve_blocks.max(3) - 1;
        let most = nand_spec.planes() * (room * nand_spec.pages_per_block - 1);
        let logical = most - [0, most / 40, most / 25, most / 7, most / 3][pick(5, 11)];
        if twin::Shape::of(&nand_spec, &spec, logical).is_err() {
            continue;
        }
        seen += 1;
        let history = RandomWrites { hot: 0.3, heat: [0.3, 0.8][pick(2, 16)] };
        let map = PageMap::steady(&nand_spec, spec, logical, seed, history);
        torture_on(map, &nand_spec, true, logical, seed, 4000);
    }
    assert!(seen > 80, "{seen}");
}
