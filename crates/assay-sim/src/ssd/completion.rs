//! Completion of requests.

use super::Ssd;
use crate::ftl::Ftl;
use assay_spec::Op;

/// `EROFS`: the drive is worn out and accepts no writes.
const READ_ONLY: i32 = 30;
/// `EIO`: the page has an uncorrectable error.
const UNREADABLE: i32 = 5;

impl<F: Ftl> Ssd<F> {
    /// Counts a page of a request as done; after the last page, completes the request.
    #[inline]
    pub(super) fn page_done(&mut self, number: u32) {
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
    pub(super) fn complete(&mut self, number: u32) {
        let is_lost = self.requests[number].is_lost;
        self.answer(number, if is_lost { UNREADABLE } else { 0 });
    }

    /// Whether what the flash holds of `page` cannot be put right, or is made of what could not.
    #[inline]
    pub(super) fn is_lost(&mut self, page: u32) -> bool {
        self.nand.has_ecc() && self.ftl.locate(page).is_some_and(|ppa| self.nand.is_lost(ppa))
    }

    /// Read `number` gets `page` from the flash, as it is now.
    #[inline]
    pub(super) fn note_if_lost(&mut self, number: u32, page: u32) {
        if self.is_lost(page) {
            self.requests[number].is_lost = true;
        }
    }

    /// Whether write `number`, the first of those that wait, is refused, for the flash is worn out.
    /// What has begun is still written: there is room for it.
    #[inline]
    pub(super) fn refuse_if_worn_out(&mut self, number: u32) -> bool {
        let is_refused = self.ftl.is_worn_out();
        if is_refused {
            self.writes.pop();
            self.refuse(number);
        }
        is_refused
    }

    pub(super) fn refuse(&mut self, number: u32) {
        self.answer(number, READ_ONLY);
    }

    #[inline]
    fn answer(&mut self, number: u32, error: i32) {
        self.requests.end(number, self.nand.events.now(), error);
        if self.requests.is_empty() {
            self.idle.start(&mut self.nand.events);
        }
    }
}
