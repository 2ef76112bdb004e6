//! What assay does in a guest: it mounts what a job needs, makes the array and the file system, and
//! does the job.
//!
//! Runs inside the guest, started by its first program (`init.c`). The machine's own tools are
//! there, read-only, under the same names.

mod shell;
mod storage;
mod tmp;

use crate::boot::{JOB, RESULT, SHARED_BY_HOST};
use crate::error::{Error, Result};
use assay_spec::Nanos;
use rustix::mount::{MountFlags, mount};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Where the file system is mounted, or the device's link is.
pub const MOUNT: &str = "/run/mnt";
/// Where the guest's directory on the host is.
pub const SHARED: &str = "/run/shared";

/// What a guest sends round: what time it is there, in ns, and in the last bits what for. While it
/// computes and sleeps freely nobody else knows its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Signal {
    /// Drives need not be watched any more.
    Unwatch = 0,
    /// Drives are to be watched from now on.
    Watch = 1,
    /// Only the time.
    Time = 2,
}

impl Signal {
    const BITS: u64 = 2;

    /// Reads what was sent.
    pub fn parse(message: u64) -> (Signal, Nanos) {
        let signal = match message & ((1 << Self::BITS) - 1) {
            0 => Signal::Unwatch,
            1 => Signal::Watch,
            _ => Signal::Time,
        };
        (signal, Nanos(message >> Self::BITS << Self::BITS))
    }

    /// Sends it, from inside the guest.
    ///
    /// # Errors
    /// If the kernel has no clock of this kind.
    pub fn send(self) -> Result<()> {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        let message = now >> Self::BITS << Self::BITS | self as u64;
        write("/sys/kernel/um-ext-time/bc-message", &message.to_string())
    }
}

/// What a guest is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// What it does it on.
    pub storage: StorageSetup,
    /// What.
    pub task: Task,
    /// Whether the guest sees what is in the host's `/tmp`; [`Job::text`] sets it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shows_tmp: bool,
}

impl Job {
    /// What is to be done.
    pub fn new(storage: StorageSetup, task: Task) -> Job {
        Job { storage, task, shows_tmp: false }
    }

    /// The job as the guest reads it.
    pub fn text(&self) -> String {
        let shows_tmp = tmp::is_wanted(self);
        serde_json::to_string(&Job { shows_tmp, ..self.clone() }).expect("plain data")
    }
}

/// What is to be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Task {
    /// A command and its words; what it says goes into `stdout` and `stderr` of the guest's
    /// directory, its exit status is the result.
    Command(Vec<String>),
    /// A shell for somebody at a terminal, which is the guest's last drive.
    Shell(Terminal),
    /// Something that the program that runs it knows.
    Own(String),
}

/// What a terminal is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Terminal {
    /// As `TERM` names it.
    pub kind: String,
    /// Lines and letters a line.
    pub size: (u16, u16),
}

/// Drives, array and file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageSetup {
    /// For each drive, whether it turns.
    pub rotational: Vec<bool>,
    /// The elevator before each drive; none if not said.
    pub scheduler: Option<String>,
    /// Read-ahead of what the job works on, in KiB; the kernel's own if not said.
    pub readahead_kib: Option<u64>,
    /// The array the drives make.
    pub array: Option<MdSetup>,
    /// The file system on them.
    pub filesystem: Option<FilesystemSetup>,
}

/// An array of the kernel's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MdSetup {
    /// As `mdadm --level` takes it.
    pub level: String,
    /// In KiB, where the level has chunks.
    pub chunk_kib: Option<u64>,
    /// So many of its drives are not there.
    pub missing: u32,
}

/// A file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesystemSetup {
    /// As `mount -t` takes it.
    pub kind: String,
    /// More words for `mkfs`.
    pub mkfs: Vec<String>,
    /// For `mount -o`.
    pub mount: String,
}

/// What the guest leaves.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum GuestOutcome {
    /// What the task came to.
    Done(String),
    /// What went wrong, and the advice.
    Failed(String, String),
}

/// Where a task works.
#[derive(Clone, Debug)]
pub struct Place {
    /// The device: a drive, or the array of all.
    pub device: PathBuf,
    /// Where its file system is mounted, if it has one.
    pub directory: Option<PathBuf>,
    filesystem: Option<FilesystemSetup>,
}

impl Place {
    /// Unmounts, forgets what is cached, and mounts again: what is read then comes from the drives.
    ///
    /// # Errors
    /// If a tool fails.
    pub fn remount(&self) -> Result<()> {
        if let Some(filesystem) = &self.filesystem {
            if filesystem.kind == "zfs" {
                storage::leave_pool()?;
                return storage::return_to_pool();
            }
            run("umount", &[MOUNT])?;
            drop_caches()?;
            return storage::mount_filesystem(filesystem, &self.device);
        }
        drop_caches()
    }
}

/// Writes back what is dirty and forgets what is clean.
///
/// # Errors
/// If the kernel has no `/proc/sys/vm/drop_caches`.
pub fn drop_caches() -> Result<()> {
    rustix::fs::sync();
    write("/proc/sys/vm/drop_caches", "3\n")
}

/// Does the job and leaves its result; `settle` comes before everything else.
pub fn main(
    settle: fn() -> std::io::Result<()>,
    work: impl FnOnce(&str, &Place) -> Result<String>,
) {
    let settled = settle().map_err(|e| Error::system("the program's memory", e));
    let left = match settled.and_then(|()| mounts()).and_then(|()| job(work)) {
        Ok(done) => GuestOutcome::Done(done),
        Err(e) => GuestOutcome::Failed(e.to_string(), e.hint),
    };
    let text = serde_json::to_string(&left).expect("plain data");
    if fs::write(Path::new(SHARED).join(RESULT), &text).is_err() {
        // The host says that there is no result, and what is on the console.
        eprintln!("{text}");
    }
}

fn mounts() -> Result<()> {
    let at = |kind: &str, place: &str, options: &str| -> Result<()> {
        let options = std::ffi::CString::new(options).expect("no zero in it");
        mount(kind, place, kind, MountFlags::empty(), options.as_c_str())
            .map_err(|e| Error::system(&format!("{kind} at {place}"), e.into()))
    };
    at("proc", "/proc", "")?;
    at("sysfs", "/sys", "")?;
    at("tmpfs", "/run", "")?;
    at("tmpfs", "/tmp", "")?;
    for place in [MOUNT, SHARED, "/dev/shm", "/dev/mqueue", "/run/lock"] {
        make(place)?;
    }
    at("tmpfs", "/dev/shm", "")?;
    at("mqueue", "/dev/mqueue", "")?;
    at("hostfs", SHARED, SHARED_BY_HOST)
}

fn make(directory: &str) -> Result<()> {
    fs::create_dir_all(directory).map_err(|e| Error::system(directory, e))
}

fn write(path: &str, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| Error::system(path, e))
}

fn job(work: impl FnOnce(&str, &Place) -> Result<String>) -> Result<String> {
    let path = Path::new(SHARED).join(JOB);
    let text = fs::read_to_string(&path).map_err(|e| Error::system("the job", e))?;
    let job: Job = serde_json::from_str(&text).map_err(|e| Error::system("the job", e.into()))?;
    if job.shows_tmp {
        tmp::show()?;
    }
    let place = storage::prepare(&job.storage)?;
    let done = match &job.task {
        Task::Command(words) => command(words)?,
        Task::Shell(terminal) => shell::run(terminal, job.storage.rotational.len())?,
        Task::Own(task) => work(task, &place)?,
    };
    match &place.filesystem {
        Some(filesystem) if filesystem.kind == "zfs" => storage::leave_pool()?,
        // A job may have unmounted it itself.
        Some(_) => drop(run("umount", &[MOUNT])),
        None => {}
    }
    if job.storage.array.is_some() {
        stop_array()?;
    }
    Signal::Time.send()?;
    Ok(done)
}

/// Stops the array. A ring lets go of its files a little after its program has closed it; until
/// then the file system on the array cannot be unmounted.
fn stop_array() -> Result<()> {
    const TRIES: u32 = 100;
    for _ in 0..TRIES {
        if run("mdadm", &["--stop", "--scan"]).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
        // It may be unmounted, by the job or by the try before.
        drop(run("umount", &[MOUNT]));
    }
    run("mdadm", &["--stop", "--scan"])
}

/// Runs a command to its end; returns its exit status, 128 and the signal if it was killed.
fn command(words: &[String]) -> Result<String> {
    let shared = Path::new(SHARED);
    let file = |name: &str| {
        fs::File::create(shared.join(name)).map_err(|e| Error::system("the command's output", e))
    };
    let (program, rest) = words.split_first().expect("the command line wants one");
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).stdout(file("stdout")?).stderr(file("stderr")?);
    let status = command.current_dir("/run").status().map_err(|e| no_program(program, e))?;
    Ok(exit_status(status))
}

fn no_program(program: &str, e: std::io::Error) -> Error {
    let hint = "the guest has the programs of this machine, under the same paths";
    Error::new("linux-command", format!("`{program}` cannot be run"), hint).caused_by(e)
}

fn exit_status(status: std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)).to_string()
}

/// Runs a tool of the machine's to its end.
///
/// # Errors
/// If it is not there or fails, with what it said.
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
    Err(Error::new("linux-tool", message, "the options come from the target as it is written"))
}

/// Debian's package of a tool.
fn package(tool: &str) -> &'static str {
    match tool {
        "mdadm" => "mdadm",
        "mkfs.btrfs" => "btrfs-progs",
        "mkfs.xfs" => "xfsprogs",
        "mkfs.jfs" => "jfsutils",
        "mkfs.nilfs2" => "nilfs-tools",
        "mkfs.reiserfs" => "reiserfsprogs",
        "mkfs.f2fs" => "f2fs-tools",
        "zfs-fuse" | "zpool" => "zfs-fuse",
        "pkill" => "procps",
        "mount" | "umount" => "mount",
        _ => "e2fsprogs",
    }
}
