//! The state of each block, by block number.

use crate::ftl::NONE;
use crate::ftl::gc::Candidates;
use assay_spec::device::NandSpec;

/// The state of each block, by block number.
pub(super) struct Blocks {
    /// The pages that have gone stale since the block was opened.
    pub(super) stale: Vec<u16>,
    /// The value of `closings` when the block was closed; 0 if it is open or free.
    pub(super) closed: Vec<u32>,
    /// The number of blocks closed so far.
    pub(super) closings: u32,
    /// The number of erases of the block.
    pub(super) erases: Vec<u32>,
    /// The number of blocks of a plane.
    pub(super) per_plane: u32,
    /// The number of pages of a block.
    pub(super) pages: u32,
}

impl Blocks {
    /// Returns the state of blocks that are all free and were never erased.
    pub(super) fn new(nand: &NandSpec) -> Blocks {
        let count = (nand.planes() * nand.blocks_per_plane) as usize;
        Blocks {
            stale: vec![0; count],
            closed: vec![0; count],
            closings: 0,
            erases: vec![0; count],
            per_plane: nand.blocks_per_plane,
            pages: nand.pages_per_block,
        }
    }

    /// Returns the blocks of `plane`.
    #[inline]
    pub(super) fn range(&self, plane: u32) -> std::ops::Range<usize> {
        let first = (plane * self.per_plane) as usize;
        first..first + self.per_plane as usize
    }

    /// Returns the blocks of `plane` for a victim policy. A victim must have `least` stale pages.
    #[inline]
    pub(super) fn candidates(&self, plane: u32, least: u16) -> Candidates<'_> {
        Candidates {
            stale: &self.stale[self.range(plane)],
            closed: &self.closed[self.range(plane)],
            now: self.closings,
            pages_per_block: self.pages,
            plane,
            least,
        }
    }

    /// Closes block `full` unless it is `NONE`, and resets the stale count of `block`, which opens.
    #[inline]
    pub(super) fn turn_over(&mut self, full: u32, block: u32) {
        if full != NONE {
            self.closings += 1;
            self.closed[full as usize] = self.closings;
        }
        assert_eq!(self.closed[block as usize], 0, "a free block is not closed");
        self.stale[block as usize] = 0;
    }
}
