//! The DRAM write buffer: slots for written pages that are not in the cells yet.

use assay_spec::Bytes;
use assay_spec::device::BufferSpec;
use std::collections::VecDeque;

/// Returns the number of pages that fit in `buffer`.
pub(super) fn slots(buffer: BufferSpec, page: Bytes) -> usize {
    match buffer {
        BufferSpec::Registers => 0,
        BufferSpec::Dram { size, .. } => (size.0 / page.0).max(1) as usize,
    }
}

/// The DRAM write buffer. It passes pages to the flash at once, unless `write_back_cache.rs` keeps
/// them. A page keeps its slot until its data is in the cells.
pub(crate) struct WriteBuffer {
    /// Number of free slots.
    free: usize,
    /// Pages on their way to the cells, per plane, in write order.
    planes: Vec<VecDeque<u32>>,
    /// Partly written pages, the rest of which is being read from the flash.
    merging: Vec<u32>,
    /// Pages of `merging` that have been trimmed meanwhile.
    trimmed: Vec<u32>,
    /// (page, request): writes to merging pages that are answered when the page is in the cells.
    joined: Vec<(u32, u32)>,
}

impl WriteBuffer {
    pub(crate) fn new(slots: usize, planes: u32) -> Self {
        WriteBuffer {
            free: slots,
            planes: vec![VecDeque::new(); planes as usize],
            merging: Vec::new(),
            trimmed: Vec::new(),
            joined: Vec::new(),
        }
    }

    /// Reserves a slot for a page; returns `false` if none is free.
    #[inline]
    pub(crate) fn reserve(&mut self) -> bool {
        let has_room = self.free > 0;
        self.free -= usize::from(has_room);
        has_room
    }

    /// Returns the number of free slots.
    pub(crate) fn free(&self) -> usize {
        self.free
    }

    /// Notes that `page`, which has a reserved slot, goes to `plane`.
    #[inline]
    pub(crate) fn fill(&mut self, plane: u32, page: u32) {
        self.planes[plane as usize].push_back(page);
    }

    /// Frees the slot of `page`, which is in the cells of `plane`. Panics unless it is the first
    /// there: planes that program together end together, but each keeps its order.
    #[inline]
    pub(crate) fn release(&mut self, plane: u32, page: u32) {
        let first = self.planes[plane as usize].pop_front();
        assert_eq!(first, Some(page), "a plane keeps its order");
        self.free += 1;
    }

    /// Frees a reserved slot that is not needed.
    pub(crate) fn unreserve(&mut self) {
        self.free += 1;
    }

    /// Notes that the rest of `page` is being read from the flash.
    pub(crate) fn begin_merge(&mut self, page: u32) {
        self.merging.push(page);
    }

    /// Notes that the rest of `page` has been read.
    pub(crate) fn end_merge(&mut self, page: u32) {
        self.merging.retain(|p| *p != page);
    }

    /// Returns `true` if `page` is merging, and notes that it must be trimmed after the merge.
    #[inline]
    pub(crate) fn defer_trim(&mut self, page: u32) -> bool {
        let is_merging = self.is_merging(page);
        if is_merging {
            self.trimmed.push(page);
        }
        is_merging
    }

    /// Returns `true` if `page` must be trimmed after its merge, and clears that note.
    #[inline]
    pub(crate) fn take_deferred_trim(&mut self, page: u32) -> bool {
        let before = self.trimmed.len();
        self.trimmed.retain(|trimmed| *trimmed != page);
        self.trimmed.len() < before
    }

    /// Notes that `request`, which writes another part of merging `page`, waits for the program.
    pub(crate) fn join(&mut self, page: u32, request: u32) {
        self.joined.push((page, request));
    }

    /// Returns `true` if a joined request waits for `page`.
    #[inline]
    pub(crate) fn is_joined(&self, page: u32) -> bool {
        !self.joined.is_empty() && self.joined.iter().any(|(p, _)| *p == page)
    }

    /// Removes and returns a joined request that waits for `page`, which is in the cells now.
    #[inline]
    pub(crate) fn take_joined(&mut self, page: u32) -> Option<u32> {
        let index = self.joined.iter().position(|(p, _)| *p == page)?;
        Some(self.joined.swap_remove(index).1)
    }

    /// Returns `true` if the rest of `page` is being read from the flash.
    #[inline]
    pub(crate) fn is_merging(&self, page: u32) -> bool {
        !self.merging.is_empty() && self.merging.contains(&page)
    }

    /// Returns `true` if `page` is on its way to the cells of `plane`.
    #[inline]
    pub(crate) fn holds(&self, plane: u32, page: u32) -> bool {
        self.planes[plane as usize].contains(&page)
    }
}
