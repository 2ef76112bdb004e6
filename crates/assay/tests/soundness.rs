//! Is this benchmark right? `quick` is, and runs made to have one fault are told which.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs `assay run` with these arguments in a directory of its own, with `e.toml` in it; gives the
/// ids of what is wrong, and what was printed.
fn doubts(experiment: &str, arguments: &[&str]) -> (Vec<String>, String) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(dir.path().join("e.toml"), experiment).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(dir.path()).arg("run").args(arguments).args(["--quiet", "--out", "out"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let findings = fs::read_to_string(dir.path().join("out/findings.json")).unwrap();
    let findings: Vec<Value> = serde_json::from_str(&findings).unwrap();
    let ids = findings.iter().filter_map(|f| f["id"].as_str());
    let ids = ids.filter_map(|id| id.strip_prefix("sound/")).map(str::to_owned).collect();
    (ids, String::from_utf8(output.stdout).unwrap())
}

fn experiment(workload: &str) -> String {
    let head = "format = 1\nname = \"e\"\nquestion = \"?\"\ntargets = [\"sim:ssd-m\"]\n";
    let stream = "[[workload]]\nname = \"w\"\nread_share = 0.0\nsize = \"4KiB\"\n";
    format!("{head}{stream}pattern = \"random\"\nrange = \"1GiB\"\n{workload}\n")
}

#[test]
fn quick_is_sound() {
    let (ids, printed) = doubts("", &["quick"]);
    assert!(ids.is_empty() && !printed.contains("warning: "), "{ids:?}\n{printed}");
}

#[test]
fn a_fresh_drive_and_two_seconds_are_told() {
    let fresh = experiment("start = \"fresh\"\nmeasure = { time = \"10s\" }");
    let (ids, printed) = doubts(&fresh, &["e.toml"]);
    assert_eq!(ids, ["fresh/e/w@ssd-m"]);
    assert!(printed.contains("warning: e/w@ssd-m: the drive was fresh"), "{printed}");
    let short = experiment("measure = { time = \"2s\" }");
    assert_eq!(doubts(&short, &["e.toml"]).0, ["too-short/e/w@ssd-m"]);
}

#[test]
fn a_file_in_memory_is_told() {
    let head = experiment("").split("[[workload]]").next().unwrap().to_owned();
    let made = |more: &str| {
        format!(
            "{head}[[workload]]\nname = \"w\"\nfile = \"reread\"\nlength = \"8MiB\"\n\
             size = \"4KiB\"\nbetween = \"nothing\"\n{more}\n"
        )
    };
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let on = |path: &Path| path.to_str().unwrap().to_owned();
    let on = on(scratch.path());
    let (ids, _) = doubts(&made(""), &["e.toml", "--only", &on]);
    assert!(ids.len() == 1 && ids[0].starts_with("cached/e/w@"), "{ids:?}");
    let (ids, _) = doubts(&made("direct = true"), &["e.toml", "--only", &on]);
    assert!(ids.is_empty(), "{ids:?}");
}
