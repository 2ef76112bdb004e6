//! What others measure in a guest is what our workloads measure, and elevators matter where they
//! should.

use super::{is_full, no_guests, two_at_a_time};
use crate::command::{assay, temporary};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Runs an experiment; returns its cells.
pub(super) fn run(directory: &Path, experiment: &str) -> Vec<Value> {
    fs::write(directory.join("experiment.toml"), experiment).unwrap();
    let ran = assay(directory, &["run", "experiment.toml", "--out", "run", "--quiet"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let cells = fs::read_to_string(directory.join("run/cells.json")).unwrap();
    let cells: Value = serde_json::from_str(&cells).unwrap();
    cells["cells"].as_array().unwrap().clone()
}

/// Runs an experiment; returns the bytes a second of each cell by its name.
pub(super) fn measured(directory: &Path, experiment: &str) -> Vec<(String, f64)> {
    let rate = |cell: &Value| {
        let repeat = &cell["repeats"][0];
        let bytes =
            repeat["ops"].as_array().unwrap().iter().map(|op| op["bytes"].as_f64().unwrap());
        let rate = bytes.sum::<f64>() / repeat["elapsed"].as_f64().unwrap() * 1e9;
        (cell["id"].as_str().unwrap().to_owned(), rate)
    };
    run(directory, experiment).iter().map(rate).collect()
}

/// What fio does with a file that is laid out and not cached, by its name for it: its `write` is
/// our `rewrite`.
const FIO: &str = "mkfs.ext4 -q -F /dev/vda && mount /dev/vda /run/mnt &&
dd if=/dev/zero of=/run/mnt/file bs=1M count=32 conv=fsync 2>/dev/null &&
umount /run/mnt && mount /dev/vda /run/mnt &&
exec fio --name=x --filename=/run/mnt/file --rw=$0 --bs=4k --size=32m --direct=1 --ioengine=psync \
  --clocksource=clock_gettime --random_generator=lfsr --output-format=json";

#[test]
fn fio_agrees_within_three_percent() {
    if no_guests() {
        return;
    }
    if std::process::Command::new("fio").arg("--version").output().is_err() {
        println!("skipped: fio is not installed");
        return;
    }
    let directory = temporary();
    let ours = measured(
        directory.path(),
        r#"
format = 1
name = "files"
question = "The same as fio?"
log = false
targets = ["linux(fs=ext4, sim:ssd-l)", "linux(fs=ext4, sim:wd-raptor)"]
[[workload]]
name = "{file}"
file = ["read", "random-read", "rewrite", "random-write"]
size = "4KiB"
length = "32MiB"
direct = true
# fio does not count the time of its last fsync.
sync = "never"
"#,
    );
    let ways = [
        ("read", "read"),
        ("randread", "random-read"),
        ("write", "rewrite"),
        ("randwrite", "random-write"),
    ];
    let drives = if is_full() { 2 } else { 1 };
    two_at_a_time(ways.len() * drives, |index| {
        let (drive, (rw, name)) = (["ssd-l", "wd-raptor"][index % 2], ways[index / drives]);
        let out = format!("fio-{drive}-{rw}");
        let line =
            ["linux", "run", "-q", "--out", &out, "--drive", drive, "--", "sh", "-c", FIO, rw];
        let output = assay(directory.path(), &line);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let start = text.find('{').unwrap_or_else(|| panic!("{rw} on {drive}: {text}"));
        let job: Value = serde_json::from_str(&text[start..]).unwrap();
        let way = &job["jobs"][0][if rw.contains("read") { "read" } else { "write" }];
        let fio = way["io_bytes"].as_f64().unwrap() / way["runtime"].as_f64().unwrap() * 1e3;
        let id = format!("files/{name}@ext4-{drive}");
        let (_, mine) = ours.iter().find(|(cell, _)| *cell == id).unwrap();
        let ratio = mine / fio;
        println!("{rw} on {drive}: ours to fio's {ratio:.4}");
        assert!((ratio - 1.0).abs() < 0.03, "{rw} on {drive}: {mine} against fio's {fio}");
    });
}

#[test]
fn elevators_matter_where_the_drive_has_no_order_of_its_own() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let all = measured(
        directory.path(),
        r#"
format = 1
name = "elevators"
question = "Where do elevators matter?"
log = false
targets = [
    "linux(raw, sim:wd-raptor)",
    "linux(raw, scheduler=mq-deadline, sim:wd-raptor)",
    "linux(raw, scheduler=bfq, sim:wd-raptor)",
    "linux(raw, scheduler=noop, sim:wd-raptor)",
    "linux(raw, scheduler=deadline, sim:wd-raptor)",
    "linux(raw, scheduler=cfq, sim:wd-raptor)",
    "linux(raw, sim:barracuda-7200-11)",
    "linux(raw, scheduler=mq-deadline, sim:barracuda-7200-11)",
    "linux(raw, scheduler=bfq, sim:barracuda-7200-11)",
    "linux(raw, sim:ssd-m)",
    "linux(raw, scheduler=mq-deadline, sim:ssd-m)",
    "linux(raw, scheduler=bfq, sim:ssd-m)",
]
[[workload]]
name = "rnd-rd"
read_share = 1.0
size = "4KiB"
pattern = "random"
queue_depth = 32
measure = { requests = 1000 }
"#,
    );
    let rate = |target: &str| {
        let id = format!("elevators/rnd-rd@raw-{target}");
        all.iter().find(|(cell, _)| *cell == id).unwrap_or_else(|| panic!("{id}: {all:?}")).1
    };
    let gain = |drive: &str, elevator: &str| rate(&format!("{drive}-{elevator}")) / rate(drive);
    // Those of 2009 stand between the kernel and the drive.
    let first = gain("wd-raptor", "noop");
    assert!((first - 1.0).abs() < 0.05, "first come, first served: {first}");
    for elevator in ["deadline", "cfq"] {
        let sorted = gain("wd-raptor", elevator);
        println!("{elevator}: {sorted:.2}");
        assert!(sorted > 1.25, "{elevator} on a disk that serves one command: {sorted}");
    }
    for elevator in ["mq-deadline", "bfq"] {
        let (without, with) = (gain("wd-raptor", elevator), gain("barracuda-7200-11", elevator));
        let flash = gain("ssd-m", elevator);
        println!("{elevator}: {without:.2} without NCQ, {with:.2} with, {flash:.2} on flash");
        assert!(without > 1.25, "{elevator} on a disk that serves one command: {without}");
        assert!((with - 1.0).abs() < 0.05, "{elevator} on a disk that orders them itself: {with}");
        assert!((flash - 1.0).abs() < 0.05, "{elevator} on flash: {flash}");
    }
}

/// A ring lets go of its file late: the array below it must be stopped all the same, and alike each
/// time.
#[test]
fn streams_on_a_file_system_over_an_array_are_measured_twice_alike() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let experiment = r#"
format = 1
name = "streams"
question = "Are they measured?"
log = false
targets = ["linux(fs=ext3, md-raid0(sim:ssd-l*2), memory=256MiB, partition=256MiB)"]
[[workload]]
name = "rnd-rd"
read_share = 1.0
size = "4KiB"
pattern = "random"
range = "32MiB"
queue_depth = 8
measure = { requests = 500 }
"#;
    let once = || {
        let rates = measured(directory.path(), experiment);
        let cells = fs::read(directory.path().join("run/cells.json")).unwrap();
        fs::remove_dir_all(directory.path().join("run")).unwrap();
        (rates, cells)
    };
    let (first, second) = (once(), once());
    assert!(first.0[0].1 > 1e6, "{:?}", first.0);
    assert!(first.1 == second.1, "other cells the second time");
}

/// A read has no random numbers. Its repeats differ because each has other pages of memory free.
#[test]
fn repeats_of_a_read_differ() {
    if no_guests() {
        return;
    }
    let cells = run(
        temporary().path(),
        r#"
format = 1
name = "repeats"
question = "Do repeats differ?"
scale = "1/64"
log = false
repeats = 3
targets = [
    "linux(fs=btrfs, raid0(sim:x25-m-g2*4, controller=areca-1680), memory=6GiB, partition=32GiB)",
]
[[workload]]
name = "read"
file = "read"
size = "64KiB"
length = "8GiB"
"#,
    );
    let elapsed = |repeat: &Value| repeat["elapsed"].as_u64().unwrap();
    let all: Vec<u64> = cells[0]["repeats"].as_array().unwrap().iter().map(elapsed).collect();
    assert_eq!(all.len(), 3);
    assert!(all.iter().any(|other| *other != all[0]), "{all:?}");
}
