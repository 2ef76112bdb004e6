//! Flash translation layers: where a logical page is, and what must be done to write one.
//!
//! A layer decides and asks the chips; it never computes a time of its own.

pub(crate) mod gc;
pub(crate) mod history;
pub(crate) mod hybrid;
pub(crate) mod in_place;
pub(crate) mod page;
pub(crate) mod wear;

use crate::nand::{Cause, Flash, Nand, Ppa};
use std::ops::Range;

/// No page.
pub(crate) const NONE: u32 = u32::MAX;

/// Maps logical pages to flash.
pub(crate) trait Ftl: Send {
    /// Reads a logical page for `token`; false if it was never written, and nothing is to be read.
    fn read(&mut self, nand: &mut Nand, page: u32, cause: Cause, token: u64) -> bool;
    /// Writes a logical page whose data is in the controller, one of the pages of `run`, which come
    /// one after the other; `token` is told how far it is, marked as `IN_CELLS` if the register is
    /// needed for something else. Returns the plane.
    fn write(&mut self, nand: &mut Nand, page: u32, run: &Range<u32>, token: u64) -> u32;
    /// Saves the map to flash, if it is time; returns how many pages of it are on their way, each
    /// of which gives a notice for request [`crate::ssd::MAP`].
    fn save_map(&mut self, _nand: &mut Nand) -> u32 {
        0
    }
    /// The page of the map, as a logical page, that has the entry of `page`, if the map is not in
    /// memory as a whole.
    fn map_page(&self, _page: u32) -> Option<u32> {
        None
    }
    /// Whether the entry of `page`, which is asked for, is in memory.
    fn knows(&mut self, _page: u32) -> bool {
        true
    }
    /// It has been read.
    fn learn(&mut self, _page: u32) {}
    /// Forgets a logical page.
    fn trim(&mut self, page: u32);
    /// Some have been forgotten: what that makes due is written.
    fn have_been_trimmed(&mut self, _nand: &mut Nand) {}
    /// Whether it forgets pages at all: a worn one may not be able to write that down.
    fn takes_trims(&self) -> bool {
        true
    }
    /// Whether so many trims wait to be written down that they should be.
    fn are_trims_due(&self) -> bool {
        false
    }
    /// Writes down what has been trimmed, now that nothing else is on its way to the cells; returns
    /// how many pages of the record are, each of which gives a notice as those of the map do.
    fn record_trims(&mut self, _nand: &mut Nand) -> u32 {
        0
    }
    /// All of them are in the cells.
    fn trims_are_recorded(&mut self) {}
    /// What is half done is to be finished.
    fn flush(&mut self, _nand: &mut Nand) {}
    /// What has been written goes to the cells, whatever that costs.
    fn drain(&mut self, nand: &mut Nand) {
        self.flush(nand);
    }
    /// The drive is left alone: asks for the next piece of background work; false if there is none.
    fn background(&mut self, _nand: &mut Nand) -> bool {
        false
    }
    /// `page` will be asked for soon: its map entry is fetched.
    fn prefetch_hint(&self, _page: u32) {}
    /// It will be written, and its map entry is there by now: what that points to is fetched.
    fn expect_write(&self, _page: u32) {}
    /// Takes over what is found on the flash, having known nothing; false if it cannot.
    fn recover(&mut self, _nand: &mut Nand, _flash: &Flash) -> bool {
        false
    }
    /// The physical page that a read of a logical page would sense, if it is written.
    fn locate(&self, page: u32) -> Option<Ppa>;
    /// Panics unless all invariants hold. Walks everything.
    fn check(&self);
    /// How often each block has been erased.
    fn erases(&self) -> &[u32];
    /// Whether so many blocks have gone bad that no more writes can be taken.
    fn is_worn_out(&self) -> bool;
    /// Erased blocks that nothing is written to yet.
    fn free_blocks(&self) -> u64;
    /// Numbers it tells of itself beside.
    fn counters(&self) -> Vec<(String, f64)>;
    /// Starts counting afresh.
    fn mark(&mut self) {}
}
