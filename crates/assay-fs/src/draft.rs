//! Files that appear as a whole, and replace only files that may be replaced.
//!
//! A draft has no name (`O_TMPFILE`) or, where the file system cannot do that, a random new one. It
//! gets its own name once it is complete: after a crash there is the old file or the new one. A
//! file that has the name by then is replaced only if it is a regular file that may be replaced. It
//! is moved aside and checked before it is removed, so that no other file is lost if somebody
//! exchanges names in between.
//!
//! *Invariant.* No symlink, device, FIFO or directory is ever replaced or written through.

use crate::directory::Directory;
use crate::node::{InodeId, Node, NodeKind, random_name, remove};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, XattrFlags, fgetxattr, fsetxattr, getxattr, linkat,
    listxattr, openat, renameat_with,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// The prefix of a draft's temporary name; 32 random digits follow.
const PREFIX: &str = ".assay-partial-";

/// The files that a draft may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// None.
    Nothing,
    /// The file with this inode, if its contents were last changed at this time.
    Only(InodeId, (i64, u32)),
    /// A regular file that assay wrote and nobody has changed since.
    Written,
    /// Any regular file, because the user allowed it.
    Forced,
}

/// A file that is not complete yet.
#[derive(Debug)]
pub struct Draft {
    directory: Directory,
    /// Its temporary name, if it has one.
    random: Option<OsString>,
    name: OsString,
    id: InodeId,
}

impl Draft {
    /// Begins the file that will appear as `name` in `directory`; returns it with the file to write
    /// into.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn begin(directory: &Directory, name: &OsStr) -> io::Result<(Draft, File)> {
        let mode = Mode::from_raw_mode(0o666);
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let directory = directory.try_clone()?;
        let draft = |random, file: OwnedFd| {
            let file = File::from(file);
            let id = Node::of_file(&file)?.id;
            Ok((
                Draft { directory: directory.try_clone()?, random, name: name.to_owned(), id },
                file,
            ))
        };
        match openat(&directory, ".", flags | OFlags::TMPFILE, mode) {
            Ok(file) => return draft(None, file),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL | Errno::NOSYS) => {}
            Err(e) => return Err(e.into()),
        }
        directory.check_removable()?;
        let random = random_name(PREFIX)?;
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = openat(&directory, &random, flags, mode)?;
        draft(Some(random), file)
    }

    /// Gives `file`, which must be complete, its final name; returns its node.
    ///
    /// # Errors
    /// `AlreadyExists` if the name belongs to something that may not be replaced; otherwise the
    /// error of a system call.
    pub fn publish(mut self, file: &File, replace: Replace) -> io::Result<Node> {
        if matches!(replace, Replace::Written | Replace::Forced) {
            sign(file)?;
        }
        self.give_name(file, replace).map_err(|e| self.removed_after(e))?;
        Node::of_file(file)
    }

    /// Removes the draft after `error`; returns the error, which names the file if it stays.
    fn removed_after(&mut self, error: io::Error) -> io::Error {
        let random = self.random.clone();
        match (self.remove(), random) {
            (Err(why), Some(random)) => {
                let name = random.display();
                let text = format!("{error}; the temporary file `{name}` stays there ({why})");
                io::Error::new(error.kind(), text)
            }
            _ => error,
        }
    }

    fn give_name(&mut self, file: &File, replace: Replace) -> io::Result<()> {
        // Otherwise the name may reach the disk before the contents.
        file.sync_data()?;
        let name = self.name.clone();
        let random = match self.random.clone() {
            Some(random) => random,
            None => match self.link(file, &name) {
                Ok(()) => return self.keep(&name),
                // Only a replacement needs a temporary name: links do not replace.
                Err(Errno::EXIST) => {
                    self.directory.check_removable()?;
                    let random = random_name(PREFIX)?;
                    self.link(file, &random)?;
                    self.random = Some(random.clone());
                    random
                }
                Err(e) => return Err(e.into()),
            },
        };
        match self.rename(&random, &name, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.random = None;
                return self.keep(&name);
            }
            Err(Errno::EXIST) => return self.exchange(file, &random, &name, replace),
            Err(Errno::INVAL | Errno::NOSYS) => {
                // A link replaces nothing, either. Then the file has two names.
                match linkat(&self.directory, &random, &self.directory, &name, AtFlags::empty()) {
                    Ok(()) => {
                        self.keep(&name)?;
                        return self.remove().map_err(|why| {
                            let random = random.display();
                            let text = format!("the temporary file `{random}` stays there ({why})");
                            io::Error::new(why.kind(), text)
                        });
                    }
                    Err(Errno::EXIST) => return self.exchange(file, &random, &name, replace),
                    Err(_) => {}
                }
                // Without links, another file may take the name after the check.
                if let Ok(found) = Node::find_at(&self.directory, name.as_ref(), OFlags::NOFOLLOW) {
                    may_go(&found, file, replace)?;
                }
                self.rename(&random, &name, RenameFlags::empty())?;
            }
            Err(e) => return Err(e.into()),
        }
        self.random = None;
        self.directory.sync()
    }

    /// Replaces the file with the final name, if it may be replaced, by exchanging the two names.
    fn exchange(
        &mut self,
        file: &File,
        random: &OsStr,
        name: &OsStr,
        replace: Replace,
    ) -> io::Result<()> {
        let found = Node::find_at(&self.directory, Path::new(name), OFlags::NOFOLLOW)?;
        may_go(&found, file, replace)?;
        inherit(file, &found)?;
        match self.rename(random, name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS) => {
                self.rename(random, name, RenameFlags::empty())?;
                self.random = None;
                return self.directory.sync();
            }
            Err(e) => return Err(e.into()),
        }
        // The temporary name now leads to the old file, unless another file took the name before.
        self.random = None;
        if self.remove_replaced(file, random, &found, replace).is_err() {
            // If the exchange fails, the final name is free: the other file gets it back.
            match self.rename(random, name, RenameFlags::EXCHANGE) {
                Ok(()) => self.random = Some(random.to_owned()),
                Err(_) => self.rename(random, name, RenameFlags::NOREPLACE)?,
            }
            let message = "the file of this name was changed or exchanged meanwhile";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        self.directory.sync()
    }

    /// Removes the file `found`, which `file` has replaced, if nobody has changed it since the
    /// check.
    fn remove_replaced(
        &self,
        file: &File,
        random: &OsStr,
        found: &Node,
        replace: Replace,
    ) -> io::Result<()> {
        let replaced = Node::find_at(&self.directory, Path::new(random), OFlags::NOFOLLOW)?;
        // The new name may have given it another identity.
        let id = found.again()?.id;
        let replace = match replace {
            Replace::Only(_, modified) => Replace::Only(id, modified),
            other => other,
        };
        may_go(&replaced, file, replace)?;
        remove(&self.directory, random, id)
    }

    /// Makes the new name `name` last. If that fails, removes it: a file whose making failed must
    /// not be there.
    fn keep(&self, name: &OsStr) -> io::Result<()> {
        self.directory.sync().inspect_err(|_| {
            let _ = remove(&self.directory, name, self.id);
        })
    }

    /// Gives `file`, which has no name, the name `to`.
    fn link(&self, file: &File, to: &OsStr) -> rustix::io::Result<()> {
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        linkat(CWD, link, &self.directory, to, AtFlags::SYMLINK_FOLLOW)
    }

    fn rename(&self, from: &OsStr, to: &OsStr, flags: RenameFlags) -> rustix::io::Result<()> {
        renameat_with(&self.directory, from, &self.directory, to, flags)
    }

    /// Removes the file of the temporary name, if there is one; if that fails, it stays.
    fn remove(&mut self) -> io::Result<()> {
        match self.random.take() {
            Some(random) => remove(&self.directory, &random, self.id),
            None => Ok(()),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = self.remove();
    }
}

/// Checks that `found` is a regular file that `new` may replace.
fn may_go(found: &Node, new: &File, replace: Replace) -> io::Result<()> {
    let exists = |what: &str| Err(io::Error::new(io::ErrorKind::AlreadyExists, what.to_owned()));
    if !matches!(found.kind, NodeKind::File(_)) {
        return exists("something that is not a regular file has this name");
    }
    let may = match replace {
        Replace::Nothing => false,
        Replace::Only(id, modified) => found.id.is(&id) && found.modified == modified,
        Replace::Written => is_written(&found.open(OFlags::RDONLY | OFlags::NONBLOCK)?, new)?,
        Replace::Forced => true,
    };
    match may {
        true => Ok(()),
        false => exists(
            "a file of this name exists, and either assay did not write it or it was changed since",
        ),
    }
}

/// Gives `new` the owner, as far as allowed, the permissions and the attributes of `old`, access
/// control lists among them: who may read a page does not change when it is made anew.
fn inherit(new: &File, old: &Node) -> io::Result<()> {
    let (found, own) = (fs::metadata(old.link())?, new.metadata()?);
    if (found.uid(), found.gid()) != (own.uid(), own.gid()) {
        // Only root may; for others, the permissions below are as close as it gets.
        let _ = fchown(new, Some(found.uid()), Some(found.gid()));
    }
    match found.mode() & 0o777 {
        mode if mode == own.mode() & 0o777 => {}
        mode => new.set_permissions(fs::Permissions::from_mode(mode))?,
    }
    inherit_attributes(new, old)
}

/// Gives `new` the extended attributes of `old`, but for its signature and for those by which the
/// kernel's security modules know a file.
fn inherit_attributes(new: &File, old: &Node) -> io::Result<()> {
    let link = old.link();
    let mut names = vec![0; LIST_MAX];
    let length = match listxattr(&link, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
        Err(e) => return Err(e.into()),
    };
    let names = names[..length].split(|b| *b == 0).map(OsStr::from_bytes);
    let is_kept = |name: &OsStr| {
        !name.is_empty() && name != SIGNATURE && !name.as_bytes().starts_with(b"security.")
    };
    for name in names.filter(|name| is_kept(name)) {
        let mut value = vec![0; VALUE_MAX];
        let copied = getxattr(&link, name, &mut value[..])
            .and_then(|length| fsetxattr(new, name, &value[..length], XattrFlags::empty()));
        copied.map_err(|e| {
            let name = name.display();
            io::Error::new(e.kind(), format!("the file's attribute `{name}` cannot be kept: {e}"))
        })?;
    }
    Ok(())
}

/// The greatest length of the names of a file's attributes, and of a value, in bytes.
const LIST_MAX: usize = 64 << 10;
const VALUE_MAX: usize = 64 << 10;

/// The extended attribute that holds the length and the digest of a file that assay wrote.
const SIGNATURE: &str = "user.assay.written";

/// Stores the signature of a file in its attributes, where the file system has them.
fn sign(file: &File) -> io::Result<()> {
    let signature = signature(file)?;
    match fsetxattr(file, SIGNATURE, signature.as_bytes(), XattrFlags::empty()) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::PERM | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

fn signature(file: &File) -> io::Result<String> {
    Ok(format!("{}{:016x}", written_length(file)?, digest(file)?))
}

/// Returns the length of a file as it is written in its signature.
fn written_length(file: &File) -> io::Result<String> {
    Ok(format!("{:016x}", file.metadata()?.len()))
}

/// Returns `true` if `old` is unchanged since assay wrote it, equals `new`, or is empty. Where the
/// file system has no attributes, nothing tells the first.
fn is_written(old: &File, new: &File) -> io::Result<bool> {
    let length = old.metadata()?.len();
    if length == 0 {
        return Ok(true);
    }
    let mut value = [0_u8; 32];
    let signed = fgetxattr(old, SIGNATURE, &mut value[..]) == Ok(value.len());
    let is_as_long = signed && value.starts_with(written_length(old)?.as_bytes());
    let is_as_long_as_new = length == new.metadata()?.len();
    // A file of another length, which may be terabytes, is not read.
    if !is_as_long && !is_as_long_as_new {
        return Ok(false);
    }
    let of_old = signature(old)?;
    Ok(is_as_long && value == *of_old.as_bytes() || is_as_long_as_new && of_old == signature(new)?)
}

/// Hashes a file with FNV-1a, which reveals a change but not a forgery.
fn digest(file: &File) -> io::Result<u64> {
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    let (mut buffer, mut at) = (vec![0; 1 << 16], 0);
    loop {
        let read = file.read_at(&mut buffer, at)?;
        if read == 0 {
            return Ok(digest);
        }
        for byte in &buffer[..read] {
            digest = (digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
        at += read as u64;
    }
}

/// Returns `true` if `name` is the temporary name of a draft, as a killed process may leave it.
pub fn is_draft(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    digits.is_some_and(|d| d.len() == 32 && d.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    fn draft_at(path: &Path) -> io::Result<(Draft, File)> {
        Draft::begin(&Directory::open(path.parent().unwrap())?, path.file_name().unwrap())
    }

    fn write(path: &Path, text: &str, replace: Replace) -> io::Result<Node> {
        let (draft, mut file) = draft_at(path)?;
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
        let (draft, mut file) = draft_at(&path).unwrap();
        file.write_all(b"one").unwrap();
        assert_eq!(names(dir.path()).iter().filter(|n| *n == "page").count(), 0);
        draft.publish(&file, Replace::Written).unwrap();
        drop(draft_at(&path).unwrap());
        assert_eq!(names(dir.path()), ["page"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
    }

    #[test]
    fn a_file_of_another_length_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page");
        write(&path, "one", Replace::Written).unwrap();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 42).unwrap();
        assert!(write(&path, "two", Replace::Written).is_err());
    }

    #[test]
    fn a_replaced_file_keeps_its_owner_and_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page");
        write(&path, "one", Replace::Written).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        // Only root can give a file away; for others the owner stays their own.
        let _ = fchown(File::open(&path).unwrap(), Some(65533), None);
        let owner = fs::metadata(&path).unwrap().uid();
        write(&path, "two", Replace::Forced).unwrap();
        let replaced = fs::metadata(&path).unwrap();
        assert_eq!((replaced.mode() & 0o777, replaced.uid()), (0o600, owner));
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
    }

    #[test]
    fn a_replaced_file_keeps_its_attributes() {
        // An access control list: the user 65533 may read, the group may not.
        const USER: u32 = 65533;
        let entries = [(1, 6, !0), (2, 4, USER), (4, 0, !0), (16, 4, !0), (32, 0, !0_u32)];
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (tag, permission, of) in entries {
            list.extend([tag, permission].map(u16::to_le_bytes).concat());
            list.extend(of.to_le_bytes());
        }
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = dir.path().join("page");
        write(&path, "one", Replace::Written).unwrap();
        let attributes: [(&str, &[u8]); 2] =
            [("user.note", b"mine"), ("system.posix_acl_access", &list)];
        for (name, value) in attributes {
            match rustix::fs::setxattr(&path, name, value, XattrFlags::empty()) {
                Ok(()) => {}
                // The file system has none.
                Err(Errno::OPNOTSUPP) => return,
                Err(e) => panic!("{name}: {e}"),
            }
        }
        for replace in [Replace::Written, Replace::Forced] {
            write(&path, "two", replace).unwrap();
            for (name, value) in attributes {
                let mut kept = [0; 200];
                let length = getxattr(&path, name, &mut kept[..]).unwrap();
                assert_eq!(&kept[..length], value, "{name}");
            }
        }
    }

    #[test]
    fn only_what_may_go_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page");
        let page = |words: &str| format!("assay wrote this page, and it is long: {words}");
        fs::write(&path, page("somebody else's")).unwrap();
        assert!(write(&path, &page("1"), Replace::Written).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), page("somebody else's"));
        write(&path, &page("2"), Replace::Forced).unwrap();
        write(&path, &page("3"), Replace::Written).unwrap();
        // Somebody else adds a note.
        fs::write(&path, page("3 and a note")).unwrap();
        assert!(write(&path, &page("4"), Replace::Written).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), page("3 and a note"));
        assert!(write(&path, "other", Replace::Nothing).is_err());
        fs::remove_file(&path).unwrap();
        let first = write(&path, "other", Replace::Nothing).unwrap();
        let only = |node: &Node| Replace::Only(node.id, node.modified);
        let second = write(&path, "another", only(&first)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "another");
        assert!(write(&path, "other", only(&first)).is_err());
        // The times of files advance with the ticks of the kernel.
        std::thread::sleep(std::time::Duration::from_millis(30));
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"mine").unwrap();
        assert!(write(&path, "other", only(&second)).is_err(), "somebody has added to it");
        write(&path, "other", Replace::Forced).unwrap();
        // A file with the same contents may be replaced.
        write(&path, "other", Replace::Written).unwrap();
        assert_eq!(names(dir.path()), ["page"]);
    }

    #[test]
    fn what_is_no_regular_file_is_never_replaced_or_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let path = dir.path().join("page");
        let check = |what: &str| {
            for replace in [Replace::Nothing, Replace::Written, Replace::Forced] {
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
        assert!(is_draft(&random_name(PREFIX).unwrap()));
        for name in ["run.partial", ".assay-partial-", ".assay-partial-x", "page"] {
            assert!(!is_draft(OsStr::new(name)));
        }
    }
}
