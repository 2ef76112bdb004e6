//! What the tool itself costs: nanoseconds of CPU per I/O on the null target, with and without the
//! per-request log, and its memory. Prints; asserts nothing.
//!
//!     cargo bench -p assay-engine --bench overhead

#![allow(clippy::print_stdout)]

use assay_engine::generate::Generator;
use assay_engine::load_loop::run_phase;
use assay_engine::measure::{Recorder, log::LogWriter};
use assay_engine::target::null::NullTarget;
use assay_fs::Directory;
use assay_spec::experiment::{Address, Amount, Arrival, Span, StreamSpec};
use assay_spec::{Bytes, Nanos};

fn cpu(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call and the clock id is one of the kernel's own.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM"));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// (ns of the measuring thread, ns of all threads, bytes of log) per request.
fn measure(jobs: u32, address: Address, requests: u64, log: bool) -> (f64, f64, f64) {
    let spec = StreamSpec {
        read_share: 1.0,
        sizes: vec![(Bytes(4096), 1.0)],
        address,
        span: Span { end: Some(Bytes::GIB), ..Span::WHOLE },
        flush_every: 0,
        fua: false,
    };
    let place = tempfile::tempdir().expect("a temporary directory");
    let directory = Directory::open(place.path()).expect("it is there");
    let writer = log.then(|| LogWriter::create(&directory, "log.parquet").expect("a log"));
    let mut target = NullTarget::new(Bytes::GIB);
    let mut generator = Generator::new(&[spec], Bytes::GIB, 1);
    let mut recorder = Recorder::new(writer);
    let arrival = Arrival::Closed { jobs, queue_depth: 1, think: Nanos::ZERO };
    let amount = Amount::Requests(requests);
    let (thread, all) = (cpu(libc::CLOCK_THREAD_CPUTIME_ID), cpu(libc::CLOCK_PROCESS_CPUTIME_ID));
    run_phase(&mut target, &mut generator, arrival, amount, 1, &mut recorder).expect("runs");
    let thread = cpu(libc::CLOCK_THREAD_CPUTIME_ID) - thread;
    recorder.finish().expect("finishes");
    let all = cpu(libc::CLOCK_PROCESS_CPUTIME_ID) - all;
    let bytes = place.path().join("log.parquet").metadata().map_or(0, |m| m.len());
    let n = requests as f64;
    (thread / n, all / n, bytes as f64 / n)
}

fn main() {
    const N: u64 = 4_000_000;
    println!("null target, 4 KiB reads, best of 5, CPU ns per I/O (thread, all threads, bytes)");
    for (name, jobs, address) in [
        ("sequential, 1 job", 1, Address::Sequential),
        ("random, 1 job", 1, Address::Random),
        ("random, 32 jobs", 32, Address::Random),
    ] {
        let best = |log| {
            let runs = (0..5).map(|_| measure(jobs, address, N, log));
            runs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("five runs")
        };
        let (plain, logged) = (best(false), best(true));
        println!(
            "{name:18} {:5.1} {:5.1}  with log {:5.1} {:5.1} {:4.1} B  log costs {:+.1} (x {:.2})",
            plain.0,
            plain.1,
            logged.0,
            logged.1,
            logged.2,
            logged.0 - plain.0,
            logged.0 / plain.0
        );
    }
    let before = resident_kib();
    measure(32, Address::Random, 100_000_000, true);
    println!("memory over 10^8 logged requests: {before} KiB before, {} after", resident_kib());
}
