//! Linux on modelled drives, as people write it:
//! `linux(fs=ext4, md-raid0(sim:x25-m-g2*5, chunk=64KiB), scheduler=bfq, memory=2GiB)`.
//!
//! ```text
//! linux  = "linux(" item { "," item } ")"
//! item   = ground | "raw" | option
//! ground = member | "md-" array | "raid-z(" member { "," member } ")"    (as in `array.rs`)
//! option = "fs=" name | "scheduler=" name | "readahead=" size | "memory=" size
//!        | "partition=" size | "name=" word | "queue_depth=" count | "host=" time
//!        | "copy=" size "/s" | "prepare=" size "/s"
//!        | "mkfs=" words | "mount=" words
//! ```
//!
//! An array with `md-` before it is the kernel's; without, a card makes it and the kernel sees one
//! drive. Words that hold a comma stand in quotation marks.
//!
//! *Invariant.* What parses can be made, if the drives and controllers named exist and are large
//! enough.

use crate::array::{ArraySpec, MemberSpec};
use crate::experiment::ElevatorKind;
use crate::units::{Bytes, Nanos};

/// File systems, as `mount -t` takes them; `zfs` is not the kernel's, but `zfs-fuse`.
pub const FILESYSTEMS: [&str; 10] =
    ["ext2", "ext3", "ext4", "reiserfs", "nilfs2", "btrfs", "xfs", "jfs", "f2fs", "zfs"];

/// Elevators that the kernel has. Those it had in 2009 ([`ElevatorKind`]) are assay's own, between
/// the kernel and the drive.
pub const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "bfq", "kyber"];

/// Memory of a guest, if not said otherwise.
pub const MEMORY: Bytes = Bytes(1 << 30);

/// Linux on modelled drives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinuxSpec {
    /// What the device is.
    pub device: BlockDevice,
    /// How the kernel uses it.
    pub settings: Settings,
}

/// How the kernel uses its drives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The file system; none: requests go to the device itself.
    pub filesystem: Option<&'static str>,
    /// The elevator before each drive: the kernel's, or one of 2009.
    pub scheduler: &'static str,
    /// How far the kernel reads ahead, if not as it does by itself.
    pub readahead: Option<Bytes>,
    /// The guest's memory, of which the page cache is most.
    pub memory: Bytes,
    /// So much of each drive, from its start, is used: its only partition.
    pub partition: Option<Bytes>,
    /// What the target is called, if not by what it is made of.
    pub name: Option<String>,
    /// Requests that a drive has at a time, if not as many as it takes.
    pub queue_depth: Option<u32>,
    /// What the machine needs between a drive's completion and the next request.
    pub gap: Nanos,
    /// Bytes a second at which it takes what was read before it asks for more.
    pub copy: Option<Bytes>,
    /// Bytes a second at which it makes ready what is to be written.
    pub prepare: Option<Bytes>,
    /// Whether drives of flash take discards.
    pub discard: bool,
    /// More words for `mkfs`.
    pub mkfs: String,
    /// For `mount -o`.
    pub mount: String,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            filesystem: None,
            scheduler: SCHEDULERS[0],
            readahead: None,
            memory: MEMORY,
            partition: None,
            name: None,
            queue_depth: None,
            gap: Nanos::ZERO,
            copy: None,
            prepare: None,
            discard: false,
            mkfs: String::new(),
            mount: String::new(),
        }
    }
}

impl Settings {
    /// True if the machine takes time of its own.
    pub fn costs(&self) -> bool {
        self.gap > Nanos::ZERO || self.copy.is_some() || self.prepare.is_some()
    }

    /// The elevator, if it is one that the kernel has no more.
    pub fn historical(&self) -> Option<ElevatorKind> {
        ElevatorKind::ALL.into_iter().find(|kind| kind.name() == self.scheduler)
    }
}

/// What the kernel sees as a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockDevice {
    /// A drive, or an array that a card makes.
    Drive(MemberSpec),
    /// An array that the kernel makes.
    Array(ArraySpec),
    /// A pool of ZFS with one parity: its drives.
    RaidZ(Vec<MemberSpec>),
}

impl LinuxSpec {
    /// The drives that the kernel sees, in order.
    pub fn drives(&self) -> &[MemberSpec] {
        match &self.device {
            BlockDevice::Drive(member) => std::slice::from_ref(member),
            BlockDevice::Array(array) => &array.members,
            BlockDevice::RaidZ(members) => members,
        }
    }

    /// The name it was given, or a short one for cells and files:
    /// `ext4-md-raid0-5x-x25-m-g2-64KiB`.
    pub fn name(&self) -> String {
        if let Some(name) = &self.settings.name {
            return name.clone();
        }
        let device = match &self.device {
            BlockDevice::Drive(member) => member.name(),
            BlockDevice::Array(array) => format!("md-{}", array.name()),
            BlockDevice::RaidZ(members) => format!("raid-z-{}", crate::array::names(members)),
        };
        let set = &self.settings;
        let mut name = format!("{}-{device}", set.filesystem.unwrap_or("raw"));
        if set.scheduler != "none" {
            name += &format!("-{}", set.scheduler);
        }
        let said = [
            (set.readahead.map(|size| size.to_string()), "ra"),
            ((set.memory != MEMORY).then(|| set.memory.to_string()), "mem"),
            (set.partition.map(|size| size.to_string()), "part"),
            (set.queue_depth.map(|depth| depth.to_string()), "qd"),
            ((set.gap > Nanos::ZERO).then(|| set.gap.to_string()), "host"),
            (set.copy.map(|rate| rate.to_string()), "copy"),
            (set.prepare.map(|rate| rate.to_string()), "prepare"),
            ((!set.mkfs.is_empty()).then(|| words(&set.mkfs)), "mkfs"),
            ((!set.mount.is_empty()).then(|| words(&set.mount)), "mount"),
        ];
        for (value, key) in said {
            if let Some(value) = value {
                name += &format!("-{key}-{value}");
            }
        }
        name
    }
}

/// Words as part of a name.
fn words(text: &str) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let text: String = text.chars().map(fine).collect();
    text.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// True if `text` is meant as Linux on drives.
pub fn is_linux(text: &str) -> bool {
    text.trim().strip_prefix("linux").is_some_and(|rest| rest.trim_start().starts_with('('))
}
