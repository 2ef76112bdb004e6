//! A solid-state drive: link, firmware, buffer and read-ahead over a translation layer over flash.
//!
//! The firmware processes one request at a time, for `link.command`. The pages of the request then
//! pass the buffer or the flash, and the host link, which is half duplex and serves transfers in
//! the order in which they become ready. A written page is acknowledged when it is in a write-back
//! DRAM buffer or, without one, in a page register or the cells. An FUA write is acknowledged
//! when it is in the cells, unless the buffer has power-loss protection. A flush holds back later
//! writes until all earlier ones are in the cells. After an idle time the translation layer may
//! do background work until the next request.

mod addressing;
mod buffer;
mod completion;
mod counters;
mod drain;
mod fetch;
mod firmware;
mod flow;
mod idle;
mod link;
mod map_miss;
mod map_save;
mod observe;
mod power;
mod read_ahead;
mod requests;
mod stall;
mod thermal_throttling;
mod write_back_cache;
mod write_queue;

use crate::drive::{Accept, Drive, Past};
use crate::events::Queue;
use crate::ftl::Ftl;
use crate::ftl::hybrid::Hybrid;
use crate::ftl::in_place::InPlace;
use crate::ftl::page::PageMap;
use crate::nand::{Ecc, Flash, FlashEvent, Nand, Observer};
use addressing::Addressing;
use assay_spec::device::{BufferSpec, FlushSpec, FtlSpec, LinkSpec, SsdSpec};
use assay_spec::{Bytes, Completion, Nanos, Request};
use buffer::WriteBuffer;
use firmware::Firmware;
use idle::IdleTimer;
use link::HostLink;
use map_miss::MapMisses;
use map_save::MapSave;
use power::PowerMeter;
use read_ahead::ReadAhead;
use requests::Requests;
pub use stall::{Snapshot, Stall};
use write_back_cache::WriteBackCache;
use write_queue::WriteQueue;

/// Event slots of the firmware, the host link, the idle timer, and the first of the flash.
const FIRMWARE: usize = 0;
const LINK: usize = 1;
const TIMER: usize = 2;
const FLASH: usize = 3;

/// A solid-state drive with a translation layer.
pub(crate) struct Ssd<F> {
    ftl: F,
    nand: Nand,
    addressing: Addressing,
    buffer: WriteBuffer,
    /// The write-back cache, if the buffer keeps dirty pages.
    cache: Option<WriteBackCache>,
    readahead: Option<ReadAhead>,
    idle: IdleTimer,

    requests: Requests,
    firmware: Firmware,
    writes: WriteQueue,
    link: HostLink,
    map_save: MapSave,
    map_misses: MapMisses,
    flash_events: Vec<FlashEvent>,
    power: PowerMeter,
}

/// Builds the drive of `spec`.
pub(crate) fn build(
    spec: &SsdSpec,
    link: LinkSpec,
    capacity: Bytes,
    past: Past,
) -> Box<dyn Drive + Send> {
    let logical = (capacity.0 / spec.nand.page.0) as u32;
    match spec.ftl {
        FtlSpec::Page(map) => {
            let ftl = match past {
                Past::New => PageMap::new(&spec.nand, map, logical, 0, false),
                Past::Filled => PageMap::new(&spec.nand, map, logical, 0, true),
                Past::Steady(history) => PageMap::steady(&spec.nand, map, logical, 0, history),
            };
            let ftl = ftl.wearing_out(spec.endurance);
            let mut drive = Ssd::new(ftl, spec, link, capacity);
            drive.ftl.set_block_modes(&mut drive.nand);
            Box::new(drive)
        }
        FtlSpec::Hybrid(hybrid) => {
            let ftl = match past {
                Past::New => Hybrid::new(&spec.nand, hybrid, logical, false),
                Past::Filled => Hybrid::new(&spec.nand, hybrid, logical, true),
                Past::Steady(history) => Hybrid::steady(&spec.nand, hybrid, logical, history),
            };
            let ftl = ftl.wearing_out(spec.endurance);
            Box::new(Ssd::new(ftl, spec, link, capacity))
        }
        FtlSpec::InPlace => Box::new(Ssd::new(InPlace::new(&spec.nand), spec, link, capacity)),
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
        nand.use_plane_fast_path();
    }
    nand
}

/// Returns the number of erases of all blocks since the drive was made.
fn erased_ever(ftl: &impl Ftl) -> u64 {
    ftl.erases().iter().map(|n| u64::from(*n)).sum()
}

impl<F: Ftl> Ssd<F> {
    fn new(ftl: F, spec: &SsdSpec, link: LinkSpec, capacity: Bytes) -> Ssd<F> {
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
        nand.counts.set_erased_before(erased_ever(&ftl));
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

    /// Handles the next event, if it is not after `until`; returns `false` if there is none.
    #[inline]
    fn step(&mut self, until: Nanos) -> bool {
        let Some((queue, slot)) = self.nand.events.pop(until) else { return false };
        match queue {
            Queue::Firmware => self.on_firmware_done(),
            Queue::Link => self.on_link_done(),
            Queue::Timer => self.on_idle_timer(),
            _ => {
                self.nand.on_event(queue, slot, &mut self.flash_events);
                // A handler only issues operations; none of them raises an event at once.
                for index in 0..self.flash_events.len() {
                    self.on_flash_event(self.flash_events[index]);
                }
                self.flash_events.clear();
                if self.idle.is_working() {
                    self.work_in_background();
                }
            }
        }
        while self.writes.take_room() {
            self.fetch_write_data();
        }
        if self.writes.wants_drain() {
            self.drain_if_due();
        }
        self.power.update_temperature(&self.nand);
        true
    }
}

impl<F: Ftl> Drive for Ssd<F> {
    fn capacity(&self) -> Bytes {
        self.addressing.capacity()
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Accept {
        assert!(request.end() <= self.addressing.capacity(), "request beyond the end of the drive");
        if self.requests.is_full() {
            return Accept::QueueFull;
        }
        while self.nand.events.is_due(now) {
            self.step(now);
        }
        self.nand.events.pass(now);
        self.accept(request);
        Accept::Accepted
    }

    fn next_event(&self) -> Option<Nanos> {
        // Answers wait until `advance` fetches them.
        self.requests.first_completion().or_else(|| self.nand.events.next())
    }

    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        while self.step(to) {}
        self.nand.events.pass(to.max(self.nand.events.now()));
        self.requests.hand_over(completions);
    }

    fn run(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        while self.requests.first_completion().is_none() && self.step(until) {}
        if self.requests.first_completion().is_none() && until != Nanos::NEVER {
            self.nand.events.pass(until);
        }
        self.requests.hand_over(completions);
        self.nand.events.now()
    }

    #[inline]
    fn prefetch_hint(&mut self, offset: Bytes) {
        self.ftl.prefetch_hint(self.addressing.page_at(offset));
    }

    fn observe(&mut self, observer: Box<dyn Observer>) {
        assert!(self.requests.is_unused(), "a drive is observed from its first request on");
        self.nand.observe(observer);
    }

    fn lose_power(&mut self, now: Nanos) -> Nanos {
        if !self.buffer.is_protected() {
            return now;
        }
        self.save_what_survives();
        self.nand.events.now().max(now)
    }

    fn recover(&mut self, flash: &Flash) -> bool {
        self.nand.set_erases(flash.blocks.iter().map(|block| block.erases));
        let can = self.ftl.recover(&mut self.nand, flash);
        let since = self.nand.counts.erases.iter().sum::<u64>();
        self.nand.counts.set_erased_before(erased_ever(&self.ftl) - since);
        can
    }

    fn check(&self) {
        self.ftl.check();
        self.check_wear();
        self.buffer.check();
        self.check_cache();
    }

    fn counters(&self) -> Vec<(String, f64)> {
        self.counter_values()
    }

    fn time_waits(&mut self) {
        self.firmware.time_waits();
        self.writes.time_waits();
        self.map_save.time_waits();
        self.map_misses.time_waits();
        self.link.time_waits();
        self.mark_stalls();
    }

    fn snapshots(&self, now: Nanos) -> Vec<Option<Snapshot>> {
        vec![Some(self.snapshot(now))]
    }

    fn mark(&mut self) {
        self.power.mark(&self.nand);
        self.nand.mark();
        self.mark_stalls();
        self.ftl.mark();
        self.link.mark();
        self.firmware.mark_busy();
    }
}

#[cfg(test)]
mod tests;
