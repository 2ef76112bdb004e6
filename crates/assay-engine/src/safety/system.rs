//! The disks of the running system, which are never written to.
//!
//! *Invariant.* In doubt, a device belongs to the system: while the layers of an overlay are not
//! all known, no partition is written to.

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
    /// Returns `true` if it is a part of a running system: of this one, or of what another root or
    /// mount namespace takes for one, such as a container.
    fn is_system(&self) -> bool {
        POINTS.iter().any(|point| self.point == Path::new(point))
    }
}

impl Machine {
    /// Returns every device that the `parts` of a running system lie on, and an overlay among them
    /// whose layers are not all known. That of `/` does not count: it was mounted from a place that
    /// only the first programs of the system saw.
    fn below_system<'m>(
        &'m self,
        parts: impl Iterator<Item = &'m Mount>,
    ) -> (BTreeSet<DeviceNumber>, Option<&'m Mount>) {
        let mut waiting: Vec<DeviceNumber> = parts.map(|mount| mount.number).collect();
        let (mut found, mut unknown) = (BTreeSet::new(), None);
        while let Some(number) = waiting.pop() {
            if !found.insert(number) {
                continue;
            }
            let mounts: Vec<&Mount> = self.mounts.iter().filter(|m| m.number == number).collect();
            let mut is_known = mounts.iter().any(|m| m.is_ours() && m.point == Path::new("/"));
            for mount in &mounts {
                let (layers, is_whole) = mount.layers_found();
                is_known |= is_whole;
                waiting.extend([mount.devices(), mount.journals()].concat());
                waiting.extend(layers.iter().flat_map(|layer| self.around(layer, mount)));
            }
            if !is_known {
                unknown = unknown.or(mounts.first().copied());
            }
            waiting.extend(self.foundation(number).iter().map(|under| match under.store {
                Store::Device(number) | Store::File(number, _) => number,
            }));
        }
        (found, unknown)
    }

    /// Returns the parts of running systems: those that this process or process 1 sees, and others.
    fn parts_of_systems(&self) -> (Vec<&Mount>, Vec<&Mount>) {
        self.mounts.iter().filter(|mount| mount.is_system()).partition(|mount| mount.is_ours())
    }

    /// Returns the file systems that the directory `layer` of the overlay `of` can lie on: all that
    /// are mounted on it or above, because another mount may have covered its own since.
    fn around(&self, layer: &Path, of: &Mount) -> impl Iterator<Item = DeviceNumber> {
        let can_hold =
            |mount: &&Mount| mount.process == of.process && layer.starts_with(&mount.point);
        self.mounts.iter().filter(can_hold).map(|mount| mount.number)
    }

    /// Returns why `device` may be a part of the system's disk though [`Machine::is_system`] does
    /// not say so. A whole disk cannot be: the claim on it fails while anything on it is mounted.
    pub(super) fn unknown_layer(&self, device: &Device) -> Option<String> {
        // The layers of a container's root have names that are valid elsewhere.
        let (_, overlay) = self.below_system(self.parts_of_systems().0.into_iter());
        let point = overlay?.point.display();
        let mut below = self.devices_below(device).into_iter().filter_map(Device::find);
        let is_part = below.any(|device| device.parent().is_some());
        is_part.then(|| format!("assay cannot find all layers of the overlay on {point}"))
    }

    /// Returns `true` if `device`, or anything it lies on, belongs to the disks of the system.
    pub(crate) fn is_system(&self, device: &Device) -> bool {
        let (ours, others) = self.parts_of_systems();
        let (system, _) = self.below_system(ours.into_iter().chain(others));
        self.devices_below(device).iter().any(|number| system.contains(number))
    }
}
