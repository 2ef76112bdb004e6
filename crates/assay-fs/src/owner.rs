//! Finds paths that another user than root can change.
//!
//! Where root opens a file by its name again and again, another user must not be able to exchange
//! the file in between.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns the first of `path` and the directories above it that a user other than root may change.
/// Returns `None` if there is none, or if this process does not run as root.
pub fn changeable_by_others(path: &Path) -> Option<PathBuf> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let Ok(real) = path.canonicalize() else { return Some(path.to_owned()) };
    real.ancestors().find(|path| others_may_change(path)).map(Path::to_owned)
}

/// Returns `true` if a user other than root may change the file, or replace files in the directory,
/// at `path`. In a directory with the sticky bit users may replace only their own files.
fn others_may_change(path: &Path) -> bool {
    let Ok(found) = std::fs::metadata(path) else { return true };
    let writers = if found.gid() == 0 { 0o002 } else { 0o022 };
    let is_sticky = found.is_dir() && found.mode() & 0o1000 != 0;
    found.uid() != 0 || found.mode() & writers != 0 && !is_sticky
}
