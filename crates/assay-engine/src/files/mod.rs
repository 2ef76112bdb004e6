//! Workloads of files: what a program does in a directory, through page cache and file system.
//!
//! Each kind lays out what it needs, has it forgotten by the page cache, and then works by the
//! clock of the machine it runs on; in a guest, that is the guest's. One thread reads and writes as
//! `read(2)` and `write(2)` do, unless the work is that of several clients.

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

/// Where files are, and what can be done about them.
pub struct WorkDir<'g> {
    /// An empty directory. It is opened by this path at the beginning of each phase: who mounts it
    /// again must not hold it.
    pub directory: &'g Path,
    /// Unmounts the file system and mounts it again, where that is possible.
    pub remount: Option<&'g dyn Fn() -> Result<()>>,
    /// Whether the processor costs nothing.
    pub is_free: bool,
    /// What files are filled with.
    pub content: Content<'g>,
    /// The longest that a measured phase may last.
    pub limit: Option<Nanos>,
}

/// What files are filled with when they are laid out, and how long that may take.
#[derive(Clone, Copy)]
pub(crate) struct Content<'g> {
    /// What they hold, again and again.
    pub(crate) bytes: &'g [u8],
    /// When it must be done.
    pub(crate) until: Option<Instant>,
}

impl Content<'_> {
    /// Checks that there is still time.
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

/// What came of a piece of work, besides what was recorded.
#[derive(Debug, Default)]
pub struct Done {
    /// How long the measured phase was.
    pub elapsed: Nanos,
    /// Whether all of it was done, so that the time is that of the whole.
    pub is_whole: bool,
    /// Numbers the work tells of itself.
    pub told: Vec<(String, f64)>,
    /// What a reader must know.
    pub warnings: Vec<String>,
}

/// Does `work` and records it; `before_measure` is called when everything is laid out.
///
/// # Errors
/// If the system refuses something.
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

/// Whether some work makes a file or directory of this path below its directory.
pub(crate) fn makes(path: &Path) -> bool {
    let mut parts = path.iter().map(|part| part.to_str().unwrap_or(""));
    let number = |name: &str, prefix: &str| {
        let digits = name.strip_prefix(prefix);
        digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
    };
    match parts.next() {
        // What git makes in it is its own affair.
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

/// A piece of work being done.
struct Stage<'s> {
    work_dir: &'s WorkDir<'s>,
    recorder: &'s mut Recorder,
    before_measure: &'s mut dyn FnMut(),
    seed: u64,
    queue: Option<Queue>,
}

impl Stage<'_> {
    /// Opens the directory of the work; nothing that was opened in it may be open while
    /// [`Stage::forget`] is called.
    fn root(&self) -> Result<Directory> {
        Directory::open(self.work_dir.directory).map_err(|e| refused("its directory", &e))
    }

    /// Has forgotten what is cached of `files`, or of everything by mounting again.
    fn forget(&self, between: Between, files: &[&File]) -> Result<()> {
        match (between, self.work_dir.remount) {
            (Between::Nothing, _) => Ok(()),
            (Between::Remount, Some(remount)) => remount(),
            _ => files.iter().try_for_each(|file| forget(file)),
        }
    }

    /// Starts the measured phase.
    fn start(&mut self) -> Clock {
        (self.before_measure)();
        if let Some(queue) = &mut self.queue {
            queue.mark();
        }
        Clock::start()
    }

    /// Starts the measured phase of one process.
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

/// Records one operation after the other of one process.
struct Meter<'m> {
    recorder: &'m mut Recorder,
    clock: Clock,
    last: Nanos,
    number: u64,
    limit: Option<Nanos>,
}

impl Meter<'_> {
    /// An operation has ended that began when the last one did.
    fn record(&mut self, op: Op, offset: Bytes, length: Bytes) {
        let now = self.clock.cached_now();
        let submit = self.last;
        let sample = Sample { submit, complete: now, offset, length, op, job: 0, error: 0 };
        self.recorder.record(self.number, sample);
        self.number += 1;
        self.last = now;
    }

    /// How long the phase was. By the clock itself: at a glance, what is in memory takes no time.
    fn end(&self) -> Nanos {
        self.clock.now().max(self.last)
    }

    /// Whether the phase has lasted as long as it may.
    fn is_over(&self) -> Result<bool> {
        if is_interrupted() {
            return Err(interrupted());
        }
        Ok(self.limit.is_some_and(|limit| self.last >= limit))
    }
}

/// Has what is cached of a file forgotten. Works for whoever may write it.
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

/// The system refused something in the directory of the work.
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
