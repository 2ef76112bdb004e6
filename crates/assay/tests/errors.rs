//! What a user sees after a mistake: the whole text, the place it points at, and the exit code.

use assay_spec::Kind;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A right experiment; every case breaks it in one place.
const EXPERIMENT: &str = r#"format = 1
name = "slow"
question = "Is it slow?"
targets = ["sim:ssd-m"]

[[workload]]
name = "read"
read_share = 1.0
size = "4KiB"
pattern = "random"
measure = { requests = 10 }
"#;

/// A right drive, likewise.
const DRIVE: &str = include_str!("fixtures/drive.toml");

fn assay(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(directory).args(arguments).output().expect("the binary runs")
}

/// The command fails with this code and says exactly this.
fn assert_fails(directory: &Path, arguments: &[&str], code: i32, stderr: &str) {
    let output = assay(directory, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.trim_end(), stderr.trim(), "{arguments:?}");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?}: a mistake is no data");
}

fn temporary() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// `text` with `from` replaced, which must be there once.
fn changed(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "`{from}` stands there once");
    text.replacen(from, to, 1)
}

/// A mistake in `slow.toml` is refused in these words, before anything is run.
fn refused(from: &str, to: &str, stderr: &str) {
    let directory = temporary();
    let file = directory.path().join("slow.toml");
    std::fs::write(file, changed(EXPERIMENT, from, to)).expect("written");
    assert_fails(directory.path(), &["run", "slow.toml", "--out", "out"], 2, stderr);
    assert!(!directory.path().join("out").exists(), "nothing was run");
}

/// A mistake in `drive.toml` is refused in these words.
fn drive_refused(changes: &[(&str, &str)], stderr: &str) {
    let directory = temporary();
    let drive = changes.iter().fold(DRIVE.to_owned(), |text, (from, to)| changed(&text, from, to));
    std::fs::write(directory.path().join("drive.toml"), drive).expect("written");
    let experiment = changed(EXPERIMENT, "sim:ssd-m", "sim:drive.toml");
    std::fs::write(directory.path().join("slow.toml"), experiment).expect("written");
    assert_fails(directory.path(), &["run", "slow.toml", "--out", "out"], 2, stderr);
    assert!(!directory.path().join("out").exists(), "nothing was run");
}

/// For every kind of mistake: what is changed in [`EXPERIMENT`], and what is said then.
const KINDS: &[(&str, &str, &str, &str)] = &[
    (
        "syntax",
        "name = \"slow\"",
        "name = \"slow",
        r#"
error: not valid TOML: invalid basic string, expected `"`
  --> slow.toml:2:13
   |
 2 | name = "slow
   |             ^"#,
    ),
    (
        "unknown-key",
        "[[workload]]",
        "[host]\nqueue_deph = 4\n\n[[workload]]",
        r#"
error: unknown key `queue_deph` in host
  --> slow.toml:7:1
   |
 7 | queue_deph = 4
   | ^^^^^^^^^^ expected one of `gap`, `queue_depth`
hint: did you mean `queue_depth`?"#,
    ),
    (
        "missing-key",
        "size = \"4KiB\"\n",
        "",
        r#"
error: workload has no `size`
  --> slow.toml:6:1
   |
 6 | [[workload]]
   | ^^^^^^^^^^^^ expected `size`: a size such as `4KiB`, `256KiB`, `30GB` or `1GiB`"#,
    ),
    (
        "missing-key",
        "question",
        "qestion",
        r#"
error: experiment has no `question`
  --> slow.toml: expected `question`: a string
hint: `qestion` is there; did you mean `question`?"#,
    ),
    (
        "wrong-type",
        "[\"sim:ssd-m\"]",
        "\"sim:ssd-m\"",
        r#"
error: `targets` is a string
  --> slow.toml:4:11
   |
 4 | targets = "sim:ssd-m"
   |           ^^^^^^^^^^^ expected a list of strings"#,
    ),
    (
        "bad-unit",
        "\"4KiB\"",
        "4096",
        r#"
error: `size` has no unit
  --> slow.toml:9:8
   |
 9 | size = 4096
   |        ^^^^ expected a size such as `4KiB`, `256KiB`, `30GB` or `1GiB`
hint: write the number with its unit, in quotes"#,
    ),
    (
        "bad-unit",
        "4KiB",
        "4KB",
        r#"
error: `size` has no unit `KB`
  --> slow.toml:9:8
   |
 9 | size = "4KB"
   |        ^^^^^ expected a size such as `4KiB`, `256KiB`, `30GB` or `1GiB`
hint: KiB, MiB, GiB are powers of 1024, kB, MB, GB of 1000; times take ns, us, ms, s, m, h"#,
    ),
    (
        "bad-unit",
        "measure",
        "arrivals = \"fixed\"\nrate = \"5000\"\nmeasure",
        r#"
error: `5000` is not a rate
  --> slow.toml:12:8
   |
12 | rate = "5000"
   |        ^^^^^^ expected arrivals a second from 0.001/s to 1e9/s, e.g. `5000/s`"#,
    ),
    (
        "unknown-value",
        "measure",
        "start = \"filed\"\nmeasure",
        r#"
error: unknown start `filed`
  --> slow.toml:11:9
   |
11 | start = "filed"
   |         ^^^^^^^ expected one of `fresh`, `filled`
hint: did you mean `filled`?"#,
    ),
    (
        "unknown-value",
        "\"slow\"",
        "\"Slow one\"",
        r#"
error: `Slow one` cannot be a name
  --> slow.toml:2:8
   |
 2 | name = "Slow one"
   |        ^^^^^^^^^^ expected lower-case letters, digits and `-`, at most 64 of them"#,
    ),
    (
        "out-of-range",
        "1.0",
        "1.5",
        r#"
error: `read_share` = 1.5 is out of range
  --> slow.toml:8:14
   |
 8 | read_share = 1.5
   |              ^^^ expected a number from 0 to 1"#,
    ),
    (
        "out-of-range",
        "4KiB",
        "1000B",
        r#"
error: a request of 1kB cannot be
  --> slow.toml:9:8
   |
 9 | size = "1000B"
   |        ^^^^^^^ expected a multiple of 512B up to 64MiB"#,
    ),
    (
        "impossible",
        "measure",
        "range = \"2KiB\"\nmeasure",
        r#"
error: the range is smaller than a request of 4KiB
  --> slow.toml:11:9
   |
11 | range = "2KiB"
   |         ^^^^^^ expected room for at least one request"#,
    ),
    (
        "impossible",
        "measure",
        "rate = \"5000/s\"\njobs = 4\nmeasure",
        r#"
error: a rate and a closed loop exclude each other
  --> slow.toml:11:8
   |
11 | rate = "5000/s"
   |        ^^^^^^^^
hint: remove `rate`, or `jobs`, `queue_depth` and `think`"#,
    ),
    (
        "format",
        "format = 1",
        "format = 2",
        r#"
error: format 2 is not one this assay reads
  --> slow.toml:1:10
   |
 1 | format = 2
   |          ^ expected `format = 1`
hint: a newer assay may read it; see `assay --version`"#,
    ),
];

#[test]
fn every_kind_of_mistake_is_said_with_its_place() {
    for (_, from, to, stderr) in KINDS {
        refused(from, to, stderr);
    }
    let provoked: BTreeSet<&str> = KINDS.iter().map(|(kind, ..)| *kind).collect();
    let documented: BTreeSet<&str> = Kind::ALL.iter().map(|(_, name, _)| *name).collect();
    assert_eq!(provoked, documented);
}

#[test]
fn the_unbroken_declarations_run() {
    let directory = temporary();
    std::fs::write(directory.path().join("drive.toml"), DRIVE).expect("written");
    let experiment = changed(EXPERIMENT, "sim:ssd-m", "sim:drive.toml");
    std::fs::write(directory.path().join("slow.toml"), experiment).expect("written");
    let output = assay(directory.path(), &["run", "slow.toml", "--out", "out", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn impossible_drives_are_refused_with_line_and_reason() {
    // No spare block left: the flash is as large as the capacity.
    drive_refused(
        &[("blocks_per_plane = { value = 600", "blocks_per_plane = { value = 512")],
        r#"
error: 1GiB of flash cannot hold 1GiB and the 12MiB this layer works with
  --> drive.toml:28:2
   |
28 | [ftl]
   |  ^^^
hint: raise `nand.blocks_per_plane`, or lower `capacity` or what the layer reserves"#,
    );
    drive_refused(
        &[("planes_per_die = { value = 1", "planes_per_die = { value = 0")],
        r#"
error: `value` = 0 is out of range
  --> drive.toml:19:28
   |
19 | planes_per_die = { value = 0, source = "sheet" }
   |                            ^ expected a whole number from 1 to 16"#,
    );
    // 2^60 bytes of capacity.
    drive_refused(
        &[("\"1GiB\"", "\"1152921504606846976B\"")],
        r#"
error: a drive of 1048576TiB cannot be
  --> drive.toml:6:12
   |
 6 | capacity = { value = "1152921504606846976B", assumed = "small" }
   |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ expected from 1MiB to 1PiB"#,
    );
    drive_refused(
        &[("\"1GiB\"", "\"8388608TiB\"")],
        r#"
error: `value` is too large
  --> drive.toml:6:22
   |
 6 | capacity = { value = "8388608TiB", assumed = "small" }
   |                      ^^^^^^^^^^^^ expected less than 2^63"#,
    );
    drive_refused(
        &[("\"1GiB\"", "\"1000000001B\"")],
        r#"
error: capacity 1000000001B is not a whole number of pages of 4KiB
  --> drive.toml:6:12
   |
 6 | capacity = { value = "1000000001B", assumed = "small" }
   |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: round the capacity down to a multiple of the page"#,
    );
}

#[test]
fn units_that_do_not_divide_are_refused() {
    drive_refused(
        &[("page = { value = \"4KiB\"", "page = { value = \"5KiB\"")],
        r#"
error: a page of 5KiB cannot be
  --> drive.toml:22:8
   |
22 | page = { value = "5KiB", source = "sheet" }
   |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ expected a power of two from 512B to 1MiB"#,
    );
    drive_refused(
        &[
            ("value = \"page\"", "value = \"hybrid\""),
            (
                "reserve_blocks = { value = 4, assumed = \"a few\" }",
                "log_superblocks = { value = 7, assumed = \"a few\" }\n\
                 unit = { value = \"12KiB\", assumed = \"three pages\" }",
            ),
        ],
        r#"
error: the log's unit of 12KiB does not divide a superblock of 2MiB
  --> drive.toml:28:2
   |
28 | [ftl]
   |  ^^^
hint: use a multiple of the page (4KiB) that divides it"#,
    );
}

#[test]
fn values_of_a_drive_need_a_source() {
    drive_refused(
        &[("read = { value = \"50us\", source = \"sheet\" }", "read = { value = \"50us\" }")],
        r#"
error: `nand.read` has 0 origins
  --> drive.toml:23:8
   |
23 | read = { value = "50us" }
   |        ^^^^^^^^^^^^^^^^^^ expected exactly one of `source`, `derived`, `assumed`
hint: a value without a source cannot be checked by anyone"#,
    );
    drive_refused(
        &[(
            "read = { value = \"50us\", source = \"sheet\"",
            "read = { value = \"50us\", source = \"shet\"",
        )],
        r#"
error: unknown source `shet`
  --> drive.toml:23:35
   |
23 | read = { value = "50us", source = "shet" }
   |                                   ^^^^^^ expected a key of `[sources]`
hint: did you mean `sheet`?"#,
    );
}

#[test]
fn names_that_are_not_there_are_answered_with_those_that_are() {
    let directory = temporary();
    let cases: &[(&[&str], &str)] = &[
        (&["run", "quik"], "error: there is no study `quik`\nhint: did you mean `quick`?"),
        (
            &["claims", "sigmetric09"],
            "error: there is no ledger `sigmetric09`\nhint: did you mean `sigmetrics09`?",
        ),
        (
            &["run", "quick", "--only", "sim:ssd-x"],
            "error[no-such-model]: there is no modelled drive `ssd-x`\n\
             hint: did you mean `sim:ssd-l`?",
        ),
        (
            &["devices", "floppy"],
            "error[no-such-model]: there is no modelled drive `floppy`\n\
             hint: `assay devices` lists the modelled drives",
        ),
        (
            &["explain", "device-mountd"],
            "error: nothing is called `device-mountd`\nhint: did you mean `device-mounted`?",
        ),
        (
            &["compare", "sim:ssd-l", "sim:ssd-m", "--workload", "all"],
            "error: `quick` has no workload `all`\n\
             hint: leave `--workload` out to see them all",
        ),
    ];
    for (arguments, stderr) in cases {
        assert_fails(directory.path(), arguments, 2, stderr);
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let directory = temporary();
    let gone = "error: gone.toml cannot be read: No such file or directory (os error 2)\n\
                hint: `examples/` has files to start from";
    assert_fails(directory.path(), &["run", "gone.toml"], 2, gone);
    std::fs::write(directory.path().join("binary.toml"), [0xff, 0xfe]).expect("written");
    let binary = "error: binary.toml cannot be read: stream did not contain valid UTF-8\n\
                  hint: `examples/` has files to start from";
    assert_fails(directory.path(), &["run", "binary.toml"], 2, binary);
    let run = r#"
error: gone/run.json cannot be read: No such file or directory (os error 2)
hint: a run directory holds `run.json` and `cells.json`; `assay run quick` makes one"#;
    assert_fails(directory.path(), &["report", "gone"], 3, run);
    // The drive of an experiment; whatever the hint, the file is named.
    let drive = assay(directory.path(), &["run", "quick", "--only", "sim:gone.toml"]);
    let said = String::from_utf8_lossy(&drive.stderr);
    let start = "error[no-such-file]: the device file gone.toml cannot be read: No such file";
    assert!(said.starts_with(start), "{said}");
    assert_eq!(drive.status.code(), Some(2));
}

#[test]
fn commands_without_sense_are_refused() {
    let directory = temporary();
    let cases: &[(&[&str], &str)] = &[
        (
            &["run", "quick", "--only", "scratch.img", "--size", "1GB1"],
            "error: `--size 1GB1` is not a size\n\
             hint: write a size such as `4KiB`, `256KiB`, `30GB` or `1GiB`",
        ),
        (
            &["run", "quick", "--only", "scratch.img", "--size", "1024"],
            "error: `--size 1024` is not a size\n\
             hint: write a size such as `4KiB`, `256KiB`, `30GB` or `1GiB`",
        ),
        (
            &["compare", "sim:ssd-m"],
            "error: one target alone has nothing to be compared with\n\
             hint: name a second target; the first is the reference",
        ),
        (
            &["report"],
            "error: there is no run below `runs`\n\
             hint: `assay run quick` makes one; or name a DIR",
        ),
    ];
    for (arguments, stderr) in cases {
        assert_fails(directory.path(), arguments, 2, stderr);
    }
    assert!(!directory.path().join("scratch.img").exists(), "no file was made");
}

#[test]
fn an_experiment_needs_a_target_from_somewhere() {
    refused(
        "targets = [\"sim:ssd-m\"]\n",
        "",
        r#"
error: the experiment names no target
hint: add `targets = ["sim:ssd-m"]` to it, or say `--on sim:ssd-m` or `--on PATH`"#,
    );
}

#[test]
fn an_expectation_that_is_no_comparison_is_refused_before_the_run() {
    refused(
        "measure",
        "expect = [\"p99 <\"]\nmeasure",
        r#"
error: slow.toml: `read` expects `p99 <`: expected a value (at byte 5)
hint: an expectation compares a metric, e.g. `p99 < 10ms`; `assay explain metrics`"#,
    );
}

#[test]
fn a_run_is_never_overwritten() {
    let directory = temporary();
    std::fs::write(directory.path().join("slow.toml"), EXPERIMENT).expect("written");
    let arguments = ["run", "slow.toml", "--out", "out"];
    assert_eq!(assay(directory.path(), &arguments).status.code(), Some(0));
    let before = std::fs::read(directory.path().join("out/run.json")).expect("there");
    let output = assay(directory.path(), &arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    let refusal = "error[run-exists]: out holds a run already\n\
                   hint: `assay resume out` goes on with it; or choose another `--out`\n";
    assert!(said.ends_with(refusal), "{said}");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read(directory.path().join("out/run.json")).expect("there"), before);
}

/// Ids that `text` gives to errors: the first argument of a constructor, or a field `id`.
fn ids(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for start in ["Error::environment(", "Error::usage(", "id: "] {
        for rest in text.split(start).skip(1) {
            let Some(rest) = rest.trim_start().strip_prefix('"') else { continue };
            let id = rest.split('"').next().unwrap_or_default();
            let plain = |c: char| c.is_ascii_lowercase() || c == '-';
            if !id.is_empty() && id.chars().all(plain) {
                found.push(id.to_owned());
            }
        }
    }
    found
}

fn ids_below(directory: &Path, into: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).expect("the sources are there") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            ids_below(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.extend(ids(&std::fs::read_to_string(path).expect("readable")));
        }
    }
}

#[test]
fn every_error_of_the_engine_and_every_kind_of_mistake_is_explained() {
    let mut wanted = BTreeSet::new();
    ids_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../assay-engine/src"), &mut wanted);
    assert!(wanted.len() > 10 && wanted.contains("run-exists"), "the scan finds ids: {wanted:?}");
    wanted.extend(Kind::ALL.iter().map(|(_, name, _)| (*name).to_owned()));
    let output = assay(Path::new("."), &["explain", "--json"]);
    let explained: BTreeSet<String> =
        serde_json::from_slice(&output.stdout).expect("a list of ids in JSON");
    let missing: Vec<&String> = wanted.difference(&explained).collect();
    assert!(missing.is_empty(), "without an explanation: {missing:?}");
}
