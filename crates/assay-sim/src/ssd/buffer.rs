//! DRAM that acknowledges writes and hands them to the flash at once.
//!
//! A page takes a slot when it arrives and gives it back when its data is in the cells. Pages of
//! one plane end in the order they were written, so the slots are queues, one a plane, under a tree
//! that knows whose head ends first.

use crate::winner::{OUT, WinnerTree};
use assay_spec::Nanos;
use std::collections::VecDeque;

/// The write buffer.
pub(crate) struct WriteBuffer {
    slots: usize,
    used: usize,
    /// Per plane: (when its data is in the cells, logical page).
    planes: Vec<VecDeque<(Nanos, u32)>>,
    heads: WinnerTree,
    latest: Nanos,
}

impl WriteBuffer {
    pub(crate) fn new(slots: usize, planes: u32) -> Self {
        WriteBuffer {
            slots,
            used: 0,
            planes: vec![VecDeque::new(); planes as usize],
            heads: WinnerTree::new(planes as usize),
            latest: Nanos::ZERO,
        }
    }

    /// When there is room for one more page, not before `at`.
    #[inline]
    pub(crate) fn room(&mut self, at: Nanos) -> Nanos {
        if self.used < self.slots {
            return at;
        }
        let (plane, end) = self.heads.winner();
        self.planes[plane].pop_front();
        self.used -= 1;
        let next = self.planes[plane].front().map_or(OUT, |(end, _)| end.0);
        self.heads.set(plane, next);
        at.max(Nanos(end))
    }

    /// Takes a slot for `page` on `plane` until `end`.
    #[inline]
    pub(crate) fn fill(&mut self, plane: u32, page: u32, end: Nanos) {
        assert!(self.used < self.slots, "more pages than slots");
        self.used += 1;
        self.latest = self.latest.max(end);
        let queue = &mut self.planes[plane as usize];
        debug_assert!(queue.back().is_none_or(|(last, _)| *last <= end), "a plane keeps its order");
        if queue.is_empty() {
            self.heads.set(plane as usize, end.0);
        }
        queue.push_back((end, page));
    }

    /// Whether the buffer still holds `page`, which lies on `plane`, at `at`.
    #[inline]
    pub(crate) fn holds(&self, plane: u32, page: u32, at: Nanos) -> bool {
        let newest_first = self.planes[plane as usize].iter().rev();
        newest_first.take_while(|(end, _)| *end > at).any(|(_, held)| *held == page)
    }

    /// When everything written so far is in the cells.
    pub(crate) fn drained(&self) -> Nanos {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_buffer_waits_for_the_first_page_that_ends() {
        let mut buffer = WriteBuffer::new(2, 4);
        assert_eq!(buffer.room(Nanos(5)), Nanos(5));
        buffer.fill(0, 10, Nanos(100));
        assert_eq!(buffer.room(Nanos(6)), Nanos(6));
        buffer.fill(1, 11, Nanos(50));
        assert_eq!(buffer.room(Nanos(7)), Nanos(50), "plane 1 is first");
        buffer.fill(1, 12, Nanos(200));
        assert_eq!(buffer.room(Nanos(150)), Nanos(150), "plane 0 ended long ago");
        assert_eq!(buffer.drained(), Nanos(200));
    }

    #[test]
    fn a_page_is_held_until_it_is_in_the_cells() {
        let mut buffer = WriteBuffer::new(4, 2);
        buffer.fill(1, 7, Nanos(100));
        assert!(buffer.holds(1, 7, Nanos(99)));
        assert!(!buffer.holds(1, 7, Nanos(100)));
        assert!(!buffer.holds(1, 8, Nanos(0)));
        assert!(!buffer.holds(0, 7, Nanos(0)));
    }
}
