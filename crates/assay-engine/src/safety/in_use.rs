//! Finds all other users of the bytes of a device or file: mounts, swap, loop devices, mappings,
//! arrays and programs.
//!
//! *Invariants.* The search goes down from the target to all devices and files that its bytes lie
//! on, and up again from each of these to all users that share bytes with it. The file system that
//! holds a target file, or the file behind a loop device, does not count as its user. Only root
//! sees the processes of other users; the exclusive open and the lease notice them all the same.

use super::loops::{Loop, loops};
use super::mounts;
use super::overlay;
use super::paths;
use super::stack::{below, foundation_of};
use super::store::{Birth, Extent, Store};
use super::sysfs::Device;
use super::tables::{self, Mount};
use super::view;
use super::writers::{Writers, writers};
use assay_fs::DeviceNumber;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

/// The kernel's tables of mounts, swap, loop devices and open files, read once.
#[derive(Default)]
pub(crate) struct Machine {
    pub(super) mounts: Vec<Mount>,
    swaps: Vec<Store>,
    loops: Vec<Loop>,
    /// The disks with a world-wide name.
    disks: Vec<(DeviceNumber, String)>,
    writers: Writers,
    /// The reason why the tables may lack something, if there is one.
    obstacle: Option<String>,
}

/// A use of a target by somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// A description to follow the target's name, e.g. "is active swap".
    pub(crate) text: String,
    /// Whether a program uses it.
    pub(crate) is_program: bool,
}

impl Machine {
    /// Reads all tables.
    pub(crate) fn read() -> Machine {
        let swaps = fs::read("/proc/swaps");
        // A kernel without swap has no such file.
        let is_unread = |e: &io::Error| e.kind() != io::ErrorKind::NotFound;
        let unknown_swap = swaps.as_ref().err().filter(|e| is_unread(e));
        let unknown_swap = unknown_swap.map(|_| "/proc/swaps cannot be read".to_owned());
        let swaps = tables::swaps(&swaps.unwrap_or_default());
        let swaps = swaps.iter().filter_map(|path| Store::at(path)).collect();
        let ((mounts, unread), writers) = (mounts::all(), writers());
        // For other users than root this is the normal case, and no obstacle.
        let is_root = rustix::process::geteuid().is_root();
        let hidden = writers.hidden.as_ref().filter(|_| is_root);
        let hidden = hidden.map(|process| format!("root may not look into {process}"));
        let unread = unread.filter(|_| is_root).map(str::to_owned);
        let obstacle = view::obstacle().or(hidden).or(unread).or(unknown_swap);
        Machine { mounts, swaps, writers, obstacle, ..Machine::devices_alone() }
    }

    /// Reads only the loop devices and the names of disks.
    pub(crate) fn devices_alone() -> Machine {
        Machine { loops: loops(), disks: paths::named_disks(), ..Machine::default() }
    }

    /// Reads only the loop devices, and the mounts of this namespace.
    pub(crate) fn mounts_alone() -> Machine {
        Machine { loops: loops(), mounts: mounts::ours(), ..Machine::default() }
    }

    /// Ignores descriptors that wait in sockets. None did when the target was opened, and later
    /// ones are hardly descriptors of it. Otherwise a stopped program that does not receive its
    /// descriptors would end long runs.
    pub(crate) fn without_what_is_in_flight(mut self) -> Machine {
        self.writers.in_flight = None;
        self
    }

    /// Returns why it is unknown who else uses a device, or `None` if it is known.
    pub(crate) fn obstacle(&self) -> Option<&str> {
        self.obstacle.as_deref()
    }

    /// Returns `true` if not even root may look into some process.
    pub(super) fn hides_a_process(&self) -> bool {
        self.writers.hidden.is_some() && rustix::process::geteuid().is_root()
    }

    /// Returns the device `number` and all extents that it lies on.
    pub(crate) fn foundation(&self, number: DeviceNumber) -> Vec<Extent> {
        foundation_of(Extent::all(Store::Device(number)), &self.loops)
    }

    /// Returns the devices that share bytes with `number` but are not claimed by an exclusive open
    /// of it: those directly behind loop devices, and other paths to its disks.
    pub(crate) fn unclaimed_with(&self, number: DeviceNumber) -> Vec<DeviceNumber> {
        let under = self.foundation(number);
        let behind = |extent: &Extent| {
            let of = self.loops.iter().find(|l| Store::Device(l.device.number) == extent.store)?;
            of.behind()?.store.device()
        };
        let mut found: BTreeSet<_> = under.iter().filter_map(behind).collect();
        // A claim covers all of a disk, and other parts of it may be in use.
        let whole = |extent: &Extent| extent.bytes == (0..u64::MAX);
        let others = self.other_paths(&under).into_iter().filter(whole);
        found.extend(others.filter_map(|extent| extent.store.device()));
        found.into_iter().collect()
    }

    /// Returns the other paths to the disk `number`.
    pub(crate) fn other_paths_to(&self, number: DeviceNumber) -> Vec<DeviceNumber> {
        paths::others(number, &self.disks).collect()
    }

    /// Returns the extents of the disks among `extents`, as seen by the other paths to these disks.
    fn other_paths(&self, extents: &[Extent]) -> Vec<Extent> {
        let others = |extent: &Extent| {
            let bytes = extent.bytes.clone();
            let others = extent.store.device().map(|n| self.other_paths_to(n));
            let others = others.into_iter().flatten().map(Store::Device);
            others.map(move |store| Extent { store, bytes: bytes.clone() }).collect::<Vec<_>>()
        };
        let is_new = |other: &Extent| extents.iter().all(|extent| extent.store != other.store);
        extents.iter().flat_map(others).filter(is_new).collect()
    }

    /// Returns what is behind the loop device `number`: the store, the range of bytes, the name.
    pub(crate) fn behind(&self, number: DeviceNumber) -> Option<(Store, Range<u64>, &Path)> {
        let found = self.loops.iter().find(|l| l.device.number == number)?;
        let behind = found.behind().cloned()?;
        Some((behind.store, behind.bytes, &found.name))
    }

    /// Returns the name that the kernel shows for a file or device behind a loop device, if that
    /// device has been asked about.
    pub(super) fn name_of(&self, store: Store) -> Option<&Path> {
        let of = |l: &&Loop| l.known().is_some_and(|behind| behind.store == store);
        self.loops.iter().find(of).map(|l| l.name.as_path())
    }

    /// Returns how many loop devices lie on `store`.
    pub(crate) fn loops_on(&self, store: Store) -> usize {
        let lies_on = |l: &&Loop| l.behind().is_some_and(|behind| behind.store == store);
        self.loops.iter().filter(lies_on).count()
    }

    /// Returns the first of `device` and the devices that it lies on whose writes the kernel does
    /// not count.
    pub(crate) fn uncounted(&self, device: &Device) -> Option<Device> {
        let below = self.devices_below(device).into_iter().filter_map(Device::find);
        below.map(|device| device.disk()).find(Device::has_no_counts)
    }

    /// Returns `device`, all devices that it lies on, and the other paths to their disks.
    pub(super) fn devices_below(&self, device: &Device) -> Vec<DeviceNumber> {
        let mut below = self.foundation(device.number);
        below.extend(self.other_paths(&below));
        below.iter().filter_map(|extent| extent.store.device()).collect()
    }

    /// Returns a use of the bytes of the device `number` by somebody else, if there is one.
    pub(crate) fn use_of_device(&self, number: DeviceNumber) -> Option<Usage> {
        self.use_of(Store::Device(number), None).or_else(|| {
            // The lease reveals such users of a file; a device has none.
            let process = self.writers.in_flight.as_ref()?;
            let text = format!(
                "may be open for writing: file descriptors are on their way in a socket of \
                 {process}"
            );
            Some(Usage { text, is_program: true })
        })
    }

    /// Returns a use of the bytes of `target`, born at `born`, by somebody else, if there is one.
    pub(crate) fn use_of(&self, target: Store, born: Option<Birth>) -> Option<Usage> {
        let mut foundation = foundation_of(Extent::all(target), &self.loops);
        let same = |extent: &Extent| {
            let born = if extent.store == target { born } else { self.birth(extent.store) };
            let bytes = extent.bytes.clone();
            let others = overlay::same(extent.store, born, &self.mounts, self.files());
            others.into_iter().map(move |store| Extent { store, bytes: bytes.clone() })
        };
        let same: Vec<Extent> = foundation.iter().flat_map(same).collect();
        foundation.extend(same);
        let other_paths = self.other_paths(&foundation);
        let lies_on = foundation.len();
        foundation.extend(other_paths);
        let mut weak = None;
        for (at, extent) in foundation.iter().enumerate() {
            let title = || self.title(extent.store);
            let lead = match extent.store == target {
                true => String::new(),
                false if at < lies_on => format!("lies on {}, which ", title()),
                false => format!("has the world-wide name of {}, which ", title()),
            };
            let found = self.use_above(extent, &lead, &foundation);
            if found.as_ref().is_some_and(|u| u.1) {
                return found.map(|u| u.0);
            }
            weak = weak.or(found);
        }
        let is_below = |extent: &&Extent| extent.store != target && extent.store.device().is_none();
        weak.map(|u| u.0).or_else(|| {
            let file = foundation.iter().find(is_below)?.store;
            let Usage { text, is_program } = self.use_of_any_file()?;
            Some(Usage { text: format!("lies on {}, which {text}", self.title(file)), is_program })
        })
    }

    /// Returns a mount whose file is unknown, as a use: it may be any file.
    pub(crate) fn use_of_any_file(&self) -> Option<Usage> {
        let mount = mounts::with_unknown_file(&self.mounts)?;
        let text = format!("may be what is mounted at {}", mount.point.display());
        Some(Usage { text, is_program: false })
    }

    /// Returns a use of `extent`, or of a device that lies on it. The flag is `false` if such a
    /// device exists, but is not in use now.
    fn use_above(&self, extent: &Extent, lead: &str, own: &[Extent]) -> Option<(Usage, bool)> {
        let mut weak = None;
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(extent.clone(), lead.to_owned())];
        while let Some((extent, lead)) = waiting.pop() {
            if let Some(direct) = self.direct_use(extent.store) {
                let text = format!("{lead}{}", direct.text);
                return Some((Usage { text, ..direct }, true));
            }
            for (above, how) in self.devices_on(&extent) {
                let store = Store::Device(above.number);
                if own.iter().any(|e| e.store == store) || !seen.insert(above.number) {
                    continue;
                }
                let is_partition = how.is_none();
                let how = how.unwrap_or_else(|| format!("has the partition {}", above.name));
                if !is_partition && weak.is_none() {
                    let text = format!("{lead}{how}");
                    weak = Some((Usage { text, is_program: false }, false));
                }
                waiting.push((Extent::all(store), format!("{lead}{how}, which ")));
            }
        }
        weak
    }

    /// Returns the devices that share a byte with `extent`, each but a partition with a
    /// description.
    fn devices_on(&self, extent: &Extent) -> Vec<(Device, Option<String>)> {
        let mut found = Vec::new();
        for l in &self.loops {
            if l.behind().is_some_and(|behind| behind.overlaps(extent)) {
                let how = format!("is behind the loop device {}", l.device.name);
                found.push((l.device.clone(), Some(how)));
            }
        }
        let Store::Device(number) = extent.store else { return found };
        let Some(device) = Device::find(number) else { return found };
        let shares = |above: &Device| {
            let under = below(above, &self.loops);
            // A holder that does not say which bytes it uses counts as using all of them.
            under.is_empty() || under.iter().any(|e| e.overlaps(extent))
        };
        let holders = device.holders().into_iter().filter(|holder| shares(holder));
        found.extend(holders.map(|holder| {
            let how = format!("is part of {}", holder.title());
            (holder, Some(how))
        }));
        let parts = device.partitions().into_iter().filter(|part| shares(part));
        found.extend(parts.map(|part| (part, None)));
        found
    }

    /// Returns a use of the store itself.
    fn direct_use(&self, store: Store) -> Option<Usage> {
        let used = |text: String| Some(Usage { text, is_program: false });
        if self.swaps.contains(&store) {
            return used("is active swap".to_owned());
        }
        let uses = |mount: &&Mount| match store {
            Store::Device(number) => mount.devices().contains(&number),
            Store::File(..) => mount.file() == Some(store),
        };
        if let Some(mount) = self.mounts.iter().find(uses) {
            return used(format!("is mounted at {}", mount.point.display()));
        }
        let writer = self.writers.known.iter().find(|writer| writer.store == store)?;
        let text = format!("{} {}", writer.how, writer.process);
        Some(Usage { text, is_program: true })
    }

    /// Finds a loop device that could have a file of `size` bytes on the overlay `system` behind
    /// it: for a file of the layer below, it may be unknown which file that is.
    pub(crate) fn unknown_use(&self, system: DeviceNumber, size: u64) -> Option<Usage> {
        let may_be = |l: &&Loop| l.is_unknown() && l.fits(size);
        let found = self.loops.iter().find(may_be)?;
        overlay::may_be(system, &self.mounts).then(|| {
            let text = format!("may be what is behind the loop device {}", found.device.name);
            Usage { text, is_program: false }
        })
    }

    /// Returns all files that something uses, with their birth times.
    fn files(&self) -> impl Iterator<Item = (Store, Option<Birth>)> {
        let behind = self.loops.iter().filter_map(|l| Some((l.behind()?.store, l.born())));
        let written = self.writers.known.iter().map(|writer| (writer.store, writer.born));
        let mounted = self.mounts.iter().filter_map(Mount::file).map(|store| (store, None));
        let swaps = self.swaps.iter().map(|store| (*store, None));
        behind.chain(written).chain(swaps).chain(mounted)
    }

    /// Returns the birth time of a file that something uses, where it is known.
    fn birth(&self, store: Store) -> Option<Birth> {
        self.files().find(|(file, born)| *file == store && born.is_some())?.1
    }

    /// Returns the name of a loop device with an unknown file or device behind it, if there is one.
    pub(crate) fn unknown_loop(&self) -> Option<&str> {
        let unknown = self.loops.iter().find(|l| l.is_unknown())?;
        Some(&unknown.device.name)
    }

    /// Returns a name for the store to show in messages.
    fn title(&self, store: Store) -> String {
        match store {
            Store::Device(number) => Device::find(number).map_or_else(
                || format!("device {}:{}", number.major, number.minor),
                |device| device.title(),
            ),
            Store::File(_, inode) => match self.name_of(store) {
                Some(name) => format!("the file {}", name.display()),
                None => format!("the file with inode {inode}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(minor: u32) -> DeviceNumber {
        // No machine has a device of this kind.
        DeviceNumber { major: 4095, minor }
    }

    /// A machine with two paths to one disk, 0 and 16, and another disk, 32.
    fn machine(mounted: u32, point: &str) -> Machine {
        let name = |name: &str| name.to_owned();
        let disks = [(0, "naa.1"), (16, "naa.1"), (32, "naa.2")];
        let disks = disks.map(|(minor, wwn)| (number(minor), name(wwn))).into();
        let (kind, source) = (name("xfs"), "disk".into());
        let mount = Mount {
            number: number(mounted),
            point: point.into(),
            root: "/".into(),
            layers: Vec::new(),
            further: Vec::new(),
            is_volatile: false,
            kind,
            source,
            process: name("self"),
        };
        Machine { disks, mounts: vec![mount], ..Machine::default() }
    }

    #[test]
    fn a_mount_of_one_path_to_a_disk_is_a_use_of_the_others() {
        let machine = machine(0, "/mnt");
        let used = machine.use_of_device(number(16)).unwrap().text;
        assert_eq!(used, "has the world-wide name of device 4095:0, which is mounted at /mnt");
        assert_eq!(machine.use_of_device(number(0)).unwrap().text, "is mounted at /mnt");
        assert_eq!(machine.use_of_device(number(32)), None);
        assert_eq!(machine.unclaimed_with(number(16)), [number(0)]);
        assert_eq!(machine.unclaimed_with(number(32)), []);
    }

    #[test]
    fn every_path_to_the_disk_of_the_system_is_a_disk_of_the_system() {
        let machine = machine(0, "/");
        let device = |minor| Device::of_number(number(minor));
        assert!(machine.is_system(&device(0)) && machine.is_system(&device(16)));
        assert!(!machine.is_system(&device(32)));
    }
}
