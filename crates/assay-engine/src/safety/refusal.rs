//! The reasons why a device must not be written to, whatever the options are.

use super::in_use::Machine;
use super::layers::Layers;
use super::store::Extent;
use super::sysfs::Device;
use crate::error::Error;
use crate::stop;
use assay_fs::{DeviceNumber, Node};
use std::time::Duration;

/// The number of checks, and their interval, before a use by a program counts: tools such as
/// losetup and udev open a new device for a moment. A process that is just being started may not
/// let anybody look into it for a moment.
const LOOKS: u32 = 5;
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Calls `look` up to [`LOOKS`] times, as long as its flag says that a program causes the error,
/// because such a use may end in a moment. Returns the last error, or that of an interrupt.
pub(crate) fn patiently(look: impl Fn() -> Option<(Error, bool)>) -> Option<Error> {
    let mut refused = look();
    for _ in 1..LOOKS {
        if !refused.as_ref().is_some_and(|(_, is_program)| *is_program) {
            break;
        }
        std::thread::sleep(LOOK_AGAIN);
        refused = look();
    }
    // After an interrupt, questions that had no answer prove nothing.
    if stop::is_interrupted() {
        return Some(stop::interrupted());
    }
    refused.map(|(error, _)| error)
}

/// Returns why `device` must not be written to, whatever the options are, or `None` if it may be.
pub(crate) fn refusal(device: &Device) -> Option<Error> {
    patiently(|| refusal_and_cause(&Machine::read(), device))
}

/// A device as it was when this run opened it.
pub(crate) struct AsOpened {
    pub(crate) device: Device,
    partitions: Vec<Device>,
    /// The extents that it lies on.
    foundation: Vec<Extent>,
}

impl AsOpened {
    /// Returns `device` as it is.
    pub(crate) fn of(device: Device) -> AsOpened {
        let foundation = Machine::devices_alone().foundation(device.number);
        AsOpened { partitions: device.partitions(), foundation, device }
    }

    /// Returns why the device must not be written to any more, or `None` if it still may be.
    pub(crate) fn refusal(&self) -> Option<Error> {
        patiently(|| {
            let machine = Machine::read().without_what_is_in_flight();
            let changed = self.change(&machine).map(|error| (error, false));
            changed.or_else(|| refusal_and_cause(&machine, &self.device))
        })
    }

    /// Returns the error if somebody else has changed the device, by the tables in `machine`.
    fn change(&self, machine: &Machine) -> Option<Error> {
        let is_new = |part: &Device| self.partitions.iter().all(|old| old.number != part.number);
        match self.device.partitions().into_iter().find(is_new) {
            Some(part) => Some(self.changed(&format!("has a new partition {}", part.name))),
            None => self.other_bytes(machine),
        }
    }

    /// Returns `true` if it lies on a loop device or is one: the bytes behind it can be exchanged.
    pub(crate) fn is_on_loop(&self) -> bool {
        let devices = self.foundation.iter().filter_map(|extent| extent.store.device());
        devices.filter_map(Device::find).any(|device| device.backing_file().is_some())
    }

    /// Returns the error if it lies on other bytes than before, by the tables in `machine`.
    pub(crate) fn other_bytes(&self, machine: &Machine) -> Option<Error> {
        let is_same = machine.foundation(self.device.number) == self.foundation;
        (!is_same).then(|| self.changed("now lies on other bytes than before"))
    }

    fn changed(&self, how: &str) -> Error {
        let message = format!("{} {how}", self.device.title());
        let hint = "stop the program that changed the device, then start again";
        Error::environment("device-mounted", message, hint)
    }
}

/// Returns why `device` must not be written to, by the tables in `machine`, and whether a program
/// is the cause.
fn refusal_and_cause(machine: &Machine, device: &Device) -> Option<(Error, bool)> {
    let error = refusal_now(machine, device)?;
    let usage = machine.use_of_device(device.number);
    let is_program = usage.is_some_and(|usage| usage.is_program) || machine.hides_a_process();
    Some((error, is_program))
}

/// Returns why `device` must not be written to, by the tables in `machine`.
pub(crate) fn refusal_now(machine: &Machine, device: &Device) -> Option<Error> {
    let name = device.title();
    if machine.is_system(device) {
        let message = format!("{name} belongs to the disk that carries this system");
        let hint = "only read this disk (assay never writes to the system's own disk), or measure \
                    writes in a new file on it: `./scratch.img --size 1GiB`";
        return Some(Error::environment("device-system", message, hint));
    }
    if let Some(why) = machine.unknown_layer(device) {
        let message = format!("{name} may be on the disk that carries this system: {why}");
        let hint = "unmount the overlay (`systemd-sysext unmerge` those of extensions), or measure \
                    a whole disk, or a new file: `./scratch.img --size 1GiB`";
        return Some(Error::environment("users-unknown", message, hint));
    }
    if let Some(usage) = machine.use_of_device(device.number) {
        let message = format!("{name} {}", usage.text);
        let hint = match usage.is_program {
            true => "end that program first, or choose another device",
            false => {
                "release it first (umount, swapoff, losetup -d, dmsetup remove, mdadm --stop), \
                 or choose another device"
            }
        };
        return Some(Error::environment("device-mounted", message, hint));
    }
    let layers = machine.layers_of_device(device.number);
    if let Some(error) = ignored_syncs(machine, &layers, Some(device.number), &name) {
        return Some(error);
    }
    if let Some(error) = unknown_users(machine, &name).or_else(|| uncounted(machine, device)) {
        return Some(error);
    }
    if device.is_read_only() || device.disk().is_read_only() {
        let message = format!("{name} is read-only");
        let hint = "check the write-protect switch, or `blockdev --setrw` if it was set by hand";
        return Some(Error::environment("device-readonly", message, hint));
    }
    None
}

/// Returns the error for a device whose writes, or those to a device below it, are not counted.
fn uncounted(machine: &Machine, device: &Device) -> Option<Error> {
    let found = machine.uncounted(device)?;
    let message = format!(
        "assay cannot see whether others write to {}: the kernel does not count writes to {}",
        device.title(),
        found.title()
    );
    let hint =
        format!("let the kernel count them: `echo 1 >/sys/block/{}/queue/iostats`", found.name);
    Some(Error::environment("users-unknown", message, hint))
}

/// Returns the error for the file or directory `name`, which is `node`, if a sync of it does not
/// write everything.
pub(crate) fn file_ignores_syncs(node: &Node, name: &str) -> Option<Error> {
    let machine = Machine::mounts_alone();
    ignored_syncs(&machine, &machine.layers_of(node), None, name)
}

/// Returns the error for the target `name` above `layers`, if a sync of it does not write
/// everything. `own` is the target itself, if it is a device.
fn ignored_syncs(
    machine: &Machine,
    layers: &Layers,
    own: Option<DeviceNumber>,
    name: &str,
) -> Option<Error> {
    if layers.has_volatile {
        let message =
            format!("{name} is on an overlay that answers a sync without writing (`volatile`)");
        let hint = "name a target on another file system, e.g. on a volume of the container";
        return Some(Error::environment("syncs-ignored", message, hint));
    }
    let all = own.iter().chain(&layers.devices).flat_map(|number| machine.foundation(*number));
    let mut devices = all.filter_map(|extent| Device::find(extent.store.device()?));
    let found = devices.find(Device::is_loop_without_flush)?;
    let message = match Some(found.number) == own {
        true => format!("the kernel sends no flush to {name}"),
        false => format!("{name} lies on {}, to which the kernel sends no flush", found.title()),
    };
    let hint = format!("let it: `echo write back >/sys/block/{}/queue/write_cache`", found.name);
    Some(Error::environment("syncs-ignored", message, hint))
}

/// Returns why it is unknown who else uses the device `name`, if it is.
pub(crate) fn unknown_users(machine: &Machine, name: &str) -> Option<Error> {
    let hint = "run assay outside of the container or namespace, with the kernel's own /proc and \
                /sys (options of a container: `--pid=host --cap-add=SYS_PTRACE`), or write to a \
                new file: `./scratch.img --size 1GiB`";
    let why = match (machine.obstacle(), machine.unknown_loop()) {
        (Some(obstacle), _) => obstacle.to_owned(),
        (None, Some(device)) => format!("it is not known which file is behind {device}"),
        (None, None) => return None,
    };
    let message = format!("assay cannot see who else uses {name}: {why}");
    Some(Error::environment("users-unknown", message, hint))
}
