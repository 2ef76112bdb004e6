//! Whoever is killed, the other ends, and nothing is left.

use super::{drive, no_guests};
use crate::command::temporary;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A guest that would read for ever, with a place for its directory of its own.
fn start(directory: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(directory).env("TMPDIR", directory);
    command.args(["linux", "run", "--out", "out", "--drive", &drive(), "--"]);
    command.args(["sh", "-c", "while :; do dd if=/dev/vda of=/dev/null bs=64k count=999; done"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Processes whose directory is below `directory`: the kernel's and the guest's.
fn processes(directory: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let numbers = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let inside = |pid: &u32| {
        let at: PathBuf = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        at.starts_with(directory) && at != directory
    };
    numbers.filter(inside).collect()
}

/// Waits until `what` holds; it must within half a minute.
fn eventually(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        sleep(Duration::from_millis(20));
    }
}

fn wait(child: Child) -> (Output, String) {
    let output = child.wait_with_output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, talk)
}

fn kill(pid: u32) {
    let killed = Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
}

#[test]
fn a_killed_kernel_is_an_error_and_leaves_nothing() {
    if no_guests() {
        return;
    }
    for pause in [0, 30, 100, 300, 1000] {
        let directory = temporary();
        let directory = directory.path().canonicalize().unwrap();
        let child = start(&directory);
        eventually("the kernel starts", || !processes(&directory).is_empty());
        sleep(Duration::from_millis(pause));
        // The oldest is the kernel itself.
        kill(processes(&directory).into_iter().min().unwrap());
        let (output, talk) = wait(child);
        assert_eq!(output.status.code(), Some(3), "after {pause} ms: {talk}");
        assert!(talk.contains("error[linux-ended]") && talk.contains("hint: "), "{talk}");
        eventually("its processes end", || processes(&directory).is_empty());
        let left = std::fs::read_dir(&directory).unwrap().filter_map(|e| e.ok());
        let left: Vec<_> = left.map(|e| e.file_name()).filter(|n| n != "out").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_killed_backend_takes_its_kernel_with_it() {
    if no_guests() {
        return;
    }
    for pause in [0, 30, 100, 300, 1000] {
        let directory = temporary();
        let directory = directory.path().canonicalize().unwrap();
        let child = start(&directory);
        eventually("the kernel starts", || !processes(&directory).is_empty());
        sleep(Duration::from_millis(pause));
        kill(child.id());
        wait(child);
        eventually("the kernel ends", || processes(&directory).is_empty());
    }
}

#[test]
fn an_interrupt_ends_the_guest() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let directory = directory.path().canonicalize().unwrap();
    let child = start(&directory);
    eventually("the kernel starts", || !processes(&directory).is_empty());
    sleep(Duration::from_millis(300));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let (output, talk) = wait(child);
    assert_eq!(output.status.code(), Some(130), "{talk}");
    eventually("the kernel ends", || processes(&directory).is_empty());
}

#[test]
fn what_never_ends_is_ended_and_said() {
    if no_guests() {
        return;
    }
    let run = |options: &[&str], script: &str| {
        let directory = temporary();
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.current_dir(directory.path()).args(["linux", "run", "--out", "out", "--drive"]);
        command.arg(drive()).args(options).args(["--", "sh", "-c", script]);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, talk) = run(&["--watchdog", "1s"], "while :; do :; done");
    assert_eq!(code, Some(3));
    assert!(talk.starts_with("error[linux-silent]: the guest computed for 1 s"), "{talk}");
    let (code, talk) = run(&["--limit", "100s"], "sleep 1000");
    assert_eq!(code, Some(3));
    assert!(talk.starts_with("error[linux-limit]: the guest has not ended within 100s"), "{talk}");
    let (code, talk) = run(&[], "no-such-program");
    assert_eq!(code, Some(127), "{talk}");
}
