//! Linux in virtual time: every file system under every elevator, arrays that lose drives, the same
//! twice to the byte, and nothing left behind whoever is killed.
//!
//! Each test boots guests. Where the machine has no kernel for them, or cannot run one, it says
//! `skipped: why`, and only then.

#![allow(clippy::print_stdout)] // a skipped test says why

mod agreement;
mod build;
mod builds;
mod clocks;
#[path = "../command/mod.rs"]
mod command;
mod host;
mod kernel_settings;
mod killed;
mod machines;
mod processor;
mod programs;
mod registers;
mod suites;

use command::{assay, temporary};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the signals that end assay: not SIGHUP if the tests run under `nohup`, because programs
/// that are started then ignore it, too.
fn ending_signals() -> Vec<&'static str> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    let mut signals = vec!["INT", "TERM", "HUP"];
    if ignored & 1 != 0 {
        println!("skipped: SIGHUP, which is ignored here");
        signals.pop();
    }
    signals
}

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

/// Runs `experiment` in a new directory with `command`, which ends with assay's path, and returns
/// its `cells.json`.
fn cells_of(command: &mut Command, experiment: &str) -> String {
    let directory = temporary();
    std::fs::write(directory.path().join("one.toml"), experiment).unwrap();
    command.current_dir(&directory).args(["run", "one.toml", "--out", "run", "--quiet"]);
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    std::fs::read_to_string(directory.path().join("run/cells.json")).unwrap()
}

/// Compares the texts of two `cells.json` line by line.
fn assert_same_cells(one: &str, other: &str) {
    for (line, (a, b)) in one.lines().zip(other.lines()).enumerate() {
        assert_eq!(a, b, "line {} of cells.json", line + 1);
    }
    assert_eq!(one.len(), other.len());
}

/// Returns `true` if all combinations are tried, as `.ci/full` does. Else each file system has one
/// elevator, two arrays stand for all, and fio reads and writes in each way on one of two drives.
fn is_full() -> bool {
    std::env::var_os("ASSAY_FULL").is_some()
}

/// Runs `one` for every index below `count`, on two processors.
fn two_at_a_time(count: usize, one: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(index) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < count)
                {
                    one(index);
                }
            });
        }
    });
}

/// Runs `assay` in `dir` to its end, with `typed` as what is typed.
fn assay_with(dir: &Path, arguments: &[&str], typed: &str) -> Output {
    std::fs::write(dir.join("typed"), typed).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    let input = std::fs::File::open(dir.join("typed")).unwrap();
    command.current_dir(dir).args(arguments).stdin(input).output().unwrap()
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

#[test]
fn a_shell_takes_its_commands_from_whoever_is_there() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    // What it waits for, and what it leaves running, is not waited for by a key.
    let script = "echo $((6 * 7)) on $(tty)\n\
                  dd if=/dev/vda of=/dev/null bs=4k count=10 iflag=direct\n\
                  sleep 3600\nread -p 'name? ' name\nEve\n\
                  echo hello $name at $(date +%T)\n\
                  sleep 60 & wait\necho waited until $(date +%T)\n\
                  sleep 1000000000 &\nexit 7\n";
    // The second holds one request at a time.
    let fixture = drive();
    for (drive, out) in [(fixture.as_str(), "one"), ("ssd-l", "two")] {
        let line = ["linux", "run", "--quiet", "--shell", "--drive", drive, "--out", out];
        let output = assay_with(directory.path(), &line, script);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let talk = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "{said}{talk}");
        let expected =
            ["42 on /dev/pts/0", "10+0 records out", "hello Eve at 01:00:0", "until 01:01:0"];
        for expected in expected {
            assert!(said.contains(expected), "no {expected:?}: {said}{talk}");
        }
    }
    let line = ["linux", "run", "--quiet", "--shell", "--drive", &fixture, "--out", "out"];
    // At its end a file says no more, and the shell ends as at a key.
    let output = assay_with(directory.path(), &line, "false\necho no newline");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("no newline"), "{said}");
}

#[test]
fn the_clock_by_messages_is_the_clock_in_memory() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let script = "mkfs.ext4 -q /dev/vda\nmount /dev/vda /run/mnt\n\
                  for i in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/zero > /run/mnt/$i; done\n\
                  sync\numount /run/mnt\ncat /proc/uptime\n";
    let run = |way| guest(directory.path(), 1, &["--clock", way], script, &[]);
    let (shared, messages) = (run("shared"), run("messages"));
    assert!(shared.1.len() > 1000, "the drives were asked something");
    assert_eq!(shared, messages);
}

#[test]
fn what_is_on_a_drive_stays_in_its_image() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let image = directory.path().join("image");
    let options = ["--image", image.to_str().unwrap()];
    let run = |script| guest(directory.path(), 2, &options, script, &[]).0;
    run("mkfs.ext4 -q /dev/vda\nmount /dev/vda /run/mnt\necho kept > /run/mnt/it\numount /run/mnt");
    let said =
        run("mount -o ro /dev/vda /run/mnt\ncat /run/mnt/it\ndd if=/dev/vdb count=8 | tr -d '\\0'");
    assert_eq!(said, "kept\n");
    // Another drive is another size, and the file is as it was.
    let before = std::fs::read(&image).unwrap();
    let line = ["linux", "run", "--drive", "ssd-m", "--image", "image", "--out", "o", "--", "true"];
    let refused = assay(directory.path(), &line);
    let text = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(3), "{text}");
    assert!(text.contains("error[linux-image]"), "{text}");
    assert!(before == std::fs::read(&image).unwrap());
}

#[test]
fn discards_reach_drives_of_flash_that_take_them() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let script = "cat /sys/block/vda/queue/discard_max_bytes\nblkdiscard /dev/vda\n";
    let (said, log) = guest(directory.path(), 1, &["--discard"], script, &[]);
    assert_ne!(said.trim(), "0");
    let (not, _) =
        guest(directory.path(), 1, &[], script.split_inclusive('\n').next().unwrap(), &[]);
    assert_eq!(not.trim(), "0");
    std::fs::write(directory.path().join("log.parquet"), log).unwrap();
    let shown = assay(directory.path(), &["trace", "show", "log.parquet"]);
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("trim  "), "{text}{}", String::from_utf8_lossy(&shown.stderr));
}
