//! The save of the map, and the operations that wait until it ends.
//!
//! The map must not change meanwhile: the buffer accepts pages while it has slots, but passes none
//! to the flash until the map is in the cells. Without a buffer, writes wait in front of the drive.
//! The operations then continue in arrival order.

use super::Ssd;
use super::flow::StagedPage;
use super::link::Transfer;
use super::map_miss::EntryUse;
use crate::ftl::Ftl;
use crate::nand::{Cause, Token, Waiter};
use crate::waits::Waits;
use assay_spec::Nanos;
use std::collections::VecDeque;
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

/// The save of the map, with the operations that wait for its end.
pub(super) struct MapSave {
    /// The number of map pages on their way to the cells.
    pages: u32,
    queue: VecDeque<WaitsForMap>,
    /// Whether writes wait in front of a drive without a buffer.
    holds_back: bool,
    /// The waits of everything but buffered pages, if they are timed.
    waits: Option<Waits>,
}

impl MapSave {
    /// Creates the state of a drive whose map is not being saved.
    pub(super) fn new() -> MapSave {
        MapSave { pages: 0, queue: VecDeque::new(), holds_back: false, waits: None }
    }

    /// Returns `true` while the map is being saved.
    #[inline]
    pub(super) fn is_under_way(&self) -> bool {
        self.pages > 0
    }

    /// Adds `pages` map pages that have been passed to the flash.
    #[inline]
    pub(super) fn add(&mut self, pages: u32) {
        self.pages += pages;
    }

    /// Notes that a map page is in the cells.
    fn end_page(&mut self) {
        self.pages -= 1;
    }

    /// Returns `true` if no operation waits in the queue.
    #[inline]
    pub(super) fn is_queue_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Adds an operation to the queue.
    pub(super) fn push(&mut self, operation: WaitsForMap, now: Nanos) {
        if !matches!(operation, WaitsForMap::Page(..)) {
            self.waits.iter_mut().for_each(|waits| waits.begin(now));
        }
        self.queue.push_back(operation);
    }

    /// Removes and returns the first operation of the queue.
    fn pop(&mut self, now: Nanos) -> Option<WaitsForMap> {
        let operation = self.queue.pop_front()?;
        if !matches!(operation, WaitsForMap::Page(..)) {
            self.waits.iter_mut().for_each(|waits| waits.end(now));
        }
        Some(operation)
    }

    /// Returns the last operation of the queue that changes the mapping of one of `pages`.
    pub(super) fn last_change(&self, pages: &Range<u32>) -> Option<&WaitsForMap> {
        self.queue.iter().rfind(|operation| operation.is_in(pages))
    }

    /// Returns the number of buffered pages in the queue.
    fn pages_in_queue(&self) -> u64 {
        let is_page = |operation: &&WaitsForMap| matches!(operation, WaitsForMap::Page(..));
        self.queue.iter().filter(is_page).count() as u64
    }

    /// Notes that a write waits in front of a drive without a buffer.
    #[cold]
    pub(super) fn hold_back(&mut self, now: Nanos) {
        if !self.holds_back {
            self.holds_back = true;
            self.waits.iter_mut().for_each(|waits| waits.begin(now));
        }
    }

    /// Notes that held-back writes go on.
    fn release(&mut self, now: Nanos) {
        if std::mem::take(&mut self.holds_back) {
            self.waits.iter_mut().for_each(|waits| waits.end(now));
        }
    }

    /// Times waits from the next mark on.
    pub(super) fn time_waits(&mut self) {
        self.waits = Some(Waits::default());
    }

    fn waiting(&self) -> usize {
        self.queue.len() - self.pages_in_queue() as usize + usize::from(self.holds_back)
    }

    /// Returns the number and the time of waits since the last mark.
    pub(super) fn waited(&self, now: Nanos) -> (u64, Nanos) {
        let of = |waits: &Waits| (waits.count(), waits.total(now, self.waiting()));
        self.waits.as_ref().map(of).unwrap_or_default()
    }

    /// Sets a mark for the waits, if they are timed: they count from `now` on.
    pub(super) fn mark_waits(&mut self, now: Nanos) {
        let open = self.waiting();
        self.waits.iter_mut().for_each(|waits| waits.mark(now, open));
    }
}

impl<F: Ftl> Ssd<F> {
    /// Lets an operation wait until the map is saved.
    pub(super) fn wait_for_map(&mut self, operation: WaitsForMap) {
        self.map_save.push(operation, self.nand.events.now());
    }

    /// Returns `true` if `page`, read by request `number`, was written or trimmed since the save
    /// began. The buffer serves it now, or the read waits until the map is saved.
    #[inline]
    pub(super) fn waits_for_map(&mut self, number: u32, page: u32) -> bool {
        !self.map_save.is_queue_empty() && self.waits_for_change(Transfer { number, page })
    }

    #[cold]
    fn waits_for_change(&mut self, transfer: Transfer) -> bool {
        let page = transfer.page..transfer.page + 1;
        let Some(last) = self.map_save.last_change(&page) else { return false };
        match last {
            WaitsForMap::Page(staged) if self.buffer.serves_reads() && !staged.is_part => {
                self.transfer(transfer)
            }
            _ => self.wait_for_map(WaitsForMap::Read(transfer)),
        }
        true
    }

    /// Handles the end of a map page's program. If the whole map is saved, continues the queue
    /// until the next save begins.
    #[cold]
    pub(super) fn on_map_page_saved(&mut self) {
        self.map_save.end_page();
        if !self.map_save.is_under_way() {
            self.ftl.on_trims_recorded();
            self.map_save.release(self.nand.events.now());
            if self.map_save.pages_in_queue() == self.buffer.unprogrammed() {
                self.writes.note_map_save();
            }
        }
        while !self.map_save.is_under_way()
            && let Some(operation) = self.map_save.pop(self.nand.events.now())
        {
            match operation {
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
        let pages = self.addressing.whole_pages_of(&request);
        for page in pages.clone() {
            match self.has_waiting_write(page) {
                true => _ = self.must_read_entry(EntryUse::Trim(page)),
                false => self.trim_when_written(page),
            }
        }
        self.ftl.write_map_after_trims(&mut self.nand);
        self.drop_waiting(pages);
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
            self.writes.want_record();
            self.fetch_write_data();
        }
    }

    /// Passes a page from the host, or a part of one, to the flash; before, reads its mapping
    /// entry if that is not in memory.
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
