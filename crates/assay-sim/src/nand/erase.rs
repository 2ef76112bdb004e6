//! Begins waiting erases when the operations before them have ended (`pending_erases.rs`).

use super::observe::FlashCommand;
use super::ops::{NO_OP, OpKind};
use super::pending_erases::EraseGroup;
use super::{Cause, Nand, Ppa, Token};
use crate::events::Queue;

impl Nand {
    /// Delays erases from now on until the programs that replaced pages of the block have ended.
    pub(crate) fn keep_replaced(&mut self) {
        self.erases.follow_replacers = true;
    }

    /// Queues the erase of the block that begins with page `ppa` for when its plane is idle:
    /// operations requested of the plane at the same time go first. If there are none, call
    /// [`Nand::erase_on_idle_planes`].
    pub(crate) fn erase_when_idle(&mut self, ppa: Ppa, cause: Cause) {
        self.counts.erases[cause as usize] += 1;
        self.notify_command(cause, FlashCommand::Erase { page: ppa.page });
        self.note_erase(ppa.page);
        let index = self.pool.put(OpKind::Erase, cause, ppa, Token::NONE);
        if !self.delay_behind_replacers(index, ppa) {
            self.queue_idle_erase(index, ppa.plane);
        } else {
            self.pool.get_mut(index).held = true;
        }
    }

    /// Leaves erase `index` for when `plane` is idle.
    fn queue_idle_erase(&mut self, index: u32, plane: u32) {
        assert!(self.fast_path.is_none(), "what a server does it does in turn");
        self.pool.pending += 1;
        self.erases.queues[plane as usize].push_back(index);
        self.erases.left += 1;
    }

    /// Puts erase `index` of the block of `ppa` behind the programs that replace its pages. Returns
    /// `false` if there are none.
    #[inline]
    pub(super) fn delay_behind_replacers(&mut self, index: u32, ppa: Ppa) -> bool {
        let number = &mut self.erases.by_block[self.geometry.block(ppa.page) as usize];
        let number = std::mem::replace(number, NO_OP);
        if number == NO_OP {
            return false;
        }
        self.erases.groups[number as usize].erase = index;
        self.erases.outside.push(number);
        self.erases.left += 1;
        true
    }

    /// Notes that program `index` replaces a page of block `old`, unless that is `NO_OP`.
    #[inline]
    pub(super) fn add_to_erase_group(&mut self, index: u32, old: u32) {
        if old != NO_OP {
            self.pool.get_mut(index).replaces = self.erases.add(old);
        }
    }

    /// Notes that a program of group `number` has ended.
    #[inline]
    pub(super) fn on_group_program_done(&mut self, number: u32) {
        let group = &mut self.erases.groups[number as usize];
        group.programs -= 1;
        if group.programs == 0 {
            self.all_replaced(number);
        }
    }

    /// Frees group `number`, whose programs have ended. Its erase, if requested, then waits for its
    /// plane only.
    fn all_replaced(&mut self, number: u32) {
        self.erases.free.push(number);
        let EraseGroup { block, erase, .. } = self.erases.groups[number as usize];
        if erase == NO_OP {
            self.erases.by_block[block as usize] = NO_OP;
            return;
        }
        let op = self.pool.get_mut(erase);
        let (plane, when_idle) = (op.ppa.plane, std::mem::take(&mut op.held));
        let Some(at) = self.erases.outside.iter().position(|n| *n == number) else {
            op.waits -= 1;
            return self.serve_plane(plane);
        };
        self.erases.outside.remove(at);
        self.erases.left -= 1;
        match when_idle {
            true => {
                self.queue_idle_erase(erase, plane);
                self.erase_if_idle(plane);
            }
            false => {
                self.count_collecting(plane, self.pool.get(erase).cause);
                self.enqueue(erase, plane);
            }
        }
    }

    /// Begins erases on the planes that are idle.
    #[inline]
    pub(crate) fn erase_on_idle_planes(&mut self) {
        if self.erases.left > 0 {
            (0..self.planes.len() as u32).for_each(|plane| self.erase_one_if_idle(plane));
        }
    }

    /// Begins an erase that waits on `plane` if all planes of its array are idle.
    #[inline]
    pub(super) fn erase_if_idle(&mut self, plane: u32) {
        if self.erases.left > 0 {
            self.erase_one_if_idle(plane);
        }
    }

    /// Does the work of [`Nand::erase_if_idle`] when erases wait somewhere.
    #[cold]
    fn erase_one_if_idle(&mut self, plane: u32) {
        let array = self.planes[plane as usize].array as usize;
        if self.erases.queues[plane as usize].is_empty() {
            return;
        }
        let mut planes = self.geometry.planes_of_array(array).iter();
        if !planes.all(|plane| self.is_plane_idle(plane)) {
            return;
        }
        if let Some(index) = self.erases.queues[plane as usize].pop_front() {
            self.erases.left -= 1;
            self.count_collecting(plane, self.pool.get(index).cause);
            self.start(plane, index, Queue::Other, self.chip.erase);
        }
    }

    /// Returns the erase that must come before page `ppa` is written, if it is not in the queue
    /// yet.
    #[inline]
    pub(super) fn erase_due(&mut self, ppa: Ppa) -> Option<u32> {
        let is_first = self.erases.left > 0 && self.geometry.page_in_block(ppa.page) == 0;
        if is_first { self.take_erase(ppa) } else { None }
    }

    /// Takes the erase of the block that begins with `ppa` from those that wait outside the queue.
    #[cold]
    fn take_erase(&mut self, ppa: Ppa) -> Option<u32> {
        let is_it = |index: &u32| self.pool.get(*index).ppa.page == ppa.page;
        let index = match self.erases.queues[ppa.plane as usize].iter().position(is_it) {
            Some(at) => self.erases.queues[ppa.plane as usize].remove(at)?,
            None => {
                // It enters the queue before this write, and waits there for its replacers.
                let outside = &self.erases.outside;
                let erase = |n: &u32| self.erases.groups[*n as usize].erase;
                let at = outside.iter().position(|number| is_it(&erase(number)))?;
                let index = erase(&outside[at]);
                self.erases.outside.remove(at);
                self.pool.get_mut(index).waits = 1;
                self.pool.pending += 1;
                index
            }
        };
        self.erases.left -= 1;
        self.count_collecting(ppa.plane, self.pool.get(index).cause);
        debug_assert_eq!(self.pool.get(index).next, NO_OP, "it is in no queue");
        Some(index)
    }
}
