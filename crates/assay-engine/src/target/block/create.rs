//! Makes the file for an experiment: allocated, written once in full, marked as ours, named.
//!
//! *Invariants.* The file is never made among the device nodes of `/dev`, and never over something
//! that exists, not even a dangling symlink. It is written in full, because the unwritten extents
//! of a merely allocated file read as zeros without asking the drive. It has no name until it is
//! complete (`O_TMPFILE`), so that a program that ends before leaves nothing. Where the file system
//! cannot do that, the file is marked as begun from its first moment, and the next run makes it
//! anew.

use super::file::{place_of, stage_of, take_lease, watch_file};
use super::{Opened, cannot_open, describe, set_direct};
use crate::error::{Error, ErrorKind, Result};
use crate::load_loop;
use crate::safety::mark::{self, Stage};
use crate::safety::{Intent, contents};
use crate::target::uring::buffers::Region;
use assay_fs::{Directory, InodeId, Node, NodeKind, remove};
use assay_spec::{Bytes, seed};
use rustix::fs::{AtFlags, CWD, MemfdFlags, Mode, OFlags, linkat, memfd_create, openat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The unit of sizes, which no file system's alignment exceeds: a page.
const UNIT: u64 = 4096;
/// The size of one write while filling.
const CHUNK: Bytes = Bytes::MIB;

/// A file that is being made.
#[derive(Debug)]
pub(super) struct NewFile {
    directory: Directory,
    name: OsString,
    /// The path as the user gave it.
    path: PathBuf,
    /// Its inode, once it has its name.
    named: Option<InodeId>,
    /// Whether the file stays when this value is dropped.
    is_kept: bool,
    writes: bool,
}

/// Begins the file `path`, with the size and for the use that `intent` gives.
pub(super) fn begin(path: &Path, intent: &Intent) -> Result<Opened> {
    let directory = parent(path)?;
    let name = path.display();
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
        let filled = fill(&self.file, self.capacity);
        filled.map_err(|cause| new.failed(self.capacity, cause))?;
        self.check_direct()?;
        let Some(new) = self.new.as_mut() else { return Ok(()) };
        super::lock(&new.path, &self.file)?;
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
        super::lock(&path, &self.file)?;
        new.is_kept = true;
        Ok(())
    }

    /// Removes a file that [`Opened::make`] made, because the run did not begin.
    pub fn unmake(&mut self) {
        if let Some(new) = &mut self.new {
            new.is_kept = false;
            mark::remove_beside(&self.file, &new.directory, &new.name);
        }
        self.new = None;
    }
}

impl NewFile {
    /// Opens a file without a name or, where there is no such thing, a named one marked as begun.
    fn open(&mut self) -> Result<File> {
        let mode = Mode::from_raw_mode(0o666);
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        match openat(&self.directory, ".", flags | OFlags::TMPFILE, mode) {
            Ok(file) => {
                // The file could not get its name once it is complete, so refuse early.
                if Node::find_at(&self.directory, self.name.as_ref(), OFlags::NOFOLLOW).is_ok() {
                    return Err(cannot_open(&self.path, Errno::EXIST.into()));
                }
                Ok(file.into())
            }
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL | Errno::NOSYS) => {
                self.open_named(flags, mode)
            }
            Err(e) => Err(cannot_open(&self.path, e.into())),
        }
    }

    fn open_named(&mut self, flags: OFlags, mode: Mode) -> Result<File> {
        let flags = flags | OFlags::CREATE | OFlags::EXCL;
        let made: OwnedFd = openat(&self.directory, &self.name, flags, mode)
            .map_err(|e| cannot_open(&self.path, e.into()))?;
        let file = File::from(made);
        self.named = Node::of_file(&file).ok().map(|node| node.id);
        super::lock(&self.path, &file)?;
        let marked = mark::put(&file, &self.directory, &self.name, Stage::Begun);
        marked.map_err(|cause| self.failed(Bytes::ZERO, cause))?;
        Ok(file)
    }

    /// Marks the file as complete and gives it its name, unless something else has that by now.
    fn give_name(&mut self, file: &File) -> io::Result<()> {
        mark::put(file, &self.directory, &self.name, Stage::Whole)?;
        if self.named.is_some() {
            return Ok(());
        }
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        let linked = linkat(CWD, link, &self.directory, &self.name, AtFlags::SYMLINK_FOLLOW);
        if let Err(e) = linked {
            mark::remove_beside(file, &self.directory, &self.name);
            return Err(e.into());
        }
        self.named = Some(Node::of_file(file)?.id);
        Ok(())
    }

    /// Returns the path where the file is or will be, with symlinks resolved.
    fn resolved(&self) -> PathBuf {
        let directory = std::fs::read_link(self.directory.path());
        directory.map_or_else(|_| self.path.clone(), |directory| directory.join(&self.name))
    }

    fn failed(&self, size: Bytes, cause: io::Error) -> Error {
        let name = self.path.display();
        if load_loop::is_interrupted() {
            let message = format!("interrupted while making {name}; it has been removed");
            let hint = "the same command begins again";
            return Error {
                kind: ErrorKind::Interrupted,
                ..Error::usage("interrupted", message, hint)
            };
        }
        let message = match size {
            Bytes::ZERO => format!("cannot make {name}"),
            size => format!("cannot make {name} of {size}"),
        };
        let hint = match cause.kind() {
            io::ErrorKind::AlreadyExists => {
                "something got this name meanwhile: is it named twice, or the run directory, too?"
            }
            _ => "see `df` for the space that is left; what was begun has been removed",
        };
        Error::environment("target-create", message, hint).caused_by(cause)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let (Some(id), false) = (self.named, self.is_kept) {
            let node = Node::find_at(&self.directory, self.name.as_ref(), OFlags::NOFOLLOW);
            let file = node.and_then(|node| node.open(OFlags::RDONLY));
            let _ = file.map(|file| mark::remove_beside(&file, &self.directory, &self.name));
            // The error that led here matters more than one from cleaning up.
            let _ = remove(&self.directory, &self.name, id);
        }
    }
}

/// Returns `true` if `node`, a file of `size` bytes, is an unfinished one of a killed run, which
/// may be made anew: it is marked as begun, and holds nothing that assay did not write.
pub(super) fn is_half_made(node: &Node, size: u64, intent: &Intent) -> bool {
    let Ok(file) = node.open(OFlags::RDONLY) else { return false };
    let is_ours = || contents::are_all_ours(&file, size).unwrap_or(false);
    intent.size.is_some()
        && stage_of(node, &file) == Some(Stage::Begun)
        && super::lock(Path::new(""), &file).is_ok()
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

/// Opens the directory in which `path` is to be made.
pub(super) fn parent(path: &Path) -> Result<Directory> {
    let parent = path.parent().unwrap_or(Path::new("."));
    match Directory::open_for_new(parent) {
        Ok(directory) if path.file_name().is_some() => Ok(directory),
        Ok(_) => Err(no_directory(path, parent, None)),
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => Err(no_device(path)),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Err(cannot_open(path, e)),
        Err(e) => Err(no_directory(path, parent, Some(e))),
    }
}

fn no_device(path: &Path) -> Error {
    let message = format!("there is no device {}", path.display());
    let hint = "`assay devices` lists the devices of this machine";
    Error::environment("no-such-device", message, hint)
}

fn no_directory(path: &Path, parent: &Path, cause: Option<io::Error>) -> Error {
    // A misspelt directory under /dev is a misspelt device.
    if path.starts_with("/dev") {
        return no_device(path);
    }
    let message = format!("{} is not in an existing directory", path.display());
    let hint = format!("make {} first, or check the spelling", parent.display());
    let error = Error::environment("no-such-directory", message, hint);
    match cause {
        Some(cause) => error.caused_by(cause),
        None => error,
    }
}

/// Returns a file of this size that takes no space.
fn in_memory(size: Bytes) -> io::Result<File> {
    let file = File::from(memfd_create("assay", MemfdFlags::CLOEXEC)?);
    file.set_len(size.0)?;
    Ok(file)
}

/// Reserves the space, so that a full file system is noticed early and extents are long.
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

/// Fills the file with data that neither compresses nor repeats.
fn fill(file: &File, size: Bytes) -> io::Result<()> {
    let mut region = Region::new(1, CHUNK)?;
    let mut at = Bytes::ZERO;
    while at < size {
        if load_loop::is_interrupted() {
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
