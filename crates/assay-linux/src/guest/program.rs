//! Programs of the user's in a guest.

use super::job::{Caller, CommandEnd};
use super::tools::{SHARED, end_process, no_program, write};
use crate::c_library::{ANY_PROCESSOR, TUNABLES};
use crate::error::{Error, Result};
use crate::kernel::{missing, tool_path};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Prepares the guest for programs of the user's.
///
/// # Errors
/// If the kernel has no loopback.
pub(super) fn prepare() -> Result<()> {
    for (name, file) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        let link = symlink(format!("/proc/self/fd{file}"), Path::new("/dev").join(name));
        link.map_err(|e| Error::system("a link in /dev", e))?;
    }
    // A name that everybody can look up.
    write("/proc/sys/kernel/hostname", "localhost")?;
    // A database and its client talk over the loopback, which gets its address with this.
    write("/sys/class/net/lo/flags", "0x9")
}

/// Runs a program to its end. Returns how it ended, a [`CommandEnd`].
pub(super) fn run(words: &[String], caller: &Caller) -> Result<String> {
    let file = |name: &str| {
        let file = fs::File::create(Path::new(SHARED).join(name));
        file.map_err(|e| Error::system("the command's output", e))
    };
    let (program, rest) = words.split_first().expect("the command line wants one");
    let mut command = command(program, caller)?;
    command.args(rest).stdin(Stdio::null()).stdout(file("stdout")?).stderr(file("stderr")?);
    let status = command.status().map_err(|e| no_program(program, e))?;
    Ok(end(status))
}

/// Ends the processes that programs have left running: they would keep the file system and its
/// array busy.
pub(super) fn end_all() {
    /// What is forked while others are killed is killed in the next round.
    const ROUNDS: usize = 10;
    for _ in 0..ROUNDS {
        let left = left_running();
        if left.is_empty() {
            return;
        }
        // Each may have ended by itself. All are killed before the first is waited for, because one
        // may wait for another.
        for (pid, _) in &left {
            let _ = kill_process(*pid, Signal::KILL);
        }
        for (pid, _) in &left {
            let _ = end_process(*pid);
        }
    }
}

/// Returns the numbers and names of the processes that programs have left running: all but this
/// one, the kernel's, and the server of a ZFS pool.
pub fn left_running() -> Vec<(Pid, String)> {
    let own = std::process::id();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let of_program = |number: u32| {
        // A thread of the kernel has no command line.
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let name = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
        let name = name.trim().to_owned();
        let is_a_programs = !line.is_empty() && name != "zfs-fuse";
        let pid = i32::try_from(number).ok().and_then(Pid::from_raw)?;
        is_a_programs.then_some((pid, name))
    };
    numbers.filter(|number| *number > 1 && *number != own).filter_map(of_program).collect()
}

/// Describes the end of a program, as JSON.
pub(super) fn end(status: ExitStatus) -> String {
    let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    let status = u8::try_from(status).unwrap_or(u8::MAX);
    let end = CommandEnd { status, killed_for_memory: killed_for_memory() };
    serde_json::to_string(&end).expect("plain data")
}

/// Returns how many processes the guest's kernel has killed because its memory was full.
pub fn killed_for_memory() -> u64 {
    let counters = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let killed = counters.lines().find_map(|line| line.strip_prefix("oom_kill ")?.parse().ok());
    killed.unwrap_or(0)
}

/// Returns a command for a program, with the caller's directory and environment. The settings of
/// the C library are those for all processors if the caller has none.
///
/// The command has the program's full path: for a bare name with another environment the standard
/// library forks, which assay must not do in a guest (`guest/memory.rs` of `assay-engine`).
///
/// # Errors
/// If the guest has no such directory or program.
pub fn command(program: &str, caller: &Caller) -> Result<Command> {
    let directory = Path::new(&caller.directory);
    if !directory.is_dir() {
        let message = format!("there is no directory {} in a guest", directory.display());
        let hint = "call assay in another one: a guest has its own /run, /dev, /proc and /sys";
        return Err(Error::new("linux-command", message, hint));
    }
    let path = caller.environment.iter().find(|(name, _)| name == "PATH");
    let places = std::env::split_paths(path.map_or(DEFAULT_PATH, |(_, path)| path));
    let mut found = places.map(|place| directory.join(place).join(program));
    let found: Option<PathBuf> = match program.contains('/') {
        true => Some(directory.join(program)),
        false => found.find(|path| is_executable(path)),
    };
    let found = found.ok_or_else(|| no_program(program, ErrorKind::NotFound.into()))?;
    let mut command = match caller.user {
        None => {
            let mut command = Command::new(found);
            command.arg0(program);
            command
        }
        Some((user, group)) => {
            // The standard library would fork to change the user.
            let setpriv = tool_path(SETPRIV).ok_or_else(|| missing(SETPRIV, "util-linux"))?;
            let mut command = Command::new(setpriv);
            command.arg(format!("--reuid={user}")).arg(format!("--regid={group}"));
            command.args(["--init-groups", "--"]).arg(found);
            command
        }
    };
    command.current_dir(directory).env_clear().env(TUNABLES, ANY_PROCESSOR);
    command.envs(caller.environment.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// Returns `true` for a file that may be executed.
fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.mode() & 0o111 != 0)
}

/// The tool of util-linux that runs a program as another user.
const SETPRIV: &str = "setpriv";

/// Where programs are if the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/bin:/bin";
