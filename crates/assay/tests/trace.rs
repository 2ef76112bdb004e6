//! `assay trace`: from a trace to a log, tables and a page.

mod command;

use command::{assay, temporary};
use std::path::Path;
use std::process::Output;

/// As blkparse writes it: requests one by one, one merged, one sent twice, one without an end.
const TEXT: &str = include_str!("../../../fuzz/tiny/trace.txt");

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// What it prints if it does what it should.
fn done(dir: &Path, arguments: &[&str]) -> (String, String) {
    let output = assay(dir, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    said(&output)
}

fn refused(dir: &Path, arguments: &[&str], stderr: &str) {
    let output = assay(dir, arguments);
    assert_eq!(said(&output), (String::new(), format!("{stderr}\n")), "{arguments:?}");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
}

#[test]
fn a_trace_is_imported_and_shown() {
    let dir = temporary();
    std::fs::write(dir.path().join("t"), TEXT).unwrap();
    let (out, err) = done(dir.path(), &["trace", "import", "t", "--out", "o"]);
    let table = "8,0 over 0.014 s
direction  requests  blocks      bytes  errors
read              1       8  0.0041 MB       0
write             1      24  0.0123 MB       0
trim              1    2048    1.05 MB       1
flush             1       0    0.00 MB       0
";
    assert_eq!(out, table);
    let told = "queued, not dispatched: 1 (the trace ended before their dispatch, or lost \
                it)
lines that are not events: 2 (headings, summaries, blanks)
trace: o; `assay \
                trace show o` shows its requests
";
    assert_eq!(err, told);

    let (out, err) = done(dir.path(), &["trace", "show", "o"]);
    assert_eq!(err, "page: o/trace.html\n");
    let lines: Vec<&str> = out.lines().collect();
    let after = |caption: &str| {
        let at = lines.iter().position(|line| *line == caption).unwrap();
        lines[at + 2..].iter().take_while(|line| !line.is_empty()).copied().collect::<Vec<_>>()
    };
    let queue = [
        "  read              1  7.21 µs  7.21 µs  7.21 µs  7.21 µs  7.21 µs  7.21 µs",
        "  write             1  20.0 µs  20.0 µs  20.0 µs  20.0 µs  20.0 µs  20.0 µs",
        "  flush             1  1.00 µs  1.00 µs  1.00 µs  1.00 µs  1.00 µs  1.00 µs",
        "  both              2  7.21 µs  10.4 µs  13.6 µs  16.8 µs  20.0 µs  13.6 µs",
    ];
    assert_eq!(after("Time in queue: from queueing to dispatch"), queue);
    let device = after("Time in device: from dispatch to completion");
    assert!(device[0].starts_with("  read              1  4.30 ms"), "{device:?}");
    let page = std::fs::read_to_string(dir.path().join("o/trace.html")).unwrap();
    assert!(page.contains("<h1>Block trace of 8,0</h1>") && !page.contains("<script"));

    let (out, _) = done(dir.path(), &["trace", "show", "o", "--json", "--until", "5ms"]);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    let directions = value["summary"]["directions"].as_array().unwrap();
    assert_eq!((directions.len(), &directions[0]["direction"]), (1, &"read".into()));
    assert_eq!(value["trace"]["happened"]["merged"], 1);
    assert_eq!(directions[0]["insert_to_complete"]["median"], 4_309_706.0);
    let none = "error: o/log/trace.parquet has no request within `--job`, `--from` and \
                `--until`
hint: change these options, or leave them out";
    refused(dir.path(), &["trace", "show", "o", "--job", "3"], none);
}

#[test]
fn the_log_of_a_run_is_shown_too() {
    let dir = temporary();
    let experiment = "format = 1
name = \"e\"
question = \"?\"
targets = [\"sim:ssd-m\"]
[[workload]]
name = \"w\"
read_share = 0.5
size = \"4KiB\"
pattern = \"random\"
jobs = 2
measure = { requests = 400 }
";
    std::fs::write(dir.path().join("e.toml"), experiment).unwrap();
    done(dir.path(), &["run", "e.toml", "--out", "run", "--quiet"]);
    let log = "run/log/e.w.ssd-m.1.parquet";
    let (out, err) = done(dir.path(), &["trace", "show", log, "--html", "p.html"]);
    assert!(err.contains("all jobs (or drives) from 0 to 1 are shown together"), "{err}");
    assert!(out.contains("Latency: from submission to completion"), "{out}");
    assert!(!out.contains("Time in queue"), "{out}");
    assert!(dir.path().join("p.html").exists());
    // A log says no more than the run's own numbers.
    let (json, _) = done(dir.path(), &["trace", "show", log, "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&json).unwrap();
    let cells = std::fs::read_to_string(dir.path().join("run/cells.json")).unwrap();
    let cells: serde_json::Value = serde_json::from_str(&cells).unwrap();
    for (of, direction) in
        cells["cells"][0]["repeats"][0]["ops"].as_array().unwrap().iter().zip([0, 1])
    {
        let direction = &shown["summary"]["directions"][direction];
        assert_eq!(direction["requests"], of["requests"]);
        assert_eq!(direction["latency"]["max"].as_f64(), of["latency"]["max_ns"].as_f64());
    }
    let hint =
        format!("error: run holds no imported trace\nhint: name one of its 1 logs, e.g. {log}");
    refused(dir.path(), &["trace", "show", "run"], &hint);
    let hint = "error: `--html` takes a file, not the standard output\n\
                hint: for a file of this name: `--html ./-`";
    refused(dir.path(), &["trace", "show", log, "--html", "-"], hint);
}

#[test]
fn mistakes_are_said_and_leave_nothing() {
    let dir = temporary();
    let write = |name: &str, text: &[u8]| std::fs::write(dir.path().join(name), text).unwrap();
    write("t", TEXT.as_bytes());
    write("bad", b"8,0 0 1 0.5 9 Q R 8 + 8\n8,0 0 1 0.5 9 Q R 8 + x\n");
    write("nothing", b"PK\x03\x04 and so on");
    std::fs::hard_link(dir.path().join("t"), dir.path().join("also")).unwrap();
    let cases = [
        (
            &["bad"][..],
            "error[trace-malformed]: bad: line 2, column 23: the number of blocks is not a \
             number
hint: write the text with blkparse's default format, without `-f`",
        ),
        (
            &["absent"],
            "error[trace-missing]: there is no absent, and no absent.blktrace.0 with something in \
             it
hint: name a file, `-`, or NAME for all files NAME.blktrace.N",
        ),
        (
            &["nothing"],
            "error[trace-unknown]: nothing is neither a trace of blktrace nor text of blkparse: no \
             record begins at byte 0, and none of its first lines is an event
hint: give text with \
             lines such as `8,0 1 17 0.012678481 8826 D R 1370616 + 8 [git]`",
        ),
        (
            &["t", "also"],
            "error[trace-twice]: t and also are the same file
hint: name it once: otherwise its events would \
             count twice",
        ),
        (
            &["t", "--device", "sda"],
            "error: `sda` is not a device
hint: write the major and minor number, e.g. `--device \
             8,0`; `lsblk` shows them",
        ),
        (
            &["t", "--device", "8,16"],
            "error[trace-no-requests]: the trace has no requests of 8,16
hint: choose a device of the trace: 8,0 (17 events)",
        ),
    ];
    for (arguments, stderr) in cases {
        let all: Vec<&str> =
            ["trace", "import"].iter().chain(arguments).chain(&["--out", "o"]).copied().collect();
        refused(dir.path(), &all, stderr);
        assert!(!dir.path().join("o").exists(), "{arguments:?}");
    }
    done(dir.path(), &["trace", "import", "t", "--out", "o", "--quiet"]);
    let full = "error[out-not-empty]: o is not empty
hint: choose another `--out`: a run would \
                replace files in this directory";
    refused(dir.path(), &["trace", "import", "t", "--out", "o"], full);
    let log = "error[log-unreadable]: t is not a request log: ";
    let output = assay(dir.path(), &["trace", "show", "t"]);
    assert!(said(&output).1.starts_with(log), "{output:?}");
    write("o/trace.json", b"{\"schema\":2}");
    refused(
        dir.path(),
        &["trace", "show", "o"],
        "error: o/trace.json has schema 2, but this version of assay reads only schema 1
hint: use \
         the version of assay that the file names in `assay`",
    );
}

/// Files of processors are named by what they have in common, as for blkparse.
#[test]
fn a_name_stands_for_the_files_of_all_processors() {
    let dir = temporary();
    let record = |time: u64, action: u32, cpu: u32| {
        let mut out = 0x6561_7407_u32.to_le_bytes().to_vec();
        out.extend(0_u32.to_le_bytes());
        [time, 64].iter().for_each(|long| out.extend(long.to_le_bytes()));
        let words = [4096, action | 1 << 16, 4711, 8 << 20, cpu, 0];
        words.iter().for_each(|word: &u32| out.extend(word.to_le_bytes()));
        out
    };
    let write = |cpu: u32, bytes: Vec<u8>| {
        std::fs::write(dir.path().join(format!("n.blktrace.{cpu}")), bytes).unwrap();
    };
    write(0, [record(10, 1, 0), record(20, 7, 0)].concat());
    (1..10).for_each(|cpu| write(cpu, Vec::new()));
    write(10, record(30, 8, 10));
    for (out, name) in [("a", "n"), ("b", "n.blktrace"), ("c", "./n.blktrace.")] {
        let (table, err) = done(dir.path(), &["trace", "import", name, "--out", out]);
        assert!(table.contains("read              1       8"), "{table}");
        assert!(err.starts_with("trace: "), "all is paired: {err}");
    }
    // The completion is in another processor's file.
    let output = assay(dir.path(), &["trace", "import", "n.blktrace.0", "--out", "d"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(said(&output).1.contains("no complete request"), "{output:?}");
    assert!(!dir.path().join("d").exists());
}
