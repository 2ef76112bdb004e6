//! Reads: a page comes from read-ahead, the write buffer or the flash, its mapping entry from
//! memory or the flash.

use super::Ssd;
use super::link::LinkTransfer;
use super::map_miss::EntryUse;
use super::map_save::WaitsForMap;
use super::observe::report_origin;
use super::read_ahead::{Hit, ReadAhead};
use crate::ftl::Ftl;
use crate::lpn::Lpn;
use crate::nand::{Cause, Ppa, Token, Waiter};
use assay_spec::Op;
use std::ops::Range;

impl<F: Ftl> Ssd<F> {
    /// Reads the pages of request `number`, and reads ahead if its stream is sequential.
    pub(super) fn read(&mut self, number: u32) {
        let flight = &self.requests[number];
        let (pages, empty) = (flight.pages.clone(), flight.left == 0);
        let streaming = self.readahead.as_mut().is_some_and(|r| r.note(&pages));
        for page in Lpn::iter(pages) {
            if self.waits_for_map(number, page) {
                continue;
            }
            let hit = self.readahead.as_mut().map_or(Hit::Miss, |r| r.take(page, number));
            if !matches!(hit, Hit::Miss) {
                self.note_if_lost(number, page);
            }
            match hit {
                Hit::There => self.transfer(LinkTransfer { number, page }),
                Hit::OnItsWay => (),
                Hit::Miss => self.fetch(LinkTransfer { number, page }),
            }
        }
        if streaming {
            self.read_ahead();
        }
        if empty {
            self.complete(number);
        }
    }

    /// Returns `true` if `page`, read by request `number`, was written or trimmed since the save
    /// began. The buffer serves it now, or the read waits until the map is saved.
    #[inline]
    pub(super) fn waits_for_map(&mut self, number: u32, page: Lpn) -> bool {
        !self.map_save.is_queue_empty() && self.waits_for_change(LinkTransfer { number, page })
    }

    #[cold]
    fn waits_for_change(&mut self, transfer: LinkTransfer) -> bool {
        let page = transfer.page..transfer.page + 1;
        let Some(last) = self.map_save.last_change(&page) else { return false };
        match last {
            WaitsForMap::Page(staged) if self.buffer.serves_reads() && !staged.is_part => {
                self.transfer(transfer)
            }
            _ => self.map_save.push(WaitsForMap::Read(transfer), self.nand.now()),
        }
        true
    }

    /// Fetches a page from the buffer or the flash; first its mapping entry, if not in memory.
    #[inline]
    pub(super) fn fetch(&mut self, transfer: LinkTransfer) {
        if !self.map_misses.may_miss() || !self.must_read_entry(EntryUse::Read(transfer)) {
            self.fetch_known(transfer);
        }
    }

    /// Fetches a page whose mapping entry is in memory.
    #[inline]
    pub(super) fn fetch_known(&mut self, transfer: LinkTransfer) {
        let LinkTransfer { number, page } = transfer;
        let is_there = self.is_read_in_cache(transfer)
            || self.is_buffered(page)
            || !self.ftl.read(
                &mut self.nand,
                page,
                Cause::Host,
                Token::new(Waiter::Request(number), page),
            );
        match is_there {
            true => self.transfer(transfer),
            false => self.note_if_lost(number, page),
        }
    }

    /// Returns `true` if the write buffer holds `page` and a read must be served from there.
    #[inline]
    pub(super) fn is_buffered(&self, page: Lpn) -> bool {
        if self.buffer.unprogrammed() == 0 {
            return false;
        }
        // Otherwise a read from the flash waits behind the page's program on its plane.
        let serves_all = self.buffer.serves_reads();
        let is_on_its_way = |ppa: Ppa| self.buffer.is_on_its_way(ppa.plane, page);
        self.buffer.is_merging(page)
            || serves_all && self.ftl.locate(page).is_some_and(is_on_its_way)
    }

    /// Returns `true` if the write-back cache holds all that `transfer` reads.
    #[inline]
    fn is_read_in_cache(&self, LinkTransfer { number, page }: LinkTransfer) -> bool {
        self.cache.as_ref().is_some_and(|cache| {
            cache.has(page, &self.addressing.part_of(&self.requests[number].request, page))
        })
    }

    /// Passes page `page`, read from the flash, to its waiter.
    #[inline(always)]
    pub(super) fn on_page_read(&mut self, waiter: Waiter, page: Lpn) {
        match waiter {
            Waiter::Request(number) => match self.requests[number].request.op {
                Op::Read => self.transfer(LinkTransfer { number, page }),
                _ => self.on_rest_read(Some(number), page),
            },
            Waiter::Buffer => self.on_rest_read(None, page),
            Waiter::ReadAhead(window) => {
                let arrived = |r: &mut ReadAhead| r.arrived(page, window);
                if let Some(number) = self.readahead.as_mut().and_then(arrived) {
                    self.transfer(LinkTransfer { number, page });
                }
            }
            Waiter::MapMiss => self.on_map_page_read(page),
            // Only programs save the map.
            Waiter::MapSave => {}
        }
    }

    fn read_ahead(&mut self) {
        let Some(ahead) = &mut self.readahead else { return };
        let follows = |page: Lpn| {
            let ppas = self.ftl.locate(page - 1).zip(self.ftl.locate(page));
            ppas.is_some_and(|(before, ppa)| self.nand.chips.geometry.follows(before, ppa))
        };
        if !ahead.may_go_on(self.addressing.pages(), follows) {
            return;
        }
        let (missing, is_backward) = ahead.missing(self.addressing.pages());
        let waits = self.cache.as_ref().is_some_and(|cache| cache.is_any_in(&missing));
        if waits || self.map_save.last_change(&missing).is_some() || self.is_any_new(&missing) {
            return;
        }
        for offset in 0..missing.end - missing.start {
            let page = match is_backward {
                true => missing.end - (offset + 1),
                false => missing.start + offset,
            };
            let ppa = self.ftl.locate(page);
            let is_there = ppa.is_none_or(|ppa| self.nand.chips.is_buffered(ppa));
            let Some(ahead) = &mut self.readahead else { return };
            let token = Token::new(Waiter::ReadAhead(ahead.put(page, is_there)), page);
            let is_known = is_there || !self.map_misses.may_miss();
            if is_known || !self.must_read_entry(EntryUse::Ahead(token)) {
                self.ftl.read(&mut self.nand, page, Cause::Ahead, token);
            }
        }
    }

    /// Returns `true` if newer data of one of `pages` has not been passed to the flash yet.
    fn is_any_new(&self, pages: &Range<Lpn>) -> bool {
        let is_merging = |page| self.buffer.is_merging(page);
        let is_new = |page: Lpn| is_merging(page) || self.has_waiting_write(page);
        Lpn::iter(pages.clone()).any(is_new)
    }

    /// Reads the page of `token` ahead once its mapping entry is in memory; it may have changed
    /// meanwhile.
    pub(super) fn read_known_ahead(&mut self, token: Token) {
        if !self.ftl.read(&mut self.nand, token.page(), Cause::Ahead, token) {
            self.on_page_read(token.waiter(), token.page());
        }
    }

    /// Returns `true` if the mapping entry must be read first. `on_map_page_read` then continues
    /// the access.
    #[inline(never)]
    pub(super) fn must_read_entry(&mut self, entry_use: EntryUse) -> bool {
        let page = entry_use.page();
        let Some(map_page) = self.ftl.map_page(page) else { return false };
        // The cache has the newest data of a page; otherwise a waiting write has, and goes first.
        let is_kept = |t: LinkTransfer| self.is_read_in_cache(t);
        let is_buffered = |t: LinkTransfer| self.is_buffered(t.page);
        let is_behind = self.has_waiting_write(page);
        if entry_use.reads(is_kept)
            || !is_behind && (entry_use.reads(is_buffered) || self.ftl.has_entry(page))
        {
            return false;
        }
        if !self.map_misses.is_being_read(map_page) {
            let token = Token::new(Waiter::MapMiss, map_page);
            if !self.ftl.read(&mut self.nand, map_page, Cause::Map, token) {
                // The map page was never written, or is in the controller.
                self.ftl.cache_entry(page);
                return false;
            }
        }
        self.map_misses.push(map_page, entry_use, self.nand.now());
        true
    }

    /// Continues the accesses that waited for `map_page`, which has been read.
    pub(super) fn on_map_page_read(&mut self, map_page: Lpn) {
        for entry_use in self.map_misses.take(map_page, self.nand.now()) {
            let page = entry_use.page();
            self.ftl.cache_entry(page);
            match entry_use {
                EntryUse::Read(transfer) => {
                    self.fetch_known(transfer);
                }
                EntryUse::Ahead(token) => self.read_known_ahead(token),
                EntryUse::Write(staged) => {
                    report_origin(&mut self.nand, Some(page));
                    self.stage_known(staged);
                }
                EntryUse::Trim(page) => self.trim_page(page),
            }
        }
    }

    /// Returns `true` if a write of `page` waits for its mapping entry.
    pub(super) fn has_waiting_write(&self, page: Lpn) -> bool {
        !self.map_misses.is_empty()
            && self.ftl.map_page(page).is_some_and(|map| self.map_misses.has_write(map, page))
    }

    /// Returns `true` if the data of `page` on flash has an uncorrectable error, or was made
    /// from a page that had one.
    #[inline]
    pub(super) fn is_lost(&mut self, page: Lpn) -> bool {
        self.nand.has_ecc() && self.ftl.locate(page).is_some_and(|ppa| self.nand.chips.is_lost(ppa))
    }

    /// Notes that read `number` fails if the data of `page` on flash is lost. Called when the read
    /// takes the page.
    #[inline]
    pub(super) fn note_if_lost(&mut self, number: u32, page: Lpn) {
        if self.is_lost(page) {
            self.requests[number].is_lost = true;
        }
    }
}
