//! Makes the file for an experiment: allocated, written once in full, marked as ours.
//!
//! *Invariants.* Never under `/dev`, never over something that exists (`O_EXCL`, so not through a
//! dangling symlink either). Written in full, because the unwritten extents of a merely allocated
//! file read as zeros without asking the drive. The mark comes last: a file with it is whole. If
//! anything fails, or Ctrl-C comes, the file is removed; if the process is killed, an unmarked file
//! stays behind.

use super::{cannot_open, resolve, set_direct};
use crate::drive;
use crate::error::{Error, ErrorKind, Result};
use crate::safety::{Intent, mark};
use crate::target::uring::buffers::Region;
use assay_spec::{Bytes, seed};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Sizes are rounded down to this: no file system asks for more alignment than a page.
const UNIT: u64 = 4096;
/// One write while filling.
const CHUNK: Bytes = Bytes::MIB;

/// Makes `path` with the size of `intent` and opens it for what `intent` allows.
pub(super) fn create(path: &Path, intent: &Intent) -> Result<File> {
    let parent = parent(path)?;
    let name = path.display();
    if path.starts_with("/dev") || parent.starts_with("/dev") {
        let message = format!("there is no device {name}");
        let hint = "`assay devices` lists the devices of this machine";
        return Err(Error::environment("no-such-device", message, hint));
    }
    let Some(size) = intent.size else {
        let message = format!("{name} does not exist");
        let hint = "check the spelling, or say how large to make it: --size 1GiB";
        return Err(Error::usage("size-needed", message, hint));
    };
    let size = Bytes(size.0 / UNIT * UNIT);
    if size == Bytes::ZERO {
        let message = format!("{name} would be smaller than a page of 4KiB");
        return Err(Error::usage("size-needed", message, "give a larger --size"));
    }
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).open(path);
    let begun = Begun(Some(path.to_owned()));
    let file = match file {
        Ok(file) => file,
        Err(error) => {
            // Not made by us: somebody was faster, or nothing was made.
            begun.keep();
            return Err(cannot_open(path, error));
        }
    };
    set_direct(&file, path)?;
    let made = allocate(&file, size).and_then(|()| fill(&file, size));
    made.and_then(|()| mark::put(&file, &resolve(path))).map_err(|cause| {
        if drive::is_interrupted() {
            let message = format!("interrupted while making {name}; it has been removed");
            let hint = "the same command begins again";
            return Error {
                kind: ErrorKind::Interrupted,
                ..Error::usage("interrupted", message, hint)
            };
        }
        let message = format!("cannot make {name} of {size}");
        let hint = "see `df` for the space that is left; what was begun has been removed";
        Error::environment("target-create", message, hint).caused_by(cause)
    })?;
    let file = if intent.writes {
        file
    } else {
        let file = File::open(path).map_err(|e| cannot_open(path, e))?;
        set_direct(&file, path)?;
        file
    };
    begun.keep();
    Ok(file)
}

/// The resolved directory that `path` is to be made in.
fn parent(path: &Path) -> Result<PathBuf> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match fs::canonicalize(parent) {
        Ok(resolved) if resolved.is_dir() && path.file_name().is_some() => Ok(resolved),
        found => {
            let message = format!("{} is not in an existing directory", path.display());
            // A misspelt directory under /dev is a misspelt device.
            let id = if path.starts_with("/dev") { "no-such-device" } else { "no-such-directory" };
            let hint = format!("make {} first, or check the spelling", parent.display());
            // The id is spelt out above so that the list of explanations can be checked.
            let error = Error { id, ..Error::environment("no-such-directory", message, hint) };
            Err(match found {
                Err(cause) => error.caused_by(cause),
                Ok(_) => error,
            })
        }
    }
}

/// Reserves the space, so that a full file system is noticed now and extents are long.
fn allocate(file: &File, size: Bytes) -> io::Result<()> {
    let length = libc::off_t::try_from(size.0).map_err(|_| io::ErrorKind::FileTooLarge)?;
    // SAFETY: fallocate on a descriptor that `file` keeps open, with plain numbers.
    if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // Some file systems cannot reserve; filling will show whether there is room.
        Some(libc::EOPNOTSUPP) => file.set_len(size.0),
        _ => Err(error),
    }
}

/// Writes all of the file with data that neither compresses nor repeats.
fn fill(file: &File, size: Bytes) -> io::Result<()> {
    let mut region = Region::new(1, CHUNK)?;
    let mut at = Bytes::ZERO;
    while at < size {
        if drive::is_interrupted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let length = CHUNK.0.min(size.0 - at.0) as usize;
        region.fill(seed::derive(at.0, &["fill"]));
        // SAFETY: the writes below are synchronous: nothing is in flight here.
        unsafe { region.stamp(0, at, length, 0) };
        file.write_all_at(&region.bytes()[..length], at.0)?;
        at += Bytes(length as u64);
    }
    file.sync_data()
}

/// Removes the file again unless it is kept.
struct Begun(Option<PathBuf>);

impl Begun {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // The error that led here matters more than one from clearing up.
            let _ = fs::remove_file(path);
        }
    }
}
