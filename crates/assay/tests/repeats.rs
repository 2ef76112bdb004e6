//! How often cells are repeated: as written, as the document did, or as asked for.

mod command;

use command::{assay, temporary};
use serde_json::Value;
use std::fs;
use std::path::Path;

const TEXT: &str = r#"# Repeats.
format = 1
name = "r"
question = "How far do repeats lie apart?"
targets = ["sim:wd1600js"]
repeats_full = 3

[[workload]]
name = "rnd-rd"
read_share = 1.0
size = "4KiB"
pattern = "random"
measure = { requests = 200 }
"#;

/// The seeds of the only cell.
fn seeds(run: &Path) -> Vec<u64> {
    let cells = fs::read_to_string(run.join("cells.json")).unwrap();
    let cells: Value = serde_json::from_str(&cells).unwrap();
    let repeats = cells["cells"][0]["repeats"].as_array().unwrap().clone();
    repeats.iter().map(|r| r["seed"].as_u64().unwrap()).collect()
}

#[test]
fn cells_are_repeated_as_often_as_asked_for() {
    let dir = temporary();
    fs::write(dir.path().join("r.toml"), TEXT).unwrap();
    let run = |out: &str, more: &[&str]| {
        let words = [&["run", "r.toml", "--quiet", "--out", out], more].concat();
        let output = assay(dir.path(), &words);
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{talk}");
        seeds(&dir.path().join(out))
    };
    let (one, full, asked) =
        (run("a", &[]), run("b", &["--full"]), run("c", &["--full", "--repeats", "2"]));
    assert_eq!((one.len(), full.len(), asked.len()), (1, 3, 2));
    assert!(full[0] == one[0] && full[..2] == asked[..], "the same first ones");
    assert!(full[0] != full[1] && full[1] != full[2]);
    // What was asked for is in the run, so that it is gone on with.
    fs::remove_file(dir.path().join("b/cells.json")).unwrap();
    assert_eq!(assay(dir.path(), &["resume", "b", "-q"]).status.code(), Some(0));
    assert_eq!(seeds(&dir.path().join("b")), full);
}

#[test]
fn the_deviation_of_repeats_is_told() {
    let dir = temporary();
    fs::write(dir.path().join("r.toml"), TEXT).unwrap();
    let words = ["run", "r.toml", "--repeats", "4", "--quiet", "--out", "d"];
    assert_eq!(assay(dir.path(), &words).status.code(), Some(0));
    let csv = fs::read_to_string(dir.path().join("d/cells.csv")).unwrap();
    let (heading, rows) = csv.split_once("\r\n").unwrap();
    assert_eq!(heading.split(',').next_back(), Some("sd"));
    let last = |name: &str| {
        let mut rows = rows.lines().map(|r| r.split(',').collect::<Vec<_>>());
        let row = rows.find(|r| r[3] == name).unwrap();
        (row[5].parse::<f64>().unwrap(), row.last().unwrap().to_string())
    };
    let (value, sd) = last("iops");
    // The same from the repeats themselves.
    let cells = fs::read_to_string(dir.path().join("d/cells.json")).unwrap();
    let cells: Value = serde_json::from_str(&cells).unwrap();
    let rate = |r: &Value| 200.0 / (r["elapsed"].as_f64().unwrap() * 1e-9);
    let rates: Vec<f64> =
        cells["cells"][0]["repeats"].as_array().unwrap().iter().map(rate).collect();
    let mean = rates.iter().sum::<f64>() / 4.0;
    let squares: f64 = rates.iter().map(|r| (r - mean) * (r - mean)).sum();
    assert!((value - mean).abs() < 1e-6 * mean, "{value} {mean}");
    let expected = (squares / 3.0).sqrt();
    let sd: f64 = sd.parse().unwrap();
    assert!(sd > 0.0 && (sd - expected).abs() < 1e-6 * expected, "{sd} {expected}");
    assert_eq!(last("p50").1, "", "a percentile is not a mean of repeats");
    let page = fs::read_to_string(dir.path().join("d/report.html")).unwrap();
    assert!(page.contains("of 4</small>"), "the table of all metrics has it");
}
