//! The job of a guest, as the host describes it.

use serde::{Deserialize, Serialize};

/// The job of a guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The drives, the array and the file system.
    pub storage: StorageSetup,
    /// The task.
    pub task: Task,
    /// Whether the task runs programs of the user's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs_programs: bool,
    /// Whether the changes of the host's files, which are in the guest's memory, are packed into
    /// the archive `CHANGES` of the shared directory at the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_changes: bool,
    /// Whether the guest may change the host's files in its memory, and sees those in `/tmp`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_overlay: bool,
}

impl Job {
    /// Creates a job.
    pub fn new(storage: StorageSetup, task: Task) -> Job {
        let runs_programs = !matches!(task, Task::Own(_));
        let has_overlay = runs_programs;
        Job { storage, task, runs_programs, keeps_changes: false, has_overlay }
    }

    /// Returns the job as one whose task runs programs of the user's.
    #[must_use]
    pub fn with_programs(self) -> Job {
        Job { runs_programs: true, has_overlay: true, ..self }
    }

    /// Returns the job as one whose task reads files of the host, which may be in `/tmp`.
    #[must_use]
    pub fn with_host_files(self) -> Job {
        Job { has_overlay: true, ..self }
    }

    /// Returns the job as JSON, which the guest reads.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("plain data")
    }
}

/// The task of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Task {
    /// A command: program and arguments. Its output goes to the files `stdout` and `stderr` in the
    /// shared directory; its exit status is the result.
    Command(Vec<String>, Caller),
    /// A shell for a user at the console, which is the guest's last drive.
    Shell(Terminal, Caller),
    /// A task of the caller's, which the `work` function of [`main`](super::main) does.
    Own(String),
}

/// What a program of the user's finds around it, as on the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Caller {
    /// The directory in which it starts.
    pub directory: String,
    /// The names and values of its environment.
    pub environment: Vec<(String, String)>,
    /// The numbers of the user and of the group that it runs as. `None` is root.
    pub user: Option<(u32, u32)>,
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
    /// The size of the largest request that the kernel sends to a drive, in KiB. `None` is the
    /// kernel's default.
    pub max_request_kib: Option<u64>,
    /// Settings of the kernel: their names in `/proc/sys`, with `.` for `/`, and their values.
    pub sysctl: Vec<(String, String)>,
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

/// How the user's command or shell ended, which is the result of its task, as JSON.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CommandEnd {
    /// The exit status, or 128 plus the signal that killed it.
    pub status: u8,
    /// The number of processes that the guest's kernel killed because its memory was full.
    pub killed_for_memory: u64,
}

/// The guest's result, which it writes to the shared directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum GuestOutcome {
    /// The result of the task.
    Done(String),
    /// An error: the message and the hint.
    Failed(String, String),
}
