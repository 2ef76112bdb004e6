//! Who uses a device: mounts, swap, loops and whatever is stacked on it.
//!
//! *Invariants.* The walk goes up (partitions, holders, loops on top) to see who would lose data,
//! and down (slaves, parent disk, backing file) to see what the system stands on. Only what this
//! process and process 1 have mounted is seen; for a mount in another namespace, and for ZFS, the
//! exclusive open is the guard.

use super::sysfs::{Device, DeviceNumber, foundation};
use super::tables::{self, Mount};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Mount points whose disks are never written to.
const SYSTEM_POINTS: [&str; 7] = ["/", "/boot", "/boot/efi", "/efi", "/usr", "/home", "/var"];

/// What the kernel says about mounts, swap and loops, read once.
pub(crate) struct Machine {
    mounts: Vec<Mount>,
    swaps: Vec<PathBuf>,
    loops: Vec<(Device, PathBuf)>,
}

impl Machine {
    /// Reads the tables.
    pub(crate) fn read() -> Machine {
        let mut mounts = Vec::new();
        for table in ["/proc/self/mountinfo", "/proc/1/mountinfo"] {
            mounts.extend(tables::mounts(&fs::read(table).unwrap_or_default()));
        }
        let swaps = tables::swaps(&fs::read("/proc/swaps").unwrap_or_default());
        let backed = |device: Device| device.backing_file().map(|file| (device, file));
        let loops = Device::all().into_iter().filter_map(backed).collect();
        Machine { mounts, swaps, loops }
    }

    /// The devices a mount stands on directly.
    fn devices_of(mount: &Mount) -> Vec<DeviceNumber> {
        let mut devices = vec![mount.number];
        // btrfs shows an anonymous number; bcachefs joins its members with colons.
        for part in mount.source.to_string_lossy().split(':') {
            devices.extend(DeviceNumber::of_node(Path::new(part)));
        }
        if mount.kind == "btrfs" {
            devices.extend(btrfs_siblings(&devices));
        }
        devices
    }

    /// The devices of the mounted file system that has this number in a stat.
    fn mounted_from(&self, number: DeviceNumber) -> Vec<DeviceNumber> {
        let mounts = self.mounts.iter().filter(|mount| mount.number == number);
        let mut devices: Vec<_> = mounts.flat_map(Machine::devices_of).collect();
        devices.push(number);
        devices
    }

    /// Everything `/`, `/boot`, `/usr`, `/home` and `/var` stand on.
    pub(crate) fn system(&self) -> BTreeSet<DeviceNumber> {
        let mut found = BTreeSet::new();
        for mount in &self.mounts {
            if SYSTEM_POINTS.iter().any(|point| mount.point == Path::new(point)) {
                for number in Machine::devices_of(mount) {
                    foundation(number, &|n| self.mounted_from(n), &mut found);
                }
            }
        }
        found
    }

    /// How `device` is in use, in words that go on after its name; `None` if it is free.
    pub(crate) fn use_of(&self, device: &Device) -> Option<String> {
        let (mut weak, mut seen) = (None, BTreeSet::new());
        // The disk under a partition counts by itself, its other partitions do not.
        let mut waiting = vec![(device.clone(), "is".to_owned(), true)];
        if let Some(disk) = device.parent() {
            waiting.push((disk.clone(), format!("lies on {}, which is", disk.title()), false));
        }
        while let Some((member, how, whole)) = waiting.pop() {
            if !seen.insert(member.number) {
                continue;
            }
            if let Some(what) = self.direct_use(member.number) {
                return Some(format!("{how} {what}"));
            }
            for part in if whole { member.partitions() } else { Vec::new() } {
                let how = format!("has the partition {}, which is", part.name);
                waiting.push((part, how, true));
            }
            for holder in member.holders() {
                let how = format!("is part of {}, which is", holder.title());
                weak = weak.or(Some(format!("is part of {}", holder.title())));
                waiting.push((holder, how, true));
            }
            for (above, file) in &self.loops {
                if DeviceNumber::of_node(file) == Some(member.number) {
                    weak = weak.or(Some(format!("is behind the loop device {}", above.name)));
                    let how = format!("is behind the loop device {}, which is", above.name);
                    waiting.push((above.clone(), how, true));
                }
            }
        }
        weak
    }

    /// `mounted at …` or `active swap`, of the device itself.
    fn direct_use(&self, number: DeviceNumber) -> Option<String> {
        if self.swaps.iter().any(|path| DeviceNumber::of_node(path) == Some(number)) {
            return Some("active swap".to_owned());
        }
        let uses = |mount: &&Mount| Machine::devices_of(mount).contains(&number);
        let mount = self.mounts.iter().find(uses)?;
        Some(format!("mounted at {}", mount.point.display()))
    }

    /// How a regular file is in use: as swap, or behind a loop device.
    pub(crate) fn use_of_file(&self, file: &fs::Metadata) -> Option<String> {
        let is_it = |path: &Path| {
            fs::metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (file.dev(), file.ino()))
        };
        if self.swaps.iter().any(|path| is_it(path)) {
            return Some("is active swap".to_owned());
        }
        let above = self.loops.iter().find(|(_, path)| is_it(path))?;
        Some(format!("is behind the loop device {}", above.0.name))
    }
}

/// All members of the mounted btrfs file systems that have one of `devices` as a member.
fn btrfs_siblings(devices: &[DeviceNumber]) -> Vec<DeviceNumber> {
    let Ok(systems) = fs::read_dir("/sys/fs/btrfs") else { return Vec::new() };
    let mut siblings = Vec::new();
    for system in systems.flatten() {
        let Ok(members) = fs::read_dir(system.path().join("devices")) else { continue };
        let number = |entry: fs::DirEntry| {
            DeviceNumber::parse(&fs::read_to_string(entry.path().join("dev")).ok()?)
        };
        let members: Vec<_> = members.flatten().filter_map(number).collect();
        if members.iter().any(|member| devices.contains(member)) {
            siblings.extend(members);
        }
    }
    siblings
}
