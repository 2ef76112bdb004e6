//! Linux on modelled drives, as users write it:
//! `linux(fs=ext4, md-raid0(sim:x25-m-g2*5, chunk=64KiB), scheduler=bfq, memory=2GiB)`.
//!
//! ```text
//! linux  = "linux(" item { "," item } ")"
//! item   = ground | "raw" | option
//! ground = member | "md-" array | "raid-z(" member { "," member } ")"    (as in `array.rs`)
//! option = "fs=" name | "scheduler=" name | "readahead=" size | "memory=" size
//!        | "partition=" size | "name=" word | "queue_depth=" count | "processor=" name
//!        | "max_request=" size | "date=" day | "discard=" ( "no" | "yes" )
//!        | "mkfs=" words | "mount=" words | "sysctl=" words
//! ```
//!
//! An array with `md-` before it is made by the kernel. Without `md-`, a card makes it and the
//! kernel sees one drive. Words that contain a comma stand in quotation marks.
//!
//! *Invariant.* A target that parses can be made if the drives and controllers that it names exist
//! and are large enough.

use crate::array::spec::{ArraySpec, MemberSpec};
use crate::date::Date;
use crate::experiment::host::ElevatorKind;
use crate::units::Bytes;

/// The file systems, as `mount -t` takes them; `zfs` is not the kernel's, but that of `zfs-fuse`.
pub const FILESYSTEMS: [&str; 10] =
    ["ext2", "ext3", "ext4", "reiserfs", "nilfs2", "btrfs", "xfs", "jfs", "f2fs", "zfs"];

/// The elevators of the kernel. assay provides those of 2009 ([`ElevatorKind`]) itself, between the
/// kernel and the drive.
pub const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "bfq", "kyber"];

/// The default memory of a guest.
pub const MEMORY: Bytes = Bytes(1 << 30);

/// The declaration of Linux on modelled drives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinuxSpec {
    /// The device that the kernel uses.
    pub device: BlockDevice,
    /// The way the kernel uses the device.
    pub settings: Settings,
}

/// The way the kernel uses its drives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The file system; `None` if requests go to the device itself.
    pub filesystem: Option<&'static str>,
    /// The elevator before each drive: the kernel's, or one of 2009.
    pub scheduler: &'static str,
    /// The kernel's read-ahead; `None` for its own default.
    pub readahead: Option<Bytes>,
    /// The memory of the guest. Most of it is available as page cache.
    pub memory: Bytes,
    /// The size of the only partition of each drive, which begins at its start; `None` for the
    /// whole drive.
    pub partition: Option<Bytes>,
    /// The name of the target; `None` for a name that is made from its parts.
    pub name: Option<String>,
    /// The number of requests that a drive has at a time; `None`: as many as it holds.
    pub queue_depth: Option<u32>,
    /// The size of the largest request that the kernel sends; `None` for its own default.
    pub max_request: Option<Bytes>,
    /// The processor: the name of a bundled one, or a file whose name ends in `.toml`. `None` if
    /// the kernel's work takes no time.
    pub processor: Option<String>,
    /// The day on which the guest boots, at midnight UTC.
    pub date: Date,
    /// Whether flash drives accept discards.
    pub discard: bool,
    /// Further arguments of `mkfs`.
    pub mkfs: String,
    /// The options of `mount -o`.
    pub mount: String,
    /// Settings of the kernel: their names in `/proc/sys`, with `.` for `/`, and their values.
    pub sysctl: Vec<(String, String)>,
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
            max_request: None,
            processor: None,
            date: Date::OF_GUESTS,
            discard: false,
            mkfs: String::new(),
            mount: String::new(),
            sysctl: Vec::new(),
        }
    }
}

impl Settings {
    /// Returns the elevator, if it is one that the kernel no longer has.
    pub fn historical(&self) -> Option<ElevatorKind> {
        ElevatorKind::ALL.into_iter().find(|kind| kind.name() == self.scheduler)
    }
}

/// The block device that the kernel sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockDevice {
    /// A drive, or an array that a card makes.
    Drive(MemberSpec),
    /// An array that the kernel makes.
    Array(ArraySpec),
    /// A ZFS pool with single parity (RAID-Z), with its drives.
    RaidZ(Vec<MemberSpec>),
}

impl LinuxSpec {
    /// Returns the drives that the kernel sees, in order.
    pub fn drives(&self) -> &[MemberSpec] {
        match &self.device {
            BlockDevice::Drive(member) => std::slice::from_ref(member),
            BlockDevice::Array(array) => &array.members,
            BlockDevice::RaidZ(members) => members,
        }
    }

    /// Returns the name that the user gave, or a short one for cells and files:
    /// `ext4-md-raid0-5x-x25-m-g2-64KiB`.
    pub fn name(&self) -> String {
        if let Some(name) = &self.settings.name {
            return name.clone();
        }
        let device = match &self.device {
            BlockDevice::Drive(member) => member.name(),
            BlockDevice::Array(array) => format!("md-{}", array.name()),
            BlockDevice::RaidZ(members) => format!("raid-z-{}", crate::array::spec::names(members)),
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
            (set.max_request.map(|size| size.to_string()), "max"),
            (set.processor.as_deref().map(words), "on"),
            ((set.date != Date::OF_GUESTS).then(|| set.date.to_string()), "date"),
            ((!set.mkfs.is_empty()).then(|| words(&set.mkfs)), "mkfs"),
            ((!set.mount.is_empty()).then(|| words(&set.mount)), "mount"),
            ((!set.sysctl.is_empty()).then(|| words(&pairs(&set.sysctl))), "sysctl"),
        ];
        for (value, key) in said {
            if let Some(value) = value {
                name += &format!("-{key}-{value}");
            }
        }
        name
    }
}

/// Returns settings of the kernel as `sysctl` takes them: `NAME=VALUE NAME=VALUE`.
fn pairs(settings: &[(String, String)]) -> String {
    let all: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    all.join(" ")
}

/// Returns the arguments of a tool as a part of a name.
fn words(text: &str) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let text: String = text.chars().map(fine).collect();
    text.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Returns `true` if `text` is meant as a Linux target.
pub fn is_linux(text: &str) -> bool {
    text.trim().strip_prefix("linux").is_some_and(|rest| rest.trim_start().starts_with('('))
}
