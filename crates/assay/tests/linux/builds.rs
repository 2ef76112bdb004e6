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
