//! What reads of a cached file take in a guest, beside this machine on one core.
//!
//! `cargo bench -p assay --bench cached_reads`. A system call and reads of two sizes set a
//! processor to this machine: what a block of the kernel's code takes and what a byte takes. All
//! five sizes are then read natively and in the guest, alternating. Wants a quiet machine and the
//! kernel that `assay linux build` makes.

#![allow(clippy::print_stdout)]

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The sizes of a read.
const SIZES: [usize; 5] = [512, 2 << 10, 16 << 10, 256 << 10, 1 << 20];
/// The sizes that set the processor.
const FITTED: [usize; 2] = [512, 1 << 20];
/// The length of the file.
const LENGTH: usize = 64 << 20;
/// Ask this program to measure natively: reads of a file, and system calls.
const READ: &str = "--native-read";
const CALL: &str = "--native-call";
/// The clock of the processor that is set: so high that cycles are fractions of a nanosecond.
const CLOCK_MHZ: u32 = 100_000;

/// Reads the file from start to end, and again; returns the second time in ns a read.
fn native(path: &str, size: usize) -> f64 {
    let file = std::fs::File::open(path).expect("the file");
    let mut piece = vec![0; size];
    let mut took = 0.0;
    for _ in 0..2 {
        let begun = Instant::now();
        for at in 0..LENGTH / size {
            file.read_exact_at(&mut piece, (at * size) as u64).expect("read");
        }
        took = begun.elapsed().as_nanos() as f64;
    }
    took / (LENGTH / size) as f64
}

/// Returns the least time of a system call that does nothing, in ns.
fn system_call() -> f64 {
    const CALLS: u32 = 1_000_000;
    let round = |_| {
        let begun = Instant::now();
        for _ in 0..CALLS {
            std::hint::black_box(rustix::process::getppid());
        }
        begun.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    (0..5).map(round).fold(f64::INFINITY, f64::min)
}

/// A rate that takes next to no time.
const FREE: u64 = 1_000_000_000_000_000;

/// The processor of the guest.
struct Processor {
    block_cycles: u32,
    call_cycles: u32,
    copy: u64,
}

impl Processor {
    fn write(&self, path: &Path) {
        let value = |value: String| format!("{{ value = {value}, assumed = \"a bench\" }}");
        let text = format!(
            "format = 1\nname = \"this\"\ntitle = \"this machine\"\n[sources]\n[core]\n\
             clock_mhz = {}\nwake = {}\nblock_cycles = {}\ncall_cycles = {}\n[memory]\ncopy = {}\n\
             crc32 = {r}\ncrc32c = {r}\nxor = {r}\n",
            value(CLOCK_MHZ.to_string()),
            value("\"0us\"".into()),
            value(self.block_cycles.to_string()),
            value(self.call_cycles.to_string()),
            value(format!("\"{}B/s\"", self.copy)),
            r = value("\"1GB/s\"".into()),
        );
        std::fs::write(path, text).expect("written");
    }
}

/// Reads the cached file in a guest with this processor; returns ns a read for each of `sizes`.
fn guest(scratch: &Path, processor: &Processor, sizes: &[usize]) -> Vec<f64> {
    let file = scratch.join("this.toml");
    processor.write(&file);
    let sizes: Vec<String> = sizes.iter().map(|size| format!("\"{size}B\"")).collect();
    let experiment = format!(
        "format = 1\nname = \"cached\"\nquestion = \"?\"\nlog = false\n\
         targets = [\"linux(fs=ext4, sim:ssd-m, processor={})\"]\n[[workload]]\n\
         name = \"read-{{size}}\"\nfile = \"reread\"\nsize = [{}]\nlength = \"64MiB\"\n\
         between = \"nothing\"\n",
        file.display(),
        sizes.join(", "),
    );
    let spec = scratch.join("cached.toml");
    std::fs::write(&spec, experiment).expect("written");
    let out = scratch.join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.arg("run").arg(&spec).args(["--quiet", "--out"]).arg(&out);
    let output = command.output().expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let cells = std::fs::read(out.join("cells.json")).expect("cells");
    std::fs::remove_dir_all(&out).expect("removed");
    let cells: serde_json::Value = serde_json::from_slice(&cells).expect("JSON");
    let each = |cell: &serde_json::Value| {
        let repeat = &cell["repeats"][0];
        let count = repeat["ops"][0]["requests"].as_f64().expect("a count");
        repeat["elapsed"].as_f64().expect("a time") / count
    };
    cells["cells"].as_array().expect("a list").iter().map(each).collect()
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [READ, path, size] => return println!("{}", native(path, size.parse().expect("a number"))),
        [CALL] => return println!("{}", system_call()),
        _ => {}
    }
    let scratch = std::env::temp_dir().join(format!("assay-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a directory");
    let path = scratch.join("file").display().to_string();
    std::fs::write(&path, vec![1; LENGTH]).expect("written");
    let own = std::env::current_exe().expect("this program");
    let measure = |words: &[&str]| -> f64 {
        let mut command = Command::new("taskset");
        let output = command.args(["-c", "0"]).arg(&own).args(words).output().expect("taskset");
        String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
    };
    let native = |size: usize| measure(&[READ, &path, &size.to_string()]);
    let least = |size| (0..9).map(|_| native(size)).fold(f64::INFINITY, f64::min);
    let (small, large) = (least(FITTED[0]), least(FITTED[1]));
    let call: f64 = measure(&[CALL]);
    // The time of blocks alone, each of which takes a cycle, gives their number.
    let counting = Processor { block_cycles: 1, call_cycles: 0, copy: FREE };
    let cycle = 1e3 / f64::from(CLOCK_MHZ);
    let blocks: Vec<f64> =
        guest(&scratch, &counting, &FITTED).iter().map(|ns| ns / cycle).collect();
    // Both reads are a call, blocks and bytes; two equations for a block and a byte.
    let bytes = FITTED.map(|size| size as f64);
    let block = ((small - call) * bytes[1] - (large - call) * bytes[0])
        / (blocks[0] * bytes[1] - blocks[1] * bytes[0]);
    let byte = (large - call - block * blocks[1]) / bytes[1];
    let processor = Processor {
        block_cycles: (block / cycle).round() as u32,
        call_cycles: (call / cycle).round() as u32,
        copy: (1e9 / byte) as u64,
    };
    println!(
        "a block {block:.2} ns, a call {call:.0} ns, copies {:.1} GB/s; * set the processor",
        processor.copy as f64 / 1e9
    );
    println!("{:>10} {:>12} {:>12} {:>7}", "bytes", "native, ns", "guest, ns", "ratio");
    for size in SIZES {
        // Whatever else the machine does only ever makes it slower: the least of each counts.
        let mut both = [Vec::new(), Vec::new()];
        for _ in 0..9 {
            both[0].push(native(size));
            both[1].push(guest(&scratch, &processor, &[size])[0]);
        }
        let [native, guest] = both.map(|all| all.into_iter().fold(f64::INFINITY, f64::min));
        let mark = if FITTED.contains(&size) { " *" } else { "" };
        println!("{size:>10} {native:>12.0} {guest:>12.0} {:>7.2}{mark}", guest / native);
    }
    drop(std::fs::remove_dir_all(&scratch));
}
