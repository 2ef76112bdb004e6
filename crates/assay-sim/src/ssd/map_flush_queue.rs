//! What waits while the map is saved. A map that is being written must not change: the buffer takes
//! what it has room for, and gives nothing to the flash before the map is in the cells. Then
//! everything goes on in the order in which it came.

use super::Ssd;
use super::flow::{NO_REQUEST, token};
use super::link::Transfer;
use super::map_miss::EntryUse;
use crate::ftl::Ftl;
use crate::nand::Cause;
use std::ops::Range;

/// Something that waits for the map.
pub(super) enum WaitsForMap {
    /// A page in the buffer, or only a part of it.
    Page(Transfer, bool),
    /// A page to be read that waits in front of it.
    Read(Transfer),
    /// A request that trims these pages.
    Trim(u32, Range<u32>),
}

impl WaitsForMap {
    /// Whether it changes where one of `pages` is.
    pub(super) fn is_in(&self, pages: &Range<u32>) -> bool {
        match self {
            WaitsForMap::Page(transfer, _) => pages.contains(&transfer.page),
            WaitsForMap::Read(_) => false,
            WaitsForMap::Trim(_, trimmed) => trimmed.start < pages.end && pages.start < trimmed.end,
        }
    }
}

impl<F: Ftl> Ssd<F> {
    pub(super) fn park(&mut self, waits_for_map: WaitsForMap) {
        if !matches!(waits_for_map, WaitsForMap::Page(..)) {
            self.waits_for_saving();
        }
        self.waits_for_map.push_back(waits_for_map);
    }

    /// Whether `page`, which request `number` reads, was written or trimmed since the map began to
    /// be saved. If so, it is answered from the buffer, or will be when the map is saved.
    #[inline]
    pub(super) fn waits_for_map(&mut self, number: u32, page: u32) -> bool {
        !self.waits_for_map.is_empty() && self.waits_for_parked(Transfer { number, page })
    }

    #[cold]
    fn waits_for_parked(&mut self, transfer: Transfer) -> bool {
        let page = transfer.page..transfer.page + 1;
        let Some(last) = self.waits_for_map.iter().rfind(|p| p.is_in(&page)) else { return false };
        match last {
            WaitsForMap::Page(_, false) if self.reads_buffer => self.transfer(transfer),
            _ => self.park(WaitsForMap::Read(transfer)),
        }
        true
    }

    /// Pages in the buffer that wait.
    pub(super) fn parked_pages(&self) -> u64 {
        self.waits_for_map.iter().filter(|p| matches!(p, WaitsForMap::Page(..))).count() as u64
    }

    /// The map is saved, if nothing is left of it: what waited goes on, until it is due again.
    #[cold]
    pub(super) fn unpark(&mut self) {
        if self.saving == 0 {
            self.ftl.trims_are_recorded();
            self.map_is_saved();
        }
        while self.saving == 0
            && let Some(waits_for_map) = self.waits_for_map.pop_front()
        {
            if !matches!(waits_for_map, WaitsForMap::Page(..)) {
                self.waited_for_saving();
            }
            match waits_for_map {
                WaitsForMap::Page(transfer, is_part) => {
                    self.tell_resumed(Some(transfer.page));
                    self.stage_page(transfer, is_part);
                }
                WaitsForMap::Read(transfer) => self.fetch(transfer),
                WaitsForMap::Trim(number, _) => {
                    self.trim(number);
                    self.complete(number);
                }
            }
        }
        self.give();
        self.record_trims_if_due();
    }

    pub(super) fn trim(&mut self, number: u32) {
        // Only pages covered as a whole lose their content.
        let request = self.requests[number as usize].request;
        let first = request.offset.0.div_ceil(self.page.0) as u32;
        let end = (request.end().0 / self.page.0) as u32;
        for page in first..end {
            match !self.map_misses.is_empty() && self.is_landing(page) {
                true => _ = self.must_read_entry(EntryUse::Trim(page)),
                false => self.trim_when_written(page),
            }
        }
        self.ftl.have_been_trimmed(&mut self.nand);
        self.drop_waiting(first..end);
    }

    /// `page` loses its content; if it is being made whole, when that is done.
    #[inline]
    pub(super) fn trim_when_written(&mut self, page: u32) {
        if !self.buffer.as_mut().is_some_and(|b| b.trims_merging(page)) {
            self.trim_page(page);
        }
    }

    /// The merged `page` is given to the flash: if it has been trimmed meanwhile, it is now.
    #[inline]
    pub(super) fn trim_merged(&mut self, page: u32) {
        if self.buffer.as_mut().is_some_and(|b| b.was_trimmed(page)) {
            self.trim_page(page);
        }
    }

    fn trim_page(&mut self, page: u32) {
        self.ftl.trim(page);
        if let Some(observer) = self.nand.observer() {
            observer.trimmed(page);
        }
    }

    /// If many trims wait to be written down, they are.
    pub(super) fn record_trims_if_due(&mut self) {
        if self.ftl.are_trims_due() {
            self.wants_record = true;
            self.fetch_write_data();
        }
    }

    /// A page, or a part of one, that the host has sent is given to the flash.
    #[inline]
    pub(super) fn stage_page(&mut self, done: Transfer, is_part: bool) {
        if !self.may_miss_map || !self.must_read_entry(EntryUse::Land(self.landing(done), is_part))
        {
            self.land_known(done, is_part);
        }
    }

    #[inline]
    pub(super) fn land_known(&mut self, done: Transfer, is_part: bool) {
        if self.buffer.as_ref().is_some_and(|b| b.is_merging(done.page)) {
            // It joins the older part of the same page, which is still waiting to be made whole.
            self.unprogrammed -= 1;
            let early = self.answers_early(done.number);
            let Some(buffer) = &mut self.buffer else { return };
            buffer.was_trimmed(done.page);
            buffer.give_back();
            if !early {
                buffer.join(done.page, done.number);
            }
            // Not here: a flush would give away more, which may join others.
            self.has_room = true;
            return;
        }
        let merges = is_part && !self.is_buffered(done.page);
        let is_on_flash = |ppa| !self.nand.is_buffered(ppa);
        if merges && self.ftl.locate(done.page).is_some_and(is_on_flash) {
            // The rest of a page that is written in part is read first; `page_read` goes on.
            let early = self.answers_early(done.number);
            let number = match &mut self.buffer {
                Some(buffer) => {
                    buffer.merge(done.page);
                    if early { NO_REQUEST } else { done.number }
                }
                None => done.number,
            };
            self.ftl.read(&mut self.nand, done.page, Cause::Partial, token(number, done.page));
        } else {
            self.write(done);
        }
    }
}
