//! What the kernel counts when somebody writes to the bytes of a device, by whichever way: to the
//! device itself, to the disk of a partition, to what is behind a loop device, or by another path
//! to the disk.
//!
//! *Not seen* are writes to what a mapping or an array lies on, where other mappings may write, and
//! to a file behind a loop device that has lost its name. What waits in the page cache of a device
//! behind a loop device counts when it has been written back.

use super::machine::Machine;
use super::stack::Store;
use super::sysfs::{Device, Written};
use assay_fs::{DeviceNumber, Node};
use rustix::fs::{AtFlags, StatxFlags, statx};
use std::path::Path;

/// The ways to the bytes of a device, its own first.
#[derive(Debug)]
pub(crate) struct Ways(Vec<Way>);

#[derive(Debug)]
enum Way {
    /// Through this device.
    Device(Device),
    /// Through a disk, past its partitions.
    Disk(Device),
    /// Through the file behind a loop device.
    File(Node),
}

/// What was written by each way, in the order of [`Ways`]; `None` where nothing tells.
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
        Ways(ways)
    }

    /// Reads what has been written until now.
    pub(crate) fn count(&self) -> Count {
        let count = |way: &Way| match way {
            Way::Device(device) => device.written().map(Mark::Written),
            Way::Disk(disk) => disk.written_past_partitions().map(Mark::Written),
            Way::File(node) => {
                let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
                let stat = statx(node, "", flags, StatxFlags::CTIME).ok()?;
                Some(Mark::Changed(stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec))
            }
        };
        Count(self.0.iter().map(count).collect())
    }
}

impl Count {
    /// Returns `true` if nothing was written between `before` and this count of the same ways.
    pub(crate) fn is_as(&self, before: &Count) -> bool {
        let mut pairs = self.0.iter().zip(&before.0);
        pairs.all(|(now, before)| now.is_none() || before.is_none() || now == before)
    }
}

/// Returns the file at `path` if it still is the one with this inode.
fn file(path: &Path, system: DeviceNumber, inode: u64) -> Option<Node> {
    let node = Node::find(path).ok()?;
    (node.id.device == system && node.id.inode == inode).then_some(node)
}
