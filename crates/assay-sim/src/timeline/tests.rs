//! Tests of bars against the drive: no resource does two things at a time, and busy times add up.

use super::parts::{Why, parts};
use super::*;
use crate::{Accept, Drive, build};
use assay_spec::catalog::{DEVICES, find};
use assay_spec::decode::Source;
use assay_spec::device::SuspendSpec;
use assay_spec::seed::mix;
use assay_spec::{Bytes, Completion, Op, Request};
use std::collections::BTreeMap;

/// Returns a bundled drive; with `+suspend` behind its name, one that suspends programs and erases
/// for reads.
fn spec(name: &str) -> DeviceSpec {
    let (plain, leaves) = name.split_once("+suspend").map_or((name, false), |(n, _)| (n, true));
    let bundled = find(DEVICES, plain).unwrap_or_else(|| panic!("no {name}"));
    let source = Source { file: bundled.file, text: bundled.text };
    let mut spec = DeviceSpec::parse(source).unwrap_or_else(|e| panic!("{e}"));
    if let DeviceKind::Ssd(ssd) = &mut spec.kind {
        let (suspend, resume) = (Nanos::from_micros(30), Nanos::from_micros(20));
        ssd.nand.suspend = leaves.then_some(SuspendSpec { suspend, resume, max_admissions: 3 });
    }
    spec
}

/// All bars and counters of a run, and by request: its arrival and its end.
struct Seen {
    bars: Vec<Bar>,
    counters: BTreeMap<String, f64>,
    times: Vec<(Nanos, Nanos)>,
}

/// Serves `count` requests to `pages` pages of 4 KiB, `depth` of them in flight, then waits until
/// the drive has nothing more to do.
fn watch(name: &str, count: u32, depth: u32, pages: u64, ops: &[Op]) -> Seen {
    let spec = spec(name);
    let recorder = Recorder::new(&spec);
    let mut drive = build(&spec, crate::InitialState::Filled);
    drive.observe(Box::new(recorder.clone()));
    recorder.begin();
    let (mut now, mut done) = (Nanos::ZERO, Vec::<Completion>::new());
    let mut times = vec![(Nanos::ZERO, Nanos::ZERO); count as usize];
    let (mut next, mut in_flight) = (0, 0);
    while next < count || in_flight > 0 {
        while next < count && in_flight < depth {
            let random = mix(u64::from(next));
            let op = ops[next as usize % ops.len()];
            let (offset, length) = (Bytes(random % pages * 4096), Bytes(4096 * (1 + random % 3)));
            let offset = offset.min(spec.capacity - length);
            let request = Request { tag: next, op, offset, length, fua: false };
            assert_eq!(drive.submit(now, request), Accept::Accepted);
            times[next as usize].0 = now;
            next += 1;
            in_flight += 1;
        }
        now = drive.run(Nanos::NEVER, &mut done);
        for completion in done.drain(..) {
            times[completion.tag as usize].1 = completion.at;
            in_flight -= 1;
        }
    }
    while let Some(at) = drive.next_event() {
        drive.advance(at, &mut done);
    }
    Seen { bars: recorder.bars(), counters: drive.counters().into_iter().collect(), times }
}

const MIXED: [Op; 3] = [Op::Read, Op::Write, Op::Write];

/// Drives with the number of requests, and how many of them are in flight.
const ALL: [(&str, u32, u32); 8] = [
    ("ssd-m", 400, 16),
    ("ssd-l", 150, 1),
    ("ssd-h", 400, 32),
    ("reference-28", 400, 64),
    ("ssd-h+suspend", 400, 32),
    ("reference-28+suspend", 400, 64),
    ("wd1600js", 200, 1),
    ("atlas10k", 200, 1),
];

#[test]
fn bars_of_a_resource_never_overlap() {
    for (name, count, depth) in ALL {
        for pages in [256, 4_000_000_000_000] {
            let pages = pages.min(spec(name).capacity.0 / 4096);
            let seen = watch(name, count, depth, pages, &MIXED);
            let mut ends: BTreeMap<Resource, &Bar> = BTreeMap::new();
            assert!(seen.bars.len() > count as usize, "{name}");
            for bar in seen.bars.iter().filter(|b| b.resource != Resource::Own) {
                if let Some(before) = ends.insert(bar.resource, bar) {
                    assert!(before.end <= bar.start, "{name}: {bar:?} during {before:?}");
                }
            }
        }
    }
}

#[test]
fn bars_add_up_to_the_drives_own_busy_times() {
    for (name, count, depth) in
        ALL.into_iter().filter(|(name, ..)| matches!(spec(name).kind, DeviceKind::Ssd(_)))
    {
        let seen = watch(name, count, depth, 4_000_000, &MIXED);
        let sum = |of: fn(Resource) -> bool| -> f64 {
            seen.bars.iter().filter(|b| of(b.resource)).map(|b| b.length().0 as f64).sum()
        };
        let counters = [
            ("array_busy_ns", sum(|r| matches!(r, Resource::Array(_)))),
            ("channel_busy_ns", sum(|r| matches!(r, Resource::Channel(_)))),
            ("link_busy_ns", sum(|r| r == Resource::Link)),
            ("firmware_busy_ns", sum(|r| r == Resource::Firmware)),
        ];
        let suspensions = seen.counters.get("suspensions").copied();
        assert_eq!(suspensions.is_some_and(|n| n > 0.0), name.ends_with("+suspend"), "{name}");
        for (counter, sum) in counters {
            assert_eq!(sum, seen.counters[counter], "{name}: {counter}");
        }
    }
}

#[test]
fn a_disk_tells_of_every_hit_and_every_access() {
    let seen = watch("wd1600js", 300, 1, 64, &[Op::Read]);
    let hits = seen.bars.iter().filter(|b| b.kind == Kind::CacheHit).count();
    assert_eq!(hits as f64, seen.counters["read_hits"]);
    let reads: std::collections::BTreeSet<Option<u32>> =
        seen.bars.iter().filter(|b| b.kind == Kind::Read).map(|b| b.request).collect();
    assert_eq!(reads.len() as f64, seen.counters["media_reads"]);
    assert!(hits > 200 && !reads.is_empty());
}

#[test]
fn every_step_has_its_request() {
    for (name, count, depth) in ALL {
        let seen = watch(name, count, depth, 4_000_000, &MIXED);
        for bar in &seen.bars {
            // The arm also moves for read-ahead, which belongs to no request.
            let ahead = bar.resource == Resource::Arm && bar.kind != Kind::Read;
            let own = matches!(bar.kind, Kind::ReadAhead | Kind::Copy | Kind::Erase);
            assert!(own || ahead || bar.request.is_some(), "{name}: {bar:?}");
        }
        // A read ends when the link has moved the last of its data.
        for request in (0..count).step_by(MIXED.len()) {
            let out = |b: &&Bar| b.resource == Resource::Link && b.request == Some(request);
            let last = seen.bars.iter().filter(out).map(|b| b.end).max();
            assert_eq!(last, Some(seen.times[request as usize].1), "{name}: request {request}");
        }
    }
}

#[test]
fn the_parts_of_a_request_add_up_to_its_time() {
    for (name, count, depth) in ALL {
        let seen = watch(name, count, depth, 4_000_000, &MIXED);
        for (request, (arrival, end)) in seen.times.iter().enumerate() {
            let found = parts(&seen.bars, request as u32, *arrival, *end);
            let total: u64 = found.iter().map(|part| part.time.0).sum();
            assert_eq!(total, (*end - *arrival).0, "{name}: {request}: {found:?}");
        }
    }
}

#[test]
fn a_merge_is_what_a_full_log_waits_for() {
    // Writes far apart use up the 64 logs, so that each later write waits for a merge.
    let seen = watch("ssd-l", 80, 1, 7_000_000, &[Op::Write]);
    assert!(seen.bars.iter().any(|b| b.kind == Kind::Copy && b.count == 128), "a block is copied");
    let (arrival, end) = seen.times[79];
    let longest = parts(&seen.bars, 79, arrival, end)[0];
    assert!(matches!(longest.why, Why::Behind(_, Kind::Copy | Kind::Erase)), "{longest:?}");
}
