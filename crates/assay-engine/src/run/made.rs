//! Directories that a run makes, and removes again if it does not begin.

use crate::error::Error;
use assay_fs::Directory;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Component, Path};

/// Opens the directory `path`, making the missing parts of the path, which are recorded in `made`.
pub(super) fn make(path: &Path, made: &mut Vec<(Directory, OsString)>) -> io::Result<Directory> {
    // A path may be too long although each part of it can be made.
    if let Err(e) = path.symlink_metadata()
        && e.kind() == ErrorKind::InvalidFilename
    {
        return Err(e);
    }
    let there = path.ancestors().find(|p| p.as_os_str().is_empty() || p.exists());
    let there = there.unwrap_or(Path::new(""));
    let mut directory = Directory::open_for_new(there)?;
    for part in path.strip_prefix(there).unwrap_or(path).components() {
        let Component::Normal(name) = part else {
            let part = part.as_os_str().display();
            let what = format!("`{part}` comes after a directory that does not exist");
            return Err(io::Error::new(ErrorKind::InvalidInput, what));
        };
        directory = match directory.make(name, 0o777) {
            Ok(next) => {
                made.push((directory, name.to_owned()));
                next
            }
            // Another process may have made it meanwhile, or put something into it.
            Err(e) => directory.below(name).map_err(|_| e)?,
        };
    }
    Ok(directory)
}

/// Removes directories that were made, as far as they are empty.
pub(super) fn unmake(made: &[(Directory, OsString)]) {
    for (parent, name) in made.iter().rev() {
        let id = parent.below(name).and_then(|directory| directory.id());
        let _ = id.and_then(|id| assay_fs::remove(parent, name, id));
    }
}

pub(super) fn not_made(path: &Path, cause: io::Error) -> Error {
    let message = format!("the run directory {} cannot be created", path.display());
    Error::environment("out-not-writable", message, "choose another place with `--out DIR`")
        .caused_by(cause)
}
