//! Other programs that are run: they end before this one does or with it, and do not get the user's
//! environment, because `GIT_DIR`, `TAR_OPTIONS`, `KBUILD_OUTPUT` and the like name files to write.

use crate::error::{Error, Result};
use crate::kernel::missing;
use crate::wire;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Returns a command for a program of this machine, with no variables of the environment but those
/// that say where programs, the user's own files and temporary files are.
pub fn tool(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LC_ALL", "C");
    for key in ["PATH", "HOME", "TMPDIR"] {
        if let Some(value) = std::env::var_os(key) {
            command.env(key, value);
        }
    }
    command
}

/// A program in a process group of its own, which is killed when the value is dropped.
pub(crate) struct Group(Child);

impl Group {
    /// Starts the program.
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

/// Runs a program to its end, with all its output in the file `said`; calls `meanwhile` regularly.
///
/// # Errors
/// If it cannot be started, or `stop` returns `true`.
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
    while !wire::is_ready_within(OFTEN, process.as_fd()) {
        if stop() {
            return Err(Error::stopped());
        }
        meanwhile();
    }
    group.0.wait().map_err(failed)
}
