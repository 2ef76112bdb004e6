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
pub(crate) mod build;
mod counters;
mod firmware;
mod idle;
mod link;
mod map_miss;
mod map_save;
mod observe;
mod power;
mod read;
mod read_ahead;
mod requests;
mod slots;
pub(crate) mod stall;
mod thermal;
mod write;
mod write_back_cache;
mod write_queue;

use crate::drive::{Accept, Counters, Drive, Inspect, PowerCut, Prefetch};
use crate::events::Queue;
use crate::ftl::{Ftl, erased_ever};
use crate::nand::{Flash, FlashEvent, Nand, Observer};
use addressing::Addressing;
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use buffer::{StagedPage, WriteBuffer};
use firmware::Firmware;
use idle::IdleTimer;
use link::{HostLink, LinkTransfer};
use map_miss::MapMisses;
use map_save::{MapSave, WaitsForMap};
use observe::{report_command, report_origin, report_transfer};
use power::PowerMeter;
use read_ahead::ReadAhead;
use requests::{EIO, EROFS, Requests};
pub use stall::{Snapshot, Stall};
use std::array;
use write_back_cache::WriteBackCache;
use write_queue::{SlotWait, WriteQueue};

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

impl<F: Ftl> Ssd<F> {
    /// Handles the next event, if it is not after `until`; returns `false` if there is none.
    #[inline]
    fn step(&mut self, until: Nanos) -> bool {
        let Some((queue, slot)) = self.nand.chips.events.pop(until) else { return false };
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

    /// Accepts a request into the firmware's queue. The queue depth must allow it.
    #[inline]
    fn accept(&mut self, request: Request) {
        let pages = self.addressing.pages_of(&request);
        if request.op == Op::Write && !pages.is_empty() {
            self.ftl.prefetch_old_copy(pages.start);
        }
        let is_whole = self.addressing.is_whole(&request);
        let number = self.requests.add(request, pages, is_whole);
        self.idle.stop(&mut self.nand.chips.events);
        if self.firmware.queue(number, self.nand.now()) {
            self.begin_command();
        }
    }

    /// Begins the first command of the firmware's queue, delayed by throttling.
    #[inline]
    fn begin_command(&mut self) {
        let pause = self.power.throttle(&self.nand);
        self.firmware.begin(pause, &mut self.nand.chips.events);
    }

    /// Dispatches the first request of the firmware's queue and starts the next.
    #[inline]
    fn on_firmware_done(&mut self) {
        let Some(number) = self.firmware.end(self.nand.now()) else { return };
        let request = &self.requests[number].request;
        let first = self.addressing.page_at(request.offset);
        report_command(&mut self.nand, request, first, self.firmware.command());
        if self.firmware.is_busy() {
            self.begin_command();
        }
        match self.requests[number].request.op {
            Op::Read => self.read(number),
            Op::Write | Op::Flush => {
                // If not first, it waits for the writes before it.
                if self.writes.push(number) {
                    self.fetch_write_data();
                }
            }
            Op::Trim if !self.ftl.takes_trims() => self.answer(number, EROFS),
            Op::Trim if self.map_save.is_queue_empty() => {
                self.trim(number);
                self.complete(number);
                self.record_trims_if_due();
            }
            Op::Trim => {
                let pages = self.requests[number].pages.clone();
                self.map_save.push(WaitsForMap::Trim(number, pages), self.nand.now());
            }
        }
    }

    /// Ends the transfer on the link, starts the next, and passes write data on.
    #[inline]
    fn on_link_done(&mut self) {
        let Some(done) = self.link.end(&self.requests, &mut self.nand.chips.events) else { return };
        let flight = &self.requests[done.number];
        let time = || self.link.time(done, &self.requests);
        report_transfer(&mut self.nand, &flight.request, done.page, time);
        if flight.request.op == Op::Read {
            return self.page_done(done.number);
        }
        if let Some(ahead) = &mut self.readahead {
            ahead.written(done.page);
        }
        let is_part = !flight.whole
            && self.addressing.share(&flight.request, done.page) < self.addressing.page();
        let early = self.answers_early(Some(done.number));
        let staged = StagedPage { request: Some(done.number), page: done.page, is_part };
        match self.map_save.is_under_way() && self.buffer.slots().is_some() {
            _ if self.cache.is_some() => self.add_to_cache(done),
            true => {
                let staged = self.waiting_write(staged);
                self.map_save.push(WaitsForMap::Page(staged), self.nand.now());
            }
            false => self.stage_page(staged),
        }
        if early {
            self.page_done(done.number);
        }
    }

    /// Begins a transfer over the host link, or queues it.
    #[inline]
    fn transfer(&mut self, transfer: LinkTransfer) {
        self.link.transfer(transfer, &self.requests, &mut self.nand.chips.events);
    }

    /// Flushes the cache or starts background work after an idle time.
    fn on_idle_timer(&mut self) {
        let due = self.idle.expire(&mut self.nand.chips.events);
        if due.flush {
            self.flush_all();
        }
        if due.background {
            self.work_in_background();
        }
    }

    /// Starts one step of background work on each idle plane. Called again after each flash event
    /// while there is background work.
    fn work_in_background(&mut self) {
        report_origin(&mut self.nand, None);
        let goes_on = self.ftl.background(&mut self.nand) || !self.nand.is_idle();
        self.idle.set_working(goes_on);
    }

    /// Counts a page of a request as done; after the last page, completes the request.
    #[inline]
    fn page_done(&mut self, number: u32) {
        let flight = &mut self.requests[number];
        flight.left -= 1;
        if flight.left > 0 {
            return;
        }
        let is_forced = flight.request.op == Op::Write && flight.request.fua;
        if is_forced && self.cache.is_some() && !self.buffer.is_protected() {
            // An FUA write with a write-back cache is answered by a flush of the cache.
            self.requests[number].request.op = Op::Flush;
            self.writes.push(number);
            return self.fetch_write_data();
        }
        self.complete(number);
    }

    #[inline]
    fn complete(&mut self, number: u32) {
        let is_lost = self.requests[number].is_lost;
        self.answer(number, if is_lost { EIO } else { 0 });
    }

    #[inline]
    fn answer(&mut self, number: u32, error: i32) {
        self.requests.end(number, self.nand.now(), error);
        if self.requests.is_empty() {
            self.idle.start(&mut self.nand.chips.events);
        }
    }

    /// Returns number and time of the waits of each cause until `now`.
    fn stalled(&self, now: Nanos) -> [(u64, Nanos); Stall::COUNT] {
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
    fn mark_stalls(&mut self) {
        let now = self.nand.now();
        self.firmware.mark_waits(now);
        self.link.mark_waits(now);
        self.writes.mark_waits(now);
        self.map_save.mark_waits(now);
        self.map_misses.mark_waits(now);
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
        while self.nand.chips.events.is_due(now) {
            self.step(now);
        }
        self.nand.chips.events.pass(now);
        self.accept(request);
        Accept::Accepted
    }

    fn next_event(&self) -> Option<Nanos> {
        // Answers wait until `advance` fetches them.
        self.requests.first_completion().or_else(|| self.nand.chips.events.next())
    }

    fn advance(&mut self, to: Nanos, completions: &mut Vec<Completion>) {
        while self.step(to) {}
        self.nand.chips.events.pass(to.max(self.nand.now()));
        self.requests.hand_over(completions);
    }

    fn run(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        while self.requests.first_completion().is_none() && self.step(until) {}
        if self.requests.first_completion().is_none() && until != Nanos::NEVER {
            self.nand.chips.events.pass(until);
        }
        self.requests.hand_over(completions);
        self.nand.now()
    }
}

impl<F: Ftl> Counters for Ssd<F> {
    fn counters(&self) -> Vec<(String, f64)> {
        let mut all = counters::flash_counters(&self.nand);
        all.push(("link_busy_ns".to_owned(), self.link.busy().0 as f64));
        all.push(("firmware_busy_ns".to_owned(), self.firmware.busy().0 as f64));
        all.extend(self.power.counters(&self.nand));
        all.extend(counters::optional_flash_counters(&self.nand));
        all.extend(counters::write_amplification(&self.nand, self.link.pages_written()));
        if !self.ftl.erases().is_empty() {
            all.push(("free_blocks".to_owned(), self.ftl.free_blocks() as f64));
            all.extend(counters::wear(self.ftl.erases()));
        }
        if self.firmware.times_waits() {
            all.extend(counters::stall_counters(self.stalled(self.nand.now())));
        }
        all.extend(self.ftl.counters());
        all
    }

    fn time_waits(&mut self) {
        self.firmware.time_waits();
        self.writes.time_waits();
        self.map_save.time_waits();
        self.map_misses.time_waits();
        self.link.time_waits();
        self.mark_stalls();
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

impl<F: Ftl> Inspect for Ssd<F> {
    fn observe(&mut self, observer: Box<dyn Observer>) {
        assert!(self.requests.is_unused(), "a drive is observed from its first request on");
        self.nand.observe(observer);
    }

    fn check(&self) {
        self.ftl.check();
        let counted = self.nand.chips.counts.erased_ever();
        assert_eq!(erased_ever(&self.ftl), counted, "erases of all blocks");
        assert!(self.nand.has_erases(self.ftl.erases()), "wrong bits go by other erases");
        self.buffer.check();
        if let Some(cache) = &self.cache {
            cache.check(self.buffer.unprogrammed(), self.map_save.is_under_way());
        }
    }

    fn snapshots(&self, now: Nanos) -> Vec<Option<Snapshot>> {
        let stalled = self.stalled(now).map(|(_, time)| time);
        vec![Some(Snapshot { free_blocks: self.ftl.free_blocks(), stalled })]
    }
}

impl<F: Ftl> PowerCut for Ssd<F> {
    fn lose_power(&mut self, now: Nanos) -> Nanos {
        if !self.buffer.is_protected() {
            return now;
        }
        self.save_what_survives();
        self.nand.now().max(now)
    }

    fn recover(&mut self, flash: &Flash) -> bool {
        self.nand.set_erases(flash.blocks.iter().map(|block| block.erases));
        let can = self.ftl.recover(&mut self.nand, flash);
        let since = self.nand.chips.counts.erases.iter().sum::<u64>();
        self.nand.chips.counts.set_erased_before(erased_ever(&self.ftl) - since);
        can
    }
}

impl<F: Ftl> Prefetch for Ssd<F> {
    #[inline]
    fn prefetch_hint(&mut self, offset: Bytes) {
        self.ftl.prefetch_hint(self.addressing.page_at(offset));
    }
}

#[cfg(test)]
mod tests;
