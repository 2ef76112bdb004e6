//! The declaration of a solid-state drive.

pub(super) mod decode;

use super::ecc::EccSpec;
use super::endurance::EnduranceSpec;
use super::ftl::FtlSpec;
use super::nand::NandSpec;
use super::power::PowerSpec;
use super::slc::SlcCacheSpec;
use super::thermal::ThermalSpec;
use crate::units::{Bytes, Nanos};

/// The declaration of a solid-state drive: flash, translation layer, buffer, read-ahead.
#[derive(Clone, Copy, Debug)]
pub struct SsdSpec {
    /// The chips and their buses.
    pub nand: NandSpec,
    /// The mapping of logical pages to physical pages.
    pub ftl: FtlSpec,
    /// The buffer in which written data waits.
    pub buffer: BufferSpec,
    /// The read-ahead; `None` if the drive does not read ahead.
    pub readahead: Option<ReadAheadSpec>,
    /// The way the flash wears out; `None` if it never does.
    pub endurance: Option<EnduranceSpec>,
    /// The power that the drive draws, if it is known.
    pub power: Option<PowerSpec>,
    /// The heating of the drive, if it is modelled.
    pub thermal: Option<ThermalSpec>,
    /// The bit errors; `None` if there are none that matter.
    pub ecc: Option<EccSpec>,
}

/// The buffer in which written data waits for the flash.
#[derive(Clone, Copy, Debug)]
pub enum BufferSpec {
    /// Only the page registers of the planes.
    Registers,
    /// DRAM that acknowledges writes at once and writes back.
    Dram {
        /// The bytes of user data that it holds.
        size: Bytes,
        /// Whether a write completes when it is in the buffer. Otherwise it completes when its data
        /// is in the cells.
        write_back: bool,
        /// The source of a read of a page in the buffer.
        reads: ReadBuffered,
        /// The time at which written pages are sent to the flash.
        flush: FlushSpec,
        /// Whether the contents of the buffer are written to the flash when the power fails, so
        /// that a flush has nothing to do.
        protected: bool,
    },
}

/// The time at which written pages are sent to the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushSpec {
    /// As they arrive.
    AtOnce,
    /// When a limit of the buffer or a flush requires it. A page that is written again before that
    /// is replaced in the buffer. With the write cache switched off, pages are sent at once.
    Lazy(LazySpec),
}

/// The limits on how long pages wait in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LazySpec {
    /// The amount of waiting data at which the oldest pages are sent to the flash.
    pub high: Bytes,
    /// The amount of waiting data at which sending stops.
    pub low: Bytes,
    /// The idle time after which all pages are sent; `None` if idle time has no effect.
    pub idle: Option<Nanos>,
}

/// The source of a read of a page that is still in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBuffered {
    /// The buffer.
    FromBuffer,
    /// The flash, once the page has been written there: the buffer serves writes only.
    AfterWriteBack,
}

/// The pages that are read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The next logical pages, wherever they are on flash.
    Logical,
    /// The next pages on flash. Nothing is read ahead unless the whole window lies on flash in one
    /// piece, page after page over the planes.
    Contiguous,
}

/// The directions of the streams that the drive recognises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending streams only.
    Forward,
    /// Ascending and descending streams.
    Both,
}

/// Sequential read-ahead.
#[derive(Clone, Copy, Debug)]
pub struct ReadAheadSpec {
    /// The number of sequential requests before read-ahead starts.
    pub trigger: u32,
    /// The amount of data to read ahead.
    pub window: Bytes,
    /// The pages that are read ahead.
    pub reach: Reach,
    /// The number of streams that the drive follows at a time.
    pub streams: u32,
    /// The directions of the streams that the drive recognises.
    pub direction: Direction,
}

/// Returns the flash that the layer needs beside the capacity.
pub(super) fn overhead(spec: &SsdSpec, capacity: Bytes) -> Bytes {
    let nand = &spec.nand;
    let stripe = nand.page * u64::from(nand.planes()) * u64::from(nand.pages_per_block);
    let overhead = match spec.ftl {
        // For each plane: two open blocks and one that the collector can always move into, or the
        // reserve if that is more; the blocks of `safety_blocks`; and one page, without which
        // collection would gain nothing.
        FtlSpec::Page(map) => {
            let blocks = map.collection.reserve_blocks.max(3) + map.safety_blocks(nand);
            let on_flash = nand.page * map.map_pages(nand.page, capacity.0 / nand.page.0);
            let fixed = map.slc.map_or(0, |slc| SlcCacheSpec::blocks(slc.fixed, nand));
            // The record of trims has one bit for each page of the host. It has one page more,
            // because the old copy of a page remains until the new copy is in place.
            let record = match map.power_fail_safe {
                true => nand.page * (1 + (capacity.0 / nand.page.0).div_ceil(nand.page.0 * 8)),
                false => Bytes::ZERO,
            };
            let own = nand.page * u64::from(nand.planes()) + on_flash + record;
            stripe * u64::from(blocks + fixed) + own
        }
        // All logs may belong to one group of planes. A stream and a merge take one superblock more
        // each, and the last superblock of each group may be half empty.
        FtlSpec::Hybrid(hybrid) => {
            stripe * u64::from(hybrid.log_superblocks * hybrid.blocks_per_log + 3)
        }
        FtlSpec::InPlace => Bytes::ZERO,
    };
    overhead + stripe * u64::from(spec.endurance.map_or(0, |e| e.spare_blocks))
}
