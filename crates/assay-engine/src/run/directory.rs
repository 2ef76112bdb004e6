//! The directory of a run: made, locked, and its files replaced as wholes.

use crate::error::{Error, Result};
use std::fs::File;
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
        let half = Path::new(&name).extension().is_some_and(|e| e == "partial");
        !(half || (begun && empty()))
    })
}

/// Makes a directory with `subs` in it, or takes an empty one; locked from before it is looked
/// into.
pub fn create_directory(directory: &Path, subs: &[&str]) -> Result<File> {
    let not_writable = |e: std::io::Error| {
        Error::environment(
            "out-not-writable",
            format!("the run directory {} cannot be created", directory.display()),
            "choose another place with `--out DIR`",
        )
        .caused_by(e)
    };
    std::fs::create_dir_all(directory).map_err(not_writable)?;
    let lock = lock_run_directory(directory)?;
    if directory.join("run.json").exists() {
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
    for sub in subs {
        std::fs::create_dir_all(directory.join(sub)).map_err(not_writable)?;
    }
    Ok(lock)
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

/// Replaces `path` as a whole with `value` as JSON.
pub fn write_json<T: serde::Serialize>(path: &Path, value: &T) -> Result<()> {
    let mut text = serde_json::to_string(value).expect("records are plain data");
    text.push('\n');
    write_text(path, &text)
}

/// Replaces `path` as a whole: a reader sees the old text or the new one, also after a crash.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    let partial: PathBuf = path.with_extension("partial");
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&partial)?;
        file.write_all(text.as_bytes())?;
        publish(&file, &partial, path)
    };
    write().map_err(|e| {
        Error::environment(
            "not-written",
            format!("{} cannot be written", path.display()),
            "free space or choose another place with `--out DIR`",
        )
        .caused_by(e)
    })
}

/// Gives the whole file at `partial` its name for good: after a power cut there is either nothing
/// at `path` (or the old file), or all of this one.
///
/// # Errors
/// If the system cannot write the file or its directory to the disk.
pub fn publish(file: &File, partial: &Path, path: &Path) -> std::io::Result<()> {
    // Without it, the name may reach the disk before the content does.
    file.sync_data()?;
    std::fs::rename(partial, path)?;
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}
