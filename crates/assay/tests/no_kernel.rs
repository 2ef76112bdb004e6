//! Where the kernel for guests is not built: what works, and what is said of the rest.

use std::path::Path;
use std::process::{Command, Output};

const LINUX: &str = "linux(fs=ext4, sim:wd-raptor)";

/// Runs `assay` with a cache that holds no kernel.
fn assay(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.env("ASSAY_CACHE", dir.join("cache")).current_dir(dir).args(arguments);
    command.output().unwrap()
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn experiment(dir: &Path) {
    let text = format!(
        "format = 1\nname = \"files\"\nquestion = \"How fast?\"\ntargets = [\"{LINUX}\"]\n\
         [[workload]]\nname = \"read\"\nfile = \"read\"\nsize = \"4KiB\"\nlength = \"1MiB\"\n"
    );
    std::fs::write(dir.join("files.toml"), text).unwrap();
    std::fs::create_dir(dir.join("real")).unwrap();
}

#[test]
fn a_directory_is_measured_and_linux_says_why_it_is_not() {
    let dir = temporary();
    experiment(dir.path());
    let ran = assay(dir.path(), &["run", "files.toml", "--on", "real", "--out", "out"]);
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{ran:?}");
    assert!(said.contains("not measured: the kernel for virtual time is not built"), "{said}");
    let cells = std::fs::read_to_string(dir.path().join("out/cells.json")).unwrap();
    let cells: serde_json::Value = serde_json::from_str(&cells).unwrap();
    let of = |target: &str| {
        let cells = cells["cells"].as_array().unwrap();
        cells.iter().find(|c| c["target"] == target).unwrap().clone()
    };
    assert!(of("real")["skipped"].is_null() && of("real")["repeats"][0]["elapsed"].is_u64());
    assert!(of("ext4-wd-raptor")["repeats"].as_array().unwrap().is_empty());
    // It is over, and the kernel's absence is part of it.
    let again = assay(dir.path(), &["resume", "out"]);
    assert!(again.status.success(), "{again:?}");
}

#[test]
fn what_was_asked_for_must_run() {
    let dir = temporary();
    experiment(dir.path());
    let only: &[&str] = &["run", "files.toml"];
    let named: &[&str] = &["run", "files.toml", "--on", "real", "--on", LINUX];
    for arguments in [only, named] {
        let ran = assay(dir.path(), arguments);
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(3), "{said}");
        assert!(said.contains("linux-not-built") && said.contains("assay linux build"), "{said}");
    }
}

/// Every claim's numbers come from an experiment that there is.
#[test]
fn no_claim_waits_for_an_experiment() {
    let dir = temporary();
    let told = assay(dir.path(), &["claims"]);
    let said = String::from_utf8_lossy(&told.stdout);
    assert!(told.status.success() && said.contains("not run"), "{said}");
    assert!(!said.contains("not built"), "{said}");
}
