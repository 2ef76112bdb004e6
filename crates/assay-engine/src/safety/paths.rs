//! Disks that this machine reaches by several paths (two ports of a SAN or SAS disk). Each path is
//! a block device of its own, and a mount of one is no claim on the others.
//!
//! Two devices are paths to one disk if they have the same world-wide name. *Invariant.* In doubt
//! two devices count as one disk: cheap adapters give all their disks one name.

use super::sysfs::Device;
use assay_fs::DeviceNumber;

/// Returns the disks of this machine that have a world-wide name, with that name.
pub(super) fn named_disks() -> Vec<(DeviceNumber, String)> {
    let named = |disk: Device| Some((disk.number, disk.world_wide_name()?));
    Device::all().into_iter().filter_map(named).collect()
}

/// Returns the other paths to the disk `number`.
pub(super) fn others(
    number: DeviceNumber,
    disks: &[(DeviceNumber, String)],
) -> impl Iterator<Item = DeviceNumber> {
    let own = disks.iter().find(|(disk, _)| *disk == number).map(|(_, name)| name);
    let is_same = move |disk: &&(DeviceNumber, String)| disk.0 != number && Some(&disk.1) == own;
    disks.iter().filter(is_same).map(|(disk, _)| *disk)
}
