//! A state that was built against the same state written.
//!
//! Sequential writes have an exact twin: a filled drive, `tests.rs`.

#![allow(clippy::print_stdout)]

use super::steady::steady_map;
use super::tests::{any_collection, pick, small, torture_on};
use super::theory::{nand, spec};
use crate::ftl::Ftl;

use super::*;
use crate::ftl::history::{FtlHarness, RandomWrites, distance};
use assay_spec::device::{CopyPath, Frontiers, Pace, SlcCacheSpec, SlcSpec, VictimSpec};
use assay_spec::{Bytes, Nanos};

const HOT: RandomWrites = RandomWrites { hot: 0.2, heat: 0.8, seed: 0 };

/// Valid pages of the closed blocks, sorted.
fn valid(map: &PageMap) -> Vec<u32> {
    let t = &map.tables;
    let closed = (0..t.blocks.stale.len()).filter(|b| t.blocks.closed[*b] != 0);
    let mut all: Vec<u32> =
        closed.map(|b| t.pages_per_block - u32::from(t.blocks.stale[b])).collect();
    all.sort_unstable();
    all
}

/// How many pages lie on the plane of the one before.
fn together(map: &PageMap) -> f64 {
    let planes: Vec<u32> = map.tables.l2p.iter().map(|p| map.tables.plane_of(*p)).collect();
    let pairs = planes.windows(2).filter(|pair| pair[0] == pair[1]);
    pairs.count() as f64 / planes.len() as f64
}

/// A drive that is built and one that is written: their blocks, and what they do next.
fn compare(nand: &NandSpec, spec: PageMapSpec, spare: f64, writes: RandomWrites) {
    let pages = (nand.pages() as f64 / (1.0 + spare)) as u32;
    let map = PageMap::new(nand, spec, pages, 0, true);
    let harness = |map| match spec.power_fail_safe {
        true => FtlHarness::new(map, nand, pages, writes).keeping_replaced(),
        false => FtlHarness::new(map, nand, pages, writes),
    };
    let mut written = harness(map);
    written.write(10 * u64::from(pages));
    // Another history of the kind.
    let map = steady_map(nand, spec, pages, 0, writes.seeded(9));
    map.check();
    let mut built = harness(map);
    built.step = written.step;
    let off = distance(&valid(&built.map), &valid(&written.map));
    let neighbours = together(&built.map) - together(&written.map);
    // Of large blocks it takes some to say anything.
    let soon = u64::from((pages / 50).max(50 * nand.pages_per_block));
    let mut ratio = |count| built.write(count) / written.write(count);
    let (soon, later) = (ratio(soon), ratio(1_000_000 - soon));
    built.map.check();
    let PageMapSpec { allocation, collection, .. } = spec;
    let said = format!(
        "{} planes, {allocation:?}, {collection:?}, {spare}: distance {off:.4}, \
         write amplification {soon:.4}, {later:.4}, neighbours {neighbours:.4}",
        nand.planes()
    );
    println!("{said}");
    assert!(neighbours.abs() < 0.02, "{said}");
    let usual = 0.02_f64.max(1.0 / f64::from(nand.planes() * nand.blocks_per_plane).sqrt());
    assert!(off < usual && (soon - 1.0).abs() < 0.04 && (later - 1.0).abs() < 0.005, "{said}");
}

/// Such victims, with these policies besides.
fn with(victim: VictimSpec, changes: &[fn(&mut PageMapSpec)]) -> PageMapSpec {
    let mut spec = spec(victim);
    changes.iter().for_each(|change| change(&mut spec));
    spec
}

fn fixed(spec: &mut PageMapSpec) {
    spec.allocation = Allocation::Static;
}

fn spread(spec: &mut PageMapSpec) {
    spec.collection.pace = Pace::Spread;
}

fn apart(spec: &mut PageMapSpec) {
    spec.collection.frontiers = Frontiers::Two;
}

/// Four times the blocks of the twin.
#[test]
fn after_uniform_writes_built_is_as_written() {
    let (nand, uniform) = (nand(4, 2048, 64), RandomWrites::UNIFORM);
    let random = VictimSpec::RandomGreedy { choices: 4 };
    compare(&nand, with(VictimSpec::Greedy, &[spread]), 0.28, uniform);
    compare(&nand, with(VictimSpec::Greedy, &[fixed, apart]), 0.12, uniform);
    compare(&nand, with(VictimSpec::Fifo, &[spread, apart]), 0.28, uniform);
    compare(&nand, with(random, &[fixed, spread]), 0.2, uniform);
}

#[test]
fn after_hot_and_cold_writes_built_is_as_written() {
    let nand = nand(4, 2048, 64);
    compare(&nand, with(VictimSpec::CostBenefit, &[spread]), 0.28, HOT);
    compare(&nand, with(VictimSpec::Greedy, &[fixed, spread, apart]), 0.28, HOT);
    compare(&nand, spec(VictimSpec::Fifo), 0.28, HOT);
}

/// Planes that are no multiple of the twin's; large blocks, of which the twin has the fewest; pages
/// that leave their plane.
#[test]
fn of_any_shape_built_is_as_written() {
    let uniform = RandomWrites::UNIFORM;
    let greedy = with(VictimSpec::Greedy, &[spread]);
    compare(&nand(6, 1024, 64), with(VictimSpec::Greedy, &[fixed, spread]), 0.15, HOT);
    compare(&nand(7, 1024, 64), greedy, 0.1, uniform);
    compare(&nand(3, 400, 512), greedy, 0.2, uniform);
    let mut leaving = greedy;
    (leaving.collection.over_drive, leaving.collection.copy) = (true, CopyPath::Controller);
    compare(&nand(6, 1024, 64), leaving, 0.2, uniform);
}

/// The map's own pages are written far more often than others, by the host's writes and by moves.
#[test]
fn with_a_part_of_the_map_in_memory_built_is_as_written() {
    let cached = |victim, share: f64| {
        let mut spec = with(victim, &[spread, apart]);
        spec.map_cache = Some(Bytes((share * 4.0 * 2048.0 * 64.0 * 8.0) as u64));
        spec
    };
    let nand = nand(4, 2048, 64);
    compare(&nand, cached(VictimSpec::Greedy, 0.02), 0.28, RandomWrites::UNIFORM);
    compare(&nand, cached(VictimSpec::Greedy, 0.2), 0.15, RandomWrites::UNIFORM);
    compare(&nand, cached(VictimSpec::Greedy, 0.05), 0.28, HOT);
}

/// Pages, and a cache of one bit a cell: so many blocks of a plane at most, and always.
fn cached(nand: &NandSpec, pace: Pace, most: u64, fixed: u64) -> PageMapSpec {
    let size =
        |blocks: u64| nand.page * (blocks * u64::from(nand.pages_per_block / 3 * nand.planes()));
    let mut spec = with(VictimSpec::Greedy, &[apart]);
    spec.collection.pace = pace;
    let fold_after = Nanos::from_secs(1);
    spec.slc = Some(SlcCacheSpec { size: size(most), fixed: size(fixed), fold_after });
    spec
}

fn three_bits(blocks: u32) -> NandSpec {
    let slc = SlcSpec { bits: 3, read: Nanos(1), program: Nanos(1) };
    NandSpec { slc: Some(slc), ..nand(4, blocks, 63) }
}

/// It is not used as long as blocks are emptied for every page written, but for the free block more
/// of a drive that is safe from power cuts.
#[test]
fn with_a_cache_of_one_bit_a_cell_built_is_as_written() {
    let nand = three_bits(2048);
    for (most, fixed, spare, is_safe) in
        [(100, 100, 0.28, false), (400, 0, 0.15, false), (400, 60, 0.28, true)]
    {
        let mut spec = cached(&nand, Pace::Spread, most, fixed);
        spec.power_fail_safe = is_safe;
        compare(&nand, spec, spare, RandomWrites::UNIFORM);
    }
}

/// How far planes are from their share, as a part of what it would be if pages chose their planes.
#[test]
fn planes_hold_as_different_shares() {
    let nand = nand(16, 128, 64);
    let spec = with(VictimSpec::Greedy, &[spread, apart]);
    let pages = (nand.pages() as f64 / 1.28) as u32;
    let map = PageMap::new(&nand, spec, pages, 0, true);
    let mut written = FtlHarness::new(map, &nand, pages, RandomWrites::UNIFORM);
    written.write(4 * u64::from(pages));
    let spread_of = |map: &PageMap| {
        let mean = f64::from(pages) / 16.0;
        let off = map.planes.iter().map(|plane| (f64::from(plane.live) - mean).powi(2));
        off.sum::<f64>() / 16.0 / mean
    };
    let mut sums = [0.0; 2];
    for seed in 0..40 {
        written.write(u64::from(pages) / 2);
        let history = RandomWrites::UNIFORM.seeded(seed);
        let map = steady_map(&nand, spec, pages, 0, history);
        map.check();
        sums[0] += spread_of(&map) / 40.0;
        sums[1] += spread_of(&written.map) / 40.0;
    }
    let [its, own] = sums;
    println!("{its:.3}, written {own:.3}");
    assert!((its / own - 1.0).abs() < 0.25, "{its} and {own}");
}

/// A twin must have blocks with all bits, too, to be written again and again.
#[test]
fn a_drive_that_is_mostly_cache_is_refused() {
    let nand = three_bits(4096);
    let of = |fixed: u32| {
        let spec = cached(&nand, Pace::Spread, u64::from(fixed), u64::from(fixed));
        let pages = nand.planes() * (4096 - fixed) * nand.pages_per_block * 4 / 5;
        scaled_drive::Shape::of(&nand, &spec, pages).map(|_| ())
    };
    assert_eq!(of(2000), Ok(()));
    assert!(of(4030).unwrap_err().contains("cache"));
}

/// Where blocks are emptied one after the other until enough are free, it fills and is emptied in
/// turns: so it is what it is in the mean.
#[test]
fn a_cache_of_one_bit_a_cell_is_as_full_as_it_is_written() {
    // Twice the blocks of the twin.
    let nand = three_bits(1024);
    let spec = cached(&nand, Pace::WholeBlock, 200, 80);
    let pages = (nand.pages() as f64 / 1.28) as u32;
    let mut written = FtlHarness::new(
        PageMap::new(&nand, spec, pages, 0, true),
        &nand,
        pages,
        RandomWrites::UNIFORM,
    );
    written.write(8 * u64::from(pages));
    // Blocks of a plane in the cache, and free ones.
    let mut sums = [[0.0; 2]; 2];
    for seed in 0..30 {
        let history = RandomWrites::UNIFORM.seeded(seed);
        let map = steady_map(&nand, spec, pages, 0, history);
        map.check();
        written.write(7919);
        for (map, sums) in [&map, &written.map].into_iter().zip(&mut sums) {
            let of = |count: fn(&PlaneTable) -> u32| map.planes.iter().map(count).sum::<u32>();
            sums[0] += f64::from(of(|plane| plane.cached)) / 120.0;
            sums[1] += f64::from(of(|plane| plane.free.len() as u32)) / 120.0;
        }
    }
    println!("in the cache and free: {:.2?}, written {:.2?}", sums[0], sums[1]);
    for (its, own) in sums[0].into_iter().zip(sums[1]) {
        assert!(own > 10.0 && (its / own - 1.0).abs() < 0.2, "{its} and {own}");
    }
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
        if scaled_drive::Shape::of(&nand_spec, &spec, logical).is_err() {
            continue;
        }
        seen += 1;
        let heat = [0.3, 0.8][pick(2, 16)];
        let history = RandomWrites { hot: 0.3, heat, seed };
        let map = steady_map(&nand_spec, spec, logical, seed, history);
        torture_on(map, &nand_spec, true, logical, seed, 4000);
    }
    assert!(seen > 80, "{seen}");
}

/// Repeats and members of an array are not the same drive over and over.
#[test]
fn each_seed_is_a_history_of_its_own() {
    let (nand, spec) = (nand(2, 256, 16), spec(VictimSpec::Greedy));
    let pages = (nand.pages() as f64 / 1.2) as u32;
    let of = |seed| {
        let history = RandomWrites::UNIFORM.seeded(seed);
        steady_map(&nand, spec, pages, 0, history).tables.l2p
    };
    let lies_there = |a: &[u32], b: &[u32]| a.iter().zip(b).filter(|(a, b)| a == b).count();
    assert_eq!(of(1), of(1));
    assert!(lies_there(&of(1), &of(2)) < pages as usize / 100);
}
