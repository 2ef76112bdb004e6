//! Experiments with `[factors]`: one at a time or all combinations, killed and gone on with.

mod command;

use command::{assay, temporary};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The example, with phases of this length.
fn write(dir: &Path, time: &str) {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/factors.toml");
    let text = fs::read_to_string(example).unwrap();
    assert!(text.contains("time = \"200ms\""));
    fs::write(dir.join("f.toml"), text.replace("200ms", time)).unwrap();
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn targets(run: &Path) -> Vec<String> {
    let cells = json(&run.join("cells.json"));
    let name = |cell: &Value| cell["target"].as_str().unwrap().to_owned();
    cells["cells"].as_array().unwrap().iter().map(name).collect()
}

/// The statement of the finding whose id begins so.
fn finding(run: &Path, id: &str) -> Option<Value> {
    let all = json(&run.join("findings.json"));
    let mut all = all.as_array().unwrap().clone().into_iter();
    all.find(|f| f["id"].as_str().unwrap().starts_with(id))
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn one_factor_at_a_time_unless_all_are_asked_for() {
    let dir = temporary();
    write(dir.path(), "20ms");
    let output = assay(dir.path(), &["run", "f.toml", "--out", "few"]);
    let (table, talk) = text(&output);
    assert_eq!(output.status.code(), Some(0), "{talk}");
    let few = dir.path().join("few");
    // The base, two other levels, two other numbers, a chunk and a drive.
    assert_eq!(targets(&few).len(), 7);
    assert_eq!(targets(&few)[0], "raid0/4/64KiB/ssd-m");
    assert!(table.contains("7 combinations, one factor at a time around the base"), "{table}");
    assert!(
        table
            .contains("16 of the 36 combinations are impossible (6: the card has no such stripes;")
    );
    assert!(table.contains("20 combinations are possible: `--factorial` measures all"), "{table}");
    let effects = finding(&few, "factors/effects/").unwrap();
    assert!(
        effects["statement"].as_str().unwrap().contains("each factor alone changes the bandwidth")
    );
    // By itself a level is what was measured: no other cell is in it.
    let disk = finding(&few, "factors/ranking/").unwrap()["evidence"].to_string();
    let rate = disk.split("raid0/4/64KiB/disk: ").nth(1).unwrap().split('"').next().unwrap();
    let line = format!("drive disk: {rate}");
    let lines = effects["evidence"].to_string();
    assert!(lines.contains(&line), "{line} in {lines}");

    let output = assay(dir.path(), &["run", "f.toml", "--factorial", "--out", "all"]);
    let (table, _) = text(&output);
    let all = dir.path().join("all");
    assert_eq!(targets(&all).len(), 20);
    assert!(table.contains("20 combinations\n"), "{table}");
    let effects = finding(&all, "factors/effects/").unwrap();
    let said = effects["statement"].as_str().unwrap();
    assert!(
        said.contains("drive has the largest effect,") && said.contains("drives with drive ("),
        "{said}"
    );
    assert!(table.contains("MB/s: drives \\ drive  ssd-m"), "the strongest pair: {table}");
    let page = fs::read_to_string(all.join("report.html")).unwrap();
    assert!(page.contains("id=\"factors\"") && page.contains("The strongest pair"));
    // Together, not each by itself.
    assert!(finding(&all, "ranking/").is_none() && finding(&all, "tail/").is_none());
    let short = finding(&all, "sound/too-short/factors/seq-rd").unwrap();
    assert!(short["statement"].as_str().unwrap().contains("20 of 20 combinations"));
    assert!(!page.contains("Device spec raid0/"), "no spec for each combination");
    assert!(!page.contains("id=\"latency\"") && !page.contains("class=\"card\""), "and no card");
    assert!(page.contains("20 cells of 20 planned"));
}

#[test]
fn a_factorial_that_was_killed_ends_as_if_it_had_not_been() {
    let dir = temporary();
    write(dir.path(), "1s");
    let whole = assay(dir.path(), &["run", "f.toml", "--factorial", "--out", "whole", "-q"]);
    assert_eq!(whole.status.code(), Some(0), "{:?}", text(&whole));
    let mut child = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["run", "f.toml", "--factorial", "--out", "out", "--threads", "1", "-q"])
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (cells, begun) = (dir.path().join("out/cells.json"), Instant::now());
    while !cells.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no cell");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = targets(&dir.path().join("out")).len();
    assert!((1..20).contains(&kept), "{kept}");
    // What there is can be looked at.
    let (table, _) = text(&assay(dir.path(), &["report", "out"]));
    assert!(table.contains(&format!("{kept} combinations measured of 20")), "{table}");
    assert!(table.contains(&format!("{} have no result", 20 - kept)), "{table}");
    let (_, talk) = text(&assay(dir.path(), &["resume", "out", "-q"]));
    let read = |run: &str| fs::read_to_string(dir.path().join(run).join("cells.json")).unwrap();
    assert!(read("out") == read("whole"), "{talk}");
}

#[test]
fn a_budget_ends_it_and_each_resume_goes_on() {
    let dir = temporary();
    write(dir.path(), "20ms");
    let words =
        ["run", "f.toml", "--factorial", "--out", "out", "--threads", "1", "--budget", "1s"];
    let output = assay(dir.path(), &words);
    let (_, talk) = text(&output);
    assert_eq!(output.status.code(), Some(0), "{talk}");
    assert_eq!(targets(&dir.path().join("out")).len(), 1, "the page is what a second is kept for");
    let left = "the budget is used up and 19 cells are not measured: `assay resume out` continues";
    assert!(talk.contains(left), "{talk}");
    // With one cell there is nothing to compare yet, and that is no error.
    assert!(finding(&dir.path().join("out"), "factors/").is_none());
    let (_, talk) = text(&assay(dir.path(), &["resume", "out"]));
    let count = targets(&dir.path().join("out")).len();
    assert!(count > 1, "{talk}");
    assert!(talk.contains(&format!("and {} cells are not measured", 20 - count)), "{talk}");
}

#[test]
fn what_would_have_no_effect_is_refused() {
    let dir = temporary();
    write(dir.path(), "20ms");
    let cases: [(&[&str], &str, &str); 2] = [
        (&["run", "quick", "--factorial"], "no experiment has `[factors]`", "docs/spec.md"),
        (
            &["run", "f.toml", "--factorial", "--only", "sim:ssd-m"],
            "`--only` replaces all targets",
            "leave out `--only` or `--factorial`",
        ),
    ];
    for (words, message, hint) in cases {
        let output = assay(dir.path(), words);
        let (_, talk) = text(&output);
        assert_eq!(output.status.code(), Some(2), "{talk}");
        assert!(talk.contains(message) && talk.contains("hint: "), "{talk}");
        assert!(talk.contains(hint), "{talk}");
    }
}
