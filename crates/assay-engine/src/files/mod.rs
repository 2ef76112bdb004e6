//! Workloads of files: the work of a program in a directory, through page cache and file system.
//!
//! Each kind of work lays out its files, drops them from the page cache, and then measures with the
//! clock of the machine that it runs on (in a guest, the guest's). One thread reads and writes with
//! `read(2)` and `write(2)`, unless the work is that of several clients.

mod checkouts;
mod clients;
mod program;
mod queue;
mod records;
mod stage;
mod tree;
mod walk;

use crate::error::Result;
use crate::measure::Recorder;
use assay_spec::experiment::FileWork;
pub(crate) use program::make_image;
use queue::Queue;
pub(crate) use records::lay_out;
use stage::Stage;
pub(crate) use stage::{Content, Done, WorkDir};
use std::path::Path;

/// Does `work` in `work_dir` and records it. Calls `before_measure` when all files are laid out.
///
/// # Errors
/// If the file system refuses an operation, the user interrupts the run, or the budget is over.
pub(crate) fn run(
    work: &FileWork,
    work_dir: &WorkDir<'_>,
    seed: u64,
    recorder: &mut Recorder,
    before_measure: &mut dyn FnMut(),
) -> Result<Done> {
    let queue = Queue::of(work_dir.directory);
    let mut stage = Stage { work_dir, recorder, before_measure, seed, queue };
    let mut done = match work {
        FileWork::Records(records) => records::run(&mut stage, records),
        FileWork::Clients(clients) => clients::run(&mut stage, clients),
        FileWork::Walk(walk) => walk::run(&mut stage, walk),
        FileWork::Checkouts(checkouts) => checkouts::run(&mut stage, checkouts),
        FileWork::Program(program) => program::run(&mut stage, program),
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
            let own =
                [records::FILE, checkouts::LOG, checkouts::git::IDS, checkouts::git::SETTINGS];
            parts.next().is_none() && (own.contains(&name) || number(name, clients::STREAM))
        }
        None => true,
    }
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
