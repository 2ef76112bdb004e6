//! The layers below a target, down through loop devices and the file systems of the files behind
//! them.
//!
//! A flush of a target does not always reach its disks: a file system in between that is mounted
//! without barriers (`barrier=0`) answers it alone. What was written then waits in the page cache
//! of a layer below, and may still be lost there, for example because that layer is full.
//!
//! *Invariant.* Only devices that hold bytes of the target are flushed: errors of other devices are
//! not its own.

use super::device_node;
use super::in_use::Machine;
use super::overlay;
use super::store::Store;
use super::sysfs::Device;
use super::tables::Mount;
use super::writes::write_back;
use crate::error::{Error, Result};
use crate::stop;
use assay_fs::{DeviceNumber, Node, NodeKind};
use rustix::fs::OFlags;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The layers below a device or file.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    /// The devices that the file systems among the layers directly lie on. The kernel passes their
    /// flushes on to what they lie on themselves, down to a file behind a loop device.
    pub(crate) devices: Vec<DeviceNumber>,
    /// Whether one of the layers is an overlay that answers a sync without writing anything
    /// (`volatile`), or may be one.
    pub(crate) has_volatile: bool,
}

/// A location in a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Location {
    /// The number of the file system, as its files show it.
    system: DeviceNumber,
    /// A directory in it, if one is known that this process reaches.
    directory: Option<PathBuf>,
}

impl Location {
    fn new(system: DeviceNumber, directory: Option<PathBuf>) -> Location {
        let is_in_it = |directory: &PathBuf| {
            let found = directory.metadata();
            found.is_ok_and(|found| DeviceNumber::from_raw(found.dev()) == system)
        };
        Location { system, directory: directory.filter(is_in_it) }
    }
}

impl Machine {
    /// Returns the layers below `node`: a device, file or directory.
    pub(crate) fn layers_of(&self, node: &Node) -> Layers {
        if let NodeKind::Block(number) = node.kind {
            return self.layers_of_device(number);
        }
        let path = node.path().ok();
        let directory = match node.kind {
            NodeKind::Directory => path,
            _ => path.and_then(|path| Some(path.parent()?.to_owned())),
        };
        self.layers_of_locations(vec![Location::new(node.id.device, directory)])
    }

    /// Returns the layers below the device `number`.
    pub(crate) fn layers_of_device(&self, number: DeviceNumber) -> Layers {
        self.layers_of_locations(self.locations_below(number))
    }

    fn layers_of_locations(&self, locations: Vec<Location>) -> Layers {
        let (mut layers, mut seen) = (Layers::default(), Vec::new());
        let mut waiting = VecDeque::from(locations);
        while let Some(location) = waiting.pop_front() {
            // Two file systems may lie on each other's files.
            if seen.contains(&location) {
                continue;
            }
            seen.push(location.clone());
            let mut devices = vec![location.system];
            if Device::find(location.system).is_none() {
                let mount = self.mount_of(&location);
                layers.has_volatile |= match &mount {
                    Some(mount) => mount.is_volatile,
                    None => self.mounts.iter().any(|mount| mount.is_volatile),
                };
                waiting.extend(location.directory.as_deref().and_then(layer_below));
                devices = mount.map(|mount| mount.devices()).unwrap_or_default();
            }
            for number in devices.into_iter().filter(|number| Device::find(*number).is_some()) {
                waiting.extend(self.locations_below(number));
                if !layers.devices.contains(&number) {
                    layers.devices.push(number);
                }
            }
        }
        layers
    }

    /// Returns the locations of the files that the device `number` lies on.
    fn locations_below(&self, number: DeviceNumber) -> Vec<Location> {
        let stores = self.foundation(number).into_iter().map(|extent| extent.store);
        let location = |store: Store| {
            let Store::File(system, _) = store else { return None };
            let name = self.name_of(store).filter(|name| Store::at(name) == Some(store));
            let directory = name.and_then(|name| Some(name.parent()?.to_owned()));
            Some(Location::new(system, directory))
        };
        stores.filter_map(location).collect()
    }

    /// Returns the mount that `location` is in, if it is found. Files of btrfs and overlays may
    /// show a number that is in no table.
    fn mount_of(&self, location: &Location) -> Option<Mount> {
        let directory = location.directory.as_ref().and_then(|path| path.canonicalize().ok());
        let around = directory.and_then(|path| Mount::around(&path));
        let numbered = || self.mounts.iter().find(|mount| mount.number == location.system).cloned();
        around.or_else(numbered)
    }
}

/// Returns the location of the layer that an overlay shows at `directory`, if one does.
fn layer_below(directory: &Path) -> Option<Location> {
    let layer = overlay::below(directory)?;
    let system = DeviceNumber::from_raw(layer.metadata().ok()?.dev());
    Some(Location::new(system, Some(layer)))
}

/// The open devices below a target or a directory of results.
#[derive(Debug, Default)]
pub(crate) struct OpenLayers(Arc<Vec<(Device, File)>>);

impl OpenLayers {
    /// Opens the devices below `node`. Those that this user may not open, or that have no node in
    /// `/dev`, are left out. Failures of earlier writes to the devices are not reported later.
    ///
    /// # Errors
    /// If a device does not answer before the user interrupts.
    pub(crate) fn below(node: Node) -> Result<OpenLayers> {
        stop::unless_interrupted(move || {
            let layers = Machine::mounts_alone().layers_of(&node);
            let open = |device: Device| {
                let file = device_node::open(&device, OFlags::RDONLY).ok()?;
                write_back(&file);
                Some((device, file))
            };
            let devices = layers.devices.into_iter().filter_map(Device::find);
            OpenLayers(Arc::new(devices.filter_map(open).collect()))
        })
    }

    /// Writes back the page cache of each device and flushes the device, beginning at the top.
    ///
    /// # Errors
    /// If a device could not keep what was written to it since it was opened: `lost` makes the
    /// error from a cause that names the device. If a device does not answer before the user
    /// interrupts.
    pub(crate) fn flush(&self, lost: impl FnOnce(io::Error) -> Error) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let devices = Arc::clone(&self.0);
        let flush = move || {
            devices.iter().try_for_each(|(device, file)| {
                let named =
                    |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", device.title()));
                file.sync_all().map_err(named)
            })
        };
        stop::unless_interrupted(flush)?.map_err(lost)
    }
}
