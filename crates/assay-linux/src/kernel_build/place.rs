//! The place for a built kernel: one build at a time uses it, and only a kernel is replaced.

use crate::child::{brief, tool};
use crate::error::{Error, Result};
use crate::kernel::{CHECKSUMS, IDENTITY, INIT, KERNEL, identity};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// The directory of the kernel, reserved for one build.
pub(super) struct KernelPlace {
    path: PathBuf,
    _lock: File,
}

impl KernelPlace {
    /// Reserves the place in the cache directory, which is made if it does not exist.
    ///
    /// # Errors
    /// If another build has it, or it holds anything but a kernel of ours.
    pub(super) fn new(cache: &Path) -> Result<KernelPlace> {
        let name = cache.display();
        let failed = |e| Error::system(&format!("the directory {name}"), e);
        fs::create_dir_all(cache).map_err(failed)?;
        let lock = File::open(cache).map_err(failed)?;
        // Where directories cannot be locked, the last of several builds wins.
        if flock(&lock, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            let hint = "wait until it ends; `assay linux status` shows the kernel";
            return Err(Error::new(
                "linux-busy",
                format!("another build is running in {name}"),
                hint,
            ));
        }
        let place = KernelPlace { path: cache.join("linux"), _lock: lock };
        place.check()?;
        Ok(place)
    }

    /// Returns `true` if a kernel that assay built is there (a directory with its files and
    /// nothing else), and `false` if nothing is.
    fn check(&self) -> Result<bool> {
        match fs::symlink_metadata(&self.path) {
            Ok(about) if about.is_dir() && self.holds_kernel() => Ok(true),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
            _ => {
                let message = format!("{} is not a kernel that assay built", self.path.display());
                let hint = "move it away, or set ASSAY_CACHE to another directory";
                Err(Error::new("linux-in-the-way", message, hint))
            }
        }
    }

    fn holds_kernel(&self) -> bool {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let names: BTreeSet<_> = entries.map(|e| e.file_name()).collect();
        let is_file =
            |name: &OsString| fs::symlink_metadata(self.path.join(name)).is_ok_and(|m| m.is_file());
        // Kernels of older recipes have no first program, and older ones no checksums.
        let known = [IDENTITY, INIT, KERNEL, CHECKSUMS];
        names.iter().all(|name| known.iter().any(|known| name == known))
            && names.iter().all(is_file)
            && names.contains(OsStr::new(KERNEL))
            && identity(&self.path).contains(", recipe ")
            && (!names.contains(OsStr::new(CHECKSUMS)) || self.is_unchanged())
    }

    /// Returns `true` if the kernel and the first program have the checksums that they were built
    /// with.
    fn is_unchanged(&self) -> bool {
        let mut check = tool("sha256sum");
        check.args(["--check", "--strict", "--status", CHECKSUMS]).current_dir(&self.path);
        let checked = brief(check.stdin(Stdio::null()), Duration::from_secs(60), || false);
        checked.is_ok_and(|output| output.status.success())
    }

    /// Moves the new kernel's directory there, and the old one to `old`.
    pub(super) fn fill(&self, new: &Path, old: &Path) -> Result<()> {
        let failed = |e| Error::system(&format!("the directory {}", self.path.display()), e);
        let had = self.check()?;
        if had {
            fs::rename(&self.path, old).map_err(failed)?;
        }
        fs::rename(new, &self.path).map_err(|e| {
            if had {
                // If this fails, too, the old kernel is removed with the build's directory, and can
                // be built again.
                let _ = fs::rename(old, &self.path);
            }
            failed(e)
        })
    }
}
