//! Exchanges names while assay works: wherever they lead, nothing that was not named is written.
//!
//! A tracer (ptrace(2)) stops assay before and after each of its system calls and exchanges two
//! names there, once in each run; and a thread exchanges them as fast as it can. Where the kernel
//! does not let us trace, the first says `skipped`. Stopping at every call takes minutes:
//! `cargo test --test races -- --ignored`.

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

const WALK: &str = r#"
format = 1
name = "walk"
question = "?"
targets = []

[[workload]]
name = "w"
file = "walk"
order = "directory"
files = 6
directories = 2
length = "1KiB"
age = 1
"#;

/// A small drive, because each run builds it anew.
const DRIVE: &str = include_str!("fixtures/drive.toml");

/// A command, and the names that are exchanged while it runs.
struct Case {
    words: &'static [&'static str],
    /// The name of assay's that is exchanged as soon as it exists; a `*` at its end matches the
    /// rest.
    ours: &'static str,
    /// The files in somebody else's directory; an empty name if it is itself a file.
    theirs: &'static [&'static str],
}

/// The file that is measured.
const TARGET: Case = Case {
    words: &["run", "write.toml", "--quiet", "--only", "./ours", "--write", "./ours"],
    ours: "ours",
    theirs: &[""],
};
/// The directory of a run.
const RUN: Case = Case {
    words: &["run", "write.toml", "--quiet", "--only", "sim:drive.toml"],
    ours: "out",
    theirs: &["cells.json", "run.json", "report.html", "log/one", "series/one"],
};
/// The directory that a workload of files makes for itself.
const WORK: Case = Case {
    words: &["run", "walk.toml", "--quiet", "--only", "./d"],
    ours: "d/assay-*",
    theirs: &[".assay", "data/tree/d00/f0", "data/tree/d00/f2", "data/tree/d01/f1", "data/file"],
};

/// A directory with assay's files, and somebody else's beside them.
struct Place<'c> {
    dir: tempfile::TempDir,
    case: &'c Case,
    data: Vec<u8>,
}

impl Place<'_> {
    fn new(case: &Case) -> Place<'_> {
        let dir = command::temporary();
        fs::write(dir.path().join("write.toml"), WRITE).unwrap();
        fs::write(dir.path().join("walk.toml"), WALK).unwrap();
        fs::write(dir.path().join("drive.toml"), DRIVE).unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        let made = ["run", "write.toml", "--quiet", "--out", "made", "--only", "./ours"];
        let output = command::assay(dir.path(), &[&made[..], &["--size", "256KiB"]].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let data: Vec<u8> = (0..256 << 10).map(|i: u32| (i.wrapping_mul(31) >> 3) as u8).collect();
        for name in case.theirs {
            let path = if name.is_empty() {
                dir.path().join("theirs")
            } else {
                dir.path().join("theirs").join(name)
            };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &data).unwrap();
        }
        Place { dir, case, data }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the path that has assay's name, if there is one now.
    fn ours(&self) -> Option<PathBuf> {
        let path = self.path(self.case.ours);
        let Some(prefix) = path.to_str().unwrap().strip_suffix('*') else { return Some(path) };
        let mut entries = fs::read_dir(path.parent().unwrap()).unwrap();
        let is_ours = |path: &PathBuf| path.to_str().unwrap().starts_with(prefix);
        entries.find_map(|entry| Some(entry.unwrap().path()).filter(is_ours))
    }

    /// Exchanges the two if both exist; returns `true` if it did.
    fn exchange(&self) -> bool {
        let Some(ours) = self.ours() else { return false };
        renameat_with(CWD, ours, CWD, self.path("theirs"), RenameFlags::EXCHANGE).is_ok()
    }

    /// Checks that somebody else's files are as they were, whatever their name, and restores the
    /// name.
    fn check(&self, when: &str) {
        let holds = |path: &Path| {
            self.case.theirs.iter().all(|name| {
                let path = if name.is_empty() { path.to_owned() } else { path.join(name) };
                fs::read(path).is_ok_and(|data| data == self.data)
            })
        };
        if !holds(&self.path("theirs")) {
            let ours = self.ours().filter(|path| holds(path));
            assert!(ours.is_some(), "{when}: what is somebody else's was changed");
            assert!(self.exchange() || fs::rename(ours.unwrap(), self.path("theirs")).is_ok());
        }
        // Removes what assay has left, for the next time.
        if self.case.ours != TARGET.ours {
            self.ours().into_iter().for_each(|path| drop(fs::remove_dir_all(path)));
        }
    }
}

/// Runs the command under a tracer and exchanges the names at its stop number `at`; returns `None`
/// if it had fewer.
fn traced(place: &Place<'_>, out: &str, at: usize) -> Option<()> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(place.dir.path()).args(place.case.words).args(["--out", out]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec there is one system call, which takes no memory.
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
    // SAFETY: the child is stopped and traced by this thread; no pointer is passed.
    unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, libc::PTRACE_O_TRACESYSGOOD) };
    let (mut stops, mut signal) = (0, 0);
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
            place.exchange();
            // SAFETY: as above.
            unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) };
            break true;
        }
    };
    // If the child has ended, it was waited for above, and this fails.
    let _ = child.wait();
    is_reached.then_some(())
}

/// Exchanges the names at every `step`th stop from `first` on; returns how many there were.
fn at_stops(case: &Case, first: usize, step: usize) -> usize {
    let place = Place::new(case);
    let mut done = 0;
    for at in (first..).step_by(step) {
        if traced(&place, "out", at).is_none() {
            break;
        }
        place.check(&format!("exchanged at stop {at}"));
        let _ = fs::remove_dir_all(place.path("out"));
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
        std::thread::scope(|scope| {
            for (case, step) in [(TARGET, 1597), (RUN, 97), (WORK, 97)] {
                scope.spawn(move || {
                    let stops = at_stops(&case, 7, step);
                    println!("{}: {stops} stops", case.ours);
                    assert!(stops > 3, "{}: only {stops} stops: was it traced at all?", case.ours);
                });
            }
        });
    }
}

#[test]
#[ignore = "takes minutes"]
fn names_exchanged_at_every_stop() {
    if can_trace() {
        for case in &[TARGET, RUN, WORK] {
            // Two runs at a time, each in a place of its own: nearly all of it is the tracer.
            let stops: usize = std::thread::scope(|scope| {
                let halves = [1, 2].map(|first| scope.spawn(move || at_stops(case, first, 2)));
                halves.map(|half| half.join().unwrap()).iter().sum()
            });
            println!("{}: {stops} stops", case.ours);
            assert!(stops > 300, "{}: only {stops} stops: was it traced at all?", case.ours);
        }
    }
}

/// Exchanges the names all the time while the command runs `runs` times; returns how often.
fn all_the_time(case: &Case, runs: u32) -> u64 {
    let place = Place::new(case);
    let count = AtomicU64::new(0);
    for _ in 0..runs {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    count.fetch_add(u64::from(place.exchange()), Ordering::Relaxed);
                }
            });
            let words = [case.words, &["--out", "out"]].concat();
            let output = command::assay(place.dir.path(), &words);
            is_over.store(true, Ordering::Relaxed);
            assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{output:?}");
        });
        place.check("exchanged all the time");
        let _ = fs::remove_dir_all(place.path("out"));
    }
    count.into_inner()
}

#[test]
fn names_exchanged_all_the_time() {
    for case in [TARGET, RUN, WORK] {
        let exchanges = all_the_time(&case, 10);
        assert!(exchanges > 1000, "{}: only {exchanges} exchanges", case.ours);
    }
}

#[test]
#[ignore = "takes minutes"]
fn names_exchanged_a_hundred_thousand_times() {
    for (case, runs) in [(TARGET, 200), (RUN, 100), (WORK, 100)] {
        let exchanges = all_the_time(&case, runs);
        println!("{}: {exchanges} exchanges", case.ours);
        assert!(exchanges > 10_000, "{}: only {exchanges} exchanges", case.ours);
    }
}
