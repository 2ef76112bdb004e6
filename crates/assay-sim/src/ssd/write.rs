//! Writes, trims and flushes: from the host through the buffer into the cells.

use super::Ssd;
use super::buffer::StagedPage;
use super::link::LinkTransfer;
use super::map_miss::EntryUse;
use super::map_save::WaitsForMap;
use super::observe::report_origin;
use super::requests::EROFS;
use super::write_back_cache::WriteBackCache;
use crate::ftl::Ftl;
use crate::lpn::Lpn;
use crate::nand::{Cause, FlashEvent, Observed, Token, Waiter};
use assay_spec::{Nanos, Op};

impl<F: Ftl> Ssd<F> {
    /// Fetches write data from the host in order while slots are free; answers finished flushes.
    pub(super) fn fetch_write_data(&mut self) {
        if self.map_save.is_under_way() && self.buffer.slots().is_none() {
            if !self.writes.is_empty() {
                self.map_save.hold_back(self.nand.now());
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
            for page in Lpn::iter(next..end) {
                if self.cache.as_mut().is_some_and(|cache| cache.expect_data(page)) {
                    self.fetch_from_host(LinkTransfer { number, page });
                    continue;
                }
                if !self.buffer.reserve() {
                    self.requests[number].next = page;
                    self.writes.begin_wait(self.nand.now());
                    self.writes.want_drain(self.nand.chips.has_multi_page());
                    // A page of an incomplete stripe holds a slot, so it must not wait forever.
                    return self.ftl.release_stripe(&mut self.nand);
                }
                self.fetch_from_host(LinkTransfer { number, page });
            }
            self.writes.pop();
            if empty {
                self.complete(number);
            }
        }
    }

    /// Refuses write `number`, the first in the queue, if the flash is worn out; returns `true` if
    /// it did. A write that has begun is not refused, because the flash has room for it.
    #[inline]
    fn refuse_if_worn_out(&mut self, number: u32) -> bool {
        let is_refused = self.ftl.is_worn_out();
        if is_refused {
            self.writes.pop();
            self.answer(number, EROFS);
        }
        is_refused
    }

    /// Fetches a page of a write from the host.
    #[inline]
    fn fetch_from_host(&mut self, transfer: LinkTransfer) {
        self.writes.end_wait(self.nand.now());
        self.transfer(transfer);
    }

    /// Returns `true` if the drive acknowledges the write of `request` when its data is in the
    /// buffer. It does not for an FUA write, except with a write-back cache: a flush follows then.
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

    /// Adds a page that the link has transferred, or a part of one, to the write-back cache, and
    /// evicts pages if needed.
    #[inline(never)]
    pub(super) fn add_to_cache(&mut self, LinkTransfer { number, page }: LinkTransfer) {
        let part = self.addressing.part_of(&self.requests[number].request, page);
        let is_flushing = self.is_flushing();
        let Some(cache) = &mut self.cache else { return };
        let has_own_slot = cache.put(page, part, is_flushing);
        if has_own_slot {
            self.buffer.unreserve();
        }
        self.evict();
        // A write that waits for a slot may need none, now that its page is dirty.
        self.writes.note_room(has_own_slot || !self.writes.is_empty());
    }

    /// Passes all dirty pages to the flash.
    pub(super) fn flush_all(&mut self) {
        if let Some(cache) = &mut self.cache {
            cache.flush();
            self.evict();
        }
    }

    /// Passes dirty pages to the flash, the oldest first, while there are too many.
    fn evict(&mut self) {
        while !self.map_save.is_under_way()
            && let Some(staged) = self.cache.as_mut().and_then(WriteBackCache::evict)
        {
            report_origin(&mut self.nand, Some(staged.page));
            self.stage_page(staged);
        }
        if let Some(cache) = &mut self.cache {
            cache.end_run();
        }
    }

    /// Passes a page from the host, or a part of one, to the flash. If its mapping entry is not in
    /// memory, reads that first.
    #[inline]
    pub(super) fn stage_page(&mut self, staged: StagedPage) {
        if !self.map_misses.may_miss()
            || !self.must_read_entry(EntryUse::Write(self.waiting_write(staged)))
        {
            self.stage_known(staged);
        }
    }

    /// Passes a page to the flash; its mapping entry must be in memory.
    #[inline]
    pub(super) fn stage_known(&mut self, staged: StagedPage) {
        let StagedPage { request, page, is_part } = staged;
        let awaited_by = request.filter(|_| !self.answers_early(request));
        if self.buffer.is_merging(page) {
            // It joins the older part of the same page, which is still merging.
            self.buffer.take_deferred_trim(page);
            self.buffer.unreserve();
            if let Some(number) = awaited_by {
                self.buffer.join(page, number);
            }
            // Not `fetch_write_data` here: a flush would pass on more pages, which may join others.
            self.writes.note_room(true);
            return;
        }
        let merges = is_part && !self.is_buffered(page);
        let is_on_flash = |ppa| !self.nand.chips.is_buffered(ppa);
        if merges && self.ftl.locate(page).is_some_and(is_on_flash) {
            // The rest of a partly written page is read first; `on_rest_read` continues.
            self.buffer.begin_merge(page);
            let waiter = awaited_by.map_or(Waiter::Buffer, Waiter::Request);
            self.ftl.read(&mut self.nand, page, Cause::Partial, Token::new(waiter, page));
        } else {
            self.write(request, page);
        }
    }

    /// Returns the staged page to keep for later: without its request if that is answered early.
    pub(super) fn waiting_write(&self, staged: StagedPage) -> StagedPage {
        let request = staged.request.filter(|_| !self.answers_early(staged.request));
        StagedPage { request, ..staged }
    }

    /// Issues the program of a whole page.
    pub(super) fn write(&mut self, request: Option<u32>, page: Lpn) {
        let run = match request {
            None => self.cache.as_ref().map_or(page..page + 1, |cache| cache.run_of(page)),
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
        if self.is_awaited_multi_page(token) {
            self.writes.await_page();
        }
        let plane = self.ftl.write(&mut self.nand, page, &run, token);
        self.buffer.fill(plane, page);
        self.map_save.add(self.ftl.checkpoint_if_due(&mut self.nand));
        // A program that a request waits for does not wait for the rest of its stripe.
        if is_awaited || !self.writes.is_empty() {
            self.ftl.release_stripe(&mut self.nand);
        }
        self.writes.want_drain(self.nand.chips.has_multi_page());
    }

    /// Returns `true` if a request waits for a page that may wait in a multi-page program.
    #[inline]
    fn is_awaited_multi_page(&self, token: Token) -> bool {
        self.nand.chips.has_multi_page() && token.waits_for_cells()
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
                if self.is_awaited_multi_page(token) {
                    self.writes.end_awaited_page();
                }
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

    /// Writes `page`, which a write covers in part. The rest has been read from the flash.
    pub(super) fn on_rest_read(&mut self, request: Option<u32>, page: Lpn) {
        self.buffer.end_merge(page);
        report_origin(&mut self.nand, Some(page));
        let is_lost = self.is_lost(page);
        self.write(request, page);
        if is_lost && let Some(ppa) = self.ftl.locate(page) {
            self.nand.note_lost(ppa);
        }
        if self.buffer.take_deferred_trim(page) {
            self.trim_page(page);
        }
    }

    /// Handles the end of a map page's program. If the whole map is saved, continues the queue
    /// until the next save begins.
    #[cold]
    pub(super) fn on_map_page_saved(&mut self) {
        self.map_save.end_page();
        if !self.map_save.is_under_way() {
            self.ftl.on_trims_recorded();
            self.map_save.release(self.nand.now());
            if self.map_save.pages_in_queue() == self.buffer.unprogrammed() {
                self.writes.note_map_save();
            }
        }
        while !self.map_save.is_under_way()
            && let Some(operation) = self.map_save.pop(self.nand.now())
        {
            match operation {
                WaitsForMap::Page(staged) => {
                    report_origin(&mut self.nand, Some(staged.page));
                    self.stage_page(staged);
                }
                WaitsForMap::Read(transfer) => self.fetch(transfer),
                WaitsForMap::Trim(number, _) => {
                    self.trim(number);
                    self.complete(number);
                }
            }
        }
        self.evict();
        self.record_trims_if_due();
    }

    pub(super) fn trim(&mut self, number: u32) {
        // Only pages covered as a whole lose their content.
        let request = self.requests[number].request;
        let pages = self.addressing.whole_pages_of(&request);
        for page in Lpn::iter(pages.clone()) {
            match self.has_waiting_write(page) {
                true => _ = self.must_read_entry(EntryUse::Trim(page)),
                false => self.trim_page(page),
            }
        }
        self.ftl.write_map_after_trims(&mut self.nand);
        let Some(cache) = &mut self.cache else { return };
        let slots = cache.trim(pages);
        (0..slots).for_each(|_| self.buffer.unreserve());
        self.writes.note_room(slots > 0);
    }

    /// Trims `page`; after its merge, if it is merging.
    #[inline]
    pub(super) fn trim_page(&mut self, page: Lpn) {
        if self.buffer.defer_trim(page) {
            return;
        }
        self.ftl.trim(page);
        if let Some(observer) = self.nand.observer() {
            observer.observe(Observed::Trimmed(page.0));
        }
    }

    /// Records the trims in the cells if enough of them wait.
    pub(super) fn record_trims_if_due(&mut self) {
        if self.ftl.are_trims_due() {
            self.writes.want_record();
            self.fetch_write_data();
        }
    }

    /// Returns `true` if all pages written before the first flush are in the cells; starts their
    /// programs if not.
    pub(super) fn flush_or_done(&mut self) -> bool {
        if self.map_save.is_under_way() {
            return false;
        }
        // Trims and writes that arrived during the recording are not covered by this flush.
        if self.writes.take_recorded() {
            return true;
        }
        self.flush_all();
        self.ftl.release_stripe(&mut self.nand);
        self.writes.want_drain(self.nand.chips.has_multi_page());
        if self.buffer.unprogrammed() > 0 {
            return false;
        }
        self.map_save.add(self.ftl.record_trims(&mut self.nand));
        let is_recording = self.map_save.is_under_way();
        self.writes.set_recorded(is_recording);
        !is_recording
    }

    /// Returns `true` if a flush is first in `writes`, or if the drive flushes for itself.
    pub(super) fn is_flushing(&self) -> bool {
        self.writes.wants_record()
            || !self.buffer.is_protected()
                && self.writes.first().is_some_and(|n| self.requests.is(n, Op::Flush))
    }

    /// Starts incomplete multi-page programs if a request waits for one of their pages or slots. It
    /// first waits for all fetched write data, because an incomplete program wastes flash pages.
    #[cold]
    pub(super) fn drain_if_due(&mut self) {
        let is_write = |t: LinkTransfer| self.requests.is(t.number, Op::Write);
        if self.link.transfers().any(is_write) || self.map_misses.has_writes() {
            return;
        }
        // Pages that wait for more pages free no slot. An erase that waits for the other planes of
        // its die frees none either, so it starts first.
        self.nand.erase_on_idle_planes();
        let is_stuck = || !self.writes.is_empty() && self.nand.is_at_rest();
        if self.writes.is_any_awaited() || self.is_flushing() || is_stuck() {
            self.ftl.program_gathered(&mut self.nand);
        }
        self.writes.note_drained();
    }

    /// Writes the protected buffer to the cells after a power cut. Panics if pages are left in it.
    #[cold]
    pub(super) fn save_what_survives(&mut self) {
        // Acts like a flush. The firmware's queue is dropped; transfers on the link still arrive.
        self.firmware.clear();
        self.idle.stop(&mut self.nand.chips.events);
        // A recording under way may lack later trims.
        self.writes.set_recorded(false);
        self.writes.want_record();
        self.buffer.end_protection();
        self.fetch_write_data();
        self.drain_if_due();
        while self.writes.wants_record() && self.step(Nanos::NEVER) {}
        assert!(!self.writes.wants_record(), "what is in the buffer goes to the cells");
    }
}
