//! The path of a request through the drive, event by event.

use super::Ssd;
use super::link::Transfer;
use super::map_save::WaitsForMap;
use crate::ftl::Ftl;
use crate::nand::{FlashEvent, Token, Waiter};
use assay_spec::{Op, Request};

/// A written page, or a part of one, on its way from the host or the buffer to the flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct StagedPage {
    /// The request that writes it. `None` if that has been answered, because another request can
    /// reuse its number.
    pub(super) request: Option<u32>,
    pub(super) page: u32,
    /// Whether the write covers only a part of the page.
    pub(super) is_part: bool,
}

impl<F: Ftl> Ssd<F> {
    /// Accepts a request into the firmware's queue. The queue depth must allow it.
    #[inline]
    pub(super) fn accept(&mut self, request: Request) {
        let pages = self.addressing.pages_of(&request);
        if request.op == Op::Write && !pages.is_empty() {
            self.ftl.prefetch_old_copy(pages.start);
        }
        let is_whole = self.addressing.is_whole(&request);
        let number = self.requests.add(request, pages, is_whole);
        self.idle.stop(&mut self.nand.events);
        if self.firmware.queue(number, self.nand.events.now()) {
            self.begin_command();
        }
    }

    /// Begins the first command of the firmware's queue, delayed by throttling.
    #[inline]
    fn begin_command(&mut self) {
        let pause = self.power.throttle(&self.nand);
        self.firmware.begin(pause, &mut self.nand.events);
    }

    /// Dispatches the first request of the firmware's queue and starts the next.
    #[inline]
    pub(super) fn on_firmware_done(&mut self) {
        let Some(number) = self.firmware.end(self.nand.events.now()) else { return };
        self.tell_command(number);
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
            Op::Trim if !self.ftl.takes_trims() => self.refuse(number),
            Op::Trim if self.map_save.is_queue_empty() => {
                self.trim(number);
                self.complete(number);
                self.record_trims_if_due();
            }
            Op::Trim => {
                let pages = self.requests[number].pages.clone();
                self.wait_for_map(WaitsForMap::Trim(number, pages));
            }
        }
    }

    /// Flushes the cache or starts background work after an idle time.
    pub(super) fn on_idle_timer(&mut self) {
        let due = self.idle.expire(&mut self.nand.events);
        if due.flush {
            self.flush_all();
        }
        if due.background {
            self.work_in_background();
        }
    }

    /// Starts one step of background work on each idle plane. Called again after each flash event
    /// while there is background work.
    pub(super) fn work_in_background(&mut self) {
        self.report_origin(None);
        let goes_on = self.ftl.background(&mut self.nand) || !self.nand.is_idle();
        self.idle.set_working(goes_on);
    }

    /// Fetches write data from the host in order while slots are free; answers finished flushes.
    pub(super) fn fetch_write_data(&mut self) {
        if self.map_save.is_under_way() && self.buffer.slots().is_none() {
            if !self.writes.is_empty() {
                self.map_save.hold_back(self.nand.events.now());
            }
            return;
        }
        if self.writes.wants_record() && !self.flush_or_done() {
            return;
        }
        self.writes.note_recorded();
        while let Some(number) = self.writes.first() {
            let flight = &self.requests[number];
            let (next, end, empty) = (flight.next, flight.pages.end, flight.left == 0);
            if flight.request.op == Op::Flush {
                if !self.buffer.is_protected() && !self.flush_or_done() {
                    return;
                }
                self.writes.pop();
                self.complete(number);
                continue;
            }
            let begins = next == flight.pages.start;
            if begins && self.refuse_if_worn_out(number) {
                continue;
            }
            for page in next..end {
                if self.expect_rewrite(page) {
                    self.fetch_from_host(Transfer { number, page });
                    continue;
                }
                if !self.buffer.reserve() {
                    self.requests[number].next = page;
                    self.writes.begin_wait(self.nand.events.now());
                    self.writes.want_drain(self.nand.has_multi_page());
                    // A page of an incomplete stripe holds a slot, so it must not wait forever.
                    return self.ftl.release_stripe(&mut self.nand);
                }
                self.fetch_from_host(Transfer { number, page });
            }
            self.writes.pop();
            if empty {
                self.complete(number);
            }
        }
    }

    /// Fetches a page of a write from the host.
    #[inline]
    fn fetch_from_host(&mut self, transfer: Transfer) {
        self.writes.end_wait(self.nand.events.now());
        self.transfer(transfer);
    }

    /// Begins a transfer over the host link, or queues it.
    #[inline]
    pub(super) fn transfer(&mut self, transfer: Transfer) {
        self.link.transfer(transfer, &self.requests, &mut self.nand.events);
    }

    /// Ends the transfer on the link, starts the next, and passes write data on.
    #[inline]
    pub(super) fn on_link_done(&mut self) {
        let Some(done) = self.link.end(&self.requests, &mut self.nand.events) else { return };
        self.tell_transfer(done);
        let flight = &self.requests[done.number];
        if flight.request.op == Op::Read {
            return self.page_done(done.number);
        }
        if let Some(ahead) = &mut self.readahead {
            ahead.written(done.page);
        }
        let request = &self.requests[done.number];
        let is_part = !request.whole
            && self.addressing.share(&request.request, done.page) < self.addressing.page();
        let early = self.answers_early(Some(done.number));
        let staged = StagedPage { request: Some(done.number), page: done.page, is_part };
        match self.map_save.is_under_way() && self.buffer.slots().is_some() {
            _ if self.cache.is_some() => self.add_to_cache(done),
            true => {
                let staged = self.waiting_write(staged);
                self.wait_for_map(WaitsForMap::Page(staged));
            }
            false => self.stage_page(staged),
        }
        if early {
            self.page_done(done.number);
        }
    }

    /// Returns `true` if the write of `request` is acknowledged in the buffer, or was. An FUA write
    /// is not, unless there is a write-back cache: a flush follows it then.
    #[inline]
    pub(super) fn answers_early(&self, request: Option<u32>) -> bool {
        let waits = |number| self.must_reach_cells(number) && self.cache.is_none();
        self.buffer.is_write_back() && !request.is_some_and(waits)
    }

    /// Returns `true` if request `number` is FUA and the buffer has no power-loss protection.
    #[inline]
    fn must_reach_cells(&self, number: u32) -> bool {
        self.requests[number].request.fua && !self.buffer.is_protected()
    }

    /// Issues the program of a whole page.
    pub(super) fn write(&mut self, request: Option<u32>, page: u32) {
        let run = match request {
            None => self.run_of(page),
            Some(number) => self.requests[number].pages.clone(),
        };
        // With write-back only the slot waits for the program; with write-through the request does.
        let early = self.answers_early(request);
        let is_awaited = match self.buffer.slots() {
            None => request.is_some_and(|number| self.must_reach_cells(number)),
            // An FUA write may have joined a page of a write that is not FUA.
            Some(_) => !early || self.buffer.is_joined(page),
        };
        let waiter = request.filter(|_| !early).map_or(Waiter::Buffer, Waiter::Request);
        let token = Token::new(waiter, page);
        let token = if is_awaited { token.in_cells() } else { token };
        self.writes.await_pages(self.awaited_multi_page(token));
        let plane = self.ftl.write(&mut self.nand, page, &run, token);
        self.buffer.fill(plane, page);
        self.map_save.add(self.ftl.checkpoint_if_due(&mut self.nand));
        // A program that a request waits for does not wait for the rest of its stripe.
        if is_awaited || !self.writes.is_empty() {
            self.ftl.release_stripe(&mut self.nand);
        }
        self.writes.want_drain(self.nand.has_multi_page());
    }

    /// Returns 1 if a request waits for a page that may wait in a multi-page program, otherwise 0.
    #[inline]
    fn awaited_multi_page(&self, token: Token) -> u64 {
        u64::from(self.nand.has_multi_page() && token.waits_for_cells())
    }

    /// Handles the end of a flash operation.
    #[inline]
    pub(super) fn on_flash_event(&mut self, event: FlashEvent) {
        match event {
            FlashEvent::Read(token) => self.on_page_read(token.waiter(), token.page()),
            FlashEvent::Loaded(token) => {
                if !token.waits_for_cells()
                    && let Waiter::Request(number) = token.waiter()
                {
                    self.page_done(number);
                }
            }
            FlashEvent::Programmed(token, plane) => {
                match token.waiter() {
                    Waiter::MapMiss => return,
                    Waiter::MapSave => {
                        self.on_map_page_saved();
                        return self.fetch_write_data();
                    }
                    Waiter::Request(_) | Waiter::ReadAhead(_) | Waiter::Buffer => {}
                }
                self.writes.end_awaited(self.awaited_multi_page(token));
                self.writes.note_programmed(token.is_behind_collection());
                let page = token.page();
                self.buffer.release(plane, page);
                if token.waits_for_cells()
                    && let Waiter::Request(number) = token.waiter()
                {
                    self.page_done(number);
                }
                while let Some(joined) = self.buffer.take_joined(page) {
                    self.page_done(joined);
                }
                self.fetch_write_data();
            }
        }
    }

    /// Passes page `page`, read from the flash, to its waiter.
    #[inline(always)]
    pub(super) fn on_page_read(&mut self, waiter: Waiter, page: u32) {
        match waiter {
            Waiter::Request(number) => match self.requests[number].request.op {
                Op::Read => self.transfer(Transfer { number, page }),
                _ => self.on_rest_read(Some(number), page),
            },
            Waiter::Buffer => self.on_rest_read(None, page),
            Waiter::ReadAhead(window) => {
                let arrived = |r: &mut super::ReadAhead| r.arrived(page, window);
                if let Some(number) = self.readahead.as_mut().and_then(arrived) {
                    self.transfer(Transfer { number, page });
                }
            }
            Waiter::MapMiss => self.on_map_page_read(page),
            // Only programs save the map.
            Waiter::MapSave => {}
        }
    }

    /// Writes `page`, of which a write covers a part, after the rest has been read from the flash.
    fn on_rest_read(&mut self, request: Option<u32>, page: u32) {
        self.buffer.end_merge(page);
        self.report_origin(Some(page));
        let is_lost = self.is_lost(page);
        self.write(request, page);
        if is_lost && let Some(ppa) = self.ftl.locate(page) {
            self.nand.note_lost(ppa);
        }
        self.trim_merged(page);
    }
}
