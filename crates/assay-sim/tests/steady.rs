//! A drive that is built as random writes leave it, against one that was written: how long its next
//! million requests take.

#![allow(clippy::print_stdout)]

mod small;

use assay_sim::{Closed, Drive, InitialState, RandomWrites, build, can_be_steady};
use assay_spec::decode::Source;
use assay_spec::device::{DeviceKind, DeviceSpec, FtlSpec, LogOpens, Logs, Pace};
use assay_spec::seed::mix;
use assay_spec::{Bytes, Op, Request};
use small::small;

/// A drive and the loop that keeps it busy.
struct Bed {
    drive: Box<dyn Drive + Send>,
    closed: Closed,
    page: Bytes,
    pages: u64,
}

impl Bed {
    fn new(spec: &DeviceSpec, past: InitialState) -> Bed {
        let DeviceKind::Ssd(ssd) = &spec.kind else { panic!("flash") };
        let page = ssd.nand.page;
        let closed = Closed::new((spec.link.queue_depth as usize).min(32));
        Bed { drive: build(spec, past), closed, page, pages: spec.capacity.0 / page.0 }
    }
}

/// The mean latency of reading the drive's first pages in order.
fn in_order(bed: &mut Bed) -> f64 {
    let page = bed.page;
    let read =
        |i: u64| Request { tag: 0, op: Op::Read, offset: page * i, length: page, fua: false };
    let (mut sum, count) = (0, 200_000);
    bed.closed.run(&mut *bed.drive, count, read, |latency| sum += latency.0);
    sum as f64 / count as f64
}

/// The latencies of so many random requests, sorted, and what the drive programmed a page written.
fn measured(bed: &mut Bed, reads: u64, steps: std::ops::Range<u64>) -> (Vec<u64>, f64) {
    measured_of(RandomWrites::UNIFORM, bed, reads, steps)
}

/// The same where pages are as hot as in `kind`.
fn measured_of(
    kind: RandomWrites,
    bed: &mut Bed,
    reads: u64,
    steps: std::ops::Range<u64>,
) -> (Vec<u64>, f64) {
    let mut latencies = Vec::new();
    let (pages, length) = (bed.pages, bed.page);
    let below = |random: u64, n: u64| ((u128::from(random) * u128::from(n)) >> 64) as u64;
    let hot = (pages as f64 * kind.hot) as u64;
    let is_hot = |i: u64| mix(3 * i + 2) < (kind.heat * u64::MAX as f64) as u64;
    let page = |i: u64| match is_hot(i) {
        _ if kind == RandomWrites::UNIFORM => below(mix(2 * i), pages),
        true => below(mix(2 * i), hot),
        false => hot + below(mix(2 * i), pages - hot),
    };
    let op = |i: u64| if mix(2 * i + 1) % 100 < reads { Op::Read } else { Op::Write };
    let request = |i: u64| {
        let i = steps.start + i;
        Request { tag: 0, op: op(i), offset: length * page(i), length, fua: false }
    };
    bed.drive.mark();
    let count = steps.end - steps.start;
    bed.closed.run(&mut *bed.drive, count, request, |latency| latencies.push(latency.0));
    latencies.sort_unstable();
    let told = bed.drive.counters();
    let wa = told.iter().find(|(name, _)| name == "wa").map_or(f64::NAN, |(_, v)| *v);
    (latencies, wa)
}

fn distance(a: &[u64], b: &[u64]) -> f64 {
    let below = |all: &[u64], x: u64| all.partition_point(|y| *y <= x) as f64 / all.len() as f64;
    a.iter().step_by(97).map(|x| (below(a, *x) - below(b, *x)).abs()).fold(0.0, f64::max)
}

/// A drive that has been written `past` pages at random, and one that is built: its next `count`
/// requests. What so many take differs from one time to the next: half as much again the two may be
/// apart.
fn compare(spec: &DeviceSpec, reads: u64, past: u64, count: u64) {
    compare_within(1.5, RandomWrites::UNIFORM, spec, reads, past, count);
}

fn compare_within(
    times: f64,
    kind: RandomWrites,
    spec: &DeviceSpec,
    reads: u64,
    past: u64,
    count: u64,
) {
    let mut written = Bed::new(spec, InitialState::Filled);
    measured_of(kind, &mut written, 0, 0..past);
    let mut built = Bed::new(spec, InitialState::Steady(kind));
    built.drive.check();
    let (its, its_wa) = measured_of(kind, &mut built, reads, past..past + count);
    built.drive.check();
    let next = |i: u64| past + i * count..past + (i + 1) * count;
    let own: Vec<(Vec<u64>, f64)> =
        (0..4).map(|i| measured_of(kind, &mut written, reads, next(i))).collect();
    let (first, wa) = &own[0];
    let off = distance(&its, first);
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let pairs = pairs.map(|(i, j): (usize, usize)| (&own[i].0, &own[j].0));
    let usual = pairs.iter().map(|(a, b)| distance(a, b)).fold(0.0, f64::max);
    // So does their mean, if by more than a hundredth.
    let mean = |all: &[u64]| all.iter().sum::<u64>() as f64 / all.len() as f64;
    let (time, ratio) = (mean(&its) / mean(first), its_wa / wa);
    let usually = pairs.iter().map(|(a, b)| (mean(a) / mean(b) - 1.0).abs()).fold(0.0, f64::max);
    let said = format!(
        "{}, {reads} % reads: distance {off:.4}, of the written one's own {usual:.4}; mean latency \
         {time:.4} ({usually:.4}), write amplification {ratio:.4} of the written one's {wa:.2}",
        spec.name
    );
    println!("{said}");
    assert!(off < times * usual && (ratio - 1.0).abs() < times / 300.0, "{said}");
    assert!((time - 1.0).abs() <= times * usually.max(0.01), "{said}");
}

#[test]
fn the_next_million_requests_take_as_long() {
    for (name, reads) in [("reference-28", 0), ("reference-28", 70), ("reference-7", 0)] {
        let spec = small(name);
        compare(&spec, reads, 8 * spec.capacity.0 / 4096, 1_000_000);
    }
    let mut spec = small("reference-28");
    let DeviceKind::Ssd(ssd) = &mut spec.kind else { panic!("flash") };
    let FtlSpec::Page(map) = &mut ssd.ftl else { panic!("maps pages") };
    map.power_fail_safe = true;
    compare(&spec, 30, 8 * spec.capacity.0 / 4096, 1_000_000);
}

/// Four of five requests go to a fifth of the pages, before and after.
#[test]
fn the_next_hot_and_cold_requests_take_as_long() {
    let kind = RandomWrites { hot: 0.2, heat: 0.8, seed: 0 };
    for (name, reads) in [("reference-28", 0), ("reference-28", 70), ("reference-7", 0)] {
        let spec = small(name);
        compare_within(1.5, kind, &spec, reads, 24 * spec.capacity.0 / 4096, 1_000_000);
    }
}

/// Of many planes none has a block half emptied when it is built, which shows for a while.
#[test]
fn the_next_requests_of_many_planes_take_as_long() {
    let mut spec = small("reference-28");
    let DeviceKind::Ssd(ssd) = &mut spec.kind else { panic!("flash") };
    (ssd.nand.channels, ssd.nand.dies_per_channel) = (8, 4);
    (ssd.nand.blocks_per_plane, ssd.nand.pages_per_block) = (256, 128);
    spec.capacity = ssd.nand.page * (ssd.nand.pages() * 17 / 20);
    let pages = spec.capacity.0 / 4096;
    compare_within(3.0, RandomWrites::UNIFORM, &spec, 0, 5 * pages, 1_000_000);
}

/// Compares drives of today, given with the share of reads in percent, as `compare` does.
fn compare_drives(drives: &[(&str, u64)]) {
    for (name, reads) in drives {
        let spec = small(name);
        let DeviceKind::Ssd(ssd) = &spec.kind else { panic!("flash") };
        compare(&spec, *reads, 8 * spec.capacity.0 / ssd.nand.page.0, 1_000_000);
    }
}

/// A cache of one bit a cell, and programs of several pages.
#[test]
fn on_a_drive_of_today_they_do_too() {
    compare_drives(&[("samsung-980-pro-250", 70)]);
}

/// Units of 16 KiB, and buffers that survive power cuts.
#[test]
#[ignore = "takes minutes"]
fn on_other_drives_of_today_they_do_too() {
    compare_drives(&[
        ("samsung-980-pro-250", 0),
        ("samsung-870-evo-250", 0),
        ("samsung-pm983", 30),
        ("solidigm-p5336", 30),
    ]);
}

/// Where blocks are emptied one after the other until enough are free, the cache is used, and the
/// chips know which blocks are in it.
#[test]
fn pages_in_the_cache_are_read_faster() {
    let mut spec = small("samsung-980-pro-250");
    let DeviceKind::Ssd(ssd) = &mut spec.kind else { panic!("flash") };
    let FtlSpec::Page(map) = &mut ssd.ftl else { panic!("maps pages") };
    map.collection.pace = Pace::WholeBlock;
    let difference = (ssd.nand.read - ssd.nand.slc.expect("it has a cache").read).0;
    ssd.readahead = None;
    let mut bed = Bed::new(&spec, InitialState::Steady(RandomWrites::UNIFORM));
    bed.closed = Closed::new(1);
    let (latencies, _) = measured(&mut bed, 100, 0..2_000);
    let slowest = latencies[latencies.len() - 1];
    let fast = latencies.iter().filter(|latency| **latency <= slowest - difference).count();
    println!("{fast} of {} are faster by {difference} ns than {slowest}", latencies.len());
    assert!(fast > 0 && fast < latencies.len() / 4, "{fast}");
}

/// Some times as many writes as it takes to merge every log.
#[test]
fn what_logs_hold_takes_as_long() {
    for (name, reads) in [("ssd-l", 0), ("ssd-l", 70), ("ts32gssd25s", 0), ("mtron-mobi-16", 30)] {
        compare(&small(name), reads, 20_000, 20_000);
    }
    // Logs as papers have them, those that all share on each plane for itself.
    for (logs, width) in [(Logs::Switched, None), (Logs::Shared, Some(1))] {
        let mut spec = small("ssd-l");
        let DeviceKind::Ssd(ssd) = &mut spec.kind else { panic!("flash") };
        let FtlSpec::Hybrid(hybrid) = &mut ssd.ftl else { panic!("has logs") };
        (hybrid.logs, hybrid.width, hybrid.log_superblocks) = (logs, width, 8);
        (hybrid.blocks_per_log, hybrid.merge_together) = (1, 1);
        (hybrid.log_opens, hybrid.unit) = (LogOpens::Empty, ssd.nand.page);
        compare(&spec, 30, 60_000, 60_000);
    }
}

/// A block that is one too many for the cache is not the open one.
#[test]
fn what_is_open_in_the_cache_is_programmed_as_that() {
    for seed in 0..12 {
        let mut spec = small("samsung-980-pro-250");
        let DeviceKind::Ssd(ssd) = &mut spec.kind else { panic!("flash") };
        (ssd.nand.blocks_per_plane, ssd.nand.pages_per_block) = (8192, 24);
        let pages = ssd.nand.pages() * 17 / 20;
        let page = ssd.nand.page;
        let FtlSpec::Page(map) = &mut ssd.ftl else { panic!("maps pages") };
        (map.collection.pace, map.collection.reserve_blocks) = (Pace::WholeBlock, 2);
        map.power_fail_safe = false;
        let slc = map.slc.as_mut().expect("it has a cache");
        (slc.size, slc.fixed) = (page * (8 * 4), page * (8 * 4));
        spec.capacity = page * pages;
        let mut bed =
            Bed::new(&spec, InitialState::Steady(RandomWrites::UNIFORM.seeded(mix(seed))));
        measured(&mut bed, 0, 0..4_000);
        bed.drive.check();
    }
}

/// Drives with room for hardly anything have such a state, too.
#[test]
fn a_page_can_be_all_there_is() {
    for pages in [1, 2, 255, 257] {
        let mut spec = small("ssd-l");
        let DeviceKind::Ssd(ssd) = &spec.kind else { panic!("flash") };
        spec.capacity = ssd.nand.page * pages;
        let mut bed = Bed::new(&spec, InitialState::Steady(RandomWrites::UNIFORM));
        bed.drive.check();
        measured(&mut bed, 50, 0..200);
        bed.drive.check();
    }
}

/// What was written in order is as it is built, but for the last superblock.
#[test]
fn what_was_written_in_order_takes_as_long() {
    for name in ["ssd-l", "mtron-mobi-16"] {
        let spec = small(name);
        let mut written = Bed::new(&spec, InitialState::Filled);
        let (page, pages) = (written.page, written.pages);
        let write = |i: u64| {
            let offset = page * (i % pages);
            Request { tag: 0, op: Op::Write, offset, length: page, fua: false }
        };
        written.closed.run(&mut *written.drive, 2 * pages, write, |_| ());
        let mut built = Bed::new(&spec, InitialState::Filled);
        let [its, own] = [&mut built, &mut written].map(|bed| measured(bed, 50, 0..10_000));
        assert!(distance(&its.0, &own.0) < 0.001 && (its.1 / own.1 - 1.0).abs() < 0.001);
    }
}

/// What was written at random lies at random: neighbours are on any plane.
#[test]
fn reading_in_order_takes_as_long() {
    let spec = small("reference-28");
    let mut written = Bed::new(&spec, InitialState::Filled);
    let before = in_order(&mut written);
    let past = 4 * written.pages;
    measured(&mut written, 0, 0..past);
    let mut built = Bed::new(&spec, InitialState::Steady(RandomWrites::UNIFORM));
    // First, what was written last is still on its way.
    in_order(&mut written);
    let (its, mean) = (in_order(&mut built), in_order(&mut written));
    let said = format!("{before:.0} ns filled, {mean:.0} written, {its:.0} built");
    println!("{said}");
    assert!(mean > 1.03 * before && (its / mean - 1.0).abs() < 0.01, "{said}");
}

/// All that drives of today add, a cache of one bit a cell, programs of several pages, a saved map,
/// power cuts, goes on from there.
#[test]
fn every_drive_goes_on() {
    let mut seen = 0;
    for bundled in assay_spec::catalog::DEVICES {
        let source = Source { file: bundled.file, text: bundled.text };
        let mut spec = DeviceSpec::parse(source).unwrap();
        let DeviceKind::Ssd(ssd) = &mut spec.kind else { continue };
        // A part of each: the whole of some is gibibytes of maps.
        let blocks = ssd.nand.blocks_per_plane;
        ssd.nand.blocks_per_plane = blocks.min(384);
        let share = f64::from(ssd.nand.blocks_per_plane) / f64::from(blocks) * 0.97;
        if let FtlSpec::Hybrid(hybrid) = &mut ssd.ftl {
            hybrid.log_superblocks = hybrid.log_superblocks.min(6);
        }
        let page = ssd.nand.page.0;
        // Most writes to logs are merges.
        let count = if matches!(ssd.ftl, FtlSpec::Hybrid(_)) { 2_000 } else { 20_000 };
        spec.capacity = Bytes((spec.capacity.0 as f64 * share) as u64 / page * page);
        if can_be_steady(&spec).is_err() {
            continue;
        }
        seen += 1;
        for past in [RandomWrites::UNIFORM, RandomWrites { hot: 0.1, heat: 0.9, seed: 7 }] {
            let mut drive = build(&spec, InitialState::Steady(past));
            drive.check();
            let pages = spec.capacity.0 / page;
            let request = |i: u64| {
                let at = (u128::from(mix(i)) * u128::from(pages)) >> 64;
                let op = if mix(!i).is_multiple_of(3) { Op::Read } else { Op::Write };
                Request {
                    tag: 0,
                    op,
                    offset: Bytes(at as u64 * page),
                    length: Bytes(page),
                    fua: false,
                }
            };
            let mut closed = Closed::new((spec.link.queue_depth as usize).min(32));
            closed.run(&mut *drive, count, request, |_| ());
            drive.check();
        }
    }
    assert!(seen >= 13, "{seen} drives");
}
