//! Linux in virtual time: every file system under every elevator, arrays that lose drives, the same
//! twice to the byte, and nothing left behind whoever is killed.
//!
//! Each test boots guests. Where the machine has no kernel for them, or cannot run one, it says
//! `skipped: why`, and only then.

#![allow(clippy::print_stdout)] // a skipped test says why

mod agreement;
#[path = "../command/mod.rs"]
mod command;
mod killed;
mod suites;

use command::{assay, temporary};
use std::path::{Path, PathBuf};

/// Why there are no guests here, if there are none.
fn no_guests() -> bool {
    let directory = temporary();
    let output = assay(directory.path(), &["linux", "status"]);
    if output.status.success() {
        return false;
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{text}");
    println!("skipped: {}", text.lines().next().unwrap_or_default());
    true
}

/// A small modelled drive of the tests.
fn drive() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/drive.toml");
    format!("sim:{}", file.display())
}

/// Runs a script in a guest with so many small drives; returns what it printed and the log of its
/// drives. The script must end well.
fn guest(
    directory: &Path,
    drives: usize,
    options: &[&str],
    script: &str,
    words: &[&str],
) -> (String, Vec<u8>) {
    let path = directory.join("script.sh");
    std::fs::write(&path, script).unwrap();
    let (drive, path) = (drive(), path.display().to_string());
    let mut line = vec!["linux", "run", "--quiet", "--out", "out"];
    for _ in 0..drives {
        line.extend(["--drive", &drive]);
    }
    line.extend(options);
    line.extend(["--", "sh", "-e", &path]);
    line.extend(words);
    let output = assay(directory, &line);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}{talk}");
    let out: PathBuf = directory.join("out");
    let log = std::fs::read(out.join("log/drives.parquet")).unwrap();
    std::fs::remove_dir_all(out).unwrap();
    (said, log)
}

#[test]
fn the_guests_time_is_the_models() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let count = 1000;
    let experiment = format!(
        r#"
format = 1
name = "reads"
question = "Is the guest's time the model's?"
targets = ["sim:wd-raptor"]
[[workload]]
name = "reads"
size = "4KiB"
read_share = 1.0
pattern = "sequential"
measure = {{ requests = {count} }}
# The kernel looks for partitions first.
[[workload.precondition]]
size = "4KiB"
read_share = 1.0
pattern = "sequential"
requests = 1
"#
    );
    std::fs::write(directory.path().join("reads.toml"), experiment).unwrap();
    let ran = assay(directory.path(), &["run", "reads.toml", "--out", "bare", "--quiet"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let bare = std::fs::read_to_string(directory.path().join("bare/cells.json")).unwrap();
    let bare: serde_json::Value = serde_json::from_str(&bare).unwrap();
    let bare = bare["cells"][0]["repeats"][0]["elapsed"].as_f64().unwrap() / 1e9;
    let dd = format!("dd if=/dev/vda of=/dev/null bs=4k count={count} iflag=direct");
    let mut line = vec!["linux", "run", "--out", "out", "--drive", "wd-raptor", "--"];
    line.extend(dd.split(' '));
    let said = assay(directory.path(), &line);
    let said = String::from_utf8_lossy(&said.stderr);
    let seconds = said.split(", ").nth(2).and_then(|part| part.split(' ').next());
    let seconds: f64 = seconds.and_then(|s| s.parse().ok()).unwrap_or_else(|| panic!("{said}"));
    // The guest reads its clock twice a request, and each time takes 128 ns.
    assert!((seconds / bare - 1.0).abs() < 1e-3, "{seconds} s in the guest, {bare} s bare");
}
