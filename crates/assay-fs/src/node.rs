//! One inode, held by a descriptor: the inode that was checked is the one that is opened.
//!
//! A name can be given to another file between two system calls. So a path is looked up once, with
//! `O_PATH`, which neither reads nor writes nor wakes a device. The inode's kind, its contents and
//! the descriptor for writing all come through that first descriptor.
//!
//! *Invariant.* Inodes to check are looked up only in [`Node::find`] and [`Node::find_at`]. A name
//! is removed only after nobody else can reach it and it has been checked again.

use crate::device::DeviceNumber;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, StatxFlags, makedev, openat, renameat_with,
    statx, unlinkat,
};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The identity of an inode: its file system, its number, and when it was made.
///
/// The number of a removed file is used again; the birth time tells the two apart, where the file
/// system keeps one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InodeId {
    /// The device number of the file system.
    pub device: DeviceNumber,
    /// The identity of the file system (`f_fsid`), 0 if it has none. A snapshot on btrfs has one of
    /// its own, though it may come to have the device number that the original had.
    pub file_system: u64,
    /// The inode number.
    pub inode: u64,
    /// The birth time in seconds and nanoseconds, where the file system keeps one.
    pub born: Option<(i64, u32)>,
}

impl InodeId {
    /// Returns `true` if both are the same inode. Birth times count only if both sides have one.
    pub fn is(&self, other: &InodeId) -> bool {
        let born = self.born.is_none() || other.born.is_none() || self.born == other.born;
        let place = |id: &InodeId| (id.device, id.file_system, id.inode);
        place(self) == place(other) && born
    }
}

impl fmt::Display for InodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {}:{} ", self.device.major, self.device.minor)?;
        write!(f, "file system {:x} ", self.file_system)?;
        write!(f, "inode {} born ", self.inode)?;
        match self.born {
            Some((seconds, nanoseconds)) => write!(f, "{seconds}.{nanoseconds:09}"),
            None => f.write_str("unknown"),
        }
    }
}

/// The kind of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A regular file, with its size in bytes.
    File(u64),
    /// A block device.
    Block(DeviceNumber),
    /// A directory.
    Directory,
    /// Anything else: a symlink, character device, FIFO or socket.
    Other,
}

/// An inode that is looked up once and then held by a descriptor.
#[derive(Debug)]
pub struct Node {
    handle: OwnedFd,
    /// Its identity.
    pub id: InodeId,
    /// Its kind.
    pub kind: NodeKind,
    /// The number of its names (hard links).
    pub names: u32,
    /// When its contents last changed, in seconds and nanoseconds.
    pub modified: (i64, u32),
}

impl Node {
    /// Finds the inode that `path` leads to, following symlinks.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn find(path: &Path) -> io::Result<Node> {
        Node::find_at(rustix::fs::CWD, path, OFlags::empty())
    }

    /// Finds the inode at `path`, relative to `directory`; `flags` are added to `O_PATH`.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn find_at(directory: impl AsFd, path: &Path, flags: OFlags) -> io::Result<Node> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | flags;
        Node::of(openat(directory, path, flags, Mode::empty())?)
    }

    /// Describes the inode behind a descriptor.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn of(handle: OwnedFd) -> io::Result<Node> {
        let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let found = statx(&handle, c"", AtFlags::EMPTY_PATH, mask)?;
        let has_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
        let number = |major: u32, minor: u32| DeviceNumber { major, minor };
        let kind = match FileType::from_raw_mode(found.stx_mode.into()) {
            FileType::RegularFile => NodeKind::File(found.stx_size),
            FileType::BlockDevice => {
                NodeKind::Block(number(found.stx_rdev_major, found.stx_rdev_minor))
            }
            FileType::Directory => NodeKind::Directory,
            _ => NodeKind::Other,
        };
        let file_system = rustix::fs::fstatvfs(&handle).map_or(0, |system| system.f_fsid);
        let id = InodeId {
            file_system,
            device: number(found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            born: has_birth.then_some((found.stx_btime.tv_sec, found.stx_btime.tv_nsec)),
        };
        let modified = (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec);
        Ok(Node { handle, id, kind, names: found.stx_nlink, modified })
    }

    /// Describes the inode behind an open file.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn of_file(file: &File) -> io::Result<Node> {
        Node::of(file.as_fd().try_clone_to_owned()?)
    }

    /// Describes this inode as it is now. An overlay gives a file another identity when it copies
    /// it to its upper layer, e.g. for a new name.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn again(&self) -> io::Result<Node> {
        Node::of(self.handle.try_clone()?)
    }

    /// Opens this inode, whatever its names are now.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn open(&self, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
        Ok(openat(rustix::fs::CWD, self.link(), flags, Mode::empty())?.into())
    }

    /// Returns the path that it has now, as this process sees it.
    pub fn path(&self) -> io::Result<PathBuf> {
        std::fs::read_link(self.link())
    }

    /// Returns a path that leads this process to the inode through its descriptor.
    pub fn link(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }

    /// Returns `true` if both are the same inode or, whatever their nodes, the same device.
    pub fn is_same(&self, other: &Node) -> bool {
        match (self.kind, other.kind) {
            (NodeKind::Block(a), NodeKind::Block(b)) => a == b,
            _ => self.id.is(&other.id),
        }
    }
}

impl AsFd for Node {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// The first part of the name of what is being removed.
const GONE: &str = ".assay-gone-";

/// Returns `true` if [`remove`] has given the file at `path` its name. A process that was killed
/// leaves it.
pub fn is_going(path: &Path) -> bool {
    let digits = path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_prefix(GONE));
    digits.is_some_and(|d| d.len() == 32 && d.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Removes `name` from `directory` if it leads to the inode `id`; otherwise leaves everything as it
/// was. A directory is removed only if it is empty.
///
/// Changes the name to a random one first, so that nobody can exchange it before the removal.
///
/// # Errors
/// If a system call fails; also if the name leads elsewhere by now.
pub fn remove(directory: impl AsFd, name: &OsStr, id: InodeId) -> io::Result<()> {
    let found = Node::find_at(&directory, Path::new(name), OFlags::NOFOLLOW)?;
    let elsewhere = || io::Error::other("the name leads to another file now");
    if !found.id.is(&id) {
        return Err(elsewhere());
    }
    let flags = match found.kind {
        NodeKind::Directory => AtFlags::REMOVEDIR,
        _ => AtFlags::empty(),
    };
    let hidden = random_name(GONE)?;
    let keep = RenameFlags::NOREPLACE;
    match renameat_with(&directory, name, &directory, &hidden, keep) {
        Ok(()) => {}
        // FUSE and some network file systems cannot rename without replacing, and a full one has no
        // room for a longer name.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOSPC | Errno::DQUOT) => {
            return Ok(unlinkat(&directory, name, flags)?);
        }
        Err(e) => return Err(e.into()),
    }
    let remove_moved = || {
        let moved = Node::find_at(&directory, Path::new(&hidden), OFlags::NOFOLLOW)?;
        // The new name may have given it another identity.
        match moved.id.is(&found.again()?.id) {
            true => Ok(unlinkat(&directory, &hidden, flags)?),
            false => Err(elsewhere()),
        }
    };
    let removed = remove_moved();
    if removed.is_err() {
        renameat_with(&directory, &hidden, &directory, name, keep)?;
    }
    removed
}

/// Returns `prefix` followed by 32 random digits: a name that nobody can predict.
///
/// # Errors
/// If the system gives no random bytes.
pub fn random_name(prefix: &str) -> io::Result<OsString> {
    let mut bytes = [0_u8; 16];
    // A filter of system calls (seccomp) may refuse `getrandom`.
    if getrandom(&mut bytes[..], GetRandomFlags::empty()) != Ok(bytes.len()) {
        let mut device = Node::find(Path::new("/dev/urandom"))?.open(OFlags::RDONLY)?;
        if device.metadata()?.rdev() != makedev(1, 9) {
            return Err(io::Error::other("/dev/urandom is another node"));
        }
        device.read_exact(&mut bytes)?;
    }
    Ok(format!("{prefix}{:032x}", u128::from_ne_bytes(bytes)).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_node_stays_what_it_was_when_its_name_moves() {
        let dir = tempfile::tempdir().unwrap();
        let (name, other) = (dir.path().join("name"), dir.path().join("other"));
        fs::write(&name, "first").unwrap();
        fs::write(&other, "second").unwrap();
        let node = Node::find(&name).unwrap();
        fs::rename(&other, &name).unwrap();
        let mut text = String::new();
        node.open(OFlags::RDONLY).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), node.kind), ("first", NodeKind::File(5)));
        assert!(!Node::find(&name).unwrap().is_same(&node));
    }

    #[test]
    fn only_the_inode_that_was_meant_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let at = File::open(dir.path()).unwrap();
        let name = dir.path().join("name");
        fs::write(&name, "first").unwrap();
        let first = Node::find(&name).unwrap();
        fs::rename(&name, dir.path().join("moved")).unwrap();
        fs::write(&name, "second").unwrap();
        assert!(remove(&at, OsStr::new("name"), first.id).is_err());
        assert_eq!(fs::read_to_string(&name).unwrap(), "second");
        remove(&at, OsStr::new("moved"), first.id).unwrap();
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(left, [name]);
    }

    #[test]
    fn another_birth_makes_another_inode_and_an_unknown_one_does_not() {
        let device = DeviceNumber { major: 8, minor: 1 };
        let id = |born| InodeId { device, file_system: 0xab, inode: 7, born };
        assert!(id(Some((1, 2))).is(&id(Some((1, 2)))));
        assert!(!id(Some((1, 2))).is(&id(Some((1, 3)))));
        assert!(id(Some((1, 2))).is(&id(None)));
        assert!(!id(None).is(&InodeId { inode: 8, ..id(None) }));
        assert!(!id(None).is(&InodeId { file_system: 0xac, ..id(None) }), "a snapshot");
        let text = "device 8:1 file system ab inode 7 born 5.000000006";
        assert_eq!(id(Some((5, 6))).to_string(), text);
    }
}
