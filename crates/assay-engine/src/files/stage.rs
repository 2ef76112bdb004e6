//! The stage of a piece of work: its directory, its clock and its recorder.

use super::queue::Queue;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::measure::Recorder;
use crate::measure::sample::Sample;
use crate::stop::{interrupted, is_interrupted};
use assay_fs::Directory;
use assay_spec::experiment::CacheReset;
use assay_spec::record::ProgramMetric;
use assay_spec::{Bytes, Nanos, Op};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Instant;

/// The directory of the work, and the conditions there.
pub struct WorkDir<'g> {
    /// An empty directory. It is opened by this path at the beginning of each phase, because an
    /// open directory would prevent a remount.
    pub directory: &'g Path,
    /// A function that unmounts the file system and mounts it again, where that is possible.
    pub remount: Option<&'g dyn Fn() -> Result<()>>,
    /// Whether a program's own work takes no time, as in a guest: then its compute time is added.
    pub is_free: bool,
    /// The content of the files.
    pub content: Content<'g>,
    /// The longest time that a measured phase may take.
    pub limit: Option<Nanos>,
}

/// The content of files that are laid out, and the time for that.
#[derive(Clone, Copy)]
pub(crate) struct Content<'g> {
    /// The bytes that each file repeats.
    pub(crate) bytes: &'g [u8],
    /// The time by which all files must be laid out.
    pub(crate) until: Option<Instant>,
}

impl Content<'_> {
    /// Checks that there is still time for laying out files.
    ///
    /// # Errors
    /// `budget-over` if there is none, `interrupted` if the user interrupted the run.
    pub(super) fn check(&self) -> Result<()> {
        if is_interrupted() {
            return Err(interrupted());
        }
        if self.until.is_none_or(|until| Instant::now() < until) {
            return Ok(());
        }
        let message = "the time that the budget has for writing the workload's files is used up";
        Err(Error::environment(
            "budget-over",
            message,
            "give a larger `--budget`, or make the files smaller",
        ))
    }
}

/// The results of a piece of work that are not in the recorder.
#[derive(Debug, Default)]
pub struct Done {
    /// The length of the measured phase.
    pub elapsed: Nanos,
    /// Whether all of the work was done, so that `elapsed` is the time of the whole.
    pub is_whole: bool,
    /// Results that only this kind of work has: (name, value).
    pub told: Vec<(String, f64)>,
    /// The numbers that a program printed.
    pub metrics: Vec<ProgramMetric>,
    /// Warnings for readers of the results.
    pub warnings: Vec<String>,
}

/// A piece of work under way.
pub(super) struct Stage<'s> {
    pub(super) work_dir: &'s WorkDir<'s>,
    pub(super) recorder: &'s mut Recorder,
    pub(super) before_measure: &'s mut dyn FnMut(),
    pub(super) seed: u64,
    /// The kernel's request times of the device under the directory, if it has one.
    pub(super) queue: Option<Queue>,
}

impl Stage<'_> {
    /// Opens the directory of the work. It, and all files opened in it, must be closed before
    /// [`Stage::forget`] mounts the file system again.
    pub(super) fn root(&self) -> Result<Directory> {
        Directory::open(self.work_dir.directory).map_err(|e| refused("its directory", &e))
    }

    /// Drops from the page cache what `between` says: nothing, `files`, or all files by a remount.
    /// Drops `files` if a remount is not possible.
    pub(super) fn forget(&self, between: CacheReset, files: &[&File]) -> Result<()> {
        match (between, self.work_dir.remount) {
            (CacheReset::Nothing, _) => Ok(()),
            (CacheReset::Remount, Some(remount)) => remount(),
            _ => files.iter().try_for_each(|file| forget(file)),
        }
    }

    /// Starts the measured phase, and returns a clock that begins with it.
    pub(super) fn start(&mut self) -> Clock {
        (self.before_measure)();
        if let Some(queue) = &mut self.queue {
            queue.mark();
        }
        Clock::start()
    }

    /// Starts the measured phase of work with a single process.
    pub(super) fn begin(&mut self) -> Meter<'_> {
        let clock = self.start();
        Meter {
            recorder: self.recorder,
            clock,
            last: Nanos::ZERO,
            number: 0,
            limit: self.work_dir.limit,
        }
    }
}

/// Records the operations of a single process, one after the other.
pub(super) struct Meter<'m> {
    recorder: &'m mut Recorder,
    clock: Clock,
    /// The time when the last operation ended.
    last: Nanos,
    /// The number of operations so far.
    number: u64,
    limit: Option<Nanos>,
}

impl Meter<'_> {
    /// Records an operation that began when the last one ended, and ends now.
    pub(super) fn record(&mut self, op: Op, offset: Bytes, length: Bytes) {
        let now = self.clock.cached_now();
        let submit = self.last;
        let sample = Sample { submit, complete: now, offset, length, op, job: 0, error: 0 };
        self.recorder.record(self.number, sample);
        self.number += 1;
        self.last = now;
    }

    /// Returns the number of operations so far.
    pub(super) fn operations(&self) -> u64 {
        self.number
    }

    /// Returns the time when the last operation ended.
    pub(super) fn last_end(&self) -> Nanos {
        self.last
    }

    /// Returns the length of the phase. Reads the clock itself, because work in memory may not have
    /// moved the cached time.
    pub(super) fn end(&self) -> Nanos {
        self.clock.now().max(self.last)
    }

    /// Returns `true` if the phase has reached its time limit.
    ///
    /// # Errors
    /// If the user interrupted the run.
    pub(super) fn is_over(&self) -> Result<bool> {
        if is_interrupted() {
            return Err(interrupted());
        }
        Ok(self.limit.is_some_and(|limit| self.last >= limit))
    }
}

/// Drops the cached pages of a file, with fsync(2) and posix_fadvise(2). Needs no privileges.
pub(super) fn forget(file: &File) -> Result<()> {
    use std::os::fd::AsRawFd;
    file.sync_all().map_err(|e| refused("fsync", &e))?;
    // SAFETY: the descriptor is open for as long as `file` lives, and no memory is passed.
    let code = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    match code {
        0 => Ok(()),
        code => Err(refused("fadvise", &io::Error::from_raw_os_error(code))),
    }
}

/// Returns the error for an operation `what` that the file system of the work refused.
pub(super) fn refused(what: &str, e: &io::Error) -> Error {
    let full = e.raw_os_error() == Some(libc::ENOSPC);
    let hint = match full {
        true => "make `length` smaller, or the drive larger: the files do not fit",
        false => "name a directory on a file system that can be read and written",
    };
    let message = format!("{what}: the file system refuses this operation");
    Error::environment("files-refused", message, hint)
        .caused_by(io::Error::new(e.kind(), e.to_string()))
}
