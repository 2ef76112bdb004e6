//! The path of a request through the drive, event by event.

use super::link::Transfer;
use super::map_flush_queue::WaitsForMap;
use super::{FIRMWARE, Ssd};
use crate::events::Queue;
use crate::ftl::Ftl;
use crate::nand::{FlashEvent, IN_CELLS, page_of};
use assay_spec::{Bytes, Op, Request};
use std::ops::Range;

/// A request in flight.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    pub(super) request: Request,
    pub(super) pages: Range<u32>,
    /// For a write: the next page to fetch from the host.
    next: u32,
    /// Number of pages that are not done from the host's point of view.
    pub(super) left: u32,
    /// Whether the request covers whole pages only.
    pub(super) whole: bool,
    /// Whether the request reads a page with an uncorrectable error.
    pub(super) is_lost: bool,
}

/// Flag in a token's request number: a read-ahead page; the other bits are its window's epoch.
pub(super) const AHEAD: u32 = 1 << 31;

/// Returns the token of a flash operation on `page` for request `number`, or a number below.
pub(super) fn token(number: u32, page: u32) -> u64 {
    u64::from(number) << 32 | u64::from(page)
}

/// Request number of operations that serve no request.
pub(super) const NO_REQUEST: u32 = AHEAD - 1;
/// Request number of map pages and trim records for which other operations wait.
pub(crate) const MAP: u32 = AHEAD - 2;
/// Request number of map pages of a cached mapping table (DFTL).
pub(crate) const TABLE: u32 = AHEAD - 3;

impl<F: Ftl> Ssd<F> {
    /// Accepts a request into the firmware's queue. The queue depth must allow it.
    #[inline]
    pub(super) fn accept(&mut self, request: Request) {
        let end = request.end().0 + self.page.0 - 1;
        let (next, end) = (request.offset.0 >> self.page_bits, end >> self.page_bits);
        let (next, end) = (next as u32, end as u32);
        let whole = (request.offset.0 | request.length.0) & (self.page.0 - 1) == 0;
        let number = match self.free.pop() {
            Some(number) => number,
            None => self.another(),
        };
        // Field by field and not as a whole: see `Pool::put`.
        let flight = &mut self.requests[number as usize];
        flight.request.tag = request.tag;
        flight.request.op = request.op;
        flight.request.offset = request.offset;
        flight.request.length = request.length;
        flight.request.fua = request.fua;
        (flight.pages.start, flight.pages.end) = (next, end);
        (flight.next, flight.left) = (next, end - next);
        flight.whole = whole;
        flight.is_lost = false;
        if request.op == Op::Write && next < end {
            self.ftl.expect_write(next);
        }
        self.nand.events.cancel(Queue::Timer);
        self.is_working = false;
        self.firmware.push_back(number);
        if self.firmware.len() == 1 {
            let time = self.command_time();
            self.nand.events.after(Queue::Firmware, FIRMWARE, time);
        } else {
            self.waits_for_firmware();
        }
    }

    /// Adds a request slot and returns its number.
    #[cold]
    fn another(&mut self) -> u32 {
        let request =
            Request { tag: 0, op: Op::Read, offset: Bytes::ZERO, length: Bytes::ZERO, fua: false };
        let none = InFlight { request, pages: 0..0, next: 0, left: 0, whole: true, is_lost: false };
        self.requests.push(none);
        self.requests.len() as u32 - 1
    }

    /// Dispatches the first request of the firmware's queue and starts the next.
    #[inline]
    pub(super) fn on_firmware_done(&mut self) {
        self.firmware_total += self.command;
        let Some(number) = self.firmware.pop_front() else { return };
        self.tell_command(number);
        if !self.firmware.is_empty() {
            self.waited_for_firmware();
            let time = self.command_time();
            self.nand.events.after(Queue::Firmware, FIRMWARE, time);
        }
        match self.requests[number as usize].request.op {
            Op::Read => self.read(number),
            Op::Write | Op::Flush => {
                self.writes.push_back(number);
                // If not first, it waits for the writes before it.
                if self.writes.len() == 1 {
                    self.fetch_write_data();
                }
            }
            Op::Trim if !self.ftl.takes_trims() => self.refuse(number),
            Op::Trim if self.waits_for_map.is_empty() => {
                self.trim(number);
                self.complete(number);
                self.record_trims_if_due();
            }
            Op::Trim => {
                self.park(WaitsForMap::Trim(number, self.requests[number as usize].pages.clone()))
            }
        }
    }

    /// Fetches write data from the host in order while slots are free; answers finished flushes.
    pub(super) fn fetch_write_data(&mut self) {
        if self.saving > 0 && self.buffer.is_none() {
            return self.hold_back();
        }
        if self.wants_record && !self.is_flushed() {
            return;
        }
        self.wants_record = false;
        while let Some(number) = self.writes.front().copied() {
            let flight = &self.requests[number as usize];
            let (next, end, empty) = (flight.next, flight.pages.end, flight.left == 0);
            if flight.request.op == Op::Flush {
                if !self.is_protected && !self.is_flushed() {
                    return;
                }
                self.writes.pop_front();
                self.complete(number);
                continue;
            }
            let begins = next == flight.pages.start;
            if begins && self.refuses(number) {
                continue;
            }
            for page in next..end {
                if self.replaces(page) {
                    self.send_for(Transfer { number, page });
                    continue;
                }
                if self.buffer.as_mut().is_some_and(|b| !b.reserve()) {
                    self.requests[number as usize].next = page;
                    self.stall_for_slot();
                    self.wants_drain |= self.nand.has_multi_page();
                    // A page of an incomplete stripe holds a slot, so it must not wait forever.
                    return self.ftl.flush(&mut self.nand);
                }
                self.unprogrammed += 1;
                self.send_for(Transfer { number, page });
            }
            self.writes.pop_front();
            if empty {
                self.complete(number);
            }
        }
    }

    /// Fetches a page of a write from the host.
    #[inline]
    fn send_for(&mut self, transfer: Transfer) {
        self.got_slot();
        self.transfer(transfer);
    }

    /// Ends the transfer on the link, starts the next, and passes write data on.
    #[inline]
    pub(super) fn on_link_done(&mut self) {
        let Some(done) = self.on_link.take() else { return };
        self.tell_transfer(done);
        if let Some(next) = self.link.pop_front() {
            self.waited_for_link();
            self.begin_transfer(next);
        }
        let flight = &self.requests[done.number as usize];
        if flight.request.op == Op::Read {
            return self.page_done(done.number);
        }
        if let Some(ahead) = &mut self.readahead {
            ahead.written(done.page);
        }
        self.host_pages += 1;
        let request = &self.requests[done.number as usize];
        let is_part = !request.whole && self.share(&request.request, done.page) < self.page;
        let early = self.answers_early(done.number);
        match self.saving > 0 && self.buffer.is_some() {
            _ if self.cache.is_some() => self.keep(done),
            true => {
                let landing = self.landing(done);
                self.park(WaitsForMap::Page(landing, is_part));
            }
            false => self.stage_page(done, is_part),
        }
        if early {
            self.page_done(done.number);
        }
    }

    /// Returns `true` if write `number` is acknowledged in the buffer. An FUA write is not, unless
    /// there is a write-back cache: a flush follows it then.
    #[inline]
    pub(super) fn answers_early(&self, number: u32) -> bool {
        let waits = || self.forces(number) && self.cache.is_none();
        self.write_back && (number == NO_REQUEST || !waits())
    }

    /// Returns `true` if request `number` is FUA and the buffer has no power-loss protection.
    #[inline]
    fn forces(&self, number: u32) -> bool {
        self.requests[number as usize].request.fua && !self.is_protected
    }

    /// Issues the program of a whole page.
    pub(super) fn write(&mut self, transfer: Transfer) {
        let Transfer { number, page } = transfer;
        let run = match number {
            NO_REQUEST => self.run_of(page),
            _ => self.requests[number as usize].pages.clone(),
        };
        // With write-back only the slot waits for the program; with write-through the request does.
        let early = self.answers_early(number);
        let is_awaited = match &self.buffer {
            None => self.forces(number),
            // An FUA write may have joined a page of a write that is not FUA.
            Some(buffer) => !early || buffer.is_joined(page),
        };
        let number = if early { NO_REQUEST } else { number };
        let token = token(number, page) | if is_awaited { IN_CELLS } else { 0 };
        self.awaited += u64::from(self.hurries(token));
        let plane = self.ftl.write(&mut self.nand, page, &run, token);
        if let Some(buffer) = &mut self.buffer {
            buffer.fill(plane, page);
        }
        self.saving += self.ftl.save_map(&mut self.nand);
        // A program that a request waits for does not wait for the rest of its stripe.
        if is_awaited || !self.writes.is_empty() {
            self.ftl.flush(&mut self.nand);
        }
        self.wants_drain |= self.nand.has_multi_page();
    }

    /// Returns `true` if a request waits for a page that may wait in a multi-page program.
    #[inline]
    fn hurries(&self, token: u64) -> bool {
        self.nand.has_multi_page() && token & IN_CELLS != 0
    }

    /// Handles the end of a flash operation.
    #[inline]
    pub(super) fn on_flash_event(&mut self, event: FlashEvent) {
        match event {
            FlashEvent::Read(token) => self.page_read((token >> 32) as u32, page_of(token)),
            FlashEvent::Loaded(token) => {
                let number = (token >> 32) as u32;
                if token & IN_CELLS == 0 && number < TABLE {
                    self.page_done(number);
                }
            }
            FlashEvent::Programmed(token, plane) => {
                let number = ((token & !IN_CELLS) >> 32) as u32;
                if number == TABLE {
                    return;
                }
                if number == MAP {
                    self.saving -= 1;
                    self.unpark();
                    return self.fetch_write_data();
                }
                self.unprogrammed -= 1;
                self.awaited -= u64::from(self.hurries(token));
                self.frees_slot(token);
                let page = page_of(token);
                if let Some(buffer) = &mut self.buffer {
                    buffer.release(plane, page);
                }
                if token & IN_CELLS != 0 && number != NO_REQUEST {
                    self.page_done(number);
                }
                while let Some(joined) = self.buffer.as_mut().and_then(|b| b.joined(page)) {
                    self.page_done(joined);
                }
                self.fetch_write_data();
            }
        }
    }

    /// Passes a page read from the flash to the request, read-ahead, merge or map miss it is for.
    #[inline(always)]
    pub(super) fn page_read(&mut self, number: u32, page: u32) {
        if number == TABLE {
            return self.looked_up(page);
        }
        if number & AHEAD != 0 {
            let arrived = |r: &mut super::ReadAhead| r.arrived(page, number & !AHEAD);
            if let Some(number) = self.readahead.as_mut().and_then(arrived) {
                self.transfer(Transfer { number, page });
            }
            return;
        }
        let transfer = Transfer { number, page };
        let is_read = |flight: &InFlight| flight.request.op == Op::Read;
        match number != NO_REQUEST && is_read(&self.requests[number as usize]) {
            true => self.transfer(transfer),
            // The rest of a partly written page.
            false => {
                if let Some(buffer) = &mut self.buffer {
                    buffer.merged(page);
                }
                self.tell_resumed(Some(page));
                let is_lost = self.is_lost(page);
                self.write(transfer);
                if is_lost && let Some(ppa) = self.ftl.locate(page) {
                    self.nand.note_lost(ppa);
                }
                self.trim_merged(page);
            }
        }
    }
}
