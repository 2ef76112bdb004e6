//! One declaration, several measurements: hosts with names, lists, and the write cache off.

#![allow(clippy::print_stdout)] // a skipped test says why

mod command;

use command::{assay, temporary};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Two hosts, and a list.
const EXPERIMENT: &str = r#"
format = 1
name = "both"
question = "Is everything measured once?"
targets = ["sim:ssd-m", "raid0(sim:ssd-m*2)"]
repeats = 2

[[host]]
queue_depth = 1
gap = "20us"

[[host]]
name = "ncq"

[[workload]]
name = "{read_share}-{size}"
read_share = [1.0, 0.0]
size = ["4KiB", "16KiB"]
pattern = "random"
range = "8MiB"
jobs = 8
first = 20
measure = { requests = 200 }
"#;

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Runs `text` in `dir` to its end and returns its cells.
fn run(dir: &Path, text: &str, options: &[&str]) -> Vec<Value> {
    fs::write(dir.join("e.toml"), text).unwrap();
    let output = assay(dir, &[&["run", "e.toml", "--quiet", "--out", "out"], options].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let mut cells = json(&dir.join("out/cells.json"));
    std::mem::take(cells["cells"].as_array_mut().unwrap())
}

fn ids(cells: &[Value]) -> Vec<&str> {
    cells.iter().map(|c| c["id"].as_str().unwrap()).collect()
}

fn p50(dir: &Path, cell: &str) -> f64 {
    let (rest, target) = cell.split_once('@').unwrap();
    let (_, workload) = rest.split_once('/').unwrap();
    let output = assay(dir, &["report", "out", "--csv"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let start = format!("both,{workload},{target},p50,ns,");
    let line = text.lines().find(|l| l.starts_with(&start)).expect(cell);
    line[start.len()..].split(',').next().unwrap().parse().unwrap()
}

#[test]
fn every_modelled_target_is_measured_behind_every_host_and_others_once() {
    let dir = temporary();
    let cells = run(dir.path(), EXPERIMENT, &["--on", "null"]);
    let array = "raid0-2x-ssd-m";
    let targets = [
        "ssd-m".to_owned(),
        "ncq/ssd-m".into(),
        array.into(),
        format!("ncq/{array}"),
        "null".into(),
    ];
    let workloads = ["rd-4k", "rd-16k", "wr-4k", "wr-16k"];
    let expected: Vec<String> = (workloads.iter())
        .flat_map(|w| targets.iter().map(move |t| format!("both/{w}@{t}")))
        .collect();
    assert_eq!(ids(&cells), expected);
    // All of one host and eight of another: the drive of the second has more to do at a time.
    let seeds = |cell: &Value| cell["repeats"][0]["seed"].clone();
    assert_eq!(seeds(&cells[0]), seeds(&cells[1]), "the same requests behind each host");
    let (alone, queued) = (p50(dir.path(), ids(&cells)[0]), p50(dir.path(), ids(&cells)[1]));
    assert!(queued < 0.5 * alone, "eight reads at a time on many dies: {queued} and {alone}");

    for folder in ["log", "series"] {
        let entries = fs::read_dir(dir.path().join("out").join(folder)).unwrap();
        let names: Vec<_> = entries.map(|e| e.unwrap()).collect();
        assert!(names.iter().all(|e| e.file_type().unwrap().is_file()), "{folder}: {names:?}");
        let is_of_drive = |name: &str| name.ends_with(".drive.parquet");
        let of_drives = names.iter().filter(|e| is_of_drive(&e.file_name().to_string_lossy()));
        let of_drives = of_drives.count();
        assert_eq!(names.len() - of_drives, 2 * expected.len(), "{folder}");
    }
    assert!(dir.path().join("out/log/both.rd-4k.ncq+ssd-m.2.parquet").is_file());
    assert!(dir.path().join("out/log/both.wr-16k.ssd-m.1.parquet").is_file());
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.contains("ncq/ssd-m"));
}

#[test]
fn a_run_with_hosts_and_lists_is_gone_on_with() {
    let dir = temporary();
    run(dir.path(), EXPERIMENT, &[]);
    let path = dir.path().join("out/cells.json");
    let whole = fs::read(&path).unwrap();
    let mut half = json(&path);
    half["cells"].as_array_mut().unwrap().truncate(5);
    fs::write(&path, half.to_string()).unwrap();
    let log = dir.path().join("out/log/both.wr-16k.ncq+ssd-m.1.parquet");
    let before = fs::read(&log).unwrap();
    fs::remove_file(&log).unwrap();
    let output = assay(dir.path(), &["resume", "out", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(fs::read(&path).unwrap() == whole && fs::read(&log).unwrap() == before);
}

#[test]
fn the_first_requests_are_kept_in_the_order_of_submission() {
    let dir = temporary();
    let text = EXPERIMENT.replace("[1.0, 0.0]", "[0.5]").replace("first = 20", "first = 1000");
    let cells = run(dir.path(), &text, &[]);
    for repeat in cells.iter().flat_map(|c| c["repeats"].as_array().unwrap()) {
        let kept: Vec<u64> = serde_json::from_value(repeat["first"]["latency_ns"].clone()).unwrap();
        let kinds = repeat["first"]["ops"].as_str().unwrap();
        assert_eq!((kept.len(), kinds.len()), (200, 200), "all there are");
        let ops = repeat["ops"].as_array().unwrap();
        for (op, letter) in ops.iter().zip(['r', 'w']) {
            let of_kind: Vec<u64> = kept
                .iter()
                .zip(kinds.chars())
                .filter(|(_, k)| *k == letter)
                .map(|p| *p.0)
                .collect();
            assert_eq!(op["requests"], of_kind.len());
            assert_eq!(op["latency"]["sum_ns"], of_kind.iter().sum::<u64>().to_string());
            assert_eq!(op["latency"]["max_ns"], *of_kind.iter().max().unwrap());
        }
    }
    let none = run(&temporary_in(&dir), &text.replace("first = 1000", "first = 0"), &[]);
    assert!(none.iter().all(|c| c["repeats"][0].get("first").is_none()));
}

fn temporary_in(dir: &tempfile::TempDir) -> std::path::PathBuf {
    let path = dir.path().join("another");
    fs::create_dir(&path).unwrap();
    path
}

/// Sequential writes with the cache on and off.
const CACHE: &str = r#"
format = 1
name = "cache"
question = "Does a write wait for the platter?"
targets = ["sim:wd1600js", "raid0(sim:wd1600js*2)", "null"]

[[workload]]
name = "on"
read_share = 0.0
size = "4KiB"
pattern = "sequential"
measure = { requests = 50 }

[[workload]]
name = "off"
write_cache = false
read_share = 0.0
size = "4KiB"
pattern = "sequential"
measure = { requests = 50 }
"#;

fn mean(cell: &Value) -> f64 {
    let latency = &cell["repeats"][0]["ops"][0]["latency"];
    latency["sum_ns"].as_str().unwrap().parse::<f64>().unwrap() / 50.0
}

#[test]
fn without_a_write_cache_writes_wait_for_the_medium() {
    let dir = temporary();
    let cells = run(dir.path(), CACHE, &[]);
    let [disk, array, null, disk_off, array_off, null_off] = &cells[..] else { panic!("six") };
    // A turn of the disk is 8.3 ms.
    for (on, off) in [(disk, disk_off), (array, array_off)] {
        assert!(mean(on) < 1e6 && mean(off) > 4e6, "{} {}", mean(on), mean(off));
        assert!(off["summary"].as_str().unwrap().ends_with("write cache off"));
    }
    assert!(null["skipped"].is_null() && null_off["skipped"].is_null());
}

#[test]
fn a_real_target_is_measured_once_and_its_settings_are_left_alone() {
    let dir = temporary();
    let (_, workloads) = CACHE.split_once("[[workload]]").unwrap();
    let head = "format = 1\nname = \"cache\"\nquestion = \"?\"\n[[host]]\nname = \"a\"\n\
                [[host]]\nname = \"b\"\n[[workload]]";
    fs::write(dir.path().join("e.toml"), format!("{head}{workloads}")).unwrap();
    let options = ["--only", "./new.img,sim:wd1600js", "--size", "16MiB"];
    let start = ["run", "e.toml", "--quiet", "--out", "out"];
    let output = assay(dir.path(), &[&start[..], &options].concat());
    if output.status.code() == Some(3) {
        return println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let cells = json(&dir.path().join("out/cells.json"));
    let cells = cells["cells"].as_array().unwrap();
    let targets = ["new.img", "a/wd1600js", "b/wd1600js"];
    let expected: Vec<String> = ["on", "off"]
        .iter()
        .flat_map(|w| targets.iter().map(move |t| format!("cache/{w}@{t}")))
        .collect();
    assert_eq!(ids(cells), expected);
    let why = "the workload needs the write cache off, but assay does not change settings of a \
               drive: run `hdparm -W0 DRIVE`, then a workload without `write_cache`";
    assert_eq!(cells[3]["skipped"], why);
    assert!(cells.iter().enumerate().all(|(i, c)| i == 3 || c["skipped"].is_null()));
}
