//! Directories held by a descriptor: files are made, read and removed below them.
//!
//! *Invariants.* Below a directory no symlink is followed and no mount is crossed, so nobody who
//! may write in it can lead assay out of it. A file that is opened for writing has no other
//! name.

use crate::node::{InodeId, Node, NodeKind};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags, fcntl_setfl,
    mkdirat, openat2, statat, statx, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// How often a lookup is tried: it fails with `EAGAIN` if a rename on the way disturbs it.
const TRIES: u32 = 100;

/// The file systems that show objects of the kernel and keep no files, by their `f_type`
/// (`linux/magic.h`): what is made there, such as a control group or a queue, is no directory or
/// file to work in.
const WITHOUT_FILES: [u32; 20] = [
    0x0000_1cd1, // devpts
    0x0000_9fa0, // proc
    0x0027_e0eb, // cgroup
    0x0765_5821, // resctrl
    0x1980_0202, // mqueue
    0x4249_4e4d, // binfmt_misc
    0x6165_676c, // pstore
    0x6265_6570, // configfs
    0x6265_6572, // sysfs
    0x6367_7270, // cgroup2
    0x6462_6720, // debugfs
    0x6573_5543, // fusectl
    0x6759_6969, // rpc_pipefs
    0x6c6f_6f70, // binder
    0x6e66_7364, // nfsd
    0x7363_6673, // securityfs
    0x7472_6163, // tracefs
    0xcafe_4a11, // bpf
    0xde5e_81e4, // efivarfs
    0xf97c_ff8c, // selinuxfs
];

/// A directory that is looked up once and then held by a descriptor.
#[derive(Debug)]
pub struct Directory {
    handle: OwnedFd,
    /// The path as its user gave it, for messages only.
    path: PathBuf,
}

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else: a symlink, device, FIFO or socket.
    Other,
}

/// An entry of a directory.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// Its kind.
    pub kind: EntryKind,
    /// The number of its inode.
    pub inode: u64,
}

impl Directory {
    /// Checks that what is made in it can be replaced and removed.
    ///
    /// # Errors
    /// If it is append-only, or a system call fails.
    pub fn check_removable(&self) -> io::Result<()> {
        let found = statx(self, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
        match found.stx_attributes.contains(StatxAttributes::APPEND) {
            true => Err(io::Error::other("nothing can be removed from it: it is append-only")),
            false => Ok(()),
        }
    }

    /// Opens the directory at `path`. Follows symlinks, because a user chose the path.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn open(path: &Path) -> io::Result<Directory> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let node = Node::find(path)?;
        let handle = node.open(OFlags::RDONLY | OFlags::DIRECTORY)?.into();
        Ok(Directory { handle, path: path.to_owned() })
    }

    /// Opens the directory at `path` like [`Directory::open`], to make something in it.
    ///
    /// # Errors
    /// Also if it holds device nodes, because a misspelt device must not become a file, or if its
    /// file system keeps no files (`Unsupported`).
    pub fn open_for_new(path: &Path) -> io::Result<Directory> {
        let directory = Directory::open(path)?;
        let system = rustix::fs::fstatfs(&directory.handle)?;
        if WITHOUT_FILES.contains(&(system.f_type as u32)) {
            let what = "this file system has objects of the kernel, and no files";
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        if directory.is_among_devices()? {
            let what = "this file system has device nodes, and no files";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        Ok(directory)
    }

    /// Returns `true` if device nodes live here. Another file system below `/dev`, such as the one
    /// in memory at `/dev/shm`, does not count.
    fn is_among_devices(&self) -> io::Result<bool> {
        let of = |path: &str| Node::find(Path::new(path)).map(|node| node.id.device).ok();
        let devices = of("/dev");
        let is_below = std::fs::read_link(self.path()).is_ok_and(|path| path.starts_with("/dev"));
        // If `/dev` is a file system of its own, all of it counts, wherever else it is mounted.
        Ok(devices == Some(self.id()?.device) && (is_below || devices != of("/")))
    }

    /// Opens the directory `name` below this one.
    ///
    /// # Errors
    /// If a system call fails; also if a symlink or a mount is on the way.
    pub fn below(&self, name: impl AsRef<Path>) -> io::Result<Directory> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let handle = self.open_beneath(name.as_ref(), flags)?;
        Ok(Directory { handle, path: self.named(name) })
    }

    /// Makes the directory `name` below this one, which must not exist.
    ///
    /// # Errors
    /// If a system call fails; also if by then the name leads to a directory that is not empty.
    pub fn make(&self, name: impl AsRef<Path>, mode: u32) -> io::Result<Directory> {
        let name = name.as_ref();
        let (parent, last) = self.parent_of(name)?;
        mkdirat(parent.as_ref().unwrap_or(self), last, Mode::from_raw_mode(mode))?;
        let opened = self.below(name).and_then(|made| Ok((made.entries()?.is_empty(), made)));
        let (is_empty, made) = opened.inspect_err(|_| {
            // A umask can make a directory that its maker cannot open. Only an empty one goes.
            let _ = unlinkat(parent.as_ref().unwrap_or(self), last, AtFlags::REMOVEDIR);
        })?;
        match is_empty {
            true => Ok(made),
            false => Err(io::Error::other("it was replaced as soon as it was made")),
        }
    }

    /// Opens the directory `name` below this one, making the parts of the path that are missing.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn make_all(&self, name: &Path) -> io::Result<Directory> {
        let opened = self.below(if name.as_os_str().is_empty() { Path::new(".") } else { name });
        match opened {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        let last = name.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        self.make_all(name.parent().unwrap_or(Path::new("")))?.make(last, 0o777)
    }

    /// Makes the file `name`, which must not exist, and opens it for reading and writing.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn create(&self, name: impl AsRef<Path>) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        Ok(self.open_beneath(name.as_ref(), flags)?.into())
    }

    /// Opens the regular file `name`; `flags` are those of `open(2)`.
    ///
    /// # Errors
    /// If a system call fails; also if it is not a regular file, or is to be written and has other
    /// names.
    pub fn open_file(&self, name: impl AsRef<Path>, flags: OFlags) -> io::Result<File> {
        // Without it, opening a FIFO waits for the other end.
        let handle = self.open_beneath(name.as_ref(), flags | OFlags::NONBLOCK)?;
        let file = File::from(handle);
        let found = Node::of_file(&file)?;
        let is_written = flags.intersects(OFlags::WRONLY | OFlags::RDWR);
        let what = match found.kind {
            NodeKind::File(_) if is_written && found.names != 1 => "it has other names, too",
            NodeKind::File(_) => {
                fcntl_setfl(&file, flags)?;
                return Ok(file);
            }
            _ => "it is not a regular file",
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, what))
    }

    /// Removes the file `name`.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn remove_file(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let (parent, last) = self.parent_of(name.as_ref())?;
        Ok(unlinkat(parent.as_ref().unwrap_or(self), last, AtFlags::empty())?)
    }

    /// Removes the empty directory `name`.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(self, name, AtFlags::REMOVEDIR)?)
    }

    /// Returns the entries in the order in which the file system lists them.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let found = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(found.st_mode)
                }
                kind => kind,
            };
            let kind = match kind {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Directory,
                _ => EntryKind::Other,
            };
            let name = OsString::from_vec(name.to_bytes().to_vec());
            entries.push(Entry { name, kind, inode: entry.ino() });
        }
        Ok(entries)
    }

    /// Checks that the directory still has a name.
    ///
    /// # Errors
    /// `NotFound` if it has been removed: no file in it can be found any more.
    pub fn check(&self) -> io::Result<()> {
        match self.node()?.names {
            0 => Err(io::Error::new(io::ErrorKind::NotFound, "the directory has been removed")),
            _ => Ok(()),
        }
    }

    /// Returns the identity of its inode.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn id(&self) -> io::Result<InodeId> {
        Ok(self.node()?.id)
    }

    /// Writes its entries to disk (`fsync`), so that they survive a crash.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.handle)?)
    }

    /// Duplicates the descriptor.
    ///
    /// # Errors
    /// If too many descriptors are open.
    pub fn try_clone(&self) -> io::Result<Directory> {
        Ok(Directory { handle: self.handle.try_clone()?, path: self.path.clone() })
    }

    /// Returns a path that leads this process to the directory, whatever its names are, as long as
    /// this value lives. A child may begin in it, but does not find it later.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }

    /// Returns the path of `name` in this directory as the user would write it, for messages.
    pub fn named(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Returns `true` if anything has the name `name` below this directory.
    pub fn has(&self, name: impl AsRef<Path>) -> bool {
        let found = self.parent_of(name.as_ref()).and_then(|(parent, last)| {
            Ok(statat(parent.as_ref().unwrap_or(self), last, AtFlags::SYMLINK_NOFOLLOW)?)
        });
        found.is_ok()
    }

    /// Describes the inode of the directory.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn node(&self) -> io::Result<Node> {
        Node::of(self.handle.try_clone()?)
    }

    /// Splits `name` into the directory that holds it, `None` if that is this one, and the name
    /// there.
    fn parent_of<'n>(&self, name: &'n Path) -> io::Result<(Option<Directory>, &'n OsStr)> {
        let last = name.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = name.parent().filter(|parent| !parent.as_os_str().is_empty());
        Ok((parent.map(|parent| self.below(parent)).transpose()?, last))
    }

    fn open_beneath(&self, name: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let mode = if flags.contains(OFlags::CREATE) { 0o666 } else { 0 };
        let (flags, mode) = (flags | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::from_raw_mode(mode));
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        for _ in 0..TRIES {
            match openat2(&self.handle, name, flags, mode, resolve) {
                Err(Errno::AGAIN) => {}
                Err(Errno::NOSYS) => {
                    let what = "the kernel or its sandbox (seccomp) lacks the system call openat2";
                    return Err(io::Error::other(what));
                }
                opened => return Ok(opened?),
            }
        }
        Err(Errno::AGAIN.into())
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::CWD;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Makes two directories side by side and opens the first; the second is somebody else's.
    fn two() -> (tempfile::TempDir, Directory, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
        fs::create_dir(&ours).unwrap();
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("file"), "mine").unwrap();
        let directory = Directory::open(&ours).unwrap();
        (dir, directory, theirs)
    }

    #[test]
    fn no_link_leads_out() {
        let (dir, directory, theirs) = two();
        let ours = dir.path().join("ours");
        symlink(&theirs, ours.join("sub")).unwrap();
        symlink(theirs.join("file"), ours.join("link")).unwrap();
        symlink(theirs.join("new"), ours.join("dangling")).unwrap();
        fs::hard_link(theirs.join("file"), ours.join("hard")).unwrap();
        assert!(directory.below("sub").is_err());
        assert!(directory.below("../theirs").is_err());
        assert!(directory.make("sub/new", 0o700).is_err());
        assert!(directory.make_all(Path::new("sub/new")).is_err());
        assert!(directory.create("sub/new").is_err());
        assert!(directory.create("dangling").is_err());
        assert!(directory.remove_file("sub/file").is_err());
        for name in ["link", "sub/file", "hard"] {
            assert!(directory.open_file(name, OFlags::RDWR).is_err(), "{name}");
        }
        assert!(directory.open_file("hard", OFlags::RDONLY).is_ok());
        let left: Vec<_> = fs::read_dir(&theirs).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["file"]);
        assert_eq!(fs::read_to_string(theirs.join("file")).unwrap(), "mine");
    }

    #[test]
    fn nothing_is_made_among_the_objects_of_the_kernel() {
        for path in ["/proc/self", "/sys"] {
            let error = Directory::open_for_new(Path::new(path)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{path}");
        }
    }

    #[test]
    fn it_stays_what_it_was_when_its_name_moves() {
        let (dir, directory, theirs) = two();
        fs::rename(dir.path().join("ours"), dir.path().join("moved")).unwrap();
        symlink(&theirs, dir.path().join("ours")).unwrap();
        drop(directory.make_all(Path::new("a/b")).unwrap().create("file").unwrap());
        assert!(dir.path().join("moved/a/b/file").exists());
        assert!(directory.path().join("a/b/file").exists());
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1);
        directory.check().unwrap();
        directory.remove_file("a/b/file").unwrap();
        fs::remove_dir_all(dir.path().join("moved")).unwrap();
        assert_eq!(directory.check().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let (dir, directory, _) = two();
        let path = dir.path().join("ours/pipe");
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        fs::create_dir(dir.path().join("ours/sub")).unwrap();
        for name in ["pipe", "sub"] {
            assert!(directory.open_file(name, OFlags::RDONLY).is_err(), "{name}");
        }
        let mut kinds: Vec<_> = directory.entries().unwrap().iter().map(|e| e.kind).collect();
        kinds.sort_by_key(|kind| *kind as u8);
        assert_eq!(kinds, [EntryKind::Directory, EntryKind::Other]);
    }
}
