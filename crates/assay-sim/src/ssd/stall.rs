//! How long requests wait inside a drive, by cause.

use super::Ssd;
use super::write_queue::SlotWait;
use crate::ftl::Ftl;
use assay_spec::Nanos;
use std::array;

/// The cause of a wait inside the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stall {
    /// A request waits while the firmware processes an earlier one.
    Firmware,
    /// A transfer waits for the host link.
    Link,
    /// The next page of the first write waits for a slot of the buffer.
    Buffer,
    /// The same, where the slot that came free was a page's that had found collection before it on
    /// its plane.
    BufferCollect,
    /// The same, where all slots were held by pages that wait for the map to be saved.
    BufferMap,
    /// A read or trim of what was written since the map began to be saved; without a buffer the
    /// first write. And a page read for the host whose entry is not in memory.
    Map,
    /// A page read for the host that found collection before it on its plane, beyond the time it
    /// takes alone.
    ReadCollect,
    /// A page on its way to its register, likewise; only where the host waits for that.
    WriteCollect,
}

impl Stall {
    /// Number of causes.
    pub const COUNT: usize = 8;
    /// All causes with their names in the counters.
    pub const ALL: [(Stall, &str); Stall::COUNT] = [
        (Stall::Firmware, "firmware"),
        (Stall::Link, "link"),
        (Stall::Buffer, "buffer"),
        (Stall::BufferCollect, "buffer_collect"),
        (Stall::BufferMap, "buffer_map"),
        (Stall::Map, "map"),
        (Stall::ReadCollect, "read_collect"),
        (Stall::WriteCollect, "write_collect"),
    ];
}

/// The state of a flash drive at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Erased blocks that nothing is written to yet.
    pub free_blocks: u64,
    /// The time waited since the last mark, by [`Stall`].
    pub stalled: [Nanos; Stall::COUNT],
}

impl<F: Ftl> Ssd<F> {
    /// Number and time of the waits of each cause until `now`.
    pub(super) fn stalled(&self, now: Nanos) -> [(u64, Nanos); Stall::COUNT] {
        let [reads, writes] = self.nand.waited_behind(now);
        let (save, miss) = (self.map_save.waited(now), self.map_misses.waited(now));
        let waits_for_flash = !self.buffer.is_write_back();
        array::from_fn(|cause| match Stall::ALL[cause].0 {
            Stall::Firmware => self.firmware.waited(now),
            Stall::Link => self.link.waited(now),
            Stall::Buffer => self.writes.waited(SlotWait::Plane),
            Stall::BufferCollect => self.writes.waited(SlotWait::Collection),
            Stall::BufferMap => self.writes.waited(SlotWait::MapSave),
            Stall::Map => (save.0 + miss.0, save.1 + miss.1),
            Stall::ReadCollect => reads,
            Stall::WriteCollect if waits_for_flash => writes,
            Stall::WriteCollect => (0, Nanos::ZERO),
        })
    }

    /// Resets the counts at a mark; waits under way count from now.
    pub(super) fn mark_stalls(&mut self) {
        let now = self.nand.events.now();
        self.firmware.mark_waits(now);
        self.link.mark_waits(now);
        self.writes.mark_waits(now);
        self.map_save.mark_waits(now);
        self.map_misses.mark_waits(now);
    }
}
