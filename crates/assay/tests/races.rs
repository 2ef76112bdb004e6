//! Names that change hands while assay looks: whatever they lead to by then, nothing that was not
//! named is written.
//!
//! A tracer (ptrace(2)) stops assay before and after each of its system calls and exchanges two
//! names there, once a run; and a thread exchanges them as fast as it can. Where the kernel does
//! not let us trace, the first says `skipped`. All stops take minutes: `cargo test --test races --
//! --ignored`.

#![allow(clippy::print_stdout)] // a skipped test says why

mod command;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const WRITE: &str = r#"
format = 1
name = "write"
question = "?"
targets = []

[[workload]]
name = "w"
read_share = 0.0
size = "4KiB"
pattern = "sequential"
range = "64KiB"
measure = { requests = 16 }
"#;

/// A place with a file of assay's, `ours`, and one of somebody else, `theirs`, of one size.
struct Place {
    dir: tempfile::TempDir,
    theirs: Vec<u8>,
}

impl Place {
    fn new() -> Place {
        let dir = command::temporary();
        fs::write(dir.path().join("write.toml"), WRITE).unwrap();
        let made = ["run", "write.toml", "--quiet", "--out", "made", "--only", "./ours"];
        let output = command::assay(dir.path(), &[&made[..], &["--size", "256KiB"]].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let theirs: Vec<u8> =
            (0..256 << 10).map(|i: u32| (i.wrapping_mul(31) >> 3) as u8).collect();
        fs::write(dir.path().join("theirs"), &theirs).unwrap();
        Place { dir, theirs }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn exchange(&self) {
        exchange(self.dir.path());
    }

    /// Somebody else's file, whatever it is called now, is as it was.
    fn check(&self, when: &str) {
        let is_theirs = |name: &str| fs::read(self.path(name)).unwrap() == self.theirs;
        assert!(is_theirs("ours") || is_theirs("theirs"), "{when}: the other file was written");
        if is_theirs("ours") {
            self.exchange();
        }
    }
}

fn exchange(dir: &Path) {
    let (ours, theirs) = (dir.join("ours"), dir.join("theirs"));
    renameat_with(CWD, ours, CWD, theirs, RenameFlags::EXCHANGE).unwrap();
}

/// The words of a command that writes to `ours`.
const WORDS: [&str; 8] =
    ["run", "write.toml", "--quiet", "--only", "./ours", "--write", "./ours", "--out"];

/// Runs the command under a tracer and calls `act` at its stop number `at`; `None` if it had fewer.
fn traced(dir: &Path, out: &str, at: usize, act: impl FnOnce()) -> Option<()> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(dir).args(WORDS).arg(out);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec, one system call that takes no memory.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let mut child = command.spawn().unwrap();
    let pid = child.id() as libc::pid_t;
    let mut status = 0;
    let mut wait = || {
        // SAFETY: the child is ours and not waited for by anybody else yet; the status has room.
        unsafe { libc::waitpid(pid, &mut status, libc::__WALL) };
        status
    };
    wait();
    // SAFETY: the child is stopped and traced by this thread; no memory is given.
    unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, libc::PTRACE_O_TRACESYSGOOD) };
    let (mut stops, mut signal) = (0, 0);
    let mut act = Some(act);
    let is_reached = loop {
        // SAFETY: as above.
        unsafe { libc::ptrace(libc::PTRACE_SYSCALL, pid, 0, signal) };
        let status = wait();
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            break false;
        }
        let stop = libc::WSTOPSIG(status);
        signal = if stop == libc::SIGTRAP | 0x80 { 0 } else { stop };
        stops += usize::from(signal == 0);
        if stops == at {
            act.take().into_iter().for_each(|act| act());
            // SAFETY: as above.
            unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) };
            break true;
        }
    };
    // One that has ended was waited for above, which this is told.
    let _ = child.wait();
    is_reached.then_some(())
}

/// Exchanges the names at every `step`th stop from `first` on; how many there were.
fn at_stops(first: usize, step: usize) -> usize {
    let place = Place::new();
    let mut done = 0;
    for at in (first..).step_by(step) {
        let out = format!("out-{at}");
        if traced(place.dir.path(), &out, at, || place.exchange()).is_none() {
            break;
        }
        place.check(&format!("exchanged at stop {at}"));
        let _ = fs::remove_dir_all(place.path(&out));
        done += 1;
    }
    done
}

fn can_trace() -> bool {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let can = !["2", "3"].contains(&scope.trim());
    if !can {
        println!("skipped: this kernel does not let us trace");
    }
    can
}

#[test]
fn names_exchanged_at_some_stops() {
    if can_trace() {
        let stops = at_stops(7, 97);
        assert!(stops > 5, "only {stops} stops: was it traced at all?");
    }
}

#[test]
#[ignore = "takes minutes"]
fn names_exchanged_at_every_stop() {
    if can_trace() {
        let stops = at_stops(1, 1);
        println!("{stops} stops");
        assert!(stops > 500, "only {stops} stops: was it traced at all?");
    }
}

/// Exchanges the names all the time while the command runs `runs` times; how often.
fn all_the_time(runs: u32) -> u64 {
    let place = Place::new();
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                place.exchange();
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        for run in 0..runs {
            let out = format!("out-{run}");
            let words: Vec<&str> = WORDS.into_iter().chain([out.as_str()]).collect();
            let output = command::assay(place.dir.path(), &words);
            assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    place.check("exchanged all the time");
    count.into_inner()
}

#[test]
fn names_exchanged_all_the_time() {
    let exchanges = all_the_time(10);
    assert!(exchanges > 1000, "only {exchanges} exchanges");
}

#[test]
#[ignore = "takes minutes"]
fn names_exchanged_a_hundred_thousand_times() {
    let exchanges = all_the_time(200);
    println!("{exchanges} exchanges");
    assert!(exchanges > 100_000, "only {exchanges} exchanges");
}
