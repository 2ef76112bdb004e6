//! Addressing: how the bytes of requests lie in the drive's logical pages.

use crate::lpn::Lpn;
use assay_spec::{Bytes, Request};
use std::ops::Range;

/// The logical pages of a drive. Page sizes are powers of two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addressing {
    capacity: Bytes,
    page: Bytes,
    /// log₂ of the page size in bytes.
    page_bits: u32,
}

impl Addressing {
    /// Creates the addressing of a drive of `capacity` with pages of size `page`.
    pub(super) fn new(capacity: Bytes, page: Bytes) -> Addressing {
        Addressing { capacity, page, page_bits: page.0.trailing_zeros() }
    }

    /// Returns the size of the drive.
    #[inline]
    pub(super) fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Returns the size of a page.
    #[inline]
    pub(super) fn page(&self) -> Bytes {
        self.page
    }

    /// Returns the number of logical pages.
    #[inline]
    pub(super) fn pages(&self) -> u32 {
        (self.capacity.0 >> self.page_bits) as u32
    }

    /// Returns the page with the byte at `offset`.
    #[inline]
    pub(super) fn page_at(&self, offset: Bytes) -> Lpn {
        Lpn((offset.0 >> self.page_bits) as u32)
    }

    /// Returns the pages that `request` touches.
    #[inline]
    pub(super) fn pages_of(&self, request: &Request) -> Range<Lpn> {
        let end = Bytes(request.end().0 + self.page.0 - 1);
        self.page_at(request.offset)..self.page_at(end)
    }

    /// Returns the pages that `request` covers as a whole. The range may be empty or reversed.
    pub(super) fn whole_pages_of(&self, request: &Request) -> Range<Lpn> {
        let first = Bytes(request.offset.0 + self.page.0 - 1);
        self.page_at(first)..self.page_at(request.end())
    }

    /// Returns `true` if `request` covers whole pages only.
    #[inline]
    pub(super) fn is_whole(&self, request: &Request) -> bool {
        (request.offset.0 | request.length.0) & (self.page.0 - 1) == 0
    }

    /// Returns the first byte of `page`.
    #[inline]
    pub(super) fn start(&self, page: Lpn) -> Bytes {
        Bytes(u64::from(page) << self.page_bits)
    }

    /// Returns the number of bytes of `page` that `request` covers.
    pub(super) fn share(&self, request: &Request, page: Lpn) -> Bytes {
        let start = self.start(page);
        (start + self.page).min(request.end()) - start.max(request.offset)
    }

    /// Returns the bytes of `page` that `request` covers, from the page's first byte on.
    pub(super) fn part_of(&self, request: &Request, page: Lpn) -> Range<u32> {
        let start = self.start(page);
        let first = request.offset.max(start) - start;
        (first.0 as u32)..(first + self.share(request, page)).0 as u32
    }
}
