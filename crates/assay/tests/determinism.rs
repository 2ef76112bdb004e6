//! On modelled drives the seed decides every byte of the measurements, and nothing else does.
//!
//! Neither the number of threads nor the time, the place or the command line leave a trace in
//! `cells.json`, the logs and the series; another seed gives others.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything random there is: addresses, directions, sizes, arrivals; on a model of each kind.
const EXPERIMENT: &str = r#"
format = 1
name = "chance"
question = "Is every byte decided by the seed?"
targets = ["sim:ssd-l", "sim:ssd-m", "sim:ssd-h", "sim:wd1600js"]
repeats = 2

[[workload]]
name = "mixed"
read_share = 0.5
size = "4KiB"
pattern = "random"
range = "1024MiB"
jobs = 32
measure = { time = "3s" }

[[workload]]
name = "rnd-wr"
read_share = 0.0
size = "16KiB"
pattern = "random"
range = "256MiB"
jobs = 4
first = 200
measure = { time = "3s" }

[[workload.precondition]]
read_share = 0.5
size = "4KiB"
pattern = "random"
range = "256MiB"
think = "1ms"
requests = 200

[[workload.precondition]]
idle = "10m"

[[workload]]
name = "seq-wr"
read_share = 0.0
size = "256KiB"
pattern = "sequential"
jobs = 32
measure = { time = "3s" }
"#;

/// The measurements a run leaves: `cells.json`, logs and series, by name.
type Measured = BTreeMap<PathBuf, Vec<u8>>;

fn run(dir: &Path, out: &str, options: &[&str]) -> Measured {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("chance.toml"), EXPERIMENT).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(dir).args(["run", "chance.toml", "--quiet", "--out", out]).args(options);
    let output = command.output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{output:?}");
    let out = dir.join(out);
    let mut measured = Measured::new();
    for folder in ["log", "series"] {
        for entry in fs::read_dir(out.join(folder)).unwrap().map(|e| e.unwrap()) {
            let name = Path::new(folder).join(entry.file_name());
            measured.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    // And of the three flash drives what they tell over time.
    assert_eq!(measured.len(), 2 * 3 * 4 * 2 + 3 * 3 * 2, "{:?}", measured.keys());
    measured.insert("cells.json".into(), fs::read(out.join("cells.json")).unwrap());
    measured
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The names of the files that differ.
fn differing<'a>(a: &'a Measured, b: &'a Measured) -> Vec<&'a Path> {
    assert!(a.keys().eq(b.keys()), "{:?} {:?}", a.keys(), b.keys());
    a.iter().filter(|(name, bytes)| b[*name] != **bytes).map(|(name, _)| name.as_path()).collect()
}

#[test]
fn threads_time_and_place_leave_no_trace() {
    let dir = temporary();
    let one = run(dir.path(), "one", &["--threads", "1"]);
    for threads in ["2", "7"] {
        let other = run(&dir.path().join(threads), "other/place", &["--threads", threads]);
        assert_eq!(differing(&one, &other), [] as [&Path; 0], "--threads {threads}");
    }
    let other = run(dir.path(), "written-out", &["--seed", "1"]);
    assert_eq!(differing(&one, &other), [] as [&Path; 0], "--seed 1 is the default");
}

#[test]
fn another_seed_gives_other_measurements() {
    let dir = temporary();
    let two = run(dir.path(), "two", &["--seed", "2"]);
    assert_eq!(differing(&two, &run(dir.path(), "again", &["--seed", "2"])), [] as [&Path; 0]);
    let three = run(dir.path(), "three", &["--seed", "3"]);
    let differing = differing(&two, &three);
    assert!(differing.contains(&Path::new("cells.json")));
    // What is sequential in one stream may be the same whatever the seed.
    for name in two.keys().filter(|n| n.starts_with("log")) {
        let chance = !name.to_string_lossy().contains("seq-wr");
        assert!(!chance || differing.contains(&name.as_path()), "{}", name.display());
    }
    // The repeats of one run are seeds of their own.
    let log = |repeat| &two[Path::new(&format!("log/chance.mixed.ssd-m.{repeat}.parquet"))];
    assert_ne!(log(1), log(2));
}

#[test]
fn the_measurements_name_no_path_and_no_time() {
    let dir = temporary();
    let measured = run(dir.path(), "out", &[]);
    let cells = String::from_utf8(measured[Path::new("cells.json")].clone()).unwrap();
    let place = dir.path().to_str().unwrap();
    let name = dir.path().file_name().unwrap().to_str().unwrap();
    for part in [place, name, "/tmp", "chance.toml", env!("CARGO_MANIFEST_DIR")] {
        assert!(!cells.contains(part), "cells.json names {part}");
    }
    let is_year = |w: &[u8]| w.starts_with(b"20") && w[2..4].iter().all(u8::is_ascii_digit);
    let date = cells.as_bytes().windows(5).position(|w| is_year(w) && w[4] == b'-');
    assert_eq!(date.map(|at| &cells[at..(at + 20).min(cells.len())]), None);
}
