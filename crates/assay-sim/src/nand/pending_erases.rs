//! Erases that wait: until their plane is idle or their block is to be written, and until every
//! program that replaced a page of the block has ended, on whatever plane. If the power fails
//! before that, the old pages are still needed.

use super::geometry::Ppa;
use super::ops::{NO_OP, Pool};
use assay_spec::device::NandSpec;
use std::collections::VecDeque;

/// The programs that replace pages of a block, have not ended, and are not before its erase on its
/// plane anyway; and the erase, once it is requested. Later writes to the block begin a new group.
#[derive(Clone, Copy, Debug)]
struct EraseGroup {
    /// The block whose pages are replaced.
    block: u32,
    /// The number of programs that have not ended.
    programs: u32,
    /// The erase of the block, or `NO_OP` if it has not been requested.
    erase: u32,
}

/// An erase whose replacing programs have all ended, by where it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadyErase {
    /// In the queue of its plane.
    InQueue(u32),
    /// Until its plane is idle.
    WhenIdle(u32),
    /// In no queue.
    Unqueued(u32),
}

/// The erases that wait, and the groups of programs that must end before blocks may be erased.
pub(super) struct PendingErases {
    /// Whether a block is erased only after the programs that replaced its pages are in the cells.
    follow_replacers: bool,
    /// By plane: erases to begin when the plane has nothing else to do.
    queues: Vec<VecDeque<u32>>,
    /// The number of erases in `queues`, and of those of the groups in `outside`.
    left: usize,
    /// By block: the number of its group, or `NO_OP` if there is none or the erase has been
    /// requested.
    by_block: Vec<u32>,
    /// The groups, by number.
    groups: Vec<EraseGroup>,
    /// The free numbers in `groups`.
    free: Vec<u32>,
    /// The groups whose erase has been requested and is not in its plane's queue.
    outside: Vec<u32>,
}

impl PendingErases {
    /// Creates the state for the chips of `spec`, without erases and groups.
    pub(super) fn new(spec: &NandSpec) -> PendingErases {
        PendingErases {
            follow_replacers: false,
            queues: vec![VecDeque::new(); spec.planes() as usize],
            left: 0,
            by_block: vec![NO_OP; (spec.planes() * spec.blocks_per_plane) as usize],
            groups: Vec::new(),
            free: Vec::new(),
            outside: Vec::new(),
        }
    }

    /// Delays erases from now on until the programs that replaced pages of the block have ended.
    pub(super) fn follow_replacers(&mut self) {
        self.follow_replacers = true;
    }

    /// Returns `true` if a block is erased only after the programs that replaced its pages.
    #[inline]
    pub(super) fn is_following(&self) -> bool {
        self.follow_replacers
    }

    /// Returns `true` if erases wait outside of the planes' queues.
    #[inline]
    pub(super) fn has_waiting(&self) -> bool {
        self.left > 0
    }

    /// Returns `true` if an erase may enter a plane's queue before an operation that comes later.
    #[inline]
    pub(super) fn may_come(&self) -> bool {
        self.follow_replacers || self.left > 0
    }

    /// Adds a program that replaces a page of `block`; returns the number of its group.
    #[inline]
    pub(super) fn add(&mut self, block: u32) -> u32 {
        let mut number = self.by_block[block as usize];
        if number == NO_OP {
            number = self.free.pop().unwrap_or(self.groups.len() as u32);
            let new = EraseGroup { block, programs: 0, erase: NO_OP };
            match self.groups.get_mut(number as usize) {
                Some(group) => *group = new,
                None => self.groups.push(new),
            }
            self.by_block[block as usize] = number;
        }
        self.groups[number as usize].programs += 1;
        number
    }

    /// Puts `erase` of `block` behind the programs that replace its pages. Returns `false` if there
    /// are none.
    #[inline]
    pub(super) fn delay(&mut self, erase: u32, block: u32) -> bool {
        let number = std::mem::replace(&mut self.by_block[block as usize], NO_OP);
        if number == NO_OP {
            return false;
        }
        self.groups[number as usize].erase = erase;
        self.outside.push(number);
        self.left += 1;
        true
    }

    /// Queues `erase` for when `plane` is idle.
    pub(super) fn queue_for_idle(&mut self, erase: u32, plane: u32) {
        self.queues[plane as usize].push_back(erase);
        self.left += 1;
    }

    /// Notes that a program of group `number` has ended; returns `true` if it was the last.
    #[inline]
    pub(super) fn on_program_done(&mut self, number: u32) -> bool {
        let group = &mut self.groups[number as usize];
        group.programs -= 1;
        group.programs == 0
    }

    /// Frees group `number`, whose programs have ended, and returns its erase, if it has been
    /// requested.
    pub(super) fn free(&mut self, number: u32, pool: &mut Pool) -> Option<ReadyErase> {
        self.free.push(number);
        let EraseGroup { block, erase, .. } = self.groups[number as usize];
        if erase == NO_OP {
            self.by_block[block as usize] = NO_OP;
            return None;
        }
        let op = pool.get_mut(erase);
        let when_idle = std::mem::take(&mut op.held);
        let Some(at) = self.outside.iter().position(|n| *n == number) else {
            op.waits -= 1;
            return Some(ReadyErase::InQueue(erase));
        };
        self.outside.remove(at);
        self.left -= 1;
        Some(if when_idle { ReadyErase::WhenIdle(erase) } else { ReadyErase::Unqueued(erase) })
    }

    /// Returns `true` if erases wait until `plane` is idle.
    pub(super) fn has_idle_erase(&self, plane: u32) -> bool {
        !self.queues[plane as usize].is_empty()
    }

    /// Takes the first erase that waits until `plane` is idle.
    pub(super) fn take_first(&mut self, plane: u32) -> Option<u32> {
        let erase = self.queues[plane as usize].pop_front()?;
        self.left -= 1;
        Some(erase)
    }

    /// Takes the erase of the block that begins with `ppa` from those that wait outside the queue,
    /// for a queue in which it waits for its replacers.
    #[cold]
    pub(super) fn take(&mut self, ppa: Ppa, pool: &mut Pool) -> Option<u32> {
        let is_it = |index: &u32| pool.get(*index).ppa.page == ppa.page;
        let queue = &mut self.queues[ppa.plane as usize];
        let index = match queue.iter().position(is_it) {
            Some(at) => queue.remove(at)?,
            None => {
                let erase = |n: &u32| self.groups[*n as usize].erase;
                let at = self.outside.iter().position(|number| is_it(&erase(number)))?;
                let index = erase(&self.outside[at]);
                self.outside.remove(at);
                pool.get_mut(index).waits = 1;
                pool.pending += 1;
                index
            }
        };
        self.left -= 1;
        debug_assert_eq!(pool.get(index).next, NO_OP, "it is in no queue");
        Some(index)
    }
}
