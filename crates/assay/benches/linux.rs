//! Requests a CPU-second through a guest, both processes together, beside the bare model's.
//!
//! `cargo bench -p assay --bench linux`. Each rate is that of what a longer run has more than a
//! shorter one, so that booting and building the drive do not count. Wants a quiet machine and the
//! kernel that `assay linux build` makes.

#![allow(clippy::print_stdout)]

use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::process::Command;
use std::time::Instant;

/// The drive of the comparison.
const DRIVE: &str = "reference-28";

/// Asks this program for the guest's part.
const READS: &str = "--direct-reads";

/// Seconds of processor that ended children of this process have used, theirs included.
fn children() -> f64 {
    // SAFETY: zeros are a valid `rusage`, and the call fills in what it is given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Processor and wall seconds of a command of assay.
fn cost(words: &[&str]) -> (f64, f64) {
    let (before, begun) = (children(), Instant::now());
    let output = Command::new(env!("CARGO_BIN_EXE_assay")).args(words).output();
    let output = output.expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (children() - before, begun.elapsed().as_secs_f64())
}

/// Prints the rate of what `many` requests cost more than `few`.
fn rate(name: &str, few: u64, many: u64, run: impl Fn(u64) -> (f64, f64)) -> f64 {
    let ((cpu, wall), (cpu_more, wall_more)) = (run(few), run(many));
    let requests = (many - few) as f64;
    let rate = requests / (cpu_more - cpu);
    let wall = 1e6 * (wall_more - wall) / requests;
    println!("{name:<28} {rate:>10.0} requests/CPU-s  {wall:>8.2} us of wall each");
    rate
}

/// What the guest runs: direct reads one after the other, and nothing else, as `dd` would also
/// write what it has read.
fn read_directly(count: u64) {
    const PAGE: usize = 4096;
    let disk = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open("/dev/vda");
    let disk = disk.expect("a drive");
    let mut room = vec![0; 2 * PAGE];
    let aligned = room.as_ptr().align_offset(PAGE);
    let page = &mut room[aligned..aligned + PAGE];
    for at in 0..count {
        disk.read_exact_at(page, at * PAGE as u64).expect("read");
    }
}

fn main() {
    let mut words = std::env::args().skip_while(|word| word != READS);
    if let Some(count) = words.nth(1) {
        return read_directly(count.parse().expect("a number"));
    }
    let scratch = std::env::temp_dir().join(format!("assay-bench-{}", std::process::id()));
    let out = scratch.join("out").display().to_string();
    let clean = || drop(std::fs::remove_dir_all(&scratch));
    let guest = |dd: String| {
        clean();
        let mut words = vec!["linux", "run", "-q", "--out", &out, "--memory", "128MiB"];
        words.extend(["--drive", DRIVE, "--", "sh", "-c", &dd]);
        cost(&words)
    };
    let bare = |requests: u64| {
        clean();
        std::fs::create_dir_all(&scratch).expect("a directory");
        let file = scratch.join("bare.toml");
        let experiment = format!(
            "format = 1\nname = \"bare\"\nquestion = \"?\"\ntargets = [\"sim:{DRIVE}\"]\n\
             [[workload]]\nname = \"read\"\nsize = \"4KiB\"\nread_share = 1.0\n\
             pattern = \"sequential\"\nmeasure = {{ requests = {requests} }}\n"
        );
        std::fs::write(&file, experiment).expect("written");
        cost(&["run", &file.display().to_string(), "--quiet", "--out", &out])
    };
    let model = rate("bare model, 4 KiB", 1_000_000, 5_000_000, bare);
    let own = std::env::current_exe().expect("this program").display().to_string();
    let reads = |n| guest(format!("exec {own} {READS} {n}"));
    let direct = rate("guest, direct 4 KiB", 2_000, 82_000, reads);
    let dd = |options: &str, count| format!("dd if=/dev/vda of=/dev/null {options} count={count}");
    rate("the same by dd", 2_000, 42_000, |n| guest(dd("bs=4k iflag=direct", n)));
    // The kernel reads ahead 128 KiB at a time.
    let ahead = |n| guest(dd("bs=128k 2>/dev/null", n));
    let buffered = rate("guest, buffered 128 KiB", 500, 8_500, ahead);
    println!("bare to direct {:.0}x, bare to buffered {:.0}x", model / direct, model / buffered);
    clean();
}
