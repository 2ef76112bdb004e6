//! An open target, and its description.

use super::descriptor::cannot_open;
use super::new_file::NewFile;
use crate::error::{Error, Result};
use crate::safety::identity;
use crate::safety::layers::OpenLayers;
use crate::safety::lease::Lease;
use crate::safety::sysfs::Device;
use crate::safety::watch::Watch;
use crate::safety::writes::{Ways, WriteCount};
use assay_fs::{Node, NodeKind};
use assay_spec::Bytes;
use rustix::fs::seek;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The kind of a real target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file on some file system.
    File,
    /// A whole disk, a partition, or a device stacked on others.
    BlockDevice,
}

/// The identity of a device or file, for the run directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its known properties by key: `model` and `serial` of the disk (for a file, of the disk that
    /// it lies on), `wwn`, `inode`, the store `behind` a loop device …
    pub keys: Vec<(&'static str, String)>,
    /// The capacity of the target.
    pub size: Bytes,
    /// The path as the user gave it.
    pub path: PathBuf,
    /// The path with all symlinks resolved.
    pub resolved: PathBuf,
    /// The kernel's name of the device, e.g. `nvme0n1`, where known.
    pub kernel_name: Option<String>,
    /// The release of the running kernel.
    pub kernel_release: String,
}

impl Identity {
    /// Returns the value under `key`, if it is known.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.keys.iter().find(|(k, _)| *k == key).map(|(_, value)| value.as_str())
    }
}

/// An open target, ready for I/O with `O_DIRECT`.
#[derive(Debug)]
pub struct Opened {
    /// A watch that notices new users of a target that is written to. It is the first field, so
    /// that it ends before `file` is closed and does not take that for the end of another writer.
    pub(super) watch: Option<Watch>,
    /// The file; for a device that will be written to, also the exclusive claim on it.
    pub file: File,
    /// Its addressable size.
    pub capacity: Bytes,
    /// The alignment of requests: they start and end on multiples of it.
    pub granularity: Bytes,
    /// Whether it is a file or a block device.
    pub kind: Kind,
    /// Its identity.
    pub identity: Identity,
    /// Whether the file is new: [`Opened::make`] gives it its contents and its name.
    pub created: bool,
    /// Whether it is a file that assay did not make, and so will not write to.
    pub is_stranger: bool,
    /// A lease that keeps other writers away from a file that is written to.
    pub(super) lease: Option<Lease>,
    /// Claims on devices that share its bytes and that its own claim does not cover.
    pub(super) _claims: Vec<File>,
    /// The state of a new file that is not complete yet.
    pub(super) new: Option<NewFile>,
    /// For a device that will be written to: the kernel's counts of writes, as assay last saw them.
    pub(super) written: Mutex<Option<(Arc<Ways>, WriteCount)>>,
}

impl Opened {
    /// Returns a path that leads to it through its descriptor.
    pub(crate) fn link(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// Returns its present length, if that can be determined.
    pub(crate) fn length_now(&self) -> Option<Bytes> {
        (&self.file).seek(SeekFrom::End(0)).ok().map(Bytes)
    }

    /// Opens the devices that it lies on, to flush them when it has been written to.
    pub(crate) fn open_layers(&self) -> Result<OpenLayers> {
        let node = Node::of_file(&self.file).map_err(|e| cannot_open(&self.identity.path, e))?;
        OpenLayers::below(node)
    }

    /// Checks that nobody has freed blocks of a file, as reads of them do not reach the drive.
    pub(crate) fn check_blocks(&self) -> Result<()> {
        let hole = match self.kind {
            Kind::File => first_hole(&self.file, self.capacity.0),
            Kind::BlockDevice => None,
        };
        let Some(hole) = hole else { return Ok(()) };
        let path = self.identity.path.display();
        let message = format!("{path} lost its block at byte {hole} while it was measured");
        let hint = "keep other programs from the file, and measure again: reads of the hole do not \
                    reach the disk";
        Err(Error::environment("file-has-holes", message, hint))
    }
}

/// Refuses a file that was not written from end to end, because the file system answers reads of
/// the rest without asking the disk.
pub(super) fn refuse_holes(path: &Path, size: u64, file: &File) -> Result<()> {
    let Some(hole) = first_hole(file, size) else { return Ok(()) };
    let message = format!("{} was never written at byte {hole}", path.display());
    let hint = "let assay make the file, with a new name and --size, or copy it with `cp \
                --sparse=never`: reads of unwritten parts do not reach the disk";
    Err(Error::environment("file-has-holes", message, hint))
}

/// Describes the open target `file`, which is `node` and was found at `path`.
pub(super) fn describe(path: &Path, node: &Node, mut file: File) -> Result<Opened> {
    let (kind, number) = match node.kind {
        NodeKind::Block(number) => (Kind::BlockDevice, number),
        _ => (Kind::File, node.id.device),
    };
    let device = Device::find(number);
    let granularity = granularity(&file, kind, device.as_ref());
    let end = file.seek(SeekFrom::End(0)).map_err(|e| cannot_open(path, e))?;
    let capacity = Bytes(end / granularity.0 * granularity.0);
    if capacity == Bytes::ZERO {
        let message = format!("{} is smaller than one block of {granularity}", path.display());
        let hint = "name a larger file or device, or a new file with --size";
        return Err(Error::environment("target-empty", message, hint));
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let identity = Identity {
        keys: identity::of(node, device.as_ref()),
        size: capacity,
        path: path.to_owned(),
        resolved: node.path().unwrap_or_else(|_| path.to_owned()),
        kernel_name: device.map(|device| device.name),
        kernel_release: release.trim().to_owned(),
    };
    Ok(Opened {
        file,
        capacity,
        granularity,
        kind,
        identity,
        created: false,
        is_stranger: false,
        lease: None,
        _claims: Vec::new(),
        watch: None,
        new: None,
        written: Mutex::new(None),
    })
}

/// Returns the unit of direct I/O: the file system's, else the device's logical block, else 4 KiB.
fn granularity(file: &File, kind: Kind, device: Option<&Device>) -> Bytes {
    let stated = match kind {
        Kind::File => file_alignment(file),
        Kind::BlockDevice => None,
    };
    let unit = stated.or_else(|| device.and_then(Device::block_size));
    unit.filter(|unit| unit.0.is_power_of_two()).map_or(Bytes(4096), |unit| Bytes(unit.0.max(512)))
}

/// Returns the alignment of direct I/O that the file system states (since Linux 6.1).
fn file_alignment(file: &File) -> Option<Bytes> {
    // SAFETY: `statx` consists of plain numbers, for which all zeros is a valid value.
    let mut stat: libc::statx = unsafe { std::mem::zeroed() };
    let (fd, empty, mask) = (file.as_raw_fd(), c"".as_ptr(), libc::STATX_DIOALIGN);
    // SAFETY: the descriptor is open, the path a C string, and `stat` has room for the answer.
    let result = unsafe { libc::statx(fd, empty, libc::AT_EMPTY_PATH, mask, &mut stat) };
    let stated = result == 0 && stat.stx_mask & libc::STATX_DIOALIGN != 0;
    (stated && stat.stx_dio_offset_align > 0).then(|| Bytes(stat.stx_dio_offset_align.into()))
}

/// Returns the offset of the first hole in a file of `size` bytes. Space that is only preallocated
/// counts as a hole, too.
pub(super) fn first_hole(file: &File, size: u64) -> Option<u64> {
    // A file system that does not track holes returns the end of the file or an error.
    seek(file, rustix::fs::SeekFrom::Hole(0)).ok().filter(|at| *at < size)
}
