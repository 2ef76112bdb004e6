//! Files on an overlay, which share their bytes with a file of the file system below.
//!
//! Both have the same inode number, because an overlay shows that of the upper file; an upper file
//! that was made by copying up cannot have been in use before. So two files with the same number,
//! one of them on an overlay, are assumed to be one, unless their birth times differ. The file
//! system below may be invisible, as in a container.
//!
//! *Invariant.* In doubt, two files count as one.

use super::store::{Birth, Store};
use super::tables::Mount;
use assay_fs::DeviceNumber;
use std::fs::{Metadata, metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns those of `files` that may be the file `store`, born at `born`, on another device.
pub(super) fn same(
    store: Store,
    born: Option<Birth>,
    mounts: &[Mount],
    files: impl Iterator<Item = (Store, Option<Birth>)>,
) -> Vec<Store> {
    let Store::File(system, inode) = store else { return Vec::new() };
    let on_overlay = |system: DeviceNumber| may_be(system, mounts);
    let is_one = |(other, other_born): (Store, Option<Birth>)| match other {
        Store::File(other_system, other_inode) => {
            let other_time = born.is_some() && other_born.is_some() && born != other_born;
            let is_like = other_inode == inode && other_system != system && !other_time;
            (is_like && (on_overlay(system) || on_overlay(other_system))).then_some(other)
        }
        Store::Device(_) => None,
    };
    files.filter_map(is_one).collect()
}

/// Returns `true` if the file system with this `st_dev` may be an overlay. An overlay with layers
/// on several file systems shows device numbers that are in no table of mounts.
pub(super) fn may_be(system: DeviceNumber, mounts: &[Mount]) -> bool {
    if !mounts.iter().any(|mount| mount.kind == "overlay") {
        return false;
    }
    let mut named = mounts.iter().filter(|mount| mount.number == system).peekable();
    system.major == 0 && (named.peek().is_none() || named.any(|mount| mount.kind == "overlay"))
}

/// Returns the file or directory of a layer that the overlay shows at `path`, if `path` is on an
/// overlay of this mount namespace and assay can reach that layer.
pub(super) fn below(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let mount = Mount::around(&path).filter(|mount| mount.kind == "overlay")?;
    let within = mount.root.strip_prefix("/").ok()?.join(path.strip_prefix(&mount.point).ok()?);
    let shown = metadata(&path).ok()?;
    let is_it = |file: &PathBuf| metadata(file).is_ok_and(|found| is_shown_as(&found, &shown));
    // The kernel keeps a relative name as it was given, without the directory that it began from.
    let current = std::env::current_dir().ok();
    let bases = || mount.point.ancestors().map(Path::to_owned).chain(current.clone());
    let files = |layer: &PathBuf| bases().map(|base| base.join(layer).join(&within)).find(is_it);
    mount.layers.iter().find_map(files)
}

/// Returns `true` if an overlay shows `layer` as `shown`: it passes on length and times.
pub(super) fn is_shown_as(layer: &Metadata, shown: &Metadata) -> bool {
    let of = |m: &Metadata| (m.len(), m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec());
    layer.is_dir() == shown.is_dir() && of(layer) == of(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(minor: u32, kind: &str) -> Mount {
        let number = DeviceNumber { major: 0, minor };
        let (point, source, root) = ("/x".into(), kind.into(), "/".into());
        let (kind, process) = (kind.to_owned(), "self".to_owned());
        let (layers, further) = (Vec::new(), Vec::new());
        let is_volatile = false;
        Mount { number, point, root, layers, further, is_volatile, kind, source, process }
    }

    fn file(major: u32, minor: u32, inode: u64) -> Store {
        Store::File(DeviceNumber { major, minor }, inode)
    }

    #[test]
    fn one_number_on_an_overlay_and_below_is_one_file() {
        let mounts = [mount(1, "tmpfs"), mount(2, "overlay")];
        let born = |n| Some((n, 0));
        let files = [
            (file(8, 1, 7), born(5)),
            (file(8, 1, 7), None),
            (file(8, 1, 8), born(5)),
            (file(8, 2, 7), born(6)),
            (file(0, 2, 7), born(5)),
        ];
        let of = |store, born| same(store, born, &mounts, files.into_iter());
        assert_eq!(of(file(0, 2, 7), born(5)), [file(8, 1, 7), file(8, 1, 7)]);
        // An overlay over several file systems.
        assert_eq!(of(file(0, 9, 7), born(6)), [file(8, 1, 7), file(8, 2, 7)]);
        assert_eq!(of(file(8, 1, 7), born(5)), [file(0, 2, 7)]);
        assert_eq!(of(file(0, 1, 7), born(5)), [file(0, 2, 7)]);
        assert_eq!(of(file(8, 3, 9), born(5)), []);
    }

    #[test]
    fn without_an_overlay_numbers_are_what_they_are() {
        let files = [(file(8, 1, 7), None)];
        assert_eq!(same(file(0, 2, 7), None, &[mount(1, "tmpfs")], files.into_iter()), []);
    }
}
