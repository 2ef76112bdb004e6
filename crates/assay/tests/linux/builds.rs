//! Results in a guest do not depend on how assay was compiled, nor on how its work is described.

use super::{assert_same_cells, cells_of, no_guests};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a build could change: the memory of a file system that is short of it, behind arrays that
/// make much of it; threads; the log's writer; programs beside; files that are opened and closed
/// one after another.
const EXPERIMENT: &str = r#"
format = 1
name = "builds"
question = "Does another build measure the same?"
scale = "1/64"
log = true
targets = [
    """linux(fs=btrfs, md-raid0(sim:x25-m-g2@perc-6i*3, sim:x25-m-g2@areca-1680*2), \
    processor=xeon-x5550, memory=6GiB, partition=32GiB, name=cards)""",
    "linux(fs=ext4, md-raid0(sim:x25-m-g2@perc-6i*5), memory=6GiB, partition=32GiB, name=card)",
    """linux(fs=ext4, sim:wd-raptor, scheduler=cfq, processor=core-2-2660, partition=32GiB, \
    name=disk)""",
    "linux(fs=ext4, sim:optane, processor=xeon-emerald-rapids, partition=32GiB, name=faults)",
]
[[workload]]
name = "write"
file = "write"
size = "64KiB"
length = "8GiB"
[[workload]]
name = "read"
file = "read"
size = "64KiB"
length = "8GiB"
[[workload]]
name = "random-write"
file = "random-write"
size = "4KiB"
length = "4GiB"
[[workload]]
name = "clients"
file = "clients"
clients = 60
rate = "1MB/s"
length = "200MB"
size = "1000KiB"
time = "100s"
[[workload]]
name = "git"
file = "git"
files = 29000
directories = 1800
length = "13kB"
tags = 64
changes = 700
merge_changes = 9000
merge_every = 9
background = true
[[workload]]
name = "walk"
file = "walk"
order = "directory"
files = 116000
directories = 7200
length = "13kB"
"#;

/// A user's program, whose guest has another root. Such an experiment has no `scale`.
const PROGRAM: &str = r#"
format = 1
name = "program"
question = "Does another build measure the same?"
targets = ["linux(fs=ext4, sim:optane, processor=xeon-emerald-rapids, name=program)"]
[[workload]]
name = "sort"
user_time = { call = "300ns", moved = "2GB/s", fault = "500ns" }
command = "for i in $(seq 200); do seq $i 20000 | sort >sorted; sync sorted; done"
"#;

#[test]
fn a_longer_description_gives_the_same_results() {
    if no_guests() {
        return;
    }
    const PAGE: usize = 4096;
    let first = EXPERIMENT.match_indices("[[workload]]").nth(1).expect("there are several").0;
    let short = &EXPERIMENT[..first];
    // A guest for a user's program has another root than others; a word of a comment does not
    // make a work a program.
    let long = format!("{short}# Not a path: /tmp/x. {}\n", "x".repeat(2 * PAGE));
    let program = || Command::new(env!("CARGO_BIN_EXE_assay"));
    assert_same_cells(&cells_of(&mut program(), short), &cells_of(&mut program(), &long));
}

/// glibc copies with instructions of the processor, and saves its registers on the stack: processes
/// touched other pages on other processors.
#[test]
fn the_c_library_of_a_guest_is_that_of_any_processor() {
    const LINKER: &str = "/lib64/ld-linux-x86-64.so.2";
    if no_guests() || !Path::new(LINKER).exists() {
        return;
    }
    let directory = super::temporary();
    let arguments = ["linux", "run", "--quiet", "--out", "out", "--drive", &super::drive(), "--"];
    let arguments = [&arguments[..], &[LINKER, "--list-diagnostics"]].concat();
    let said = super::assay(directory.path(), &arguments).stdout;
    let said = String::from_utf8_lossy(&said);
    let of_cpu = |name: &str| {
        let line =
            said.lines().find_map(|l| l.strip_prefix("x86.cpu_features.")?.strip_prefix(name));
        let value = line.unwrap_or_else(|| panic!("{name} in {said}")).trim_start_matches('=');
        u64::from_str_radix(value.trim_start_matches("0x"), 16).unwrap()
    };
    // AVX2, BMI1, BMI2, ERMS and all of AVX-512; SSSE3, FMA, CMPXCHG16B, SSE4, MOVBE, POPCNT, AVX.
    let extended = of_cpu("features[0x1].active[0x1]");
    assert_eq!(extended & (1 << 3 | 1 << 5 | 1 << 8 | 1 << 9 | 0b11 << 16 | 0b11 << 30), 0);
    let basic = of_cpu("features[0x0].active[0x2]");
    assert_eq!(basic & (1 << 9 | 1 << 12 | 0b11 << 19 | 1 << 22 | 1 << 23 | 0b11 << 27), 0);
    for name in ["Fast_Unaligned_Load", "Fast_Unaligned_Copy", "AVX_Fast_Unaligned_Load"] {
        assert_eq!(of_cpu(&format!("preferred.{name}")), 0, "{name}");
    }
    assert_eq!(of_cpu("xsave_state_size"), 0);
    assert_eq!(of_cpu("data_cache_size"), 32 << 10);
    assert_eq!(of_cpu("shared_cache_size"), 32 << 20);
    assert_eq!(of_cpu("non_temporal_threshold"), 24 << 20);
}

#[test]
#[ignore = "takes another build: `ASSAY_OTHER` is its path"]
fn another_build_gives_the_same_results() {
    if no_guests() {
        return;
    }
    let other = std::env::var_os("ASSAY_OTHER").expect("ASSAY_OTHER is the path of another build");
    let other = PathBuf::from(other).canonicalize().unwrap();
    let this = Path::new(env!("CARGO_BIN_EXE_assay"));
    let bytes = |program: &Path| std::fs::read(program).unwrap();
    assert!(bytes(this) != bytes(&other), "{} is the same build", other.display());
    for experiment in [EXPERIMENT, PROGRAM] {
        let measured = |program: &Path| cells_of(&mut Command::new(program), experiment);
        assert_same_cells(&measured(this), &measured(&other));
    }
}
