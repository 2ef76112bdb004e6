//! The errors of this crate, as the user sees them.

use crate::vhost::message::Malformed;
use assay_spec::Nanos;
use std::fmt;
use std::time::Duration;

/// An error: what happened, and what to do next.
#[derive(Debug)]
pub struct Error {
    /// A stable name, e.g. `linux-silent`, for `assay explain`.
    pub id: &'static str,
    /// What happened, to what.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// The cause, where the system gave one.
    pub source: Option<std::io::Error>,
}

/// The texts of `assay explain`, by error id.
pub const EXPLANATIONS: &[(&str, &str)] = &[
    (
        "linux-asleep",
        "The guest waits, no drive has anything to do, and no timer is set, so nothing will ever \
         happen. The cause is a program that waits for input, or two programs that wait for each \
         other.",
    ),
    (
        "linux-build",
        "A step of building the kernel failed. A build needs a compiler, 3 GB of room in the cache \
         directory, and about ten minutes.",
    ),
    (
        "linux-busy",
        "Another build has locked the cache directory. It will put its kernel there; only one \
         build runs in a cache directory at a time.",
    ),
    (
        "linux-checksum",
        "The source given with `--source` is not the pinned version. Results belong to one kernel, \
         so assay takes another source only from apt, which has checked its signature.",
    ),
    ("linux-command", "The guest has no such program. It sees this machine's files."),
    (
        "linux-ended",
        "The kernel ended without a result; the message quotes its last lines. Perhaps something \
         killed it, or there is too little memory.",
    ),
    ("linux-guest", "Something failed inside the guest, in its tools or its file system."),
    (
        "linux-limit",
        "The guest ran longer than its limit of virtual time. Virtual time is cheap: a program \
         that waits for ever soon reaches the limit.",
    ),
    (
        "linux-image",
        "The file given with `--image` cannot be the contents of that drive. It cannot be used, \
         has another size, is no plain file, or another guest is using it. Nothing was written.",
    ),
    (
        "linux-image-lost",
        "When the guest had ended, assay could not write all of the guest's data to the disk under \
         its image: that disk failed, or its file system is full. Or somebody removed, replaced or \
         cut the image while the guest ran. What the image holds now is unknown.",
    ),
    (
        "linux-in-the-way",
        "Something that assay did not put there is in the kernel's place. The kernel's directory \
         holds only the files `linux`, `init` and `identity`. assay has removed nothing.",
    ),
    (
        "linux-lost",
        "assay keeps what a guest writes to a modelled drive in memory or in an image. There was \
         no room for it, or it could not be read, so assay ended the guest. An image holds what \
         the guest wrote before.",
    ),
    (
        "linux-machine",
        "The kernel for virtual time runs on x86-64 Linux with /proc, on processors whose \
         registers fit into its buffer.",
    ),
    ("linux-no-cache", "assay keeps the kernel in the user's cache directory, and there is none."),
    (
        "linux-no-ptrace",
        "User-Mode Linux runs the guest's processes with `ptrace`, and this machine forbids it.",
    ),
    ("linux-no-source", "assay could neither fetch nor read the kernel's source."),
    ("linux-no-tool", "A program that assay needs is not installed on this machine."),
    (
        "linux-not-built",
        "`linux(…)` needs a kernel that `assay linux build` has built, for this version of assay. \
         Root needs one that no other user may change.",
    ),
    (
        "linux-program",
        "assay itself measures in a guest: the host lays this program out in memory. That works \
         only with a position-independent ELF program for x86-64, which `cargo build` makes.",
    ),
    (
        "changes-not-kept",
        "The command in the guest has ended, but the archive of its changed files could not \
         be written. Its output, its exit status and the log of its drives are complete.",
    ),
    (
        "linux-protocol",
        "The kernel sent its drive or its clock a message that no kernel of the recipe sends. \
         assay ended the guest and keeps none of its measurements.",
    ),
    (
        "linux-silent",
        "The guest computed while its clock stood still, because a program's own work takes none. \
         A loop that spins never ends.",
    ),
    (
        "linux-setting",
        "`sysctl=` named a setting that the guest's kernel does not have, or a value that it does \
         not accept. The guest's kernel has fewer parts than yours, and so fewer settings.",
    ),
    ("linux-source", "The kernel's source differs from the one that the recipe changes."),
    ("linux-stopped", "You stopped the guest, or the build of its kernel, with Ctrl-C."),
    (
        "linux-room",
        "A guest's memory is a sparse file in /dev/shm, or in /tmp if there is no /dev/shm. assay \
         does not start the guest if that file could not be filled. Containers often have only 64 \
         MiB in /dev/shm.",
    ),
    ("linux-system", "The system refused something that a guest needs."),
    ("linux-tool", "A tool failed in the guest. Its options come from the target as you wrote it."),
    (
        "program-failed",
        "The `setup` or the `command` of a workload ended with an error; the message has the last \
         lines that it printed. Both run in a guest as `sh -e -c`, which stops at the first \
         command that fails, in the directory of the file system.",
    ),
    (
        "program-output",
        "The command of a workload ended well, but did not print a number where the `pattern` or \
         the `json` of a metric says.",
    ),
];

/// The result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error without a cause.
    pub fn new(id: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error { id, message: message.into(), hint: hint.into(), source: None }
    }

    /// Adds the system's error as the cause.
    #[must_use]
    pub fn caused_by(mut self, source: std::io::Error) -> Error {
        self.source = Some(source);
        self
    }

    /// Creates the error for `what`, which the system refused.
    pub(crate) fn system(what: &str, e: std::io::Error) -> Error {
        let message = format!("{what}: the system does not allow it");
        Error::new("linux-system", message, "check with `assay linux status` what is missing")
            .caused_by(e)
    }

    /// Creates the error for a kernel that has sent nothing for `silence`, with its clock stopped.
    pub(crate) fn silent(silence: Duration) -> Error {
        Error::new(
            "linux-silent",
            format!(
                "the guest computed for {} s of real time while its clock stood still",
                silence.as_secs()
            ),
            "check for a program that waits in a loop: in virtual time the wait never ends; for \
             long computations, allow more with `--watchdog TIME`",
        )
    }

    /// Creates the error for a guest that has waited since `now` with no event to come.
    pub(crate) fn asleep(now: Nanos) -> Error {
        Error::new(
            "linux-asleep",
            format!(
                "after {now} of virtual time the guest waits for something that will never happen"
            ),
            "check whether the command reads from a terminal, or waits for another process",
        )
    }

    /// Creates the error for a drive whose contents could not be written or read.
    pub(crate) fn lost(disk: usize, cause: std::io::Error) -> Error {
        let message = format!("the contents of drive {} could not be kept or read", disk + 1);
        let hint = "with `--image`, check the free space and the disk under the image; without it, \
                    check the free memory";
        Error::new("linux-lost", message, hint).caused_by(cause)
    }

    /// Creates the error for a run or a build that the user has stopped.
    pub(crate) fn stopped() -> Error {
        Error::new("linux-stopped", "stopped", "run it again")
    }

    /// Creates the error for a guest that exceeds its virtual time.
    pub(crate) fn too_long(limit: Nanos) -> Error {
        Error::new(
            "linux-limit",
            format!("the guest did not end within {limit} of virtual time"),
            "allow more with `--limit TIME`",
        )
    }
}

impl From<Malformed> for Error {
    fn from(Malformed(what): Malformed) -> Error {
        Error::new(
            "linux-protocol",
            format!("the kernel broke the protocol of its drive: {what}"),
            "build the kernel of this version with `assay linux build`",
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        match &self.source {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
