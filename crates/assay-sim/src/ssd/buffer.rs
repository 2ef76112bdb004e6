//! Where written pages wait for the flash.

use assay_spec::Bytes;
use assay_spec::device::BufferSpec;
use std::collections::VecDeque;

/// Pages that a buffer has room for.
pub(super) fn slots(buffer: BufferSpec, page: Bytes) -> usize {
    match buffer {
        BufferSpec::Registers => 0,
        BufferSpec::Dram { size, .. } => (size.0 / page.0).max(1) as usize,
    }
}

/// DRAM that acknowledges writes and hands them to the flash: at once, unless
/// `write_back_cache.rs` keeps them.
/// A page keeps its slot until its data is in the cells.
pub(crate) struct WriteBuffer {
    free: usize,
    /// Per plane, in the order of writing: the pages on their way.
    planes: Vec<VecDeque<u32>>,
    /// Pages written in part, whose rest is being read.
    merging: Vec<u32>,
    /// Those of them that have been trimmed since.
    trimmed: Vec<u32>,
    /// (page, request): writes to those that are not answered before the page is in the cells.
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

    /// Takes a slot for a page to come; false if there is none.
    #[inline]
    pub(crate) fn reserve(&mut self) -> bool {
        let has_room = self.free > 0;
        self.free -= usize::from(has_room);
        has_room
    }

    /// Slots that are free.
    pub(crate) fn free(&self) -> usize {
        self.free
    }

    /// The page that a slot was taken for goes to `plane`.
    #[inline]
    pub(crate) fn fill(&mut self, plane: u32, page: u32) {
        self.planes[plane as usize].push_back(page);
    }

    /// `page` is in the cells of `plane`: its slot is free. Planes of one die that program together
    /// end together, but each keeps its order.
    #[inline]
    pub(crate) fn release(&mut self, plane: u32, page: u32) {
        let first = self.planes[plane as usize].pop_front();
        assert_eq!(first, Some(page), "a plane keeps its order");
        self.free += 1;
    }

    /// A slot that was taken is not needed.
    pub(crate) fn give_back(&mut self) {
        self.free += 1;
    }

    /// The rest of `page` is being read.
    pub(crate) fn merge(&mut self, page: u32) {
        self.merging.push(page);
    }

    /// And has come.
    pub(crate) fn merged(&mut self, page: u32) {
        self.merging.retain(|p| *p != page);
    }

    /// `page` is trimmed; true if its rest is being read, and it is to be when that has come.
    #[inline]
    pub(crate) fn trims_merging(&mut self, page: u32) -> bool {
        let is_merging = self.is_merging(page);
        if is_merging {
            self.trimmed.push(page);
        }
        is_merging
    }

    /// Whether `page` was to be trimmed; it is not any more.
    #[inline]
    pub(crate) fn was_trimmed(&mut self, page: u32) -> bool {
        let before = self.trimmed.len();
        self.trimmed.retain(|trimmed| *trimmed != page);
        self.trimmed.len() < before
    }

    /// `request` writes another part of `page` while its rest is being read, and waits for both.
    pub(crate) fn join(&mut self, page: u32, request: u32) {
        self.joined.push((page, request));
    }

    /// Whether a request waits for `page`.
    #[inline]
    pub(crate) fn is_joined(&self, page: u32) -> bool {
        !self.joined.is_empty() && self.joined.iter().any(|(p, _)| *p == page)
    }

    /// A request that waits for `page`, which is in the cells now, if there is one.
    #[inline]
    pub(crate) fn joined(&mut self, page: u32) -> Option<u32> {
        let index = self.joined.iter().position(|(p, _)| *p == page)?;
        Some(self.joined.swap_remove(index).1)
    }

    /// Whether the rest of `page` is being read.
    #[inline]
    pub(crate) fn is_merging(&self, page: u32) -> bool {
        !self.merging.is_empty() && self.merging.contains(&page)
    }

    /// Whether the buffer still holds `page`, which lies on `plane`.
    #[inline]
    pub(crate) fn holds(&self, plane: u32, page: u32) -> bool {
        self.planes[plane as usize].contains(&page)
    }
}
