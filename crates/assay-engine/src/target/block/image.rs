//! The file that holds the contents of a guest's drive (`assay linux run --image`).
//!
//! *Invariants.* An existing file is written to only if assay made it, or if `--write` names it
//! again. Its contents belong to the guest and are not examined.

use super::descriptor::{cannot_open, lock};
use super::file::{file_refusal, mark_of};
use super::new_file::parent;
use crate::error::{Error, Result};
use crate::safety::in_use::Machine;
use crate::safety::intent::{Intent, check_write};
use crate::safety::layers::OpenLayers;
use crate::safety::loops::{BEFORE_WRITES, check_answers};
use crate::safety::mark::{self, Made};
use crate::safety::refusal::file_ignores_syncs;
use crate::stop;
use assay_fs::{Directory, Node, NodeKind, remove};
use assay_spec::Bytes;
use rustix::fs::{Mode, OFlags, SeekFrom, openat, seek};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;

/// An open image. A new image is removed when the value is dropped, if nothing has been written to
/// it and [`Image::keep`] has not been called.
pub(crate) struct Image {
    pub(crate) file: File,
    /// The devices that it lies on.
    below: OpenLayers,
    /// The directory and name of a new image that may be removed.
    made: Option<(Directory, OsString)>,
}

impl Image {
    /// Syncs the image at `path`, of a drive of `capacity`, to the disk that it lies on.
    ///
    /// # Errors
    /// If that fails: then the contents of the image are unknown. If somebody has removed, replaced
    /// or cut the image.
    pub(crate) fn save(&self, path: &Path, capacity: Bytes) -> Result<()> {
        let own = Node::of_file(&self.file).map(|node| node.id);
        let is_there = Node::find(path).is_ok_and(|node| own.is_ok_and(|own| own == node.id));
        let length = self.file.metadata().map_or(0, |found| found.len());
        if !is_there || length != capacity.0 {
            let message = match is_there {
                true => format!("{} was cut to {length} bytes while the guest ran", path.display()),
                false => format!("{} is not the guest's image any more", path.display()),
            };
            let hint = "keep other programs from the image while a guest runs, and run it again";
            return Err(Error::environment("linux-image-lost", message, hint));
        }
        let lost = |cause| {
            let message = format!("not all of the guest's writes reached {}", path.display());
            let hint = "check the disk (`dmesg`) and the free space of its file system; do not \
                        trust the image: it may be broken";
            Error::environment("linux-image-lost", message, hint).caused_by(cause)
        };
        self.file.sync_all().map_err(lost)?;
        self.below.flush(lost)
    }

    /// Keeps a new image, even if it is empty.
    pub(crate) fn keep(&mut self) {
        self.made = None;
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let Some((directory, name)) = self.made.take() else { return };
        let is_empty = seek(&self.file, SeekFrom::Data(0)) == Err(Errno::NXIO);
        if let (true, Ok(node)) = (is_empty, Node::of_file(&self.file)) {
            mark::remove_beside(&self.file, &directory, &name);
            // The error that led here matters more than one from cleaning up.
            let _ = remove(&directory, &name, node.id);
        }
    }
}

/// Opens the image at `path`, making it if there is none; `write` is the path given by `--write`.
///
/// # Errors
/// If it is not a regular file, is in use, or belongs to somebody else.
pub(crate) fn open_image(path: &Path, write: Option<&Path>) -> Result<Image> {
    let node = match Node::find(path) {
        Ok(node) => node,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return create(path),
        Err(e) => return Err(cannot_open(path, e)),
    };
    if !matches!(node.kind, NodeKind::File(_)) {
        let message = format!("{} is not a regular file", path.display());
        let hint = "name a regular file, or one that does not exist yet";
        return Err(Error::environment("linux-image", message, hint));
    }
    let file = node.open(OFlags::RDONLY).map_err(|e| cannot_open(path, e))?;
    // A guest changes everything in its image, so contents could not confirm a mark by number.
    let mark = mark_of(&node, &file).filter(|mark| mark.made == Made::Image);
    let is_ours = mark.is_some_and(|mark| !mark.is_by_number);
    let made_as = match mark {
        Some(_) => "as an image, as far as its file system can tell",
        None => "as an image",
    };
    if let Some(write) = write {
        let intent = Intent { write: Some(write.to_owned()), ..Intent::default() };
        check_write(path, &node, &intent, None)?;
    }
    check_answers(BEFORE_WRITES)?;
    if let Some(error) = file_refusal(path, &node, is_ours || write.is_some(), made_as) {
        let hint = format!("add `--write {}` if the guest may change it", path.display());
        let hint = if error.id == "file-not-ours" { hint } else { error.hint.clone() };
        return Err(Error { hint, ..error });
    }
    if let (false, Some(error)) = (is_ours, may_be_mounted(path)) {
        return Err(error);
    }
    let file = node.open(OFlags::RDWR).map_err(|e| cannot_open(path, e))?;
    lock(path, &file)?;
    Ok(Image { file, below: OpenLayers::below(node)?, made: None })
}

/// Returns the error for an image that could be the one that is mounted somewhere.
fn may_be_mounted(path: &Path) -> Option<Error> {
    let usage = Machine::read().use_of_any_file()?;
    let message = format!("{} {}", path.display(), usage.text);
    Some(Error::environment("file-in-use", message, "unmount that first, or name another image"))
}

fn create(path: &Path) -> Result<Image> {
    let directory = parent(path)?;
    let place = directory.node().map_err(|e| cannot_open(path, e))?;
    if let Some(error) = file_ignores_syncs(&place, &path.display().to_string()) {
        return Err(error);
    }
    let below = OpenLayers::below(place)?;
    if stop::is_interrupted() {
        return Err(stop::interrupted());
    }
    let name = path.file_name().unwrap_or_default();
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let made = openat(&directory, name, flags, Mode::from_raw_mode(0o666));
    let file = File::from(made.map_err(|e| cannot_open(path, e.into()))?);
    let image = Image {
        file,
        below,
        made: Some((directory.try_clone().map_err(|e| cannot_open(path, e))?, name.to_owned())),
    };
    lock(path, &image.file)?;
    mark::put(&image.file, &directory, name, Made::Image).map_err(|e| cannot_open(path, e))?;
    Ok(image)
}
