//! The write buffer: pages that the drive has accepted and that are not in the cells yet.

use crate::lpn::Lpn;
use assay_spec::Bytes;
use assay_spec::device::{BufferSpec, ReadBuffered};
use std::collections::{HashSet, VecDeque};

/// A written page, or a part of one, on its way from the host or the buffer to the flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct StagedPage {
    /// The request that writes it. `None` if that has been answered, because another request can
    /// reuse its number.
    pub(super) request: Option<u32>,
    pub(super) page: Lpn,
    /// Whether the write covers only a part of the page.
    pub(super) is_part: bool,
}

/// The write buffer, in DRAM or in the page registers of the flash. It passes pages to the flash
/// at once, unless `write_back_cache.rs` keeps them. A page keeps its slot until its data is in
/// the cells.
pub(super) struct WriteBuffer {
    /// The number of slots. `None` without DRAM: the registers take what the flash can begin.
    slots: Option<u64>,
    /// Whether a write is acknowledged when it is in the buffer.
    is_write_back: bool,
    /// Whether a read of a buffered page is served from the buffer.
    serves_reads: bool,
    /// Whether the buffer has power-loss protection.
    is_protected: bool,
    /// The number of accepted pages that are not in the cells yet.
    unprogrammed: u64,
    /// Pages on their way to the cells, per plane, in write order.
    planes: Vec<VecDeque<Lpn>>,
    /// Partly written pages, the rest of which is being read from the flash.
    merging: HashSet<Lpn>,
    /// Pages of `merging` that have been trimmed meanwhile.
    trimmed: Vec<Lpn>,
    /// (page, request): writes to merging pages that are answered when the page is in the cells.
    joined: Vec<(Lpn, u32)>,
}

impl WriteBuffer {
    /// Creates the empty buffer of `spec` for pages of size `page` on `planes` planes.
    pub(super) fn new(spec: BufferSpec, page: Bytes, planes: u32) -> WriteBuffer {
        let (slots, is_write_back, reads, is_protected) = match spec {
            BufferSpec::Registers => (None, false, None, false),
            BufferSpec::Dram { size, write_back, reads, protected, .. } => {
                (Some((size.0 / page.0).max(1)), write_back, Some(reads), protected)
            }
        };
        WriteBuffer {
            slots,
            is_write_back,
            serves_reads: reads == Some(ReadBuffered::FromBuffer),
            is_protected,
            unprogrammed: 0,
            planes: slots.map_or(Vec::new(), |_| vec![VecDeque::new(); planes as usize]),
            merging: HashSet::new(),
            trimmed: Vec::new(),
            joined: Vec::new(),
        }
    }

    /// Returns the number of slots, or `None` without DRAM.
    #[inline]
    pub(super) fn slots(&self) -> Option<u64> {
        self.slots
    }

    /// Returns `true` if a write is acknowledged when it is in the buffer.
    #[inline]
    pub(super) fn is_write_back(&self) -> bool {
        self.is_write_back
    }

    /// Returns `true` if a read of a buffered page is served from the buffer.
    #[inline]
    pub(super) fn serves_reads(&self) -> bool {
        self.serves_reads
    }

    /// Returns `true` if the buffer has power-loss protection.
    #[inline]
    pub(super) fn is_protected(&self) -> bool {
        self.is_protected
    }

    /// Ends the protection: from now on a flush writes the buffer to the cells.
    pub(super) fn end_protection(&mut self) {
        self.is_protected = false;
    }

    /// Returns the number of accepted pages that are not in the cells yet.
    #[inline]
    pub(super) fn unprogrammed(&self) -> u64 {
        self.unprogrammed
    }

    /// Reserves a slot for a page; returns `false` if none is free.
    #[inline]
    pub(super) fn reserve(&mut self) -> bool {
        let has_room = self.slots != Some(self.unprogrammed);
        self.unprogrammed += u64::from(has_room);
        has_room
    }

    /// Notes that `page`, which has a reserved slot, goes to `plane`.
    #[inline]
    pub(super) fn fill(&mut self, plane: u32, page: Lpn) {
        if self.slots.is_some() {
            self.planes[plane as usize].push_back(page);
        }
    }

    /// Frees the slot of `page`, which is in the cells of `plane`. Panics unless it is the first
    /// there: planes that program together end together, but each keeps its order.
    #[inline]
    pub(super) fn release(&mut self, plane: u32, page: Lpn) {
        self.unprogrammed -= 1;
        if self.slots.is_some() {
            let first = self.planes[plane as usize].pop_front();
            assert_eq!(first, Some(page), "a plane keeps its order");
        }
    }

    /// Frees a reserved slot that is not needed.
    pub(super) fn unreserve(&mut self) {
        self.unprogrammed -= 1;
    }

    /// Notes that the rest of `page` is being read from the flash.
    pub(super) fn begin_merge(&mut self, page: Lpn) {
        if self.slots.is_some() {
            self.merging.insert(page);
        }
    }

    /// Notes that the rest of `page` has been read.
    pub(super) fn end_merge(&mut self, page: Lpn) {
        self.merging.remove(&page);
    }

    /// Returns `true` if `page` is merging, and notes that it must be trimmed after the merge.
    #[inline]
    pub(super) fn defer_trim(&mut self, page: Lpn) -> bool {
        let is_merging = self.is_merging(page);
        if is_merging {
            self.trimmed.push(page);
        }
        is_merging
    }

    /// Returns `true` if `page` must be trimmed after its merge, and clears that note.
    #[inline]
    pub(super) fn take_deferred_trim(&mut self, page: Lpn) -> bool {
        let before = self.trimmed.len();
        self.trimmed.retain(|trimmed| *trimmed != page);
        self.trimmed.len() < before
    }

    /// Notes that `request`, which writes another part of merging `page`, waits for the program.
    pub(super) fn join(&mut self, page: Lpn, request: u32) {
        self.joined.push((page, request));
    }

    /// Returns `true` if a joined request waits for `page`.
    #[inline]
    pub(super) fn is_joined(&self, page: Lpn) -> bool {
        !self.joined.is_empty() && self.joined.iter().any(|(p, _)| *p == page)
    }

    /// Removes and returns a joined request that waits for `page`, which is in the cells now.
    #[inline]
    pub(super) fn take_joined(&mut self, page: Lpn) -> Option<u32> {
        let index = self.joined.iter().position(|(p, _)| *p == page)?;
        Some(self.joined.swap_remove(index).1)
    }

    /// Returns `true` if the rest of `page` is being read from the flash.
    #[inline]
    pub(super) fn is_merging(&self, page: Lpn) -> bool {
        self.merging.contains(&page)
    }

    /// Returns `true` if `page` is on its way to the cells of `plane`.
    #[inline]
    pub(super) fn is_on_its_way(&self, plane: u32, page: Lpn) -> bool {
        self.planes[plane as usize].contains(&page)
    }

    /// Panics unless the pages on their way to the cells have slots.
    pub(super) fn check(&self) {
        let on_their_way: usize = self.planes.iter().map(VecDeque::len).sum();
        assert!(on_their_way as u64 <= self.unprogrammed, "each page has a slot");
        assert!(self.slots.is_none_or(|slots| self.unprogrammed <= slots), "slots of the buffer");
    }
}
