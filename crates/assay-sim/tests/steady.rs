//! A drive that is built as random writes leave it, against one that was written: how long its next
//! million requests take.

#![allow(clippy::print_stdout)]

use assay_sim::{Closed, Drive, Past, RandomWrites, build, can_be_steady};
use assay_spec::decode::Source;
use assay_spec::device::{DeviceKind, DeviceSpec};
use assay_spec::seed::mix;
use assay_spec::{Bytes, Op, Request};

const PAGE: u64 = 4096;

/// The reference drive with four dies of 128 MiB, or none of it if it maps otherwise.
fn small(name: &str) -> DeviceSpec {
    let bundled = assay_spec::catalog::DEVICES.iter().find(|d| d.name == name).unwrap();
    let source = Source { file: bundled.file, text: bundled.text };
    let mut spec = DeviceSpec::parse(source).unwrap();
    let DeviceKind::Ssd(ssd) = &mut spec.kind else { panic!("flash") };
    let before = ssd.nand.pages();
    (ssd.nand.channels, ssd.nand.dies_per_channel) = (2, 2);
    (ssd.nand.blocks_per_plane, ssd.nand.pages_per_block) = (1024, 64);
    let share = ssd.nand.pages() as f64 / before as f64;
    spec.capacity = Bytes((spec.capacity.0 as f64 / PAGE as f64 * share) as u64 * PAGE);
    spec
}

/// A drive and the loop that keeps it busy.
struct Bed {
    drive: Box<dyn Drive + Send>,
    closed: Closed,
    pages: u64,
}

impl Bed {
    fn new(spec: &DeviceSpec, past: Past) -> Bed {
        let (drive, pages) = (build(spec, past), spec.capacity.0 / PAGE);
        Bed { drive, closed: Closed::new(32), pages }
    }
}

/// The mean latency of reading the drive's first pages in order.
fn in_order(bed: &mut Bed) -> f64 {
    let read = |i: u64| Request {
        tag: 0,
        op: Op::Read,
        offset: Bytes(i * PAGE),
        length: Bytes(PAGE),
        fua: false,
    };
    let (mut sum, count) = (0, 200_000);
    bed.closed.run(&mut *bed.drive, count, read, |latency| sum += latency.0);
    sum as f64 / count as f64
}

/// The latencies of so many random requests, sorted, and what the drive programmed a page written.
fn measured(bed: &mut Bed, reads: u64, steps: std::ops::Range<u64>) -> (Vec<u64>, f64) {
    let mut latencies = Vec::new();
    let pages = bed.pages;
    let page = |i: u64| ((u128::from(mix(2 * i)) * u128::from(pages)) >> 64) as u64;
    let op = |i: u64| if mix(2 * i + 1) % 100 < reads { Op::Read } else { Op::Write };
    let request = |i: u64| {
        let i = steps.start + i;
        Request {
            tag: 0,
            op: op(i),
            offset: Bytes(page(i) * PAGE),
            length: Bytes(PAGE),
            fua: false,
        }
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

/// What a million requests take differs from one million to the next: that is how far apart the two
/// drives may be.
#[test]
fn the_next_million_requests_take_as_long() {
    const MILLION: u64 = 1_000_000;
    for (name, reads) in [("reference-28", 0), ("reference-28", 70), ("reference-7", 0)] {
        let spec = small(name);
        let mut written = Bed::new(&spec, Past::Filled);
        let past = 8 * written.pages;
        measured(&mut written, 0, 0..past);
        let mut built = Bed::new(&spec, Past::Steady(RandomWrites::UNIFORM));
        built.drive.check();
        let (its, its_wa) = measured(&mut built, reads, past..past + MILLION);
        built.drive.check();
        let next = |i: u64| past + i * MILLION..past + (i + 1) * MILLION;
        let own: Vec<(Vec<u64>, f64)> =
            (0..4).map(|i| measured(&mut written, reads, next(i))).collect();
        let (first, wa) = &own[0];
        let off = distance(&its, first);
        let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        let pairs = pairs.map(|(i, j): (usize, usize)| (&own[i].0, &own[j].0));
        let usual = pairs.iter().map(|(a, b)| distance(a, b)).fold(0.0, f64::max);
        // So does their mean, if by more than a hundredth.
        let mean = |all: &[u64]| all.iter().sum::<u64>() as f64 / all.len() as f64;
        let (time, ratio) = (mean(&its) / mean(first), its_wa / wa);
        let usually =
            pairs.iter().map(|(a, b)| (mean(a) / mean(b) - 1.0).abs()).fold(0.0, f64::max);
        let said = format!(
            "{name}, {reads} % reads: distance {off:.4}, of the written one's own millions \
             {usual:.4}; mean latency {time:.4} ({usually:.4}), write amplification {ratio:.4} of \
             the written one's"
        );
        println!("{said}");
        assert!(off < usual, "{said}");
        assert!((time - 1.0).abs() <= usually.max(0.01) && (ratio - 1.0).abs() < 0.005, "{said}");
    }
}

/// What was written at random lies at random: neighbours are on any plane.
#[test]
fn reading_in_order_takes_as_long() {
    let spec = small("reference-28");
    let mut written = Bed::new(&spec, Past::Filled);
    let before = in_order(&mut written);
    let past = 4 * written.pages;
    measured(&mut written, 0, 0..past);
    let mut built = Bed::new(&spec, Past::Steady(RandomWrites::UNIFORM));
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
fn every_drive_that_maps_pages_goes_on() {
    let mut seen = 0;
    for bundled in assay_spec::catalog::DEVICES {
        let source = Source { file: bundled.file, text: bundled.text };
        let mut spec = DeviceSpec::parse(source).unwrap();
        let DeviceKind::Ssd(ssd) = &mut spec.kind else { continue };
        // A part of each: the whole of some is gibibytes of maps.
        let blocks = ssd.nand.blocks_per_plane;
        ssd.nand.blocks_per_plane = blocks.min(384);
        let share = f64::from(ssd.nand.blocks_per_plane) / f64::from(blocks) * 0.97;
        let page = ssd.nand.page.0;
        spec.capacity = Bytes((spec.capacity.0 as f64 * share) as u64 / page * page);
        if can_be_steady(&spec).is_err() {
            continue;
        }
        seen += 1;
        for past in [RandomWrites::UNIFORM, RandomWrites { hot: 0.1, heat: 0.9, seed: 7 }] {
            let mut drive = build(&spec, Past::Steady(past));
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
            closed.run(&mut *drive, 20_000, request, |_| ());
            drive.check();
        }
    }
    assert!(seen >= 8, "{seen} drives");
}
