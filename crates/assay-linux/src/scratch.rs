//! Directories of our own, which are gone when whoever made them is.
//!
//! Each has a name drawn at random, and in it a marker, locked as long as its owner lives, beside
//! the directory that is worked in. A process that is killed removes nothing; the next one that
//! makes such a directory beside it does. It removes what is surely ours and nobody's any more: of
//! this name, our user's, shut to others, with the marker that names this very directory and that
//! nobody has locked, and with nothing else in it. All other things stay.

use rustix::fs::{FlockOperation, Mode, OFlags, RawDir, flock, open, openat};
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What tells that a directory is ours.
const MARKER: &str = ".assay";
/// What is worked in.
const WORK: &str = "work";

/// A directory of our own, removed with the value.
#[derive(Debug)]
pub struct Scratch {
    whole: PathBuf,
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes one in `below`, whose name begins with `prefix`, and removes what killed processes
    /// have left of them there.
    ///
    /// # Errors
    /// If no directory can be made there.
    pub fn new(below: &Path, prefix: &str) -> io::Result<Scratch> {
        sweep(below, prefix);
        let path = loop {
            let path = below.join(format!("{prefix}-{:016x}", random()?));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => break path,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        };
        let made = mark(&path).and_then(|lock| {
            let work = path.join(WORK);
            fs::create_dir(&work)?;
            Ok((work, lock))
        });
        match made {
            Ok((work, lock)) => Ok(Scratch { whole: path, path: work, _lock: lock }),
            Err(e) => {
                remove(&path);
                Err(e)
            }
        }
    }

    /// Where to work.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.whole);
    }
}

/// Draws a number that no other process draws.
fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// What stands in the marker of a directory: a copy of it is another one.
fn text(directory: &Metadata) -> String {
    format!("directory {} of assay's, which removes it when it has ended\n", directory.ino())
}

/// Puts the marker into a directory and locks it. It has its name only when it is locked: without
/// it a directory is never taken for a dead one. Where files cannot be locked there is none.
fn mark(path: &Path) -> io::Result<File> {
    let unnamed = path.join(".assay-unlocked");
    let mut marker = File::options().read(true).write(true).create_new(true).open(&unnamed)?;
    marker.write_all(text(&fs::metadata(path)?).as_bytes())?;
    match flock(&marker, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => fs::rename(&unnamed, path.join(MARKER))?,
        Err(_) => fs::remove_file(&unnamed)?,
    }
    Ok(marker)
}

/// Removes a directory of ours, its marker last: who is killed meanwhile leaves it to others. What
/// cannot be removed is left, for there is nobody to tell.
fn remove(path: &Path) {
    let _ = fs::remove_dir_all(path.join(WORK));
    let _ = fs::remove_file(path.join(MARKER));
    let _ = fs::remove_dir(path);
}

/// Removes what killed processes have left.
fn sweep(below: &Path, prefix: &str) {
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|n| n.strip_prefix(prefix)?.strip_prefix('-'));
        let is_number = |n: &str| n.len() == 16 && n.bytes().all(|b| b.is_ascii_hexdigit());
        // Nobody else takes it for dead as long as it is ours.
        if number.is_some_and(is_number)
            && let Some(_lock) = dead(&entry.path())
        {
            remove(&entry.path());
        }
    }
}

/// The locked marker of a directory that is ours and nobody's any more.
fn dead(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = open(path, flags | OFlags::DIRECTORY, Mode::empty()).ok()?;
    let is_ours = |m: &Metadata| m.uid() == geteuid().as_raw();
    let about = File::from(directory.try_clone().ok()?).metadata().ok()?;
    if !is_ours(&about) || about.mode() & 0o777 != 0o700 || !holds_nothing_else(&directory) {
        return None;
    }
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut marker = File::from(openat(&directory, MARKER, flags, Mode::empty()).ok()?);
    let of_marker = marker.metadata().ok()?;
    if !of_marker.is_file() || !is_ours(&of_marker) {
        return None;
    }
    flock(&marker, FlockOperation::NonBlockingLockExclusive).ok()?;
    let mut said = String::new();
    (&mut marker).take(200).read_to_string(&mut said).ok()?;
    (said == text(&about)).then_some(marker)
}

/// Whether a directory holds a marker, and beside it at most a directory that is worked in.
fn holds_nothing_else(directory: &OwnedFd) -> bool {
    let mut space = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(directory, &mut space);
    while let Some(entry) = entries.next() {
        let Ok(entry) = entry else { return false };
        let name = entry.file_name().to_bytes();
        if ![b".".as_slice(), b"..", MARKER.as_bytes(), WORK.as_bytes()].contains(&name) {
            return false;
        }
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat(directory, WORK, flags, Mode::empty()) {
        Ok(_) => true,
        Err(e) => e == rustix::io::Errno::NOENT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const NAME: &str = "ours-0123456789abcdef";

    /// Makes something else of a directory.
    type Spoil = fn(&Path);

    /// A directory as a killed process leaves it.
    fn left(below: &Path, name: &str) -> PathBuf {
        let path = below.join(name);
        DirBuilder::new().mode(0o700).create(&path).unwrap();
        drop(mark(&path).unwrap());
        fs::create_dir_all(path.join(WORK).join("deep")).unwrap();
        fs::write(path.join(WORK).join("deep/file"), "").unwrap();
        path
    }

    #[test]
    fn a_directory_is_gone_with_its_value() {
        let below = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(below.path(), "ours").unwrap();
        fs::write(scratch.path().join("file"), "").unwrap();
        let mode = fs::metadata(scratch.path().parent().unwrap()).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(scratch);
        assert_eq!(fs::read_dir(below.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_the_dead_left_is_removed_and_what_the_living_have_stays() {
        let below = tempfile::tempdir().unwrap();
        let dead = left(below.path(), NAME);
        // One that was killed when it had begun to remove it.
        let half = left(below.path(), "ours-0000000000000000");
        fs::remove_dir_all(half.join(WORK)).unwrap();
        let other = left(below.path(), "theirs-0123456789abcdef");
        let living = Scratch::new(below.path(), "ours").unwrap();
        assert!(!dead.exists() && !half.exists() && other.exists());
        drop(Scratch::new(below.path(), "ours").unwrap());
        assert!(living.path().exists());
    }

    #[test]
    fn what_only_looks_like_ours_stays() {
        let spoils: [(&str, Spoil); 9] = [
            ("no marker", |p| fs::remove_file(p.join(MARKER)).unwrap()),
            ("another marker", |p| fs::write(p.join(MARKER), "mine").unwrap()),
            ("something else in it", |p| fs::write(p.join("data"), "mine").unwrap()),
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
            drop(Scratch::new(below.path(), "ours").unwrap());
            assert_eq!(count(), before, "{what}");
            let kept = below.path().join("kept");
            assert!(!kept.is_dir() || fs::read_dir(&kept).unwrap().count() > 0, "{what}");
        }
        let missing = tempfile::tempdir().unwrap().path().join("none");
        assert!(Scratch::new(&missing, "ours").is_err());
    }
}
