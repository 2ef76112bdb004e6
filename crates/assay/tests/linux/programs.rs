//! Programs of the user's as workloads.

use super::{drive, no_guests};
use crate::command::{assay, temporary};
use serde_json::Value;
use std::path::Path;

/// Runs an experiment with one workload of these lines; returns the exit code, what was printed,
/// and what was said.
fn run_on(directory: &Path, target: &str, lines: &str) -> (Option<i32>, String, String) {
    run_workloads(directory, target, &format!("name = \"w\"\n{lines}"))
}

/// Runs an experiment with a workload of these lines, or a family.
fn run_workloads(directory: &Path, target: &str, lines: &str) -> (Option<i32>, String, String) {
    let experiment = format!(
        "format = 1\nname = \"e\"\nquestion = \"?\"\nrepeats = 2\ntargets = [\"{target}\"]\n\
         [[workload]]\n{lines}"
    );
    std::fs::write(directory.join("e.toml"), experiment).unwrap();
    let _ = std::fs::remove_dir_all(directory.join("run"));
    let output = assay(directory, &["run", "e.toml", "--out", "run"]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Runs the experiment on one drive with ext4.
fn run(directory: &Path, lines: &str) -> (Option<i32>, String, String) {
    run_on(directory, &format!("linux(fs=ext4, {}, memory=128MiB)", drive()), lines)
}

/// Returns the repeats of the cell.
fn repeats(directory: &Path) -> Vec<Value> {
    let cells = std::fs::read(directory.join("run/cells.json")).unwrap();
    let cells: Value = serde_json::from_slice(&cells).unwrap();
    cells["cells"][0]["repeats"].as_array().unwrap().clone()
}

/// Returns a counter of a repeat.
fn counter(repeat: &Value, name: &str) -> f64 {
    let counters = repeat["device"].as_array().unwrap();
    counters.iter().find(|pair| pair[0] == name).expect(name)[1].as_f64().unwrap()
}

/// The kernel does nothing in the background that would disturb the first minute of a program.
#[test]
fn a_file_system_at_rest_sends_no_requests() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    for kind in ["ext3", "ext4"] {
        let target = format!("linux(fs={kind}, sim:barracuda-7200-11, memory=256MiB)");
        let (code, _, talk) = run_on(directory.path(), &target, "command = \"sleep 60\"\n");
        assert_eq!(code, Some(0), "{talk}");
        for repeat in repeats(directory.path()) {
            let sent = ["drive_reads", "drive_writes"].map(|name| counter(&repeat, name));
            assert_eq!(sent, [0.0, 0.0], "{kind}");
        }
    }
}

/// A server that `setup` starts goes on, the output has numbers in both forms, and the drive's work
/// for the command alone is counted.
#[test]
fn a_program_prints_its_metrics_and_its_drive_is_counted() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let lines = r#"
setup = '''
dd if=/dev/zero of=big bs=1M count=8 conv=fsync
mkfifo ask answer
while read line <ask; do echo "{\"all\": [{\"it\": $line}]}" >answer; done &
'''
command = '''
for i in 1 2 3; do dd if=/dev/zero of=file bs=4096 count=1 conv=fsync,notrunc; done
test "$PWD $HOME $USER" = "/run/mnt /root root"
test -n "$ASSAY_SEED"
echo 41.5 >ask
cat answer
echo "rate: 7 then 8.25" >&2
'''
expect = ["it > 41", "rate < 9", "run_time < 60"]
[[workload.metric]]
name = "it"
json = "/all/0/it"
unit = "1/s"
better = "higher"
[[workload.metric]]
name = "rate"
pattern = "(?:rate:|then) ([0-9.]+)"
better = "lower"
"#;
    let (code, table, talk) = run(directory.path(), lines);
    assert_eq!(code, Some(0), "{table}{talk}");
    assert!(
        table.contains("it (1/s)") && table.contains("41.5 =") && table.contains("8.25 ="),
        "{table}"
    );
    let cells = std::fs::read(directory.path().join("run/cells.json")).unwrap();
    for repeat in repeats(directory.path()) {
        let flushes = counter(&repeat, "drive_flushes");
        assert!((3.0..=8.0).contains(&flushes), "{flushes} flushes");
        let written = counter(&repeat, "drive_write_bytes");
        assert!(written < 1e6, "{written} bytes: those of `setup` count");
    }
    // The same seed gives the same numbers.
    run(directory.path(), lines);
    assert_eq!(std::fs::read(directory.path().join("run/cells.json")).unwrap(), cells);
    let output = assay(directory.path(), &["report", "run", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let it = &json["cells"][0]["metrics"]["it"];
    assert_eq!((it["value"].as_f64(), it["better"].as_str()), (Some(41.5), Some("higher")));
}

/// Every repeat begins with the files of the image, which are not in the cache, and with no others.
#[test]
fn every_repeat_begins_with_the_files_of_the_image() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let lines = r#"
image = """
mkdir d
head -c 1000000 /dev/urandom >d/data
ln -s data d/link
chmod 640 d/data
od -An -N3 -tu4 /dev/urandom >number
"""
command = """
test ! -e mine
touch mine
test "$(readlink d/link) $(stat -c %a d/data)" = "data 640"
cat d/data >/dev/null
cat number
"""
[[workload.metric]]
name = "number"
pattern = "([0-9]+)"
better = "higher"
"#;
    let (code, table, talk) = run(directory.path(), lines);
    assert_eq!(code, Some(0), "{table}{talk}");
    let repeats = repeats(directory.path());
    assert_eq!(repeats[0]["program"][0]["value"], repeats[1]["program"][0]["value"]);
    for repeat in &repeats {
        let read = counter(repeat, "drive_read_bytes");
        assert!(read >= 1e6, "{read} bytes: the others were in the cache");
    }
    assert!(repeats[0]["program"][0]["value"].as_f64().unwrap() > 0.0);
}

/// A variable with levels makes a workload of each. An image has only those that its script names,
/// so that the others share it. The table has the work of the drives for each transaction.
#[test]
fn variables_make_workloads_and_transactions_are_counted() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let lines = r#"
name = "w-{count}"
env = { count = [2, 5], size = 3, LC_ALL = "C.UTF-8" }
transactions = { pattern = "did ([0-9]+)" }
image = 'echo $size >told; env | grep -c ^coun >>told || true'
command = """
test "$LC_ALL $(echo $(cat told))" = "C.UTF-8 3 0"
i=0; while test $i -lt $count; do i=$((i + 1))
dd if=/dev/zero of=file bs=4096 count=1 conv=fsync,notrunc; done
echo did $count
"""
"#;
    let target = format!("linux(fs=ext4, {}, memory=128MiB)", drive());
    let (code, table, talk) = run_workloads(directory.path(), &target, lines);
    assert_eq!(code, Some(0), "{table}{talk}");
    assert!(table.contains("flushes/txn") && !table.contains("flushes/s"), "{table}");
    let cells = std::fs::read(directory.path().join("run/cells.json")).unwrap();
    let cells: Value = serde_json::from_slice(&cells).unwrap();
    for (index, (name, count)) in [("w-2", 2.0), ("w-5", 5.0)].into_iter().enumerate() {
        let cell = &cells["cells"][index];
        assert_eq!(cell["workload"], name);
        assert_eq!(counter(&cell["repeats"][0], "program_transactions"), count);
    }
}

/// Random numbers follow the seed, and so do the repeats.
#[test]
fn a_programs_random_numbers_follow_the_seed() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let lines = "command = \"od -An -N3 -tu4 /dev/urandom\"\n[[workload.metric]]\nname = \"it\"\n\
                 pattern = '([0-9]+)'\nbetter = \"lower\"\n";
    let (code, table, talk) = run(directory.path(), lines);
    assert_eq!(code, Some(0), "{table}{talk}");
    let repeats = repeats(directory.path());
    assert_ne!(repeats[0]["program"][0]["value"], repeats[1]["program"][0]["value"]);
}

/// What the program computes takes the time that the experiment says, each time the same.
#[test]
fn computing_takes_the_time_of_system_calls_and_faults() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let command = "command = \"for i in 1 2 3 4 5 6 7 8 9; do cat /proc/version; done\"\n";
    let took = |repeat: &Value| repeat["elapsed"].as_f64().unwrap() / 1e6;
    let (code, table, talk) = run(directory.path(), command);
    assert_eq!(code, Some(0), "{table}{talk}");
    let without = took(&repeats(directory.path())[0]);
    let costs = "user_time = { call = \"1ms\", fault = \"3ms\" }\n";
    let (code, table, talk) = run(directory.path(), &format!("{command}{costs}"));
    assert_eq!(code, Some(0), "{table}{talk}");
    let repeat = &repeats(directory.path())[0];
    let expected = counter(repeat, "program_calls") + 3.0 * counter(repeat, "program_faults");
    let share = (took(repeat) - without) / expected;
    assert!(expected > 100.0 && (0.98..1.02).contains(&share), "{share} of {expected} ms");
}

#[test]
fn a_program_runs_as_a_user_who_owns_the_directory() {
    if no_guests() {
        return;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    if !users.lines().any(|line| line.starts_with("nobody:")) {
        return println!("skipped: there is no user `nobody`");
    }
    let directory = temporary();
    let lines = "user = \"nobody\"\nimage = \"touch image\"\nsetup = \"touch made\"\n\
                 command = \"test $(id -un) = nobody; test $(stat -c %U made) = $USER; rm made; \
                 test $(stat -c %U image) = $USER; rm image\"\n";
    let (code, table, talk) = run(directory.path(), lines);
    assert_eq!(code, Some(0), "{table}{talk}");
}

/// Otherwise it would keep the array busy, and the guest would end with an error.
#[test]
fn a_server_that_is_left_running_ends_with_the_repeat() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let target = format!("linux(fs=ext4, md-raid1({}*2), memory=128MiB)", drive());
    let lines = "setup = \"sleep 1000 >held &\"\ncommand = \"sync\"\n";
    let (code, table, talk) = run_on(directory.path(), &target, lines);
    assert_eq!(code, Some(0), "{table}{talk}");
    assert!(table.contains("run_time (s)"), "{table}");
}

/// The run goes on, and says why the cell has no result.
#[test]
fn a_script_that_fails_is_named_with_its_last_lines() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let metric = "[[workload.metric]]\nname = \"it\"\npattern = 'it=(.*)'\nbetter = \"lower\"\n";
    for (lines, told) in [
        (
            "setup = \"echo no >&2; false; true\"\ncommand = \"true\"\n",
            "`setup` ended with exit status 1: no",
        ),
        ("image = \"sleep 1000 &\"\ncommand = \"true\"\n", "`image` leaves `sleep` running"),
        (
            "image = \"echo no >&2; false\"\ncommand = \"true\"\n",
            "`image` ended with exit status 1: no",
        ),
        ("command = \"echo one; kill -9 $$\"\n", "`command` ended with signal: 9 (SIGKILL): one"),
        ("command = \"true\"\nuser = \"assay-nobody\"\n", "the workload runs as `assay-nobody`"),
        ("command = \"echo it=fast\"\n", "no number for `it`: it=fast"),
    ] {
        let (code, table, talk) = run(directory.path(), &format!("{lines}{metric}"));
        assert_eq!(code, Some(4), "{table}{talk}");
        let all = format!("{table}{talk}");
        assert!(table.contains("(not measured)") && all.contains(told), "{told}: {all}");
    }
}
