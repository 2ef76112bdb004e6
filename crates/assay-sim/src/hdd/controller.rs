//! The controller of a disk: the times that its commands take.

use assay_spec::device::{HddSpec, LinkSpec, OverheadSpec};
use assay_spec::{Bytes, Nanos, Op};

/// The constants of the controller: the times that it takes.
pub(super) struct DiskController {
    /// The time without requests after which the drive destages.
    pub(super) destage_after: Nanos,
    /// The size of the drive.
    pub(super) capacity: Bytes,
    /// The most commands in flight.
    pub(super) depth: usize,
    /// The time for any command.
    pub(super) command: Nanos,
    pub(super) overhead: OverheadSpec,
}

impl DiskController {
    /// Returns the constants of the disk of `spec`.
    pub(super) fn new(spec: &HddSpec, link: LinkSpec, capacity: Bytes) -> DiskController {
        DiskController {
            destage_after: spec.cache.destage_after,
            capacity,
            depth: link.queue_depth as usize,
            command: link.command,
            overhead: spec.overhead,
        }
    }

    /// Returns the times that a hit and a miss take beside the command, which are equal for a
    /// write. `last` is 1 if the command before was a write, else 0.
    pub(super) fn overheads(&self, op: Op, last: usize) -> (Nanos, Nanos) {
        let OverheadSpec { read_hit, read_miss, write, .. } = &self.overhead;
        match op {
            Op::Read => (read_hit[last], read_miss[last]),
            _ => (write[last], write[last]),
        }
    }
}
