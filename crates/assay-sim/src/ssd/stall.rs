//! How long requests wait inside a drive, by cause.

use assay_spec::Nanos;

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
    /// The same, if the page that freed the slot had waited for collection on its plane.
    BufferCollect,
    /// The same, if all slots were held by pages that wait for the map to be saved.
    BufferMap,
    /// A read or trim of a page that was written since the map began to be saved; without a buffer,
    /// the first write; a page read for the host whose map entry is not in memory.
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
