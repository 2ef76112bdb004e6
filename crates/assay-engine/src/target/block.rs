//! Opens the file or block device that an experiment runs on, as safely as possible.
//!
//! *Invariants.* Nothing is created under `/dev`; nothing that exists is written to or truncated
//! before the checks of [`crate::safety`] have passed, some of which need it open for writing: the
//! claim on a device, the lease on a file. The path is looked up once; the inode found then is
//! checked, opened and written, whatever becomes of its name. As long as [`Opened`] lives, nobody
//! can mount a device that will be written to, nobody can open a file for writing without stopping
//! the run, and anybody who reaches the bytes in another way is noticed.
//!
//! Modelled drives, which have no file, are not opened here.

use crate::error::{Error, Result};
use crate::safety::lease::Lease;
use crate::safety::machine::Machine;
use crate::safety::sysfs::Device;
use crate::safety::watch::{self, Watch};
use crate::safety::writes::{Count, Ways};
use crate::safety::{self, Intent, identity};
use assay_fs::{DeviceNumber, Node, NodeKind};
use assay_spec::Bytes;
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

mod create;
mod direct;
mod file;
mod image;
mod untouched;

use file::open_file;
pub(crate) use image::{Image, open_image};

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
    lease: Option<Lease>,
    /// Claims on devices that share its bytes and that its own claim does not cover.
    _claims: Vec<File>,
    /// A watch that notices new users of a target that is written to.
    watch: Option<Watch>,
    /// The state of a new file that is not complete yet.
    new: Option<create::NewFile>,
    /// For a device that will be written to: the kernel's counts of writes, as assay last saw them.
    written: Mutex<Option<(Ways, Count)>>,
}

impl Opened {
    /// Returns its present length, if that can be determined.
    pub(crate) fn length_now(&self) -> Option<Bytes> {
        (&self.file).seek(SeekFrom::End(0)).ok().map(Bytes)
    }
}

impl Opened {
    /// Checks that nobody has freed blocks of a file, as reads of them do not reach the drive.
    pub(crate) fn check_blocks(&self) -> Result<()> {
        let hole = match self.kind {
            Kind::File => file::first_hole(&self.file, self.capacity.0),
            Kind::BlockDevice => None,
        };
        let Some(hole) = hole else { return Ok(()) };
        let path = self.identity.path.display();
        let message = format!("{path} has lost its block at byte {hole} while it was measured");
        let hint =
            "reads there do not reach the disk: keep others from the file, and measure again";
        Err(Error::environment("file-has-holes", message, hint))
    }
}

/// Opens `path` for what `intent` allows; begins a new file if there is none.
///
/// # Errors
///
/// All errors have an id with an entry in [`safety::EXPLANATIONS`]. After any of them, an existing
/// target is as it was (a file that a killed run left half made may be gone), and no new one is
/// there.
pub fn open(path: &Path, intent: &Intent) -> Result<Opened> {
    let node = match Node::find(path) {
        Ok(node) => node,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return create::begin(path, intent);
        }
        Err(error) => return Err(cannot_open(path, error)),
    };
    match node.kind {
        NodeKind::File(size) if create::is_half_made(&node, size, intent) => {
            if !intent.only_shown {
                create::remove_half_made(&node).map_err(|e| cannot_open(path, e))?;
            }
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

/// The longest wait for the end of somebody else's claim, and the time between two attempts. The
/// kernel frees an io_uring a moment after its process has ended, and until then keeps the files
/// that are registered with it open.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Locks the target against other runs of assay (and other programs that lock what they use: mkfs,
/// udev), because two runs that measure one device measure each other.
fn lock(path: &Path, file: &File) -> Result<()> {
    let begun = Instant::now();
    let mut tried = file.try_lock();
    while matches!(tried, Err(fs::TryLockError::WouldBlock)) && begun.elapsed() < PATIENCE {
        std::thread::sleep(LOOK_AGAIN);
        tried = file.try_lock();
    }
    match tried {
        Err(fs::TryLockError::WouldBlock) => Err(Error::environment(
            "target-locked",
            format!("{} is being measured already", path.display()),
            "wait for the other run, which holds a lock on it, or name each target only once",
        )),
        // On a file system without locks the target is measured without one.
        Err(fs::TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

fn open_device(path: &Path, node: &Node, number: DeviceNumber, intent: &Intent) -> Result<Opened> {
    if !intent.writes {
        let file = node.open(OFlags::RDONLY | OFlags::DIRECT).map_err(|e| cannot_open(path, e))?;
        lock(path, &file)?;
        return describe(path, node, file);
    }
    let device = Device::find(number).ok_or_else(|| unknown_device(path))?;
    let fatal = safety::refusal(&device);
    safety::check_write(path, node, intent, fatal.as_ref().map(|e| e.message.as_str()))?;
    if let Some(error) = fatal {
        return Err(error);
    }
    // Without O_CREAT, O_EXCL on a block device is a claim: EBUSY if anyone else has one.
    let file = claim(node).map_err(|e| cannot_open(path, e))?;
    lock(path, &file)?;
    let claims = claim_beside(&device)?;
    let opened = describe(path, node, file)?;
    // The second check sees users who came between the first one and the claim.
    if let Some(error) = safety::refusal(&device) {
        return Err(error);
    }
    let opened = Opened { _claims: claims, ..opened }.with_writes_counted(&device);
    safety::check_contents(&device, &opened.file, intent)?;
    let watch = watched(path, move || safety::new_refusal(&device))?;
    let opened = Opened { watch, ..opened };
    opened.check_untouched()?;
    Ok(opened)
}

/// Watches the open target; `refusal` returns why it must not be written to any more, if so.
fn watched(
    path: &Path,
    refusal: impl Fn() -> Option<Error> + Send + 'static,
) -> Result<Option<Watch>> {
    watch::begin(refusal).map(Some).map_err(|e| no_thread(path, e))
}

/// Returns the error for a target that cannot be watched, because no thread could be started.
fn no_thread(path: &Path, cause: io::Error) -> Error {
    let message = format!("there is no thread to watch over {}", path.display());
    let hint = "let this user have more processes (`ulimit -u`), or free memory";
    Error::environment("no-thread", message, hint).caused_by(cause)
}

/// Returns the error for a device that is missing in `/sys`, where a mount may cover it.
fn unknown_device(path: &Path) -> Error {
    safety::unknown_users(&Machine::read(), &path.display().to_string()).unwrap_or_else(|| {
        let message = format!("the kernel has no device behind {}", path.display());
        Error::environment("no-such-device", message, "`assay devices` lists the devices")
    })
}

/// Claims the devices that share the bytes of `device` and that the kernel does not claim with it:
/// those behind loop devices, and other paths to its disk. Such a claim fails if a device is
/// mounted, even where no table lists that (an external journal, a namespace without processes).
fn claim_beside(device: &Device) -> Result<Vec<File>> {
    let beside = Machine::devices_alone().unclaimed_with(device.number);
    let claim = |number| {
        let Some(other) = Device::find(number) else { return Ok(None) };
        let path = other.node();
        let node = Node::find(&path).map_err(|e| cannot_open(&path, e))?;
        let file = node.open(OFlags::RDONLY | OFlags::EXCL);
        file.map(Some).map_err(|e| cannot_open(&path, e))
    };
    beside.into_iter().filter_map(|number| claim(number).transpose()).collect()
}

/// Opens a device exclusively, waiting a while for somebody else's claim to end.
fn claim(node: &Node) -> io::Result<File> {
    let begun = Instant::now();
    loop {
        match node.open(OFlags::RDWR | OFlags::EXCL | OFlags::DIRECT) {
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) && begun.elapsed() < PATIENCE => {
                std::thread::sleep(LOOK_AGAIN);
            }
            opened => return opened,
        }
    }
}

/// Switches `file` to direct I/O, past the page cache.
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

/// Describes the open target `file`, which is `node` and was found at `path`.
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

/// Returns the error for an open that failed with `cause`.
fn cannot_open(path: &Path, cause: io::Error) -> Error {
    let name = path.display();
    let error = match cause.raw_os_error() {
        Some(libc::EBUSY) => Error::environment(
            "device-busy",
            format!("somebody else has claimed {name}"),
            "a mount in another namespace, ZFS, md, dm or another assay holds it: release it",
        ),
        // Not even root may do it: the file is immutable or append-only, or the container forbids
        // it.
        Some(libc::EPERM) => Error::environment(
            "no-permission",
            format!("the system lets no one open {name} like this"),
            "`lsattr` shows whether it is immutable or append-only (`chattr -ia` ends that); \
             in a container, the device must be allowed",
        ),
        Some(libc::EACCES) => Error::environment(
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
