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

/// Ask this program for the guest's part.
const DIRECT: &str = "--direct-reads";
const BUFFERED: &str = "--buffered-reads";
/// Bytes of a read, each way; the kernel reads ahead as many.
const PAGE: usize = 4096;
const AHEAD: usize = 128 << 10;

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

/// Prints the rate of what `many` requests cost more than `few`: the best of three, as whatever
/// else the machine does only ever makes it slower.
fn rate(name: &str, few: u64, many: u64, run: impl Fn(u64) -> (f64, f64)) -> f64 {
    let least = |requests| {
        let all = [run(requests), run(requests), run(requests)].into_iter();
        all.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1))).expect("three")
    };
    let ((cpu, wall), (cpu_more, wall_more)) = (least(few), least(many));
    let requests = (many - few) as f64;
    let rate = requests / (cpu_more - cpu);
    let wall = 1e6 * (wall_more - wall) / requests;
    println!("{name:<28} {rate:>10.0} requests/CPU-s  {wall:>8.2} us of wall each");
    rate
}

/// What the guest runs: reads one after the other, and nothing else, as `dd` would also write what
/// it has read.
fn read(count: u64, size: usize, flags: i32) {
    let disk = std::fs::OpenOptions::new().read(true).custom_flags(flags).open("/dev/vda");
    let disk = disk.expect("a drive");
    let mut room = vec![0; size + PAGE];
    let aligned = room.as_ptr().align_offset(PAGE);
    let piece = &mut room[aligned..aligned + size];
    for at in 0..count {
        disk.read_exact_at(piece, at * size as u64).expect("read");
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if let [_, way, count] = &words[..] {
        let count = count.parse().expect("a number");
        return match way == DIRECT {
            true => read(count, PAGE, libc::O_DIRECT),
            false => read(count, AHEAD, 0),
        };
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
    let reads = |way: &str, n: u64| guest(format!("exec {own} {way} {n}"));
    let dd = |options: &str, count| format!("dd if=/dev/vda of=/dev/null {options} count={count}");
    let direct = rate("guest, direct 4 KiB", 2_000, 82_000, |n| reads(DIRECT, n));
    rate("the same by dd", 2_000, 42_000, |n| guest(dd("bs=4k iflag=direct", n)));
    let buffered = rate("guest, buffered 128 KiB", 500, 16_500, |n| reads(BUFFERED, n));
    rate("the same by dd", 500, 8_500, |n| guest(dd("bs=128k 2>/dev/null", n)));
    println!("bare to direct {:.0}x, bare to buffered {:.0}x", model / direct, model / buffered);
    clean();
}
