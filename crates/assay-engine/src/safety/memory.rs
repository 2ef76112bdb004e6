//! Finds files, directories and devices that memory answers for: those that lie in it, and those on
//! loop devices that go through the page cache or have holes behind them.

use super::stack::{Loop, foundation_of, loops};
use super::store::{Extent, Store};
use super::sysfs::Device;
use assay_fs::{DeviceNumber, Node, NodeKind};
use rustix::fs::{OFlags, SeekFrom, seek};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The types that statfs(2) reports for file systems in memory: tmpfs and ramfs.
const FILE_SYSTEMS: [u64; 2] = [0x0102_1994, 0x8584_58f6];
/// The kernel's names of disks in memory, without the number that follows.
const DISKS: [&str; 2] = ["ram", "zram"];

/// Returns why a measurement of the file, directory or device at `place` says nothing about a
/// drive, or not only about one, if so. Holes behind a loop device count if the workload `reads`.
pub(crate) fn caution(place: &Path, reads: bool) -> Option<String> {
    let node = DeviceNumber::of_node(place);
    // The node of a device always lies in memory.
    if node.is_none() && is_in_memory(place) {
        return Some("the target's file system is in memory: no drive was measured".to_owned());
    }
    let file_system = || Some(DeviceNumber::from_raw(place.metadata().ok()?.dev()));
    let (number, loops) = (node.or_else(file_system)?, loops());
    let layers = foundation_of(Extent::all(Store::Device(number)), &loops);
    let of_memory = layers.iter().find_map(|layer| in_memory(layer.store, &loops));
    // Of a file, it is not known which parts of the device it lies on.
    let sparse =
        || layers.iter().filter(|_| reads && node.is_some()).find_map(|l| sparse(l, &loops));
    of_memory.or_else(|| layers.iter().find_map(cached)).or_else(sparse)
}

fn in_memory(store: Store, loops: &[Loop]) -> Option<String> {
    let disk = Device::find(store.device()?)?;
    let digits = DISKS.iter().find_map(|name| disk.name.strip_prefix(name));
    if digits.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())) {
        return Some("the target is a disk in memory: no drive was measured".to_owned());
    }
    let found = loops.iter().find(|l| l.device.number == disk.number)?;
    let behind = matches!(found.behind.as_ref()?.store, Store::File(..));
    let why = || "the file behind the loop device is in memory: no drive was measured".to_owned();
    (behind && is_in_memory(&found.name)).then(why)
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
    let is_behind = |l: &&Loop| l.behind.as_ref().is_some_and(|b| b.store == layer.store);
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

fn is_in_memory(place: &Path) -> bool {
    rustix::fs::statfs(place).is_ok_and(|found| FILE_SYSTEMS.contains(&(found.f_type as u64)))
}
