//! An archive of the files of this machine that programs have made or changed in a guest.

use super::tools::{SHARED, run};
use crate::boot::{CHANGES, CHANGES_ERROR};
use crate::error::{Error, Result};
use rustix::fs::lgetxattr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The lists for `tar`: names that it packs alone, and directories that it packs as a whole.
const SINGLE: &str = "/run/changes";
const WHOLE: &str = "/run/changes.whole";

/// The attribute of a directory of the overlay that was renamed, so that its upper layer does not
/// have all that is in it.
const RENAMED: &str = "trusted.overlay.redirect";

/// The names of changed files, relative to the root, each with a zero at its end.
#[derive(Default)]
struct Names {
    single: Vec<u8>,
    whole: Vec<u8>,
}

/// Packs the changes that `upper` holds, the upper layer of the overlay, into an archive in the
/// shared directory. What was removed is not in it. If this fails, the shared directory has the
/// reason: the program's own result is not lost for it.
pub(super) fn keep(upper: &OwnedFd) {
    if let Err(e) = pack(upper) {
        let text = serde_json::to_string(&(e.to_string(), e.hint)).expect("plain data");
        // The host then finds neither an archive nor a reason, and says so.
        let _ = fs::write(Path::new(SHARED).join(CHANGES_ERROR), text);
    }
}

fn pack(upper: &OwnedFd) -> Result<()> {
    let failed = |e| Error::system("what the program has changed", e);
    // The layer has no path in the new root.
    let layer = PathBuf::from(format!("/proc/self/fd/{}", upper.as_raw_fd()));
    let mut names = Names::default();
    collect(&layer, Path::new(""), &mut names).map_err(failed)?;
    fs::write(SINGLE, names.single).map_err(failed)?;
    fs::write(WHOLE, names.whole).map_err(failed)?;
    let archive = format!("{SHARED}/{CHANGES}");
    // What a file system that is still mounted hides is missing, and no more.
    let words = ["--create", "--sparse", "--xattrs", "--ignore-failed-read", "--one-file-system"];
    let place = ["--file", &archive, "--directory", "/"];
    let single = ["--null", "--no-recursion", "--files-from", SINGLE];
    let whole = ["--recursion", "--files-from", WHOLE];
    run("tar", &[&words[..], &place, &single, &whole].concat())
}

/// Adds what is in the directory `name` of the layer.
fn collect(layer: &Path, name: &Path, names: &mut Names) -> io::Result<()> {
    for entry in fs::read_dir(layer.join(name))? {
        let entry = entry?;
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        let about = entry.metadata()?;
        let is_removed = about.file_type().is_char_device() && about.rdev() == 0;
        if is_removed {
            continue;
        }
        let is_renamed = about.is_dir() && lgetxattr(&path, RENAMED, &mut [0; 0][..]).is_ok();
        let list = if is_renamed { &mut names.whole } else { &mut names.single };
        list.extend_from_slice(name.as_os_str().as_bytes());
        list.push(0);
        if about.is_dir() && !is_renamed {
            collect(layer, &name, names)?;
        }
    }
    Ok(())
}
