//! Kills the kernel or the backend: the other ends, and nothing is left.

use super::{drive, ending_signals, no_guests};
use crate::command::{assay, temporary};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Starts a guest that would read for ever, with `directory` for its temporary files.
fn start(directory: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(directory).env("TMPDIR", directory);
    command.args(["linux", "run", "--out", "out", "--drive", &drive(), "--"]);
    command.args(["sh", "-c", "while :; do dd if=/dev/vda of=/dev/null bs=64k count=999; done"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the processes that run below `directory`: the kernel's and the guest's.
fn processes(directory: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let numbers = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let inside = |pid: &u32| {
        let at: PathBuf = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        at.starts_with(directory) && at != directory
    };
    numbers.filter(inside).collect()
}

/// Waits until `holds` returns `true`; fails with `what` after half a minute.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
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
    send("KILL", pid);
}

fn send(signal: &str, pid: u32) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Returns the names in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let name = |e: std::io::Result<std::fs::DirEntry>| e.unwrap().file_name();
    let mut names: Vec<String> = entries.map(|e| name(e).into_string().unwrap()).collect();
    names.sort();
    names
}

/// Makes somebody else's directory, with a name like ours.
fn somebodys(directory: &Path, name: &str) {
    std::fs::create_dir(directory.join(name)).unwrap();
    std::fs::write(directory.join(name).join("data"), "precious").unwrap();
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
        assert_eq!(names(&directory), [""; 0]);
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
        // The next run removes what it has left, and nothing else.
        somebodys(&directory, "assay-linux-1-0");
        let mut next = Command::new(env!("CARGO_BIN_EXE_assay"));
        next.current_dir(&directory).env("TMPDIR", &directory).args(["linux", "run", "--quiet"]);
        let next = next.args(["--out", "out", "--drive", &drive(), "--", "true"]).status().unwrap();
        assert!(next.success());
        assert_eq!(names(&directory), ["assay-linux-1-0", "out"]);
        assert_eq!(names(&directory.join("assay-linux-1-0")), ["data"]);
    }
}

/// The guest powers off when nothing uses its drives any more: a program that a command leaves
/// behind waits for a slow disk when it is killed.
#[test]
fn what_a_command_leaves_running_on_a_slow_disk_ends_before_the_guest() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let script = "mkfs.ext4 -q /dev/vda; mount /dev/vda /run/mnt; cd /run/mnt
        (while :; do dd if=/dev/zero of=f bs=1M count=8 conv=fsync; done) 2>/dev/null & sleep 5";
    let line = ["linux", "run", "--drive", "sim:exos-x24", "--memory", "256MiB", "--limit", "1h"];
    let output =
        assay(directory.path(), &[&line[..], &["--out", "out", "--", "sh", "-c", script]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_interrupt_ends_the_guest() {
    if no_guests() {
        return;
    }
    for signal in ending_signals() {
        let directory = temporary();
        let directory = directory.path().canonicalize().unwrap();
        let child = start(&directory);
        eventually("the kernel starts", || !processes(&directory).is_empty());
        sleep(Duration::from_millis(300));
        send(signal, child.id());
        if signal == "HUP" {
            // It comes once from the shell and once from the terminal.
            send(signal, child.id());
        }
        let (output, talk) = wait(child);
        assert_eq!(output.status.code(), Some(130), "{signal}: {talk}");
        eventually("the kernel ends", || processes(&directory).is_empty());
        assert_eq!(names(&directory), [""; 0], "{signal}");
    }
}

#[test]
fn a_signal_ends_what_waits_for_its_reader() {
    if no_guests() {
        return;
    }
    for signal in ending_signals() {
        let directory = temporary();
        let directory = directory.path().canonicalize().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.current_dir(&directory).env("TMPDIR", &directory);
        command.args(["linux", "run", "--out", "out", "--drive", &drive(), "--"]);
        // More than a pipe takes.
        command.args(["head", "-c", "1000000", "/dev/zero"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        eventually("the command is recorded", || directory.join("out/command.json").exists());
        eventually("only the record is left", || names(&directory) == ["out"]);
        sleep(Duration::from_millis(100));
        assert!(child.try_wait().unwrap().is_none(), "it waits for its reader");
        send(signal, child.id());
        eventually("it ends", || child.try_wait().unwrap().is_some());
    }
}

/// An experiment whose writes take longer than any test.
const LONG: &str = r#"
format = 1
name = "long"
question = "What is left of it?"
targets = ["null"]
[[workload]]
name = "writes"
file = "random-write"
size = "4KiB"
length = "1GiB"
"#;

/// Begins the long run on the directory `on`, and waits until the run's own directory is there.
fn begin(directory: &Path, out: &str, before: &[&str]) -> Child {
    let on = directory.join("on");
    let had = names(&on);
    let mut command = Command::new(before[0]);
    command.current_dir(directory).args(&before[1..]);
    command.args(["run", "long.toml", "--only", "on", "--quiet", "--out", out]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let is_new = |name: &String| !had.contains(name) && on.join(name).join("data").exists();
    eventually("it begins", || names(&on).iter().any(is_new));
    child
}

#[test]
fn a_directory_that_is_measured_is_left_as_it_was() {
    let directory = temporary();
    let directory = directory.path();
    let on = directory.join("on");
    std::fs::create_dir(&on).unwrap();
    std::fs::write(directory.join("long.toml"), LONG).unwrap();
    somebodys(&on, "assay-1");
    let assay = env!("CARGO_BIN_EXE_assay");
    let killed = begin(directory, "killed", &[assay]);
    kill(killed.id());
    wait(killed);
    assert_eq!(names(&on).len(), 2, "who is killed removes nothing");
    for signal in ending_signals() {
        let child = begin(directory, signal, &[assay]);
        assert_eq!(names(&on).len(), 2, "{signal}: its own and somebody's");
        send(signal, child.id());
        let (output, talk) = wait(child);
        assert_eq!(output.status.code(), Some(130), "{signal}: {talk}");
        assert_eq!(names(&on), ["assay-1"], "{signal}");
    }
    // A program that is to outlive its terminal does.
    let mut child = begin(directory, "nohup", &["nohup", assay]);
    send("HUP", child.id());
    sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none());
    send("TERM", child.id());
    wait(child);
    assert_eq!(names(&on), ["assay-1"]);
    assert_eq!(names(&on.join("assay-1")), ["data"]);
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
    let words = "error[linux-limit]: the guest did not end within 100s of virtual time";
    assert!(talk.starts_with(words), "{talk}");
    let (code, talk) = run(&[], "no-such-program");
    assert_eq!(code, Some(127), "{talk}");
}
