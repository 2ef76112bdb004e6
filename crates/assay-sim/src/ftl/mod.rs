//! Flash translation layers (FTLs): where each logical page lies, and what a write of one takes.
//!
//! A layer decides and queues operations on the chips. It never computes a time of its own.

pub(crate) mod gc;
pub(crate) mod history;
pub(crate) mod hybrid;
pub(crate) mod in_place;
pub(crate) mod page;
pub(crate) mod wear;

use crate::lpn::Lpn;
use crate::nand::{Cause, Flash, Nand, Ppa, Token};
use std::ops::Range;

/// No page, block or superblock.
pub(crate) const NONE: u32 = u32::MAX;

/// A flash translation layer, which maps logical pages to flash.
pub(crate) trait Ftl:
    MapCache + MapWrites + Trim + Deferred + Recover + Census + Send
{
    /// Queues the read of a logical page with `token`. Returns `false` if there is nothing to read
    /// from flash: the page holds nothing, or its newest copy is still in the controller.
    fn read(&mut self, nand: &mut Nand, page: Lpn, cause: Cause, token: Token) -> bool;
    /// Queues the program of a logical page whose data is in the controller, and returns the plane.
    /// The page is one of `run`, which are written one after the other. The events of the program
    /// carry `token`, with `IN_CELLS` set if the register is needed for something else first.
    fn write(&mut self, nand: &mut Nand, page: Lpn, run: &Range<Lpn>, token: Token) -> u32;
    /// Returns the physical page that a read of a logical page would sense, or `None` if the
    /// logical page holds nothing.
    fn locate(&self, page: Lpn) -> Option<Ppa>;
    /// Checks all invariants over all tables. Panics if one does not hold.
    fn check(&self);
}

/// The part of the map that is in memory, of layers that keep the rest on flash.
pub(crate) trait MapCache {
    /// Returns the map page, as a logical page, with the entry of `page`, or `None` if the whole
    /// map is in memory.
    fn map_page(&self, _page: Lpn) -> Option<Lpn> {
        None
    }
    /// Returns `true` if the map entry of `page` is in memory. Counts a lookup.
    fn has_entry(&mut self, _page: Lpn) -> bool {
        true
    }
    /// Puts the map entry of `page` into memory. Its map page has been read, or is not on flash.
    fn cache_entry(&mut self, _page: Lpn) {}
    /// Prefetches the map entry of `page`, which will be needed soon.
    fn prefetch_hint(&self, _page: Lpn) {}
    /// Prefetches what the map entry of `page` points to: the page will be written. The entry
    /// itself should be in the CPU's cache by now, after [`Ftl::prefetch_hint`].
    fn prefetch_old_copy(&self, _page: Lpn) {}
}

/// The map on flash, of layers that write it there.
pub(crate) trait MapWrites {
    /// Queues the programs of the changed map pages if a checkpoint is due, and returns their
    /// number. Each gives an event for `Waiter::MapSave`. Called once after each host
    /// write.
    fn checkpoint_if_due(&mut self, _nand: &mut Nand) -> u32 {
        0
    }
    /// Writes the map pages that have become due. Called after the trims of a request.
    fn write_map_after_trims(&mut self, _nand: &mut Nand) {}
}

/// Trims, and the record of them that survives a power cut.
pub(crate) trait Trim {
    /// Trims a logical page.
    fn trim(&mut self, page: Lpn);
    /// Returns `false` if trims must be refused: a worn-out drive may be unable to record them.
    fn takes_trims(&self) -> bool {
        true
    }
    /// Returns `true` if so many trims wait to be recorded that they should be recorded now.
    fn are_trims_due(&self) -> bool {
        false
    }
    /// Queues the programs of the record of trimmed pages, and returns their number. No other
    /// program may be on its way to the cells. Each gives an event for `Waiter::MapSave`.
    fn record_trims(&mut self, _nand: &mut Nand) -> u32 {
        0
    }
    /// Handles the end of all programs that [`Ftl::record_trims`] has queued.
    fn on_trims_recorded(&mut self) {}
}

/// Work that waits: pages for the rest of their program, and work for an idle drive.
pub(crate) trait Deferred {
    /// Lets loaded pages that wait for the rest of their stripe be programmed.
    fn release_stripe(&mut self, _nand: &mut Nand) {}
    /// Programs all pages that wait for others, though incomplete programs waste pages.
    fn program_gathered(&mut self, nand: &mut Nand) {
        self.release_stripe(nand);
    }
    /// Queues the next piece of background work on a drive left alone. Returns `false` if there is
    /// none.
    fn background(&mut self, _nand: &mut Nand) -> bool {
        false
    }
}

/// Recovery after a power cut.
pub(crate) trait Recover {
    /// Rebuilds the state from what a recovery scan finds on the flash. The layer must be empty.
    /// Returns `false` if it cannot recover.
    fn recover(&mut self, _nand: &mut Nand, _flash: &Flash) -> bool {
        false
    }
}

/// The state of the blocks, and the counters of a layer.
pub(crate) trait Census {
    /// Returns the erase count of each block.
    fn erases(&self) -> &[u32];
    /// Returns `true` if so many blocks have gone bad that the drive takes no more writes.
    fn is_worn_out(&self) -> bool;
    /// Returns the number of free blocks.
    fn free_blocks(&self) -> u64;
    /// Returns the layer's own counters with their names.
    fn counters(&self) -> Vec<(String, f64)>;
    /// Sets a mark: counters begin at zero from now on.
    fn mark(&mut self) {}
}

/// Returns the number of erases of all blocks since the drive was made.
pub(crate) fn erased_ever(ftl: &impl Ftl) -> u64 {
    ftl.erases().iter().map(|n| u64::from(*n)).sum()
}
