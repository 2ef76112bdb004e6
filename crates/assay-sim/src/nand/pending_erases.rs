//! Erases that wait: until their plane is idle or their block is to be written, and until every
//! program that replaced a page of the block has ended, on whatever plane. If the power fails
//! before that, the old pages are still needed.

use super::ops::NO_OP;
use assay_spec::device::NandSpec;
use std::collections::VecDeque;

/// The programs that replace pages of a block, have not ended, and are not before its erase on its
/// plane anyway; and the erase, once it is requested. Later writes to the block begin a new group.
pub(super) struct EraseGroup {
    /// The block whose pages are replaced.
    pub(super) block: u32,
    /// The number of programs that have not ended.
    pub(super) programs: u32,
    /// The erase of the block, or `NO_OP` if it has not been requested.
    pub(super) erase: u32,
}

/// The erases that wait, and the groups of programs that must end before blocks may be erased.
pub(super) struct PendingErases {
    /// Whether a block is erased only after the programs that replaced its pages are in the cells.
    pub(super) follow_replacers: bool,
    /// By plane: erases to begin when the plane has nothing else to do.
    pub(super) queues: Vec<VecDeque<u32>>,
    /// The number of erases in `queues`, and of those of the groups in `outside`.
    pub(super) left: usize,
    /// By block: the number of its group, or `NO_OP` if there is none or the erase has been
    /// requested.
    pub(super) by_block: Vec<u32>,
    /// The groups, by number.
    pub(super) groups: Vec<EraseGroup>,
    /// The free numbers in `groups`.
    pub(super) free: Vec<u32>,
    /// The groups whose erase has been requested and is not in its plane's queue.
    pub(super) outside: Vec<u32>,
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

    /// Returns `true` if a block is erased only after the programs that replaced its pages.
    #[inline]
    pub(super) fn follow_replacers(&self) -> bool {
        self.follow_replacers
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

    /// Returns the block of group `number`.
    #[inline]
    pub(super) fn block(&self, number: u32) -> u32 {
        self.groups[number as usize].block
    }
}
