//! Numbers of devices.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// The number of a device: what tells one from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// The driver.
    pub major: u32,
    /// The device of that driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// From `MAJOR:MINOR`.
    pub fn parse(text: &str) -> Option<DeviceNumber> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }

    /// From the `dev_t` of a stat.
    pub fn from_raw(raw: u64) -> DeviceNumber {
        DeviceNumber { major: rustix::fs::major(raw), minor: rustix::fs::minor(raw) }
    }

    /// From the number as the kernel's own structures hold it.
    pub fn from_kernel(raw: u64) -> DeviceNumber {
        let minor = (raw & 0xff) | ((raw >> 12) & 0xf_ff00);
        DeviceNumber { major: ((raw >> 8) & 0xfff) as u32, minor: minor as u32 }
    }

    /// The block device a path leads to, symlinks followed.
    pub fn of_node(path: &Path) -> Option<DeviceNumber> {
        let metadata = fs::metadata(path).ok()?;
        let is_block = metadata.file_type().is_block_device();
        is_block.then(|| DeviceNumber::from_raw(metadata.rdev()))
    }
}
