//! Finds files, directories and devices that lie in memory: a measurement of them uses no drive.

use super::machine::Machine;
use super::store::Store;
use super::sysfs::Device;
use assay_fs::DeviceNumber;
use std::path::Path;

/// The types that statfs(2) reports for file systems in memory: tmpfs and ramfs.
const FILE_SYSTEMS: [u64; 2] = [0x0102_1994, 0x8584_58f6];
/// The kernel's names of disks in memory, without the number that follows.
const DISKS: [&str; 2] = ["ram", "zram"];

/// Returns why a measurement of the file, directory or device at `place` says nothing about a
/// drive, if `place` lies in memory.
pub(crate) fn caution(place: &Path) -> Option<&'static str> {
    // The node of a device always lies in memory.
    let Some(number) = DeviceNumber::of_node(place) else {
        return is_in_memory(place).then_some("its file system is in memory: no drive was asked");
    };
    let machine = Machine::devices_alone();
    let mut next = Device::find(number);
    while let Some(disk) = next.take().map(|device| device.disk()) {
        let digits = DISKS.iter().find_map(|name| disk.name.strip_prefix(name));
        if digits.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())) {
            return Some("it is a disk in memory: no drive was asked");
        }
        match machine.behind(disk.number) {
            Some((Store::Device(below), ..)) => next = Device::find(below),
            Some((Store::File(..), _, name)) if is_in_memory(name) => {
                return Some("the file behind it is in memory: no drive was asked");
            }
            _ => {}
        }
    }
    None
}

fn is_in_memory(place: &Path) -> bool {
    rustix::fs::statfs(place).is_ok_and(|found| FILE_SYSTEMS.contains(&(found.f_type as u64)))
}
