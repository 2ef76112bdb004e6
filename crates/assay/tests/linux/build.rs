//! Builds a kernel with fake tools, and checks which files are there before and after.

use super::ending_signals;
use crate::command::temporary;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The fake tools with their scripts. `make` waits while there is a file `slow` beside the tools.
const TOOLS: [(&str, &str); 12] = [
    ("gcc", "while [ $# -gt 2 ]; do shift; done; [ $# -lt 2 ] || cp \"$2\" \"$1\""),
    ("ld", ""),
    ("patch", ""),
    ("flex", ""),
    ("bison", ""),
    ("bc", ""),
    ("xz", ""),
    ("tar", ""),
    ("apt-get", "exit 1"),
    (
        "sha256sum",
        "case $1 in linux | --check) PATH=/usr/bin:/bin exec sha256sum \"$@\" ;; esac; cat \"$1\"",
    ),
    ("strip", "cp \"$3\" \"$2\""),
    (
        "make",
        "for word; do case $word in O=*) build=${word#O=} ;; esac; done
         case \"$*\" in
           *olddefconfig) ;;
           *defconfig) echo CONFIG_A=y >$build/.config ;;
           *) echo '  CC a.o'; echo $$ >${0%/*}/compiling; echo kernel >$build/linux
              while [ -e ${0%/*}/slow ]; do sleep 0.05; done ;;
         esac",
    ),
];

/// A machine with those tools, and a source with the right checksum.
struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let bench = Bench { directory: temporary() };
        std::fs::create_dir(bench.path("tools")).unwrap();
        for (name, does) in TOOLS {
            let tool = bench.path("tools").join(name);
            std::fs::write(&tool, format!("#!/bin/sh\n{does}\n")).unwrap();
            std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let sum = "585a4a074597aefa2b1a68ada83a3184ba351c127544dea80618bbcceaa3961f";
        std::fs::write(bench.path("source"), format!("{sum}  source\n")).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, source: &str) -> Command {
        let path = format!("{}:/usr/bin:/bin", self.path("tools").display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.current_dir(self.directory.path()).env("PATH", path).env("ASSAY_CACHE", "cache");
        command.args(["linux", "build", "--quiet", "--source", source]);
        command
    }

    fn build(&self, source: &str) -> (Option<i32>, String) {
        said(&self.command(source).output().unwrap())
    }

    /// Starts a build that compiles until `slow` is gone.
    fn begin(&self) -> Child {
        std::fs::write(self.path("tools/slow"), "").unwrap();
        let had = self.names().len();
        let mut command = self.command("source");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        let compiles = || {
            let names = self.names();
            let work = |n: &String| self.path("cache").join(n).join("data/build/linux").exists();
            names.len() > had && names.iter().any(work)
        };
        while !compiles() {
            assert!(begun.elapsed() < Duration::from_secs(30), "it does not compile");
            sleep(Duration::from_millis(20));
        }
        child
    }

    /// Returns the names in the cache directory, sorted.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("cache")).into_iter().flatten();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path("cache").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path("cache").join(name)).unwrap()
    }
}

fn said(output: &Output) -> (Option<i32>, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

fn send(signal: &str, child: &Child) {
    let mut kill = Command::new("kill");
    kill.args([format!("-{signal}"), child.id().to_string()]);
    assert!(kill.status().unwrap().success());
}

#[test]
fn a_kernel_is_built_beside_what_others_have_there() {
    let bench = Bench::new();
    bench.write("linux.building/mine", "precious");
    let (code, text) = bench.build("source");
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(bench.names(), ["linux", "linux.building"]);
    assert_eq!(bench.read("linux.building/mine"), "precious");
    assert_eq!(bench.read("linux/linux"), "kernel\n");
    // A kernel of assay's own is replaced, whatever its recipe.
    bench.write("linux/identity", "Debian 6.1, recipe 1\n");
    let (code, text) = bench.build("source");
    assert_eq!(code, Some(0), "{text}");
    assert!(!bench.read("linux/identity").contains("recipe 1\n"));
    assert_eq!(bench.names(), ["linux", "linux.building"]);
}

#[test]
fn what_is_no_kernel_is_not_replaced() {
    let spoils: [fn(&Bench, &Path); 6] = [
        |bench, _| bench.write("linux/mine", "precious"),
        |bench, _| bench.write("linux/linux", "precious"),
        |bench, _| bench.write("linux/identity", "mine\n"),
        |_, linux| std::fs::remove_file(linux.join("identity")).unwrap(),
        |_, linux| {
            std::fs::rename(linux, linux.with_file_name("other")).unwrap();
            std::os::unix::fs::symlink("other", linux).unwrap();
        },
        |_, linux| {
            std::fs::remove_dir_all(linux).unwrap();
            std::fs::write(linux, "precious").unwrap();
        },
    ];
    for spoil in spoils {
        let bench = Bench::new();
        assert_eq!(bench.build("source").0, Some(0));
        spoil(&bench, &bench.path("cache/linux"));
        let before = bench.names();
        let (code, text) = bench.build("source");
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains("error[linux-in-the-way]") && text.contains("hint: "), "{text}");
        assert_eq!(bench.names(), before);
    }
}

#[test]
fn a_source_that_is_no_file_is_refused_before_anything_is_made() {
    let bench = Bench::new();
    for source in ["nonexistent", ".", "/dev/zero"] {
        let (code, text) = bench.build(source);
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains("error[linux-no-source]") && text.contains("hint: "), "{text}");
        assert!(!bench.path("cache").exists());
    }
    std::fs::write(bench.path("other"), "0123  other\n").unwrap();
    let (code, text) = bench.build("other");
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("error[linux-checksum]"), "{text}");
    assert!(bench.names().is_empty());
}

#[test]
fn a_build_that_is_ended_leaves_nothing() {
    let bench = Bench::new();
    for signal in ending_signals() {
        let child = bench.begin();
        send(signal, &child);
        let (code, text) = said(&child.wait_with_output().unwrap());
        assert_eq!(code, Some(130), "{signal}: {text}");
        assert!(bench.names().is_empty(), "{signal}: {:?}", bench.names());
    }
    // A build that is killed leaves its directory to the next one, and no compiler.
    let child = bench.begin();
    send("KILL", &child);
    child.wait_with_output().unwrap();
    let compiling = std::fs::read_to_string(bench.path("tools/compiling")).unwrap();
    let compiling = Path::new("/proc").join(compiling.trim()).join("cmdline");
    let begun = Instant::now();
    // Where nobody takes its status it stays in the table, without a command line.
    while std::fs::read(&compiling).is_ok_and(|line| !line.is_empty()) {
        assert!(begun.elapsed() < Duration::from_secs(30), "make goes on");
        sleep(Duration::from_millis(20));
    }
    assert_eq!(bench.names().len(), 1);
    std::fs::remove_file(bench.path("tools/slow")).unwrap();
    assert_eq!(bench.build("source").0, Some(0));
    assert_eq!(bench.names(), ["linux"]);
}

#[test]
fn two_builds_do_not_meet() {
    let bench = Bench::new();
    let first = bench.begin();
    let (code, text) = bench.build("source");
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("error[linux-busy]") && text.contains("hint: "), "{text}");
    std::fs::remove_file(bench.path("tools/slow")).unwrap();
    let (code, text) = said(&first.wait_with_output().unwrap());
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(bench.names(), ["linux"]);
}
