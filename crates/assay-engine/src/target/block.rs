//! Opens the file or block device that an experiment runs on, as safely as it can be done.
//!
//! *Invariants.* Nothing is created under `/dev`; nothing that exists is written to, truncated or
//! opened for writing before the checks of [`crate::safety`] have passed. The path is looked up
//! once; what it led to then is checked, opened and written, whatever its name becomes.
//! As long as [`Opened::file`] lives, nobody can mount a device that will be written to, and
//! nobody can open a file for writing without stopping the run.
//!
//! Not for modelled drives, which have no file.

use crate::error::{Error, Result};
use crate::safety::lease::{self, Lease};
use crate::safety::machine::Machine;
use crate::safety::mark::{self, Stage};
use crate::safety::node::{Node, NodeKind};
use crate::safety::stack::Store;
use crate::safety::sysfs::{Device, DeviceNumber};
use crate::safety::{self, ForeignBlock, Intent, contents, identity};
use assay_spec::Bytes;
use rustix::fs::OFlags;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod create;

/// What a real target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file on some file system.
    File,
    /// A whole disk, a partition, or a device stacked on others.
    BlockDevice,
}

/// Which device or file it was, for the run directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// What is known of it, by key: `model` and `serial` of the disk (for a file: of the disk it
    /// lies on), `wwn`, `inode`, what is `behind` a loop device …
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
    /// What is known under `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.keys.iter().find(|(k, _)| *k == key).map(|(_, value)| value.as_str())
    }
}

/// An open target, ready for I/O with `O_DIRECT`.
#[derive(Debug)]
pub struct Opened {
    /// The file; for a device that will be written to, also the exclusive claim on it.
    pub file: File,
    /// How much of it is addressable.
    pub capacity: Bytes,
    /// Requests must start and end on multiples of this.
    pub granularity: Bytes,
    /// File or block device.
    pub kind: Kind,
    /// Which one it is.
    pub identity: Identity,
    /// True if there was no such file: [`Opened::make`] gives it its contents and its name.
    pub created: bool,
    /// True if it is a file that assay did not make, and so will not write to.
    pub is_stranger: bool,
    /// What of its contents may go although assay did not write it.
    pub foreign: Vec<ForeignBlock>,
    /// Keeps other writers away from a file that is written to.
    lease: Option<Lease>,
    /// What is left to do until a new file is there.
    new: Option<create::NewFile>,
}

impl Opened {
    /// How long it is now.
    pub(crate) fn length_now(&self) -> Option<Bytes> {
        (&self.file).seek(SeekFrom::End(0)).ok().map(Bytes)
    }
}

/// Opens `path` for what `intent` allows; begins a file if there is none.
///
/// # Errors
///
/// All have an id with an entry in [`safety::EXPLANATIONS`]; whatever the error, an existing target
/// is as it was, and no new one is there.
pub fn open(path: &Path, intent: &Intent) -> Result<Opened> {
    let node = match Node::find(path) {
        Ok(node) => node,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return create::begin(path, intent);
        }
        Err(error) => return Err(cannot_open(path, error)),
    };
    match node.kind {
        NodeKind::File(_) if create::is_half_made(&node, intent) => {
            create::remove_half_made(&node).map_err(|e| cannot_open(path, e))?;
            create::begin(path, intent)
        }
        NodeKind::File(size) => open_file(path, &node, size, intent),
        NodeKind::Block(number) => open_device(path, &node, number, intent),
        NodeKind::Directory | NodeKind::Other => {
            let message = format!("{} is neither a file nor a block device", path.display());
            let hint =
                "name a file or a block device, e.g. /dev/nvme0n1 (not /dev/nvme0), ./scratch.img";
            Err(Error::environment("not-a-target", message, hint))
        }
    }
}

/// Takes the target for this measurement alone, as far as other runs of assay go (and others that
/// lock what they use: mkfs, udev): two that measure one device measure each other.
fn lock(path: &Path, file: &File) -> Result<()> {
    // The kernel takes an io_uring apart a moment after its process has ended, and the lock lives
    // as long as the files registered with it.
    const PATIENCE: Duration = Duration::from_secs(1);
    let begun = Instant::now();
    let mut tried = file.try_lock();
    while matches!(tried, Err(fs::TryLockError::WouldBlock)) && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
        tried = file.try_lock();
    }
    match tried {
        Err(fs::TryLockError::WouldBlock) => Err(Error::environment(
            "target-locked",
            format!("{} is being measured already", path.display()),
            "wait for the other run, which holds a lock on it, or name each target only once",
        )),
        // A file system without locks is no reason not to measure.
        Err(fs::TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

fn open_file(path: &Path, node: &Node, size: u64, intent: &Intent) -> Result<Opened> {
    let file = node.open(OFlags::RDONLY).map_err(|e| cannot_open(path, e))?;
    let is_ours = stage_of(node, &file) == Some(Stage::Whole);
    if !intent.writes {
        refuse_holes(path, size, &file)?;
        set_direct(&file, path)?;
        lock(path, &file)?;
        let opened = describe(path, node, file)?;
        return Ok(Opened { is_stranger: !is_ours, ..opened });
    }
    let fatal = file_refusal(path, node, is_ours);
    safety::check_write(path, node, intent, fatal.as_ref().map(|e| e.message.as_str()))?;
    if let Some(error) = fatal {
        return Err(error);
    }
    // The lease is given only to whoever has the file open alone.
    drop(file);
    let named = node.open(OFlags::RDONLY).map(|file| contents::blkid(&file));
    let named = named.map_err(|e| cannot_open(path, e))?;
    let file = node.open(OFlags::RDWR).map_err(|e| cannot_open(path, e))?;
    set_direct(&file, path)?;
    lock(path, &file)?;
    let lease = take_lease(path, &file)?;
    let opened = Opened { lease, ..describe(path, node, file)? };
    check_file_contents(path, &opened, named)?;
    Ok(opened)
}

/// How far assay made the file, from its mark.
fn stage_of(node: &Node, file: &File) -> Option<Stage> {
    // A sidecar names its file's inode: if the name is another's by now, it does not vouch for it.
    let (directory, name) = place_of(node)?;
    mark::stage(file, File::open(directory).ok()?, &name)
}

/// The directory and the name that a file has now.
fn place_of(node: &Node) -> Option<(PathBuf, OsString)> {
    let path = node.path().ok()?;
    Some((path.parent()?.to_owned(), path.file_name()?.to_owned()))
}

/// Why an existing file is not written to, if so.
fn file_refusal(path: &Path, node: &Node, is_ours: bool) -> Option<Error> {
    let name = path.display();
    let machine = Machine::read();
    if let Some(usage) = machine.use_of(Store::File(node.id.device, node.id.inode)) {
        let hint = "end that use first, or name a file that does not exist, with --size";
        return Some(Error::environment("file-in-use", format!("{name} {}", usage.text), hint));
    }
    let hint = "name a file that does not exist, with --size, or remove this one";
    let refuse = |what| Some(Error::environment("file-not-ours", what, hint));
    if !is_ours {
        return refuse(format!("assay did not make {name}"));
    }
    if node.names > 1 {
        return refuse(format!("{name} has {} names: another is a hard link to it", node.names));
    }
    None
}

/// Refuses a file that holds anything but what assay wrote: its mark says who made it, not what has
/// been done with it since.
fn check_file_contents(path: &Path, opened: &Opened, named: Vec<String>) -> Result<()> {
    let looked = contents::look(&opened.file, opened.capacity, opened.granularity);
    let mut found = looked.map_err(|e| cannot_open(path, e))?;
    found.kinds.extend(named);
    if found.is_ours_but_for(&[]) {
        return Ok(());
    }
    let words = found.words().join(", ");
    let message = format!("{} was made by assay and now holds {words}", path.display());
    let hint = "assay writes over nothing but its own data: name a file that does not exist, with \
                --size, or remove this one";
    Err(Error::environment("file-not-ours", message, hint))
}

/// Keeps other writers away from the file, if its file system can.
fn take_lease(path: &Path, file: &File) -> Result<Option<Lease>> {
    let name = path.display();
    let refuse = |what: String| {
        let hint = "`fuser -v` says who; end that first, or name a file that does not exist";
        Err(Error::environment("file-in-use", what, hint))
    };
    match lease::take(file) {
        lease::Answer::Held(lease) => Ok(Some(lease)),
        lease::Answer::Busy => refuse(format!("somebody else has {name} open")),
        lease::Answer::Denied => {
            refuse(format!("{name} belongs to another user: nobody can say who else uses it"))
        }
        lease::Answer::Unknown => match Machine::loops_alone().unknown_loop() {
            None => Ok(None),
            Some(device) => refuse(format!("{name} may be what is behind {device}")),
        },
    }
}

/// Refuses a file that was not written from end to end: what was never written is answered by the
/// file system, and the disk is not asked. Space that is only preallocated counts as a hole too.
fn refuse_holes(path: &Path, size: u64, file: &File) -> Result<()> {
    // SAFETY: a seek on a descriptor that `file` keeps open, with plain numbers.
    let hole = unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_HOLE) };
    // A file system that knows no holes says the end, or nothing.
    let Some(hole) = u64::try_from(hole).ok().filter(|at| *at < size) else {
        return Ok(());
    };
    let message = format!("{} was never written from byte {hole} on", path.display());
    let hint = "reads there do not reach the disk: let assay make the file, with a new name and \
                --size, or copy it with `cp --sparse=never`";
    Err(Error::environment("file-has-holes", message, hint))
}

fn open_device(path: &Path, node: &Node, number: DeviceNumber, intent: &Intent) -> Result<Opened> {
    if !intent.writes {
        let file = node.open(OFlags::RDONLY | OFlags::DIRECT).map_err(|e| cannot_open(path, e))?;
        lock(path, &file)?;
        return describe(path, node, file);
    }
    let device = Device::find(number).ok_or_else(|| {
        let message = format!("the kernel has no device behind {}", path.display());
        Error::environment("no-such-device", message, "`assay devices` lists the devices")
    })?;
    let fatal = safety::refusal(&device);
    safety::check_write(path, node, intent, fatal.as_ref().map(|e| e.message.as_str()))?;
    if let Some(error) = fatal {
        return Err(error);
    }
    // Without O_CREAT, O_EXCL on a block device is a claim: EBUSY if anyone else has one.
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::DIRECT;
    let file = node.open(flags).map_err(|e| cannot_open(path, e))?;
    lock(path, &file)?;
    let opened = describe(path, node, file)?;
    // Whoever came between the first look and the claim is seen now.
    if let Some(error) = safety::refusal(&device) {
        return Err(error);
    }
    let foreign = safety::check_contents(&device, &opened.file, intent)?;
    Ok(Opened { foreign, ..opened })
}

/// Switches the page cache off for `file`.
fn set_direct(file: &File, path: &Path) -> Result<()> {
    // SAFETY: fcntl on a descriptor that `file` keeps open, with plain numbers.
    let result = unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags | libc::O_DIRECT)
    };
    if result == 0 {
        return Ok(());
    }
    let message = format!("the file system of {} has no O_DIRECT", path.display());
    let hint = "without it the page cache would be measured; use ext4, XFS, btrfs, or the device";
    let cause = io::Error::last_os_error();
    Err(Error::environment("no-direct-io", message, hint).caused_by(cause))
}

/// The opened target `file`, which is `node` and was found at `path`.
fn describe(path: &Path, node: &Node, mut file: File) -> Result<Opened> {
    let (kind, number) = match node.kind {
        NodeKind::Block(number) => (Kind::BlockDevice, number),
        _ => (Kind::File, node.id.device),
    };
    let device = Device::find(number);
    let granularity = granularity(&file, kind, device.as_ref());
    let end = file.seek(SeekFrom::End(0)).map_err(|e| cannot_open(path, e))?;
    let capacity = Bytes(end / granularity.0 * granularity.0);
    if capacity == Bytes::ZERO {
        let message = format!("{} has no block of {granularity}", path.display());
        let hint = "name a file or device with contents; for a new file, give a --size";
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
        foreign: Vec::new(),
        lease: None,
        new: None,
    })
}

/// The unit of direct I/O: what the file system says, else the device's logical block, else 4 KiB.
fn granularity(file: &File, kind: Kind, device: Option<&Device>) -> Bytes {
    let stated = match kind {
        Kind::File => file_alignment(file),
        Kind::BlockDevice => None,
    };
    let unit = stated.or_else(|| device.and_then(Device::block_size));
    unit.filter(|unit| unit.0.is_power_of_two()).map_or(Bytes(4096), |unit| Bytes(unit.0.max(512)))
}

/// The alignment of direct I/O that the file system states (Linux 6.1).
fn file_alignment(file: &File) -> Option<Bytes> {
    // SAFETY: statx is plain numbers, for which all zeros is a value.
    let mut stat: libc::statx = unsafe { std::mem::zeroed() };
    let (fd, empty, mask) = (file.as_raw_fd(), c"".as_ptr(), libc::STATX_DIOALIGN);
    // SAFETY: the descriptor is open, the path a C string, and `stat` has room for the answer.
    let result = unsafe { libc::statx(fd, empty, libc::AT_EMPTY_PATH, mask, &mut stat) };
    let stated = result == 0 && stat.stx_mask & libc::STATX_DIOALIGN != 0;
    (stated && stat.stx_dio_offset_align > 0).then(|| Bytes(stat.stx_dio_offset_align.into()))
}

/// The error for what the system said to an open.
fn cannot_open(path: &Path, cause: io::Error) -> Error {
    let name = path.display();
    let error = match cause.raw_os_error() {
        Some(libc::EBUSY) => Error::environment(
            "device-busy",
            format!("somebody else has claimed {name}"),
            "a mount in another namespace, ZFS, md, dm or another assay holds it: release it",
        ),
        Some(libc::EACCES | libc::EPERM) => Error::environment(
            "no-permission",
            format!("no permission to open {name}"),
            "run as root, or as a member of the group that owns it (`ls -l`)",
        ),
        Some(libc::EROFS) => Error::environment(
            "device-readonly",
            format!("{name} is read-only"),
            "check the write-protect switch, or remount the file system read-write",
        ),
        Some(libc::ENOMEDIUM) => {
            let message = format!("{name} has no medium");
            Error::environment("target-empty", message, "insert one")
        }
        Some(libc::ENXIO | libc::ENODEV) => Error::environment(
            "no-such-device",
            format!("the kernel has no device behind {name}"),
            "`assay devices` lists the devices of this machine",
        ),
        _ => {
            let message = format!("cannot open {name}");
            Error::environment("target-open", message, "check the path")
        }
    };
    error.caused_by(cause)
}
