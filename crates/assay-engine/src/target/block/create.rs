//! Makes the file for an experiment: allocated, written once in full, marked as ours, named.
//!
//! *Invariants.* The file is never made among the device nodes of `/dev`, and never over something
//! that exists, not even a dangling symlink. It is written in full, because the unwritten extents
//! of a merely allocated file read as zeros without asking the drive. It has no name until it is
//! complete (`O_TMPFILE`), so that a program that ends before leaves nothing. Where the file system
//! cannot do that, the file is marked as begun from its first moment, and the next run makes it
//! anew.

use super::descriptor::{cannot_open, lock, set_direct};
use super::direct::check_direct;
use super::file::{mark_of, place_of, take_lease, watch_file};
use super::new_file::{NewFile, allocate, fill, parent};
use super::opened::{Opened, describe};
use crate::error::{Error, Result};
use crate::safety::layers::OpenLayers;
use crate::safety::loops::{BEFORE_WRITES, check_answers};
use crate::safety::mark::{self, Made};
use crate::safety::refusal::file_ignores_syncs;
use crate::safety::{Intent, contents};
use assay_fs::{Node, NodeKind, remove};
use assay_spec::Bytes;
use rustix::fs::{MemfdFlags, OFlags, memfd_create};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;

/// The unit of sizes, which no file system's alignment exceeds: a page.
const UNIT: u64 = 4096;

/// Begins the file `path`, with the size and for the use that `intent` gives.
pub(super) fn begin(path: &Path, intent: &Intent) -> Result<Opened> {
    let directory = parent(path)?;
    let name = path.display();
    let Some(size) = intent.size else {
        let message = format!("{name} does not exist");
        let hint = "check the spelling, or give the size of a new file: --size 1GiB";
        return Err(Error::usage("size-needed", message, hint));
    };
    let size = Bytes(size.0 / UNIT * UNIT);
    if size == Bytes::ZERO {
        let message = format!("{name} would be smaller than a page of 4KiB");
        return Err(Error::usage("size-needed", message, "give a larger --size"));
    }
    if intent.writes_if_new {
        check_answers(BEFORE_WRITES)?;
    }
    let place = directory.node().map_err(|e| cannot_open(path, e))?;
    let ignored = || file_ignores_syncs(&place, &name.to_string());
    if let (true, Some(error)) = (intent.writes_if_new, ignored()) {
        return Err(error);
    }
    let mut new = NewFile {
        directory,
        name: path.file_name().map(OsString::from).unwrap_or_default(),
        path: path.to_owned(),
        named: None,
        is_kept: false,
        writes: intent.writes_if_new,
    };
    let (node, file) = match intent.only_shown {
        // A file in memory stands for one that is only shown. It counts as on the directory's
        // device.
        true => new.directory.node().and_then(|node| Ok((node, in_memory(size)?))),
        false => {
            let file = new.open()?;
            set_direct(&file, path)?;
            allocate(&file, size).map_err(|cause| new.failed(size, cause))?;
            Node::of_file(&file).map(|node| (node, file))
        }
    }
    .map_err(|e| cannot_open(path, e))?;
    let mut opened = describe(path, &node, file)?;
    opened.identity.resolved = new.resolved();
    opened.created = true;
    opened.new = (!intent.only_shown).then_some(new);
    Ok(opened)
}

impl Opened {
    /// Gives a new file its contents, its mark and its name. Does nothing to an existing one.
    ///
    /// # Errors
    /// If there is no room, the name is taken by now, or Ctrl-C was pressed; then there is no file.
    pub fn make(&mut self) -> Result<()> {
        let Some(new) = self.new.as_mut().filter(|new| !new.is_kept) else { return Ok(()) };
        let failed = |cause| new.failed(self.capacity, cause);
        let below = OpenLayers::below(new.directory.node().map_err(failed)?)?;
        fill(&self.file, self.capacity).map_err(failed)?;
        below.flush(failed)?;
        check_direct(self)?;
        let Some(new) = self.new.as_mut() else { return Ok(()) };
        lock(&new.path, &self.file)?;
        if new.writes {
            // The lease is taken before anybody can find the file.
            self.lease = take_lease(&new.path, &self.file)?;
        }
        let named = new.give_name(&self.file);
        named.map_err(|cause| new.failed(self.capacity, cause))?;
        let path = new.path.clone();
        let node = Node::of_file(&self.file).map_err(|e| cannot_open(&path, e))?;
        if new.writes {
            self.watch = watch_file(&path, &node)?;
        }
        if new.writes {
            new.is_kept = true;
            return Ok(());
        }
        self.file = node.open(OFlags::RDONLY).map_err(|e| cannot_open(&path, e))?;
        // The lock belongs to the open file description, which ends with its last descriptor.
        drop(node);
        set_direct(&self.file, &path)?;
        lock(&path, &self.file)?;
        new.is_kept = true;
        Ok(())
    }

    /// Removes a file that [`Opened::make`] made, because the run did not begin.
    pub fn unmake(&mut self) {
        // The file is opened again to remove it, which waits for a lease.
        self.watch = None;
        self.lease = None;
        if let Some(new) = &mut self.new {
            new.is_kept = false;
            mark::remove_beside(&self.file, &new.directory, &new.name);
        }
        self.new = None;
    }
}

/// Returns `true` if `node`, a file of `size` bytes, is an unfinished one of a killed run, which
/// may be made anew: it is marked as begun, and holds nothing that assay did not write. If its mark
/// could be that of a removed file, it must begin with what assay wrote.
pub(super) fn is_half_made(node: &Node, size: u64, intent: &Intent) -> bool {
    let Ok(file) = node.open(OFlags::RDONLY) else { return false };
    let Some(mark) = mark_of(node, &file) else { return false };
    let begins_sealed = || contents::begins_sealed(&file).unwrap_or(false);
    let is_ours = || {
        (!mark.is_by_number || begins_sealed())
            && contents::are_all_ours(&file, size).unwrap_or(false)
    };
    intent.size.is_some()
        && mark.made == Made::Begun
        && lock(Path::new(""), &file).is_ok()
        && is_ours()
}

/// Removes an unfinished file and its sidecar.
pub(super) fn remove_half_made(node: &Node) -> io::Result<()> {
    debug_assert!(matches!(node.kind, NodeKind::File(_)));
    let (directory, name) = place_of(node).ok_or(io::ErrorKind::NotFound)?;
    let directory = File::open(directory)?;
    let file = node.open(OFlags::RDONLY)?;
    mark::remove_beside(&file, &directory, &name);
    remove(directory, &name, node.id)
}

/// Returns a file of this size that takes no space.
fn in_memory(size: Bytes) -> io::Result<File> {
    let file = File::from(memfd_create("assay", MemfdFlags::CLOEXEC)?);
    file.set_len(size.0)?;
    Ok(file)
}
