//! Arrays and elevators through the whole command: what is written is run, saved and gone on with.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Arrays of every kind, small enough to be quick.
const EXPERIMENT: &str = r#"
format = 1
name = "arrays"
question = "Do they run?"
targets = [
    "raid0(sim:drive.toml@card.toml*2, sim:drive.toml@perc-6i)",
    "raid1(sim:drive.toml*2, failed=1)",
    "raid10(sim:drive.toml*4, controller=card.toml)",
    "raid01(sim:drive.toml*4, failed=2, rebuild=idle)",
    "raid4(sim:drive.toml*3, chunk=4KiB)",
    "raid5(raid0(sim:drive.toml*2)*3, failed=1, fail_at=5ms, rebuild=50MB/s)",
    "raid6(sim:drive.toml*4, chunk=16KiB, failed=2, controller=perc-6i)",
]

[host]
gap = "20us"
queue_depth = 8
elevator = "ELEVATOR"

[[workload]]
name = "mixed"
read_share = 0.5
sizes = { "4KiB" = 3, "256KiB" = 1 }
pattern = "random"
jobs = 4
queue_depth = 4
measure = { requests = 500 }
"#;

const CARD: &str = r#"
format = 1
name = "card"
title = "A card"
[sources]
[link]
rate = { value = "300MB/s", assumed = "a test" }
queue_depth = { value = 16, assumed = "a test" }
command = { value = "5us", assumed = "a test" }
[raid]
stripe = { value = "3us", assumed = "a test" }
parity = { value = "500MB/s", assumed = "a test" }
"#;

const TARGETS: usize = 7;

fn assay(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(directory).args(arguments).output().expect("the binary runs")
}

fn place(elevator: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text);
    write("arrays.toml", &EXPERIMENT.replace("ELEVATOR", elevator)).expect("written");
    write("drive.toml", include_str!("../../../examples/devices/my-ssd.toml")).expect("written");
    write("card.toml", CARD).expect("written");
    directory
}

fn run(directory: &Path, out: &str, threads: &str) -> Vec<u8> {
    let arguments = ["run", "arrays.toml", "--quiet", "--out", out, "--threads", threads];
    let output = assay(directory, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read(directory.join(out).join("cells.json")).expect("there")
}

#[test]
fn every_level_runs_the_same_again_under_every_elevator() {
    for elevator in ["noop", "deadline", "anticipatory", "cfq"] {
        let directory = place(elevator);
        let one = run(directory.path(), "one", "1");
        assert!(one == run(directory.path(), "two", "2"), "{elevator}");
        let text = String::from_utf8(one).expect("text");
        let names = [
            "raid0-2x-drive-at-card-1x-drive-at-perc-6i",
            "raid01-4x-drive-failed2-rebuild",
            "raid5-3x-raid0-2x-drive-failed1-rebuild",
            "raid6-4x-drive-16KiB-failed2-perc-6i",
        ];
        for name in names {
            assert!(text.contains(&format!("\"arrays/mixed@{name}\"")), "{name}");
        }
        assert!(!text.contains("requests failed") && !text.contains("\"skipped\":\""), "{text}");
        assert_eq!(text.matches("\"skipped\":null").count(), TARGETS);
    }
}

#[test]
fn a_run_goes_on_with_the_drives_and_cards_saved_with_it() {
    let directory = place("noop");
    let whole = run(directory.path(), "out", "1");
    // As if it had been killed before its last cells, and the files changed since.
    let cells = directory.path().join("out/cells.json");
    let text = String::from_utf8(whole.clone()).expect("text");
    let third = text.match_indices("{\"id\":").nth(2).expect("a third cell").0;
    fs::write(&cells, format!("{}]}}\n", &text[..third - 1])).expect("written");
    fs::remove_file(directory.path().join("drive.toml")).expect("removed");
    fs::write(directory.path().join("card.toml"), "nonsense").expect("written");
    let output = assay(directory.path(), &["resume", "out", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fs::read(cells).expect("there") == whole);
}

#[test]
fn mistakes_in_an_array_are_answered_with_what_is_right() {
    let directory = place("noop");
    let cases = [
        (
            "raid5(sim:ssd-m*4, chnk=4KiB)",
            "error: an array has no option `chnk`\n  --> target:1:20\n   |\n 1 | \
             raid5(sim:ssd-m*4, chnk=4KiB)\n   |                    ^^^^ expected one of \
             `chunk`, `failed`, `fail_at`, `rebuild`, `controller`\nhint: did you mean `chunk`?",
        ),
        (
            "raid5(sim:ssd-m*4, controller=perc6i)",
            "error[no-such-part]: there is no controller `perc6i`\n\
             hint: did you mean `perc-6i`?",
        ),
        (
            "raid0(sim:ssd-x)",
            "error[no-such-model]: there is no modelled drive `ssd-x`\n\
             hint: did you mean `sim:ssd-l`?",
        ),
        (
            "raid0(raid1(sim:ssd-m@perc-6i*2), sim:ssd-m@perc-6i)",
            "error[shared-controller]: `perc-6i` is the controller of two arrays\nhint: write a \
             second card of this kind as `perc-6i#2`",
        ),
        (
            "raid0(sim:ssd-m@perc-6i, controller=perc-6i)",
            "error[shared-controller]: `perc-6i` makes the array, but a member is also connected \
             to it with `@`\nhint: remove the `@`: `controller=` connects all members to this card",
        ),
    ];
    for (target, stderr) in cases {
        let output = assay(directory.path(), &["run", "quick", "--only", target, "--out", "out"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.trim_end(), stderr, "{target}");
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn a_list_of_targets_is_not_cut_within_an_array() {
    let directory = place("noop");
    let list = "raid0(sim:drive.toml, sim:drive.toml, chunk=4KiB),null";
    let arguments = ["run", "arrays.toml", "--only", list, "--out", "out", "--json"];
    let output = assay(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let cells = fs::read_to_string(directory.path().join("out/cells.json")).expect("there");
    assert_eq!(cells.matches("\"skipped\":null").count(), 2);
    assert!(cells.contains("arrays/mixed@raid0-2x-drive-4KiB"), "{cells}");
}

#[test]
fn a_name_that_is_taken_is_said() {
    let place = place("noop");
    fs::copy(place.path().join("drive.toml"), place.path().join("twin.toml")).expect("copied");
    let both = "sim:drive.toml,sim:twin.toml";
    let output = assay(place.path(), &["run", "arrays.toml", "--only", both, "--out", "out"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("so sim:twin.toml is called `") && said.contains(".2` in this run"),
        "{said}"
    );
}
