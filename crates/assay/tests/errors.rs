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

/// What a workload with one stream in a closed loop takes; `@KEYS` below.
const KEYS: &str = "expected one of `name`, `command`, `file`, `stream`, `read_share`, `sizes`, \
                    `size`, `pattern`, `range`, `flush_every`, `fua`, `rate`, `jobs`, \
                    `queue_depth`, `think`, `start`, `precondition`, `settle`, `measure`, \
                    `write_cache`, `first`, `expect`";

/// For every kind of mistake: what is changed in [`EXPERIMENT`], and what is said then.
const KINDS: &[(&str, &str, &str, &str)] = &[
    (
        "syntax",
        "name = \"slow\"",
        "name = \"slow",
        r#"
error: not valid TOML: invalid basic string
  --> slow.toml:2:13
   |
 2 | name = "slow
   |             ^ expected `"`
hint: close the string with the quote it began with, on the same line"#,
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
   | ^^^^^^^^^^ expected one of `name`, `gap`, `queue_depth`, `elevator`
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
   | ^^^^^^^^^^^^ expected `size`: a size such as `4KiB`, `256KiB`, `30GB` or `1GiB`
hint: add e.g. `size = "4KiB"`"#,
    ),
    (
        "unknown-key",
        "requests = 10",
        "time = \"1s\", request = 10",
        r#"
error: unknown key `request` in phase
  --> slow.toml:11:26
   |
11 | measure = { time = "1s", request = 10 }
   |                          ^^^^^^^ expected one of `requests`, `bytes`, `time`, `steady`
hint: did you mean `requests`?"#,
    ),
    (
        "unknown-key",
        "measure",
        "rat = \"5000/s\"\nmeasure",
        r#"
error: unknown key `rat` in workload
  --> slow.toml:11:1
   |
11 | rat = "5000/s"
   | ^^^ @KEYS
hint: did you mean `rate`?"#,
    ),
    (
        "missing-key",
        "requests = 10",
        "request = 10",
        r#"
error: the phase has no end
  --> slow.toml:11:1
   |
11 | measure = { request = 10 }
   | ^^^^^^^ expected exactly one of `requests`, `bytes`, `time`, `steady`
hint: the phase has `request`; did you mean `requests`?"#,
    ),
    (
        "missing-key",
        "measure",
        "arrivals = \"fixed\"\nmeasure",
        r#"
error: `arrivals` needs `rate`
  --> slow.toml:11:1
   |
11 | arrivals = "fixed"
   | ^^^^^^^^ expected `rate`: arrivals a second from 0.001/s to 1e9/s, e.g. `5000/s`
hint: add `rate`: without it, each completion sends the next request"#,
    ),
    (
        "missing-key",
        "measure",
        "arrivals = \"fixed\"\nrat = \"5000/s\"\nmeasure",
        r#"
error: `arrivals` needs `rate`
  --> slow.toml:11:1
   |
11 | arrivals = "fixed"
   | ^^^^^^^^ expected `rate`: arrivals a second from 0.001/s to 1e9/s, e.g. `5000/s`
hint: the workload has `rat`; did you mean `rate`?"#,
    ),
    (
        "missing-key",
        "format = 1\n",
        "",
        r#"
error: experiment has no `format`
  --> slow.toml: expected `format = 1` at the top of the file
hint: it is the version of the file format; this version of assay reads only 1"#,
    ),
    (
        "missing-key",
        "format = 1",
        "fromat = 1",
        r#"
error: experiment has no `format`
  --> slow.toml: expected `format = 1` at the top of the file
hint: the file has `fromat`; did you mean `format`?"#,
    ),
    (
        "missing-key",
        "question",
        "qestion",
        r#"
error: experiment has no `question`
  --> slow.toml: expected `question`: a string
hint: the file has `qestion`; did you mean `question`?"#,
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
   |           ^^^^^^^^^^^ expected a list of strings
hint: put it in brackets: `targets = ["sim:ssd-m"]`"#,
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
   |        ^^^^^^ expected arrivals a second from 0.001/s to 1e9/s, e.g. `5000/s`
hint: for arrivals a second, write `rate = "5000/s"`"#,
    ),
    (
        "bad-unit",
        "size = \"4KiB\"",
        "sizes = { \"4KB\" = 70, \"8KiB\" = 30 }",
        r#"
error: `sizes` has no unit `KB`
  --> slow.toml:9:11
   |
 9 | sizes = { "4KB" = 70, "8KiB" = 30 }
   |           ^^^^^ expected a size such as `4KiB`, `256KiB`, `30GB` or `1GiB`
hint: KiB, MiB, GiB are powers of 1024, kB, MB, GB of 1000; times take ns, us, ms, s, m, h"#,
    ),
    (
        "out-of-range",
        "size = \"4KiB\"",
        "sizes = { \"4KiB\" = 70, \"513B\" = 30 }",
        r#"
error: a request cannot have 513B
  --> slow.toml:9:24
   |
 9 | sizes = { "4KiB" = 70, "513B" = 30 }
   |                        ^^^^^^ expected a multiple of 512B up to 64MiB
hint: use e.g. `512B`, the nearest possible size: drives have sectors of 512B"#,
    ),
    (
        "out-of-range",
        "size = \"4KiB\"",
        "sizes = { \"4KiB\" = 70, \"8KiB\" = 0 }",
        r#"
error: the weight of 8KiB is not a number from 1e-9 to 1e9
  --> slow.toml:9:33
   |
 9 | sizes = { "4KiB" = 70, "8KiB" = 0 }
   |                                 ^ expected a weight, e.g. `"8KiB" = 30`
hint: leave out sizes that shall not occur, or give a weight in the range"#,
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
   |         ^^^^^^^ expected one of `fresh`, `filled`, `steady`
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
   |        ^^^^^^^^^^ expected lower-case letters, digits and `-`, at most 64 of them
hint: use e.g. `slow-one`"#,
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
   |              ^^^ expected a number from 0 to 1
hint: 1.5 % is written `read_share = "1.5%"`; the nearest possible value is `read_share = 1`"#,
    ),
    (
        "out-of-range",
        "4KiB",
        "1000B",
        r#"
error: a request cannot have 1kB
  --> slow.toml:9:8
   |
 9 | size = "1000B"
   |        ^^^^^^^ expected a multiple of 512B up to 64MiB
hint: use e.g. `1KiB`, the nearest possible size: drives have sectors of 512B"#,
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
   |         ^^^^^^ expected room for at least one request
hint: make it longer, or leave `range` out for the whole target"#,
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
        "impossible",
        "size = \"4KiB\"",
        "size = \"4KiB\"\nsizes = { \"4KiB\" = 70, \"8KiB\" = 30 }",
        r#"
error: `size` and `sizes` exclude each other
  --> slow.toml:9:1
   |
 9 | size = "4KiB"
   | ^^^^
hint: remove one of them"#,
    ),
    (
        "impossible",
        "requests = 10",
        "steady = { round = \"1s\", limit = 3 }",
        r#"
error: the phase ends after 3 rounds, before the window of 5 is full
  --> slow.toml:11:46
   |
11 | measure = { steady = { round = "1s", limit = 3 } }
   |                                              ^ expected a `limit` of at least `window`
hint: raise `limit`, or lower `window`: the rule looks at the last `window` rounds"#,
    ),
    (
        "impossible",
        "requests = 10",
        "steady = { round = \"1s\", window = 30 }",
        r#"
error: the phase ends after 25 rounds, before the window of 30 is full
  --> slow.toml:11:47
   |
11 | measure = { steady = { round = "1s", window = 30 } }
   |                                               ^^ expected a `limit` of at least `window`
hint: raise `limit`, or lower `window`: the rule looks at the last `window` rounds"#,
    ),
    (
        "out-of-range",
        "requests = 10",
        "steady = { round = \"0s\" }",
        r#"
error: a round takes no time
  --> slow.toml:11:32
   |
11 | measure = { steady = { round = "0s" } }
   |                                ^^^^ expected more than nothing
hint: use e.g. the minute of SNIA's rounds: `round = "60s"`"#,
    ),
    (
        "format",
        "format = 1",
        "format = 2",
        r#"
error: this version of assay cannot read format 2
  --> slow.toml:1:10
   |
 1 | format = 2
   |          ^ expected `format = 1`
hint: use a newer version of assay; `assay --version` shows the version of this one"#,
    ),
    (
        "syntax",
        "\"slow\"",
        "slow",
        r#"
error: not valid TOML: string values must be quoted
  --> slow.toml:2:8
   |
 2 | name = slow
   |        ^^^^ expected a value
hint: put it in quotes: `"slow"`"#,
    ),
    (
        "syntax",
        "format = 1\n",
        "format = 1\nformat = 1\n",
        r#"
error: not valid TOML: duplicate key
  --> slow.toml:2:1
   |
 2 | format = 1
   | ^^^^^^
hint: remove one of the two, or rename it: this key exists already"#,
    ),
    (
        "syntax",
        "\"sim:ssd-m\"]",
        "\"sim:ssd-m\"",
        r#"
error: not valid TOML: missing comma between array elements
  --> slow.toml:6:1
   |
 6 | [[workload]]
   | ^ expected `,`
hint: add the comma, or close the list before this"#,
    ),
    (
        "syntax",
        "name = \"slow\"",
        "name \"slow\"",
        r#"
error: not valid TOML: key with no value
  --> slow.toml:2:6
   |
 2 | name "slow"
   |      ^ expected `=`
hint: write a line as `key = value`"#,
    ),
    (
        "unknown-key",
        "measure",
        "theta = 0.9\nmeasure",
        r#"
error: `theta` is only allowed with pattern `zipf`
  --> slow.toml:11:1
   |
11 | theta = 0.9
   | ^^^^^ @KEYS
hint: remove `theta`, or use pattern `zipf`"#,
    ),
    (
        "unknown-key",
        "measure",
        "zebra = 1\nmeasure",
        r#"
error: unknown key `zebra` in workload
  --> slow.toml:11:1
   |
11 | zebra = 1
   | ^^^^^ @KEYS
hint: remove it: assay does not know this key"#,
    ),
    (
        "missing-key",
        "\"random\"",
        "\"zipf\"",
        r#"
error: workload has no `theta`
  --> slow.toml:6:1
   |
 6 | [[workload]]
   | ^^^^^^^^^^^^ expected `theta`: a number from 0.01 to 5
hint: pattern `zipf` needs it; add e.g. `theta = 0.99`"#,
    ),
    (
        "missing-key",
        "\"random\"",
        "\"hot-cold\"\nhot_space = 0.1",
        r#"
error: workload has no `hot_requests`
  --> slow.toml:6:1
   |
 6 | [[workload]]
   | ^^^^^^^^^^^^ expected `hot_requests`: a number from 0 to 1
hint: pattern `hot-cold` needs it; add e.g. `hot_requests = 0.8`"#,
    ),
    (
        "missing-key",
        "requests = 10",
        "requests = 10, time = \"1s\"",
        r#"
error: the phase has 2 ends
  --> slow.toml:11:1
   |
11 | measure = { requests = 10, time = "1s" }
   | ^^^^^^^ expected exactly one of `requests`, `bytes`, `time`, `steady`
hint: keep the key that shall end the phase, and remove the others"#,
    ),
    (
        "missing-key",
        "requests = 10",
        "",
        r#"
error: the phase has no end
  --> slow.toml:11:1
   |
11 | measure = {  }
   | ^^^^^^^ expected exactly one of `requests`, `bytes`, `time`, `steady`
hint: add e.g. `time = "10s"`"#,
    ),
    (
        "missing-key",
        "measure = { requests = 10 }\n",
        "",
        r#"
error: workload has no `measure`
  --> slow.toml:6:1
   |
 6 | [[workload]]
   | ^^^^^^^^^^^^ expected `measure`: a table
hint: add e.g. `measure = { time = "10s" }`"#,
    ),
    (
        "missing-key",
        "size = \"4KiB\"",
        "sizes = { }",
        r#"
error: `sizes` is empty
  --> slow.toml:9:9
   |
 9 | sizes = { }
   |         ^^^ expected at least one size
hint: write e.g. `sizes = { "4KiB" = 70, "8KiB" = 30 }`"#,
    ),
    (
        "wrong-type",
        "[\"sim:ssd-m\"]",
        "[\"sim:ssd-m\", 3]",
        r#"
error: `targets` holds an integer
  --> slow.toml:4:25
   |
 4 | targets = ["sim:ssd-m", 3]
   |                         ^ expected a string
hint: put it in quotes: `"3"`"#,
    ),
    (
        "wrong-type",
        "\"slow\"",
        "3",
        r#"
error: `name` is an integer
  --> slow.toml:2:8
   |
 2 | name = 3
   |        ^ expected a string
hint: put it in quotes: `name = "3"`"#,
    ),
    (
        "wrong-type",
        "1.0",
        "\"1.0\"",
        r#"
error: `read_share` is a string
  --> slow.toml:8:14
   |
 8 | read_share = "1.0"
   |              ^^^^^ expected a number from 0 to 1
hint: write it without quotes: `read_share = 1.0`"#,
    ),
    (
        "wrong-type",
        "measure",
        "jobs = \"4\"\nmeasure",
        r#"
error: `jobs` is a string
  --> slow.toml:11:8
   |
11 | jobs = "4"
   |        ^^^ expected a whole number
hint: write it without quotes: `jobs = 4`"#,
    ),
    (
        "wrong-type",
        "measure",
        "jobs = 1.5\nmeasure",
        r#"
error: `jobs` is a float
  --> slow.toml:11:8
   |
11 | jobs = 1.5
   |        ^^^ expected a whole number
hint: write e.g. `jobs = 1`"#,
    ),
    (
        "wrong-type",
        "[[workload]]",
        "log = \"no\"\n\n[[workload]]",
        r#"
error: `log` is a string
  --> slow.toml:6:7
   |
 6 | log = "no"
   |       ^^^^ expected `true` or `false`
hint: write e.g. `log = false`"#,
    ),
    (
        "wrong-type",
        "[[workload]]",
        "[workload]",
        r#"
error: `workload` is a table
  --> slow.toml:6:1
   |
 6 | [workload]
   | ^^^^^^^^^^ expected a list of tables (`[[…]]`)
hint: write `[[workload]]`, and its keys on lines of their own below it"#,
    ),
    (
        "wrong-type",
        "{ requests = 10 }",
        "10",
        r#"
error: `measure` is an integer
  --> slow.toml:11:11
   |
11 | measure = 10
   |           ^^ expected a table
hint: write e.g. `measure = { time = "10s" }`"#,
    ),
    (
        "impossible",
        "\"4KiB\"",
        "[\"4KiB\"]",
        r#"
error: a list of `size` makes several workloads, and they have the same name
  --> slow.toml:9:8
   |
 9 | size = ["4KiB"]
   |        ^^^^^^^^ expected `{size}` in the name, for the value
hint: write e.g. `name = "read-{size}"`; a single value needs no brackets"#,
    ),
    (
        "bad-unit",
        "\"4KiB\"",
        "\"-4KiB\"",
        r#"
error: `size` is not a quantity: `-4KiB`
  --> slow.toml:9:8
   |
 9 | size = "-4KiB"
   |        ^^^^^^^ expected a size such as `4KiB`, `256KiB`, `30GB` or `1GiB`
hint: remove the sign: the value cannot be negative"#,
    ),
    (
        "bad-unit",
        "\"4KiB\"",
        "\"\"",
        r#"
error: `size` is not a quantity: ``
  --> slow.toml:9:8
   |
 9 | size = ""
   |        ^^ expected a size such as `4KiB`, `256KiB`, `30GB` or `1GiB`
hint: write a number and its unit between the quotes"#,
    ),
    (
        "unknown-value",
        "\"random\"",
        "\"zebra\"",
        r#"
error: unknown pattern `zebra`
  --> slow.toml:10:11
   |
10 | pattern = "zebra"
   |           ^^^^^^^ expected one of `sequential`, `random`, `mixed`, `stride`, `zipf`, `hot-cold`
hint: use one of these; docs/spec.md describes each"#,
    ),
    (
        "out-of-range",
        "measure",
        "jobs = 0\nmeasure",
        r#"
error: `jobs` = 0 is out of range
  --> slow.toml:11:8
   |
11 | jobs = 0
   |        ^ expected a whole number from 1 to 1024
hint: the nearest possible value is `jobs = 1`"#,
    ),
    (
        "out-of-range",
        "measure",
        "jobs = 9999\nmeasure",
        r#"
error: `jobs` = 9999 is out of range
  --> slow.toml:11:8
   |
11 | jobs = 9999
   |        ^^^^ expected a whole number from 1 to 1024
hint: the nearest possible value is `jobs = 1024`"#,
    ),
    (
        "out-of-range",
        "1.0",
        "70",
        r#"
error: `read_share` = 70 is out of range
  --> slow.toml:8:14
   |
 8 | read_share = 70
   |              ^^ expected a number from 0 to 1
hint: 70 % is written `read_share = "70%"`; the nearest possible value is `read_share = 1`"#,
    ),
    (
        "out-of-range",
        "measure",
        "think = \"2h\"\nmeasure",
        r#"
error: `think` = 7200s is out of range
  --> slow.toml:11:9
   |
11 | think = "2h"
   |         ^^^^ expected at most 1h
hint: the nearest possible value is `think = "1h"`"#,
    ),
    (
        "out-of-range",
        "measure",
        "jobs = 1000\nqueue_depth = 1000\nmeasure",
        r#"
error: 1000 jobs × 1000 are too many requests in flight
  --> slow.toml:12:15
   |
12 | queue_depth = 1000
   |               ^^^^ expected `jobs` × `queue_depth` up to 65536
hint: lower `queue_depth`: with 1000 jobs, at most `queue_depth = 65`"#,
    ),
    (
        "out-of-range",
        "measure",
        "range = \"2GiB..1GiB\"\nmeasure",
        r#"
error: `2GiB..1GiB` is empty
  --> slow.toml:11:9
   |
11 | range = "2GiB..1GiB"
   |         ^^^^^^^^^^^^ expected a start below its end, e.g. `1GiB..30GiB`
hint: write START before END: `1GiB..2GiB`"#,
    ),
    (
        "out-of-range",
        "measure",
        "range = \"1GiB..1GiB\"\nmeasure",
        r#"
error: `1GiB..1GiB` is empty
  --> slow.toml:11:9
   |
11 | range = "1GiB..1GiB"
   |         ^^^^^^^^^^^^ expected a start below its end, e.g. `1GiB..30GiB`
hint: leave `range` out for the whole target"#,
    ),
    (
        "out-of-range",
        "requests = 10",
        "time = \"0\"",
        r#"
error: the phase is empty
  --> slow.toml:11:1
   |
11 | measure = { time = "0" }
   | ^^^^^^^ expected more than nothing
hint: make it longer, or leave the phase out if it is not `measure`"#,
    ),
    (
        "out-of-range",
        "\"4KiB\"",
        "\"99999999TiB\"",
        r#"
error: `size` is too large
  --> slow.toml:9:8
   |
 9 | size = "99999999TiB"
   |        ^^^^^^^^^^^^^ expected less than 2^63
hint: check the unit: 2^63 bytes are 8388608TiB, and 2^63 ns are 292 years"#,
    ),
    (
        "impossible",
        "measure = { requests = 10 }\n",
        "measure = { requests = 10 }\n\n[[workload]]\nname = \"read\"\nread_share = 1.0\n\
         size = \"4KiB\"\npattern = \"random\"\nmeasure = { requests = 10 }\n",
        r#"
error: two workloads are called `read`
  --> slow.toml:14:8
   |
14 | name = "read"
   |        ^^^^^^ expected a unique name
hint: give it a name that says how it differs: names of workloads must be unique"#,
    ),
    (
        "impossible",
        "size = \"4KiB\"",
        "size = [\"4KiB\", \"8KiB\"]",
        r#"
error: a list of `size` makes several workloads, and they have the same name
  --> slow.toml:9:8
   |
 9 | size = ["4KiB", "8KiB"]
   |        ^^^^^^^^^^^^^^^^ expected `{size}` in the name, for the value
hint: write e.g. `name = "read-{size}"`"#,
    ),
    (
        "impossible",
        "name = \"read\"",
        "name = \"read-{size}\"",
        r#"
error: the name has `{size}`, but there is no list of `size`
  --> slow.toml:7:8
   |
 7 | name = "read-{size}"
   |        ^^^^^^^^^^^^^ expected a name without it, or such a list
hint: remove it from the name, or add the list of its values, e.g. `size = ["4KiB", "16KiB"]`"#,
    ),
    (
        "impossible",
        "[[workload]]",
        "[[host]]\nname = \"ncq\"\n[[host]]\nname = \"ncq\"\n\n[[workload]]",
        r#"
error: two hosts are called `ncq`
  --> slow.toml:9:8
   |
 9 | name = "ncq"
   |        ^^^^^ expected a unique name
hint: give each host its own name (at most one may have none): cells are named `NAME/TARGET`"#,
    ),
    (
        "out-of-range",
        "measure",
        "precondition = [{ idle = \"0\" }]\nmeasure",
        r#"
error: the step is empty
  --> slow.toml:11:26
   |
11 | precondition = [{ idle = "0" }]
   |                          ^^^ expected more than nothing
hint: make it longer, or leave the step out"#,
    ),
];

#[test]
fn every_kind_of_mistake_is_said_with_its_place() {
    for (_, from, to, stderr) in KINDS {
        refused(from, to, &stderr.replace("@KEYS", KEYS));
        assert!(stderr.contains("\nhint: "), "{to}: nobody is left without a way on");
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
error: 1GiB of flash cannot hold 1GiB and the 8224KiB that the translation layer needs
  --> drive.toml:28:1
   |
28 | [ftl]
   | ^^^^^
hint: raise `nand.blocks_per_plane`, or lower `capacity` or what the layer reserves"#,
    );
    drive_refused(
        &[("planes_per_die = { value = 1", "planes_per_die = { value = 0")],
        r#"
error: `nand.planes_per_die` = 0 is out of range
  --> drive.toml:19:28
   |
19 | planes_per_die = { value = 0, source = "sheet" }
   |                            ^ expected a whole number from 1 to 16
hint: the nearest possible value is `value = 1`"#,
    );
    // 2^60 bytes of capacity.
    drive_refused(
        &[("\"1GiB\"", "\"1152921504606846976B\"")],
        r#"
error: a drive cannot have a capacity of 1048576TiB
  --> drive.toml:6:22
   |
 6 | capacity = { value = "1152921504606846976B", assumed = "small" }
   |                      ^^^^^^^^^^^^^^^^^^^^^^ expected from 1MiB to 1PiB
hint: the nearest possible value is `value = "1024TiB"`"#,
    );
    drive_refused(
        &[("\"1GiB\"", "\"8388608TiB\"")],
        r#"
error: `capacity` is too large
  --> drive.toml:6:22
   |
 6 | capacity = { value = "8388608TiB", assumed = "small" }
   |                      ^^^^^^^^^^^^ expected less than 2^63
hint: check the unit: 2^63 bytes are 8388608TiB, and 2^63 ns are 292 years"#,
    );
    drive_refused(
        &[("\"1GiB\"", "\"1000000001B\"")],
        r#"
error: capacity 1000000001B is not a whole number of pages of 4KiB
  --> drive.toml:6:22
   |
 6 | capacity = { value = "1000000001B", assumed = "small" }
   |                      ^^^^^^^^^^^^^
hint: round the capacity down to a multiple of the page"#,
    );
}

#[test]
fn units_that_do_not_divide_are_refused() {
    drive_refused(
        &[("page = { value = \"4KiB\"", "page = { value = \"5KiB\"")],
        r#"
error: a page cannot have 5KiB
  --> drive.toml:22:18
   |
22 | page = { value = "5KiB", source = "sheet" }
   |                  ^^^^^^ expected a power of two from 512B to 1MiB
hint: the nearest possible page is `8KiB`"#,
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
  --> drive.toml:28:1
   |
28 | [ftl]
   | ^^^^^
hint: use a multiple of the page (4KiB) that divides it"#,
    );
}

#[test]
fn every_mistake_in_a_value_of_a_drive_names_it_by_its_path() {
    drive_refused(
        &[("{ value = 32, source", "{ value = \"32\", source")],
        r#"
error: `link.queue_depth` is a string
  --> drive.toml:13:25
   |
13 | queue_depth = { value = "32", source = "sheet" }
   |                         ^^^^ expected a whole number
hint: write it without quotes: `value = 32`"#,
    );
    drive_refused(
        &[("\"20us\"", "20")],
        r#"
error: `link.command` has no unit
  --> drive.toml:14:21
   |
14 | command = { value = 20, source = "sheet" }
   |                     ^^ expected a time such as `250us`, `10ms`, `30s` or `5m`
hint: write the number with its unit, in quotes"#,
    );
    drive_refused(
        &[("mapping = { value = \"page\"", "mapping = { value = \"pages\"")],
        concat!(
            r#"
error: unknown ftl.mapping `pages`
  --> drive.toml:29:21
   |
29 | mapping = { value = "pages", assumed = "the common choice" }
   |                     ^^^^^^^ expected one of `page`, `hybrid`, `block`, `in-place`, "#,
            "`bast`, `fast`\nhint: did you mean `page`?"
        ),
    );
    drive_refused(
        &[("read = { value = \"50us\"", "read = { valu = \"50us\"")],
        r#"
error: `nand.read` has no `value`
  --> drive.toml:23:1
   |
23 | read = { valu = "50us", source = "sheet" }
   | ^^^^ expected `value`: a time such as `250us`, `10ms`, `30s` or `5m`
hint: the file has `valu`; did you mean `value`?"#,
    );
    drive_refused(
        &[("read = { value = \"50us\",", "read = { value = \"50us\", note = \"hm\",")],
        &r#"
error: unknown key `note` in `nand.read`
  --> drive.toml:23:26
   |
23 | read = { value = "50us", note = "hm", source = "sheet" }
   |                          ^^^^ expected one of KEYS
hint: remove it: assay does not know this key"#
            .replace("KEYS", "`source`, `derived`, `assumed`, `from_claim`, `value`"),
    );
}

#[test]
fn values_of_a_drive_need_a_source() {
    drive_refused(
        &[("{ value = \"1GiB\", assumed = \"small\" }", "{ value = \"1GiB\" }")],
        r#"
error: `capacity` names no origin
  --> drive.toml:6:12
   |
 6 | capacity = { value = "1GiB" }
   |            ^^^^^^^^^^^^^^^^^^ expected exactly one of `source`, `derived`, `assumed`
hint: add the origin: without it nobody can check the value"#,
    );
    drive_refused(
        &[("{ value = \"50us\", source", "{ value = \"50us\", derived = \"\", source")],
        r#"
error: `nand.read` names 2 origins
  --> drive.toml:23:8
   |
23 | read = { value = "50us", derived = "", source = "sheet" }
   |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ @
hint: add the origin: without it nobody can check the value"#
            .replace('@', "expected exactly one of `source`, `derived`, `assumed`")
            .as_str(),
    );
    drive_refused(
        &[("read = { value = \"50us\", source = \"sheet\" }", "read = { value = \"50us\" }")],
        r#"
error: `nand.read` names no origin
  --> drive.toml:23:8
   |
23 | read = { value = "50us" }
   |        ^^^^^^^^^^^^^^^^^^ expected exactly one of `source`, `derived`, `assumed`
hint: add the origin: without it nobody can check the value"#,
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
fn a_device_file_is_shown_like_a_drive_that_comes_with_assay() {
    let directory = temporary();
    std::fs::write(directory.path().join("drive.toml"), DRIVE).expect("written");
    for name in ["drive.toml", "sim:drive.toml"] {
        let output = assay(directory.path(), &["devices", name]);
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.starts_with("drive: A drive of the tests\n"), "{shown}");
        let read = "  nand.read              50us           source: a data sheet\n";
        assert!(shown.contains(read), "{shown}");
        assert_eq!(output.status.code(), Some(0));
    }
    let broken = changed(DRIVE, "title = \"A drive of the tests\"\n", "");
    std::fs::write(directory.path().join("broken.toml"), broken).expect("written");
    let stderr = "error: device has no `title`\n  --> broken.toml: expected `title`: a string\n\
                  hint: add e.g. `title = \"A drive of mine\"`";
    assert_fails(directory.path(), &["devices", "broken.toml"], 2, stderr);
    let stderr = "error[no-such-file]: the device file gone.toml cannot be read: No such file or \
                  directory (os error 2)\nhint: check the path (a relative path starts at the \
                  current directory); `assay devices` lists the models";
    assert_fails(directory.path(), &["devices", "gone.toml"], 2, stderr);
}

#[test]
fn what_is_nearly_a_target_of_assay_is_a_path_if_there_is_such_a_file() {
    let directory = temporary();
    let error = |name: &str| {
        let output = assay(directory.path(), &["run", "quick", "--only", name, "--out", "out"]);
        String::from_utf8_lossy(&output.stderr).split(':').next().unwrap_or_default().to_owned()
    };
    assert_eq!(error("simm:disk"), "error[unknown-target]");
    assert_eq!(error("./simm:disk"), "error[size-needed]");
    assert_eq!(error("floppy:disk"), "error[size-needed]");
    std::fs::write(directory.path().join("simm:disk"), []).expect("written");
    assert_ne!(error("simm:disk"), "error[unknown-target]");
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
            &["run", "quick", "--only", "simm:ssd-l", "--size", "1GiB"],
            "error[unknown-target]: there is no target `simm:ssd-l`\nhint: did you mean \
             `sim:ssd-l`? For a file of this name, write `./simm:ssd-l`",
        ),
        (
            &["compare", "sim:ssd-l", "Sin:ssd-m"],
            "error[unknown-target]: there is no target `Sin:ssd-m`\nhint: did you mean \
             `sim:ssd-m`? For a file of this name, write `./Sin:ssd-m`",
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
            "error: `quick` has no workload `all`\nhint: leave out `--workload` to compare all \
             workloads",
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
    let binary = "error: binary.toml cannot be read: it is not UTF-8 text\nhint: `examples/` has \
                  files to start from";
    assert_fails(directory.path(), &["run", "binary.toml"], 2, binary);
    let run = r#"
error: gone/run.json cannot be read: No such file or directory (os error 2)
hint: name a run directory: it holds `run.json` and `cells.json`, and `assay run quick` makes one"#;
    assert_fails(directory.path(), &["report", "gone"], 2, run);
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
            &["linux", "run", "--drive", "ssd-m", "--memory", "much", "--", "true"],
            "error: `--memory much` is not a size\n\
             hint: write a size such as `4KiB`, `256KiB`, `30GB` or `1GiB`",
        ),
        (
            &["compare", "sim:ssd-m"],
            "error: a comparison needs two targets or more, and only one is named\nhint: name a \
             second target; the first is the reference",
        ),
        (
            &["report"],
            "error: there is no run below `runs`\nhint: make a run with `assay run quick`, or name \
             the directory of a run",
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
hint: add `targets = ["sim:ssd-m"]` to the experiment, or give `--on sim:ssd-m` or `--on PATH`"#,
    );
}

#[test]
fn an_expectation_that_is_no_comparison_is_refused_before_the_run() {
    refused(
        "measure",
        "expect = [\"p99 <\"]\nmeasure",
        r#"
error: expected a value
  --> slow.toml:11:17
   |
11 | expect = ["p99 <"]
   |                 ^
hint: compare a metric with a value, e.g. `p99 < 10ms`; see `assay explain metrics`"#,
    );
}

/// (expectation, what is wrong, what to write).
const EXPECTATIONS: &[(&str, &str, &str)] = &[
    ("p99 < 1", "`p99` is a time, and `1` has no unit", "`p99 < 1ms`"),
    ("read.mean < 0.5", "`read.mean` is a time, and `0.5` has no unit", "`read.mean < 0.5ms`"),
    ("bandwidth > 200", "`bandwidth` is a transfer rate, and `200` has no", "> 200MB/s`"),
    ("bandwidth > 1GB", "`bandwidth` is a transfer rate, and `1GB` is a size", "`1MB/s`"),
    ("p99 < 4KiB", "`p99` is a time, and `4KiB` is a size", "`1ms`"),
    ("elapsed > 10", "`elapsed` is a time, and `10` has no unit", "`elapsed > 10ms`"),
    ("p99 < 5 parsec", "expected an operator or the end", ""),
    ("p99 < 5 ms", "expected an operator or the end", "`1ms`"),
    ("p99 < 5parsec", "there is no unit `parsec`", "use ns"),
    ("p99", "`p99` is a number, not a comparison", "`p99 < 1ms`"),
];

#[test]
fn an_expectation_of_two_units_is_refused_before_the_run() {
    for (expectation, message, hint) in EXPECTATIONS {
        let directory = temporary();
        let to = format!("expect = [\"{expectation}\"]\nmeasure");
        let file = directory.path().join("slow.toml");
        std::fs::write(file, changed(EXPERIMENT, "measure", &to)).expect("written");
        let output = assay(directory.path(), &["run", "slow.toml", "--out", "out"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{expectation}: {said}");
        assert!(said.contains(message) && said.contains(hint), "{expectation}: {said}");
        assert!(said.contains("\nhint: "), "{expectation}: {said}");
        assert!(!directory.path().join("out").exists(), "nothing was run");
    }
}

#[test]
fn an_expectation_with_units_that_fit_runs() {
    let directory = temporary();
    let to = "expect = [\"p99 < 1s\", \"p99 < 100 * p50\", \"iops > 1\", \"share<1s > 50%\", \
              \"bandwidth / iops >= 4KiB\", \"errors == 0\"]\nmeasure";
    let file = directory.path().join("slow.toml");
    std::fs::write(file, changed(EXPERIMENT, "measure", to)).expect("written");
    let output = assay(directory.path(), &["run", "slow.toml", "--out", "out", "--quiet"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[test]
fn a_misspelt_key_of_a_drive_is_answered_with_all_that_may_be_there() {
    drive_refused(
        &[("reserve_blocks", "alocation = { value = \"static\", assumed = \"\" }\nreserve_blocks")],
        concat!(
            r#"
error: unknown key `alocation` in ftl
  --> drive.toml:30:1
   |
30 | alocation = { value = "static", assumed = "" }
   | ^^^^^^^^^ expected one of `mapping`, `allocation`, `reserve_blocks`, `save_map_every`, "#,
            r#"`map_cache`, `power_fail_safe`
hint: did you mean `allocation`?"#
        ),
    );
    drive_refused(
        &[("reserve_blocks", "unit = { value = \"4KiB\", assumed = \"\" }\nreserve_blocks")],
        concat!(
            r#"
error: `unit` is only allowed with mapping `hybrid`
  --> drive.toml:30:1
   |
30 | unit = { value = "4KiB", assumed = "" }
   | ^^^^ expected one of `mapping`, `allocation`, `reserve_blocks`, `save_map_every`, "#,
            r#"`map_cache`, `power_fail_safe`
hint: remove `unit`, or use mapping `hybrid`"#
        ),
    );
    let collection = "[collection]\nvictm = { value = \"fifo\", assumed = \"\" }\n\n[buffer]";
    drive_refused(
        &[("[buffer]", collection)],
        r#"
error: unknown key `victm` in collection
  --> drive.toml:33:1
   |
33 | victm = { value = "fifo", assumed = "" }
   | ^^^^^ expected one of `victim`, `pace`, `frontiers`, `copy`, `target`, `erase`
hint: did you mean `victim`?"#,
    );
    drive_refused(
        &[("bus = { value = \"40MB/s\"", "buss = { value = \"40MB/s\"")],
        r#"
error: nand has no `bus`
  --> drive.toml:16:2
   |
16 | [nand]
   |  ^^^^ expected `bus`: a table
hint: the file has `buss`; did you mean `bus`?"#,
    );
    drive_refused(
        &[("bus = { value = \"40MB/s\", source = \"sheet\" }", "bus = \"40MB/s\"")],
        r#"
error: `bus` is a string
  --> drive.toml:26:7
   |
26 | bus = "40MB/s"
   |       ^^^^^^^^ expected a table
hint: give the origin of the value: `bus = { value = "40MB/s", assumed = "why" }`"#,
    );
}

#[test]
fn a_wrong_command_line_is_answered_with_a_right_one() {
    let directory = temporary();
    let seed = "hint: write a whole number from 0 to 18446744073709551615, e.g. `--seed 7`";
    let cases: &[(&[&str], &str, &str)] = &[
        (
            &["run", "quick", "--only", "new.img", "--size", "-5GiB"],
            "error: `--size -5GiB` is not a size",
            "hint: write a size such as `4KiB`, `256KiB`, `30GB` or `1GiB`",
        ),
        (
            &["run", "quick", "--size"],
            "error: a value is required for '--size <SIZE>' but none was supplied",
            "hint: write a size such as `4KiB`, `30GB` or `1GiB`, e.g. `--size 1GiB`",
        ),
        (
            &["run", "quick", "--seed", "-1"],
            "error: invalid value '-1' for '--seed <N>': invalid digit found in string",
            seed,
        ),
        (
            &["run", "quick", "--threads", "0"],
            "error: invalid value '0' for '--threads <N>': 0 is not in 1..=1024",
            "hint: write a whole number from 1 to 1024, e.g. `--threads 4`",
        ),
        (
            &["run", "quick", "--repeats", "0"],
            "error: invalid value '0' for '--repeats <N>': 0 is not in 1..=1000",
            "hint: write a whole number from 1 to 1000, e.g. `--repeats 5`",
        ),
        (
            &["run"],
            "error: the following required arguments were not provided: <SUBJECT>",
            "hint: name a study or an experiment file: `assay run quick`",
        ),
        (
            &["run", "quick", "--outt", "a"],
            "error: unexpected argument '--outt' found",
            "hint: did you mean `--out`?",
        ),
        (
            &["run", "quick", "more"],
            "error: unexpected argument 'more' found",
            "hint: `assay run --help` shows the arguments and options",
        ),
        (
            &["run", "quick", "--on", "a", "--only", "b"],
            "error: the argument '--on <T,T…>' cannot be used with '--only <T,T…>'",
            "hint: give one of the two",
        ),
        (
            &["run", "quick", "--out", "a", "--out", "b"],
            "error: the argument '--out <DIR>' cannot be used multiple times",
            "hint: give it once",
        ),
        (&["runn"], "error: unrecognized subcommand 'runn'", "hint: did you mean `assay run`?"),
        (
            &["quick"],
            "error: unrecognized subcommand 'quick'",
            "hint: did you mean `assay run quick`?",
        ),
    ];
    for (arguments, error, hint) in cases {
        assert_fails(directory.path(), arguments, 2, &format!("{error}\n{hint}"));
    }
    let help = assay(directory.path(), &["run", "--help"]);
    assert!(help.status.success() && help.stderr.is_empty() && !help.stdout.is_empty());
}

#[test]
fn every_word_that_is_shown_is_explained_however_it_is_written() {
    let explain = |word: &str| {
        let output = assay(Path::new("."), &["explain", word]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let metrics = ["p99", "p99.95", "read.p50", "iops", "bandwidth", "mean", "sd", "share<1ms"];
    let tables = ["drift", "drifts", "A", "KS", "~", "*", "=", "steady", "not steady", "x", "wa"];
    let other = ["exit-codes", "Exit Codes", "not measured", "effect_size", "Vargha-Delaney"];
    let verdicts = assay_analysis::ledger::Verdict::ALL.map(|v| v.name());
    let elevators = assay_spec::experiment::ElevatorKind::NAMES;
    let words = metrics.iter().chain(&tables).chain(&other).chain(&verdicts).chain(&elevators);
    for word in words {
        let (code, text) = explain(word);
        assert!(code == Some(0) && text.lines().count() > 2, "{word}: {text}");
        assert_eq!(explain(&word.to_uppercase()), (code, text), "{word}");
    }
    for (name, ..) in assay_analysis::metric::NAMES {
        if name.chars().all(|c| c.is_ascii_lowercase()) {
            assert_eq!(explain(name).0, Some(0), "{name}");
        }
    }
    // A contradiction names its places, and a number that was in sight what was chosen with it.
    let (_, contradiction) = explain("I-03");
    for part in
        ["- §5.7, Fig. 8(a)", "Would have to hold: spike / every <= mean, with spike = 680 ms"]
    {
        assert!(contradiction.contains(part), "{contradiction}");
    }
    let given =
        "Raptor, mean of five file systems: in sight when this was chosen: `size = \"64KiB\"` in";
    assert!(explain("T-04").1.contains(given));
    assert!(explain("T-17").1.contains("Follows: capacity * erasures"));
    let list = assay(Path::new("."), &["explain"]);
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    for word in ["p99", "drift", "cfq", "exit-codes", "S-03", "device-mounted", "unknown-key"] {
        assert!(list.contains(word), "{word}: {list}");
    }
    let near = "error: nothing is called `drft`\nhint: did you mean `drift`?";
    assert_fails(Path::new("."), &["explain", "drft"], 2, near);
    let part = "error: nothing is called `whitney`\n\
                hint: `assay explain` lists everything there is to explain";
    assert_fails(Path::new("."), &["explain", "whitney"], 2, part);
}

#[test]
fn the_exit_codes_that_are_documented_are_those_of_the_code() {
    let output = assay(Path::new("."), &["explain", "exit-codes"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let code = |line: &str| line.split_once(": ").and_then(|(code, _)| code.parse::<i32>().ok());
    let documented: BTreeSet<i32> = text.lines().filter_map(code).collect();
    let source = include_str!("../src/output/mod.rs");
    let constant = |line: &str| {
        let (_, value) = line.strip_prefix("pub const ")?.split_once(": u8 = ")?;
        value.trim_end_matches(';').parse::<i32>().ok()
    };
    let mut used: BTreeSet<i32> = source.lines().filter_map(constant).collect();
    // Of a panic, which no constant names.
    used.insert(101);
    assert_eq!(documented, used);
}

#[test]
fn an_expectation_that_is_wrong_is_marked_where_it_is_wrong() {
    refused(
        "measure",
        "expect = [\"errors == 0\", \"p99 < 10\"]\nmeasure",
        r#"
error: `p99` is a time, and `10` has no unit
  --> slow.toml:11:33
   |
11 | expect = ["errors == 0", "p99 < 10"]
   |                                 ^^
hint: write the unit, e.g. `p99 < 10ms`"#,
    );
    refused(
        "measure",
        "expect = [\"bandwith > 1MB/s\"]\nmeasure",
        r#"
error: there is no metric `bandwith`
  --> slow.toml:11:12
   |
11 | expect = ["bandwith > 1MB/s"]
   |            ^^^^^^^^
hint: did you mean `bandwidth`?"#,
    );
    refused(
        "measure",
        "expect = [\"first4 > 2\"]\nmeasure",
        r#"
error: `first4` is a time, and `2` has no unit
  --> slow.toml:11:21
   |
11 | expect = ["first4 > 2"]
   |                     ^
hint: write the unit, e.g. `first4 > 2ms`"#,
    );
}

#[test]
fn what_was_not_kept_is_said_where_an_expectation_wants_it() {
    let directory = temporary();
    let lines = "first = 3\nexpect = [\"first4 > 1us\", \"first3 > 1us\"]\nmeasure";
    std::fs::write(directory.path().join("slow.toml"), changed(EXPERIMENT, "measure", lines))
        .expect("written");
    let output = assay(directory.path(), &["run", "slow.toml", "--out", "out", "--quiet"]);
    let said = String::from_utf8_lossy(&output.stderr);
    let unmet = "not met: first4 > 1us of slow/read@ssd-m: first4: 3 of the first requests were \
                 kept, but 4 are needed; `first` in the workload sets how many are kept\n";
    assert_eq!((said.as_ref(), output.status.code()), (unmet, Some(1)));
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text_is_no_bug() {
    use std::os::unix::ffi::OsStrExt;
    let directory = temporary();
    std::fs::write(directory.path().join("slow.toml"), EXPERIMENT).expect("written");
    let out = std::ffi::OsStr::from_bytes(b"out-\xff");
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(directory.path()).args(["run", "slow.toml", "--quiet", "--out"]).arg(out);
    let output = command.output().expect("the binary runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(directory.path().join(out).join("run.json").exists());
}

#[test]
fn a_damaged_run_is_named_with_the_way_on() {
    let directory = temporary();
    let place = directory.path();
    std::fs::write(place.join("slow.toml"), EXPERIMENT).expect("written");
    let run = ["run", "slow.toml", "--out", "out", "--quiet"];
    assert_eq!(assay(place, &run).status.code(), Some(0));
    let cells = std::fs::read(place.join("out/cells.json")).expect("there");
    std::fs::write(place.join("out/cells.json"), &cells[..cells.len() / 2]).expect("written");
    let verbs: [&[&str]; 4] =
        [&["report", "out"], &["compare", "out"], &["claims", "oslo09", "out"], &["resume", "out"]];
    for verb in verbs {
        let output = assay(place, verb);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{verb:?}: {said}");
        assert!(said.starts_with("error: out/cells.json is damaged: "), "{verb:?}: {said}");
        let hint = "hint: move the file away; `assay resume out` then measures all cells again\n";
        assert!(said.ends_with(hint), "{verb:?}: {said}");
    }
    std::fs::remove_file(place.join("out/cells.json")).expect("removed");
    assert_eq!(assay(place, &["resume", "out", "--quiet"]).status.code(), Some(0));
    assert_eq!(std::fs::read(place.join("out/cells.json")).expect("there"), cells);
    std::fs::write(place.join("out/run.json"), "{").expect("written");
    let output = assay(place, &["report", "out"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("error: out/run.json is damaged: "), "{said}");
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
    let refusal = "error[run-exists]: out already holds a run\nhint: continue that run with `assay \
                   resume out`, or choose another `--out`\n";
    assert!(said.ends_with(refusal), "{said}");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read(directory.path().join("out/run.json")).expect("there"), before);
}

/// Ids that `text` gives to errors: the first argument of a constructor, or a field `id`.
fn ids(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for start in ["Error::environment(", "Error::usage(", "Error::new(", "id: "] {
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
    for crate_of in ["assay-engine", "assay-linux"] {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(crate_of).join("src");
        ids_below(&sources, &mut wanted);
    }
    assert!(wanted.len() > 10 && wanted.contains("run-exists"), "the scan finds ids: {wanted:?}");
    wanted.extend(Kind::ALL.iter().map(|(_, name, _)| (*name).to_owned()));
    let output = assay(Path::new("."), &["explain", "--json"]);
    let explained: BTreeSet<String> =
        serde_json::from_slice(&output.stdout).expect("a list of ids in JSON");
    let missing: Vec<&String> = wanted.difference(&explained).collect();
    assert!(missing.is_empty(), "without an explanation: {missing:?}");
}

#[test]
fn what_would_measure_nothing_or_replace_something_is_refused() {
    let dir = temporary();
    let place = dir.path();
    std::fs::File::create(place.join("sparse.img")).unwrap().set_len(1 << 20).unwrap();
    let sparse = assay(place, &["run", "quick", "--only", "./sparse.img", "--out", "a"]);
    let talk = String::from_utf8_lossy(&sparse.stderr);
    assert_eq!(sparse.status.code(), Some(3), "{talk}");
    let said = "error[file-has-holes]: ./sparse.img was never written at byte 0\nhint: ";
    assert!(talk.starts_with(said), "{talk}");

    std::fs::create_dir(place.join("mine")).unwrap();
    std::fs::write(place.join("mine/report.html"), "mine").unwrap();
    let full = assay(place, &["run", "quick", "--only", "sim:ssd-m", "--out", "mine"]);
    let talk = String::from_utf8_lossy(&full.stderr);
    let said = "error[out-not-empty]: mine is not empty\nhint: choose another `--out`: a run would \
                replace files in this directory";
    assert_eq!((full.status.code(), talk.trim_end()), (Some(2), said));
    assert_eq!(std::fs::read_to_string(place.join("mine/report.html")).unwrap(), "mine");

    let beyond = "format = 1\nname = \"far\"\nquestion = \"Where?\"\ntargets = [\"sim:ssd-m\"]\n\
                  [[workload]]\nname = \"far\"\nread_share = 1.0\nsize = \"4KiB\"\n\
                  pattern = \"random\"\nrange = \"100GB..\"\nmeasure = { requests = 10 }\n";
    std::fs::write(place.join("far.toml"), beyond).unwrap();
    let far = assay(place, &["run", "far.toml", "--out", "b"]);
    let talk = String::from_utf8_lossy(&far.stderr);
    assert_eq!(far.status.code(), Some(2), "{talk}");
    let said = "error[range-outside]: the range of `far` begins at 100GB, but the target ends at";
    assert!(talk.contains(said), "{talk}");
}

#[test]
fn a_scale_is_a_fraction_of_something_that_can_be_scaled() {
    refused(
        "targets = [",
        "scale = \"2\"\ntargets = [",
        r#"error: `2` is not a scale
  --> slow.toml:4:9
   |
 4 | scale = "2"
   |         ^^^ expected a fraction of whole numbers such as `1/8`, or `1`
hint: write the factor for the sizes of files, memory and partitions; `1` is the full size"#,
    );
    let directory = temporary();
    std::fs::write(directory.path().join("slow.toml"), EXPERIMENT).expect("written");
    let cases = [
        (
            ["--scale", "0.5"],
            "error: `--scale 0.5` is not a scale\nhint: write a fraction of whole numbers such as \
             `1/8`, or `1`",
        ),
        (
            ["--scale", "1/2"],
            "error: `--scale` has no effect: no experiment has a `scale`\nhint: leave out \
             `--scale`, or add a key such as `scale = \"1/8\"` to an experiment on files",
        ),
    ];
    for (words, stderr) in cases {
        let arguments = [["run", "slow.toml"], words].concat();
        assert_fails(directory.path(), &arguments, 2, stderr);
    }
}

#[test]
fn another_scale_is_what_the_run_keeps() {
    let directory = temporary();
    let experiment = r#"format = 1
name = "small"
question = "Is it small?"
scale = "1/8"

[[workload]]
name = "write"
file = "write"
size = "4KiB"
length = "64KiB"
"#;
    std::fs::write(directory.path().join("small.toml"), experiment).expect("written");
    let place = directory.path().join("place");
    std::fs::create_dir(&place).expect("made");
    let on = place.to_str().expect("text");
    for (words, length) in
        [(vec![], "8KiB"), (vec!["--scale", "1/2"], "32KiB"), (vec!["--full"], "64KiB")]
    {
        let out = format!("out-{length}");
        let mut arguments = vec!["run", "small.toml", "--on", on, "--out", &out, "--quiet"];
        arguments.extend(words);
        let output = assay(directory.path(), &arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(&format!("write a file of {length}")), "{said}");
    }
}

#[test]
fn a_range_in_percent_has_both_ends_and_in_order() {
    refused(
        "pattern = \"random\"",
        "pattern = \"random\"\nrange = \"51%..49%\"",
        r#"error: `51%..49%` is not a part of a target
  --> slow.toml:11:9
   |
11 | range = "51%..49%"
   |         ^^^^^^^^^^ expected two percentages, e.g. `49%..51%`
hint: whole numbers from 0 to 100, the smaller first"#,
    );
}
