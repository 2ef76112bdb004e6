//! Tools for work in a guest: runs programs, makes directories, writes to files of the kernel.

use crate::error::{Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::process::{Command, Stdio};

/// The device with the page of the kernel's clock: the time, the time that the processor has
/// worked, and the counts of system calls, moved bytes and page faults (`work.patch`). The kernel's
/// work takes time after a program has written `1` to the device, until one writes `0`.
pub const CLOCK: &str = "/dev/virtual-time";
/// The mount point of the directory that the guest shares with the host.
pub const SHARED: &str = "/run/shared";
/// The mount point of the file system under test.
pub const MOUNT: &str = "/run/mnt";

/// Runs a tool of this machine to its end.
///
/// # Errors
/// If the tool is missing or fails; the message has the last lines of its output.
pub fn run(tool: &str, words: &[&str]) -> Result<()> {
    let mut command = Command::new(tool);
    command.args(words).stdin(Stdio::null());
    let output = command.output().map_err(|_| crate::kernel::missing(tool, package(tool)))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    let last: Vec<&str> = said.iter().flat_map(|s| s.lines()).collect();
    let last = last[last.len().saturating_sub(4)..].join("; ");
    let message = format!("`{tool} {}` failed: {last}", words.join(" "));
    let hint = match last.contains("error while loading shared libraries") {
        true => {
            "install the library in a standard directory: in a guest, the dynamic linker of \
                 tools looks nowhere else"
        }
        false if tool == "tar" => "give the guest more memory, and `TMPDIR` more free space",
        false => "check the options of the file system, `mkfs=` and `mount=`, in the target",
    };
    Err(Error::new("linux-tool", message, hint))
}

/// Returns the Debian package of a tool.
fn package(tool: &str) -> &'static str {
    match tool {
        "mdadm" => "mdadm",
        "mkfs.btrfs" => "btrfs-progs",
        "mkfs.xfs" => "xfsprogs",
        "mkfs.jfs" => "jfsutils",
        "mkfs.nilfs2" => "nilfs-tools",
        "mkfs.reiserfs" => "reiserfsprogs",
        "mkfs.f2fs" => "f2fs-tools",
        "zfs-fuse" | "zpool" | "zfs" => "zfs-fuse",
        "mount" | "umount" => "mount",
        "tar" => "tar",
        _ => "e2fsprogs",
    }
}

pub(super) fn no_program(program: &str, e: std::io::Error) -> Error {
    let hint = "check that the program exists on this machine: a guest sees the same programs \
                under the same paths";
    Error::new("linux-command", format!("`{program}` cannot be run"), hint).caused_by(e)
}

/// Kills a process and waits for its end, because until then it may keep files open.
///
/// # Errors
/// If there is no such process, or it does not end within a minute.
pub(super) fn end_process(id: Pid) -> rustix::io::Result<()> {
    const LONGEST: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };
    let process = pidfd_open(id, PidfdFlags::empty())?;
    pidfd_send_signal(&process, Signal::KILL)?;
    match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&LONGEST))? {
        0 => Err(Errno::TIMEDOUT),
        _ => Ok(()),
    }
}

/// Writes dirty pages back, and drops clean ones and other caches.
///
/// # Errors
/// If the kernel has no `/proc/sys/vm/drop_caches`.
pub fn drop_caches() -> Result<()> {
    rustix::fs::sync();
    write("/proc/sys/vm/drop_caches", "3\n")
}

/// Lets the kernel's work take time, if `processor=` is given, or no time. It takes none while the
/// machine's own tools and this program are loaded, because how much work that is depends on their
/// builds, on the libraries beside them and on the processor.
pub(super) fn work_takes_time(takes: bool) -> Result<()> {
    write(CLOCK, if takes { "1" } else { "0" })
}

/// Lets the kernel's work take time from now on. A task begins with this when it has been read, so
/// that neither its text nor the way in which this program reads it moves the time at which it
/// begins.
///
/// # Errors
/// If the kernel has no virtual clock.
pub fn start_work() -> Result<()> {
    work_takes_time(true)
}

pub(super) fn make(directory: &str) -> Result<()> {
    fs::create_dir_all(directory).map_err(|e| Error::system(directory, e))
}

pub(super) fn write(path: &str, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| Error::system(path, e))
}
