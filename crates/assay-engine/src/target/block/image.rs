//! The file that holds the contents of a guest's drive (`assay linux run --image`).
//!
//! *Invariants.* An existing file is written to only if assay made it, or if `--write` names it
//! again. Its contents belong to the guest and are not examined.

use super::cannot_open;
use super::create::parent;
use super::file::{file_refusal, stage_of};
use crate::error::{Error, Result};
use crate::safety::mark::{self, Stage};
use crate::safety::{self, Intent};
use assay_fs::{Node, NodeKind};
use rustix::fs::{Mode, OFlags, openat};
use std::fs::File;
use std::io;
use std::path::Path;

/// Opens the image at `path`, making it if there is none; `write` is the path given by `--write`.
///
/// # Errors
/// If it is not a regular file, is in use, or belongs to somebody else.
pub(crate) fn open_image(path: &Path, write: Option<&Path>) -> Result<File> {
    let node = match Node::find(path) {
        Ok(node) => node,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return create(path),
        Err(e) => return Err(cannot_open(path, e)),
    };
    if !matches!(node.kind, NodeKind::File(_)) {
        let message = format!("{} is no plain file", path.display());
        let hint = "name a plain file, or one that does not exist yet";
        return Err(Error::environment("linux-image", message, hint));
    }
    let file = node.open(OFlags::RDONLY).map_err(|e| cannot_open(path, e))?;
    let is_ours = stage_of(&node, &file) == Some(Stage::Whole);
    if let Some(write) = write {
        let intent = Intent { write: Some(write.to_owned()), ..Intent::default() };
        safety::check_write(path, &node, &intent, None)?;
    }
    if let Some(error) = file_refusal(path, &node, is_ours || write.is_some()) {
        let hint = format!("if the guest may change it: --write {}", path.display());
        let hint = if error.id == "file-not-ours" { hint } else { error.hint.clone() };
        return Err(Error { hint, ..error });
    }
    let file = node.open(OFlags::RDWR).map_err(|e| cannot_open(path, e))?;
    super::lock(path, &file)?;
    Ok(file)
}

fn create(path: &Path) -> Result<File> {
    let directory = parent(path)?;
    let name = path.file_name().unwrap_or_default();
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let made = openat(&directory, name, flags, Mode::from_raw_mode(0o666));
    let file = File::from(made.map_err(|e| cannot_open(path, e.into()))?);
    super::lock(path, &file)?;
    mark::put(&file, &directory, name, Stage::Whole).map_err(|e| cannot_open(path, e))?;
    Ok(file)
}
