//! The files of this machine in a guest that may change them.
//!
//! A guest whose job runs a user's program, or names something in `/tmp`, has an overlay as its
//! root: it sees all files under their own paths, and what it changes goes to its memory and is
//! lost at the end ([`Job::text`] decides). `/run` is empty, as after a start of the machine.
//!
//! Other guests have the files of the machine read-only, because an overlay takes some of the
//! guest's memory and each access to a file passes through it. Their `/tmp` is empty, so that no
//! file that happens to lie in the host's can change a run: no name is taken, and a search finds
//! nothing.
//!
//! [`Job::text`]: super::Job::text

use super::tools::make;
use crate::error::{Error, Result};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind, mount_move};
use rustix::process::{chdir, chroot};
use std::fs::{self, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;

/// The layers of the overlay are in the guest's own `/tmp`, over which the overlay then comes.
const UPPER: &str = "/tmp/upper";
const WORK: &str = "/tmp/work";
const ROOT: &str = "/tmp/root";
/// The file systems that the guest has mounted over directories of the machine.
const MOUNTED: [&str; 4] = ["/proc", "/sys", "/dev", "/run"];

/// Makes an overlay over the machine's files the root of this process. Returns the layer with the
/// changes if the caller `keeps` it.
pub(super) fn overlay(keeps: bool) -> Result<Option<OwnedFd>> {
    let failed = |e: Errno| Error::system("an overlay over the machine's files", e.into());
    for place in [UPPER, WORK, ROOT] {
        make(place)?;
    }
    // The directory is the root of the overlay, and so its mode is that of the root.
    fs::set_permissions(UPPER, Permissions::from_mode(0o755))
        .map_err(|e| Error::system(UPPER, e))?;
    let open = || openat(CWD, UPPER, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let upper = keeps.then(open).transpose().map_err(failed)?;
    // With a redirect, a directory of the machine can be renamed.
    let options = format!("lowerdir=/,upperdir={UPPER},workdir={WORK},redirect_dir=on");
    let options = std::ffi::CString::new(options).expect("no zero in it");
    mount("overlay", ROOT, "overlay", MountFlags::empty(), options.as_c_str()).map_err(failed)?;
    for place in MOUNTED {
        mount_move(place, format!("{ROOT}{place}")).map_err(failed)?;
    }
    chdir(ROOT).and_then(|()| mount_move(".", "/")).map_err(failed)?;
    chroot(".").and_then(|()| chdir("/")).map_err(failed)?;
    Ok(upper)
}

/// Hides the cache of the dynamic linker, as `init.c` does in the root below.
pub(super) fn hide_libraries() {
    // Without a cache on this machine there is nothing to hide.
    let _ = mount_bind("/dev/null", "/etc/ld.so.cache");
}
