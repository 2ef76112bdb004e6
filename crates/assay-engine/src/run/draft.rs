//! Files that appear as a whole, and replace nothing that is not theirs to replace.
//!
//! A draft has no name (`O_TMPFILE`), or where that cannot be, a random one that nothing had. It
//! gets its own when it is whole: after a crash there is the old file or the new one. What has the
//! name by then is replaced only if it is a regular file that may go; it is taken out and looked at
//! before it is removed, so that names exchanged in between cost nobody a file.
//!
//! *Invariant.* No symlink, device, FIFO or directory is ever replaced or written through.

use crate::safety::node::{Node, NodeKind, random_name};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// What a draft without another name is called, and 32 random digits.
const PREFIX: &str = ".assay-partial-";

/// What may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// Any regular file of this name: the directory and its names are assay's own.
    Own,
    /// A regular file that begins as the new one does, so that assay wrote it.
    Alike,
    /// Any regular file: the user said so.
    Forced,
}

/// A file on its way.
#[derive(Debug)]
pub(crate) struct Draft {
    directory: File,
    /// The name it has until it is whole, if it has one.
    random: Option<OsString>,
    path: PathBuf,
}

impl Draft {
    /// Begins the file that will appear at `path`; returns it with what is written into.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn begin(path: &Path) -> io::Result<(Draft, File)> {
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
        let directory = File::open(parent.unwrap_or(Path::new(".")))?;
        let mode = Mode::from_raw_mode(0o666);
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let mut draft = Draft { directory, random: None, path: path.to_owned() };
        match openat(&draft.directory, ".", flags | OFlags::TMPFILE, mode) {
            Ok(file) => return Ok((draft, file.into())),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL | Errno::NOSYS) => {}
            Err(e) => return Err(e.into()),
        }
        let name = random_name(PREFIX);
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = openat(&draft.directory, &name, flags, mode)?;
        draft.random = Some(name);
        Ok((draft, file.into()))
    }

    /// The directory that the file will appear in, to be looked at while it is written.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn place(&self) -> io::Result<Place> {
        Ok(Place(self.directory.try_clone()?))
    }

    /// Gives `file`, which is whole, its name for good.
    ///
    /// # Errors
    /// `AlreadyExists` if something has the name that may not be replaced; else what the system
    /// says.
    pub(crate) fn publish(mut self, file: &File, replace: Replace) -> io::Result<()> {
        // Without it, the name may reach the disk before the content does.
        file.sync_data()?;
        let name = self.path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let random = match self.random.clone() {
            Some(random) => random,
            None => {
                let random = random_name(PREFIX);
                let link = format!("/proc/self/fd/{}", file.as_raw_fd());
                linkat(CWD, link, &self.directory, &random, AtFlags::SYMLINK_FOLLOW)?;
                self.random = Some(random.clone());
                random
            }
        };
        match self.rename(&random, &name, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST) => return self.exchange(file, &random, &name, replace),
            // Not every file system can: then there is a moment in which another may take the name.
            Err(Errno::INVAL | Errno::NOSYS) => {
                if let Ok(found) = Node::find_at(&self.directory, name.as_ref(), OFlags::NOFOLLOW) {
                    may_go(&found, file, replace)?;
                }
                self.rename(&random, &name, RenameFlags::empty())?;
            }
            Err(e) => return Err(e.into()),
        }
        self.random = None;
        self.directory.sync_all()
    }

    /// Puts the file where another is, and removes that one if it is what may go.
    fn exchange(
        mut self,
        file: &File,
        random: &OsStr,
        name: &OsStr,
        replace: Replace,
    ) -> io::Result<()> {
        let found = Node::find_at(&self.directory, Path::new(name), OFlags::NOFOLLOW)?;
        may_go(&found, file, replace)?;
        match self.rename(random, name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS) => {
                self.rename(random, name, RenameFlags::empty())?;
                self.random = None;
                return self.directory.sync_all();
            }
            Err(e) => return Err(e.into()),
        }
        let out = Node::find_at(&self.directory, Path::new(random), OFlags::NOFOLLOW)?;
        if !out.id.is(&found.id) {
            self.rename(random, name, RenameFlags::EXCHANGE)?;
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the name changed hands"));
        }
        // The old file has the random name now, and goes with the draft.
        self.directory.sync_all()?;
        self.remove();
        Ok(())
    }

    fn rename(&self, from: &OsStr, to: &OsStr, flags: RenameFlags) -> rustix::io::Result<()> {
        renameat_with(&self.directory, from, &self.directory, to, flags)
    }

    fn remove(&mut self) {
        if let Some(random) = self.random.take() {
            // What stays has a name that nobody asked for.
            let _ = unlinkat(&self.directory, random, AtFlags::empty());
        }
    }
}

/// The directory of a draft.
pub(crate) struct Place(File);

impl Place {
    /// Checks that the directory still has a name.
    ///
    /// # Errors
    /// `NotFound` if it has been removed: no file in it can be found any more.
    pub(crate) fn check(&self) -> io::Result<()> {
        match Node::of_file(&self.0)?.names {
            0 => Err(io::Error::new(io::ErrorKind::NotFound, "the directory has been removed")),
            _ => Ok(()),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Refuses to replace `found` unless it is a regular file that may go for `new`.
fn may_go(found: &Node, new: &File, replace: Replace) -> io::Result<()> {
    let exists = |what: &str| Err(io::Error::new(io::ErrorKind::AlreadyExists, what.to_owned()));
    if !matches!(found.kind, NodeKind::File(_)) {
        return exists("something that is no regular file has this name");
    }
    if replace != Replace::Alike {
        return Ok(());
    }
    let beginning = |file: File| {
        let mut bytes = Vec::new();
        file.take(ALIKE).read_to_end(&mut bytes).map(|_| bytes)
    };
    let old = beginning(found.open(OFlags::RDONLY | OFlags::NONBLOCK)?)?;
    let new = beginning(Node::of_file(new)?.open(OFlags::RDONLY)?)?;
    match old == new || old.is_empty() {
        true => Ok(()),
        false => exists("a file that assay did not write has this name"),
    }
}

/// So many first bytes tell what assay wrote from what it did not.
const ALIKE: u64 = 32;

/// Whether a file of this name is a draft that a killed process left.
pub(super) fn is_draft(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    digits.is_some_and(|d| d.len() == 32 && d.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    fn write(path: &Path, text: &str, replace: Replace) -> io::Result<()> {
        let (draft, mut file) = Draft::begin(path)?;
        file.write_all(text.as_bytes())?;
        draft.publish(&file, replace)
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|n| n.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_draft_appears_whole_and_leaves_nothing_if_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page");
        let (draft, mut file) = Draft::begin(&path).unwrap();
        file.write_all(b"one").unwrap();
        assert_eq!(names(dir.path()).iter().filter(|n| *n == "page").count(), 0);
        draft.publish(&file, Replace::Alike).unwrap();
        drop(Draft::begin(&path).unwrap());
        assert_eq!(names(dir.path()), ["page"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
    }

    #[test]
    fn only_what_may_go_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page");
        let head = "assay wrote this page, and it is long";
        fs::write(&path, "mine").unwrap();
        assert!(write(&path, head, Replace::Alike).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        write(&path, head, Replace::Forced).unwrap();
        write(&path, &format!("{head}, again"), Replace::Alike).unwrap();
        write(&path, "other", Replace::Own).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "other");
        assert_eq!(names(dir.path()), ["page"]);
    }

    #[test]
    fn what_is_no_regular_file_is_never_replaced_or_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let path = dir.path().join("page");
        let check = |what: &str| {
            for replace in [Replace::Own, Replace::Alike, Replace::Forced] {
                let error = write(&path, "mine too", replace).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{what}");
            }
            assert_eq!(fs::read_to_string(&victim).unwrap(), "mine", "{what}");
            assert_eq!(names(dir.path()), ["page", "victim"], "{what}");
        };
        symlink("victim", &path).unwrap();
        check("a symlink");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        check("a directory");
        fs::remove_dir(&path).unwrap();
        rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .unwrap();
        check("a FIFO");
    }

    #[test]
    fn drafts_are_known_by_their_names() {
        assert!(is_draft(&random_name(PREFIX)));
        for name in ["run.partial", ".assay-partial-", ".assay-partial-x", "page"] {
            assert!(!is_draft(OsStr::new(name)));
        }
    }
}
