//! The logs of planes: their open blocks, their free ones, and the one that is being emptied.

use crate::ftl::NONE;
use crate::ftl::wear::FreeBlocks;
use crate::lpn::Lpn;
use crate::nand::{Cause, Ppa};
use assay_spec::device::{NandSpec, PageMapSpec, SlcCacheSpec};

/// The log of a plane.
pub(super) struct PlaneTable {
    /// The number of the plane.
    pub(super) index: u32,
    /// The free blocks.
    pub(super) free: FreeBlocks,
    /// The open block for host pages.
    pub(super) host: Open,
    /// The open block for moved pages. Unused if they share the host's.
    pub(super) collect: Open,
    /// The block that is being emptied.
    pub(super) collecting: Option<Collecting>,
    /// Emptied blocks that are not free yet: newer copies of their pages wait to be programmed with
    /// others. Each with the cause of its collection.
    pub(super) emptied: Vec<(u32, Cause)>,
    /// Whether the plane is in `Tables::due`.
    pub(super) is_due: bool,
    /// The number of valid pages.
    pub(super) live: u32,
    /// The number of blocks in the SLC cache.
    pub(super) cached: u32,
    /// The number of free blocks that are kept for the SLC cache.
    pub(super) kept_for_cache: u32,
}

/// An open block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// The number of the block, or `NONE`.
    pub(super) block: u32,
    /// The next page to program. If it is `end`, the block is full.
    pub(super) next: u32,
    /// The number of pages that are used: fewer than the block has if it is in the SLC cache.
    pub(super) end: u32,
}

impl Open {
    /// Returns the number of pages of the block, of its `pages`, that can no longer be written: the
    /// written ones, and those that the block does not use.
    #[inline]
    pub(super) fn written(&self, pages: u32) -> u32 {
        self.next + pages - self.end
    }
}

/// The open block that a page goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frontier {
    /// The block for host pages.
    Host,
    /// The block for moved pages.
    Collect,
}

impl PlaneTable {
    /// Returns the log of plane `index`, all of whose blocks are free.
    pub(super) fn new(index: u32, nand: &NandSpec, spec: PageMapSpec) -> PlaneTable {
        let none = Open { block: NONE, next: nand.pages_per_block, end: nand.pages_per_block };
        let first = index * nand.blocks_per_plane;
        let fixed = spec.slc.map_or(0, |slc| SlcCacheSpec::blocks(slc.fixed, nand));
        let free = FreeBlocks::new(spec.wear, first..first + nand.blocks_per_plane);
        PlaneTable {
            index,
            free,
            host: none,
            collect: none,
            collecting: None,
            emptied: Vec::new(),
            is_due: false,
            live: 0,
            cached: 0,
            kept_for_cache: fixed,
        }
    }

    /// Returns the number of blocks that are free or will be.
    #[inline]
    pub(super) fn empty_blocks(&self) -> usize {
        self.free.len() + self.emptied.len()
    }

    /// Returns `true` if emptied blocks should be freed before another block is emptied: they are
    /// worth more than incomplete programs cost, or no other block is free. A single one that waits
    /// for the collector's own program becomes free when the next victim has filled that.
    #[inline]
    pub(super) fn wants_emptied(&self) -> bool {
        let count = self.emptied.len();
        self.collecting.is_none() && (count > 1 || (count == 1 && self.free.len() == 0))
    }

    /// Returns `true` if the next moved page needs a block, and the only empty ones wait for
    /// gathered pages.
    #[inline]
    pub(super) fn is_out_of_room(&self) -> bool {
        self.free.len() == 0 && !self.emptied.is_empty() && self.collect.next == self.collect.end
    }

    /// Returns `true` if a page of the host or of another plane finds room and leaves enough for
    /// the pages of this plane's victim. `spare` more blocks stay free. `shared` means one frontier
    /// for all.
    #[inline]
    pub(super) fn has_room(&self, frontier: Frontier, shared: bool, spare: usize) -> bool {
        let own = frontier == Frontier::Collect && !shared;
        let open = if own { self.collect } else { self.host };
        let kept = match open.next == open.end {
            true => 2,
            // Only the collector's open block is part of the room that must be left.
            false => usize::from(own || shared),
        };
        self.free.len() >= kept + if kept > 0 { spare } else { 0 }
    }
}

/// A block that is being emptied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collecting {
    /// The number of the block.
    pub(super) block: u32,
    /// The reason for emptying it.
    pub(super) cause: Cause,
    /// The next physical page to look at.
    pub(super) cursor: u32,
    /// The pages moved so far.
    pub(super) moved: u32,
    /// The valid pages at the start.
    pub(super) valid: u32,
    /// The stale pages at the start: emptying the block gains so many pages.
    pub(super) gain: u32,
    /// The part of a move that is owed for host pages written, in units of 1/`gain`.
    pub(super) credit: u32,
    /// Whether the collection is counted in `Tables::urgent`.
    pub(super) is_urgent: bool,
}

/// A valid page that leaves the block that is being emptied.
pub(super) struct Move {
    /// The physical page that it leaves.
    pub(super) from: Ppa,
    /// The logical page.
    pub(super) page: Lpn,
    /// The reason for emptying the block.
    pub(super) cause: Cause,
}

impl Collecting {
    /// Counts a host page, and returns the number of moves that are due with it.
    #[inline]
    pub(super) fn due(&mut self) -> u32 {
        // A block without stale pages, emptied to level wear, gains nothing: all moves are due at
        // once.
        let price = self.gain.max(1);
        let due = (self.credit + self.valid) / price;
        self.credit = (self.credit + self.valid) % price;
        due
    }

    /// Returns the number of pages that may still have to be moved.
    #[inline]
    pub(super) fn left(&self) -> u32 {
        self.valid - self.moved
    }
}
