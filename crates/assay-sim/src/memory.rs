//! How much memory a modelled drive takes, before it is built.
//!
//! *Invariant.* Never much below what it takes (`tests/memory.rs` compares): an estimate that is
//! too small ends the program without a word.

use crate::{ArraySetup, MemberDrive};
use assay_spec::Bytes;
use assay_spec::device::{DeviceKind, DeviceSpec};

/// What every drive takes for itself: queues, buffers, counters.
const EACH: u64 = 256 << 10;
/// For each physical page of flash: where it is, what it holds, whether that counts.
const PAGE: u64 = 10;
/// For each block of flash: its state, erases, place among the victims.
const BLOCK: u64 = 48;

/// What the modelled drive takes.
pub fn memory(spec: &DeviceSpec) -> Bytes {
    let own = match &spec.kind {
        DeviceKind::Ssd(ssd) => {
            let blocks = u64::from(ssd.nand.planes()) * u64::from(ssd.nand.blocks_per_plane);
            let pages = ssd.nand.pages().saturating_mul(PAGE);
            pages.saturating_add(blocks.saturating_mul(BLOCK))
        }
        // A map of what lies in its log, by the mebibyte.
        DeviceKind::Hdd(hdd) if hdd.shingled.is_some() => spec.capacity.0 >> 20 << 5,
        DeviceKind::Hdd(_) | DeviceKind::Volume(_) => 0,
    };
    Bytes(own.saturating_add(EACH))
}

impl ArraySetup {
    /// What all its drives take.
    pub fn memory(&self) -> Bytes {
        let of = |drive: &MemberDrive| match drive {
            MemberDrive::Device(spec) => memory(spec),
            MemberDrive::Array(array) => array.memory(),
        };
        let sum = |sum: u64, bytes: Bytes| sum.saturating_add(bytes.0);
        Bytes(self.members.iter().map(|m| of(&m.drive)).fold(EACH, sum))
    }
}
