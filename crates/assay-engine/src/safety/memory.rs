//! Finds files, directories and devices that memory answers for: those that lie in it, and those on
//! loop devices that go through the page cache or have holes behind them.

use super::disks::{places, stores};
use super::loops::{Loop, loops};
use super::store::{Extent, Store};
use super::sysfs::Device;
use assay_fs::{DeviceNumber, Node, NodeKind};
use rustix::fs::{OFlags, SeekFrom, seek};
use std::path::{Path, PathBuf};

/// The types that statfs(2) reports for file systems in memory: tmpfs, ramfs, hugetlbfs.
const IN_MEMORY: [u64; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];
/// The type of file systems that a program serves.
const FUSE: u64 = 0x6573_5546;
/// The kernel's names of disks in memory, without the number that follows.
const DISKS: [&str; 2] = ["ram", "zram"];

/// Returns why a measurement of the file, directory or device at `place` says nothing about a
/// drive, or not only about one, if so. Holes behind a loop device count if the workload `reads`.
pub(crate) fn caution(place: &Path, reads: bool) -> Option<String> {
    let loops = loops();
    let places = places(place, &loops);
    let of_file_systems = places.iter().find_map(|place| of_file_system(place));
    let layers = layers(&places, &loops);
    let of_disks = || layers.iter().find_map(in_memory);
    // Of a file, it is not known which parts of the device it lies on.
    let known = if DeviceNumber::of_node(place).is_some() { stores(place, &loops) } else { vec![] };
    let sparse = || known.iter().filter(|_| reads).find_map(|layer| sparse(layer, &loops));
    of_file_systems.or_else(of_disks).or_else(|| layers.iter().find_map(cached)).or_else(sparse)
}

/// Returns a warning if a loop device below `place` goes through the page cache.
pub(crate) fn page_cache(place: &Path) -> Option<String> {
    let loops = loops();
    layers(&places(place, &loops), &loops).iter().find_map(cached)
}

fn layers(places: &[PathBuf], loops: &[Loop]) -> Vec<Extent> {
    places.iter().flat_map(|place| stores(place, loops)).collect()
}

/// Returns a warning if the file or directory at `place` is on a file system without a drive, or
/// one that need not ask its drive.
fn of_file_system(place: &Path) -> Option<String> {
    // The node of a device always lies in memory.
    if DeviceNumber::of_node(place).is_some() {
        return None;
    }
    let kind = rustix::fs::statfs(place).ok()?.f_type as u64;
    // The name behind a path such as `/proc/self/fd/7`.
    let name = place.canonicalize().or_else(|_| place.read_link());
    let name = name.as_deref().unwrap_or(place).display();
    if IN_MEMORY.contains(&kind) {
        return Some(format!("{name} is in memory: no drive was measured"));
    }
    (kind == FUSE).then(|| {
        format!(
            "{name} is on a file system that a program serves (FUSE), so times are those of the \
             program, which may answer from memory"
        )
    })
}

fn in_memory(layer: &Extent) -> Option<String> {
    let disk = Device::find(layer.store.device()?)?;
    let digits = DISKS.iter().find_map(|name| disk.name.strip_prefix(name))?;
    let why = || "the target is a disk in memory: no drive was measured".to_owned();
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(why)
}

/// Returns a warning if `layer` is a loop device without direct I/O.
fn cached(layer: &Extent) -> Option<String> {
    let device = Device::find(layer.store.device()?)?;
    let why = || {
        format!(
            "{} uses the page cache, so most times are those of memory: switch the cache off with \
             `losetup --direct-io=on {}`",
            device.name,
            device.node().display()
        )
    };
    (device.number_at("loop/dio")? == 0).then(why)
}

/// Returns a warning if `layer` is a part of a file behind a loop device and has a hole.
fn sparse(layer: &Extent, loops: &[Loop]) -> Option<String> {
    let is_behind = |l: &&Loop| l.known().is_some_and(|b| b.store == layer.store);
    let found = loops.iter().find(is_behind)?;
    let node = Node::find(&found.name).ok()?;
    let NodeKind::File(size) = node.kind else { return None };
    // The name may lead to another file by now.
    if Store::File(node.id.device, node.id.inode) != layer.store {
        return None;
    }
    let file = node.open(OFlags::RDONLY).ok()?;
    let hole = seek(&file, SeekFrom::Hole(layer.bytes.start)).ok()?;
    (hole < size.min(layer.bytes.end)).then(|| {
        format!(
            "parts of the file behind {} were never written, so reads of these parts do not reach \
             the drive: write the whole file first, or copy it with `cp --sparse=never`",
            found.device.name
        )
    })
}
