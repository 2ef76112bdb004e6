//! The part of assay that runs in a guest: mounts file systems, makes the array and the file system
//! of the job, and does the job.
//!
//! The guest's first program (`init.c`) starts it. The guest has the tools of this machine,
//! read-only, under the same paths.

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

/// The mount point of the file system under test.
pub const MOUNT: &str = "/run/mnt";
/// The mount point of the directory that the guest shares with the host.
pub const SHARED: &str = "/run/shared";

/// A signal that a guest broadcasts with its clock's protocol. The number sent is the guest's time
/// in ns with the signal in the last two bits: while the guest runs freely, the host does not know
/// its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Signal {
    /// The end of the time in which drives are watched.
    Unwatch = 0,
    /// The begin of the time in which drives are watched.
    Watch = 1,
    /// The time alone.
    Time = 2,
}

impl Signal {
    const BITS: u64 = 2;

    /// Splits a number that was sent into the signal and the time, whose last two bits are zero.
    pub fn parse(message: u64) -> (Signal, Nanos) {
        let signal = match message & ((1 << Self::BITS) - 1) {
            0 => Signal::Unwatch,
            1 => Signal::Watch,
            _ => Signal::Time,
        };
        (signal, Nanos(message >> Self::BITS << Self::BITS))
    }

    /// Sends the signal. Called in the guest.
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

/// The job of a guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The drives, the array and the file system.
    pub storage: StorageSetup,
    /// The task.
    pub task: Task,
    /// Whether the guest sees the files of the host's `/tmp`. [`Job::text`] sets this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shows_tmp: bool,
}

impl Job {
    /// Creates a job.
    pub fn new(storage: StorageSetup, task: Task) -> Job {
        Job { storage, task, shows_tmp: false }
    }

    /// Returns the job as JSON, which the guest reads.
    pub fn text(&self) -> String {
        let shows_tmp = tmp::is_wanted(self);
        serde_json::to_string(&Job { shows_tmp, ..self.clone() }).expect("plain data")
    }
}

/// The task of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Task {
    /// A command: program and arguments. Its output goes to the files `stdout` and `stderr` in the
    /// shared directory; its exit status is the result.
    Command(Vec<String>),
    /// A shell for a user at the console, which is the guest's last drive.
    Shell(Terminal),
    /// A task of the caller's, which the `work` function of [`main`] interprets.
    Own(String),
}

/// The user's terminal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Terminal {
    /// The terminal type, as in `TERM`.
    pub kind: String,
    /// The numbers of rows and columns.
    pub size: (u16, u16),
}

/// The drives of a guest, and the array and the file system on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageSetup {
    /// For each drive, whether it is a rotating disk.
    pub rotational: Vec<bool>,
    /// The I/O scheduler of each drive. `None` is the scheduler `none`.
    pub scheduler: Option<String>,
    /// The read-ahead of the job's device, in KiB. `None` is the kernel's default.
    pub readahead_kib: Option<u64>,
    /// The array of the drives. Without one, the job uses the first drive.
    pub array: Option<MdSetup>,
    /// The file system on the array or drive.
    pub filesystem: Option<FilesystemSetup>,
}

/// An array of the kernel's md driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MdSetup {
    /// The level, as `mdadm --level` takes it, or `01` for a mirror of two stripes.
    pub level: String,
    /// The chunk size in KiB, for levels with chunks.
    pub chunk_kib: Option<u64>,
    /// The number of drives that are missing from the array.
    pub missing: u32,
}

/// A file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesystemSetup {
    /// The type, as `mount -t` takes it, or `zfs`.
    pub kind: String,
    /// Additional arguments for `mkfs` (for ZFS, for `zpool create`).
    pub mkfs: Vec<String>,
    /// The options for `mount -o`; empty for none.
    pub mount: String,
}

/// The guest's result, which it writes to the shared directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum GuestOutcome {
    /// The result of the task.
    Done(String),
    /// An error: the message and the hint.
    Failed(String, String),
}

/// The device and the directory that a task works on.
#[derive(Clone, Debug)]
pub struct Place {
    /// The device: the first drive, or the array of all.
    pub device: PathBuf,
    /// The mount point of its file system, if it has one.
    pub directory: Option<PathBuf>,
    filesystem: Option<FilesystemSetup>,
}

impl Place {
    /// Unmounts the file system, drops all caches, and mounts it again, so that reads then go to
    /// the drives. Without a file system, only drops the caches.
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

/// Writes dirty pages back, and drops clean ones and other caches.
///
/// # Errors
/// If the kernel has no `/proc/sys/vm/drop_caches`.
pub fn drop_caches() -> Result<()> {
    rustix::fs::sync();
    write("/proc/sys/vm/drop_caches", "3\n")
}

/// Does the job and writes its result to the shared directory. First calls `settle`, which prepares
/// the program's memory. `work` does a task of the caller's ([`Task::Own`]).
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
        // The host then reports a missing result, with the last lines of the console.
        eprintln!("{text}");
    }
}

/// Mounts the guest's own file systems and the shared directory.
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
        // The job may have unmounted it already.
        Some(_) => drop(run("umount", &[MOUNT])),
        None => {}
    }
    if job.storage.array.is_some() {
        stop_array()?;
    }
    Signal::Time.send()?;
    Ok(done)
}

/// Stops the array. Tries for a second, because an io_uring releases its files a little after its
/// program has closed it; until then the file system on the array cannot be unmounted.
fn stop_array() -> Result<()> {
    const TRIES: u32 = 100;
    for _ in 0..TRIES {
        if run("mdadm", &["--stop", "--scan"]).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
        // This fails if the job or an earlier try has unmounted it.
        drop(run("umount", &[MOUNT]));
    }
    run("mdadm", &["--stop", "--scan"])
}

/// Runs a command to its end. Returns its exit status, or 128 plus the signal that killed it.
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
    Err(Error::new("linux-tool", message, "the options come from the target as it is written"))
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
        "zfs-fuse" | "zpool" => "zfs-fuse",
        "pkill" => "procps",
        "mount" | "umount" => "mount",
        _ => "e2fsprogs",
    }
}
