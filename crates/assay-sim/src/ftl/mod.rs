//! Flash translation layers: where a logical page is, and what must be done to write one.
//!
//! A layer decides and asks the chips; it never computes a time of its own.

pub(crate) mod gc;
pub(crate) mod hybrid;
pub(crate) mod page;
pub(crate) mod wear;

use crate::nand::{Nand, Programmed};
use assay_spec::{Nanos, Op};

/// No page.
pub(crate) const NONE: u32 = u32::MAX;

/// The times of a written page, and its plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub plane: u32,
    /// When the data is safe from the controller's point of view: in a page register.
    pub in_register: Nanos,
    /// When it is in the cells, and a buffer may forget it.
    pub in_cells: Nanos,
}

impl Written {
    pub(crate) fn new(plane: u32, programmed: Programmed) -> Written {
        Written { plane, in_register: programmed.in_register, in_cells: programmed.in_cells }
    }
}

/// Maps logical pages to flash.
pub(crate) trait Ftl: Send {
    /// Reads a logical page, not before `at`; returns when its data is in the controller. A page
    /// that was never written is answered from the map, at once.
    fn read(&mut self, nand: &mut Nand, page: u32, at: Nanos) -> Nanos;
    /// Writes a logical page whose data is in the controller at `at`.
    fn write(&mut self, nand: &mut Nand, page: u32, at: Nanos) -> Written;
    /// Forgets a logical page.
    fn trim(&mut self, page: u32);
    /// Everything half done is finished; returns when.
    fn flush(&mut self, nand: &mut Nand, at: Nanos) -> Nanos;
    /// Nothing was asked of the drive from `from` to `to`: background work is done in between.
    fn idle(&mut self, _nand: &mut Nand, _from: Nanos, _to: Nanos) {}
    /// A request for `page` will come: its map entry is fetched.
    fn expect_later(&self, _page: u32) {}
    /// Its map entry is there by now: what a request needs of what that points to is fetched.
    fn expect_sooner(&self, _page: u32, _op: Op) {}
    /// The plane that holds a logical page, if it is written.
    fn plane_of(&self, page: u32) -> Option<u32>;
    /// The physical page that a read of a logical page would sense, if it is written.
    fn locate(&self, page: u32) -> Option<u32>;
    /// Panics unless all invariants hold. Walks everything.
    fn check(&self);
    /// Numbers it tells of itself.
    fn counters(&self) -> Vec<(String, f64)>;
    /// Starts counting afresh.
    fn mark(&mut self) {}
}
