//! The time-lines against an event-by-event simulation of the same drive on the same requests:
//! throughput and median within 2 %, the 99.9th percentile within 10 %, at write amplification 1,
//! 2.5 and 8. Every short cut of the model has to pass here.

#![allow(clippy::print_stdout)]

mod event;

use assay_sim::{Closed, build};
use assay_spec::decode::Source;
use assay_spec::device::DeviceSpec;
use assay_spec::seed::mix;
use assay_spec::{Bytes, Op, Request};
use event::Reference;

const DEPTH: usize = 32;
const PAGE: u64 = 4096;

/// The reference drive of the catalogue, with blocks of its own choice and `spare`.
fn spec(blocks_per_plane: u32, spare: f64) -> DeviceSpec {
    let text = include_str!("../../../devices/reference-28.toml");
    let pages = f64::from(32 * blocks_per_plane * 256) / (1.0 + spare);
    let text = text
        .replace("value = 2048", &format!("value = {blocks_per_plane}"))
        .replace("53687091200B", &format!("{}B", pages as u64 * PAGE));
    DeviceSpec::parse(Source { file: "reference.toml", text: &text }).expect("decodes")
}

/// What is compared.
#[derive(Debug)]
struct Outcome {
    iops: f64,
    median: f64,
    tail: f64,
    wa: f64,
}

fn outcome(mut latencies: Vec<u64>, elapsed: u64, wa: f64) -> Outcome {
    latencies.sort_unstable();
    let at = |q: f64| latencies[((latencies.len() - 1) as f64 * q) as usize] as f64;
    let iops = latencies.len() as f64 / elapsed as f64 * 1e9;
    Outcome { iops, median: at(0.5), tail: at(0.999), wa }
}

/// Ages both drives by the same writes, then runs the same closed loop on both.
fn compare(
    spec: &DeviceSpec,
    aging: u64,
    count: usize,
    ask: impl Fn(u64) -> (bool, u64) + Copy,
) -> (Outcome, Outcome) {
    let request = |i: u64| {
        let (write, page) = ask(i);
        let op = if write { Op::Write } else { Op::Read };
        Request { tag: 0, op, offset: Bytes(page * PAGE), length: Bytes(PAGE), fua: false }
    };
    let mut drive = build(spec, assay_sim::InitialState::Filled);
    let mut closed = Closed::new(DEPTH);
    closed.run(&mut *drive, aging, request, |_| ());
    drive.mark();
    let start = closed.now();
    let mut latencies = Vec::new();
    closed.run(&mut *drive, count as u64, |i| request(aging + i), |l| latencies.push(l.0));
    let wa = drive.counters().into_iter().find(|(n, _)| n == "wa").map_or(0.0, |(_, wa)| wa);
    let ours = outcome(latencies, (closed.now() - start).0, wa);

    let mut reference = Reference::new(spec);
    let aged = |i: u64| (i < aging).then(|| ask(i)).filter(|(write, _)| *write);
    reference.age((0..aging).filter_map(aged).map(|(_, page)| page as u32));
    let plain = |i: usize| {
        let (write, page) = ask(aging + i as u64);
        (write, page as u32)
    };
    // The buffer and the queues fill first, as ours have.
    let warm = count / 10;
    reference.run(DEPTH, warm, plain);
    reference.write_amplification();
    let (latencies, elapsed) = reference.run(DEPTH, count, |i| plain(warm + i));
    let wa = reference.write_amplification();
    (ours, outcome(latencies, elapsed, wa))
}

fn agree(what: &str, (ours, reference): (Outcome, Outcome)) {
    let off = |a: f64, b: f64| a / b - 1.0;
    let (iops, median) = (off(ours.iops, reference.iops), off(ours.median, reference.median));
    let tail = off(ours.tail, reference.tail);
    println!(
        "{what}: WA {:.2} / {:.2}, IOPS {:.0} / {:.0} ({:+.2} %), p50 {:+.2} %, p99.9 {:+.2} %",
        ours.wa,
        reference.wa,
        ours.iops,
        reference.iops,
        iops * 100.0,
        median * 100.0,
        tail * 100.0
    );
    assert!(iops.abs() < 0.02, "{what}: throughput, {ours:?} and {reference:?}");
    assert!(median.abs() < 0.02, "{what}: median, {ours:?} and {reference:?}");
    assert!(tail.abs() < 0.10, "{what}: tail, {ours:?} and {reference:?}");
}

fn uniform(i: u64, pages: u64) -> u64 {
    ((u128::from(mix(i)) * u128::from(pages)) >> 64) as u64
}

#[test]
fn random_writes_at_write_amplification_eight() {
    let spec = spec(128, 0.095);
    let pages = spec.capacity.0 / PAGE;
    agree("random, 8", compare(&spec, 4 * pages, 400_000, |i| (true, uniform(i, pages))));
}

#[test]
fn random_writes_at_write_amplification_two_and_a_half() {
    let spec = spec(128, 0.31);
    let pages = spec.capacity.0 / PAGE;
    agree("random, 2.5", compare(&spec, 3 * pages, 400_000, |i| (true, uniform(i, pages))));
}

#[test]
fn sequential_writes() {
    let spec = spec(64, 0.28);
    let pages = spec.capacity.0 / PAGE;
    agree("sequential", compare(&spec, pages, 400_000, |i| (true, i % pages)));
}

#[test]
fn random_reads() {
    let spec = spec(64, 0.28);
    let pages = spec.capacity.0 / PAGE;
    agree("reads", compare(&spec, 0, 400_000, |i| (false, uniform(i, pages))));
}

#[test]
fn reads_and_writes_mixed() {
    let spec = spec(128, 0.31);
    let pages = spec.capacity.0 / PAGE;
    let ask = |i: u64| (mix(i ^ 0xabcd).is_multiple_of(3), uniform(i, pages));
    agree("mixed", compare(&spec, 5 * pages, 400_000, ask));
}
