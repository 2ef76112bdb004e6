//! Child processes: programs of this machine that assay runs.
//!
//! A child ends before assay does, or with it. It does not get the user's environment, because
//! `GIT_DIR`, `TAR_OPTIONS`, `KBUILD_OUTPUT` and the like name files to write.

use crate::error::{Error, Result};
use crate::kernel::{missing, tool_path};
use crate::socket_io;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, test_kill_process_group,
};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// The time between two questions whether a program is to be stopped.
const OFTEN: Duration = Duration::from_millis(10);

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

/// The shell script that starts a watcher and becomes the program that its arguments name. Standard
/// input must be a pipe of assay's, which closes when assay ends, however it ends; the watcher then
/// kills the process group. The watcher is no child of the program, which may not expect one.
pub(crate) const WATCHED: &str = r#"
exec 3<&0 </dev/null
({ read -r _; kill -KILL 0; } <&3 &)
exec "$@" 3<&-
"#;

/// Returns a command for a program of this machine as [`tool`] does. The program and what it starts
/// end even if assay is killed.
pub(crate) fn watched_tool(program: &str) -> Command {
    let mut command = tool("sh");
    command.args(["-c", WATCHED, "sh"]).arg(tool_path(program).unwrap_or_else(|| program.into()));
    command.stdin(Stdio::piped());
    command
}

/// Runs a program with short output to its end and returns the output, which is kept in memory.
/// Kills the program if it runs longer than `most`, writes more than a mebibyte, or `stop` returns
/// `true`.
///
/// # Errors
/// If the program cannot be started, or was killed (`TimedOut`).
pub fn brief(command: &mut Command, most: Duration, stop: fn() -> bool) -> std::io::Result<Output> {
    const LONGEST: u64 = 1 << 20;
    let begun = Instant::now();
    output(command, |length| stop() || begun.elapsed() > most || length > LONGEST)
}

/// Runs a program to its end and returns its output, which is kept in memory. Kills the program if
/// `stop` returns `true` for the number of bytes that it has written to stdout or stderr.
///
/// # Errors
/// If the program cannot be started, or was killed (`TimedOut`).
pub fn output(command: &mut Command, stop: impl Fn(u64) -> bool) -> std::io::Result<Output> {
    let memory = || -> std::io::Result<File> {
        Ok(memfd_create("assay-output", MemfdFlags::CLOEXEC)?.into())
    };
    let mut said = [memory()?, memory()?];
    command.stdout(said[0].try_clone()?).stderr(said[1].try_clone()?);
    let length = |file: &File| file.metadata().map_or(0, |metadata| metadata.len());
    let status = Group::start(command)?.wait(|| stop(length(&said[0]).max(length(&said[1]))))?;
    let mut texts = [Vec::new(), Vec::new()];
    for (file, text) in said.iter_mut().zip(&mut texts) {
        file.rewind()?;
        file.read_to_end(text)?;
    }
    let [stdout, stderr] = texts;
    Ok(Output { status, stdout, stderr })
}

/// Runs a program to its end; `write` writes its stdin. Returns its status and the result of
/// `write`. Kills the program if `stop` returns `true`. Without `stop` it only waits, so
/// that a guest's time is the program's alone.
///
/// # Errors
/// If the program cannot be started, or was killed (`TimedOut`).
pub fn feed<T>(
    command: &mut Command,
    stop: Option<fn() -> bool>,
    write: impl FnOnce(&mut Input) -> std::io::Result<T>,
) -> std::io::Result<(ExitStatus, std::io::Result<T>)> {
    command.stdin(Stdio::piped());
    let Some(asked) = stop else {
        let mut child = command.spawn()?;
        let wrote = write(&mut Input::of(&mut child, stop));
        return Ok((child.wait()?, wrote));
    };
    let mut group = Group::start(command)?;
    let mut input = Input::of(&mut group.0, stop);
    fcntl_setfl(&input.pipe, OFlags::NONBLOCK)?;
    let wrote = write(&mut input);
    drop(input);
    Ok((group.wait(asked)?, wrote))
}

/// The stdin of a program that [`feed`] runs. A write fails if the program is to be stopped.
pub struct Input {
    /// The end to write to, which does not block if there is `stop`.
    pipe: ChildStdin,
    stop: Option<fn() -> bool>,
}

impl Input {
    fn of(child: &mut Child, stop: Option<fn() -> bool>) -> Input {
        Input { pipe: child.stdin.take().expect("it was asked for"), stop }
    }
}

impl Write for Input {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        loop {
            match self.pipe.write(bytes) {
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                written => return written,
            }
            if self.stop.is_some_and(|stop| stop()) {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            let mut polled = [PollFd::new(&self.pipe, PollFlags::OUT)];
            // If this fails, the next write says why.
            let _ = poll(&mut polled, Some(&Timespec::try_from(OFTEN).expect("a short time")));
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.pipe.flush()
    }
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

    /// Waits until the program ends, or kills it if `stop` returns `true` (`TimedOut`).
    fn wait(mut self, stop: impl Fn() -> bool) -> std::io::Result<ExitStatus> {
        let process = self.process()?;
        while !socket_io::is_ready_within(OFTEN, process.as_fd()) {
            if stop() {
                self.kill();
                return Err(std::io::ErrorKind::TimedOut.into());
            }
        }
        self.0.wait()
    }

    /// Kills the program and the processes that it has started, and waits until they have ended, so
    /// that they write nothing more. Waits a second at most for the other processes: they stay in
    /// the table if nobody takes their status.
    fn kill(&mut self) {
        let Some(group) = Pid::from_raw(self.0.id() as i32) else { return };
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.0.wait();
        let begun = Instant::now();
        while test_kill_process_group(group).is_ok() && begun.elapsed() < Duration::from_secs(1) {
            std::thread::sleep(OFTEN);
        }
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
    command.stdout(file).stderr(twin);
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
