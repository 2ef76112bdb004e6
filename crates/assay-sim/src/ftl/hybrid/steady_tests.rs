//! Logs as they are built against logs that were written.

#![allow(clippy::print_stdout)]

use super::steady::build_steady;
use super::*;
use crate::ftl::history::{FtlHarness, RandomWrites, distance};
use assay_spec::catalog::{DEVICES, find};
use assay_spec::decode::Source;
use assay_spec::device::{DeviceKind, DeviceSpec, FtlSpec, LogOpens, ProgramTime};
use assay_spec::{Bytes, Nanos};

const UNIFORM: RandomWrites = RandomWrites::UNIFORM;
const HOT: RandomWrites = RandomWrites { hot: 0.05, heat: 0.9, seed: 0 };
/// Superblocks, and pages of each.
const SUPERBLOCKS: u32 = 240;
const PAGES: u32 = 4 * 32;
/// So many drives are built, and so often is the one looked at that is written.
const LOOKS: u64 = 100;

/// Four planes of 256 blocks, and logs of a page a unit.
fn small(change: impl FnOnce(&mut HybridSpec)) -> (NandSpec, HybridSpec) {
    let bundled = find(DEVICES, "ssd-l").unwrap();
    let device = DeviceSpec::parse(Source { file: bundled.file, text: bundled.text }).unwrap();
    let DeviceKind::Ssd(ssd) = device.kind else { panic!("ssd-l is flash") };
    let FtlSpec::Hybrid(mut layer) = ssd.ftl else { panic!("ssd-l has logs") };
    layer.unit = Bytes(4096);
    (layer.blocks_per_log, layer.log_opens, layer.merge_together) = (1, LogOpens::Empty, 1);
    (layer.log_superblocks, layer.stream_after, layer.width) = (12, 0, None);
    change(&mut layer);
    let nand = NandSpec {
        channels: 4,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: 256,
        pages_per_block: 32,
        program: ProgramTime { fast: Nanos(1), ..ssd.nand.program },
        ..ssd.nand
    };
    (nand, layer)
}

/// Valid pages of each block that has fewer than it could, sorted.
fn valid(map: &Hybrid) -> Vec<u32> {
    let mut valid = vec![0; map.erases.len()];
    for page in 0..map.written.len() as u32 {
        let at = map.locate(Lpn(page)).expect("all are written").page;
        valid[(at / map.shape.pages_per_block) as usize] += 1;
    }
    valid.retain(|n| (1..map.shape.pages_per_block).contains(n));
    valid.sort_unstable();
    valid
}

/// Drives that are built, and some that are written and looked at again and again: their blocks,
/// and what they program for so many more writes. How far apart both may be is given.
fn compare(
    writes: RandomWrites,
    (histories, before, count): (u64, u64, u64),
    [blocks, programs]: [f64; 2],
    change: impl FnOnce(&mut HybridSpec),
) {
    let (nand, spec) = small(change);
    let pages = SUPERBLOCKS * PAGES - 1;
    let filled = || Hybrid::new(&nand, spec, pages, true);
    let history = |seed| FtlHarness::new(filled(), &nand, pages, writes.seeded(1000 + seed));
    let mut all: Vec<FtlHarness<Hybrid>> = (0..histories).map(history).collect();
    for written in &mut all {
        written.write(before);
    }
    let (mut its, mut own) = (Vec::new(), Vec::new());
    let mut programmed = [0.0; 2];
    for look in 0..LOOKS {
        let written = &mut all[(look % histories) as usize];
        let map = build_steady(&nand, spec, pages, writes.seeded(look));
        map.check();
        own.extend(valid(&written.map));
        its.extend(valid(&map));
        let mut built = FtlHarness::new(map, &nand, pages, writes);
        programmed[0] += built.write(count / LOOKS);
        programmed[1] += written.write(count / LOOKS);
        built.map.check();
    }
    its.sort_unstable();
    own.sort_unstable();
    let off = distance(&its, &own);
    let (many, ratio) = (its.len() as f64 / own.len() as f64, programmed[0] / programmed[1]);
    let said = format!(
        "{spec:?}, heat {}: distance {off:.4}, {many:.3} times as many blocks that are not full, \
         write amplification {ratio:.4} of the written one's {:.1}",
        writes.heat,
        programmed[1] / LOOKS as f64
    );
    println!("{said}");
    assert!(off < blocks && (many - 1.0).abs() < 2.0 * blocks, "{said}");
    assert!((ratio - 1.0).abs() < programs, "{said}");
}

/// What each superblock has for itself is soon merged.
const OWN: ((u64, u64, u64), [f64; 2]) = ((1, 30_000, 120_000), [0.05, 0.015]);
/// What all share wanders for long.
const SHARED: ((u64, u64, u64), [f64; 2]) = ((10, 300_000, 1_000_000), [0.07, 0.12]);

#[test]
fn logs_are_built_as_they_are_written() {
    let (times, close) = OWN;
    compare(UNIFORM, times, close, |spec| {
        (spec.blocks_per_log, spec.log_superblocks) = (2, 6);
        (spec.log_opens, spec.merge_together) = (LogOpens::InPlace, 3);
    });
    compare(UNIFORM, times, close, |spec| spec.unit = Bytes(4 * 4096));
    compare(HOT, times, close, |spec| spec.logs = Logs::Switched);
    // All that is hot has a log, which is merged when it is full.
    let few = RandomWrites { hot: 0.03, heat: 0.95, seed: 0 };
    compare(few, (1, 60_000, 400_000), close, |_| {});
}

#[test]
fn logs_that_all_share_are_built_as_they_are_written() {
    let (times, close) = SHARED;
    compare(UNIFORM, times, close, |spec| spec.logs = Logs::Shared);
    compare(HOT, times, close, |spec| {
        (spec.logs, spec.width, spec.log_superblocks) = (Logs::Shared, Some(2), 3);
    });
}
