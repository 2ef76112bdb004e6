//! Images: archives of the files that programs begin with.
//!
//! An image holds files, not blocks, so that one image serves every file system, array and drive.
//! The drive gets the state that copying the files gives it, as a restored backup does.

use super::tools::{SHARED, make, run};
use crate::boot::IMAGE_BY_HOST;
use crate::error::{Error, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::path::Path;

/// The name of the archive in its directory.
const ARCHIVE: &str = "image.tar";
/// Where the directory with the archive is mounted while it is unpacked.
const PLACE: &str = "/run/image";

/// Packs the files in `directory` into an archive in the shared directory.
///
/// # Errors
/// If `tar` fails.
pub fn pack(directory: &Path) -> Result<()> {
    let archive = format!("{SHARED}/{ARCHIVE}");
    let words = ["--create", "--sort=name", "--xattrs", "--sparse", "--file", &archive];
    run("tar", &[&words[..], &["--directory", &directory.to_string_lossy(), "."]].concat())
}

/// Unpacks the archive that the guest was booted with (`Programs::image`) into `directory`.
///
/// # Errors
/// If there is none, or `tar` fails.
pub fn unpack(directory: &Path) -> Result<()> {
    let failed = |e: rustix::io::Errno| Error::system("the image", e.into());
    make(PLACE)?;
    let options = std::ffi::CString::new(IMAGE_BY_HOST).expect("no zero in it");
    mount("hostfs", PLACE, "hostfs", MountFlags::RDONLY, options.as_c_str()).map_err(failed)?;
    let archive = format!("{PLACE}/{ARCHIVE}");
    let words = ["--extract", "--xattrs", "--numeric-owner", "--preserve-permissions", "--file"];
    let place = ["--directory", &directory.to_string_lossy()];
    let unpacked = run("tar", &[&words[..], &[&archive], &place].concat());
    unmount(PLACE, UnmountFlags::empty()).map_err(failed)?;
    unpacked
}
