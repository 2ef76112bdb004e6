//! Opens the files, devices and directories of this machine.

use super::target::{PlannedTarget, TargetKind, cell_name};
use crate::error::{Error, Result};
use crate::safety::Intent;
use crate::safety::refusal::file_ignores_syncs;
use crate::target::block::{self, Kind, Opened};
use assay_fs::{Node, NodeKind};
use assay_spec::Bytes;
use assay_spec::record::{IntentRecord, TargetRecord};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The use that a plan makes of its targets.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// Whether any of its workloads writes.
    pub writes: bool,
    /// Whether the plan is only shown, so that no file is made.
    pub only_shown: bool,
}

/// Checks that no file or device is written twice, by two of its names: the second opening would
/// wait for the lock or the lease of the first.
///
/// # Errors
/// If one is.
pub fn check_named_once(written: &[String]) -> Result<()> {
    let mut seen = BTreeMap::new();
    for text in written {
        let Ok(node) = Node::find(Path::new(text)) else { continue };
        let id = match node.kind {
            NodeKind::Directory => continue,
            NodeKind::Block(number) => (number, None),
            _ => (node.id.device, Some(node.id)),
        };
        if let Some(first) = seen.insert(id, text) {
            let message = format!("{first} and {text} are the same target");
            return Err(Error::usage("target-locked", message, "name it once"));
        }
    }
    Ok(())
}

pub(super) fn open_real(written: &str, record: &IntentRecord, plan: Use) -> Result<PlannedTarget> {
    let path = Path::new(written);
    let may_write = plan.writes && record.write.is_some();
    let intent = Intent {
        write: record.write.as_ref().map(PathBuf::from),
        destroy: record.destroy.clone(),
        size: record.size,
        writes: may_write,
        writes_if_new: plan.writes,
        only_shown: plan.only_shown,
    };
    let opened = block::open(path, &intent)?;
    let may_write = may_write || plan.writes && opened.created;
    Ok(real_target(written, path, opened, may_write))
}

/// Describes the file or device that was opened at `path`, for the run directory.
pub(super) fn real_target(
    written: &str,
    path: &Path,
    opened: Opened,
    may_write: bool,
) -> PlannedTarget {
    let found = &opened.identity;
    let mut identity: Vec<(String, String)> =
        found.keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    identity.push(("path".to_owned(), found.resolved.display().to_string()));
    identity.extend(found.kernel_name.clone().map(|name| ("kernel name".to_owned(), name)));
    let file_name = path.file_name().map_or(written.into(), |n| n.to_string_lossy());
    let kind = match opened.kind {
        Kind::File => "file",
        Kind::BlockDevice => "block device",
    };
    let model = opened.identity.get("model").map(str::to_owned);
    PlannedTarget {
        record: TargetRecord {
            written: written.into(),
            name: cell_name(&file_name),
            title: model.unwrap_or_else(|| format!("{kind} {written}")),
            kind: kind.into(),
            capacity: opened.capacity,
            identity,
            spec: None,
            virtual_time: false,
            created: opened.created,
        },
        kind: TargetKind::Real(Box::new(opened)),
        may_write,
    }
}

/// Returns the target for the directory `written`, in which workloads make their files.
pub(super) fn directory(written: &str) -> Result<PlannedTarget> {
    let path = Path::new(written);
    let unusable = |cause: io::Error| {
        let message = format!("the directory {written} cannot be used");
        Error::environment("directory-unusable", message, "check its permissions").caused_by(cause)
    };
    let free = rustix::fs::statvfs(path).map(|s| Bytes(s.f_bavail * s.f_frsize));
    let free = free.map_err(|e| unusable(e.into()))?;
    let node = Node::find(path).map_err(unusable)?;
    if let Some(error) = file_ignores_syncs(&node, written) {
        return Err(error);
    }
    let name = path.file_name().map_or_else(|| "directory".into(), |n| n.to_string_lossy());
    Ok(PlannedTarget {
        record: TargetRecord {
            written: written.into(),
            name: cell_name(&name),
            title: format!("directory {written}"),
            kind: "directory".into(),
            capacity: free,
            identity: absolute(path).into_iter().collect(),
            spec: None,
            virtual_time: false,
            created: false,
        },
        kind: TargetKind::Directory(path.to_owned()),
        may_write: true,
    })
}

/// Returns the absolute path of a target under the key `path`, so that the run can be resumed from
/// any directory.
fn absolute(path: &Path) -> Option<(String, String)> {
    Some(("path".to_owned(), path.canonicalize().ok()?.display().to_string()))
}
