//! Garbage collection over the whole drive: the valid pages of a victim go through the controller
//! to all planes in turn, like host pages.
//!
//! Planes that are down to their reserve wait in a queue. With each host page, the first of them
//! collects. With `pace = "spread"` it moves v pages while the host writes n − v, to whichever
//! planes these go. With `"whole-block"` it makes all moves at once: at most one block for each
//! host page. That keeps up, because every block emptied gains a page. So collection comes to an
//! end, though moves make other planes collect.
//!
//! *Room.* Neither the host nor a page from another plane takes the last free block of a plane, or
//! a place in the collector's open block when no free one is left. So the pages of a victim can
//! stay in its plane when no other plane takes them, and no collection waits for another.

use super::PageMap;
use super::planes::{Collecting, Frontier, Move, PlaneTable};
use crate::ftl::Deferred;
use crate::lpn::Lpn;
use crate::nand::{Nand, Token};
use assay_spec::device::{Frontiers, Pace};

impl PageMap {
    /// Does the collection that is due with a host page. Returns a plane that has room for `page`.
    pub(super) fn make_room_on_drive(&mut self, nand: &mut Nand, page: Lpn) -> usize {
        self.collect_due(nand);
        if let Some(plane) = self.next_with_room(Frontier::Host) {
            return plane;
        }
        // Only this plane collects from here on, so it does not fill up in between.
        let chosen = self.choose_plane(page);
        while !self.has_room(&self.planes[chosen], Frontier::Host) {
            if self.drain_for_emptied(nand, chosen) {
                continue;
            }
            let plane = &mut self.planes[chosen];
            let started = plane.collecting.is_some() || self.tables.start(plane);
            assert!(started, "plane {chosen} is full, though it holds less than its limit");
            self.tables.count_urgent(chosen, &mut self.planes);
            self.finish_over_drive(chosen, nand);
            self.free_emptied(nand);
        }
        chosen
    }

    /// Does what one host page makes due on the first plane that waits to collect.
    fn collect_due(&mut self, nand: &mut Nand) {
        let Some(first) = self.first_due() else { return };
        self.drain_for_emptied(nand, first);
        let plane = &mut self.planes[first];
        if plane.collecting.is_some() || self.tables.start(plane) {
            match self.tables.collection.pace {
                Pace::Spread => self.advance_over_drive(first, nand),
                Pace::WholeBlock => self.finish_over_drive(first, nand),
            }
        }
        if self.planes[first].collecting.is_none() {
            self.tables.due.rotate_left(1);
        }
    }

    /// Returns the first plane in the queue that must collect. Removes planes before it, which have
    /// got free blocks in other ways since.
    fn first_due(&mut self) -> Option<usize> {
        loop {
            let first = *self.tables.due.front()? as usize;
            let plane = &mut self.planes[first];
            if plane.collecting.is_some() || self.tables.is_low(plane) {
                return Some(first);
            }
            plane.is_due = false;
            self.tables.due.pop_front();
        }
    }

    /// Makes the moves that are due with one host page, and erases the block if it is then empty.
    fn advance_over_drive(&mut self, plane: usize, nand: &mut Nand) {
        let due = self.planes[plane].collecting.as_mut().map_or(0, Collecting::due);
        for _ in 0..due {
            if !self.move_over_drive(plane, nand) {
                break;
            }
        }
        if self.tables.is_empty(&self.planes[plane]) {
            self.tables.erase(&mut self.planes[plane], nand);
        }
    }

    /// Makes all moves that are left, and erases the block.
    fn finish_over_drive(&mut self, plane: usize, nand: &mut Nand) {
        while self.move_over_drive(plane, nand) {}
        self.tables.erase(&mut self.planes[plane], nand);
    }

    /// Moves the next valid page of the victim of `plane` to the next plane in turn with room, or
    /// within `plane` if there is none. Returns `false` if no valid page is left.
    #[inline]
    fn move_over_drive(&mut self, plane: usize, nand: &mut Nand) -> bool {
        let Some(next) = self.tables.take_next(&mut self.planes[plane]) else { return false };
        let Move { from, page, cause } = next;
        let target = self.next_with_room(Frontier::Collect).unwrap_or_else(|| {
            self.tables.count_urgent(plane, &mut self.planes);
            plane
        });
        if target == plane && self.planes[plane].is_out_of_room() {
            self.program_gathered(nand);
        }
        let to = self.tables.place(&mut self.planes[target], page, Frontier::Collect);
        let read = nand.read(from, cause, Token::NONE);
        nand.program_from(to, cause, from, &[read]);
        true
    }

    /// Returns the next plane in turn that has room for a page of the host or of another plane.
    #[inline]
    pub(super) fn next_with_room(&mut self, frontier: Frontier) -> Option<usize> {
        let limit = self.plane_limit;
        let shared = self.tables.collection.frontiers == Frontiers::One;
        let spare = self.tables.kept_free();
        self.next_in_turn(|p| p.live < limit && p.has_room(frontier, shared, spare))
    }

    /// Returns `true` if `plane` has room in `frontier` for a page of the host or of another plane.
    fn has_room(&self, plane: &PlaneTable, frontier: Frontier) -> bool {
        let shared = self.tables.collection.frontiers == Frontiers::One;
        plane.has_room(frontier, shared, self.tables.kept_free())
    }

    /// Queues the next move or erase of each idle plane. Returns `false` if none is due.
    pub(super) fn collect_over_drive_in_background(&mut self, nand: &mut Nand) -> bool {
        let mut asked = false;
        for plane in 0..self.planes.len() {
            while self.tables.may_collect_in_background(&mut self.planes[plane], nand) {
                // An erase that waits for gathered pages queues nothing whose end would continue
                // the work: then the next block is taken.
                if self.move_over_drive(plane, nand)
                    || self.tables.erase(&mut self.planes[plane], nand)
                {
                    asked = true;
                    break;
                }
            }
        }
        asked
    }

    /// Checks that every plane can take back what is left of its victim, or a whole block, and that
    /// the queue is right. Panics otherwise.
    pub(super) fn check_room(&self) {
        if !self.tables.collection.over_drive {
            return;
        }
        let pages = self.tables.pages_per_block;
        for plane in &self.planes {
            let shared = self.tables.collection.frontiers == Frontiers::One;
            let open = if shared { plane.host } else { plane.collect };
            let room = pages - open.next + plane.empty_blocks() as u32 * pages;
            let left = plane.collecting.as_ref().map_or(pages, Collecting::left);
            assert!(room >= left, "room of plane {}", plane.index);
            assert!(
                plane.collecting.is_some() || plane.empty_blocks() > 0,
                "plane {}",
                plane.index
            );
            let queued = self.tables.due.iter().filter(|p| **p == plane.index).count();
            assert_eq!(queued, usize::from(plane.is_due), "plane {} is due once", plane.index);
            assert!(plane.is_due || !self.tables.is_low(plane), "plane {} is low", plane.index);
        }
    }
}
