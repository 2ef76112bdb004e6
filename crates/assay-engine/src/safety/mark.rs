//! The mark on a file that assay made: the extended attribute `user.assay`, or, where the file
//! system has none, a sidecar `NAME.assay`.
//!
//! *Invariant:* a sidecar counts only for the file it was written for (inode and size), so a new
//! file under an old name is not taken for ours. Not a protection against malice.

use std::ffi::{CStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const NAME: &CStr = c"user.assay";
const VALUE: &[u8] = b"1";

/// Marks `file`, which is `path`, as ours.
pub(crate) fn put(file: &File, path: &Path) -> io::Result<()> {
    // SAFETY: the name is a C string and the value is as long as said; both outlive the call.
    let result = unsafe {
        let (name, value) = (NAME.as_ptr(), VALUE.as_ptr().cast());
        libc::fsetxattr(file.as_raw_fd(), name, value, VALUE.len(), 0)
    };
    if result == 0 {
        return Ok(());
    }
    fs::write(sidecar(path), sidecar_text(file)?)
}

/// True if assay made `file`, which is `path`.
pub(crate) fn is_ours(file: &File, path: &Path) -> bool {
    let mut value = [0_u8; 8];
    // SAFETY: the name is a C string, and the buffer is as long as said.
    let length = unsafe {
        let buffer = value.as_mut_ptr().cast();
        libc::fgetxattr(file.as_raw_fd(), NAME.as_ptr(), buffer, value.len())
    };
    if usize::try_from(length).is_ok_and(|n| &value[..n.min(value.len())] == VALUE) {
        return true;
    }
    match (fs::read_to_string(sidecar(path)), sidecar_text(file)) {
        (Ok(found), Ok(expected)) => found == expected,
        _ => false,
    }
}

fn sidecar(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".assay");
    PathBuf::from(name)
}

fn sidecar_text(file: &File) -> io::Result<String> {
    let metadata = file.metadata()?;
    Ok(format!("assay 1 inode {} size {}\n", metadata.ino(), metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_file_is_ours_and_a_stranger_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        fs::write(&path, "x").unwrap();
        let file = File::open(&path).unwrap();
        assert!(!is_ours(&file, &path));
        put(&file, &path).unwrap();
        assert!(is_ours(&file, &path));
    }

    #[test]
    fn a_sidecar_does_not_vouch_for_a_changed_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        fs::write(&path, "x").unwrap();
        let file = File::open(&path).unwrap();
        fs::write(sidecar(&path), sidecar_text(&file).unwrap()).unwrap();
        assert!(is_ours(&file, &path));
        fs::write(&path, "longer").unwrap();
        assert!(!is_ours(&file, &path));
    }
}
