//! How long requests wait inside a drive, by cause.

use super::Ssd;
use crate::ftl::Ftl;
use crate::nand::Token;
use crate::waits::Waits;
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

/// The waits of a drive outside its flash.
#[derive(Clone, Debug)]
pub(super) struct Stalls {
    /// Whether waits are timed.
    pub(super) are_timed: bool,
    map: Waits,
    /// Whether writes are held back because there is no buffer while the map is saved.
    is_held_back: bool,
    /// Since when the first write has no slot, [`Nanos::NEVER`] if it does not wait for one; and
    /// whether it waits for the map.
    no_slot: Nanos,
    waits_for_map: bool,
    /// Whether the last page that came into the cells had collection before it.
    was_behind: bool,
    /// Waits for a slot that have ended: the flash's, collection's, the map's; number and time.
    slots: [(u64, Nanos); 3],
}

impl Stalls {
    /// Nobody waits.
    pub(super) fn new() -> Stalls {
        Stalls {
            are_timed: false,
            map: Waits::default(),
            is_held_back: false,
            no_slot: Nanos::NEVER,
            waits_for_map: false,
            was_behind: false,
            slots: Default::default(),
        }
    }
}

/// A wait begins or ends, if anybody wants to know.
macro_rules! wait {
    ($name:ident, $waits:ident, $happens:ident) => {
        #[inline]
        pub(super) fn $name(&mut self) {
            if self.stalls.are_timed {
                self.stalls.$waits.$happens(self.nand.events.now());
            }
        }
    };
}

impl<F: Ftl> Ssd<F> {
    wait!(waits_for_saving, map, begin);
    wait!(waited_for_saving, map, end);

    /// A page with this token has come into the cells.
    #[inline]
    pub(super) fn frees_slot(&mut self, token: Token) {
        if self.stalls.are_timed {
            self.stalls.was_behind = token.is_behind_collection();
        }
    }

    /// There is no slot for the next page to be sent for.
    #[inline]
    pub(super) fn stall_for_slot(&mut self) {
        if !self.stalls.are_timed {
            return;
        }
        self.stalls.no_slot = self.stalls.no_slot.min(self.nand.events.now());
    }

    /// Ends the wait for a slot, if there is one, and counts it by cause.
    #[inline]
    pub(super) fn got_slot(&mut self) {
        if self.stalls.no_slot == Nanos::NEVER {
            return;
        }
        let since = std::mem::replace(&mut self.stalls.no_slot, Nanos::NEVER);
        let cause = match std::mem::take(&mut self.stalls.waits_for_map) {
            true => 2,
            false => usize::from(self.stalls.was_behind),
        };
        let (count, time) = &mut self.stalls.slots[cause];
        *count += 1;
        *time += self.nand.events.now() - since;
    }

    /// Without a buffer, what is written while the map is saved waits in front of the drive.
    #[cold]
    pub(super) fn hold_back(&mut self) {
        if !self.stalls.is_held_back && !self.writes.is_empty() {
            self.stalls.is_held_back = true;
            self.waits_for_saving();
        }
    }

    /// The map is saved: what was held back goes on, and whoever waits for a slot knows why.
    #[cold]
    pub(super) fn map_is_saved(&mut self) {
        if std::mem::take(&mut self.stalls.is_held_back) {
            self.waited_for_saving();
        }
        let all_wait = self.parked_pages() == self.buffer.unprogrammed();
        self.stalls.waits_for_map |= all_wait && self.stalls.no_slot != Nanos::NEVER;
    }

    /// Returns the number of operations that wait for the map.
    fn waiting_for_map(&self) -> usize {
        let map = self.waits_for_map.len() - self.parked_pages() as usize;
        map + usize::from(self.stalls.is_held_back) + self.reads_waiting_for_map()
    }

    /// Number and time of the waits of each cause until `now`.
    pub(super) fn stalled(&self, now: Nanos) -> [(u64, Nanos); Stall::COUNT] {
        let [reads, writes] = self.nand.waited_behind(now);
        let map = &self.stalls.map;
        let waits_for_flash = !self.buffer.is_write_back();
        let [flash, collect, saved] = self.stalls.slots;
        array::from_fn(|cause| match Stall::ALL[cause].0 {
            Stall::Firmware => self.firmware.waited(now),
            Stall::Link => self.link.waited(now),
            Stall::Buffer => flash,
            Stall::BufferCollect => collect,
            Stall::BufferMap => saved,
            Stall::Map => (map.count(), map.total(now, self.waiting_for_map())),
            Stall::ReadCollect => reads,
            Stall::WriteCollect if waits_for_flash => writes,
            Stall::WriteCollect => (0, Nanos::ZERO),
        })
    }

    /// Resets the counts at a mark; waits under way count from now.
    pub(super) fn mark_stalls(&mut self) {
        let (now, open) = (self.nand.events.now(), self.waiting_for_map());
        self.firmware.mark_waits(now);
        self.link.mark_waits(now);
        let stalls = &mut self.stalls;
        stalls.map.mark(now, open);
        stalls.slots = Default::default();
        if stalls.no_slot != Nanos::NEVER {
            stalls.no_slot = now;
        }
    }
}
