//! The descriptors of targets: opened, claimed, locked, watched.

use crate::error::{Error, Result};
use crate::safety::watch::{self, Watch};
use assay_fs::Node;
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest wait for the end of somebody else's claim or open file, and the time between two
/// attempts. The kernel frees an io_uring a moment after its process has ended, and until then
/// keeps the files that are registered with it open. A tool that is just being started has all open
/// files for a moment.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Calls `attempt` until its result is not `busy`, but no longer than [`PATIENCE`]. Returns the
/// last result.
pub(super) fn unless_busy<T>(attempt: impl Fn() -> T, busy: impl Fn(&T) -> bool) -> T {
    let begun = Instant::now();
    loop {
        let result = attempt();
        if !busy(&result) || begun.elapsed() >= PATIENCE {
            return result;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Locks the target against other runs of assay (and other programs that lock what they use: mkfs,
/// udev), because two runs that measure one device measure each other.
pub(super) fn lock(path: &Path, file: &File) -> Result<()> {
    let is_locked = |tried: &_| matches!(tried, Err(fs::TryLockError::WouldBlock));
    match unless_busy(|| file.try_lock(), is_locked) {
        Err(fs::TryLockError::WouldBlock) => Err(locked(path)),
        // On a file system without locks the target is measured without one.
        Err(fs::TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

/// Returns the error for a target that another run of assay measures.
pub(super) fn locked(path: &Path) -> Error {
    let message = format!("{} is being measured already", path.display());
    let hint = "wait for the other run, which holds a lock on it, or name each target only once";
    Error::environment("target-locked", message, hint)
}

/// Watches the open target; `refusal` returns why it must not be written to any more, if so.
/// Nobody else should open anything at `apart` for writing.
pub(super) fn watched(
    path: &Path,
    apart: &[PathBuf],
    refusal: impl Fn() -> Option<Error> + Send + Sync + 'static,
) -> Result<Option<Watch>> {
    watch::begin(apart, refusal).map(Some).map_err(|e| no_thread(path, e))
}

/// Returns the error for a target that cannot be watched, because no thread could be started.
pub(super) fn no_thread(path: &Path, cause: io::Error) -> Error {
    let message = format!("the system gives no thread or no watch to observe {}", path.display());
    let hint = "allow this user more processes (`ulimit -u`), open files (`ulimit -n`) and watches \
                (`sysctl fs.inotify user.max_inotify_instances`), or free memory";
    // Too many open files may also mean too many watches, so that hint must stay.
    Error { source: Some(cause), ..Error::environment("no-thread", message, hint) }
}

/// Opens a device exclusively, waiting a while for somebody else's claim to end.
pub(super) fn claim(node: &Node) -> io::Result<File> {
    let is_claimed = |opened: &io::Result<_>| {
        opened.as_ref().is_err_and(|e| e.raw_os_error() == Some(libc::EBUSY))
    };
    unless_busy(|| node.open(OFlags::RDWR | OFlags::EXCL | OFlags::DIRECT), is_claimed)
}

/// Switches `file` to direct I/O, past the page cache.
pub(super) fn set_direct(file: &File, path: &Path) -> Result<()> {
    // SAFETY: fcntl on a descriptor that `file` keeps open, with plain numbers.
    let result = unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags | libc::O_DIRECT)
    };
    if result == 0 {
        return Ok(());
    }
    let message = format!("the file system of {} has no O_DIRECT", path.display());
    let hint = "use a file on ext4, XFS or btrfs, or the device: without O_DIRECT, assay would \
                measure the page cache";
    let cause = io::Error::last_os_error();
    Err(Error::environment("no-direct-io", message, hint).caused_by(cause))
}

/// Returns the error for an open that failed with `cause`.
pub(super) fn cannot_open(path: &Path, cause: io::Error) -> Error {
    let name = path.display();
    let error = match cause.raw_os_error() {
        Some(libc::EBUSY) => Error::environment(
            "device-busy",
            format!("somebody else has claimed {name}"),
            "release it: a mount in another namespace, ZFS, md, dm or another assay holds it",
        ),
        // Not even root may do it: the file is immutable or append-only, or the container forbids
        // it.
        Some(libc::EPERM) => Error::environment(
            "no-permission",
            format!("the system does not allow this way of opening {name}"),
            "check with `lsattr` whether the file is immutable or append-only (`chattr -ia` ends \
             that); in a container, allow the device",
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
        Some(libc::ENOKEY) => Error::environment(
            "no-permission",
            format!("{name} is encrypted, and its key is not there"),
            "unlock its directory first (`fscrypt unlock`)",
        ),
        Some(libc::EOVERFLOW) => Error::environment(
            "no-permission",
            format!("this mount has no number for the user of {name}"),
            "name it by another mount of its file system, without mapped ids",
        ),
        Some(libc::ENOMEDIUM) => {
            let message = format!("{name} has no medium");
            Error::environment("target-empty", message, "insert a medium")
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
