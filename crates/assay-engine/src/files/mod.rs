//! Workloads of files: the work of a program in a directory, through page cache and file system.
//!
//! Each kind of work lays out its files, drops them from the page cache, and then measures with the
//! clock of the machine that it runs on (in a guest, the guest's). One thread reads and writes with
//! `read(2)` and `write(2)`, unless the work is that of several clients.

mod checkouts;
mod clients;
mod queue;
mod records;
mod tree;
mod walk;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::load_loop::{interrupted, is_interrupted};
use crate::measure::{Recorder, Sample};
use assay_fs::Directory;
use assay_spec::experiment::{Between, FileWork};
use assay_spec::{Bytes, Nanos, Op};
use queue::Queue;
pub(crate) use records::lay_out;
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
    /// Whether computing takes no time, as in a guest: then the work's own compute time is added.
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
    fn check(&self) -> Result<()> {
        if is_interrupted() {
            return Err(interrupted());
        }
        if self.until.is_none_or(|until| Instant::now() < until) {
            return Ok(());
        }
        let message = "laying out its files took as long as the budget has for it";
        Err(Error::environment("budget-over", message, "give it more time, or make them smaller"))
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
    /// Warnings for readers of the results.
    pub warnings: Vec<String>,
}

/// Does `work` in `work_dir` and records it. Calls `before_measure` when all files are laid out.
///
/// # Errors
/// If the file system refuses an operation, the user interrupts the run, or the budget is over.
pub fn run(
    work: &FileWork,
    work_dir: &WorkDir<'_>,
    seed: u64,
    recorder: &mut Recorder,
    before_measure: &mut dyn FnMut(),
) -> Result<Done> {
    let queue = Queue::of(work_dir.directory);
    let mut stage = Stage { work_dir, recorder, before_measure, seed, queue };
    let mut done = match work {
        FileWork::Records(records) => stage.records(records),
        FileWork::Clients(clients) => stage.clients(clients),
        FileWork::Walk(walk) => stage.walk(walk),
        FileWork::Checkouts(checkouts) => stage.checkouts(checkouts),
    }?;
    done.told.extend(stage.queue.iter().flat_map(Queue::told));
    Ok(done)
}

/// Returns `true` if some kind of work makes a file or directory with this path, relative to its
/// directory.
pub(crate) fn makes(path: &Path) -> bool {
    let mut parts = path.iter().map(|part| part.to_str().unwrap_or(""));
    let number = |name: &str, prefix: &str| {
        let digits = name.strip_prefix(prefix);
        digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
    };
    match parts.next() {
        // In the history, git makes files with any name.
        Some(checkouts::HISTORY) => true,
        Some(walk::TREE) => {
            let rest: Vec<&str> = parts.collect();
            let is_file = |name: &str| number(name, "f") || number(name, "d");
            match rest.split_last() {
                Some((last, above)) => {
                    let is_large = *last == walk::LARGE && above.is_empty();
                    is_large || is_file(last) && above.iter().all(|name| number(name, "d"))
                }
                None => true,
            }
        }
        Some(name) => {
            let own = [records::FILE, checkouts::LOG, checkouts::IDS, checkouts::SETTINGS];
            parts.next().is_none() && (own.contains(&name) || number(name, clients::STREAM))
        }
        None => true,
    }
}

/// A piece of work under way.
struct Stage<'s> {
    work_dir: &'s WorkDir<'s>,
    recorder: &'s mut Recorder,
    before_measure: &'s mut dyn FnMut(),
    seed: u64,
    /// The kernel's request times of the device under the directory, if it has one.
    queue: Option<Queue>,
}

impl Stage<'_> {
    /// Opens the directory of the work. It, and all files opened in it, must be closed before
    /// [`Stage::forget`] mounts the file system again.
    fn root(&self) -> Result<Directory> {
        Directory::open(self.work_dir.directory).map_err(|e| refused("its directory", &e))
    }

    /// Drops from the page cache what `between` says: nothing, `files`, or all files by a remount.
    /// Drops `files` if a remount is not possible.
    fn forget(&self, between: Between, files: &[&File]) -> Result<()> {
        match (between, self.work_dir.remount) {
            (Between::Nothing, _) => Ok(()),
            (Between::Remount, Some(remount)) => remount(),
            _ => files.iter().try_for_each(|file| forget(file)),
        }
    }

    /// Starts the measured phase, and returns a clock that begins with it.
    fn start(&mut self) -> Clock {
        (self.before_measure)();
        if let Some(queue) = &mut self.queue {
            queue.mark();
        }
        Clock::start()
    }

    /// Starts the measured phase of work with a single process.
    fn begin(&mut self) -> Meter<'_> {
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
struct Meter<'m> {
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
    fn record(&mut self, op: Op, offset: Bytes, length: Bytes) {
        let now = self.clock.cached_now();
        let submit = self.last;
        let sample = Sample { submit, complete: now, offset, length, op, job: 0, error: 0 };
        self.recorder.record(self.number, sample);
        self.number += 1;
        self.last = now;
    }

    /// Returns the length of the phase. Reads the clock itself, because work in memory may not have
    /// moved the cached time.
    fn end(&self) -> Nanos {
        self.clock.now().max(self.last)
    }

    /// Returns `true` if the phase has reached its time limit.
    ///
    /// # Errors
    /// If the user interrupted the run.
    fn is_over(&self) -> Result<bool> {
        if is_interrupted() {
            return Err(interrupted());
        }
        Ok(self.limit.is_some_and(|limit| self.last >= limit))
    }
}

/// Drops the cached pages of a file, with fsync(2) and posix_fadvise(2). Needs no privileges.
fn forget(file: &File) -> Result<()> {
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
fn refused(what: &str, e: &io::Error) -> Error {
    let full = e.raw_os_error() == Some(libc::ENOSPC);
    let hint = match full {
        true => "the files do not fit: make `length` smaller, or the drive larger",
        false => "the directory must be on a file system that can be read and written",
    };
    let message = format!("{what}: the file system refuses");
    Error::environment("files-refused", message, hint)
        .caused_by(io::Error::new(e.kind(), e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_knows_what_it_makes() {
        for name in ["file", "log", "stream-7", "tree", "tree/large", "tree/d01/d19/f1234"] {
            assert!(makes(Path::new(name)), "{name}");
        }
        for name in ["history", "history/.git/objects/ab", "history.ids", "history.gitconfig"] {
            assert!(makes(Path::new(name)), "{name}");
        }
        for name in ["photos", "file/x", "file.bak", "stream-", "tree/photos", "tree/d01/notes"] {
            assert!(!makes(Path::new(name)), "{name}");
        }
    }
}
