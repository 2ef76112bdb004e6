//! Erases that wait until their plane has nothing else to do, or until their block is to be
//! written.

use super::observe::Asked;
use super::ops::{Kind, NO_OP};
use super::{Cause, NOBODY, Nand, Spot};
use crate::events::Queue;

impl Nand {
    /// Asks for the erase of the block that begins with page `spot`, when there is time: not before
    /// what is asked of the plane in the same moment. If that is nothing, see
    /// [`Nand::erase_what_can_be`].
    pub(crate) fn erase_when_idle(&mut self, spot: Spot, cause: Cause) {
        self.counts.erases[cause as usize] += 1;
        self.tell(cause, Asked::Erase { page: spot.page });
        let index = self.pool.put(Kind::Erase, cause, spot, NOBODY);
        self.pending += 1;
        self.erases[spot.plane as usize].push_back(index);
        self.erases_left += 1;
    }

    /// Erases begin on the planes that have nothing else to do.
    #[inline]
    pub(crate) fn erase_what_can_be(&mut self) {
        if self.erases_left > 0 {
            (0..self.planes.len() as u32).for_each(|plane| self.erase_one_if_idle(plane));
        }
    }

    /// The planes of the array of `plane` have nothing to do: one erase, if one waits.
    #[inline]
    pub(super) fn erase_if_idle(&mut self, plane: u32) {
        if self.erases_left > 0 {
            self.erase_one_if_idle(plane);
        }
    }

    #[cold]
    fn erase_one_if_idle(&mut self, plane: u32) {
        let array = self.planes[plane as usize].array as usize;
        if self.erases[plane as usize].is_empty() {
            return;
        }
        let mut planes = self.geometry.planes_of_array(array).iter();
        if !planes.all(|plane| self.is_plane_idle(plane)) {
            return;
        }
        if let Some(index) = self.erases[plane as usize].pop_front() {
            self.erases_left -= 1;
            self.count_collecting(plane, self.pool.get(index).cause);
            self.start(plane, index, Queue::Other, self.erase);
        }
    }

    /// The erase that must come before page `spot` is written, if it has not begun.
    #[inline]
    pub(super) fn erase_due(&mut self, spot: Spot) -> Option<u32> {
        let is_first = self.erases_left > 0 && self.geometry.page_in_block(spot.page) == 0;
        if is_first { self.take_erase(spot) } else { None }
    }

    #[cold]
    fn take_erase(&mut self, spot: Spot) -> Option<u32> {
        let waiting = &self.erases[spot.plane as usize];
        let at = waiting.iter().position(|index| self.pool.get(*index).spot.page == spot.page)?;
        self.erases_left -= 1;
        let index = self.erases[spot.plane as usize].remove(at)?;
        self.count_collecting(spot.plane, self.pool.get(index).cause);
        debug_assert_eq!(self.pool.get(index).next, NO_OP, "it is in no queue");
        Some(index)
    }
}
