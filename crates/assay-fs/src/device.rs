//! Device numbers.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// A device number, which identifies a device of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// The number of the driver.
    pub major: u32,
    /// The number of the device within its driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// Parses `MAJOR:MINOR`; space around it is ignored.
    pub fn parse(text: &str) -> Option<DeviceNumber> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }

    /// Converts a `dev_t`, as `stat(2)` returns it.
    pub fn from_raw(raw: u64) -> DeviceNumber {
        DeviceNumber { major: rustix::fs::major(raw), minor: rustix::fs::minor(raw) }
    }

    /// Converts a number in the encoding of kernel structures such as `loop_info64`.
    pub fn from_kernel(raw: u64) -> DeviceNumber {
        let minor = (raw & 0xff) | ((raw >> 12) & 0xf_ff00);
        DeviceNumber { major: ((raw >> 8) & 0xfff) as u32, minor: minor as u32 }
    }

    /// Returns the number of the block device at `path`, if it is one, following symlinks.
    pub fn of_node(path: &Path) -> Option<DeviceNumber> {
        let metadata = fs::metadata(path).ok()?;
        let is_block = metadata.file_type().is_block_device();
        is_block.then(|| DeviceNumber::from_raw(metadata.rdev()))
    }
}
