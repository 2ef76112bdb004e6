//! Runs a program of the user's, and reads the numbers that it prints.
//!
//! *Invariant.* The program runs in a guest: nothing that it does is done to this machine.

use super::stage::{Done, Stage, refused};
use crate::clock::ProgramCounts;
use crate::error::{Error, Result};
use assay_linux::guest::{Caller, command, killed_for_memory, left_running, pack, unpack};
use assay_linux::user::User;
use assay_spec::experiment::{
    Better, CacheReset, OutputMetric, OutputPlace, ProgramWork, RUN_TIME, TransactionCount,
};
use assay_spec::record::ProgramMetric;
use regex_lite::Regex;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

/// The longest output that is read.
const OUTPUT_MAX: u64 = 32 << 20;

/// The number of lines of an output that an error shows, and of characters of each.
const SHOWN: usize = 5;
const SHOWN_OF_LINE: usize = 200;

/// Runs the script that prepares the work, then measures the other.
pub(super) fn run(stage: &mut Stage<'_>, work: &ProgramWork) -> Result<Done> {
    let directory = stage.work_dir.directory;
    let caller = caller(directory, work.user.as_deref(), &work.environment, stage.seed)?;
    if work.image.is_some() {
        unpack(directory)?;
        stage.forget(CacheReset::Remount, &[])?;
    }
    give(directory, &caller)?;
    let killed = Killed::so_far();
    if let Some(setup) = &work.setup {
        run_script("setup", setup, &caller)?;
    }
    let clock = stage.start();
    let counts = ProgramCounts::start();
    let output = run_script("command", &work.command, &caller)?;
    let elapsed = clock.now();
    let mut told: Vec<(String, f64)> = counts.end().collect();
    if let Some(count) = &work.transactions {
        told.push(("program_transactions".to_owned(), output.transactions(count)?));
    }
    let found = work.metrics.iter().map(|metric| output.find(metric));
    let mut metrics = found.collect::<Result<Vec<ProgramMetric>>>()?;
    metrics.push(ProgramMetric {
        name: RUN_TIME.to_owned(),
        value: elapsed.as_secs_f64(),
        unit: "s".to_owned(),
        better: Better::Lower,
    });
    let warnings = killed.warning().into_iter().collect();
    Ok(Done { elapsed, told, metrics, warnings, ..Done::default() })
}

/// Makes an image: runs `script` as `user` with the variables of `environment` in `directory`, and
/// packs what it leaves there.
///
/// # Errors
/// If the script fails, or leaves a process running, whose files may be incomplete.
pub(crate) fn make_image(
    directory: &Path,
    script: &str,
    user: Option<&str>,
    environment: &[(String, String)],
    seed: u64,
) -> Result<()> {
    let caller = caller(directory, user, environment, seed)?;
    give(directory, &caller)?;
    let killed = Killed::so_far();
    run_script("image", script, &caller)?;
    if let Some(warning) = killed.warning() {
        let hint = "write `memory=` in the target, or `memory` in [linux]";
        return Err(Error::environment("program-failed", format!("`image`: {warning}"), hint));
    }
    if let Some(name) = still_running() {
        let message = format!("the script of `image` leaves `{name}` running");
        let hint = "stop it at the end of the script, and start it in `setup`";
        return Err(Error::environment("program-failed", message, hint));
    }
    Ok(pack(directory)?)
}

/// Returns the name of a process that goes on for seconds. A server that was stopped needs a moment
/// after it has removed its file of locks.
fn still_running() -> Option<String> {
    const TRIES: u32 = 50;
    for _ in 0..TRIES {
        left_running().first()?;
        std::thread::sleep(Duration::from_millis(100));
    }
    left_running().into_iter().next().map(|(_, name)| name)
}

/// Gives the directory to the user that the scripts run as.
fn give(directory: &Path, caller: &Caller) -> Result<()> {
    let Some((user, group)) = caller.user else { return Ok(()) };
    let given = chown(directory, Some(user), Some(group));
    given.map_err(|e| refused("giving the directory to the user", &e))
}

/// The number of processes that the guest's kernel had killed because its memory was full.
#[derive(Clone, Copy)]
struct Killed(u64);

impl Killed {
    fn so_far() -> Killed {
        Killed(killed_for_memory())
    }

    /// Returns a warning if the kernel has killed processes since.
    fn warning(self) -> Option<String> {
        let count = killed_for_memory() - self.0;
        (count > 0).then(|| {
            format!(
                "the guest's memory was full, and its kernel killed processes ({count}): give it \
                 more with `memory=`"
            )
        })
    }
}

/// Returns what the scripts find around them. It is the same for all callers of assay. The
/// variables of the experiment replace others of the same name.
fn caller(
    directory: &Path,
    user: Option<&str>,
    environment: &[(String, String)],
    seed: u64,
) -> Result<Caller> {
    let user = match user {
        None => None,
        Some(name) => Some(User::find(name).ok_or_else(|| {
            let hint = "write a name that is in /etc/passwd, e.g. `user = \"nobody\"`";
            Error::usage("program-failed", format!("this machine has no user `{name}`"), hint)
        })?),
    };
    let root = [("USER", "root"), ("LOGNAME", "root"), ("HOME", "/root")];
    let of_user = user.as_ref().map_or(root, User::environment);
    let path = std::env::var("PATH").unwrap_or_default();
    let seed = seed.to_string();
    let all =
        of_user.into_iter().chain([("PATH", &*path), ("LC_ALL", "C"), ("ASSAY_SEED", &*seed)]);
    let others = all.filter(|(name, _)| environment.iter().all(|(other, _)| name != other));
    let others = others.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(Caller {
        directory: directory.display().to_string(),
        environment: others.chain(environment.iter().cloned()).collect(),
        user: user.map(|user| (user.id, user.group)),
    })
}

/// The output of a script.
struct Output {
    stdout: String,
    stderr: String,
}

/// Runs a script to its end; it stops at the first command that fails. `key` has it in the
/// experiment.
///
/// # Errors
/// If it cannot be run or fails.
fn run_script(key: &str, script: &str, caller: &Caller) -> Result<Output> {
    let failed = |e: io::Error| {
        let hint = "give the guest more memory, or let the program print less";
        Error::environment("program-failed", format!("`{key}` cannot be run"), hint).caused_by(e)
    };
    let killed = Killed::so_far();
    // Files, not pipes: a process that the script leaves behind may keep them open.
    let (mut stdout, mut stderr) = (memory_file().map_err(failed)?, memory_file().map_err(failed)?);
    // The experiment may have a `PATH` of its own, without a shell in it.
    let mut shell = command("/bin/sh", caller)?;
    shell.args(["-e", "-c", script]).stdin(Stdio::null());
    shell.stdout(stdout.try_clone().map_err(failed)?).stderr(stderr.try_clone().map_err(failed)?);
    let status = shell.status().map_err(failed)?;
    let output = Output {
        stdout: text(&mut stdout).map_err(failed)?,
        stderr: text(&mut stderr).map_err(failed)?,
    };
    if status.success() {
        return Ok(output);
    }
    let memory = killed.warning().map_or_else(String::new, |warning| format!("; {warning}"));
    let message = format!("`{key}` ended with {}{}{memory}", ending(status), output.last_lines());
    let hint = "try it with `assay linux run --shell`; it runs as `sh -e -c`, in the directory of \
                the file system";
    Err(Error::environment("program-failed", message, hint))
}

/// Describes how a script ended.
fn ending(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit status {code}"),
        None => status.to_string(),
    }
}

fn memory_file() -> io::Result<File> {
    Ok(memfd_create("assay-output", MemfdFlags::CLOEXEC)?.into())
}

/// Returns the contents of a file from its start.
fn text(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    if file.metadata()?.len() > OUTPUT_MAX {
        return Err(io::Error::other("its output is longer than 32 MiB"));
    }
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into()))
}

impl Output {
    /// Returns the last lines, for an error message.
    fn last_lines(&self) -> String {
        let lines: Vec<&str> = self.stdout.lines().chain(self.stderr.lines()).collect();
        let last = lines[lines.len().saturating_sub(SHOWN)..].iter();
        let last: Vec<String> =
            last.map(|line| line.chars().take(SHOWN_OF_LINE).collect()).collect();
        if last.is_empty() { String::new() } else { format!(": {}", last.join("; ")) }
    }

    /// Finds a number.
    ///
    /// # Errors
    /// If it is not there.
    fn find(&self, metric: &OutputMetric) -> Result<ProgramMetric> {
        let value = self.number(&metric.name, &metric.place)?;
        let OutputMetric { name, unit, better, .. } = metric.clone();
        Ok(ProgramMetric { name, value, unit, better })
    }

    /// Returns the number of transactions.
    ///
    /// # Errors
    /// If it is to be printed and is not there, or is not above zero.
    fn transactions(&self, count: &TransactionCount) -> Result<f64> {
        const NAME: &str = "transactions";
        let place = match count {
            TransactionCount::Fixed(count) => return Ok(f64::from(*count)),
            TransactionCount::Printed(place) => place,
        };
        let count = self.number(NAME, place)?;
        if count > 0.0 {
            return Ok(count);
        }
        let message = format!("the output has {count} for `{NAME}`{}", self.last_lines());
        let hint = "let the command do some, or take `transactions` out of the experiment";
        Err(Error::environment("program-output", message, hint))
    }

    /// Returns the number at `place`, which messages call `name`.
    ///
    /// # Errors
    /// If there is none.
    fn number(&self, name: &str, place: &OutputPlace) -> Result<f64> {
        let found = match place {
            OutputPlace::Pattern(pattern) => self.last_match(pattern),
            OutputPlace::Json(pointer) => self.json_value(pointer),
        };
        found.filter(|value| value.is_finite()).ok_or_else(|| {
            let message = format!("the output has no number for `{name}`{}", self.last_lines());
            let hint = "correct its `pattern` or `json`; a pattern's first group is the number";
            Error::environment("program-output", message, hint)
        })
    }

    /// Returns the number in the first group of the last match of a regular expression.
    fn last_match(&self, pattern: &str) -> Option<f64> {
        let regex = Regex::new(pattern).expect("checked when it was read");
        let last = |text| regex.captures_iter(text).last()?.get(1)?.as_str().trim().parse().ok();
        last(&self.stdout).or_else(|| last(&self.stderr))
    }

    /// Returns the number at a pointer in the JSON document.
    fn json_value(&self, pointer: &str) -> Option<f64> {
        let document: serde_json::Value = serde_json::from_str(&self.stdout).ok()?;
        document.pointer(pointer)?.as_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(output: &Output, place: OutputPlace) -> Result<f64> {
        let (name, unit) = ("tps".to_owned(), "1/s".to_owned());
        let metric = OutputMetric { name, place, unit, better: Better::Higher };
        output.find(&metric).map(|metric| metric.value)
    }

    #[test]
    fn numbers_are_found_where_the_experiment_says() {
        let pattern = |text: &str| OutputPlace::Pattern(text.to_owned());
        let stdout = "progress: tps = 90.5\ntps = 100.25 (all)\nname = x\n".to_owned();
        let output = Output { stdout, stderr: "copied at 5e3 B/s\n".to_owned() };
        assert_eq!(found(&output, pattern("tps = ([0-9.]+)")).ok(), Some(100.25));
        assert_eq!(found(&output, pattern("at (\\S+) B/s")).ok(), Some(5000.0));
        let none = found(&output, pattern("name = (.)")).expect_err("no number");
        assert!(none.message.contains("no number for `tps`: progress: tps"), "{none}");
        let stdout = r#"{"jobs": [{"write": {"iops": 1234.5}}]}"#.to_owned();
        let output = Output { stdout, stderr: "warning".to_owned() };
        let json = |pointer: &str| OutputPlace::Json(pointer.to_owned());
        assert_eq!(found(&output, json("/jobs/0/write/iops")).ok(), Some(1234.5));
        found(&output, json("/jobs/0/write")).expect_err("no number");
        found(&output, json("/jobs/1/write/iops")).expect_err("not there");
    }

    #[test]
    fn transactions_are_counted_by_the_author_or_the_program() {
        let output =
            Output { stdout: "done: 600/600\nnone: 0\n".to_owned(), stderr: String::new() };
        let printed = |text: &str| {
            let place = OutputPlace::Pattern(text.to_owned());
            output.transactions(&TransactionCount::Printed(place))
        };
        assert_eq!(output.transactions(&TransactionCount::Fixed(7)).ok(), Some(7.0));
        assert_eq!(printed("done: ([0-9]+)").ok(), Some(600.0));
        let none = printed("none: ([0-9]+)").expect_err("it did nothing");
        assert!(none.message.contains("has 0 for `transactions`"), "{none}");
        printed("made: ([0-9]+)").expect_err("not there");
    }
}
