//! The directory of a run: made, locked, and its files replaced as wholes.

use super::draft::{Draft, Replace, is_draft};
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the lock of a run is waited for. A process that was killed gives back its memory before
/// its files, and the maps of several drives are gibibytes: it holds the lock a second or two.
const PATIENCE: Duration = Duration::from_secs(3);

/// Whether a directory holds anything but the empty beginnings of a run that was killed at once.
fn holds_something(directory: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(directory) else { return false };
    entries.any(|entry| {
        let Ok(entry) = entry else { return true };
        let name = entry.file_name();
        let begun = name == "log" || name == "series";
        let empty = || std::fs::read_dir(entry.path()).is_ok_and(|mut e| e.next().is_none());
        !(is_draft(&name) || (begun && empty()))
    })
}

/// A directory that was made for a run, locked as long as the value lives.
#[derive(Debug)]
pub struct Created {
    _lock: File,
    /// What was not there before, the innermost first.
    made: Vec<PathBuf>,
}

impl Created {
    /// Takes away again what was made, as far as it is empty.
    pub fn abandon(self) {
        for directory in &self.made {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// Whether this is the record of a run, of any version, and not a file of somebody else's with
/// its name.
fn is_ours(record: &Path) -> bool {
    #[derive(serde::Deserialize)]
    struct Begun {
        #[serde(rename = "schema")]
        _schema: u64,
        #[serde(rename = "assay")]
        _assay: String,
    }
    let text = crate::read::bytes(record, crate::read::RUN_MAX).unwrap_or_default();
    serde_json::from_slice::<Begun>(&text).is_ok()
}

/// Makes a directory with `subs` in it, or takes an empty one; locked from before it is looked
/// into.
///
/// # Errors
/// If it cannot be made, holds anything, or another process is at work in it.
pub fn create_directory(directory: &Path, subs: &[&str]) -> Result<Created> {
    let not_writable = |e: std::io::Error| {
        Error::environment(
            "out-not-writable",
            format!("the run directory {} cannot be created", directory.display()),
            "choose another place with `--out DIR`",
        )
        .caused_by(e)
    };
    let was_there = directory.exists();
    std::fs::create_dir_all(directory).map_err(not_writable)?;
    let mut created = Created { _lock: lock_run_directory(directory)?, made: Vec::new() };
    if is_ours(&directory.join("run.json")) {
        return Err(Error::usage(
            "run-exists",
            format!("{} holds a run already", directory.display()),
            format!(
                "`assay resume {}` goes on with it; or choose another `--out`",
                directory.display()
            ),
        ));
    }
    if holds_something(directory) {
        return Err(Error::usage(
            "out-not-empty",
            format!("{} is not empty", directory.display()),
            "a run would replace files in it: choose another `--out`",
        ));
    }
    remove_drafts(directory);
    for sub in subs {
        let sub = directory.join(sub);
        if !sub.exists() {
            std::fs::create_dir(&sub).map_err(not_writable)?;
            created.made.push(sub);
        }
    }
    if !was_there {
        created.made.push(directory.to_owned());
    }
    Ok(created)
}

/// Removes what a killed process left half-written in a run directory that is locked.
pub(super) fn remove_drafts(directory: &Path) {
    for place in [directory.to_owned(), directory.join("log"), directory.join("series")] {
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && is_draft(&entry.file_name()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// Takes the run directory for this process alone, until the value is dropped or the process ends.
pub fn lock_run_directory(directory: &Path) -> Result<File> {
    let file = File::open(directory).map_err(|e| {
        let message = format!("the run directory {} cannot be opened", directory.display());
        Error::environment("out-not-writable", message, "check its permissions").caused_by(e)
    })?;
    let asked = Instant::now();
    while let Err(std::fs::TryLockError::WouldBlock) = file.try_lock() {
        if asked.elapsed() >= PATIENCE {
            return Err(Error::environment(
                "run-busy",
                format!("another assay is at work in {}", directory.display()),
                "wait until it has ended; `fuser -v` on the directory says which process it is",
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // A file system without locks is no reason not to measure.
    Ok(file)
}

/// Replaces `path`, in a run directory, as a whole with `value` as JSON.
///
/// # Errors
/// If it cannot be written, or what has the name is no regular file.
pub fn write_json<T: serde::Serialize>(path: &Path, value: &T) -> Result<()> {
    let mut text = serde_json::to_string(value).expect("records are plain data");
    text.push('\n');
    write_text(path, &text, Replace::Own)
}

/// Replaces `path` as a whole: a reader sees the old text or the new one, also after a crash.
///
/// # Errors
/// If it cannot be written, or what has the name may not be replaced.
pub fn write_text(path: &Path, text: &str, replace: Replace) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let (draft, mut file) = Draft::begin(path)?;
        file.write_all(text.as_bytes())?;
        draft.publish(&file, replace)
    };
    write().map_err(|e| not_written(path, e))
}

/// The error for a file that did not get its name.
fn not_written(path: &Path, cause: std::io::Error) -> Error {
    let name = path.display();
    let error = match cause.kind() {
        ErrorKind::AlreadyExists => Error::environment(
            "not-replaced",
            format!("{name} was there before, and stays"),
            "choose another name, or `--force` if a regular file may be replaced",
        ),
        ErrorKind::NotFound => Error::usage(
            "not-written",
            format!("{name} cannot be written"),
            "name a file in a directory that exists",
        ),
        _ => Error::environment(
            "not-written",
            format!("{name} cannot be written"),
            "free space or choose another place with `--out DIR`",
        ),
    };
    error.caused_by(cause)
}
