//! Detects writes to the bytes of a device by the kernel's counters, for each way to these bytes:
//! the device itself, the disk of a partition, the file or device behind a loop device, and another
//! path to the disk.
//!
//! After assay's own requests, the device must have written no more than assay sent. The rest of
//! the disk and other paths must have written nothing. Layers below change with assay's writes;
//! [`super::closed`] finds other writers there.
//!
//! *Not detected* are writes to the devices below a mapping or an array, where other mappings may
//! write; to a file or device with several loop devices on it; and to a file behind a loop device
//! that has lost its name.
//!
//! The kernel counts a write when it reaches the device. Dirty pages in the device's page cache,
//! which could wait there for half a minute, are written back before the count.

use super::device_node;
use super::in_use::Machine;
use super::store::Store;
use super::sysfs::{Device, Written};
use assay_fs::{DeviceNumber, Node};
use assay_spec::Bytes;
use rustix::fs::{AtFlags, OFlags, StatxFlags, statx};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The ways to the bytes of a device.
#[derive(Debug)]
pub(crate) struct Ways {
    device: Device,
    /// All of them; the first is the device itself.
    all: Vec<WritePath>,
    /// The open devices whose page caches are written back before a count.
    devices: Vec<File>,
}

/// A way to the bytes of a device.
#[derive(Debug)]
enum WritePath {
    /// The device itself.
    Device(Device),
    /// A disk outside of its partitions.
    Disk(Device),
    /// Another path to a disk.
    OtherPath(Device),
    /// The device behind a loop device.
    Below(Device),
    /// The file behind a loop device.
    File(Node),
}

/// A count of the writes by all ways.
#[derive(Debug)]
pub(crate) struct WriteCount {
    /// The mark of each way, in the order of the ways; `None` for a way without one.
    marks: Vec<Option<Mark>>,
    /// Whether the kernel counts the writes to the device and to all devices below it.
    is_complete: bool,
}

/// A value that changes with each write by a way.
#[derive(Debug, PartialEq, Eq)]
enum Mark {
    Written(Written),
    /// The time at which a file was last changed, in seconds and ns.
    Changed(i64, u32),
}

impl Ways {
    /// Finds the ways to the bytes of `target`.
    pub(crate) fn to(target: &Device) -> Ways {
        let machine = Machine::devices_alone();
        let mut ways = Vec::new();
        let mut next = Some(target.clone());
        while let Some(device) = next.take() {
            let disk = device.disk();
            ways.push(match ways.is_empty() {
                true => WritePath::Device(device.clone()),
                false => WritePath::Below(device.clone()),
            });
            if disk.number != device.number {
                ways.push(WritePath::Disk(disk.clone()));
                // Writes to another partition are also counted below the disk.
                if disk.partitions().len() > 1 {
                    break;
                }
            }
            let others = machine.other_paths_to(disk.number).into_iter().filter_map(Device::find);
            ways.extend(others.map(WritePath::OtherPath));
            match machine.behind(disk.number) {
                Some((Store::Device(below), ..)) => next = Device::find(below),
                Some((Store::File(system, inode), _, name)) => {
                    ways.extend(file(name, system, inode).map(WritePath::File));
                }
                None => {}
            }
        }
        let devices = ways.iter().flat_map(|way| match way {
            // A partition has a page cache of its own, and the disk counts its writes later.
            WritePath::Device(device) | WritePath::OtherPath(device) | WritePath::Below(device) => {
                [vec![device.clone()], device.partitions()].concat()
            }
            WritePath::Disk(disk) => vec![disk.clone()],
            WritePath::File(_) => Vec::new(),
        });
        let open = |device: Device| device_node::open(&device, OFlags::RDONLY).ok();
        let devices = devices.filter_map(open).collect();
        Ways { device: target.clone(), all: ways, devices }
    }

    /// Writes page caches back and reads the marks of all ways.
    pub(crate) fn count(&self) -> WriteCount {
        self.devices.iter().for_each(write_back);
        let machine = Machine::devices_alone();
        let mut is_shared = false;
        let count = |(depth, way): (usize, &WritePath)| {
            // Writes by another loop device are also counted here and below.
            is_shared |= depth > 0 && way.store().is_some_and(|s| machine.loops_on(s) > 1);
            if is_shared { None } else { way.mark() }
        };
        let marks = self.all.iter().enumerate().map(count).collect();
        WriteCount { marks, is_complete: machine.uncounted(&self.device).is_none() }
    }

    /// Returns `true` if `now` shows no other writes since `before` than `own` bytes that assay
    /// wrote or discarded; `None` stands for an unknown number. An incomplete count shows nothing.
    pub(crate) fn are_own(
        &self,
        before: &WriteCount,
        now: &WriteCount,
        own: Option<Bytes>,
    ) -> bool {
        let marks = before.marks.iter().zip(&now.marks);
        let mut ways = self.all.iter().zip(marks);
        let is_own = ways.all(|(way, (before, now))| match (way, before, now) {
            (_, None, _) | (_, _, None) | (WritePath::Below(_) | WritePath::File(_), ..) => true,
            (WritePath::Device(_), Some(Mark::Written(before)), Some(Mark::Written(now))) => {
                own.is_none_or(|own| now.since(*before) <= own)
            }
            (_, before, now) => before == now,
        });
        is_own && now.is_complete
    }

    /// Returns the paths of the devices and the file below the device. assay's own writes change
    /// their counts.
    pub(crate) fn below(&self) -> Vec<PathBuf> {
        let path = |way: &WritePath| match way {
            WritePath::Below(device) => Some(device.node()),
            WritePath::File(node) => Some(node.link()),
            WritePath::Device(_) | WritePath::Disk(_) | WritePath::OtherPath(_) => None,
        };
        self.all.iter().filter_map(path).collect()
    }
}

impl WritePath {
    /// Returns the store that it leads to, or `None` for a part of a disk.
    fn store(&self) -> Option<Store> {
        match self {
            WritePath::Device(device) | WritePath::OtherPath(device) | WritePath::Below(device) => {
                Some(Store::Device(device.number))
            }
            WritePath::Disk(_) => None,
            WritePath::File(node) => Some(Store::File(node.id.device, node.id.inode)),
        }
    }

    /// Reads the present mark, if the way has one.
    fn mark(&self) -> Option<Mark> {
        match self {
            WritePath::Device(device) | WritePath::OtherPath(device) | WritePath::Below(device) => {
                device.written().map(Mark::Written)
            }
            WritePath::Disk(disk) => disk.written_past_partitions().map(Mark::Written),
            WritePath::File(node) => {
                let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
                let stat = statx(node, "", flags, StatxFlags::CTIME).ok()?;
                Some(Mark::Changed(stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec))
            }
        }
    }
}

impl WriteCount {
    /// Returns `true` if this count is complete, and no way shows a write between `before` and this
    /// count of the same ways.
    pub(crate) fn is_as(&self, before: &WriteCount) -> bool {
        let mut pairs = self.marks.iter().zip(&before.marks);
        let is_same = pairs.all(|(now, before)| now.is_none() || before.is_none() || now == before);
        is_same && self.is_complete
    }
}

/// Writes the page cache of a device back. Unlike `fsync`, does not flush the drive's own cache: a
/// flush before a cell would change the cell's result.
pub(super) fn write_back(device: &File) {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the descriptor is open, and the call takes only numbers. What cannot be written back
    // is not on the device, and so overwrites nothing and is overwritten by nobody.
    unsafe { libc::sync_file_range(device.as_raw_fd(), 0, 0, flags) };
}

/// Returns the file at `path` if it still is the one with this inode.
fn file(path: &Path, system: DeviceNumber, inode: u64) -> Option<Node> {
    let node = Node::find(path).ok()?;
    (node.id.device == system && node.id.inode == inode).then_some(node)
}
