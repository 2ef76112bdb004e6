//! Reads: a page comes from read-ahead, the write buffer or the flash.

use super::Ssd;
use super::link::Transfer;
use super::map_miss::EntryUse;
use super::read_ahead::Hit;
use crate::ftl::Ftl;
use crate::nand::{Cause, Ppa, Token, Waiter};
use std::ops::Range;

impl<F: Ftl> Ssd<F> {
    /// Reads the pages of request `number`, and reads ahead if its stream is sequential.
    pub(super) fn read(&mut self, number: u32) {
        let flight = &self.requests[number];
        let (pages, empty) = (flight.pages.clone(), flight.left == 0);
        let streaming = self.readahead.as_mut().is_some_and(|r| r.note(&pages));
        for page in pages.clone() {
            if self.waits_for_map(number, page) {
                continue;
            }
            let hit = self.readahead.as_mut().map_or(Hit::Miss, |r| r.take(page, number));
            if !matches!(hit, Hit::Miss) {
                self.note_if_lost(number, page);
            }
            match hit {
                Hit::There => self.transfer(Transfer { number, page }),
                Hit::OnItsWay => (),
                Hit::Miss => self.fetch(Transfer { number, page }),
            }
        }
        if streaming {
            self.read_ahead();
        }
        if empty {
            self.complete(number);
        }
    }

    /// Fetches a page from the buffer or the flash; first its mapping entry, if not in memory.
    #[inline]
    pub(super) fn fetch(&mut self, transfer: Transfer) {
        if !self.map_misses.may_miss() || !self.must_read_entry(EntryUse::Read(transfer)) {
            self.fetch_known(transfer);
        }
    }

    /// Fetches a page whose mapping entry is in memory.
    #[inline]
    pub(super) fn fetch_known(&mut self, transfer: Transfer) {
        let Transfer { number, page } = transfer;
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

    fn read_ahead(&mut self) {
        let Some(ahead) = &mut self.readahead else { return };
        let follows = |page: u32| {
            let ppas = self.ftl.locate(page - 1).zip(self.ftl.locate(page));
            ppas.is_some_and(|(before, ppa)| self.nand.geometry.follows(before, ppa))
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
            let back = missing.end.wrapping_sub(offset + 1);
            let page = if is_backward { back } else { missing.start + offset };
            let ppa = self.ftl.locate(page);
            let is_there = ppa.is_none_or(|ppa| self.nand.is_buffered(ppa));
            let Some(ahead) = &mut self.readahead else { return };
            let token = Token::new(Waiter::ReadAhead(ahead.put(page, is_there)), page);
            let is_known = is_there || !self.map_misses.may_miss();
            if is_known || !self.must_read_entry(EntryUse::Ahead(token)) {
                self.ftl.read(&mut self.nand, page, Cause::Ahead, token);
            }
        }
    }

    /// Returns `true` if newer data of one of `pages` has not been passed to the flash yet.
    fn is_any_new(&self, pages: &Range<u32>) -> bool {
        let is_merging = |page| self.buffer.is_merging(page);
        let is_new = |page: u32| is_merging(page) || self.has_waiting_write(page);
        pages.clone().any(is_new)
    }

    /// Reads the page of `token` ahead once its mapping entry is in memory; it may have changed
    /// meanwhile.
    pub(super) fn read_known_ahead(&mut self, token: Token) {
        if !self.ftl.read(&mut self.nand, token.page(), Cause::Ahead, token) {
            self.on_page_read(token.waiter(), token.page());
        }
    }

    /// Returns `true` if the write buffer holds `page` and a read must be served from there.
    #[inline]
    pub(super) fn is_buffered(&self, page: u32) -> bool {
        if self.buffer.unprogrammed() == 0 {
            return false;
        }
        // Otherwise a read from the flash waits behind the page's program on its plane.
        let serves_all = self.buffer.serves_reads();
        let is_on_its_way = |ppa: Ppa| self.buffer.is_on_its_way(ppa.plane, page);
        self.buffer.is_merging(page)
            || serves_all && self.ftl.locate(page).is_some_and(is_on_its_way)
    }
}
