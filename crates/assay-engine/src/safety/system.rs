//! The disks of the running system, which are never written to.
//!
//! *Invariant.* In doubt, a device belongs to the system: an overlay whose layers are not known is
//! an obstacle to writing to any device.

use super::in_use::Machine;
use super::store::Store;
use super::sysfs::Device;
use super::tables::Mount;
use assay_fs::DeviceNumber;
use std::collections::BTreeSet;
use std::path::Path;

/// The mount points of the parts of a system.
const POINTS: [&str; 7] = ["/", "/boot", "/boot/efi", "/efi", "/usr", "/home", "/var"];

impl Mount {
    /// Returns `true` if it is a part of the running system.
    fn is_system(&self) -> bool {
        POINTS.iter().any(|point| self.point == Path::new(point)) && self.is_ours()
    }
}

impl Machine {
    /// Returns every device that the parts of the running system lie on, and an overlay among them
    /// whose layers are not all known. That of `/` does not count: it was mounted from a place that
    /// only the first programs of the system saw.
    fn system(&self) -> (BTreeSet<DeviceNumber>, Option<&Mount>) {
        let parts = self.mounts.iter().filter(|mount| mount.is_system());
        let mut waiting: Vec<DeviceNumber> = parts.map(|mount| mount.number).collect();
        let (mut found, mut unknown) = (BTreeSet::new(), None);
        while let Some(number) = waiting.pop() {
            if !found.insert(number) {
                continue;
            }
            let mounts: Vec<&Mount> = self.mounts.iter().filter(|m| m.number == number).collect();
            waiting.extend(mounts.iter().flat_map(|m| [m.devices(), m.journals()].concat()));
            let layers: Vec<_> = mounts.iter().filter_map(|mount| mount.layers()).collect();
            if layers.is_empty() && !mounts.iter().any(|mount| mount.point == Path::new("/")) {
                unknown = unknown.or(mounts.first().copied());
            }
            waiting.extend(layers.concat());
            waiting.extend(self.foundation(number).iter().map(|under| match under.store {
                Store::Device(number) | Store::File(number, _) => number,
            }));
        }
        (found, unknown)
    }

    /// Returns why a device may belong to the system though [`Machine::is_system`] does not say so.
    pub(super) fn unknown_layer(&self) -> Option<String> {
        let (_, overlay) = self.system();
        let point = overlay?.point.display();
        Some(format!("it cannot find all layers of the overlay on {point}"))
    }

    /// Returns `true` if `device`, or anything it lies on, belongs to the disks of the system.
    pub(crate) fn is_system(&self, device: &Device) -> bool {
        let (system, _) = self.system();
        self.devices_below(device).iter().any(|number| system.contains(number))
    }
}
