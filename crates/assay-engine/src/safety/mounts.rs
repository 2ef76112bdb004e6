//! The mounted file systems of all namespaces, and the devices and files that they lie on.

use super::namespaces;
use super::overlay;
use super::store::Store;
use super::sysfs::Device;
use super::tables::{self, Mount};
use super::writers::{is_gone, processes};
use assay_fs::{DeviceNumber, Node, NodeKind};
use rustix::fs::{AtFlags, CWD, OFlags, StatxFlags, statx};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Returns the mounts of all namespaces that this process may look into; those of its own and of
/// process 1 come first. A table has only the mounts below the root of its process, so each root in
/// a namespace counts. Returns also why there may be more of them, if so: a table or the list of
/// processes cannot be read, or a mount shows a namespace that this process may not look into.
pub(super) fn all() -> (Vec<Mount>, Option<&'static str>) {
    let mut unread = None;
    let mut table = |process: &str| match fs::read(format!("/proc/{process}/mountinfo")) {
        Ok(table) => Some(tables::mounts(&table, process)),
        Err(e) => {
            // The table of a process that has just ended is invalid.
            if !is_gone(&e) && e.raw_os_error() != Some(libc::EINVAL) {
                unread = Some("a table of mounts cannot be read");
            }
            None
        }
    };
    let mut mounts = table("self").unwrap_or_default();
    mounts.extend(table("1").unwrap_or_default());
    let view = |process: &str| {
        let namespace = fs::read_link(format!("/proc/{process}/ns/mnt")).ok()?;
        let flags = StatxFlags::INO | StatxFlags::MNT_ID;
        let root = statx(CWD, format!("/proc/{process}/root"), AtFlags::empty(), flags).ok();
        Some((namespace, root.map(|root| (root.stx_mnt_id, root.stx_ino))))
    };
    let mut seen: BTreeSet<_> = ["self", "1"].into_iter().filter_map(view).collect();
    let listed = processes();
    let unlisted = listed.is_err().then_some("processes cannot be listed");
    for process in listed.unwrap_or_default() {
        let Some(view) = view(&process).filter(|view| !seen.contains(view)) else { continue };
        if let Some(found) = table(&process) {
            seen.insert(view);
            mounts.extend(found);
        }
    }
    let namespaces = seen.into_iter().map(|(namespace, _)| namespace).collect();
    let (kept, is_complete) = namespaces::kept(&mounts, namespaces);
    mounts.extend(kept);
    let hidden =
        (!is_complete).then_some("it cannot look into a mount namespace that a file keeps");
    (mounts, unread.or(unlisted).or(hidden))
}

/// Returns the files that file systems are mounted from without a loop device, in this namespace.
pub(super) fn files() -> Vec<PathBuf> {
    ours().into_iter().filter(Mount::is_on_file).map(|mount| mount.source).collect()
}

/// Returns the mounts of this namespace.
pub(super) fn ours() -> Vec<Mount> {
    tables::mounts(&fs::read("/proc/self/mountinfo").unwrap_or_default(), "self")
}

impl Mount {
    /// Returns the mount of this namespace that the file or directory at `path` is on. The path
    /// must have no symbolic links.
    pub(super) fn around(path: &Path) -> Option<Mount> {
        // Of several mounts on one point, the last is the one that is seen.
        let around = ours().into_iter().filter(|mount| path.starts_with(&mount.point));
        around.max_by_key(|mount| mount.point.components().count())
    }

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
        devices.extend(self.further.iter().filter_map(|path| DeviceNumber::of_node(path)));
        if self.kind == "btrfs" {
            devices.extend(btrfs_siblings(&devices));
        }
        devices
    }

    /// Returns the paths that an overlay's layers have now, as far as they are found by their
    /// names, and whether these are all of them.
    pub(super) fn layers_found(&self) -> (Vec<PathBuf>, bool) {
        let root = Path::new("/proc").join(&self.process).join("root");
        let place = |path: &Path| Some(root.join(path.strip_prefix("/").ok()?));
        // The kernel keeps a relative name without the directory that it began from.
        let layer = |name: &PathBuf| place(name)?.canonicalize().ok().filter(|path| path.is_dir());
        let found: Vec<PathBuf> = self.layers.iter().filter_map(layer).collect();
        let is_overlay = self.kind == "overlay";
        let is_whole = found.len() == self.layers.len() && !(is_overlay && found.is_empty());
        // If the first layer was unmounted since, its name may lead to another directory.
        let is_first = || {
            let (first, point) = (found.first()?.metadata().ok()?, place(&self.point)?);
            Some(overlay::is_shown_as(&first, &point.metadata().ok()?))
        };
        // The directory may change between the two looks.
        let is_seen = || (0..3).any(|_| is_first() == Some(true));
        let is_known = is_whole && (!is_overlay || self.root != Path::new("/") || is_seen());
        (found, is_known)
    }

    /// Returns the devices that can hold the journal of an ext3 or ext4 that has none of its own.
    /// No table says which journal belongs to it, so these are all that are in use.
    pub(super) fn journals(&self) -> Vec<DeviceNumber> {
        let is_ext = matches!(self.kind.as_str(), "ext3" | "ext4");
        let Some(device) = Device::find(self.number).filter(|_| is_ext) else { return Vec::new() };
        // A journal is listed as its device, one within a file system as `DEVICE-INODE`.
        let entries = fs::read_dir("/proc/fs/jbd2").into_iter().flatten().flatten();
        let names: Vec<_> = entries.filter_map(|e| e.file_name().into_string().ok()).collect();
        let own = format!("{}-", device.name);
        if names.iter().any(|name| name.starts_with(&own)) {
            return Vec::new();
        }
        let number = |name: &String| {
            let dev = Path::new("/sys/class/block").join(name).join("dev");
            DeviceNumber::parse(&fs::read_to_string(dev).ok()?)
        };
        names.iter().filter_map(number).collect()
    }

    /// Returns `true` if it was mounted from a file without a loop device.
    fn is_on_file(&self) -> bool {
        self.kind == "erofs" && self.number.major == 0
    }

    /// Returns the file that it lies on without a loop device, by the name that it had when it was
    /// mounted: EROFS since Linux 6.12, programs with FUSE.
    pub(super) fn file(&self) -> Option<Store> {
        Store::at(&self.path_of_file()?)
    }

    /// Returns the path by which this process reaches that file.
    fn path_of_file(&self) -> Option<PathBuf> {
        let below_root = self.source.strip_prefix("/").ok().filter(|_| self.number.major == 0)?;
        let path = Path::new("/proc").join(&self.process).join("root").join(below_root);
        path.is_file().then_some(path)
    }
}

/// Returns a mount that has a file that no table names: its name has moved, or the file system in
/// it has further files (`device=` of EROFS).
pub(super) fn with_unknown_file(mounts: &[Mount]) -> Option<&Mount> {
    let on_files = || mounts.iter().filter(|mount| mount.is_on_file());
    let is_known = |mount: &Mount| {
        let same = on_files().filter(|other| other.number == mount.number);
        same.filter_map(|other| other.path_of_file()).any(|path| is_alone(&path))
    };
    on_files().find(|mount| !is_known(mount))
}

/// Returns `true` if the EROFS in the file at `path` lies in that file alone.
fn is_alone(path: &Path) -> bool {
    /// Where the superblock has the number of extra devices, in two bytes.
    const EXTRA_DEVICES: u64 = 1024 + 86;
    let mut count = [1; 2];
    let Ok(node) = Node::find(path) else { return false };
    if !matches!(node.kind, NodeKind::File(_)) {
        return false;
    }
    let file = node.open(OFlags::RDONLY);
    let read = file.and_then(|file| file.read_exact_at(&mut count, EXTRA_DEVICES));
    read.is_ok() && count == [0; 2]
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
