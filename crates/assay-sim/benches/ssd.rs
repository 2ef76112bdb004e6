//! Requests per CPU-second of the solid-state model, everything on: map, collection, buffer,
//! time-lines, histogram; bytes of memory for a page of flash; and page moves per CPU-second of a
//! hybrid drive's merges. Closed loop at depth 32. Prints; asserts nothing.
//!
//!     cargo bench -p assay-sim --bench ssd [-- WORDS THAT A LINE MUST CONTAIN]

#![allow(clippy::print_stdout)]

use assay_sim::{Closed, Drive, InitialState, RandomWrites, build};
use assay_spec::device::{DeviceKind, DeviceSpec};
use assay_spec::histogram::Histogram;
use assay_spec::seed::mix;
use assay_spec::{Bytes, Op, Request};
use std::time::Instant;

const DEPTH: usize = 32;
const PAGE: u64 = 4096;

fn cpu_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call and the clock id is one of the kernel's own.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn spec(name: &str) -> DeviceSpec {
    let bundled = assay_spec::catalog::DEVICES.iter().find(|d| d.name == name);
    let bundled = bundled.expect("in the catalogue");
    DeviceSpec::parse(assay_spec::decode::Source { file: bundled.file, text: bundled.text })
        .expect("decodes")
}

fn uniform(pages: u64) -> impl FnMut(u64) -> u64 {
    move |i| ((u128::from(mix(i)) * u128::from(pages)) >> 64) as u64
}

/// Whether the line `what` was asked for.
fn wanted(what: &str) -> bool {
    std::env::args().skip(1).all(|word| word.starts_with('-') || what.contains(&word))
}

/// Bytes of this process in memory.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|n| n.parse::<f64>().ok());
    pages.unwrap_or(f64::NAN) * 4096.0
}

/// Pages of flash of a drive.
fn flash_pages(spec: &DeviceSpec) -> u64 {
    match &spec.kind {
        DeviceKind::Ssd(ssd) => ssd.nand.pages(),
        _ => panic!("only flash has pages"),
    }
}

/// The drive with so many times the blocks.
fn grown(spec: &DeviceSpec, times: u32, part: u32) -> DeviceSpec {
    let mut spec = spec.clone();
    let DeviceKind::Ssd(ssd) = &mut spec.kind else { panic!("only flash has blocks") };
    ssd.nand.blocks_per_plane = ssd.nand.blocks_per_plane * times / part;
    spec.capacity = Bytes(spec.capacity.0 / PAGE * u64::from(times) / u64::from(part) * PAGE);
    spec
}

/// A drive and the loop that keeps it busy.
struct Bed {
    drive: Box<dyn Drive + Send>,
    closed: Closed,
}

impl Bed {
    fn new(spec: &DeviceSpec) -> Bed {
        let before = resident();
        let drive = build(spec, InitialState::Filled);
        let each = (resident() - before) / flash_pages(spec) as f64;
        println!("{:30} {each:6.2} bytes of memory a page (goal 10)", spec.name);
        Bed { drive, closed: Closed::new((spec.link.queue_depth as usize).min(DEPTH)) }
    }

    /// As after random writes without end.
    fn steady(spec: &DeviceSpec, size: &str) -> Bed {
        let (before, begun) = (resident(), Instant::now());
        let drive = build(spec, InitialState::Steady(RandomWrites::UNIFORM));
        let (seconds, memory) = (begun.elapsed().as_secs_f64(), resident() - before);
        println!(
            "{:30} {seconds:6.2} s and {:.2} GiB to steady state (goals 5 and 1.5 for 512 GiB)",
            format!("{} {size}", spec.name),
            memory / f64::from(1 << 30)
        );
        Bed { drive, closed: Closed::new((spec.link.queue_depth as usize).min(DEPTH)) }
    }

    /// Merges: random writes over the whole drive, each of which costs one.
    fn report_merges(&mut self, name: &str, pages: u64) {
        let (ns, _) = self.run(Op::Write, 2000, uniform(pages));
        let told = self.drive.counters();
        let of = |name: &str| told.iter().find(|(n, _)| n == name).map_or(0.0, |(_, v)| *v);
        let moved = of("pages_programmed");
        println!(
            "{name:30} {:6.1} M page moves/s (goal 50)  {} full merges",
            moved / (ns * 2000.0) * 1e3,
            of("merges_full")
        );
    }

    /// Runs `count` requests; returns CPU ns of each, and the histogram.
    fn run(&mut self, op: Op, count: u64, mut page: impl FnMut(u64) -> u64) -> (f64, Histogram) {
        let mut histogram = Histogram::new();
        let length = Bytes(PAGE);
        let request = |i| Request { tag: 0, op, offset: Bytes(page(i) * PAGE), length, fua: false };
        self.drive.mark();
        let before = cpu_ns();
        self.closed.run(&mut *self.drive, count, request, |latency| histogram.record(latency));
        ((cpu_ns() - before) / count as f64, histogram)
    }

    /// The best of five runs, printed: nanoseconds a request.
    fn report(
        &mut self,
        what: &str,
        goal: f64,
        op: Op,
        count: u64,
        pages: u64,
        sequential: bool,
    ) -> Option<f64> {
        if !wanted(what) {
            return None;
        }
        let mut best = (f64::MAX, Histogram::new());
        for round in 0..5 {
            let mut random = uniform(pages);
            let measured = self.run(op, count, |i| {
                let i = round * count + i;
                if sequential { i % pages } else { random(i) }
            });
            if measured.0 < best.0 {
                best = measured;
            }
        }
        let (ns, histogram) = best;
        let wa = self.drive.counters().iter().find(|(n, _)| n == "wa").map_or(0.0, |(_, v)| *v);
        println!(
            "{what:30} {ns:6.1} ns {:6.2} M/s (goal {goal:>4})  WA {wa:5.2}  p50 {}  p99.9 {}",
            1e3 / ns,
            histogram.quantile(0.5).unwrap_or_default(),
            histogram.quantile(0.999).unwrap_or_default()
        );
        Some(ns)
    }
}

fn main() {
    for (name, goal) in [("reference-7", 5.0), ("reference-28", 12.0)] {
        let spec = spec(name);
        let pages = spec.capacity.0 / PAGE;
        let mut bed = Bed::new(&spec);
        let sequential = format!("{name} sequential write");
        bed.report(&sequential, 30.0, Op::Write, 8_000_000, pages, true);
        bed.report(&format!("{name} random read"), 30.0, Op::Read, 8_000_000, pages, false);
        drop(bed);
        let (half, large) = (grown(&spec, 1, 2), grown(&spec, 8, 1));
        let mut each = Vec::new();
        for (spec, size) in [(&half, "32 GiB"), (&spec, "64 GiB"), (&large, "512 GiB")] {
            let what = format!("{name} random write {size}");
            if !wanted(&what) {
                continue;
            }
            let mut bed = Bed::steady(spec, size);
            let pages = spec.capacity.0 / PAGE;
            each.push(bed.report(&what, goal, Op::Write, 4_000_000, pages, false));
        }
        if let [Some(small), _, Some(large)] = each[..] {
            println!("{name} a write, 512 GiB over 32 GiB: {:.2} (goal 2)", large / small);
        }
    }
    let spec = spec("ssd-l");
    let pages = spec.capacity.0 / PAGE;
    let mut bed = Bed::new(&spec);
    bed.report("hybrid sequential write", 1.0, Op::Write, 2_000_000, pages, true);
    if wanted("hybrid merges") {
        bed.report_merges("hybrid merges", pages);
    }
}
