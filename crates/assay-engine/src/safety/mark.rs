//! The mark on a file that assay made: the extended attribute `user.assay` or, where the file
//! system has no attributes, a sidecar `NAME.assay`.
//!
//! The mark names its inode (device, number, birth time). So a copy with the same attribute, or a
//! new file under an old name, does not count as made by assay. The mark says nothing about the
//! present contents, which [`super::contents`] examines each time.
//!
//! *Invariants.* A sidecar appears as a whole, never replaces a file (`Replace::Nothing`), and is
//! read only if it is a small regular file. The mark is no protection against malice: any user who
//! may write to the file may mark it.

use assay_fs::{Directory, Draft, InodeId, Node, NodeKind, Replace, remove};
use rustix::fs::{OFlags, XattrFlags, fgetxattr, fsetxattr};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

const NAME: &str = "user.assay";
/// The greatest length of a mark, in bytes.
const LONGEST: usize = 256;

/// What assay made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// A part of a target: its contents are of no use yet.
    Begun,
    /// A target.
    Whole,
    /// An image, whose contents a guest changes.
    Image,
}

impl Made {
    const ALL: [Made; 3] = [Made::Begun, Made::Whole, Made::Image];

    /// Returns the word in the mark. All have the same length.
    fn word(self) -> &'static str {
        match self {
            Made::Begun => "begun",
            Made::Whole => "whole",
            Made::Image => "image",
        }
    }
}

/// A mark that was found on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileMark {
    pub(crate) made: Made,
    /// Whether it names the file by its inode number alone, as a sidecar does on a file system
    /// without birth times: a new file may have the number of a removed one.
    pub(crate) is_by_number: bool,
}

/// Marks `file`, which is or will be `name` in `directory`.
///
/// # Errors
/// If the file system has no attributes and the sidecar's name is taken; also if a call fails.
pub(crate) fn put(file: &File, directory: &Directory, name: &OsStr, made: Made) -> io::Result<()> {
    let text = text(Node::of_file(file)?.id, made);
    match fsetxattr(file, NAME, text.as_bytes(), XattrFlags::empty()) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::PERM | Errno::NOSYS | Errno::INVAL) => {
            put_beside(file, directory, name, &text)
        }
        Err(e) => Err(e.into()),
    }
}

/// Writes the sidecar: a new one, or in place if it already marks this very file.
fn put_beside(file: &File, directory: &Directory, name: &OsStr, text: &str) -> io::Result<()> {
    let sidecar = sidecar(name);
    if let Some((_, node)) = beside(file, directory, name) {
        // All texts for one inode have the same length, so the new one covers the old one.
        return node.open(OFlags::WRONLY)?.write_all(text.as_bytes());
    }
    // It gets its name only when it is whole: an empty one would mark nothing and keep its name.
    let made = Draft::begin(directory, &sidecar).and_then(|(draft, mut file)| {
        file.write_all(text.as_bytes())?;
        draft.publish(&file, Replace::Nothing)
    });
    made.map(drop).map_err(|e| {
        let what = format!("{} cannot be made: {e}", sidecar.to_string_lossy());
        io::Error::new(e.kind(), what)
    })
}

/// Removes the sidecar of `file`, if it has one. Call it before the file itself is removed.
pub(crate) fn remove_beside(file: &File, directory: impl AsFd, name: &OsStr) {
    if let Some((_, node)) = beside(file, &directory, name) {
        // If this fails, a line of text stays that marks no file any more.
        let _ = remove(&directory, &sidecar(name), node.id);
    }
}

/// Returns the mark of `file`, which is `name` in `directory`, or `None` if it has no valid one.
pub(crate) fn find(file: &File, directory: impl AsFd, name: &OsStr) -> Option<FileMark> {
    in_attribute(file).or_else(|| {
        let (made, _) = beside(file, directory, name)?;
        let id = Node::of_file(file).ok()?.id;
        Some(FileMark { made, is_by_number: id.born.is_none() })
    })
}

/// Returns the mark in the attribute of `file`, or `None` if it has no valid one. An attribute goes
/// with its inode, a sidecar stays.
pub(crate) fn in_attribute(file: &File) -> Option<FileMark> {
    let mut value = [0_u8; LONGEST];
    let length = fgetxattr(file, NAME, &mut value[..]).ok()?;
    let made = parse(&value[..length], Node::of_file(file).ok()?.id)?;
    Some(FileMark { made, is_by_number: false })
}

/// Returns what `file` is by its sidecar, and the sidecar.
fn beside(file: &File, directory: impl AsFd, name: &OsStr) -> Option<(Made, Node)> {
    let node = Node::find_at(directory, Path::new(&sidecar(name)), OFlags::NOFOLLOW).ok()?;
    let NodeKind::File(1..=256) = node.kind else { return None };
    let mut text = Vec::new();
    let opened = node.open(OFlags::RDONLY).ok()?;
    opened.take(LONGEST as u64).read_to_end(&mut text).ok()?;
    Some((parse(&text, Node::of_file(file).ok()?.id)?, node))
}

fn sidecar(name: &OsStr) -> OsString {
    let mut sidecar = name.to_owned();
    sidecar.push(".assay");
    sidecar
}

fn text(id: InodeId, made: Made) -> String {
    format!("assay 2 {} {id}\n", made.word())
}

/// Returns what the inode `id` is by `mark`.
fn parse(mark: &[u8], id: InodeId) -> Option<Made> {
    Made::ALL.into_iter().find(|made| mark == text(id, *made).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn made(file: &File, directory: &Directory, name: &OsStr) -> Option<Made> {
        find(file, directory, name).map(|mark| mark.made)
    }

    fn open(dir: &Path) -> Directory {
        Directory::open(dir).unwrap()
    }

    #[test]
    fn a_marked_file_is_ours_and_a_copy_with_the_same_attribute_is_not() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (at, name) = (open(dir.path()), OsStr::new("data"));
        fs::write(dir.path().join(name), "x").unwrap();
        let file = File::open(dir.path().join(name)).unwrap();
        assert_eq!(made(&file, &at, name), None);
        for want in Made::ALL {
            put(&file, &at, name, want).unwrap();
            assert_eq!(made(&file, &at, name), Some(want));
        }
        fs::write(dir.path().join("copy"), "x").unwrap();
        let copy = File::open(dir.path().join("copy")).unwrap();
        let mut value = [0; LONGEST];
        if let Ok(length) = fgetxattr(&file, NAME, &mut value[..]) {
            fsetxattr(&copy, NAME, &value[..length], XattrFlags::empty()).unwrap();
        }
        assert_eq!(made(&copy, &at, OsStr::new("copy")), None);
    }

    #[test]
    fn a_sidecar_vouches_for_its_own_inode_alone() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (at, name) = (open(dir.path()), OsStr::new("data"));
        fs::write(dir.path().join(name), "x").unwrap();
        let file = File::open(dir.path().join(name)).unwrap();
        let words = text(Node::of_file(&file).unwrap().id, Made::Whole);
        put_beside(&file, &at, name, &words).unwrap();
        assert_eq!(made(&file, &at, name), Some(Made::Whole));
        fs::write(dir.path().join("new"), "y").unwrap();
        fs::rename(dir.path().join("new"), dir.path().join(name)).unwrap();
        let new = File::open(dir.path().join(name)).unwrap();
        assert_eq!(made(&new, &at, name), None);
    }

    #[test]
    fn nothing_that_has_the_name_of_a_sidecar_is_replaced() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (at, name) = (open(dir.path()), OsStr::new("data"));
        fs::write(dir.path().join(name), "x").unwrap();
        let file = File::open(dir.path().join(name)).unwrap();
        let words = text(Node::of_file(&file).unwrap().id, Made::Whole);
        fs::write(dir.path().join("letter"), "mine").unwrap();
        let beside = dir.path().join("data.assay");
        std::os::unix::fs::symlink("letter", &beside).unwrap();
        assert!(put_beside(&file, &at, name, &words).is_err());
        fs::remove_file(&beside).unwrap();
        fs::write(&beside, "mine").unwrap();
        assert!(put_beside(&file, &at, name, &words).is_err());
        assert_eq!(fs::read_to_string(&beside).unwrap(), "mine");
        assert_eq!(fs::read_to_string(dir.path().join("letter")).unwrap(), "mine");
        assert_eq!(made(&file, &at, name), None);
    }
}
