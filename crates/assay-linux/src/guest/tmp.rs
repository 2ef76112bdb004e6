//! The host's `/tmp` in a guest.
//!
//! A guest has an empty `/tmp` of its own, so that no file that happens to lie in the host's can
//! change a run: no name is taken, and a search finds nothing. But if a file that the job names
//! lies there, or a user sits at a shell, the host's must be visible. Then the guest's `/tmp` is an
//! overlay over the host's: changes go to memory and are lost at the end. This is not always done,
//! because an overlay takes some of the guest's memory; nor is the whole root overlaid, because
//! then each access to a file would pass through the overlay.

use super::{Job, MOUNT, Task, make};
use crate::error::{Error, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

const TMP: &str = "/tmp";

/// Returns `true` if a job needs the host's `/tmp`.
pub(super) fn is_wanted(job: &Job) -> bool {
    let text = serde_json::to_string(job).expect("plain data");
    matches!(job.task, Task::Shell(_)) || names_it(&text)
}

/// Returns `true` if a text names `/tmp` or something in it, and not in the middle of another path.
fn names_it(text: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    text.match_indices(TMP).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + TMP.len()..].chars().next();
        !before.is_some_and(is_of_name) && !after.is_some_and(|c| c != '/' && is_of_name(c))
    })
}

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

#[cfg(test)]
mod tests {
    use super::names_it;

    #[test]
    fn a_path_is_named_where_it_begins() {
        for text in ["/tmp", "cat /tmp/x", "if=/tmp/x", "\"/tmp\"", "a;/tmp/", "cp a /tmp;b"] {
            assert!(names_it(text), "{text}");
        }
        for text in ["", "tmp", "/var/tmp/x", "/tmpfs", "/tmp.old", "./tmp", "x/tmp", "-/tmp-"] {
            assert!(!names_it(text), "{text}");
        }
    }
}
