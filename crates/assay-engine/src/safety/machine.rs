//! Who else can reach the bytes of a device or file: mounts, swap, loops, mappings, arrays and
//! programs, on it, above it, and on what it lies on.
//!
//! *Invariants.* The walk goes down from the target to everything its bytes lie on, and up again
//! from each of those to whoever shares bytes with it. The file system that a target file, or the
//! file behind a loop device, lies on is no user of it. What another user's processes do is seen by
//! root alone; the exclusive open and the lease see it all the same.

use super::overlay;
use super::stack::{Extent, Loop, Store, below, foundation_of, loops};
use super::sysfs::Device;
use super::tables::{self, Mount};
use super::view;
use super::writers::{Birth, Writers, processes, writers};
use assay_fs::DeviceNumber;
use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Mount points whose disks are never written to.
const SYSTEM_POINTS: [&str; 7] = ["/", "/boot", "/boot/efi", "/efi", "/usr", "/home", "/var"];

/// What the kernel says about mounts, swap, loops and open files, read once.
#[derive(Default)]
pub(crate) struct Machine {
    mounts: Vec<Mount>,
    swaps: Vec<Store>,
    loops: Vec<Loop>,
    writers: Writers,
    /// Why the lists may lack something, if so.
    obstacle: Option<String>,
}

/// How a target is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    /// In words that go on after the target's name.
    pub(crate) text: String,
    /// Whether it is a program that has it open.
    pub(crate) is_program: bool,
}

impl Machine {
    /// Reads the tables.
    pub(crate) fn read() -> Machine {
        let swaps = tables::swaps(&fs::read("/proc/swaps").unwrap_or_default());
        let swaps = swaps.iter().filter_map(|path| store_at(path)).collect();
        let obstacle = view::obstacle();
        Machine { mounts: all_mounts(), swaps, loops: loops(), writers: writers(), obstacle }
    }

    /// Reads the loop devices and nothing else.
    pub(crate) fn loops_alone() -> Machine {
        Machine { loops: loops(), ..Machine::default() }
    }

    /// Without descriptors that wait in sockets: when a target was taken there were none, and those
    /// that come later are hardly of it. Programs that stand still would end long runs.
    pub(crate) fn without_what_is_in_flight(mut self) -> Machine {
        self.writers.in_flight = None;
        self
    }

    /// Why it cannot be known who else uses a device; `None` if it can.
    pub(crate) fn obstacle(&self) -> Option<&str> {
        self.obstacle.as_deref()
    }

    /// The devices that lie directly behind a loop device, among all that `number` lies on.
    pub(crate) fn devices_behind_loops(&self, number: DeviceNumber) -> Vec<DeviceNumber> {
        let under = foundation_of(Extent::all(Store::Device(number)), &self.loops);
        let behind = |extent: &Extent| {
            let of = self.loops.iter().find(|l| Store::Device(l.device.number) == extent.store)?;
            match of.behind.as_ref()?.store {
                Store::Device(number) => Some(number),
                Store::File(..) => None,
            }
        };
        under.iter().filter_map(behind).collect()
    }

    /// What is behind the loop device `number`: where, which bytes, by what name.
    pub(crate) fn behind(&self, number: DeviceNumber) -> Option<(Store, Range<u64>, &Path)> {
        let found = self.loops.iter().find(|l| l.device.number == number)?;
        let behind = found.behind.clone()?;
        Some((behind.store, behind.bytes, &found.name))
    }

    /// The devices a mount stands on directly.
    fn devices_of(mount: &Mount) -> Vec<DeviceNumber> {
        let mut devices = vec![mount.number];
        // btrfs shows an anonymous number; bcachefs joins its members with colons.
        for part in mount.source.to_string_lossy().split(':').filter(|p| p.starts_with('/')) {
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
        let is_system = |mount: &&Mount| {
            SYSTEM_POINTS.iter().any(|point| mount.point == Path::new(point)) && mount.is_ours
        };
        let system = self.mounts.iter().filter(is_system);
        let mut waiting: Vec<DeviceNumber> = system.flat_map(Machine::devices_of).collect();
        let mut found = BTreeSet::new();
        while let Some(number) = waiting.pop() {
            if !found.insert(number) {
                continue;
            }
            for under in foundation_of(Extent::all(Store::Device(number)), &self.loops) {
                match under.store {
                    Store::Device(number) => waiting.push(number),
                    Store::File(system, _) => waiting.extend(self.mounted_from(system)),
                }
            }
        }
        found
    }

    /// Whether any of what `device` lies on belongs to the disks of the system.
    pub(crate) fn is_system(&self, device: &Device) -> bool {
        let system = self.system();
        let start = Extent::all(Store::Device(device.number));
        let under = foundation_of(start, &self.loops);
        under.iter().any(|e| matches!(e.store, Store::Device(n) if system.contains(&n)))
    }

    /// How somebody else can reach the bytes of the device `number`; `None` if nobody can.
    pub(crate) fn use_of_device(&self, number: DeviceNumber) -> Option<Use> {
        self.use_of(Store::Device(number), None).or_else(|| {
            // A device has no lease that would tell.
            let process = self.writers.in_flight.as_ref()?;
            let text = format!(
                "may be open for writing: descriptors are on their way in a socket of {process}"
            );
            Some(Use { text, is_program: true })
        })
    }

    /// How somebody else can reach the bytes of `target`, made at `born`; `None` if nobody can.
    pub(crate) fn use_of(&self, target: Store, born: Option<Birth>) -> Option<Use> {
        let mut foundation = foundation_of(Extent::all(target), &self.loops);
        let same = |extent: &Extent| {
            let born = if extent.store == target { born } else { self.birth(extent.store) };
            let bytes = extent.bytes.clone();
            let others = overlay::same(extent.store, born, &self.mounts, self.files());
            others.into_iter().map(move |store| Extent { store, bytes: bytes.clone() })
        };
        let same: Vec<Extent> = foundation.iter().flat_map(same).collect();
        foundation.extend(same);
        let mut weak = None;
        for extent in &foundation {
            let lead = match extent.store == target {
                true => String::new(),
                false => format!("lies on {}, which ", self.title(extent.store)),
            };
            let found = self.use_above(extent, &lead, &foundation);
            if found.as_ref().is_some_and(|u| u.1) {
                return found.map(|u| u.0);
            }
            weak = weak.or(found);
        }
        weak.map(|u| u.0)
    }

    /// How `extent` is used by itself or by what lies on it; and whether that is more than a device
    /// that lies there and could be used at any time.
    fn use_above(&self, extent: &Extent, lead: &str, own: &[Extent]) -> Option<(Use, bool)> {
        let mut weak = None;
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(extent.clone(), lead.to_owned())];
        while let Some((extent, lead)) = waiting.pop() {
            if let Some(direct) = self.direct_use(extent.store) {
                let text = format!("{lead}{}", direct.text);
                return Some((Use { text, ..direct }, true));
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
                    weak = Some((Use { text, is_program: false }, false));
                }
                waiting.push((Extent::all(store), format!("{lead}{how}, which ")));
            }
        }
        weak
    }

    /// The devices that share a byte with `extent`, each with how; of partitions nothing is said.
    fn devices_on(&self, extent: &Extent) -> Vec<(Device, Option<String>)> {
        let mut found = Vec::new();
        for l in &self.loops {
            if l.behind.as_ref().is_some_and(|behind| behind.overlaps(extent)) {
                let how = format!("is behind the loop device {}", l.device.name);
                found.push((l.device.clone(), Some(how)));
            }
        }
        let Store::Device(number) = extent.store else { return found };
        let Some(device) = Device::find(number) else { return found };
        let shares = |above: &Device| {
            let under = below(above, &self.loops);
            // A holder that does not say what it holds holds everything.
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

    /// What uses the store itself.
    fn direct_use(&self, store: Store) -> Option<Use> {
        let used = |text: String| Some(Use { text, is_program: false });
        if self.swaps.contains(&store) {
            return used("is active swap".to_owned());
        }
        if let Store::Device(number) = store {
            let uses = |mount: &&Mount| Machine::devices_of(mount).contains(&number);
            if let Some(mount) = self.mounts.iter().find(uses) {
                return used(format!("is mounted at {}", mount.point.display()));
            }
        }
        let writer = self.writers.known.iter().find(|writer| writer.store == store)?;
        let text = format!("{} {}", writer.how, writer.process);
        Some(Use { text, is_program: true })
    }

    /// Which loop device could have a file of `size` bytes behind it that lies on the overlay
    /// `system`: of the file system below it may not be known which file that is.
    pub(crate) fn unknown_use(&self, system: DeviceNumber, size: u64) -> Option<Use> {
        let may_be = |l: &&Loop| l.behind.is_none() && l.fits(size);
        let found = self.loops.iter().find(may_be)?;
        overlay::may_be(system, &self.mounts).then(|| {
            let text = format!("may be what is behind the loop device {}", found.device.name);
            Use { text, is_program: false }
        })
    }

    /// All files that something uses, with when they were made.
    fn files(&self) -> impl Iterator<Item = (Store, Option<Birth>)> {
        let behind = self.loops.iter().filter_map(|l| Some((l.behind.as_ref()?.store, l.born)));
        let written = self.writers.known.iter().map(|writer| (writer.store, writer.born));
        behind.chain(written).chain(self.swaps.iter().map(|store| (*store, None)))
    }

    /// When what is behind a loop device was made.
    fn birth(&self, store: Store) -> Option<Birth> {
        self.files().find(|(file, born)| *file == store && born.is_some())?.1
    }

    /// The name of a loop device of which nobody says what is behind it, if there is one: it could
    /// be anything.
    pub(crate) fn unknown_loop(&self) -> Option<&str> {
        let unknown = self.loops.iter().find(|l| l.behind.is_none())?;
        Some(&unknown.device.name)
    }

    /// What people call a store.
    fn title(&self, store: Store) -> String {
        match store {
            Store::Device(number) => Device::find(number).map_or_else(
                || format!("device {}:{}", number.major, number.minor),
                |device| device.title(),
            ),
            Store::File(_, inode) => {
                let behind = |l: &&Loop| l.behind.as_ref().is_some_and(|e| e.store == store);
                match self.loops.iter().find(behind) {
                    Some(of) => format!("the file {}", of.name.display()),
                    None => format!("the file with inode {inode}"),
                }
            }
        }
    }
}

/// The mounts of all namespaces that this process may look into; its own and that of process 1
/// first.
fn all_mounts() -> Vec<Mount> {
    let own = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut mounts = tables::mounts(&own, true);
    mounts.extend(tables::mounts(&fs::read("/proc/1/mountinfo").unwrap_or_default(), true));
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let mut seen: BTreeSet<PathBuf> = ["self", "1"].into_iter().filter_map(namespace).collect();
    for process in processes() {
        if namespace(&process).is_some_and(|n| seen.insert(n)) {
            let table = fs::read(format!("/proc/{process}/mountinfo")).unwrap_or_default();
            mounts.extend(tables::mounts(&table, false));
        }
    }
    mounts
}

/// What a path leads to, if it is a block device or a regular file.
fn store_at(path: &Path) -> Option<Store> {
    if let Some(number) = DeviceNumber::of_node(path) {
        return Some(Store::Device(number));
    }
    let stat = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(Store::File(DeviceNumber::from_raw(stat.dev()), stat.ino()))
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
