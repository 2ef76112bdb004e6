//! Builds a flash drive from its specification.

use super::Ssd;
use super::addressing::Addressing;
use super::buffer::WriteBuffer;
use super::firmware::Firmware;
use super::idle::IdleTimer;
use super::link::HostLink;
use super::map_miss::MapMisses;
use super::map_save::MapSave;
use super::power::PowerMeter;
use super::read_ahead::ReadAhead;
use super::requests::Requests;
use super::slots::FLASH;
use super::write_back_cache::WriteBackCache;
use super::write_queue::WriteQueue;
use crate::drive::Drive;
use crate::ftl::hybrid::Hybrid;
use crate::ftl::hybrid::steady::build_steady;
use crate::ftl::in_place::InPlace;
use crate::ftl::page::PageMap;
use crate::ftl::page::steady::steady_map;
use crate::ftl::{Ftl, erased_ever};
use crate::initial_state::InitialState;
use crate::nand::{Ecc, Nand};
use assay_spec::Bytes;
use assay_spec::device::{BufferSpec, FlushSpec, FtlSpec, LinkSpec, SsdSpec};

/// Builds the drive of `spec`.
pub(crate) fn build(
    spec: &SsdSpec,
    link: LinkSpec,
    capacity: Bytes,
    past: InitialState,
) -> Box<dyn Drive + Send> {
    let logical = (capacity.0 / spec.nand.page.0) as u32;
    match spec.ftl {
        FtlSpec::Page(map) => {
            let ftl = match past {
                InitialState::New => PageMap::new(&spec.nand, map, logical, 0, false),
                InitialState::Filled => PageMap::new(&spec.nand, map, logical, 0, true),
                InitialState::Steady(history) => steady_map(&spec.nand, map, logical, 0, history),
            };
            let ftl = ftl.wearing_out(spec.endurance);
            let mut drive = assemble(ftl, spec, link, capacity);
            drive.ftl.set_block_modes(&mut drive.nand);
            Box::new(drive)
        }
        FtlSpec::Hybrid(hybrid) => {
            let ftl = match past {
                InitialState::New => Hybrid::new(&spec.nand, hybrid, logical, false),
                InitialState::Filled => Hybrid::new(&spec.nand, hybrid, logical, true),
                InitialState::Steady(history) => build_steady(&spec.nand, hybrid, logical, history),
            };
            let ftl = ftl.wearing_out(spec.endurance);
            Box::new(assemble(ftl, spec, link, capacity))
        }
        FtlSpec::InPlace => Box::new(assemble(InPlace::new(&spec.nand), spec, link, capacity)),
    }
}

/// Builds the flash of a drive; `erases` holds the erase count of each block.
fn flash(spec: &SsdSpec, erases: &[u32]) -> Nand {
    let mut nand = Nand::new(&spec.nand, FLASH);
    if matches!(spec.ftl, FtlSpec::Page(map) if map.power_fail_safe) {
        nand.keep_replaced();
    }
    if let Some(ecc) = spec.ecc {
        let cycles = spec.endurance.map(|endurance| endurance.cycles);
        nand.set_ecc(Ecc::new(ecc, &spec.nand, cycles, erases));
    }
    let waits_for_cells = matches!(spec.buffer, BufferSpec::Dram { write_back: true, .. });
    if waits_for_cells && matches!(spec.ftl, FtlSpec::Page(map) if map.stays_in_plane()) {
        nand.use_plane_fast_path(&spec.nand);
    }
    nand
}

/// Builds the drive of `spec` with this translation layer.
pub(super) fn assemble<F: Ftl>(ftl: F, spec: &SsdSpec, link: LinkSpec, capacity: Bytes) -> Ssd<F> {
    let page = spec.nand.page;
    let buffer = WriteBuffer::new(spec.buffer, page, spec.nand.planes());
    let cache = match spec.buffer {
        BufferSpec::Dram { write_back: true, flush: FlushSpec::Lazy(cache), .. } => {
            buffer.slots().map(|slots| WriteBackCache::new(cache, page, slots as usize))
        }
        _ => None,
    };
    let idle = IdleTimer::new(&spec.ftl, cache.as_ref().and_then(WriteBackCache::idle));
    let mut nand = flash(spec, ftl.erases());
    nand.chips.counts.set_erased_before(erased_ever(&ftl));
    let addressing = Addressing::new(capacity, page);
    let may_miss_map = matches!(spec.ftl, FtlSpec::Page(map) if map.map_cache.is_some());
    Ssd {
        ftl,
        nand,
        addressing,
        buffer,
        cache,
        readahead: spec.readahead.map(|r| ReadAhead::new(r, page)),
        idle,
        requests: Requests::new(link.queue_depth as usize),
        firmware: Firmware::new(link.command),
        writes: WriteQueue::new(),
        link: HostLink::new(link, addressing),
        map_save: MapSave::new(),
        map_misses: MapMisses::new(may_miss_map),
        flash_events: Vec::new(),
        power: PowerMeter::new(spec),
    }
}
