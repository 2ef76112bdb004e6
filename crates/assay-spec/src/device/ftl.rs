//! The declaration of a flash translation layer: mapping, garbage collection, wear levelling.

pub(super) mod decode;

use super::hybrid::HybridSpec;
use super::nand::NandSpec;
use super::slc::SlcCacheSpec;
use super::wear::WearSpec;
use crate::units::{Bytes, Nanos};

/// The flash translation layer.
#[derive(Clone, Copy, Debug)]
pub enum FtlSpec {
    /// A page mapping: every page is mapped on its own.
    Page(PageMapSpec),
    /// A hybrid mapping: superblocks are mapped as a whole, with logs for writes that are not
    /// sequential.
    Hybrid(HybridSpec),
    /// No mapping: the medium is overwritten in place, without erases.
    InPlace,
}

/// A page mapping: every page is mapped on its own.
#[derive(Clone, Copy, Debug)]
pub struct PageMapSpec {
    /// The rule that chooses the plane of a written page.
    pub allocation: Allocation,
    /// The way space is reclaimed.
    pub collection: CollectionSpec,
    /// The way erases are spread over the blocks.
    pub wear: WearSpec,
    /// The bytes that the host writes between two saves of the map to flash. With `None` the map is
    /// kept in another way, at no cost.
    pub save_map_every: Option<Bytes>,
    /// The memory for cached map entries, with the whole map on flash. With `None` the whole map is
    /// in memory.
    pub map_cache: Option<Bytes>,
    /// Whether the drive erases a block only after the data that replaced its pages is in the
    /// cells, and writes down trims.
    pub power_fail_safe: bool,
    /// The SLC cache: blocks with one bit a cell, to which the host's data is written first.
    pub slc: Option<SlcCacheSpec>,
}

/// The rule that chooses the plane of a written page. With both rules consecutive pages lie on
/// different channels first, then on different dies, then on different planes of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// The next plane in turn.
    Dynamic,
    /// A fixed plane for each logical page.
    Static,
}

/// The way space is reclaimed.
#[derive(Clone, Copy, Debug)]
pub struct CollectionSpec {
    /// The rule that chooses the block to empty.
    pub victim: VictimSpec,
    /// The number of free blocks below which a plane collects.
    pub reserve_blocks: u32,
    /// The way collection is interleaved with the host's writes.
    pub pace: Pace,
    /// Whether collected pages go to an open block of their own.
    pub frontiers: Frontiers,
    /// The path by which a page is moved.
    pub copy: CopyPath,
    /// Whether a moved page goes to the next plane in turn, as if the host had written it.
    /// Otherwise it goes to another block of its plane.
    pub over_drive: bool,
    /// The time at which an emptied block is erased.
    pub erase: EraseTime,
    /// Collection while the drive is idle.
    pub background: Option<BackgroundSpec>,
}

/// The rule that chooses the block to empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimSpec {
    /// The block with the fewest valid pages.
    Greedy,
    /// The block that was closed first.
    Fifo,
    /// The block with the highest age · (1 − u) / 2u, where u is the share of valid pages
    /// (Rosenblum and Ousterhout 1992).
    CostBenefit,
    /// The block with the fewest valid pages of some that are drawn at random (d choices).
    RandomGreedy {
        /// The number of blocks drawn.
        choices: u32,
    },
}

/// The time at which an emptied block is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraseTime {
    /// In its turn among the operations of its plane.
    AtOnce,
    /// When its plane has nothing else to do, or when the block is about to be written.
    WhenIdle,
}

/// The way collection is interleaved with the host's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// With each host write to the plane, as many moves as are needed to have a free block in time.
    Spread,
    /// A whole block at once, when the plane is down to its reserve.
    WholeBlock,
}

/// Whether collected pages go to an open block of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frontiers {
    /// Collected pages and the host's pages share an open block.
    One,
    /// Collected pages and the host's pages each have an open block.
    Two,
}

/// The path by which a page is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyPath {
    /// Through the page register only, so within the plane.
    CopyBack,
    /// To the controller and back, over the bus.
    Controller,
}

/// Collection while the drive is idle.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundSpec {
    /// The time after the last request at which collection begins.
    pub after: Nanos,
    /// The number of free blocks of a plane at which collection stops.
    pub blocks: u32,
}

impl PageMapSpec {
    /// Returns the number of blocks of a plane that are needed to survive power cuts: one for pages
    /// torn by a cut. Where pages are gathered for one program, there is one more: a block that has
    /// been emptied waits until the gathered pages that it held are programmed.
    pub fn safety_blocks(&self, nand: &NandSpec) -> u32 {
        match self.power_fail_safe {
            true => 1 + u32::from(nand.pages_per_program > 1),
            false => 0,
        }
    }

    /// Returns `true` if every operation of the layer waits only for its turn on its plane.
    pub fn stays_in_plane(&self) -> bool {
        let CollectionSpec { copy, over_drive, erase, .. } = self.collection;
        copy == CopyPath::CopyBack
            && !over_drive
            && erase == EraseTime::AtOnce
            && !self.power_fail_safe
            && self.map_cache.is_none()
    }
}
