//! Opens the file or block device that an experiment runs on, as safely as it can be done.
//!
//! *Invariants.* Nothing is created under `/dev`; nothing that exists is written to, truncated or
//! opened for writing before the checks of [`crate::safety`] have passed. A block device
//! that will be written to is opened `O_EXCL`: as long as [`Opened::file`] lives, nobody can
//! mount it.
//! What was opened is compared with what was checked, so a name that changes hands in between is
//! noticed.
//!
//! Not for modelled drives, which have no file.

use crate::error::{Error, Result};
use crate::safety::machine::Machine;
use crate::safety::sysfs::{Device, DeviceNumber};
use crate::safety::{self, Intent, mark};
use assay_spec::Bytes;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
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
    /// The maker's name of the disk (for a file: of the disk it lies on), where known.
    pub model: Option<String>,
    /// The serial number of that disk, where known.
    pub serial: Option<String>,
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
    /// True if this call made the file.
    pub created: bool,
}

impl Opened {
    /// Whether it is a file that assay did not make, and so will not write to.
    pub fn is_stranger(&self) -> bool {
        self.kind == Kind::File && !mark::is_ours(&self.file, &self.identity.resolved)
    }
}

/// Opens `path` for what `intent` allows; makes the file if there is none.
///
/// # Errors
///
/// All have an id with an entry in [`safety::EXPLANATIONS`]; whatever the error, an existing target
/// is as it was, and a file that was begun is removed.
pub fn open(path: &Path, intent: &Intent) -> Result<Opened> {
    let opened = find(path, intent)?;
    lock(path, &opened.file)?;
    Ok(opened)
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

fn find(path: &Path, intent: &Intent) -> Result<Opened> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = create::create(path, intent)?;
            return describe(path, file, Kind::File, true);
        }
        Err(error) => return Err(cannot_open(path, error)),
    };
    if metadata.is_file() {
        return open_file(path, &metadata, intent);
    }
    if metadata.file_type().is_block_device() {
        return open_device(path, &metadata, intent);
    }
    let message = format!("{} is neither a file nor a block device", path.display());
    let hint = "name a file or a block device, e.g. /dev/nvme0n1 (not /dev/nvme0), ./scratch.img";
    Err(Error::environment("not-a-target", message, hint))
}

fn open_file(path: &Path, metadata: &Metadata, intent: &Intent) -> Result<Opened> {
    let read_only = File::open(path).map_err(|e| cannot_open(path, e))?;
    if !intent.writes {
        refuse_holes(path, metadata, &read_only)?;
        set_direct(&read_only, path)?;
        same(path, metadata, &read_only)?;
        return describe(path, read_only, Kind::File, false);
    }
    let fatal = file_refusal(path, metadata, &read_only);
    safety::check_write(path, intent, fatal.as_ref().map(|e| e.message.as_str()))?;
    if let Some(error) = fatal {
        return Err(error);
    }
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|e| cannot_open(path, e))?;
    set_direct(&file, path)?;
    same(path, metadata, &file)?;
    describe(path, file, Kind::File, false)
}

/// Refuses a file that was not written from end to end: what was never written is answered by the
/// file system, and the disk is not asked. Space that is only preallocated counts as a hole too.
fn refuse_holes(path: &Path, metadata: &Metadata, file: &File) -> Result<()> {
    // SAFETY: a seek on a descriptor that `file` keeps open, with plain numbers.
    let hole = unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_HOLE) };
    // A file system that knows no holes says the end, or nothing.
    let Some(hole) = u64::try_from(hole).ok().filter(|at| *at < metadata.len()) else {
        return Ok(());
    };
    let message = format!("{} was never written from byte {hole} on", path.display());
    let hint = "reads there do not reach the disk: let assay make the file, with a new name and \
                --size, or copy it with `cp --sparse=never`";
    Err(Error::environment("file-has-holes", message, hint))
}

/// Why an existing file is not written to, if so.
fn file_refusal(path: &Path, metadata: &Metadata, file: &File) -> Option<Error> {
    let hint = "name a file that does not exist, with --size, or remove this one";
    let refuse = |what| Error::environment("file-not-ours", what, hint);
    if let Some(usage) = Machine::read().use_of_file(metadata) {
        return Some(refuse(format!("{} {usage}", path.display())));
    }
    let resolved = resolve(path);
    let ours = mark::is_ours(file, &resolved);
    (!ours).then(|| refuse(format!("assay did not make {}", path.display())))
}

fn open_device(path: &Path, metadata: &Metadata, intent: &Intent) -> Result<Opened> {
    if !intent.writes {
        let file = File::open(path).map_err(|e| cannot_open(path, e))?;
        set_direct(&file, path)?;
        same(path, metadata, &file)?;
        return describe(path, file, Kind::BlockDevice, false);
    }
    let number = DeviceNumber::from_raw(metadata.rdev());
    let device = Device::find(number).ok_or_else(|| {
        let message = format!("the kernel has no device behind {}", path.display());
        Error::environment("no-such-device", message, "`assay devices` lists the devices")
    })?;
    let fatal = safety::refusal(&Machine::read(), &device);
    safety::check_write(path, intent, fatal.as_ref().map(|e| e.message.as_str()))?;
    if let Some(error) = fatal {
        return Err(error);
    }
    // Without O_CREAT, O_EXCL on a block device is a claim: EBUSY if anyone else has one.
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_EXCL | libc::O_DIRECT);
    let file = options.open(path).map_err(|e| cannot_open(path, e))?;
    same(path, metadata, &file)?;
    let opened = describe(path, file, Kind::BlockDevice, false)?;
    safety::check_contents(&device, &opened.file, intent)?;
    Ok(opened)
}

/// Checks that the name still meant the same thing when it was opened.
fn same(path: &Path, checked: &Metadata, file: &File) -> Result<()> {
    let opened = file.metadata().map_err(|e| cannot_open(path, e))?;
    let key = |m: &Metadata| (m.dev(), m.ino(), m.rdev());
    if key(checked) == key(&opened) {
        return Ok(());
    }
    let message = format!("{} changed while it was being opened", path.display());
    Err(Error::environment("target-open", message, "see what renames it, then try again"))
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

fn describe(path: &Path, mut file: File, kind: Kind, created: bool) -> Result<Opened> {
    let metadata = file.metadata().map_err(|e| cannot_open(path, e))?;
    let number = match kind {
        Kind::File => metadata.dev(),
        Kind::BlockDevice => metadata.rdev(),
    };
    let device = Device::find(DeviceNumber::from_raw(number));
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
        model: device.as_ref().and_then(Device::model),
        serial: device.as_ref().and_then(Device::serial),
        size: capacity,
        path: path.to_owned(),
        resolved: resolve(path),
        kernel_name: device.map(|device| device.name),
        kernel_release: release.trim().to_owned(),
    };
    Ok(Opened { file, capacity, granularity, kind, identity, created })
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

fn resolve(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
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
