//! One process at a time for a run directory and for a target, the same device from the first cell
//! to the last, and no option without effect.

mod command;

use command::assay;
use std::fs::{self, File};
use std::path::Path;

const SHORT: &str = r#"
format = 1
name = "short"
question = "What does it give?"
targets = []

[[workload]]
name = "rnd-rd"
read_share = 1.0
size = "4KiB"
pattern = "random"
measure = { requests = 200 }
"#;

fn temporary() -> tempfile::TempDir {
    let dir = command::temporary();
    fs::write(dir.path().join("short.toml"), SHORT).unwrap();
    dir
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// The command must end so, and say this.
fn says(dir: &Path, line: &str, code: i32, text: &str) {
    let output = assay(dir, &words(line));
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{line}: {talk}");
    assert_eq!(talk.trim_end(), text, "{line}");
}

fn done(dir: &Path, line: &str) {
    let output = assay(dir, &words(line));
    assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
}

#[test]
fn a_run_directory_belongs_to_one_process() {
    let dir = temporary();
    done(dir.path(), "run short.toml --only sim:ssd-m --quiet --out out");
    let held = File::open(dir.path().join("out")).unwrap();
    held.lock().unwrap();
    let busy = "error[run-busy]: another assay process is using out\nhint: wait until it has \
                ended; `fuser -v` on the directory says which process it is";
    says(dir.path(), "resume out --quiet", 3, busy);
    says(dir.path(), "run short.toml --only sim:ssd-m --quiet --out out", 3, busy);
    // One that is about to end, as a killed one is, is waited for.
    let ending = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        drop(held);
    });
    done(dir.path(), "resume out --quiet");
    ending.join().unwrap();
}

#[test]
fn a_target_is_measured_by_one_process() {
    let dir = temporary();
    done(dir.path(), "run short.toml --only a.img --size 1MiB --quiet --out one");
    let held = File::open(dir.path().join("a.img")).unwrap();
    held.lock().unwrap();
    let busy = "error[target-locked]: a.img is being measured already\n\
                hint: wait for the other run, which holds a lock on it, or name each target only \
                once";
    says(dir.path(), "run short.toml --only a.img --quiet --out two", 3, busy);
    drop(held);
    done(dir.path(), "run short.toml --only a.img --quiet --out two");
    // Two names of one file are one target.
    let twice = "run short.toml --only ./a.img,a.img --quiet --out three";
    let same = "error[target-locked]: ./a.img and a.img are the same target\nhint: name it once";
    says(dir.path(), twice, 2, same);
}

#[test]
fn a_run_goes_on_only_with_the_device_it_began_with() {
    let dir = temporary();
    done(dir.path(), "run short.toml --only a.img --size 1MiB --quiet --out out");
    let record = dir.path().join("out/run.json");
    let begun = fs::read_to_string(&record).unwrap();
    let hint = "hint: bring the first one back under this name, or start a new run with another \
                `--out`";
    let larger = begun.replace(r#""capacity":1048576"#, r#""capacity":2097152"#);
    assert_ne!(larger, begun);
    fs::write(&record, larger).unwrap();
    let said = "error[other-device]: a.img is not the one that the run began with: its size was \
                2MiB and is now 1MiB";
    says(dir.path(), "resume out --quiet", 3, &format!("{said}\n{hint}"));
    let at = begun.find(r#"["path""#).expect("an identity");
    let (before, after) = begun.split_at(at);
    let before = before.replace(r#"["serial""#, r#"["number""#);
    fs::write(&record, format!(r#"{before}["serial","OTHER-1"],{after}"#)).unwrap();
    let output = assay(dir.path(), &["resume", "out", "--quiet"]);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3));
    assert!(talk.contains("its serial was OTHER-1 and is now "), "{talk}");
    fs::write(&record, begun).unwrap();
    done(dir.path(), "resume out --quiet");
}

#[test]
fn an_option_without_effect_is_refused() {
    let dir = temporary();
    done(dir.path(), "run short.toml --only a.img --size 1MiB --quiet --out one");
    let cases = [
        (
            "--only sim:ssd-m --write x",
            "error: `--write x` has no effect: no target is a file or a device\nhint: leave it out \
             (modelled drives do not need it), or add `--on PATH`",
        ),
        (
            "--only a.img --destroy x",
            "error: `--destroy x` has no effect: no target is a block device\nhint: leave it out: \
             files that assay made do not need `--destroy`",
        ),
        (
            "--only sim:ssd-m --size 1MiB",
            "error: `--size 1MiB` has no effect: no target is a file\nhint: leave it out, or name \
             a new file with `--on NAME`: assay makes it with this size",
        ),
        (
            "--only a.img --size 2MiB",
            "error: `--size 2MiB` has no effect: a.img exists and its size is 1MiB\nhint: leave it \
             out, or name a file that does not exist",
        ),
    ];
    for (options, text) in cases {
        says(dir.path(), &format!("run short.toml {options} --quiet --out two"), 2, text);
        assert!(!dir.path().join("two").exists());
    }
    // The same command again is the usual way to measure a file again.
    done(dir.path(), "run short.toml --only a.img --size 1MiB --quiet --out two");
    let model = "error[unknown-target]: there is no target `ssd-m`\nhint: did you mean \
                 `sim:ssd-m`? For a file of this name, write `./ssd-m`";
    says(dir.path(), "run short.toml --only ssd-m --quiet --out three", 2, model);
}

#[test]
fn a_budget_cuts_what_would_take_longer() {
    let dir = temporary();
    let long = SHORT.replace("requests = 200", r#"time = "1h""#);
    fs::write(dir.path().join("long.toml"), long).unwrap();
    done(dir.path(), "run long.toml --only a.img --size 1MiB --budget 4s --quiet --out out");
    let text = fs::read_to_string(dir.path().join("out/cells.json")).unwrap();
    let cells: serde_json::Value = serde_json::from_str(&text).unwrap();
    let elapsed = cells["cells"][0]["repeats"][0]["elapsed"].as_u64().unwrap();
    assert!((20_000_000..4_000_000_000).contains(&elapsed), "{elapsed} ns");
    let said = "error: `--budget 5x` is not a time between one second and 584 years\n\
                hint: write a number and its unit, e.g. `90s` or `10m`";
    says(dir.path(), "run long.toml --only a.img --budget 5x --out two", 2, said);
}

#[test]
fn a_budget_leaves_what_does_not_begin_in_time() {
    let dir = temporary();
    let line = "run short.toml --only a.img,b.img,sim:ssd-m,sim:ssd-l,sim:ssd-h --size 1MiB \
                --threads 1 --budget 1s --out out";
    let said = assay(dir.path(), &words(line));
    let talk = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(talk.contains("the budget is used up and 3 cells are not measured"), "{talk}");
    let cells = || fs::read_to_string(dir.path().join("out/cells.json")).unwrap();
    assert!(cells().contains("a.img"), "of real ones one at least: {}", cells());
    assert!(!cells().contains("b.img") && !cells().contains("ssd-h"), "{}", cells());
    done(dir.path(), "resume out --quiet");
    done(dir.path(), "resume out --quiet");
    let all = cells().contains("b.img") && cells().contains("ssd-h");
    assert!(all, "each goes on by one at least");
}
