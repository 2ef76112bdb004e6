//! Estimates the memory that a modelled drive takes, before it is built.
//!
//! *Invariant.* The estimate is never much too small (`tests/memory.rs` compares it): otherwise the
//! kernel would kill the program without a message.

use crate::array::{ArraySetup, MemberDrive};
use assay_spec::Bytes;
use assay_spec::device::{DeviceKind, DeviceSpec};

/// Bytes that every drive takes for itself: queues, buffers, counters.
const EACH: u64 = 256 << 10;
/// Bytes for each physical page of flash: its place, its contents, whether they are valid.
const PAGE: u64 = 10;
/// Bytes for each block of flash: its state, its erases, its place among the victims.
const BLOCK: u64 = 48;

/// Estimates the memory that the modelled drive takes.
pub fn memory(spec: &DeviceSpec) -> Bytes {
    let own = match &spec.kind {
        DeviceKind::Ssd(ssd) => {
            let blocks = u64::from(ssd.nand.planes()) * u64::from(ssd.nand.blocks_per_plane);
            let pages = ssd.nand.pages().saturating_mul(PAGE);
            pages.saturating_add(blocks.saturating_mul(BLOCK))
        }
        // Its map of the log takes 32 bytes per mebibyte.
        DeviceKind::Hdd(hdd) if hdd.shingled.is_some() => spec.capacity.0 >> 20 << 5,
        DeviceKind::Hdd(_) | DeviceKind::Volume(_) => 0,
    };
    Bytes(own.saturating_add(EACH))
}

impl ArraySetup {
    /// Estimates the memory that all its drives take.
    pub fn memory(&self) -> Bytes {
        let of = |drive: &MemberDrive| match drive {
            MemberDrive::Device(spec) => memory(spec),
            MemberDrive::Array(array) => array.memory(),
        };
        let sum = |sum: u64, bytes: Bytes| sum.saturating_add(bytes.0);
        Bytes(self.members.iter().map(|m| of(&m.drive)).fold(EACH, sum))
    }
}
