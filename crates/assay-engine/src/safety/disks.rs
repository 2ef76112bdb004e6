//! Walks from a file, directory or device down to the disks that it lies on, and compares what
//! was asked for with what the disks have read.

use super::loops::{Loop, loops};
use super::overlay;
use super::stack::foundation_of;
use super::store::{Extent, Store};
use super::sysfs::Device;
use super::tables::Mount;
use assay_fs::DeviceNumber;
use assay_spec::Bytes;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most file systems that are looked for below one another.
const DEPTH: usize = 8;

/// Returns `place`, the files of layers that overlays show there, and the files behind the loop
/// devices below, from top to bottom.
pub(super) fn places(place: &Path, loops: &[Loop]) -> Vec<PathBuf> {
    let mut found = vec![place.to_owned()];
    let mut next = 0;
    while let Some(place) = found.get(next).cloned().filter(|_| found.len() < DEPTH) {
        next += 1;
        if let Some(layer) = overlay::below(&place) {
            found.push(layer);
            continue;
        }
        let stores: Vec<Store> = stores(&place, loops).into_iter().map(|e| e.store).collect();
        let is_below = |l: &&Loop| l.known().is_some_and(|b| stores.contains(&b.store));
        let files = loops.iter().filter(is_below).filter(|l| l.name.is_file());
        found.extend(files.map(|l| l.name.clone()));
    }
    found
}

/// Returns the devices that a device, or the file system of a file or directory, lies on, and the
/// files behind loop devices among them.
pub(super) fn stores(place: &Path, loops: &[Loop]) -> Vec<Extent> {
    let start = |number| foundation_of(Extent::all(Store::Device(number)), loops);
    devices(place).into_iter().flat_map(start).collect()
}

fn devices(place: &Path) -> Vec<DeviceNumber> {
    if let Some(number) = DeviceNumber::of_node(place) {
        return vec![number];
    }
    let Ok(found) = place.metadata() else { return Vec::new() };
    let number = DeviceNumber::from_raw(found.dev());
    if number.major != 0 {
        return vec![number];
    }
    // The number of btrfs and the like is in no table of devices.
    let mount = place.canonicalize().ok().and_then(|place| Mount::around(&place));
    let devices = mount.map(|mount| mount.devices()).unwrap_or_default();
    devices.into_iter().filter(|number| Device::find(*number).is_some()).collect()
}

/// What the disks below a target had read at some time.
pub(crate) struct DiskReads {
    disks: Vec<(Device, Bytes)>,
}

impl DiskReads {
    /// Reads the counts of the disks below `place`. Returns `None` if it is such a disk itself, or
    /// a disk or its count is not known.
    pub(crate) fn below(place: &Path) -> Option<DiskReads> {
        let loops = loops();
        let places = places(place, &loops);
        if places.len() >= DEPTH {
            return None;
        }
        let all: Vec<Extent> = places.iter().flat_map(|place| stores(place, &loops)).collect();
        let number = |store: &Extent| store.store.device();
        let mut disks: Vec<(Device, Bytes)> = Vec::new();
        for device in all.iter().filter_map(number) {
            let device = Device::find(device)?;
            let is_known = disks.iter().any(|(disk, _)| disk.number == device.number);
            let is_lowest = device.parent().is_none()
                && device.slaves().is_empty()
                && device.backing_file().is_none();
            if is_lowest && !is_known {
                let count = device.bytes_read()?;
                disks.push((device, count));
            }
        }
        let own = DeviceNumber::of_node(place);
        let is_own = |(disk, _): &(Device, Bytes)| Some(disk.number) == own;
        (!disks.is_empty() && !disks.iter().any(is_own)).then_some(DiskReads { disks })
    }

    /// Returns a warning if the disks have read less than half of `asked`, which was read from the
    /// target since the counts were read.
    pub(crate) fn warning(&self, asked: Bytes) -> Option<String> {
        let mut read = Bytes::ZERO;
        for (disk, before) in &self.disks {
            read += Bytes(disk.bytes_read()?.0.saturating_sub(before.0));
        }
        let names: Vec<&str> = self.disks.iter().map(|(disk, _)| disk.name.as_str()).collect();
        (read.0 < asked.0 / 2).then(|| {
            format!(
                "the target was read for {asked}, but {} read only {read}: the rest came from \
                 memory, or was compressed",
                names.join(", ")
            )
        })
    }
}
