//! A file that is being made.

use super::descriptor::{cannot_open, lock};
use crate::error::{Error, ErrorKind, Result};
use crate::safety::mark::{self, Made};
use crate::stop;
use crate::target::uring::buffers::Region;
use assay_fs::{Directory, InodeId, Node, remove};
use assay_spec::{Bytes, seed};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The size of one write while filling.
const CHUNK: Bytes = Bytes::MIB;

/// A file that is being made.
#[derive(Debug)]
pub(super) struct NewFile {
    pub(super) directory: Directory,
    pub(super) name: OsString,
    /// The path as the user gave it.
    pub(super) path: PathBuf,
    /// Its inode, once it has its name.
    pub(super) named: Option<InodeId>,
    /// Whether the file stays when this value is dropped.
    pub(super) is_kept: bool,
    pub(super) writes: bool,
}

impl NewFile {
    /// Opens a file without a name or, where there is no such thing, a named one marked as begun.
    pub(super) fn open(&mut self) -> Result<File> {
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
        lock(&self.path, &file)?;
        let marked = mark::put(&file, &self.directory, &self.name, Made::Begun);
        marked.map_err(|cause| self.failed(Bytes::ZERO, cause))?;
        Ok(file)
    }

    /// Marks the file as complete and gives it its name, unless something else has that by now.
    pub(super) fn give_name(&mut self, file: &File) -> io::Result<()> {
        let marked = mark::put(file, &self.directory, &self.name, Made::Whole);
        if self.named.is_some() {
            return marked;
        }
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        let linked = marked.and_then(|()| {
            let (directory, name) = (&self.directory, &self.name);
            Ok(linkat(CWD, link, directory, name, AtFlags::SYMLINK_FOLLOW)?)
        });
        if linked.is_err() {
            mark::remove_beside(file, &self.directory, &self.name);
            return linked;
        }
        self.named = Some(Node::of_file(file)?.id);
        Ok(())
    }

    /// Returns the path where the file is or will be, with symlinks resolved.
    pub(super) fn resolved(&self) -> PathBuf {
        let directory = std::fs::read_link(self.directory.path());
        directory.map_or_else(|_| self.path.clone(), |directory| directory.join(&self.name))
    }

    pub(super) fn failed(&self, size: Bytes, cause: io::Error) -> Error {
        let name = self.path.display();
        if stop::is_interrupted() {
            let message = format!("interrupted while making {name}; it has been removed");
            let hint = "run the same command again";
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
                "check that no other target and not the run directory has this name: something \
                 else got it meanwhile"
            }
            _ => {
                "check the free space (`df`), also of the file systems below; the unfinished file \
                 has been removed"
            }
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

/// Opens the directory in which `path` is to be made.
pub(super) fn parent(path: &Path) -> Result<Directory> {
    if path.as_os_str().as_bytes().ends_with(b"/") && !path.starts_with("/dev") {
        let message = format!("{} names a directory, and there is none", path.display());
        let hint = "assay makes files, not directories: leave out the last slash";
        return Err(Error::environment("no-such-directory", message, hint));
    }
    let parent = path.parent().unwrap_or(Path::new("."));
    match Directory::open_for_new(parent) {
        Ok(directory) if path.file_name().is_some() => Ok(directory),
        Ok(_) => Err(no_directory(path, parent, None)),
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => Err(no_device(path)),
        Err(e) => match e.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported => {
                Err(cannot_open(path, e))
            }
            _ => Err(no_directory(path, parent, Some(e))),
        },
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

/// Reserves the space, so that a full file system is noticed early and extents are long.
pub(super) fn allocate(file: &File, size: Bytes) -> io::Result<()> {
    let length = libc::off_t::try_from(size.0).map_err(|_| io::ErrorKind::FileTooLarge)?;
    // SAFETY: fallocate on a descriptor that `file` keeps open, with plain numbers.
    if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // Some file systems and sandboxes cannot reserve; filling will show whether there is room.
        Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EPERM) => file.set_len(size.0),
        _ => Err(error),
    }
}

/// Fills the file with data that neither compresses nor repeats.
pub(super) fn fill(file: &File, size: Bytes) -> io::Result<()> {
    let mut region = Region::new(1, CHUNK)?;
    let mut at = Bytes::ZERO;
    while at < size {
        if stop::is_interrupted() {
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
