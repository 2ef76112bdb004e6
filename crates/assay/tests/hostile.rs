//! Files that are damaged or meant to harm: their readers refuse them at once, with a hint, and
//! show nothing of them that acts on a terminal or a browser.

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Two workloads on two drives, with an expectation.
const EXPERIMENT: &str = r#"format = 1
name = "slow"
question = "Is it slow?"
targets = ["sim:ssd-m", "sim:ssd-l"]
repeats = 2

[[workload]]
name = "read"
read_share = 1.0
size = "4KiB"
pattern = "random"
measure = { requests = 200 }
first = 4
expect = ["p99 < 10s"]

[[workload]]
name = "write"
read_share = 0.0
size = "4KiB"
pattern = "random"
measure = { requests = 200 }
"#;

const PRICES: &str = "format = 1\nname = \"mine\"\ntitle = \"T\"\nsource = \"S\"\n\
    date = \"2026-11\"\ncurrency = \"EUR\"\n[[price]]\ndevice = \"ssd-m\"\ntitle = \"M\"\n\
    capacity = \"80GB\"\namount = 100\nwatts = 2.4\nidle_watts = 0.06\nendurance = \"1PB\"\n";

/// Runs the command; panics if it takes longer than 30 seconds.
fn assay(place: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(place).args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let begun = Instant::now();
    while child.try_wait().expect("it is our child").is_none() {
        if begun.elapsed() > Duration::from_secs(30) {
            child.kill().expect("it is our child");
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().expect("it has ended")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks that the command refuses with this exit code, a hint, and `words` in its message.
fn refused(place: &Path, arguments: &[&str], code: i32, words: &str) {
    let output = assay(place, arguments);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert!(said.contains(words), "{arguments:?}: {words}: {said}");
    assert!(said.contains("\nhint: "), "{arguments:?}: {said}");
}

/// Makes a temporary directory, in memory if that is possible.
fn temporary() -> TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory.or_else(|_| tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))).unwrap()
}

/// Files that `assay report` makes. It does not take copies for its own, and does not replace them.
const REPORTED: [&str; 4] = ["findings.json", "claims.json", "cells.csv", "report.html"];

/// Makes a directory with a run in `out`, a copy of one that is made once.
fn with_run() -> TempDir {
    static RUN: OnceLock<TempDir> = OnceLock::new();
    let run = RUN.get_or_init(|| {
        let directory = temporary();
        fs::write(directory.path().join("slow.toml"), EXPERIMENT).unwrap();
        fs::write(directory.path().join("mine.toml"), PRICES).unwrap();
        let run = ["run", "slow.toml", "--out", "out", "--quiet", "--prices", "mine.toml"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        let output = command.current_dir(&directory).args(run).output().expect("the binary runs");
        assert!(output.status.success(), "{}", said(&output));
        directory
    });
    let directory = temporary();
    copy(run.path(), directory.path());
    directory
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&to).unwrap();
            copy(&entry.path(), &to);
        } else if !REPORTED.iter().any(|name| entry.file_name() == *name) {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

const VERBS: [&[&str]; 5] = [
    &["report", "out"],
    &["compare", "out"],
    &["claims", "oslo09", "out"],
    &["cost", "out"],
    &["resume", "out"],
];

type Change = fn(&mut Value);

/// Checks that every verb refuses a run with each of these changes of the file.
fn changes_are_refused(file: &str, changes: &[(&str, Change)]) {
    let directory = with_run();
    let path = directory.path().join("out").join(file);
    let right = fs::read(&path).unwrap();
    for (words, change) in changes {
        let mut value: Value = serde_json::from_slice(&right).unwrap();
        change(&mut value);
        fs::write(&path, serde_json::to_vec(&value).unwrap()).unwrap();
        for verb in VERBS {
            refused(directory.path(), verb, 2, words);
        }
    }
    fs::write(&path, right).unwrap();
    assert_eq!(assay(directory.path(), &["report", "out"]).status.code(), Some(0));
}

#[test]
fn a_run_that_contradicts_itself_is_refused() {
    let cases: [(&str, Change); 19] = [
        ("there is no experiment `other`", |run| {
            run["plan"][0]["experiment"] = json!("other");
            run["plan"][0]["id"] = json!("other/read@ssd-m");
        }),
        ("there is no workload `erase` in it", |run| {
            run["plan"][0]["workload"] = json!("erase");
            run["plan"][0]["id"] = json!("slow/erase@ssd-m");
        }),
        ("there is no target `ssd-x`", |run| {
            run["plan"][0]["target"] = json!("ssd-x");
            run["plan"][0]["id"] = json!("slow/read@ssd-x");
        }),
        ("there is no target `fast/ssd-m`", |run| {
            run["plan"][0]["target"] = json!("fast/ssd-m");
            run["plan"][0]["id"] = json!("slow/read@fast/ssd-m");
        }),
        ("the plan calls the cell of slow/read@ssd-m `x`", |run| {
            run["plan"][0]["id"] = json!("x");
        }),
        ("the plan has the cell `slow/read@ssd-m` twice", |run| {
            run["plan"][1] = run["plan"][0].clone();
        }),
        ("there is no experiment `slow`", |run| run["experiments"] = json!([])),
        ("two experiments are called `slow`", |run| {
            run["experiments"] = json!([run["experiments"][0], run["experiments"][0]]);
        }),
        ("`../slow` cannot be the name of an experiment", |run| {
            run["experiments"][0]["name"] = json!("../slow");
        }),
        ("the text of the experiment `slow`: experiment has no `question`", |run| {
            let text = run["experiments"][0]["text"].as_str().unwrap();
            run["experiments"][0]["text"] = json!(text.replace("question", "answer"));
        }),
        ("has the text of one called `fast`", |run| {
            let text = run["experiments"][0]["text"].as_str().unwrap();
            run["experiments"][0]["text"] = json!(text.replace("\"slow\"", "\"fast\""));
        }),
        ("there is no workload `read` in it", |run| {
            let text = run["experiments"][0]["text"].as_str().unwrap();
            run["experiments"][0]["text"] = json!(text.replace("\"read\"", "\"load\""));
        }),
        ("there is no target `ssd-m`", |run| run["targets"] = json!([])),
        ("two targets are called `ssd-m`", |run| run["targets"][1]["name"] = json!("ssd-m")),
        ("cannot be the name of a target", |run| run["targets"][0]["name"] = json!("a\u{1b}b")),
        ("has an unknown kind: \"tape\"", |run| run["targets"][0]["kind"] = json!("tape")),
        ("whose time is its own", |run| run["targets"][0]["virtual_time"] = json!(false)),
        ("but its `spec` is missing", |run| run["targets"][0]["spec"] = json!(null)),
        ("is not a price", |run| {
            run["prices"]["given"] = json!([
                { "device": "ssd-m", "amount": 5, "currency": "EUR", "date": "2026-11-31" }
            ]);
        }),
    ];
    changes_are_refused("run.json", &cases);
}

#[test]
fn repeats_of_another_run_are_refused() {
    let cases: [(&str, Change); 2] = [
        ("repeat 1: it is of another run or cell", |cells| {
            cells["cells"][0]["repeats"].as_array_mut().unwrap().reverse();
        }),
        ("repeat 2: it is of another run or cell", |cells| {
            cells["cells"][0]["repeats"][1]["seed"] = json!(5);
        }),
    ];
    changes_are_refused("cells.json", &cases);
}

#[test]
fn cells_that_nobody_measured_are_refused() {
    let cases: [(&str, Change); 20] = [
        ("the plan has no cell `slow/erase@ssd-m`", |cells| {
            cells["cells"][0]["id"] = json!("slow/erase@ssd-m");
        }),
        ("the plan has no cell `slow/read@ssd-m`", |cells| {
            cells["cells"][0]["target"] = json!("ssd-l");
        }),
        ("it has the cell `slow/read@ssd-m` twice", |cells| {
            cells["cells"][1] = cells["cells"][0].clone();
        }),
        ("cell `slow/read@ssd-m`: it has 1 repeats, but its experiment has 2", |cells| {
            cells["cells"][0]["repeats"].as_array_mut().unwrap().pop();
        }),
        ("it has no repeats, and no reason for that", |cells| {
            cells["cells"][0]["repeats"] = json!([]);
        }),
        ("it was skipped, but it has 2 repeats", |cells| {
            cells["cells"][0]["skipped"] = json!("no")
        }),
        ("repeat 1: `elapsed` is 0", |cells| {
            cells["cells"][0]["repeats"][0]["elapsed"] = json!(0);
        }),
        ("its phase is impossibly long: 18446744073709551615 ns", |cells| {
            cells["cells"][0]["repeats"][0]["elapsed"] = json!(u64::MAX);
        }),
        ("invalid value: integer `-1`", |cells| {
            cells["cells"][0]["repeats"][0]["elapsed"] = json!(-1);
        }),
        ("read requests: 7 were counted, but the histogram holds 200", |cells| {
            cells["cells"][0]["repeats"][0]["ops"][0]["requests"] = json!(7);
        }),
        ("it has read requests twice", |cells| {
            let ops = &mut cells["cells"][0]["repeats"][0]["ops"];
            *ops = json!([ops[0], ops[0]]);
        }),
        ("`series`: the sum of `bytes` is 819200", |cells| {
            cells["cells"][0]["repeats"][0]["ops"][0]["bytes"] = json!(u64::MAX);
        }),
        ("`series`: its lists have different lengths", |cells| {
            cells["cells"][0]["repeats"][0]["series"]["bytes"] = json!([]);
        }),
        ("`series`: 1 intervals of 0 ns", |cells| {
            cells["cells"][0]["repeats"][0]["series"]["interval"] = json!(0);
        }),
        ("histogram bucket out of range", |cells| {
            cells["cells"][0]["repeats"][0]["ops"][0]["latency"]["buckets"] =
                json!([[9_999_999, 1]]);
        }),
        ("histogram sums are not those of its buckets", |cells| {
            cells["cells"][0]["repeats"][0]["ops"][0]["latency"]["sum_ns"] = json!("1");
        }),
        ("invalid type: null, expected f64", |cells| {
            cells["cells"][0]["repeats"][0]["device"] = json!([["wa", null]]);
        }),
        ("`first`: it has 1 latencies, but 2 kinds", |cells| {
            cells["cells"][0]["repeats"][0]["first"] = json!({ "latency_ns": [5], "ops": "rw" });
        }),
        ("`first`: \"xé\" are not kinds of requests", |cells| {
            cells["cells"][0]["repeats"][0]["first"] =
                json!({ "latency_ns": [5, 6, 7], "ops": "xé" });
        }),
        ("`steady`: a window of 0 in 1 rounds", |cells| {
            cells["cells"][0]["repeats"][0]["steady"] = json!({
                "rounds": [5.0], "window": 0, "range": 0.2, "slope": 0.1, "reached": false,
            });
        }),
    ];
    changes_are_refused("cells.json", &cases);
}

/// Makes a directory, a link to a device and a pipe; returns their names and the words about each.
fn not_files(place: &Path) -> [(&'static str, &'static str); 3] {
    fs::create_dir(place.join("folder.toml")).unwrap();
    symlink("/dev/zero", place.join("zero.toml")).unwrap();
    pipe(&place.join("pipe.toml"));
    [
        ("folder.toml", "it is a directory"),
        ("zero.toml", "it is a device"),
        ("pipe.toml", "it is a pipe"),
    ]
}

fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let directory = with_run();
    let place = directory.path();
    for (name, words) in not_files(place) {
        let target = format!("sim:{name}");
        let array = format!("raid0(sim:ssd-m*2, controller={name})");
        let readers: [(&[&str], i32); 11] = [
            (&["run", name], 2),
            (&["run", "quick", "--only", &target], 2),
            (&["run", "quick", "--only", &array], 2),
            (&["run", "quick", "--prices", name], 2),
            (&["report", "out", "--prices", name], 2),
            (&["compare", "sim:ssd-m", "sim:ssd-l", "--work", name], 2),
            (&["devices", name], 2),
            (&["devices", "--import-disksim", name], 2),
            (&["explain", "--timeline", &target], 2),
            (&["explain", "--timeline", "sim:ssd-m", "--workload", name], 2),
            (&["trace", "show", name], if name == "folder.toml" { 2 } else { 3 }),
        ];
        for (arguments, code) in readers {
            let words = if arguments[0] == "trace" && code == 2 { "holds no" } else { words };
            refused(place, arguments, code, words);
        }
        if name != "folder.toml" {
            refused(place, &["trace", "import", name], 3, words);
        }
    }
}

#[test]
fn a_run_directory_with_other_things_in_it_is_not_waited_for() {
    for (file, verbs) in [("run.json", &VERBS[..]), ("cells.json", &VERBS[..])] {
        let directory = with_run();
        let place = directory.path();
        fs::remove_file(place.join("out").join(file)).unwrap();
        pipe(&place.join("out").join(file));
        for verb in verbs {
            refused(place, verb, 2, "cannot be read: it is a pipe");
        }
        fs::remove_file(place.join("out").join(file)).unwrap();
        symlink("/dev/zero", place.join("out").join(file)).unwrap();
        for verb in verbs {
            refused(place, verb, 2, "cannot be read: it is a device");
        }
    }
    let directory = temporary();
    pipe(&directory.path().join("trace.json"));
    refused(directory.path(), &["trace", "show", "."], 3, "it is a pipe");
}

#[test]
fn what_is_too_large_is_not_read() {
    let directory = with_run();
    let place = directory.path();
    let large = fs::File::create(place.join("large.toml")).unwrap();
    large.set_len(1 << 40).unwrap();
    let words = "it has more than 1MiB";
    for arguments in [
        &["run", "large.toml"][..],
        &["devices", "large.toml"],
        &["run", "quick", "--prices", "large.toml"],
        &["devices", "--import-disksim", "large.toml"],
    ] {
        refused(place, arguments, 2, words);
    }
    let run = fs::File::create(place.join("out/run.json")).unwrap();
    run.set_len(1 << 40).unwrap();
    refused(place, &["report", "out"], 2, "it has more than 64MiB");
}

#[test]
fn what_files_say_does_nothing_to_a_terminal() {
    let directory = with_run();
    let place = directory.path();
    let evil = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}<script>alert(1)</script>\"'&";
    let mut run = read(&place.join("out/run.json"));
    for key in ["title", "study", "started"] {
        run[key] = json!(evil);
    }
    for key in ["title", "written"] {
        run["targets"][0][key] = json!(evil);
    }
    run["targets"][0]["identity"] = json!([[evil, evil]]);
    run["host"]["cpu"] = json!(evil);
    run["host"]["kernel"] = json!(evil);
    run["command"] = json!([evil, evil]);
    run["experiments"][0]["file"] = json!(evil);
    fs::write(place.join("out/run.json"), serde_json::to_vec(&run).unwrap()).unwrap();
    let mut cells = read(&place.join("out/cells.json"));
    cells["cells"][0]["summary"] = json!(evil);
    cells["cells"][0]["repeats"][0]["warnings"] = json!([evil]);
    // The name of a counter becomes one of a table's columns.
    let named = "<script>alert(1)</script>\"'&";
    cells["cells"][0]["repeats"][0]["device"] = json!([[named, 1.5]]);
    cells["cells"][1]["skipped"] = json!(evil);
    cells["cells"][1]["repeats"] = json!([]);
    fs::write(place.join("out/cells.json"), serde_json::to_vec(&cells).unwrap()).unwrap();
    let verbs: [&[&str]; 7] = [
        &["report", "out"],
        &["report", "out", "--json"],
        &["report", "out", "--csv"],
        &["compare", "out"],
        &["claims", "oslo09", "out"],
        &["cost", "out", "--price", "ssd-l=5EUR"],
        &["cost", "out", "--json"],
    ];
    for verb in verbs {
        let output = assay(place, verb);
        assert_ne!(output.status.code(), Some(101), "{verb:?}: {}", said(&output));
        for bytes in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(bytes);
            assert!(!text.replace("\r\n", "\n").contains(unseen), "{verb:?}: {text:?}");
        }
        if verb.contains(&"--json") {
            serde_json::from_slice::<Value>(&output.stdout).unwrap();
        }
    }
    let page = fs::read_to_string(place.join("out/report.html")).unwrap();
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
    assert!(!page.contains(unseen) && !page.contains("\"'&"), "{page}");
    for name in [evil, "a\nhint: curl evil", "\u{ad}"] {
        cells["cells"][0]["repeats"][0]["device"] = json!([[name, 1.5]]);
        fs::write(place.join("out/cells.json"), serde_json::to_vec(&cells).unwrap()).unwrap();
        refused(place, &["report", "out"], 2, "`device` has 1.5 for");
    }
    // The message quotes the line that is wrong.
    fs::write(place.join("slow.toml"), format!("{EXPERIMENT}\n{evil} = 1\n")).unwrap();
    let output = assay(place, &["run", "slow.toml"]);
    assert!(said(&output).contains(r"\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}"), "{}", said(&output));
    assert!(!said(&output).contains(unseen), "{}", said(&output));
}

/// Returns the place of each string and each `null` below `value`, as JSON pointers. Of lists it
/// takes the first two items.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) | Value::Null => found.push(at.to_owned()),
        Value::Array(items) => {
            let items = items.iter().take(2).enumerate();
            items.for_each(|(i, item)| places(item, &format!("{at}/{i}"), found));
        }
        Value::Object(keys) => {
            keys.iter().for_each(|(key, item)| places(item, &format!("{at}/{key}"), found));
        }
        Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Checks that no line of the output looks like an error or a hint of this program.
fn forges_nothing(place: &Path, verb: &[&str], at: &str) {
    let output = assay(place, verb);
    for bytes in [&output.stdout, &output.stderr] {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split(['\n', '\r']);
        assert!(!lines.any(|line| line.trim_start().starts_with("forged:")), "{at}: {text}");
    }
}

#[test]
fn what_files_say_begins_no_line() {
    const END: &str = "\nforged: x\r\nforged: y";
    let directory = with_run();
    let place = directory.path();
    for file in ["run.json", "cells.json"] {
        let path = place.join("out").join(file);
        let right = fs::read(&path).unwrap();
        let mut value = read(&path);
        if file == "cells.json" {
            value["cells"][0]["repeats"][0]["warnings"] = json!(["w"]);
            value["cells"][1]["failed"] = json!(true);
            value["cells"][1]["repeats"] = json!([]);
            value["cells"][1]["skipped"] = json!("why");
        }
        let mut all = Vec::new();
        places(&value, "", &mut all);
        assert!(all.len() > 10, "{all:?}");
        // Experiments, drives and prices are whole files.
        for at in all.iter().filter(|at| !at.ends_with("/text") && !at.ends_with("/spec")) {
            let mut value = value.clone();
            let one = value.pointer_mut(at).unwrap();
            *one = json!(one.as_str().unwrap_or_default().to_owned() + END);
            fs::write(&path, serde_json::to_vec(&value).unwrap()).unwrap();
            VERBS.iter().for_each(|verb| forges_nothing(place, verb, at));
        }
        fs::write(&path, right).unwrap();
    }
    for (file, verb) in [
        ("mine.toml", &["cost", "out", "--prices", "mine.toml"][..]),
        ("slow.toml", &["run", "slow.toml", "--plan", "--only", "sim:ssd-m\nforged: x"]),
    ] {
        let right = fs::read_to_string(place.join(file)).unwrap();
        let names: Vec<_> = right.match_indices("\"\n").map(|(at, _)| at).collect();
        for at in names {
            let (head, tail) = right.split_at(at);
            fs::write(place.join(file), format!("{head}\\nforged: x{tail}")).unwrap();
            forges_nothing(place, verb, head);
        }
        fs::write(place.join(file), right).unwrap();
    }
}

/// Returns `true` for invisible characters that act on a terminal.
fn unseen(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || ('\u{202a}'..='\u{202e}').contains(&c)
}

#[test]
fn a_failure_is_json_for_whoever_asked_for_json() {
    let directory = with_run();
    let place = directory.path();
    fs::write(place.join("wrong.toml"), "format = 1\nname = 5\n").unwrap();
    let cases: [(&[&str], &str, i64); 14] = [
        (&["run", "wrong.toml", "--json"], "wrong-type", 2),
        (&["run", "nothing", "--json"], "usage", 2),
        (&["run", "--json"], "usage", 2),
        (&["run", "quick", "--sed", "1", "--json"], "usage", 2),
        (&["run", "quick", "--json", "--only", "sim:nothing"], "no-such-model", 2),
        (&["run", "slow.toml", "--json", "--out", "out"], "run-exists", 2),
        (&["report", "nothing", "--json"], "usage", 2),
        (&["resume", "nothing", "--json"], "usage", 2),
        (&["compare", "sim:ssd-m", "--json"], "usage", 2),
        (&["claims", "nothing", "--json"], "usage", 2),
        (&["cost", "nothing", "--json"], "usage", 2),
        (&["devices", "nothing", "--json"], "no-such-model", 2),
        (&["trace", "show", "nothing", "--json"], "log-unreadable", 3),
        (&["explain", "nothing-at-all", "--json"], "usage", 2),
    ];
    for (arguments, id, code) in cases {
        let output = assay(place, arguments);
        let found: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}", said(&output)));
        let error = &found["error"];
        assert_eq!((&error["id"], &error["exit_code"]), (&json!(id), &json!(code)), "{found}");
        assert_eq!(output.status.code().map(i64::from), Some(code), "{arguments:?}");
        let (message, hint) = (error["message"].as_str().unwrap(), error["hint"].as_str().unwrap());
        assert!(!message.is_empty() && !hint.is_empty(), "{found}");
        assert!(said(&output).contains(message) && said(&output).contains(hint), "{found}");
        let explained = assay(place, &["explain", id]);
        assert_eq!(explained.status.code(), Some(0), "{id}");
    }
    let output = assay(place, &["run", "wrong.toml", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let place_of = json!({ "file": "wrong.toml", "line": 2, "column": 8 });
    assert_eq!(found["error"]["place"], place_of);
}

#[test]
fn a_run_json_of_somebody_else_is_no_run() {
    let directory = temporary();
    let place = directory.path();
    fs::create_dir(place.join("theirs")).unwrap();
    fs::write(place.join("theirs/run.json"), "{\"name\": \"my app\"}").unwrap();
    let run = ["run", "quick", "--only", "null", "--out", "theirs"];
    refused(place, &run, 2, "error[out-not-empty]: theirs is not empty\n");
    let output = assay(place, &run);
    assert!(!said(&output).contains("assay resume"), "{}", said(&output));
}

#[test]
fn logs_of_fio_are_no_traces() {
    let directory = temporary();
    let place = directory.path();
    for (name, line) in [
        ("new_lat.1.log", "1, 234, 0, 4096, 0\n2, 240, 1, 4096, 0\n"),
        ("offset_lat.1.log", "0, 1234567, 0, 4096, 1052672, 0x8004\n"),
        ("old_bw.log", "500, 81920, 0, 0\n"),
        ("plain.log", "1,234,0,4096,0\n"),
    ] {
        fs::write(place.join(name), line).unwrap();
        refused(place, &["trace", "import", name], 2, "is a log of fio");
    }
}

#[test]
fn a_request_log_that_claims_too_much_is_refused() {
    let directory = with_run();
    let place = directory.path();
    let log = fs::read_dir(place.join("out/log")).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&log).unwrap();
    // The length of the footer ranges from nothing to more than there is.
    for length in [0_u32, 1, 1 << 20, u32::MAX] {
        let mut changed = bytes.clone();
        let at = changed.len() - 8;
        changed[at..at + 4].copy_from_slice(&length.to_le_bytes());
        fs::write(place.join("log.parquet"), changed).unwrap();
        refused(place, &["trace", "show", "log.parquet"], 2, "is not a request log");
    }
    fs::write(place.join("log.parquet"), &bytes[..bytes.len() / 2]).unwrap();
    refused(place, &["trace", "show", "log.parquet"], 2, "is not a request log");
}

/// Makes a kind of requests with a histogram of `count` values in one bucket.
fn op(kind: &str, count: u64, bucket: usize, value: u64, bytes: u64, errors: u64) -> Value {
    let squares = u128::from(value) * u128::from(value) * u128::from(count);
    let sum = u128::from(value) * u128::from(count);
    let buckets = if count == 0 { json!([]) } else { json!([[bucket, count]]) };
    json!({
        "op": kind, "requests": count, "bytes": bytes, "errors": errors,
        "latency": {
            "min_ns": value, "max_ns": value, "sum_ns": sum.to_string(),
            "sum_of_squares_ns2": squares.to_string(), "buckets": buckets,
        },
    })
}

/// Makes a repeat of one kind of requests, with a series of `length` seconds.
fn repeat(elapsed: u64, op: Value, length: usize) -> Value {
    let list = |value: &Value| {
        let mut list = vec![json!(0); length];
        list.iter_mut().take(1).for_each(|first| *first = value.clone());
        json!(list)
    };
    let sum: Value = serde_json::from_str(op["latency"]["sum_ns"].as_str().unwrap()).unwrap();
    json!({
        "seed": 1, "elapsed": elapsed, "ops": [op],
        "series": {
            "interval": 1_000_000_000_u64, "requests": list(&op["requests"]),
            "bytes": list(&op["bytes"]), "latency_sum_ns": list(&sum),
            "latency_max_ns": list(&op["latency"]["max_ns"]),
        },
        "steady": null, "device": [], "warnings": [],
    })
}

/// Checks that the largest and smallest numbers of a measurement are shown without an overflow.
#[test]
fn extreme_numbers_are_only_numbers() {
    let directory = with_run();
    let place = directory.path();
    let path = place.join("out/cells.json");
    let right = read(&path);
    let longest = (1_u64 << 53) - 1;
    let mut steady = repeat(5_000_000_000, op("read", 9, 100, 100, 36_864, 0), 5);
    steady["steady"] = json!({
        "rounds": [1e308, 1e308, 1e308, 0.0, 1e308], "window": 5, "range": 1e308, "slope": 0.0,
        "reached": true,
    });
    steady["device"] = json!([["wa", 1e308], ["wa", -1e308], ["array_busy_ns", -5.0], ["x", 0.0]]);
    steady["first"] = json!({ "latency_ns": [longest, 0, 0, longest, 0, 0, longest], "ops": "r" });
    let cases = [
        repeat(1, op("read", (1 << 47) - 1, 0, 0, 1 << 57, 0), 1),
        repeat(longest, op("write", 1, 4735, longest, 0, 0), 3000),
        repeat(0, op("flush", 3, 0, 0, 0, 0), 1),
        repeat(7, op("trim", 0, 0, 0, 0, 1 << 57), 0),
        steady,
    ];
    for repeat in &cases {
        let mut cells = right.clone();
        for cell in cells["cells"].as_array_mut().unwrap() {
            for own in cell["repeats"].as_array_mut().unwrap() {
                let seed = own["seed"].clone();
                *own = repeat.clone();
                own["seed"] = seed;
            }
        }
        fs::write(&path, serde_json::to_vec(&cells).unwrap()).unwrap();
        for verb in VERBS {
            let output = assay(place, verb);
            let code = output.status.code();
            // If all requests failed, there is nothing to compare.
            assert!(matches!(code, Some(0 | 1 | 2 | 4)), "{verb:?}: {code:?} {}", said(&output));
            assert!(!said(&output).contains("cells.json"), "{verb:?}: {}", said(&output));
        }
        for verb in [["report", "out", "--csv"], ["report", "out", "--json"]] {
            let code = assay(place, &verb).status.code();
            assert!(matches!(code, Some(0 | 1 | 4)), "{verb:?}: {code:?}");
        }
    }
}
