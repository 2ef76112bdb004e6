//! Our io_uring target beside fio's on one file, in alternating pairs: IOPS and CPU per I/O, with
//! our per-request log on and fio's off. Needs `fio` on the PATH. Prints; asserts nothing.
//!
//!     cargo bench -p assay-engine --bench beside_fio -- FILE_ON_A_REAL_DISK [PAIRS]

#![allow(clippy::print_stdout)]

use assay_engine::clock::Clock;
use assay_engine::generate::Generator;
use assay_engine::load_loop::run_phase;
use assay_engine::measure::{Recorder, log::LogWriter};
use assay_engine::safety::Intent;
use assay_engine::target::block;
use assay_engine::target::uring::{UringOptions, UringTarget};
use assay_fs::Directory;
use assay_spec::experiment::{Address, Amount, Arrival, Span, StreamSpec};
use assay_spec::{Bytes, Nanos};
use std::path::Path;
use std::process::Command;

const DEPTH: u32 = 32;
const SECONDS: u64 = 2;

struct Job {
    name: &'static str,
    rw: &'static str,
    size: Bytes,
    address: Address,
}

/// (IOPS, CPU ns per I/O of all threads).
type Measured = (f64, f64);

fn cpu_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call and the clock id is one of the kernel's own.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn ours(path: &Path, job: &Job, seed: u64) -> Measured {
    let opened = block::open(path, &Intent::default()).expect("the file is readable");
    let spec = StreamSpec {
        read_share: 1.0,
        sizes: vec![(job.size, 1.0)],
        address: job.address,
        span: Span::WHOLE,
        flush_every: 0,
        fua: false,
    };
    let options = UringOptions {
        depth: DEPTH,
        max_length: job.size,
        granularity: opened.granularity,
        writes: false,
        seed,
        clock: Clock::start(),
    };
    let place = tempfile::tempdir().expect("a temporary directory");
    let directory = Directory::open(place.path()).expect("it is there");
    let mut target = UringTarget::new(opened.file, opened.capacity, options).expect("io_uring");
    let mut generator = Generator::new(&[spec], opened.capacity, seed);
    let mut recorder =
        Recorder::new(Some(LogWriter::create(&directory, "log.parquet").expect("a log")));
    let arrival = Arrival::Closed { jobs: 1, queue_depth: DEPTH, think: Nanos::ZERO };
    let amount = Amount::Time(Nanos::from_secs(SECONDS));
    let before = cpu_ns();
    run_phase(&mut target, &mut generator, arrival, amount, seed, &mut recorder).expect("runs");
    let recorded = recorder.finish().expect("finishes");
    let cpu = cpu_ns() - before;
    let done: u64 = recorded.ops.iter().map(|o| o.requests).sum();
    (done as f64 / SECONDS as f64, cpu / done as f64)
}

fn fio(path: &Path, job: &Job, seed: u64) -> Measured {
    let output = Command::new("fio")
        .args(["--name=j", "--ioengine=io_uring", "--fixedbufs", "--registerfiles", "--direct=1"])
        .args(["--norandommap", "--readonly", "--time_based", "--output-format=json"])
        .arg(format!("--filename={}", path.display()))
        .arg(format!("--rw={}", job.rw))
        .arg(format!("--bs={}", job.size.0))
        .arg(format!("--iodepth={DEPTH}"))
        .arg(format!("--runtime={SECONDS}"))
        .arg(format!("--randseed={}", seed + 1))
        .output()
        .expect("fio is installed");
    let text = String::from_utf8_lossy(&output.stdout);
    let json = &text[text.find('{').expect("fio prints JSON")..];
    let value: serde_json::Value = serde_json::from_str(json).expect("fio prints JSON");
    let job = &value["jobs"][0];
    let number = |v: &serde_json::Value| v.as_f64().expect("fio prints numbers");
    let done = number(&job["read"]["total_ios"]);
    let busy = (number(&job["usr_cpu"]) + number(&job["sys_cpu"])) / 100.0;
    let runtime_ns = number(&job["job_runtime"]) * 1e6;
    (number(&job["read"]["iops"]), busy * runtime_ns / done)
}

/// Geometric mean of the ratios and its 95 % interval.
fn ratio(pairs: &[(f64, f64)]) -> (f64, f64, f64) {
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (a / b).ln()).collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // Student t, 97.5 %, 14 degrees of freedom: 2.145; a little wide for more pairs.
    let half = 2.145 * (variance / n).sqrt();
    (mean.exp(), (mean - half).exp(), (mean + half).exp())
}

fn main() {
    let arguments: Vec<String> = std::env::args().filter(|a| a != "--bench").collect();
    let Some(path) = arguments.get(1).map(Path::new) else {
        println!("skipped: name a written file, e.g. one made by `assay run quick --on FILE`");
        return;
    };
    let pairs: u64 = arguments.get(2).and_then(|p| p.parse().ok()).unwrap_or(15);
    for job in [
        Job { name: "rnd-rd 4KiB", rw: "randread", size: Bytes(4096), address: Address::Random },
        Job {
            name: "seq-rd 256KiB",
            rw: "read",
            size: Bytes(256 << 10),
            address: Address::Sequential,
        },
    ] {
        let measured: Vec<(Measured, Measured)> = (0..pairs)
            .map(|pair| match pair % 2 {
                0 => {
                    let first = ours(path, &job, pair);
                    (first, fio(path, &job, pair))
                }
                _ => {
                    let first = fio(path, &job, pair);
                    (ours(path, &job, pair), first)
                }
            })
            .collect();
        let of = |pick: fn(&Measured) -> f64| -> Vec<(f64, f64)> {
            measured.iter().map(|(a, b)| (pick(a), pick(b))).collect()
        };
        for (what, pairs) in [("IOPS", of(|m| m.0)), ("CPU ns per I/O", of(|m| m.1))] {
            let (mean, low, high) = ratio(&pairs);
            let median = |side: fn(&(f64, f64)) -> f64| {
                let mut values: Vec<f64> = pairs.iter().map(side).collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            };
            println!(
                "{:14} {what:15} ours {:>9.0} fio {:>9.0}  ratio {mean:.3} [{low:.3}, {high:.3}]",
                job.name,
                median(|p| p.0),
                median(|p| p.1)
            );
        }
    }
}
