//! The machine that a guest gets: its kernel and its drives.

use assay_linux::kernel::Kernel;
use assay_sim::{ArraySetup, MemberDrive, MemberSetup};
use assay_spec::device::{DeviceKind, ProcessorSpec};
use assay_spec::linux::LinuxSpec;

/// Linux on modelled drives, ready to be booted.
#[derive(Clone, Debug)]
pub struct LinuxSetup {
    /// The drives and settings as written.
    pub spec: LinuxSpec,
    /// The drives that the kernel sees, as members of a JBOD.
    pub drives: ArraySetup,
    /// The processor; `None` if the kernel's work takes no time.
    pub processor: Option<ProcessorSpec>,
    /// The kernel, or the reason why there is none.
    pub kernel: Result<Kernel, String>,
}

/// Returns, for each drive, `true` if it is a disk.
pub fn rotational(setup: &LinuxSetup) -> Vec<bool> {
    let turns = |m: &MemberSetup| match &m.drive {
        MemberDrive::Device(spec) => matches!(spec.kind, DeviceKind::Hdd(_)),
        MemberDrive::Array(array) => array.has_disk(),
    };
    setup.drives.members.iter().map(turns).collect()
}

/// Returns `true` if a drive in it has a model of flash wear.
pub(super) fn wears_out(drive: &MemberDrive) -> bool {
    match drive {
        MemberDrive::Device(spec) => match &spec.kind {
            DeviceKind::Ssd(ssd) => ssd.endurance.is_some(),
            _ => false,
        },
        MemberDrive::Array(array) => array.members.iter().any(|m| wears_out(&m.drive)),
    }
}

/// Returns the number of requests that each drive takes at a time, at most 128.
pub(super) fn depth(setup: &ArraySetup) -> u32 {
    let each = setup.members.iter().map(|m| match &m.drive {
        MemberDrive::Device(spec) => spec.link.queue_depth,
        MemberDrive::Array(array) => {
            array.front.map_or_else(|| depth(array), |card| array.controllers[card].queue_depth)
        }
    });
    each.min().unwrap_or(1).min(128)
}
