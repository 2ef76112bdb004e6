//! Runs the attacks of `attacks/run`: whatever is refused stays byte for byte as it was.
//!
//! Each row there is a test of its own. Here they are run as root (with loop devices, mounts, real
//! `mkfs`) and as a user without rights. A row that lacks something on this machine is skipped and
//! says so. `.ci/full` runs all rows; those that take long are left out here.

#![allow(clippy::print_stdout)] // skipped rows say why

use std::path::{Path, PathBuf};
use std::process::Command;

/// The least number of rows.
const ROWS: usize = 300;
/// Groups that take minutes: file systems of several sizes, guests (of mappings and arrays, M2 and
/// M8 stand for all), signals.
const LONG: &str = "D6.1 G1 G2 G3 G5 M1 M3 M4 M5 M6 M7 M9 E1.3 D1. E9.6 \
                    L1.21 L1.22 L1.23 L1.25 L1.26 L1.27 U13.8";

/// Makes an empty directory on a disk, so that `O_DIRECT` works.
fn temporary() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../attacks/run")
}

/// Runs the rows but those of the groups `without`; returns their output.
fn run(command: &mut Command, place: &Path, without: &str) -> String {
    command.env("ATTACKS_DIR", place).env("ATTACKS_WITHOUT", without);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let skipped = said.lines().filter(|line| line.contains("# skip"));
    skipped.for_each(|line| println!("skipped: {line}"));
    let failed: Vec<&str> = said.lines().filter(|l| !l.starts_with("ok ")).collect();
    assert!(output.status.success(), "{}\n{output:?}", failed.join("\n"));
    said
}

#[test]
fn nothing_that_was_not_named_is_written() {
    let dir = temporary();
    let mut command = Command::new(script());
    command.args(["--assay", env!("CARGO_BIN_EXE_assay")]);
    let said = run(&mut command, dir.path(), LONG);
    let rows = said.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(rows > 100, "only {rows} rows ran");
}

#[test]
fn nor_by_somebody_without_rights() {
    // SAFETY: the call takes no pointer and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        println!("skipped: the other test is this one for whoever is not root");
        return;
    }
    // It must be on a disk, where other users can read.
    let Ok(dir) = tempfile::tempdir_in("/var/tmp") else { return println!("skipped: no /var/tmp") };
    let of = |words: &[&str]| Command::new(words[0]).args(&words[1..]).status().unwrap();
    let (place, attacks) = (dir.path().to_str().unwrap(), script());
    let attacks = attacks.parent().unwrap().to_str().unwrap();
    of(&["cp", "-r", attacks, env!("CARGO_BIN_EXE_assay"), place]);
    of(&["chown", "-R", "nobody", place]);
    let program = format!("{place}/assay");
    let script = format!("{place}/attacks/run");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
    command.args(["env", &format!("HOME={place}"), &script, "--assay", &program]);
    // Root's rows, which run meanwhile, would see the descriptors of U6; I5 would see the mounts of
    // their U11.
    let said = run(&mut command, dir.path(), &format!("{LONG} U6. I5"));
    assert!(said.contains("ok "), "{said}");
}

#[test]
fn there_are_as_many_rows_as_the_page_says() {
    let output = Command::new(script()).args(["--list", "--assay", "/bin/true"]).output().unwrap();
    let rows = String::from_utf8_lossy(&output.stdout).lines().count();
    assert!(rows >= ROWS, "{rows} rows");
}

/// The rows are read into one shell: a second function of a name would change rows elsewhere.
#[test]
fn every_function_of_the_script_has_its_own_name() {
    let attacks = script().parent().unwrap().to_path_buf();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(attacks.join("rows")).unwrap() {
        names.extend(functions(&entry.unwrap().path()));
    }
    names.extend(functions(&attacks.join("lib.sh")));
    names.sort();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(names.len() > 200 && twice.is_empty(), "{} functions, twice: {twice:?}", names.len());
}

/// Returns the names of the functions that a shell script defines; not those of the scripts that it
/// writes for a guest, whose `$` are escaped.
fn functions(script: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(script).unwrap();
    let lines = text.lines().filter(|line| !line.contains("\\$"));
    let defined = lines.filter_map(|line| Some(line.trim_start().split_once("() {")?.0));
    defined.filter(|name| !name.contains(' ')).map(str::to_owned).collect()
}
