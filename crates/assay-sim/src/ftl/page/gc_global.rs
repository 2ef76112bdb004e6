//! Garbage collection over the whole drive: the pages of a block that is emptied go through the
//! controller to all planes in turn, like the host's.
//!
//! Planes that have run down to their reserve wait in a queue; with each host page, the first of
//! them collects. With `pace = "spread"` it moves v pages while the host writes n − v, wherever
//! those go, with `"whole-block"` all at once: one block a host page at most, which keeps up, as
//! every block gains a page. So there is an end to it, though moves make other planes collect.
//!
//! *Room.* Neither the host nor a page from elsewhere takes a plane's last free block, or a place
//! in the collector's open block when no free one is left. So a block's own pages can stay in its
//! plane when nobody else takes them, and no collection waits for another.

use super::gc_per_plane::{Collecting, Move};
use super::{Frontier, PageMap, Plane, Tables};
use crate::ftl::Ftl;
use crate::nand::{NOBODY, Nand};
use assay_spec::device::{Frontiers, Pace};

impl PageMap {
    /// Does the collection that is due with a host page; returns the plane that has room for it.
    pub(super) fn make_room_on_drive(&mut self, nand: &mut Nand, page: u32) -> usize {
        self.collect_due(nand);
        if let Some(plane) = self.next_with_room(Frontier::Host) {
            return plane;
        }
        // From here on only this plane collects, so it does not fill up in between.
        let chosen = self.choose_plane(page);
        while !self.has_room(&self.planes[chosen], Frontier::Host) {
            if self.frees_emptied(nand, chosen) {
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

    /// What one host page makes the first plane do that is due.
    fn collect_due(&mut self, nand: &mut Nand) {
        let Some(first) = self.first_due() else { return };
        self.frees_emptied(nand, first);
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

    /// The first plane that is due. Some may have been given their blocks by other ways since.
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

    /// The moves that are due with one host page.
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

    /// All moves that are left, and the erase.
    fn finish_over_drive(&mut self, plane: usize, nand: &mut Nand) {
        while self.move_over_drive(plane, nand) {}
        self.tables.erase(&mut self.planes[plane], nand);
    }

    /// Moves the next valid page of `plane` to the plane whose turn it is; false if there is none.
    #[inline]
    fn move_over_drive(&mut self, plane: usize, nand: &mut Nand) -> bool {
        let Some(next) = self.tables.take_next(&mut self.planes[plane]) else { return false };
        let Move { from, page, cause } = next;
        let target = self.next_with_room(Frontier::Collect).unwrap_or_else(|| {
            self.tables.count_urgent(plane, &mut self.planes);
            plane
        });
        if target == plane && self.planes[plane].is_out_of_room() {
            self.drain(nand);
        }
        let to = self.tables.place(&mut self.planes[target], page, Frontier::Collect);
        let read = nand.read(from, cause, NOBODY);
        nand.program_from(to, cause, from, &[read]);
        true
    }

    /// The next plane in turn that has room for a page from elsewhere.
    #[inline]
    pub(super) fn next_with_room(&mut self, frontier: Frontier) -> Option<usize> {
        let limit = self.plane_limit;
        let shared = self.tables.collection.frontiers == Frontiers::One;
        let spare = self.tables.kept_free();
        self.next_in_turn(|p| p.live < limit && p.has_room(frontier, shared, spare))
    }

    fn has_room(&self, plane: &Plane, frontier: Frontier) -> bool {
        let shared = self.tables.collection.frontiers == Frontiers::One;
        plane.has_room(frontier, shared, self.tables.kept_free())
    }

    /// Asks for the next move or erase of each plane that has nothing to do; false if none is due.
    pub(super) fn collect_over_drive_in_background(&mut self, nand: &mut Nand) -> bool {
        let mut asked = false;
        for plane in 0..self.planes.len() {
            while self.tables.may_collect_in_background(&mut self.planes[plane], nand) {
                // If it waits for others, nothing is asked for that would end.
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

    /// Every plane can take back what is left of the block it is emptying, or a whole one.
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

impl Plane {
    /// Whether the next page needs a block that waits for what was moved out of it.
    fn is_out_of_room(&self) -> bool {
        self.free.len() == 0 && !self.emptied.is_empty() && self.collect.next == self.collect.end
    }

    /// Whether a page that is not of the block being emptied here finds room, and leaves enough for
    /// those that are.
    #[inline]
    pub(super) fn has_room(&self, frontier: Frontier, shared: bool, spare: usize) -> bool {
        let own = frontier == Frontier::Collect && !shared;
        let open = if own { self.collect } else { self.host };
        let kept = match open.next == open.end {
            true => 2,
            // Only the collector's open block is part of what must be left.
            false => usize::from(own || shared),
        };
        self.free.len() >= kept + if kept > 0 { spare } else { 0 }
    }
}

impl Tables {
    /// Whether `plane` has fewer free blocks than it should.
    fn is_low(&self, plane: &Plane) -> bool {
        plane.empty_blocks() < self.collection.reserve_blocks as usize + self.kept_free()
    }

    /// `plane` has taken a free block: it may have to wait for its turn to collect.
    pub(super) fn note_due(&mut self, plane: &mut Plane) {
        if self.collection.over_drive && !plane.is_due && self.is_low(plane) {
            plane.is_due = true;
            self.due.push_back(plane.index);
        }
    }

    /// The collection of a plane cannot be laid between the host's writes, or not over the drive.
    #[cold]
    fn count_urgent(&mut self, plane: usize, planes: &mut [Plane]) {
        let Some(job) = &mut planes[plane].collecting else { return };
        self.urgent += u64::from(!job.is_urgent);
        job.is_urgent = true;
    }
}
