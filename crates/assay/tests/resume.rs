//! A run that is killed at any moment and resumed ends with the files of an undisturbed run.
//!
//! SIGKILL at moments spread over a run, from its first millisecond to its last, then
//! `assay resume`: the same files byte for byte but for the time the run began, the same exit code,
//! and nothing half-written left behind. Ctrl-C keeps what is finished and says how to go on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The general workloads of `quick`, shorter.
const SHORT: &str = r#"
format = 1
name = "short"
question = "Does an interruption change anything?"
targets = ["sim:ssd-l", "sim:ssd-m", "sim:ssd-h", "sim:wd1600js"]
repeats = 2

[[workload]]
name = "rnd-rd"
read_share = 1.0
size = "4KiB"
pattern = "random"
range = "1024MiB"
jobs = 32
measure = { time = "5s" }

[[workload]]
name = "rnd-wr"
read_share = 0.0
size = "4KiB"
pattern = "random"
range = "1024MiB"
jobs = 32
measure = { time = "5s" }

[[workload]]
name = "seq-rd"
read_share = 1.0
size = "256KiB"
pattern = "sequential"
jobs = 32
measure = { time = "5s" }

[[workload]]
name = "seq-wr"
read_share = 0.0
size = "256KiB"
pattern = "sequential"
jobs = 32
measure = { time = "5s" }
"#;

/// Parts of an undisturbed run's wall time at which another is killed.
const MOMENTS: &[f64] = &[0.0, 0.01, 0.05, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 0.98];

/// One test at a time, so that parts of a wall time mean the same in all runs.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A place of its own for a run, so that every run is started by the same command.
fn place(dir: &Path, name: &str) -> PathBuf {
    let place = dir.join(name);
    fs::create_dir(&place).unwrap();
    fs::write(place.join("short.toml"), SHORT).unwrap();
    place
}

fn assay(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(dir).args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn start(dir: &Path, subject: &str) -> Child {
    assay(dir, &["run", subject, "--quiet", "--out", "out"]).spawn().unwrap()
}

/// Waits until the run has made `path` or has ended; true if the path is there.
fn wait_for(child: &mut Child, path: &Path) -> bool {
    let begun = Instant::now();
    while !path.exists() && child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no {}", path.display());
        std::thread::sleep(Duration::from_micros(200));
    }
    path.exists()
}

/// Every file of a run directory, without the time at which the run began.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let run = fs::read_to_string(directory.join("run.json")).unwrap();
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    let started = run["started"].as_str().unwrap();
    let (mut found, mut waiting) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            if entry.is_dir() {
                waiting.push(entry);
                continue;
            }
            let mut bytes = fs::read(&entry).unwrap();
            if let Ok(text) = std::str::from_utf8(&bytes) {
                bytes = text.replace(started, "").into_bytes();
            }
            found.insert(entry.strip_prefix(directory).unwrap().to_owned(), bytes);
        }
    }
    found
}

/// An undisturbed run: what it left, how it ended, how long it took.
struct Undisturbed {
    files: BTreeMap<PathBuf, Vec<u8>>,
    status: ExitStatus,
    wall: Duration,
}

impl Undisturbed {
    fn run(dir: &Path, subject: &str) -> Undisturbed {
        let place = place(dir, "undisturbed");
        let begun = Instant::now();
        let output = start(&place, subject).wait_with_output().unwrap();
        let wall = begun.elapsed();
        assert!(matches!(output.status.code(), Some(0 | 4)), "{output:?}");
        let files = files(&place.join("out"));
        let logs = files.keys().filter(|f| f.starts_with("log")).count();
        assert!(logs > 0 && files.contains_key(Path::new("cells.json")), "{:?}", files.keys());
        Undisturbed { files, status: output.status, wall }
    }

    /// Resumes what is in `place`, or starts again if there is nothing yet; compares all of it.
    fn check_resumed(&self, place: &Path, subject: &str, when: &str) {
        let output = if place.join("out/run.json").exists() {
            assay(place, &["resume", "out", "--quiet"]).output().unwrap()
        } else {
            start(place, subject).wait_with_output().unwrap()
        };
        assert_eq!(output.status, self.status, "{when}: {output:?}");
        let after = files(&place.join("out"));
        let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&after), names(&self.files), "{when}");
        let differs = after.iter().find(|(name, bytes)| self.files[*name] != **bytes);
        assert_eq!(differs.map(|(name, _)| name), None, "{when}");
    }
}

/// Kills a run and resumes it at each of `moments`.
fn kill_and_resume(dir: &Path, subject: &str, moments: &[f64]) {
    let undisturbed = Undisturbed::run(dir, subject);
    for moment in moments {
        let place = place(dir, "killed");
        let mut child = start(&place, subject);
        std::thread::sleep(undisturbed.wall.mul_f64(*moment));
        child.kill().unwrap();
        child.wait().unwrap();
        undisturbed.check_resumed(&place, subject, &format!("killed at {moment} of the run"));
        fs::remove_dir_all(&place).unwrap();
    }
}

fn interrupt(child: Child) -> Output {
    end_by(child, libc::SIGINT)
}

fn end_by(child: Child, signal: libc::c_int) -> Output {
    // SAFETY: the child was not waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
    child.wait_with_output().unwrap()
}

#[test]
fn killed_at_ten_moments_and_resumed() {
    let (_alone, dir) = (alone(), temporary());
    kill_and_resume(dir.path(), "short.toml", MOMENTS);
}

#[test]
fn the_quick_study_killed_halfway_and_resumed() {
    let (_alone, dir) = (alone(), temporary());
    kill_and_resume(dir.path(), "quick", &[0.5]);
}

#[test]
fn killed_twice_and_while_files_are_half_written() {
    let (_alone, dir) = (alone(), temporary());
    let undisturbed = Undisturbed::run(dir.path(), "short.toml");
    let logs = undisturbed.files.keys().filter(|f| f.starts_with("log"));
    let others = ["run.json", "cells.json"].map(PathBuf::from);
    for name in others.into_iter().chain(logs.step_by(9).cloned()) {
        let place = place(dir.path(), "half");
        let mut child = start(&place, "short.toml");
        wait_for(&mut child, &place.join("out").join(&name));
        child.kill().unwrap();
        child.wait().unwrap();
        if place.join("out/run.json").exists() {
            let mut again = assay(&place, &["resume", "out", "--quiet"]).spawn().unwrap();
            std::thread::sleep(undisturbed.wall.mul_f64(0.2));
            again.kill().unwrap();
            again.wait().unwrap();
        }
        let when = format!("killed when there was {}, and again", name.display());
        undisturbed.check_resumed(&place, "short.toml", &when);
        fs::remove_dir_all(&place).unwrap();
    }
}

#[test]
fn a_finished_run_resumes_to_itself() {
    let (_alone, dir) = (alone(), temporary());
    let undisturbed = Undisturbed::run(dir.path(), "short.toml");
    let place = dir.path().join("undisturbed");
    undisturbed.check_resumed(&place, "short.toml", "not killed at all");
}

/// Ctrl-C as soon as there is `file`: exit code 130, the way on and no other, and nothing lost.
fn signal_when_there_is(signal: libc::c_int, file: &str) {
    let words = "finished cells are kept; `assay resume out` measures the others";
    let (_alone, dir) = (alone(), temporary());
    let undisturbed = Undisturbed::run(dir.path(), "short.toml");
    let place = place(dir.path(), "interrupted");
    let mut child = start(&place, "short.toml");
    assert!(wait_for(&mut child, &place.join("out").join(file)));
    let output = end_by(child, signal);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{talk}");
    assert_eq!(talk, format!("error[interrupted]: interrupted\nhint: {words}\n"));
    assert!(!place.join("out/report.html").exists());
    undisturbed.check_resumed(&place, "short.toml", "after Ctrl-C");
}

#[test]
fn ctrl_c_keeps_what_is_finished_and_names_resume() {
    signal_when_there_is(libc::SIGINT, "cells.json");
}

#[test]
fn ctrl_c_before_the_first_cell_names_resume_too() {
    signal_when_there_is(libc::SIGINT, "run.json");
}

/// `kill` without more ends a run as Ctrl-C does.
#[test]
fn a_run_that_is_told_to_end_keeps_what_is_finished() {
    signal_when_there_is(libc::SIGTERM, "cells.json");
}

/// Nothing is asked for an hour of the wall clock, but nobody must wait so long.
const IDLE: &str = r#"
format = 1
name = "idle"
question = "Does Ctrl-C end a step that is idle?"
targets = ["null"]

[[workload]]
name = "read"
read_share = 1.0
size = "4KiB"
pattern = "random"
precondition = { idle = "1h" }
measure = { requests = 10 }
"#;

#[test]
fn ctrl_c_ends_a_step_that_is_idle() {
    let (_alone, dir) = (alone(), temporary());
    let place = place(dir.path(), "idle");
    fs::write(place.join("idle.toml"), IDLE).unwrap();
    let mut child = start(&place, "idle.toml");
    assert!(wait_for(&mut child, &place.join("out/series")));
    assert!(wait_for(&mut child, &place.join("out/run.json")));
    let output = interrupt(child);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{talk}");
    assert!(talk.contains("`assay resume out`"), "{talk}");
}

/// A run of a few requests on a drive in a file of its own, whose last cell is then forgotten.
fn unfinished(dir: &Path) -> (PathBuf, BTreeMap<PathBuf, Vec<u8>>) {
    let place = place(dir, "unfinished");
    fs::write(place.join("drive.toml"), include_str!("fixtures/drive.toml")).unwrap();
    let short = SHORT.replace("\"5s\"", "\"100ms\"");
    let (_, rest) = short.split_once("targets = [").unwrap();
    let (_, rest) = rest.split_once(']').unwrap();
    let head = short.split("targets").next().unwrap();
    // Twice the same drive: the second gets a name of its own, and keeps it.
    let targets = "targets = [\"sim:drive.toml\", \"sim:./drive.toml\"]";
    fs::write(place.join("short.toml"), format!("{head}{targets}{rest}")).unwrap();
    let output = start(&place, "short.toml").wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let whole = files(&place.join("out"));
    let cells = fs::read_to_string(place.join("out/cells.json")).unwrap();
    let mut cells: serde_json::Value = serde_json::from_str(&cells).unwrap();
    let last = cells["cells"].as_array_mut().unwrap().pop().unwrap();
    assert_eq!(last["target"], "drive.2");
    fs::write(place.join("out/cells.json"), cells.to_string()).unwrap();
    (place, whole)
}

#[test]
fn a_device_file_changed_since_makes_no_difference() {
    let (_alone, dir) = (alone(), temporary());
    let (place, whole) = unfinished(dir.path());
    let drive = fs::read_to_string(place.join("drive.toml")).unwrap();
    let other = drive.replace("\"50us\"", "\"90us\"").replace("\"drive\"", "\"other\"");
    assert_ne!(drive, other);
    fs::write(place.join("drive.toml"), other).unwrap();
    let resume = || assay(&place, &["resume", "out", "--quiet"]).output().unwrap();
    assert_eq!(resume().status.code(), Some(0));
    assert!(files(&place.join("out")) == whole, "the drive is that of the run");
    fs::remove_file(place.join("drive.toml")).unwrap();
    assert_eq!(resume().status.code(), Some(0), "without the file, too");
}

#[test]
fn a_run_of_another_version_is_not_gone_on_with() {
    let (_alone, dir) = (alone(), temporary());
    let (place, _) = unfinished(dir.path());
    let this = env!("CARGO_PKG_VERSION");
    let record = fs::read_to_string(place.join("out/run.json")).unwrap();
    let older = record.replace(&format!("\"assay\":\"{this}\""), "\"assay\":\"0.0.1\"");
    assert_ne!(record, older);
    fs::write(place.join("out/run.json"), older).unwrap();
    let before = files(&place.join("out"));
    let output = assay(&place, &["resume", "out"]).output().unwrap();
    let said = format!(
        "error[other-version]: assay 0.0.1 began this run, but this is assay {this}\nhint: resume \
         it with assay 0.0.1, or start a new run with another `--out`\n"
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), said);
    assert_eq!(output.status.code(), Some(2));
    assert!(files(&place.join("out")) == before, "nothing was touched");
}

#[test]
fn ctrl_c_while_a_file_is_made_leaves_none() {
    let (_alone, dir) = (alone(), temporary());
    let place = place(dir.path(), "making");
    let words = ["run", "quick", "--only", "./new.img", "--size", "4GiB", "--out", "out"];
    let mut child = assay(&place, &words).spawn().unwrap();
    // The file has no name before it is whole; the directory is made before it.
    assert!(wait_for(&mut child, &place.join("out")));
    std::thread::sleep(Duration::from_millis(100));
    let output = interrupt(child);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{talk}");
    let expected = "interrupted while making ./new.img; it has been removed";
    assert!(talk.contains(expected), "{talk}");
    assert!(!place.join("new.img").exists() && !place.join("out").exists());
}
