//! What the kernel counts when somebody writes to the bytes of a device, by whichever way: to the
//! device itself, to the disk of a partition, to what is behind a loop device, or by another path
//! to the disk.
//!
//! *Not seen* are writes to what a mapping or an array lies on, where other mappings may write, to
//! what several loop devices have parts of, and to a file behind a loop device that has lost its
//! name.
//!
//! The kernel counts what reaches a device. What waits in its page cache, and would for half a
//! minute as long as assay has the device open, is written back before the count.

use super::machine::Machine;
use super::stack::Store;
use super::sysfs::{Device, Written};
use assay_fs::{DeviceNumber, Node};
use rustix::fs::{AtFlags, StatxFlags, statx};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The ways to the bytes of a device, its own first.
#[derive(Debug)]
pub(crate) struct Ways {
    all: Vec<Way>,
    /// Devices that hold what was written in their page caches, open.
    devices: Vec<File>,
}

#[derive(Debug)]
enum Way {
    /// Through this device.
    Device(Device),
    /// Through a disk, past its partitions.
    Disk(Device),
    /// Through the file behind a loop device.
    File(Node),
}

/// What was written by each way, in the order of the ways; `None` where nothing tells.
#[derive(Debug)]
pub(crate) struct Count(Vec<Option<Mark>>);

/// What moves with each write.
#[derive(Debug, PartialEq, Eq)]
enum Mark {
    Written(Written),
    /// The time at which a file was last changed, in seconds and ns.
    Changed(i64, u32),
}

impl Ways {
    /// Finds the ways to the bytes of `device`.
    pub(crate) fn to(device: &Device) -> Ways {
        let machine = Machine::devices_alone();
        let mut ways = Vec::new();
        let mut next = Some(device.clone());
        while let Some(device) = next.take() {
            let disk = device.disk();
            ways.push(Way::Device(device.clone()));
            if disk.number != device.number {
                ways.push(Way::Disk(disk.clone()));
                // Whoever uses another partition writes to what is below, too.
                if disk.partitions().len() > 1 {
                    break;
                }
            }
            let others = machine.other_paths_to(disk.number).into_iter().filter_map(Device::find);
            ways.extend(others.map(Way::Device));
            match machine.behind(disk.number) {
                Some((Store::Device(below), ..)) => next = Device::find(below),
                Some((Store::File(system, inode), _, name)) => {
                    ways.extend(file(name, system, inode).map(Way::File));
                }
                None => {}
            }
        }
        let devices = ways.iter().flat_map(|way| match way {
            // What waits for a partition is the disk's only when it has been written back.
            Way::Device(device) => [vec![device.clone()], device.partitions()].concat(),
            Way::Disk(disk) => vec![disk.clone()],
            Way::File(_) => Vec::new(),
        });
        let devices = devices.filter_map(|device| File::open(device.node()).ok()).collect();
        Ways { all: ways, devices }
    }

    /// Counts what has been written until now.
    pub(crate) fn count(&self) -> Count {
        self.devices.iter().for_each(write_back);
        let machine = Machine::devices_alone();
        let mut is_shared = false;
        let count = |(depth, way): (usize, &Way)| {
            // Whoever uses another part of it writes to it and to what is below, too.
            is_shared |= depth > 0 && way.store().is_some_and(|s| machine.loops_on(s) > 1);
            if is_shared { None } else { way.mark() }
        };
        Count(self.all.iter().enumerate().map(count).collect())
    }
}

impl Way {
    /// Returns the store that it leads to; `None` for a part of one.
    fn store(&self) -> Option<Store> {
        match self {
            Way::Device(device) => Some(Store::Device(device.number)),
            Way::Disk(_) => None,
            Way::File(node) => Some(Store::File(node.id.device, node.id.inode)),
        }
    }

    /// Returns what tells that somebody wrote, if anything does.
    fn mark(&self) -> Option<Mark> {
        match self {
            Way::Device(device) => device.written().map(Mark::Written),
            Way::Disk(disk) => disk.written_past_partitions().map(Mark::Written),
            Way::File(node) => {
                let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
                let stat = statx(node, "", flags, StatxFlags::CTIME).ok()?;
                Some(Mark::Changed(stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec))
            }
        }
    }
}

impl Count {
    /// Returns `true` if nothing was written between `before` and this count of the same ways.
    pub(crate) fn is_as(&self, before: &Count) -> bool {
        let mut pairs = self.0.iter().zip(&before.0);
        pairs.all(|(now, before)| now.is_none() || before.is_none() || now == before)
    }
}

/// Writes the page cache of a device back. Unlike `fsync` this leaves the drive's own cache as it
/// is: to empty it before a cell would change what the cell measures.
fn write_back(device: &File) {
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
