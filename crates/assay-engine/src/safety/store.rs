//! Stores: the devices and files that hold bytes.

use assay_fs::DeviceNumber;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A device or file that holds bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Store {
    /// A block device.
    Device(DeviceNumber),
    /// A file, by the device number of its file system and its inode number.
    File(DeviceNumber, u64),
}

impl Store {
    /// Returns the block device or regular file that a path leads to.
    pub(super) fn at(path: &Path) -> Option<Store> {
        if let Some(number) = DeviceNumber::of_node(path) {
            return Some(Store::Device(number));
        }
        let stat = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(Store::File(DeviceNumber::from_raw(stat.dev()), stat.ino()))
    }

    /// Returns the number of the device, if it is one.
    pub(crate) fn device(self) -> Option<DeviceNumber> {
        match self {
            Store::Device(number) => Some(number),
            Store::File(..) => None,
        }
    }
}

/// A range of bytes of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) store: Store,
    pub(crate) bytes: Range<u64>,
}

impl Extent {
    /// Returns the extent that covers all of a store.
    pub(crate) fn all(store: Store) -> Extent {
        Extent { store, bytes: 0..u64::MAX }
    }

    /// Returns `true` if both have a byte in common.
    pub(crate) fn overlaps(&self, other: &Extent) -> bool {
        self.store == other.store
            && self.bytes.start < other.bytes.end
            && other.bytes.start < self.bytes.end
    }

    /// Returns the part `inner` of this extent, where `inner` counts from its start.
    pub(crate) fn part(&self, inner: &Range<u64>) -> Extent {
        let at = |offset: u64| self.bytes.start.saturating_add(offset).min(self.bytes.end);
        Extent { store: self.store, bytes: at(inner.start)..at(inner.end) }
    }
}

/// The birth time of a file, in seconds and nanoseconds.
pub(crate) type Birth = (i64, u32);
