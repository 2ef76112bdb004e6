//! Every file in `examples/` runs as it stands.

#![allow(clippy::print_stdout)] // a skipped example says why

use std::path::{Path, PathBuf};
use std::process::Command;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// TOML files directly below `directory`, in order of their names.
fn toml_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the directory is there");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files
}

/// Features with a file of their own; a file that is not listed here has not been thought about.
const EXAMPLES: &[&str] = &[
    "array",
    "controllers",
    "custom-drive",
    "elevator",
    "end-of-life",
    "endings",
    "expectations",
    "factors",
    "files",
    "first",
    "host",
    "hosts",
    "hot-cold",
    "interleave",
    "linux",
    "lists",
    "map-cache",
    "mixed",
    "no-log",
    "open-loop",
    "phases",
    "postgresql",
    "program",
    "queues",
    "random",
    "read-write",
    "repeats",
    "sequential",
    "sizes",
    "steady",
    "stride",
    "suspend",
    "targets",
    "throttle",
    "write-cache",
    "zipf",
];

/// Those that want the kernel for guests.
const ON_LINUX: &[&str] = &["files", "linux", "postgresql", "program"];

/// Where Debian has the programs of PostgreSQL.
const POSTGRESQL: &str = "/usr/lib/postgresql";

/// Whether this machine can run guests.
fn has_guests() -> bool {
    let status = Command::new(env!("CARGO_BIN_EXE_assay")).args(["linux", "status"]).output();
    status.expect("the binary runs").status.success()
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a file has a name").to_string_lossy().into_owned()
}

#[test]
fn every_example_is_listed() {
    let found: Vec<String> =
        toml_files(&workspace().join("examples")).iter().map(|p| stem(p)).collect();
    assert_eq!(found, EXAMPLES);
}

#[test]
fn every_example_runs_and_leaves_a_whole_run_directory() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    for name in EXAMPLES {
        let out = temporary.path().join(name);
        let run = Command::new(env!("CARGO_BIN_EXE_assay"))
            .current_dir(workspace())
            .args(["run", &format!("examples/{name}.toml"), "--quiet", "--out"])
            .arg(&out)
            .output()
            .expect("the binary runs");
        let talk = String::from_utf8_lossy(&run.stderr);
        if ON_LINUX.contains(name) && !has_guests() {
            println!("skipped: {name}: {}", talk.lines().next().unwrap_or_default());
            continue;
        }
        if *name == "postgresql" && !Path::new(POSTGRESQL).is_dir() {
            println!("skipped: {name}: this machine has no PostgreSQL");
            continue;
        }
        assert_eq!(run.status.code(), Some(0), "{name}: {talk}");
        assert!(!run.stdout.is_empty(), "{name} prints its table");
        for file in ["run.json", "cells.json", "findings.json", "claims.json", "cells.csv"] {
            assert!(out.join(file).is_file(), "{name} leaves {file}");
        }
        let page = std::fs::read_to_string(out.join("report.html")).expect("the page is there");
        assert!(page.contains("</html>"), "{name}: the page is whole");
        let cells = std::fs::read_to_string(out.join("cells.json")).expect("the cells are there");
        assert!(cells.contains("\"skipped\":null"), "{name} measures something");
        assert!(!cells.contains("\"skipped\":\""), "{name} skips nothing");
        let logs = std::fs::read_dir(out.join("log")).expect("the directory is there").count();
        assert_eq!(logs == 0, *name == "no-log", "{name} has {logs} logs");
    }
}

#[test]
fn every_example_file_names_itself_and_says_what_it_is_for() {
    for path in toml_files(&workspace().join("examples")) {
        let text = std::fs::read_to_string(&path).expect("readable");
        let name = format!("name = \"{}\"", stem(&path));
        assert!(text.lines().any(|line| line == name), "{} has {name}", path.display());
        assert!(text.starts_with("# "), "{} begins with a comment", path.display());
    }
}

#[test]
fn every_device_file_of_the_examples_is_used() {
    let examples = toml_files(&workspace().join("examples"));
    let texts: Vec<String> =
        examples.iter().map(|p| std::fs::read_to_string(p).expect("readable")).collect();
    for device in toml_files(&workspace().join("examples/devices")) {
        let target = format!("sim:examples/devices/{}.toml", stem(&device));
        assert!(texts.iter().any(|text| text.contains(&target)), "no example uses {target}");
    }
}

/// A drive that cannot be built as random writes leave it is not measured as something else.
#[test]
fn a_state_that_cannot_be_built_is_skipped_with_the_reason() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let (out, device) = (temporary.path().join("out"), temporary.path().join("few.toml"));
    // 32 planes of 40 blocks of 1 MiB.
    let few = std::fs::read_to_string(workspace().join("devices/reference-7.toml"))
        .expect("readable")
        .lines()
        .map(|line| match line.split(' ').next() {
            Some("name") => "name = \"few\"\n".to_owned(),
            Some("aliases") => String::new(),
            Some("capacity") => {
                "capacity = { value = \"560MiB\", assumed = \"a test\" }\n".to_owned()
            }
            Some("blocks_per_plane") => {
                "blocks_per_plane = { value = 40, assumed = \"a test\" }\n".to_owned()
            }
            _ => format!("{line}\n"),
        })
        .collect::<String>();
    std::fs::write(&device, few).expect("writable");
    let run = Command::new(env!("CARGO_BIN_EXE_assay"))
        .current_dir(workspace())
        .args(["run", "examples/steady.toml", "--only"])
        .arg(format!("sim:{}", device.display()))
        .args(["--quiet", "--out"])
        .arg(&out)
        .output()
        .expect("the binary runs");
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let text = std::fs::read_to_string(out.join("cells.json")).expect("the cells are there");
    let cells: serde_json::Value = serde_json::from_str(&text).expect("they are JSON");
    let cells = cells["cells"].as_array().expect("they are a list");
    let why = cells.iter().map(|c| c["skipped"].as_str().unwrap_or_default());
    let why: Vec<&str> = why.collect();
    assert_eq!((why[0], why[1]), ("", ""), "new and filled are measured");
    assert!(why[2].contains("its planes have fewer than 48 blocks"), "{}", why[2]);
}
