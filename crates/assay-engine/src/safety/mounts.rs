//! The mounted file systems of all namespaces, and the devices and files that they lie on.

use super::store::Store;
use super::tables::{self, Mount};
use super::writers::processes;
use assay_fs::DeviceNumber;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the mounts of all namespaces that this process may look into; those of its own and of
/// process 1 come first.
pub(super) fn all() -> Vec<Mount> {
    let own = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut mounts = tables::mounts(&own, "self");
    mounts.extend(tables::mounts(&fs::read("/proc/1/mountinfo").unwrap_or_default(), "1"));
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let mut seen: BTreeSet<PathBuf> = ["self", "1"].into_iter().filter_map(namespace).collect();
    for process in processes() {
        if namespace(&process).is_some_and(|n| seen.insert(n)) {
            let table = fs::read(format!("/proc/{process}/mountinfo")).unwrap_or_default();
            mounts.extend(tables::mounts(&table, &process));
        }
    }
    mounts
}

impl Mount {
    /// Returns `true` if this process or process 1 sees it, so that its mount point is valid here.
    pub(super) fn is_ours(&self) -> bool {
        matches!(self.process.as_str(), "self" | "1")
    }

    /// Returns the devices that it directly lies on.
    pub(crate) fn devices(&self) -> Vec<DeviceNumber> {
        let mut devices = vec![self.number];
        // btrfs shows an anonymous number; bcachefs joins its members with colons.
        for part in self.source.to_string_lossy().split(':').filter(|p| p.starts_with('/')) {
            devices.extend(DeviceNumber::of_node(Path::new(part)));
        }
        if self.kind == "btrfs" {
            devices.extend(btrfs_siblings(&devices));
        }
        devices
    }

    /// Returns the file that it lies on without a loop device, by the name that it had when it was
    /// mounted: EROFS since Linux 6.12, programs with FUSE.
    pub(super) fn file(&self) -> Option<Store> {
        let below_root = self.source.strip_prefix("/").ok().filter(|_| self.number.major == 0)?;
        let path = Path::new("/proc").join(&self.process).join("root").join(below_root);
        Store::at(&path).filter(|store| store.device().is_none())
    }
}

/// Returns a mount that lies on a file that no table's name leads to any more, if there is one.
pub(super) fn without_its_file(mounts: &[Mount]) -> Option<&Mount> {
    let on_files =
        || mounts.iter().filter(|mount| mount.kind == "erofs" && mount.number.major == 0);
    let has_name = |mount: &Mount| {
        on_files().filter(|other| other.number == mount.number).any(|other| other.file().is_some())
    };
    on_files().find(|mount| !has_name(mount))
}

/// Returns all members of the mounted btrfs file systems that have a member among `devices`.
fn btrfs_siblings(devices: &[DeviceNumber]) -> Vec<DeviceNumber> {
    let Ok(systems) = fs::read_dir("/sys/fs/btrfs") else { return Vec::new() };
    let mut siblings = Vec::new();
    for system in systems.flatten() {
        let Ok(members) = fs::read_dir(system.path().join("devices")) else { continue };
        let number = |entry: fs::DirEntry| {
            DeviceNumber::parse(&fs::read_to_string(entry.path().join("dev")).ok()?)
        };
        let members: Vec<_> = members.flatten().filter_map(number).collect();
        if members.iter().any(|member| devices.contains(member)) {
            siblings.extend(members);
        }
    }
    siblings
}
