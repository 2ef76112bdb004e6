//! The save of the map, and the operations that wait until it ends.
//!
//! The map must not change meanwhile: the buffer accepts pages while it has slots, but passes none
//! to the flash until the map is in the cells. Without a buffer, writes wait in front of the drive.
//! The operations then continue in arrival order.

use super::buffer::StagedPage;
use super::link::LinkTransfer;
use crate::lpn::Lpn;
use crate::waits::Waits;
use assay_spec::Nanos;
use std::collections::VecDeque;
use std::ops::Range;

/// An operation that waits until the map is saved.
pub(super) enum WaitsForMap {
    /// A page in the buffer.
    Page(StagedPage),
    /// A read of a page that an operation in this queue writes or trims.
    Read(LinkTransfer),
    /// A trim: request number and pages.
    Trim(u32, Range<Lpn>),
}

impl WaitsForMap {
    /// Returns `true` if the operation changes the mapping of one of `pages`.
    pub(super) fn is_in(&self, pages: &Range<Lpn>) -> bool {
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
    /// The waits of everything but buffered pages.
    waits: Waits,
}

impl MapSave {
    /// Creates the state of a drive whose map is not being saved.
    pub(super) fn new() -> MapSave {
        MapSave { pages: 0, queue: VecDeque::new(), holds_back: false, waits: Waits::default() }
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
    pub(super) fn end_page(&mut self) {
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
            self.waits.begin(now);
        }
        self.queue.push_back(operation);
    }

    /// Removes and returns the first operation of the queue.
    pub(super) fn pop(&mut self, now: Nanos) -> Option<WaitsForMap> {
        let operation = self.queue.pop_front()?;
        if !matches!(operation, WaitsForMap::Page(..)) {
            self.waits.end(now);
        }
        Some(operation)
    }

    /// Returns the last operation of the queue that changes the mapping of one of `pages`.
    pub(super) fn last_change(&self, pages: &Range<Lpn>) -> Option<&WaitsForMap> {
        self.queue.iter().rfind(|operation| operation.is_in(pages))
    }

    /// Returns the number of buffered pages in the queue.
    pub(super) fn pages_in_queue(&self) -> u64 {
        let is_page = |operation: &&WaitsForMap| matches!(operation, WaitsForMap::Page(..));
        self.queue.iter().filter(is_page).count() as u64
    }

    /// Notes that a write waits in front of a drive without a buffer.
    #[cold]
    pub(super) fn hold_back(&mut self, now: Nanos) {
        if !self.holds_back {
            self.holds_back = true;
            self.waits.begin(now);
        }
    }

    /// Notes that held-back writes go on.
    pub(super) fn release(&mut self, now: Nanos) {
        if std::mem::take(&mut self.holds_back) {
            self.waits.end(now);
        }
    }

    /// Times waits from the next mark on.
    pub(super) fn time_waits(&mut self) {
        self.waits.time();
    }

    fn waiting(&self) -> usize {
        self.queue.len() - self.pages_in_queue() as usize + usize::from(self.holds_back)
    }

    /// Returns the number and the time of waits since the last mark.
    pub(super) fn waited(&self, now: Nanos) -> (u64, Nanos) {
        self.waits.since_mark(now, self.waiting())
    }

    /// Sets a mark for the waits: they count from `now` on.
    pub(super) fn mark_waits(&mut self, now: Nanos) {
        let open = self.waiting();
        self.waits.mark(now, open);
    }
}
