//! The directory of a run: created, locked, held by a descriptor, its files replaced as wholes.
//!
//! *Invariant.* The path is looked up once. Even if another directory gets this name later, or that
//! of a subdirectory, the run writes into the directory that it locked.

mod kept;

use super::made::{make, not_made, unmake};
use super::text::{json, not_written, write};
use crate::error::{Error, Result};
use crate::safety::layers::OpenLayers;
use assay_fs::{Directory, Draft, EntryKind, Node, Replace, is_draft};
use assay_spec::record::CellPlan;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The longest wait for the lock of a run. A killed process gives back its memory before its files,
/// and the maps of several drives are gibibytes, so it holds the lock for a second or two.
const PATIENCE: Duration = Duration::from_secs(3);
/// The subdirectories of a run directory.
const SUBS: [&str; 2] = ["log", "series"];

/// A run directory, held open by descriptors.
#[derive(Debug)]
pub struct RunDirectory {
    /// The directory itself.
    whole: Directory,
    log: Option<Directory>,
    series: Option<Directory>,
    /// The path as its user gave it.
    path: PathBuf,
    /// The files that this process wrote, or found when it resumed the run, by name. They are held,
    /// so that no other file gets their inode numbers.
    own: Mutex<BTreeMap<String, Node>>,
    /// The directories that were made, each as its parent and its name; the outermost first.
    made: Vec<(Directory, OsString)>,
    /// The devices that it lies on, if its user writes into it.
    below: OpenLayers,
}

impl RunDirectory {
    /// Makes the directory `path` with `subs` in it, or takes an empty one that exists. Locks it
    /// before looking into it.
    ///
    /// # Errors
    /// If it cannot be made, holds anything, or another process is at work in it.
    pub fn create(path: &Path, subs: &[&str]) -> Result<RunDirectory> {
        let mut made = Vec::new();
        let whole = make(path, &mut made).map_err(|e| {
            unmake(&made);
            not_made(path, e)
        })?;
        let mut directory = RunDirectory { made, ..RunDirectory::at(path, whole) };
        let prepared = directory.take(subs);
        match prepared {
            Ok(()) => Ok(directory),
            Err(e) => {
                directory.abandon();
                Err(e)
            }
        }
    }

    /// Checks that [`RunDirectory::create`] would take `path` now, without making anything.
    ///
    /// # Errors
    /// If it cannot be opened or holds anything.
    pub fn check(path: &Path) -> Result<()> {
        match Directory::open_for_new(path) {
            Ok(whole) => RunDirectory::at(path, whole).check_free(),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            Err(e) => Err(not_made(path, e)),
        }
    }

    /// Opens the directory of a run.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path) -> Result<RunDirectory> {
        let not_opened = |e: io::Error| {
            let message = format!("the run directory {} cannot be opened", path.display());
            Error::environment("out-not-writable", message, "check its permissions").caused_by(e)
        };
        let whole = Directory::open_for_new(path).map_err(not_opened)?;
        let sub = |name: &str| match whole.below(name) {
            Ok(sub) => Ok(Some(sub)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(not_opened(e)),
        };
        let [log, series] = [sub(SUBS[0])?, sub(SUBS[1])?];
        Ok(RunDirectory { log, series, ..RunDirectory::at(path, whole) })
    }

    /// Opens the directory of a run to write into it, e.g. pages of its results.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open_for_pages(path: &Path) -> Result<RunDirectory> {
        let mut directory = RunDirectory::open(path)?;
        directory.open_layers()?;
        Ok(directory)
    }

    /// Opens the devices that it lies on, before anything is written into it.
    fn open_layers(&mut self) -> Result<()> {
        let node = self.whole.node().map_err(|e| not_written(&self.path, e))?;
        self.below = OpenLayers::below(node)?;
        Ok(())
    }

    /// Returns the value for an open directory, without its subdirectories.
    fn at(path: &Path, whole: Directory) -> RunDirectory {
        let (path, own) = (path.to_owned(), Mutex::default());
        let (made, below) = (Vec::new(), OpenLayers::default());
        RunDirectory { whole, log: None, series: None, path, own, made, below }
    }

    /// Opens the directory of a run and locks it for this process as long as the value lives;
    /// removes half-written files that a killed process left in it.
    ///
    /// # Errors
    /// If it cannot be opened, or another process is at work in it.
    pub fn lock(path: &Path) -> Result<RunDirectory> {
        let directory = RunDirectory::open_for_pages(path)?;
        directory.take_lock()?;
        directory.remove_drafts();
        for name in ["run.json", "cells.json"] {
            let file = directory.whole.open_file(name, OFlags::RDONLY);
            if let Ok(node) = file.and_then(|file| Node::of_file(&file)) {
                directory.own().insert(name.to_owned(), node);
            }
        }
        Ok(directory)
    }

    /// Removes the logs and series of cells that a killed process did not finish.
    pub(super) fn remove_files_of(&self, unfinished: &[&CellPlan]) {
        for directory in [self.log.as_ref(), self.series.as_ref()].into_iter().flatten() {
            for entry in directory.entries().unwrap_or_default() {
                let name = entry.name.to_string_lossy();
                let is_theirs = unfinished.iter().any(|cell| cell.has_file(&name));
                let file = directory.open_file(&entry.name, OFlags::RDONLY);
                let Some(mut file) = file.ok().filter(|_| is_theirs) else { continue };
                let mut magic = [0; 4];
                if file.read_exact(&mut magic).is_ok()
                    && magic == *b"PAR1"
                    && let Ok(node) = Node::of_file(&file)
                {
                    let _ = assay_fs::remove(directory, &entry.name, node.id);
                }
            }
        }
    }

    /// Locks the list of this process's files.
    fn own(&self) -> MutexGuard<'_, BTreeMap<String, Node>> {
        self.own.lock().expect("nobody panics who holds it")
    }

    /// Removes the directories that were made, as far as they are empty.
    pub fn abandon(self) {
        let RunDirectory { whole, log, series, made, .. } = self;
        drop((whole, log, series));
        unmake(&made);
    }

    /// Checks that this user or root began the run, because the record of another user could name
    /// any target.
    ///
    /// # Errors
    /// If another user began it.
    pub fn check_owner(&self) -> Result<()> {
        let file = self.whole.open_file("run.json", OFlags::RDONLY);
        let owner = file.and_then(|file| file.metadata()).map(|found| found.uid());
        if owner.is_ok_and(|owner| owner == 0 || owner == rustix::process::geteuid().as_raw()) {
            return Ok(());
        }
        let message = format!("the run in {} belongs to another user", self.path.display());
        let hint = "resume it as that user, or start a new run with another `--out`";
        Err(Error::environment("run-of-another", message, hint))
    }

    /// Returns the path as its user gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path through the descriptor, which leads to the directory even if it has been
    /// renamed, as long as the value lives.
    pub fn place(&self) -> PathBuf {
        self.whole.path()
    }

    /// Returns the directory for request logs.
    ///
    /// # Errors
    /// If it has no such directory.
    pub fn log(&self) -> Result<&Directory> {
        self.log.as_ref().ok_or_else(|| self.lacks(SUBS[0]))
    }

    /// Returns the directory for series.
    ///
    /// # Errors
    /// If it has no such directory.
    pub fn series(&self) -> Result<&Directory> {
        self.series.as_ref().ok_or_else(|| self.lacks(SUBS[1]))
    }

    /// Writes `value` as JSON of at most `most` bytes to `name`, as a whole. Replaces only a file
    /// that this process wrote there, or found there when it resumed the run.
    ///
    /// # Errors
    /// If it is longer or cannot be written, or the name belongs to anything else.
    pub fn write_json<T: serde::Serialize>(&self, name: &str, value: &T, most: u64) -> Result<()> {
        let only = |node: &Node| Replace::Only(node.id, node.modified);
        let replace = self.own().get(name).map_or(Replace::Nothing, only);
        let draft = Draft::begin(&self.whole, OsStr::new(name));
        let written = write(draft, &json(name, value, most)?, replace).map_err(|e| {
            let error = not_written(&self.path.join(name), e);
            let hint = "if it is yours, move it elsewhere; then resume the run".to_owned();
            if error.id == "not-replaced" { Error { hint, ..error } } else { error }
        })?;
        self.own().insert(name.to_owned(), written);
        Ok(())
    }

    /// Copies the rest of `from` to the new file `name`, which appears as a whole and which only
    /// its owner can read.
    ///
    /// # Errors
    /// If it cannot be copied, or the name is taken.
    pub fn copy_file(&self, name: &str, from: &mut File) -> Result<()> {
        let copy = |(draft, mut file): (Draft, File)| {
            file.set_permissions(Permissions::from_mode(0o600))?;
            io::copy(from, &mut file)?;
            draft.publish(&file, Replace::Nothing)
        };
        let copied = Draft::begin(&self.whole, OsStr::new(name)).and_then(copy);
        copied.map(drop).map_err(|e| not_written(&self.path.join(name), e))
    }

    /// Replaces `name` as a whole: a reader sees the old text or the new one, even after a crash.
    ///
    /// # Errors
    /// If it cannot be written, or the name belongs to something that may not be replaced.
    pub fn write_text(&self, name: &str, text: &str, replace: Replace) -> Result<()> {
        let draft = Draft::begin(&self.whole, OsStr::new(name));
        write(draft, text, replace).map(drop).map_err(|e| not_written(&self.path.join(name), e))
    }

    /// Locks the directory, refuses it if it holds anything, and makes `subs`.
    fn take(&mut self, subs: &[&str]) -> Result<()> {
        self.take_lock()?;
        self.check_free()?;
        self.open_layers()?;
        for sub in subs {
            let made = self.sub(sub).map_err(|e| not_made(&self.path, e))?;
            *(if *sub == SUBS[0] { &mut self.log } else { &mut self.series }) = Some(made);
        }
        self.remove_drafts();
        Ok(())
    }

    /// Refuses the directory if it holds anything.
    fn check_free(&self) -> Result<()> {
        self.whole.check_removable().map_err(|e| not_made(&self.path, e))?;
        let path = self.path.display();
        if self.is_run() {
            return Err(Error::usage(
                "run-exists",
                format!("{path} already holds a run"),
                format!("continue that run with `assay resume {path}`, or choose another `--out`"),
            ));
        }
        if self.holds_something().map_err(|e| not_made(&self.path, e))? {
            return Err(Error::usage(
                "out-not-empty",
                format!("{path} is not empty"),
                "choose another `--out`: a run would replace files in this directory",
            ));
        }
        Ok(())
    }

    /// Opens the subdirectory `name`, making it if it does not exist.
    fn sub(&mut self, name: &str) -> io::Result<Directory> {
        match self.whole.make(name, 0o777) {
            Ok(made) => {
                self.made.push((self.whole.try_clone()?, name.into()));
                Ok(made)
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => self.whole.below(name),
            Err(e) => Err(e),
        }
    }

    fn take_lock(&self) -> Result<()> {
        let asked = Instant::now();
        // On a file system without locks the run goes on without one.
        while let Err(Errno::WOULDBLOCK) =
            flock(&self.whole, FlockOperation::NonBlockingLockExclusive)
        {
            if asked.elapsed() >= PATIENCE {
                return Err(Error::environment(
                    "run-busy",
                    format!("another assay process is using {}", self.path.display()),
                    "wait until it has ended; `fuser -v` on the directory says which process it is",
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Returns `true` if it has the record of a run, of any version, and not somebody else's file
    /// of that name.
    fn is_run(&self) -> bool {
        #[derive(serde::Deserialize)]
        struct Begun {
            #[serde(rename = "schema")]
            _schema: u64,
            #[serde(rename = "assay")]
            _assay: String,
        }
        let Ok(file) = self.whole.open_file("run.json", OFlags::RDONLY) else { return false };
        let mut text = Vec::new();
        let read = file.take(crate::read::RUN_MAX).read_to_end(&mut text);
        read.is_ok() && serde_json::from_slice::<Begun>(&text).is_ok()
    }

    /// Returns `true` if it holds anything but drafts and empty subdirectories, which a run leaves
    /// if it is killed at its beginning.
    fn holds_something(&self) -> io::Result<bool> {
        for entry in self.whole.entries()? {
            let is_begun = SUBS.iter().any(|sub| entry.name == *sub);
            let is_empty = |directory: Directory| {
                directory.entries().is_ok_and(|e| e.iter().all(|e| is_draft(&e.name)))
            };
            let is_ours = is_draft(&entry.name) && entry.kind == EntryKind::File
                || is_begun && self.whole.below(&entry.name).is_ok_and(is_empty);
            if !is_ours {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes half-written files that a killed process left.
    fn remove_drafts(&self) {
        for directory in [Some(&self.whole), self.log.as_ref(), self.series.as_ref()] {
            let Some(directory) = directory else { continue };
            for entry in directory.entries().unwrap_or_default() {
                if entry.kind == EntryKind::File && is_draft(&entry.name) {
                    let _ = directory.remove_file(&entry.name);
                }
            }
        }
    }

    /// Returns the error for a missing subdirectory.
    fn lacks(&self, sub: &str) -> Error {
        let message = format!("{} has no directory `{sub}`", self.path.display());
        let hint = "make an empty directory of this name: its files are not needed to continue";
        Error::environment("out-not-writable", message, hint)
    }
}
