//! The seven questions put to drives whose answers are built in, none of them a known drive.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A drive of 2 GiB: `planes` of 512 KiB blocks work at a time.
fn drive(name: &str, channels: u32, blocks: u32, rest: &str) -> String {
    let value =
        |key: &str, value: &str| format!("{key} = {{ value = {value}, assumed = \"x\" }}\n");
    let mut text = format!("format = 1\nname = \"{name}\"\ntitle = \"Made up\"\nkind = \"ssd\"\n");
    text += &value("capacity", "\"2GiB\"");
    text += "[sources]\nnone = \"made up for a test\"\n[link]\n";
    text += &value("rate", "\"300MB/s\"");
    text += &value("queue_depth", "1");
    text += &value("command", "\"30us\"");
    text += "[nand]\n";
    text += &value("channels", &channels.to_string());
    text += &value("blocks_per_plane", &blocks.to_string());
    let fixed = [
        ("dies_per_channel", "2"),
        ("planes_per_die", "2"),
        ("pages_per_block", "128"),
        ("page", "\"4KiB\""),
        ("read", "\"60us\""),
        ("program", "\"400us\""),
        ("erase", "\"1500us\""),
        ("bus", "\"40960000B/s\""),
    ];
    fixed.iter().for_each(|(key, v)| text += &value(key, v));
    for line in rest.lines() {
        match line.split_once('=') {
            Some((key, v)) => text += &value(key, v),
            None => text += &format!("{line}\n"),
        }
    }
    text
}

const PAGE: &str = "[ftl]\nmapping=\"page\"\nreserve_blocks=4\n[buffer]\nkind=\"dram\"\n";

/// The workloads of the study's experiments, cut to five seconds, under the name of the first.
fn experiment(names: &[&str]) -> String {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/sigmetrics09");
    let text = |name: &&str| fs::read_to_string(studies.join(format!("{name}.toml"))).unwrap();
    let mut all = text(&names[0]);
    for more in names[1..].iter().map(text) {
        all += &more[more.find("[[workload]]").unwrap()..];
    }
    all.replace("\"10s\"", "\"5s\"")
}

/// The answers, (id, statement), that a drive gets in these experiments.
fn answers(name: &str, drive: &str, experiments: &[&str]) -> Vec<(String, String)> {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(dir.path().join("drive.toml"), drive).unwrap();
    fs::write(dir.path().join("e.toml"), experiment(experiments)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(dir.path()).args(["run", "e.toml", "--only", "sim:drive.toml"]);
    let output = command.args(["--quiet", "--out", "out"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = fs::read_to_string(dir.path().join("out/findings.json")).unwrap();
    let findings: Vec<Value> = serde_json::from_str(&text).unwrap();
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    let word = |f: &Value, key: &str| f[key].as_str().unwrap().to_owned();
    let all: Vec<(String, String)> = (findings.iter())
        .map(|f| (word(f, "id"), word(f, "statement")))
        .filter(|(id, _)| id.starts_with("question/"))
        .collect();
    assert!(all.iter().all(|(id, text)| id.ends_with(name) && page.contains(text)), "{all:?}");
    all
}

/// The only answer is to this question, begins so and says these.
fn only(all: &[(String, String)], id: &str, word: &str, parts: &[&str]) {
    let [(found, text)] = all else { panic!("{all:?}") };
    assert!(found.starts_with(&format!("question/{id}/")), "{found}");
    assert!(text.contains(&format!("? {word}: ")), "{text}");
    parts.iter().for_each(|part| assert!(text.contains(part), "`{part}`: {text}"));
}

#[test]
fn a_uniform_drive_is_uniform() {
    let drive = drive("alike", 2, 600, &format!("{PAGE}size=\"256KiB\"\n"));
    let reads = answers("alike", &drive, &["reads"]);
    only(&reads, "1-reads", "Yes", &["shows no read-ahead", "KS distance at most 0.00"]);
    let writes = answers("alike", &drive, &["writes"]);
    only(&writes, "2-writes", "No", &["random to sequential 1.0"]);
}

#[test]
fn a_read_ahead_is_found_where_it_begins() {
    let ahead = "[readahead]\ntrigger=7\nwindow=\"256KiB\"\n";
    let drive = drive("ahead", 2, 600, &format!("{PAGE}size=\"256KiB\"\n{ahead}"));
    let reads = answers("ahead", &drive, &["reads"]);
    only(&reads, "1-reads", "No", &["becomes fast after 7 requests", "reads ahead"]);
}

#[test]
fn a_mapping_unit_is_found_at_its_size() {
    // Blocks of 512 KiB in two channels of two dies with two planes: superblocks of 4 MiB.
    let ftl = "[ftl]\nmapping=\"hybrid\"\nlog_superblocks=4\nunit=\"16KiB\"\n";
    let rest = format!("{ftl}[buffer]\nkind=\"registers\"\n");
    let drive = drive("units", 2, 560, &rest);
    let all = answers("units", &drive, &["randomness"]);
    let parts = ["grow with the step up to 4 MiB and stay level", "reads do not slow down"];
    only(&all, "6-randomness", "Yes", &parts);
}

#[test]
fn a_large_cache_is_effective() {
    let drive = drive("cached", 2, 600, &format!("{PAGE}size=\"64MiB\"\n"));
    let all = answers("cached", &drive, &["disk-cache", "writes"]);
    // The file is of the third question, and holds what it is answered from.
    only(&all, "3-cache", "Yes", &["sequential writes without the cache take"]);
}
