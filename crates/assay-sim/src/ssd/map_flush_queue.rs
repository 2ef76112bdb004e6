//! The queue of operations that wait while the map is saved. The map must not change meanwhile:
//! the buffer accepts pages while it has slots, but passes none to the flash until the map is in
//! the cells. The operations then continue in arrival order.

use super::Ssd;
use super::flow::StagedPage;
use super::link::Transfer;
use super::map_miss::EntryUse;
use crate::ftl::Ftl;
use crate::nand::{Cause, Token, Waiter};
use std::ops::Range;

/// An operation that waits until the map is saved.
pub(super) enum WaitsForMap {
    /// A page in the buffer.
    Page(StagedPage),
    /// A read of a page that an operation in this queue writes or trims.
    Read(Transfer),
    /// A trim: request number and pages.
    Trim(u32, Range<u32>),
}

impl WaitsForMap {
    /// Returns `true` if the operation changes the mapping of one of `pages`.
    pub(super) fn is_in(&self, pages: &Range<u32>) -> bool {
        match self {
            WaitsForMap::Page(staged) => pages.contains(&staged.page),
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

    /// Returns `true` if `page`, read by request `number`, was written or trimmed since the save
    /// began. The buffer serves it now, or the read waits until the map is saved.
    #[inline]
    pub(super) fn waits_for_map(&mut self, number: u32, page: u32) -> bool {
        !self.waits_for_map.is_empty() && self.waits_for_parked(Transfer { number, page })
    }

    #[cold]
    fn waits_for_parked(&mut self, transfer: Transfer) -> bool {
        let page = transfer.page..transfer.page + 1;
        let Some(last) = self.waits_for_map.iter().rfind(|p| p.is_in(&page)) else { return false };
        match last {
            WaitsForMap::Page(staged) if self.buffer.serves_reads() && !staged.is_part => {
                self.transfer(transfer)
            }
            _ => self.park(WaitsForMap::Read(transfer)),
        }
        true
    }

    /// Returns the number of buffered pages in the queue.
    pub(super) fn parked_pages(&self) -> u64 {
        self.waits_for_map.iter().filter(|p| matches!(p, WaitsForMap::Page(..))).count() as u64
    }

    /// Continues the queue if the whole map is saved, until the next save begins.
    #[cold]
    pub(super) fn unpark(&mut self) {
        if self.saving == 0 {
            self.ftl.on_trims_recorded();
            self.map_is_saved();
        }
        while self.saving == 0
            && let Some(waits_for_map) = self.waits_for_map.pop_front()
        {
            if !matches!(waits_for_map, WaitsForMap::Page(..)) {
                self.waited_for_saving();
            }
            match waits_for_map {
                WaitsForMap::Page(staged) => {
                    self.report_origin(Some(staged.page));
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
        let first = request.offset.0.div_ceil(self.page.0) as u32;
        let end = (request.end().0 / self.page.0) as u32;
        for page in first..end {
            match !self.map_misses.is_empty() && self.has_waiting_write(page) {
                true => _ = self.must_read_entry(EntryUse::Trim(page)),
                false => self.trim_when_written(page),
            }
        }
        self.ftl.write_map_after_trims(&mut self.nand);
        self.drop_waiting(first..end);
    }

    /// Trims `page`; after its merge, if it is merging.
    #[inline]
    pub(super) fn trim_when_written(&mut self, page: u32) {
        if !self.buffer.defer_trim(page) {
            self.trim_page(page);
        }
    }

    /// Trims the merged `page`, which has been passed to the flash, if a trim came meanwhile.
    #[inline]
    pub(super) fn trim_merged(&mut self, page: u32) {
        if self.buffer.take_deferred_trim(page) {
            self.trim_page(page);
        }
    }

    fn trim_page(&mut self, page: u32) {
        self.ftl.trim(page);
        if let Some(observer) = self.nand.observer() {
            observer.trimmed(page);
        }
    }

    /// Records the trims in the cells if enough of them wait.
    pub(super) fn record_trims_if_due(&mut self) {
        if self.ftl.are_trims_due() {
            self.wants_record = true;
            self.fetch_write_data();
        }
    }

    /// Passes a page from the host, or a part of one, to the flash; before, reads its mapping
    /// entry if that is not in memory.
    #[inline]
    pub(super) fn stage_page(&mut self, staged: StagedPage) {
        if !self.may_miss_map || !self.must_read_entry(EntryUse::Write(self.waiting_write(staged)))
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
            self.has_room = true;
            return;
        }
        let merges = is_part && !self.is_buffered(page);
        let is_on_flash = |ppa| !self.nand.is_buffered(ppa);
        if merges && self.ftl.locate(page).is_some_and(is_on_flash) {
            // The rest of a partly written page is read first; `on_rest_read` continues.
            self.buffer.begin_merge(page);
            let waiter = awaited_by.map_or(Waiter::Buffer, Waiter::Request);
            self.ftl.read(&mut self.nand, page, Cause::Partial, Token::new(waiter, page));
        } else {
            self.write(request, page);
        }
    }
}
