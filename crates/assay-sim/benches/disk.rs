//! How many requests a second of CPU the disk model serves: random 4 KiB reads in a closed loop,
//! one at a time, and 32 at a time with the order decided in the drive. Prints; asserts nothing.
//!
//!     cargo bench -p assay-sim --bench disk [-- PART OF A NAME]

#![allow(clippy::print_stdout)]

use assay_sim::{Accept, Drive, build};
use assay_spec::decode::Source;
use assay_spec::device::DeviceSpec;
use assay_spec::{Bytes, Nanos, Op, Request};
use std::hint::black_box;

/// A 4 TB disk of 7200 rpm with 64 MiB of cache, its values assumed.
const SPEC: &str = r#"
format = 1
name = "modern"
title = "4 TB, 7200 rpm"
kind = "hdd"
capacity = { value = "4000GB", assumed = "bench" }
[sources]
[link]
rate = { value = "550MB/s", assumed = "bench" }
queue_depth = { value = DEPTH, assumed = "bench" }
command = { value = "50us", assumed = "bench" }
[disk]
rpm = { value = 7200, assumed = "bench" }
heads = { value = 8, assumed = "bench" }
zones = { value = [
  [20000, 2930], [20000, 2880], [20000, 2830], [20000, 2780], [20000, 2730], [20000, 2680],
  [20000, 2620], [20000, 2560], [20000, 2500], [20000, 2440], [20000, 2370], [20000, 2300],
  [20000, 2230], [20000, 2160], [20000, 2090], [20000, 2010], [20000, 1930], [20000, 1850],
  [20000, 1760], [20000, 1670], [20000, 1580], [20000, 1490], [20000, 1400],
], assumed = "bench" }
head_switch = { value = "800us", assumed = "bench" }
write_settle = { value = "300us", assumed = "bench" }
[seek]
single = { value = "1ms", assumed = "bench" }
average = { value = "8500us", assumed = "bench" }
full = { value = "17ms", assumed = "bench" }
[cache]
size = { value = "64MiB", assumed = "bench" }
segments = { value = 32, assumed = "bench" }
write_cache = { value = "no", assumed = "bench" }
destage_window = { value = 32, assumed = "bench" }
[queue]
order = { value = "sptf", assumed = "bench" }
age_limit = { value = "500ms", assumed = "bench" }
"#;

/// Nanoseconds this thread has been on a processor.
fn cpu() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Requests served a second of CPU and a second of the disk's time, `depth` at a time.
fn measure(spec_depth: u32, depth: u32, op: Op, requests: u64) -> (f64, f64) {
    let text = SPEC.replace("DEPTH", &spec_depth.to_string());
    let spec = DeviceSpec::parse(Source { file: "bench", text: &text }).expect("a right spec");
    let mut drive = build(&spec, assay_sim::InitialState::Filled);
    let pages = spec.capacity.0 / 4096;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |tag| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
        let page = ((u128::from(random) * u128::from(pages)) >> 64) as u64;
        Request { tag, op, offset: Bytes(page * 4096), length: Bytes(4096), fua: false }
    };
    let (mut now, mut ended, mut done) = (Nanos::ZERO, 0_u64, Vec::new());
    for tag in 0..depth {
        assert_eq!(drive.submit(now, next(tag)), Accept::Accepted);
    }
    let start = cpu();
    while ended < requests {
        now = drive.run(Nanos::NEVER, &mut done);
        for completion in done.drain(..) {
            ended += 1;
            assert_eq!(drive.submit(now, next(completion.tag)), Accept::Accepted);
        }
    }
    black_box(drive.counters());
    let spent = (cpu() - start).max(1) as f64;
    (ended as f64 * 1e9 / spent, ended as f64 / now.as_secs_f64())
}

fn main() {
    let cases = [
        ("queue depth 1, one command a time", 1, 1, Op::Read, 5_000_000),
        ("queue depth 1, NCQ of 32", 32, 1, Op::Read, 3_000_000),
        ("queue depth 32, NCQ of 32", 32, 32, Op::Read, 2_000_000),
        ("queue depth 32, NCQ of 32, writes through", 32, 32, Op::Write, 2_000_000),
    ];
    let filter = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    for (name, spec_depth, depth, op, requests) in
        cases.into_iter().filter(|c| c.0.contains(&filter))
    {
        let mut rates: Vec<_> = (0..3).map(|_| measure(spec_depth, depth, op, requests)).collect();
        rates.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (rate, iops) = rates[1];
        println!("{name:<44} {:>6.2} M requests a CPU-second; {iops:.0} IOPS", rate / 1e6);
    }
}
