//! Child processes: programs of this machine that assay runs.
//!
//! A child ends before assay does, or with it. It does not get the user's environment, because
//! `GIT_DIR`, `TAR_OPTIONS`, `KBUILD_OUTPUT` and the like name files to write.

use crate::error::{Error, Result};
use crate::kernel::{missing, tool_path};
use crate::socket_io;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Returns a command for a program of this machine. Of the environment it gets only `PATH`, `HOME`
/// and `TMPDIR`.
///
/// The command has the program's full path: for a bare name with another environment the standard
/// library forks, which assay must not do in a guest (`guest/memory.rs` of `assay-engine`).
pub fn tool(program: impl AsRef<OsStr>) -> Command {
    let name = program.as_ref();
    let mut command = Command::new(tool_path(name).as_deref().map_or(name, Path::as_os_str));
    command.env_clear().env("LC_ALL", "C");
    for key in ["PATH", "HOME", "TMPDIR"] {
        if let Some(value) = std::env::var_os(key) {
            command.env(key, value);
        }
    }
    command
}

/// Runs a program with short output to its end and returns the output, which is kept in memory.
/// Kills the program if it runs longer than `most`, writes more than a mebibyte, or `stop` returns
/// `true`.
///
/// # Errors
/// If the program cannot be started, or was killed (`TimedOut`).
pub fn brief(command: &mut Command, most: Duration, stop: fn() -> bool) -> std::io::Result<Output> {
    const OFTEN: Duration = Duration::from_millis(10);
    const LONGEST: u64 = 1 << 20;
    let memory = || -> std::io::Result<File> {
        Ok(memfd_create("assay-output", MemfdFlags::CLOEXEC)?.into())
    };
    let mut said = [memory()?, memory()?];
    command.stdout(said[0].try_clone()?).stderr(said[1].try_clone()?);
    let begun = Instant::now();
    let mut group = Group::start(command)?;
    let process = group.process()?;
    let length = |file: &File| file.metadata().map_or(0, |metadata| metadata.len());
    while !socket_io::is_ready_within(OFTEN, process.as_fd()) {
        if stop() || begun.elapsed() > most || said.iter().any(|file| length(file) > LONGEST) {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
    }
    let status = group.0.wait()?;
    let mut texts = [Vec::new(), Vec::new()];
    for (file, text) in said.iter_mut().zip(&mut texts) {
        file.rewind()?;
        file.take(LONGEST).read_to_end(text)?;
    }
    let [stdout, stderr] = texts;
    Ok(Output { status, stdout, stderr })
}

/// A program in a process group of its own, which is killed when the value is dropped.
pub(crate) struct Group(Child);

impl Group {
    /// Starts the program in a new process group.
    pub(crate) fn start(command: &mut Command) -> std::io::Result<Group> {
        command.process_group(0).spawn().map(Group)
    }

    /// Returns a descriptor that becomes readable when the program ends.
    pub(crate) fn process(&self) -> std::io::Result<OwnedFd> {
        let pid = Pid::from_raw(self.0.id() as i32).expect("a process has a number");
        Ok(pidfd_open(pid, PidfdFlags::empty())?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.0.id() as i32) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// Runs a program to its end, with all its output in the file `said`. Calls `meanwhile` every
/// 100 ms.
///
/// # Errors
/// If the program cannot be started, or `stop` returns `true`, which kills it.
pub(crate) fn run(
    command: &mut Command,
    said: &Path,
    stop: fn() -> bool,
    mut meanwhile: impl FnMut(),
) -> Result<ExitStatus> {
    const OFTEN: Duration = Duration::from_millis(100);
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |e| Error::system(&format!("`{name}`"), e);
    let file = File::create(said).map_err(failed)?;
    let twin = file.try_clone().map_err(failed)?;
    command.stdin(Stdio::null()).stdout(file).stderr(twin);
    let mut group = Group::start(command).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => missing(&name, &name),
        _ => failed(e),
    })?;
    let process = group.process().map_err(failed)?;
    while !socket_io::is_ready_within(OFTEN, process.as_fd()) {
        if stop() {
            return Err(Error::stopped());
        }
        meanwhile();
    }
    group.0.wait().map_err(failed)
}
