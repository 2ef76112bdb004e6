//! Regular files: only those that assay made are written to, and only while they hold nothing else.

use super::descriptor::{cannot_open, lock, no_thread, set_direct, unless_busy, watched};
use super::direct::check_direct;
use super::opened::{Opened, describe, refuse_holes};
use crate::error::{Error, Result};
use crate::safety::contents;
use crate::safety::in_use::Machine;
use crate::safety::intent::{Intent, check_write};
use crate::safety::lease::{self, Lease};
use crate::safety::loops::{BEFORE_WRITES, check_answers};
use crate::safety::mark::{self, FileMark, Made};
use crate::safety::refusal::{file_ignores_syncs, patiently};
use crate::safety::store::Store;
use crate::safety::watch::Watch;
use crate::stop;
use assay_fs::{InodeId, Node, NodeKind};
use rustix::fs::OFlags;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Opens the file `node`, found at `path`, for what `intent` allows.
pub(super) fn open_file(path: &Path, node: &Node, size: u64, intent: &Intent) -> Result<Opened> {
    let file = node.open(OFlags::RDONLY).map_err(|e| cannot_open(path, e))?;
    let mark = mark_of(node, &file).filter(|mark| mark.made == Made::Whole);
    let is_ours = mark.is_some();
    if !intent.writes {
        refuse_holes(path, size, &file)?;
        set_direct(&file, path)?;
        lock(path, &file)?;
        let opened = Opened { is_stranger: !is_ours, ..describe(path, node, file)? };
        check_direct(&opened)?;
        return Ok(opened);
    }
    check_answers(BEFORE_WRITES)?;
    let fatal = file_refusal(path, node, is_ours, "as a target");
    check_write(path, node, intent, fatal.as_ref().map(|e| e.message.as_str()))?;
    if let Some(error) = fatal {
        return Err(error);
    }
    // The lease is granted only if nobody else, and no other descriptor here, has the file open.
    drop(file);
    let named = node.open(OFlags::RDONLY).map(|file| contents::blkid(&file));
    let named = named.map_err(|e| cannot_open(path, e))?;
    let file = node.open(OFlags::RDWR).map_err(|e| cannot_open(path, e))?;
    set_direct(&file, path)?;
    lock(path, &file)?;
    let lease = take_lease(path, &file)?;
    let opened = Opened { lease, ..describe(path, node, file)? };
    check_file_contents(path, &opened, named, mark.is_some_and(|mark| mark.is_by_number))?;
    check_direct(&opened)?;
    let watch = watch_file(path, node)?;
    Ok(Opened { watch, ..opened })
}

/// Watches for uses of the file `node` that the lease does not prevent: those from below an
/// overlay, or on a file system without leases.
pub(super) fn watch_file(path: &Path, node: &Node) -> Result<Option<Watch>> {
    let (name, id, kind) = (path.display().to_string(), node.id, node.kind);
    watched(path, &[node.link()], move || file_use(&name, id, kind))
}

/// Returns how a file is in use, as an error, if it is.
fn file_use(name: &str, id: InodeId, kind: NodeKind) -> Option<Error> {
    let size = if let NodeKind::File(size) = kind { size } else { 0 };
    patiently(|| {
        let machine = Machine::read();
        let usage = machine.use_of(Store::File(id.device, id.inode), id.born);
        let usage = usage.or_else(|| machine.unknown_use(id.device, size))?;
        let hint = "end that use first, or name a file that does not exist, with --size";
        let error = Error::environment("file-in-use", format!("{name} {}", usage.text), hint);
        Some((error, usage.is_program))
    })
}

/// Returns the mark of the file, if it has one.
pub(super) fn mark_of(node: &Node, file: &File) -> Option<FileMark> {
    mark::in_attribute(file).or_else(|| {
        // Fails if the path is longer than a system call takes. A sidecar names the inode of its
        // file, so it does not vouch for another of that name.
        let (directory, name) = place_of(node)?;
        mark::find(file, File::open(directory).ok()?, &name)
    })
}

/// Returns the directory and the name that a file has now.
pub(super) fn place_of(node: &Node) -> Option<(PathBuf, OsString)> {
    let path = node.path().ok()?;
    Some((path.parent()?.to_owned(), path.file_name()?.to_owned()))
}

/// Returns why an existing file must not be written to, if so. `made_as` is what assay must have
/// made it as, unless the user has named it.
pub(super) fn file_refusal(
    path: &Path,
    node: &Node,
    is_ours: bool,
    made_as: &str,
) -> Option<Error> {
    let name = path.display();
    let used = file_use(&name.to_string(), node.id, node.kind);
    let error = used.or_else(|| file_ignores_syncs(node, &name.to_string()));
    let error = error.or_else(|| stop::is_interrupted().then(stop::interrupted));
    if error.is_some() {
        return error;
    }
    let hint = "name a file that does not exist, with --size, or remove this one";
    let refuse = |what| Some(Error::environment("file-not-ours", what, hint));
    if !is_ours {
        return refuse(format!("assay did not make {name} {made_as}"));
    }
    if node.names > 1 {
        return refuse(format!("{name} has {} names: another is a hard link to it", node.names));
    }
    None
}

/// Refuses a file that holds anything but what assay wrote, because its mark says who made it, not
/// what has been done with it since. A file that is marked by its number alone (`is_by_number`)
/// must hold some of that: another file of zeros may have got the number.
fn check_file_contents(
    path: &Path,
    opened: &Opened,
    named: Vec<String>,
    is_by_number: bool,
) -> Result<()> {
    // The file may be longer by less than a block.
    let length = opened.length_now().unwrap_or(opened.capacity);
    let looked = contents::look(&opened.file, length, opened.granularity);
    let mut found = looked.map_err(|e| cannot_open(path, e))?;
    if stop::is_interrupted() {
        return Err(stop::interrupted());
    }
    found.kinds.extend(named);
    let name = path.display();
    let message = if !found.is_ours() {
        format!("{name} was made by assay, but now holds {}", found.words().join(", "))
    } else if is_by_number && !found.has_data {
        format!("{name} holds only zeros: it may be another file than the one that assay made here")
    } else {
        return Ok(());
    };
    let hint = "name a file that does not exist, with --size, or remove this one: assay overwrites \
                only its own data";
    Err(Error::environment("file-not-ours", message, hint))
}

/// Takes a lease on the file, which keeps other writers away, if its file system has leases.
pub(super) fn take_lease(path: &Path, file: &File) -> Result<Option<Lease>> {
    let name = path.display();
    let refuse = |what: String| {
        let hint = "end that use first (`fuser -v` shows the process), or name a file that does \
                    not exist";
        Err(Error::environment("file-in-use", what, hint))
    };
    match unless_busy(|| lease::take(file), |answer| matches!(answer, lease::Answer::Busy)) {
        lease::Answer::Held(lease) => Ok(Some(lease)),
        lease::Answer::Busy => refuse(format!("another process has {name} open")),
        lease::Answer::Denied => {
            refuse(format!("{name} belongs to another user, so assay cannot see who else uses it"))
        }
        lease::Answer::Failed(cause) => Err(cannot_open(path, cause)),
        lease::Answer::Unwatched(cause) => Err(no_thread(path, cause)),
        lease::Answer::Unknown => match Machine::devices_alone().unknown_loop() {
            _ if stop::is_interrupted() => Err(stop::interrupted()),
            None => Ok(None),
            Some(device) => refuse(format!("{name} may be the file behind {device}")),
        },
    }
}
