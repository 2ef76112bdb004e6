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
        "The guest waits, no drive has anything to do, and no timer is set: nothing will ever \
         happen. A program that waits for input does that, or two that wait for each other.",
    ),
    (
        "linux-build",
        "A step of building the kernel failed. It needs a compiler, 3 GB of room in the cache \
         directory, and about ten minutes.",
    ),
    (
        "linux-busy",
        "One kernel is built at a time in a cache directory: another build holds it locked, and \
         will put its kernel there.",
    ),
    (
        "linux-checksum",
        "The source given with `--source` is not the pinned one. Results belong to one kernel, so \
         another source is only taken from apt, which has checked its signature.",
    ),
    ("linux-command", "The guest has no such program: it sees this machine's files, read-only."),
    (
        "linux-ended",
        "The kernel ended without leaving a result. What it said last stands in the message; was \
         it killed, or is there too little memory?",
    ),
    ("linux-guest", "Something went wrong inside the guest, with its tools or its file system."),
    (
        "linux-limit",
        "The guest lived longer, in its own time, than it may. Virtual time is cheap: what waits \
         for ever gets old quickly.",
    ),
    (
        "linux-image",
        "The file given with `--image` cannot be the contents of that drive: it has another size, \
         is no plain file, or another guest is using it. Nothing was written.",
    ),
    (
        "linux-image-lost",
        "When the guest had ended, what it wrote could not all be put on the disk under its image: \
         that disk failed, or its file system is full. What is in the image now is not known.",
    ),
    (
        "linux-in-the-way",
        "Where the kernel belongs is something that assay has not put there: its directory holds \
         the files `linux` and `identity` and nothing else. Nothing was removed.",
    ),
    (
        "linux-lost",
        "What a guest writes to a modelled drive is kept in memory or in an image. When there was \
         no room for it, the guest was ended; an image holds what was written before.",
    ),
    ("linux-machine", "The kernel for virtual time runs on x86-64 Linux with /proc."),
    ("linux-no-cache", "The kernel lies in the user's cache directory, and there is none."),
    ("linux-no-ptrace", "User-Mode Linux runs the guest's processes by `ptrace`."),
    ("linux-no-source", "The kernel's source could be neither fetched nor read."),
    ("linux-no-tool", "A program of this machine that is needed is not installed."),
    ("linux-not-built", "`linux(…)` needs a kernel, which `assay linux build` makes once."),
    (
        "linux-program",
        "What measures in a guest is this program itself, laid out in memory by the host, and only \
         a position-independent ELF program for x86-64 can be; `cargo build` makes one.",
    ),
    (
        "linux-protocol",
        "The kernel sent its drive or its clock what no kernel of the recipe sends. The guest is \
         ended; nothing of what it measured is kept.",
    ),
    (
        "linux-silent",
        "The guest computed, and its clock stood still: in virtual time, computing takes none. A \
         loop that waits for the clock by looking at it, or spins, never ends.",
    ),
    ("linux-source", "The kernel's source is not as the recipe knows it."),
    ("linux-stopped", "Ctrl-C ended the guest, or the build of its kernel."),
    (
        "linux-room",
        "A guest's memory is a sparse file in /dev/shm, or in /tmp where there is none. It is not \
         begun if that file could not be filled; containers often have but 64 MiB there.",
    ),
    ("linux-system", "The system refused something that a guest needs."),
    ("linux-tool", "A tool failed in the guest; its words come from the target as written."),
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
        Error::new("linux-system", message, "`assay linux status` says what is missing")
            .caused_by(e)
    }

    /// Creates the error for a kernel that has sent nothing for `silence`, with its clock stopped.
    pub(crate) fn silent(silence: Duration) -> Error {
        Error::new(
            "linux-silent",
            format!("the guest computed for {} s and its clock stood still", silence.as_secs()),
            "what waits in a loop never ends in virtual time; `--watchdog TIME` allows more",
        )
    }

    /// Creates the error for a guest that has waited since `now` with no event to come.
    pub(crate) fn asleep(now: Nanos) -> Error {
        Error::new(
            "linux-asleep",
            format!("after {now} the guest waits for something that will never happen"),
            "the command may read from a terminal or wait for another process",
        )
    }

    /// Creates the error for a drive whose contents could not be written or read.
    pub(crate) fn lost(disk: usize, cause: std::io::Error) -> Error {
        let message = format!("the contents of drive {} could not be kept or read", disk + 1);
        let hint = "is there room where its `--image` is, and is it whole? Or memory, without one";
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
            format!("the guest has not ended within {limit} of its time"),
            "`--limit TIME` allows more",
        )
    }
}

impl From<Malformed> for Error {
    fn from(Malformed(what): Malformed) -> Error {
        Error::new(
            "linux-protocol",
            format!("the kernel broke the protocol of its drive: {what}"),
            "`assay linux build` builds the kernel that this version knows",
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
