//! Runs thousands of damaged files through every verb that reads them: no panic, no hang, and no
//! more than 512 MiB. A verb that lacks the memory for what it is asked says so first, which is why
//! none is given more.
//!
//! With `ASSAY_FULL` set, as in `.ci/full`, there are more than five thousand inputs, else a
//! quarter: run directories, request logs, specs, devices, price lists, traces and DiskSim's files,
//! each valid but for a few changes. They are the same in every run.

mod mutate;

use assay_analysis::ledger::{Knowledge, judge};
use assay_spec::catalog::{CONTROLLERS, DEVICES, LEDGERS, find};
use assay_spec::claims::Ledger;
use assay_spec::decode::Source;
use mutate::{Random, bytes, document, keep, lines, nothing_is_wrong, obeys, place, survives};
use std::fs;
use std::path::{Path, PathBuf};

const EXPERIMENT: &str = r#"format = 1
name = "slow"
question = "Is it slow?"
targets = ["sim:drive.toml", "raid1(sim:drive.toml*2, controller=perc-6i)", "null"]
repeats = 2

[[host]]
gap = "5us"

[[host]]
name = "cfq"
elevator = "cfq"
queue_depth = 4

[[workload]]
name = "read"
read_share = 0.5
size = "4KiB"
pattern = "random"
jobs = 4
measure = { requests = 60 }
first = 8
expect = ["p99 < 10s", "read.p50 > 1us or errors == 0"]

[[workload]]
name = "write"
read_share = 0.0
sizes = { 4KiB = 0.5, 16KiB = 0.5 }
pattern = "sequential"
rate = "20000/s"
arrivals = "poisson"
settle = { requests = 10 }
measure = { requests = 60 }
"#;

const DRIVE: &str = include_str!("fixtures/drive.toml");

const PRICES: &str = "format = 1\nname = \"mine\"\ntitle = \"T\"\nsource = \"S\"\n\
    date = \"2026-11\"\ncurrency = \"EUR\"\n\n[[price]]\ndevice = \"drive\"\ntitle = \"M\"\n\
    capacity = \"80GB\"\namount = 100\nwatts = 2.4\nidle_watts = 0.06\nendurance = \"1PB\"\n\n\
    [[price]]\ndevice = \"perc-6i\"\ntitle = \"C\"\ncapacity = \"1GB\"\nper_gb = 10.5\n\n\
    [memory]\nper_gb = 2.5\n\n[energy]\nper_kwh = 0.25\n";

/// Returns how many of `all` inputs a test makes.
fn share(all: usize) -> usize {
    if std::env::var_os("ASSAY_FULL").is_some() { all } else { all / 4 }
}

/// Makes a directory with valid files, and a run of them in `out`.
fn with_run() -> tempfile::TempDir {
    let directory = place();
    for (name, text) in [("slow.toml", EXPERIMENT), ("drive.toml", DRIVE), ("mine.toml", PRICES)] {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let run = ["run", "slow.toml", "--out", "out", "--quiet", "--prices", "mine.toml"];
    let ended = mutate::run(directory.path(), &run, None);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    directory
}

const READERS: [&[&str]; 6] = [
    &["report", "out"],
    &["report", "out", "--csv"],
    &["report", "out", "--json"],
    &["compare", "out"],
    &["claims", "out"],
    &["cost", "out"],
];

/// Changes one file of a run again and again, and runs every verb that reads runs.
fn runs(file: &str, rounds: usize, seed: u64) {
    let directory = with_run();
    let path = directory.path().join("out").join(file);
    let right = fs::read(&path).unwrap();
    let value = serde_json::from_slice(&right).unwrap();
    let random = &mut Random(seed);
    let mut taken = 0;
    for round in 0..rounds {
        let data = match random.below(4) {
            0 => bytes(&right, random),
            _ => document(&value, random),
        };
        fs::write(&path, &data).unwrap();
        let what = || keep(file, round, &data);
        let codes = READERS.map(|verb| survives(directory.path(), verb, &what));
        taken += usize::from(codes[0] != 2);
        // Most are refused; a run that is not can be resumed.
        if codes[0] != 2 || round % 10 == 0 {
            obeys(directory.path(), &["resume", "out", "--quiet"], &what);
        }
    }
    nothing_is_wrong();
    assert!(taken > rounds / 100, "some changes are harmless: {taken} of {rounds}");
}

#[test]
fn records_of_runs() {
    runs("run.json", share(600), 0x9e37_79b9_7f4a_7c15);
}

#[test]
fn cells_of_runs() {
    runs("cells.json", share(600), 0x2545_f491_4f6c_dd1d);
}

#[test]
fn experiments() {
    let directory = with_run();
    let place = directory.path();
    let random = &mut Random(3);
    for round in 0..share(500) {
        let data = lines(EXPERIMENT, random);
        fs::write(place.join("x.toml"), &data).unwrap();
        let what = || keep("experiment.toml", round, &data);
        let _ = fs::remove_dir_all(place.join("x"));
        obeys(place, &["run", "x.toml", "--out", "x", "--quiet"], &what);
        let timeline = ["explain", "--timeline", "sim:drive.toml", "--workload", "x.toml"];
        obeys(place, &timeline, &what);
        let _ = fs::remove_dir_all(place.join("x"));
        let both = ["compare", "null", "sim:drive.toml", "--work", "x.toml", "--out", "x"];
        obeys(place, &both, &what);
    }
    nothing_is_wrong();
}

#[test]
fn devices() {
    let directory = with_run();
    let place = directory.path();
    let others = ["ssd-m", "ssd-l", "exos-x24", "gp3-100", "seagate-archive-8tb", "optane-p4800x"];
    let mut right = vec![DRIVE; 3];
    right.extend(others.map(|name| find(DEVICES, name).expect("it is bundled").text));
    let experiment = EXPERIMENT.replace("drive.toml", "x.toml");
    fs::write(place.join("of-x.toml"), experiment).unwrap();
    let random = &mut Random(4);
    for round in 0..share(600) {
        let data = lines(right[random.below(right.len())], random);
        fs::write(place.join("x.toml"), &data).unwrap();
        let what = || keep("device.toml", round, &data);
        survives(place, &["devices", "x.toml"], &what);
        obeys(place, &["explain", "--timeline", "sim:x.toml", "--requests", "5"], &what);
        if round % 4 == 0 {
            let _ = fs::remove_dir_all(place.join("x"));
            obeys(place, &["run", "of-x.toml", "--out", "x", "--quiet"], &what);
        }
    }
    for round in 0..share(100) {
        let data = lines(find(CONTROLLERS, "perc-6i").expect("it is bundled").text, random);
        fs::write(place.join("x.toml"), &data).unwrap();
        let what = || keep("controller.toml", round, &data);
        let _ = fs::remove_dir_all(place.join("x"));
        let array = "raid0(sim:drive.toml*2, controller=x.toml)";
        obeys(place, &["run", "slow.toml", "--only", array, "--out", "x", "--quiet"], &what);
    }
    nothing_is_wrong();
}

/// Checks that a valid drive that needs 2 GiB is refused before it is built.
#[test]
fn what_needs_more_memory_is_refused() {
    let directory = with_run();
    let place = directory.path();
    let large =
        DRIVE.replace("blocks_per_plane = { value = 600", "blocks_per_plane = { value = 400000");
    assert_ne!(large, DRIVE);
    fs::write(place.join("x.toml"), large).unwrap();
    fs::write(place.join("of-x.toml"), EXPERIMENT.replace("drive.toml", "x.toml")).unwrap();
    let verbs: [&[&str]; 3] = [
        &["run", "of-x.toml", "--out", "x", "--quiet"],
        &["compare", "null", "sim:x.toml", "--work", "slow.toml", "--out", "x"],
        &["explain", "--timeline", "sim:x.toml", "--requests", "5"],
    ];
    for verb in verbs {
        let ended = mutate::run(place, verb, None);
        assert_eq!(ended.code, Some(3), "{verb:?}: {}", ended.said);
        assert!(ended.said.contains("error[too-much-memory]"), "{verb:?}: {}", ended.said);
        assert!(ended.said.contains("\nhint: ") && !place.join("x").exists(), "{verb:?}");
    }
}

/// Checks that a run that keeps too many latencies is refused before it begins: for its memory, and
/// because its results could not be read again.
#[test]
fn too_many_kept_latencies_are_refused() {
    let directory = with_run();
    let place = directory.path();
    let keeps = |first: u32, repeats: u32| {
        let text = EXPERIMENT.replace("first = 8", &format!("first = {first}"));
        text.replace("repeats = 2", &format!("repeats = {repeats}"))
    };
    for (text, id, code) in
        [(keeps(100_000, 100), "too-much-memory", 3), (keeps(100_000, 1000), "too-large-record", 2)]
    {
        fs::write(place.join("x.toml"), text).unwrap();
        let ended = mutate::run(place, &["run", "x.toml", "--out", "x", "--quiet"], None);
        assert_eq!(ended.code, Some(code), "{}", ended.said);
        assert!(ended.said.contains(&format!("error[{id}]")), "{}", ended.said);
        assert!(ended.said.contains("\nhint: ") && !place.join("x").exists(), "{}", ended.said);
    }
}

/// Checks that cells whose values would take more memory than there is are refused.
#[test]
fn cells_that_need_more_memory_than_there_is_are_refused() {
    let directory = with_run();
    let place = directory.path();
    let path = place.join("out/cells.json");
    let mut cells: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    cells["cells"][0]["repeats"][0]["warnings"] = serde_json::json!(vec![""; 10_000_000]);
    fs::write(&path, cells.to_string()).unwrap();
    for verb in [&["report", "out"][..], &["compare", "out"], &["resume", "out"]] {
        let ended = mutate::run(place, verb, None);
        assert_eq!(ended.code, Some(3), "{verb:?}: {}", ended.said);
        assert!(ended.said.contains("error[too-much-memory]"), "{verb:?}: {}", ended.said);
    }
}

#[test]
fn price_lists() {
    let directory = with_run();
    let place = directory.path();
    let random = &mut Random(5);
    for round in 0..share(400) {
        let data = lines(PRICES, random);
        fs::write(place.join("x.toml"), &data).unwrap();
        let what = || keep("prices.toml", round, &data);
        survives(place, &["cost", "out", "--prices", "x.toml"], &what);
        survives(place, &["cost", "out", "--prices", "x.toml", "--json", "--writes", "9GB"], &what);
        survives(place, &["report", "out", "--prices", "x.toml", "--csv"], &what);
        survives(place, &["compare", "out", "--prices", "x.toml"], &what);
    }
    nothing_is_wrong();
}

/// The logs of a run of `with_run`, by name.
fn logs(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.join("out/log")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn request_logs() {
    let directory = with_run();
    let place = directory.path();
    let right: Vec<Vec<u8>> = logs(place).iter().take(4).map(|p| fs::read(p).unwrap()).collect();
    let random = &mut Random(6);
    for round in 0..share(700) {
        let log = &right[random.below(right.len())];
        // The footer, which describes the columns, lies at the end.
        let data = match random.below(2) {
            0 => bytes(log, random),
            _ => {
                let (head, tail) = log.split_at(log.len() - log.len().min(1500));
                [head, &bytes(tail, random)].concat()
            }
        };
        fs::write(place.join("x.parquet"), &data).unwrap();
        let what = || keep("log.parquet", round, &data);
        survives(place, &["trace", "show", "x.parquet", "--html", "x.html"], &what);
    }
    nothing_is_wrong();
}

/// Records of blktrace: a read that is queued, sent and ended, and a write that does not end.
fn records() -> Vec<u8> {
    let mut data = Vec::new();
    for (time, action) in [1_u32, 7, 8, 1 << 16, 7 << 16].into_iter().enumerate() {
        let action = if action < 99 { action | 1 << 16 } else { action >> 16 | 2 << 16 };
        let words = [0x6561_7407, 0, time as u32, 0, 64, 0, 4096, action, 4711, 8 << 20, 0, 0];
        words.iter().for_each(|word: &u32| data.extend(word.to_le_bytes()));
    }
    data
}

#[test]
fn traces() {
    const TEXT: &str = include_str!("../../../fuzz/tiny/trace.txt");
    let directory = place();
    let place = directory.path();
    let random = &mut Random(7);
    let records = records();
    for round in 0..share(700) {
        let data = match random.below(3) {
            0 => bytes(&records, random),
            1 => bytes(TEXT.as_bytes(), random),
            _ => lines(TEXT, random),
        };
        fs::write(place.join("x.trace"), &data).unwrap();
        let what = || keep("trace", round, &data);
        let _ = fs::remove_dir_all(place.join("x"));
        let code = survives(place, &["trace", "import", "x.trace", "--out", "x"], &what);
        if code == 0 && round % 4 == 0 {
            survives(place, &["trace", "show", "x"], &what);
            let record = fs::read(place.join("x/trace.json")).unwrap();
            let changed = document(&serde_json::from_slice(&record).unwrap(), random);
            fs::write(place.join("x/trace.json"), &changed).unwrap();
            survives(place, &["trace", "show", "x"], &|| keep("trace.json", round, &changed));
        }
    }
    nothing_is_wrong();
}

#[test]
fn files_of_disksim() {
    const FILES: [(&str, &str); 3] = [
        ("tiny.diskspecs", include_str!("../../../fuzz/tiny/tiny.diskspecs")),
        ("tiny.model", include_str!("../../../fuzz/tiny/tiny.model")),
        ("tiny.seek", include_str!("../../../fuzz/tiny/tiny.seek")),
    ];
    let directory = place();
    let place = directory.path();
    let random = &mut Random(8);
    for round in 0..share(400) {
        FILES.iter().for_each(|(name, text)| fs::write(place.join(name), text).unwrap());
        let (name, text) = FILES[random.below(3)];
        let data = lines(text, random);
        fs::write(place.join(name), &data).unwrap();
        let what = || keep(name, round, &data);
        survives(place, &["devices", "--import-disksim", "tiny.diskspecs"], &what);
    }
    nothing_is_wrong();
}

/// Ledgers come with the program and no verb reads another, so they are parsed directly.
#[test]
fn ledgers() {
    let random = &mut Random(9);
    for round in 0..share(500) {
        let right = LEDGERS[random.below(LEDGERS.len())].text;
        let data = lines(right, random);
        let Ok(text) = std::str::from_utf8(&data) else { continue };
        let parsed = std::panic::catch_unwind(|| {
            Ledger::parse(Source { file: "x.toml", text })
                .map(|ledger| judge(&ledger, None, Knowledge::NOTHING).rows.len())
                .map_err(|e| e.to_string())
        });
        assert!(parsed.is_ok(), "{}", keep("claims.toml", round, &data));
    }
}
