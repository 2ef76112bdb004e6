//! The host's `/tmp` in a guest.
//!
//! A guest has an empty `/tmp` of its own, so that no file that happens to lie in the host's can
//! change a run: no name is taken, and a search finds nothing. But if a file that the job names
//! lies there, or a user sits at a shell, the host's must be visible ([`Job::text`] decides). Then
//! the guest's `/tmp` is an overlay over the host's: changes go to memory and are lost at the end.
//! This is not always done, because an overlay takes some of the guest's memory; nor is the whole
//! root overlaid, because then each access to a file would pass through the overlay.
//!
//! [`Job::text`]: super::Job::text

use super::tools::{MOUNT, make};
use crate::error::{Error, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

const TMP: &str = "/tmp";

/// Lays a directory in memory over the host's `/tmp`.
pub(super) fn show() -> Result<()> {
    let failed = |e: rustix::io::Errno| Error::system(TMP, e.into());
    let (flags, upper) = (MountFlags::empty(), format!("{MOUNT}/upper"));
    unmount(TMP, UnmountFlags::empty()).map_err(failed)?;
    // The overlay keeps its layers in use, so the mount point is free again at once.
    mount("tmpfs", MOUNT, "tmpfs", flags, None).map_err(failed)?;
    make(&upper)?;
    make(&format!("{MOUNT}/work"))?;
    fs::set_permissions(&upper, Permissions::from_mode(0o1777))
        .map_err(|e| Error::system(TMP, e))?;
    let options = format!("lowerdir={TMP},upperdir={upper},workdir={MOUNT}/work");
    let options = std::ffi::CString::new(options).expect("no zero in it");
    mount("overlay", TMP, "overlay", flags, options.as_c_str()).map_err(failed)?;
    unmount(MOUNT, UnmountFlags::empty()).map_err(failed)
}
