//! `assay explain --timeline`: the picture, the table and the record of what a drive does when.

use std::fs;
use std::process::{Command, Output};

fn assay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_picture_is_one_self_contained_file() {
    let directory = tempfile::tempdir().unwrap();
    for (target, kinds) in [
        ("sim:ssd-m", ["firmware", "transfer in", "program"]),
        ("sim:ssd-l", ["merge", "erase", "read"]),
        ("sim:ssd-h", ["firmware", "transfer in", "program"]),
        ("sim:wd1600js", ["seek", "wait for the platter", "transfer out"]),
    ] {
        let file = directory.path().join("timeline.svg");
        let path = file.to_str().unwrap();
        let output = assay(&["explain", "--timeline", target, "--out", path]);
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
        let text = fs::read_to_string(&file).unwrap();
        let begins = text.starts_with("<!-- drawn by assay -->\n<svg xmlns=");
        assert!(begins && text.trim_end().ends_with("</svg>"), "{target}");
        for kind in kinds {
            assert!(text.contains(&format!(">{kind}</text>")), "{target}: no {kind} in the legend");
        }
        assert!(text.contains("100 requests") && text.contains("virtual time"), "{target}");
        assert!(text.contains("request 1\n") && text.contains("request 100"), "{target}");
        let foreign = ["<script", "href", "@import", "url("].iter().find(|w| text.contains(**w));
        assert_eq!(foreign, None, "{target}");
        assert!(text.len() < 2_000_000, "{target}: {} bytes", text.len());
    }
}

#[test]
fn the_table_says_what_each_request_waited_for() {
    let text = stdout(&assay(&["explain", "--timeline", "sim:ssd-l", "--requests", "70"]));
    let lines: Vec<&str> = text.lines().filter(|l| l.contains(" write ")).collect();
    assert_eq!(lines.len(), 70, "{text}");
    // The last log opens at the front of a superblock; the next write must merge some first.
    assert!(lines[64].contains("  program 800"), "{}", lines[64]);
    let merged = lines[65];
    assert!(merged.contains("  621 ms  wait for die") && merged.contains("(merge)"), "{merged}");
    let blocks = text.lines().find(|l| l.contains(" blocks are free; ")).expect("it tells of them");
    assert!(blocks.contains("Each block has been erased 0 to "), "{blocks}");
    let text = stdout(&assay(&["explain", "--timeline", "sim:wd1600js", "--requests", "5"]));
    assert_eq!(text.matches(" seek ").count(), 5, "each request: {text}");
}

#[test]
fn the_record_has_bars_that_do_not_overlap() {
    let arguments = ["explain", "--timeline", "sim:ssd-h", "--workload", "mixed", "--json"];
    let record: serde_json::Value = serde_json::from_str(&stdout(&assay(&arguments))).unwrap();
    assert_eq!(record["requests"].as_array().unwrap().len(), 100);
    let mut ends = std::collections::BTreeMap::new();
    for bar in record["bars"].as_array().unwrap() {
        let (start, end) = (bar["start_ns"].as_u64().unwrap(), bar["end_ns"].as_u64().unwrap());
        let before = ends.insert(bar["resource"].as_str().unwrap(), end).unwrap_or(0);
        assert!(before <= start && start < end, "{bar}");
    }
    for request in record["requests"].as_array().unwrap() {
        let parts = request["time"].as_array().unwrap().iter().map(|p| p["ns"].as_u64().unwrap());
        let took = request["end_ns"].as_u64().unwrap() - request["arrival_ns"].as_u64().unwrap();
        assert_eq!(parts.sum::<u64>(), took, "{request}");
    }
    assert_eq!(stdout(&assay(&arguments)), stdout(&assay(&arguments)), "the seed decides it all");
}

#[test]
fn a_workload_can_come_from_an_experiment() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.toml");
    let workload = |name: &str, size: &str| {
        format!(
            "[[workload]]\nname = \"{name}\"\nread_share = 1.0\nsize = \"{size}\"\n\
             pattern = \"sequential\"\njobs = 2\nmeasure = {{ time = \"1s\" }}\n"
        )
    };
    let text = format!(
        "format = 1\nname = \"mine\"\nquestion = \"?\"\ntargets = []\n{}{}{}range = \"64KiB\"\n",
        workload("small", "4KiB"),
        workload("large", "128KiB"),
        workload("few", "4KiB")
    );
    fs::write(&file, text).unwrap();
    let of = |name: &str| {
        let words = format!("{}#{name}", file.display());
        assay(&["explain", "--timeline", "sim:ssd-m", "--workload", &words, "--requests", "3"])
    };
    let text = stdout(&of("large"));
    assert!(text.contains("128KiB") && text.contains("2 in flight"), "{text}");
    let again = ["explain", "--timeline", "sim:wd1600js", "--requests", "40", "--workload"];
    let few = format!("{}#few", file.display());
    let text = stdout(&assay(&[&again[..], &[&few]].concat()));
    assert!(text.contains("cache hit"), "16 pages fit into the disk's cache: {text}");
    let refused = of("none");
    assert_eq!(refused.status.code(), Some(2));
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        error.contains("has no workload `none`") && error.contains("small, large, few"),
        "{error}"
    );
}

#[test]
fn what_cannot_be_shown_is_refused_with_a_hint() {
    for (arguments, said) in [
        (&["--timeline", "null"][..], "sim:NAME"),
        (&["--timeline", "raid0(sim:ssd-m*2)"], "an array has no timeline"),
        (&["--timeline", "sim:ssd-n"], "did you mean `sim:ssd-"),
        (&["--timeline", "sim:ssd-m", "--workload", "fast"], "there is no workload `fast`"),
        (&["--timeline", "sim:ssd-m", "--requests", "0"], "--requests"),
        (&["--requests", "5"], "--timeline"),
        (&["--timeline", "sim:ssd-m", "--out", "/nowhere/x.svg"], "cannot be written"),
    ] {
        let output = assay(&[&["explain"], arguments].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}
