//! Scratch directories: directories that are removed with the value that made them.
//!
//! Each has a random name. In it are the directory to work in and a marker, which is locked as long
//! as the owner lives. A process that is killed removes nothing; the next process that makes a
//! scratch directory in the same place does. It removes only a directory that is certainly
//! abandoned by assay: with such a name, owned by its user, closed to others, with a marker that
//! names this very directory and that nobody has locked, or empty for a minute. In the directory it
//! removes only files that the work makes and that are younger than the directory, as an older file
//! was moved there. It follows no symlink and crosses no mount. If other files are left, the
//! directory stays.

use crate::directory::Directory;
use crate::node::{self, InodeId, Node, NodeKind, random_name};
use rustix::fs::{FlockOperation, OFlags, RenameFlags, flock, renameat_with};
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The name of the marker, which shows that assay made a directory.
const MARKER: &str = ".assay";
/// The name of the marker until it is locked.
const UNLOCKED: &str = ".assay-unlocked";
/// The name of the directory to work in.
const WORK: &str = "data";
/// The time in seconds after which a directory without a marker is not being made any more.
const MAKING: i64 = 60;
/// The number of random digits in the name.
const DIGITS: usize = 16;

/// A function that returns `true` for paths, below the directory to work in, that the work makes.
pub type Makes = fn(&Path) -> bool;

/// A scratch directory, removed when the value is dropped.
#[derive(Debug)]
pub struct Scratch {
    below: Directory,
    name: OsString,
    whole: Directory,
    work: Directory,
    path: PathBuf,
    makes: Makes,
    lock: Option<File>,
}

impl Scratch {
    /// Makes a directory in `below`, with a name that begins with `prefix`, after removing those
    /// that killed processes left there. `makes` returns `true` for the files that the work will
    /// make.
    ///
    /// # Errors
    /// If no directory can be made there.
    pub fn new(below: &Path, prefix: &str, makes: Makes) -> io::Result<Scratch> {
        let path = below;
        let below = Directory::open_for_new(path)?;
        below.check_removable()?;
        sweep(&below, prefix, makes);
        // Sixteen digits are enough, and the path of a socket below it must be short.
        let random = random_name("")?.into_string().expect("digits");
        let name = OsString::from(format!("{prefix}-{}", &random[..DIGITS]));
        let whole = below.make(&name, 0o700)?;
        let made = is_shut(&whole).and_then(|()| {
            let lock = mark(&whole)?;
            Ok((whole.make(WORK, 0o777)?, lock))
        });
        match made {
            Ok((work, lock)) => {
                let path = path.join(&name).join(WORK);
                Ok(Scratch { below, name, whole, work, path, makes, lock: Some(lock) })
            }
            Err(e) => {
                // The error that led here matters more than one from cleaning up.
                let _ = remove(&below, &name, &whole, makes, None);
                Err(e)
            }
        }
    }

    /// Returns the directory to work in.
    pub fn directory(&self) -> &Directory {
        &self.work
    }

    /// Returns the path of the directory to work in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directory.
    ///
    /// # Errors
    /// If it is still there. The error names a file that stays in it, and the reason.
    pub fn close(mut self) -> io::Result<()> {
        self.remove()
    }

    fn remove(&mut self) -> io::Result<()> {
        match self.lock.take() {
            Some(lock) => remove(&self.below, &self.name, &self.whole, self.makes, Some(lock)),
            None => Ok(()),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A drop has no way to return an error.
        let _ = self.remove();
    }
}

/// Checks that a directory belongs to this user and is closed to others, so that nobody has put
/// another in its place.
fn is_shut(directory: &Directory) -> io::Result<()> {
    let found = rustix::fs::fstat(directory)?;
    match found.st_uid == geteuid().as_raw() && found.st_mode & 0o777 == 0o700 {
        true => Ok(()),
        false => Err(io::Error::other("others can change the directory")),
    }
}

/// Returns the contents of a directory's marker. They name the directory, so that a copy of the
/// marker in another directory does not count.
fn text(directory: InodeId) -> String {
    format!("directory of assay's, which removes it when it has ended: {directory}\n")
}

/// Makes the marker of a directory and locks it. It gets its name only once it is locked, because
/// without that name a directory is never taken for abandoned. Where files cannot be locked, there
/// is no marker.
fn mark(directory: &Directory) -> io::Result<File> {
    let mut marker = directory.create(UNLOCKED)?;
    marker.write_all(text(directory.id()?).as_bytes())?;
    match flock(&marker, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            renameat_with(directory, UNLOCKED, directory, MARKER, RenameFlags::empty())?;
        }
        Err(_) => directory.remove_file(UNLOCKED)?,
    }
    Ok(marker)
}

/// Removes a scratch directory, its marker last: if this process is killed meanwhile, another can
/// go on. Returns an error that says what is left of it, and why.
///
/// Closes the marker before it removes it: FUSE and NFS keep an open file under another name.
fn remove(
    below: &Directory,
    name: &OsStr,
    whole: &Directory,
    makes: Makes,
    lock: Option<File>,
) -> io::Result<()> {
    if let Ok(work) = Node::find_at(whole, Path::new(WORK), OFlags::NOFOLLOW) {
        make_searchable(&work);
    }
    match whole.below(WORK) {
        Ok(work) => {
            let begun = age(&whole.node()?);
            let work_path = Path::new(WORK);
            clear(&work, work_path, &|path, node| {
                let is_made = path.strip_prefix(WORK).is_ok_and(makes) || node::is_going(path);
                is_made && age(node) >= begun
            })?;
            whole.remove_directory(OsStr::new(WORK)).map_err(|e| left(work_path, &e))?;
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(left(Path::new(WORK), &e)),
    }
    // The marker stays if there is anything else.
    let only = [MARKER, UNLOCKED];
    let entries = whole.entries()?;
    if let Some(entry) = entries.iter().find(|e| !only.iter().any(|name| e.name == *name)) {
        return Err(left(Path::new(&entry.name), &not_ours()));
    }
    drop(lock);
    for name in only {
        let _ = whole.remove_file(name);
    }
    node::remove(below, name, whole.id()?)
}

/// Returns the error for `path`, in a scratch directory, which is left there because of `cause`.
fn left(path: &Path, cause: &io::Error) -> io::Error {
    io::Error::new(cause.kind(), format!("{}: {cause}", path.display()))
}

fn not_ours() -> io::Error {
    io::Error::other("the work did not make it")
}

/// Returns the birth time of an inode or, where the file system keeps none, the time of its last
/// change. A file that was moved here from elsewhere is older than the scratch directory.
fn age(node: &Node) -> (i64, u32) {
    node.id.born.unwrap_or(node.modified)
}

/// Removes the files in `directory` for which `ours` returns `true`. `path` is the path of
/// `directory` in the scratch directory.
///
/// # Errors
/// If anything stays; removes the rest.
fn clear(
    directory: &Directory,
    path: &Path,
    ours: &dyn Fn(&Path, &Node) -> bool,
) -> io::Result<()> {
    let mut result = Ok(());
    for entry in directory.entries().map_err(|e| left(path, &e))? {
        let path = path.join(&entry.name);
        let removed = || {
            let found = Node::find_at(directory, Path::new(&entry.name), OFlags::NOFOLLOW);
            let found = found.map_err(|e| left(&path, &e))?;
            if !ours(&path, &found) {
                return Err(left(&path, &not_ours()));
            }
            if found.kind != NodeKind::Directory {
                let removed = node::remove(directory, &entry.name, found.id);
                return removed.map_err(|e| left(&path, &e));
            }
            make_searchable(&found);
            // A directory that is a mount point stays, and so do the directories around it.
            let sub = directory.below(&entry.name).map_err(|e| left(&path, &e))?;
            clear(&sub, &path, ours)?;
            directory.remove_directory(&entry.name).map_err(|e| left(&path, &e))
        };
        result = result.and(removed());
    }
    result
}

/// Lets this user read and change a directory that the work has closed to all. What stays closed
/// cannot be removed, and the caller reports that.
fn make_searchable(found: &Node) {
    if found.kind != NodeKind::Directory {
        return;
    }
    let Ok(attributes) = fs::metadata(found.link()) else { return };
    if attributes.uid() == geteuid().as_raw() && attributes.mode() & 0o700 != 0o700 {
        let mode = attributes.mode() & 0o777 | 0o700;
        let _ = fs::set_permissions(found.link(), fs::Permissions::from_mode(mode));
    }
}

/// Removes the directories that killed processes left.
fn sweep(below: &Directory, prefix: &str, makes: Makes) {
    for entry in below.entries().unwrap_or_default() {
        let number = entry.name.to_str().and_then(|n| n.strip_prefix(prefix)?.strip_prefix('-'));
        let is_number = |n: &str| n.len() == DIGITS && n.bytes().all(|b| b.is_ascii_hexdigit());
        if !number.is_some_and(is_number) {
            continue;
        }
        let Ok(whole) = below.below(&entry.name) else { continue };
        // While this process holds its lock, no other process takes it for abandoned. What cannot
        // be removed stays for the next time.
        let _ = match dead(&whole) {
            Some(lock) => remove(below, &entry.name, &whole, makes, Some(lock)),
            None if is_unfinished(&whole).unwrap_or(false) => {
                remove(below, &entry.name, &whole, makes, None)
            }
            None => Ok(()),
        };
    }
}

/// Locks and returns the marker of a directory if assay made and abandoned it.
fn dead(whole: &Directory) -> Option<File> {
    is_shut(whole).ok()?;
    let mut marker = whole.open_file(MARKER, OFlags::RDWR).ok()?;
    if marker.metadata().ok()?.uid() != geteuid().as_raw() {
        return None;
    }
    flock(&marker, FlockOperation::NonBlockingLockExclusive).ok()?;
    let mut said = String::new();
    (&mut marker).take(400).read_to_string(&mut said).ok()?;
    (said == text(whole.id().ok()?)).then_some(marker)
}

/// Returns `true` if a process was killed while it made or removed the directory: it is empty, or
/// has only an unlocked marker, and nobody has changed it for a while.
///
/// # Errors
/// If the directory is not closed to others, cannot be read, or has a marker that is locked.
fn is_unfinished(whole: &Directory) -> io::Result<bool> {
    is_shut(whole)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    if now.as_secs().cast_signed() - whole.node()?.modified.0 < MAKING {
        return Ok(false);
    }
    match whole.entries()?.as_slice() {
        [] => Ok(true),
        [marker] if marker.name == UNLOCKED => {
            let mut marker = whole.open_file(UNLOCKED, OFlags::RDONLY)?;
            flock(&marker, FlockOperation::NonBlockingLockExclusive)?;
            let mut said = String::new();
            (&mut marker).take(400).read_to_string(&mut said)?;
            Ok(text(whole.id()?).starts_with(&said))
        }
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, DirBuilder};
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};

    const NAME: &str = "ours-0123456789abcdef";

    /// A change after which a directory is not one of ours.
    type Spoil = fn(&Path);

    fn makes(path: &Path) -> bool {
        !path.starts_with("photos")
    }

    fn new(below: &tempfile::TempDir) -> Scratch {
        Scratch::new(below.path(), "ours", makes).unwrap()
    }

    /// Makes a directory as a killed process leaves it.
    fn left(below: &Path, name: &str) -> PathBuf {
        let path = below.join(name);
        DirBuilder::new().mode(0o700).create(&path).unwrap();
        drop(mark(&Directory::open(&path).unwrap()).unwrap());
        fs::create_dir_all(path.join(WORK).join("deep")).unwrap();
        fs::write(path.join(WORK).join("deep/file"), "").unwrap();
        path
    }

    #[test]
    fn a_directory_is_gone_with_its_value() {
        let below = tempfile::tempdir().unwrap();
        let scratch = new(&below);
        drop(scratch.directory().create("file").unwrap());
        assert!(scratch.path().join("file").exists());
        let mode = fs::metadata(scratch.path().parent().unwrap()).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(scratch);
        assert_eq!(fs::read_dir(below.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_the_dead_left_is_removed_and_what_the_living_have_stays() {
        let below = tempfile::tempdir().unwrap();
        let dead = left(below.path(), NAME);
        // Its process was killed while removing it.
        let half = left(below.path(), &NAME.replace('f', "0"));
        fs::remove_dir_all(half.join(WORK)).unwrap();
        let other = left(below.path(), &NAME.replace("ours", "theirs"));
        let living = new(&below);
        assert!(!dead.exists() && !half.exists() && other.exists());
        drop(new(&below));
        assert!(living.path().exists());
    }

    #[test]
    fn what_was_left_half_made_is_removed_after_a_while() {
        let below = tempfile::tempdir().unwrap();
        let half = |digit: &str, marker: Option<&str>, age: u64| {
            let path = below.path().join(NAME.replace('f', digit));
            DirBuilder::new().mode(0o700).create(&path).unwrap();
            if let Some(text) = marker {
                fs::write(path.join(UNLOCKED), text).unwrap();
            }
            let then = SystemTime::now() - std::time::Duration::from_secs(age);
            let times = fs::FileTimes::new().set_modified(then);
            File::open(&path).unwrap().set_times(times).unwrap();
            path
        };
        let gone = [half("0", None, 120), half("1", Some("directory of assay's"), 120)];
        let kept = [half("2", None, 0), half("3", Some("notes"), 120)];
        drop(new(&below));
        assert!(gone.iter().all(|path| !path.exists()));
        assert!(kept.iter().all(|path| path.exists()));
    }

    #[test]
    fn what_the_work_does_not_make_stays() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("file"), "mine").unwrap();
        let older = tempfile::tempdir().unwrap();
        let put = |whole: &Path, old: &Path| {
            let work = whole.join(WORK);
            fs::rename(old, work.join("old")).unwrap();
            fs::create_dir(work.join("photos")).unwrap();
            fs::write(work.join("photos/one"), "mine").unwrap();
            fs::write(whole.join("notes"), "mine").unwrap();
            symlink(outside.path(), work.join("link")).unwrap();
        };
        let old = ["1", "2"].map(|name| older.path().join(name));
        old.iter().for_each(|path| fs::write(path, "mine").unwrap());
        // The times of files advance with the ticks of the kernel.
        std::thread::sleep(std::time::Duration::from_millis(30));
        let below = tempfile::tempdir().unwrap();
        let scratch = new(&below);
        let living = scratch.path().parent().unwrap().to_owned();
        put(&living, &old[0]);
        drop(scratch);
        let dead = left(below.path(), NAME);
        put(&dead, &old[1]);
        drop(new(&below));
        for whole in [living, dead] {
            assert_eq!(fs::read_to_string(whole.join("data/photos/one")).unwrap(), "mine");
            for name in ["notes", "data/old"] {
                assert_eq!(fs::read_to_string(whole.join(name)).unwrap(), "mine");
            }
            assert!(!whole.join("data/deep").exists());
            assert!(whole.join("data/link").symlink_metadata().is_err());
        }
        assert_eq!(fs::read_to_string(outside.path().join("file")).unwrap(), "mine");
    }

    #[test]
    fn what_is_left_is_said() {
        let below = tempfile::tempdir().unwrap();
        new(&below).close().unwrap();
        let scratch = new(&below);
        drop(scratch.directory().create("file").unwrap());
        fs::create_dir(scratch.path().join("photos")).unwrap();
        let (path, error) = (scratch.path().to_owned(), scratch.close().unwrap_err());
        assert_eq!(error.to_string(), "data/photos: the work did not make it");
        assert!(path.join("photos").exists() && !path.join("file").exists());
    }

    #[test]
    fn what_has_its_name_by_then_stays() {
        let (below, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let scratch = new(&below);
        let whole = scratch.path().parent().unwrap().to_owned();
        drop(scratch.directory().create("file").unwrap());
        fs::rename(&whole, other.path().join("moved")).unwrap();
        fs::create_dir_all(whole.join(WORK)).unwrap();
        fs::write(whole.join(WORK).join("file"), "mine").unwrap();
        drop(scratch);
        assert_eq!(fs::read_to_string(whole.join(WORK).join("file")).unwrap(), "mine");
        assert!(!other.path().join("moved/data").exists());
    }

    #[test]
    fn what_only_looks_like_ours_stays() {
        let spoils: [(&str, Spoil); 8] = [
            ("no marker", |p| fs::remove_file(p.join(MARKER)).unwrap()),
            ("another marker", |p| fs::write(p.join(MARKER), "mine").unwrap()),
            ("open to others", |p| {
                fs::set_permissions(p, fs::Permissions::from_mode(0o755)).unwrap();
            }),
            ("a marker that is a link", |p| {
                fs::rename(p.join(MARKER), p.with_file_name("kept")).unwrap();
                symlink("../kept", p.join(MARKER)).unwrap();
            }),
            ("a link in place of its work", |p| {
                fs::rename(p.join(WORK), p.with_file_name("kept")).unwrap();
                symlink("../kept", p.join(WORK)).unwrap();
            }),
            ("a link to it", |p| {
                fs::rename(p, p.with_file_name("kept")).unwrap();
                symlink("kept", p).unwrap();
            }),
            ("a copy of it", |p| {
                let kept = p.with_file_name("kept");
                fs::rename(p, &kept).unwrap();
                DirBuilder::new().mode(0o700).create(p).unwrap();
                fs::copy(kept.join(MARKER), p.join(MARKER)).unwrap();
            }),
            ("another name", |p| fs::rename(p, p.with_file_name("ours-1-0")).unwrap()),
        ];
        for (what, spoil) in spoils {
            let below = tempfile::tempdir().unwrap();
            spoil(&left(below.path(), NAME));
            let count = || fs::read_dir(below.path()).unwrap().count();
            let before = count();
            drop(new(&below));
            assert_eq!(count(), before, "{what}");
            let kept = below.path().join("kept");
            assert!(!kept.is_dir() || fs::read_dir(&kept).unwrap().count() > 0, "{what}");
        }
        let missing = tempfile::tempdir().unwrap().path().join("none");
        assert!(Scratch::new(&missing, "ours", makes).is_err());
    }
}
