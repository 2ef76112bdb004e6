//! The declaration of a flash translation layer: mapping, garbage collection, wear levelling.

use super::Values;
use crate::decode::{Decoded, Section};
use crate::units::{Bytes, Nanos};

/// The flash translation layer.
#[derive(Clone, Copy, Debug)]
pub enum FtlSpec {
    /// Every page mapped on its own.
    Page(PageMapSpec),
    /// Superblocks mapped as a whole, with logs for what is not sequential.
    Hybrid(HybridSpec),
}

/// Superblocks mapped as a whole.
#[derive(Clone, Copy, Debug)]
pub struct HybridSpec {
    /// Planes that a superblock has a block of; all planes if `None`.
    pub width: Option<u32>,
    /// Logs; without any it is block mapping with one replacement block at a time.
    pub log_superblocks: u32,
    /// Smallest unit the log maps; smaller writes read the rest of the unit first.
    pub unit: Bytes,
}

/// Every page mapped on its own.
#[derive(Clone, Copy, Debug)]
pub struct PageMapSpec {
    /// Which plane takes a written page.
    pub allocation: Allocation,
    /// How space is reclaimed.
    pub collection: CollectionSpec,
    /// How erases are spread.
    pub wear: WearSpec,
}

/// Which plane takes a written page. Either way neighbours lie on different channels first, then
/// on different dies, then on different planes of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// The next plane in turn.
    Dynamic,
    /// The plane is a function of the logical page.
    Static,
}

/// How space is reclaimed.
#[derive(Clone, Copy, Debug)]
pub struct CollectionSpec {
    /// Which block is emptied.
    pub victim: VictimSpec,
    /// A plane with fewer free blocks than this collects.
    pub reserve_blocks: u32,
    /// How the work is laid between the host's.
    pub pace: Pace,
    /// Whether collected pages go to a block of their own.
    pub frontiers: Frontiers,
    /// How a page is moved.
    pub copy: CopyPath,
    /// Collection while the drive is left alone.
    pub background: Option<BackgroundSpec>,
}

/// Which block is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimSpec {
    /// The one with the fewest valid pages.
    Greedy,
    /// The one closed first.
    Fifo,
    /// The highest age · (1 − u) / 2u, u being the valid share (Rosenblum and Ousterhout 1992).
    CostBenefit,
    /// The one with the fewest valid pages of some drawn at random (d choices).
    RandomGreedy {
        /// How many are drawn.
        choices: u32,
    },
}

/// How collection is laid between the host's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// With each host write to the plane, so many moves that a block is free when one is needed.
    Spread,
    /// A whole block at once, when the plane has run down to its reserve.
    WholeBlock,
}

/// Whether collected pages go to a block of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frontiers {
    /// Collected pages and the host's share an open block.
    One,
    /// Each has its own.
    Two,
}

/// How a page is moved within its plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyPath {
    /// Through the page register only.
    CopyBack,
    /// Out to the controller and back, over the bus.
    Controller,
}

/// Collection while the drive is left alone.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundSpec {
    /// So long after the last request it begins.
    pub after: Nanos,
    /// Free blocks of a plane at which it stops.
    pub blocks: u32,
}

/// How erases are spread over the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WearSpec {
    /// Free blocks are used in the order they became free.
    None,
    /// The free block with the fewest erases is used first.
    Dynamic,
    /// As dynamic; and a block that lies `spread` erases behind the most worn is emptied.
    Static {
        /// Erases between the most and the least worn block of a plane.
        spread: u32,
    },
}

pub(super) fn decode(top: &mut Section<'_>, values: &mut Values) -> Decoded<FtlSpec> {
    let mut ftl = top.section("ftl", "ftl")?;
    let spec = match values.choice(&mut ftl, "ftl", "mapping", &["page", "hybrid", "block"])? {
        0 => {
            ftl.goes_with(&["superblock_planes"], "mapping `hybrid` or `block`");
            ftl.goes_with(&["log_superblocks", "unit"], "mapping `hybrid`");
            let words = ["dynamic", "static"];
            let allocation = match values.choice_or(&mut ftl, "ftl", "allocation", &words, 0)? {
                0 => Allocation::Dynamic,
                _ => Allocation::Static,
            };
            let reserve_blocks = values.count(&mut ftl, "ftl", "reserve_blocks", 2..4097)?;
            let collection = decode_collection(top, values, reserve_blocks)?;
            FtlSpec::Page(PageMapSpec { allocation, collection, wear: decode_wear(top, values)? })
        }
        mapping => {
            ftl.goes_with(&["allocation", "reserve_blocks"], "mapping `page`");
            top.goes_with(&["collection", "background", "wear"], "`ftl.mapping` `page`");
            let width = |values: &mut Values, s: &mut Section<'_>, key| {
                values.count(s, "ftl", key, 1..65_537).map(Some)
            };
            let width = values.optional(&mut ftl, "superblock_planes", None, width)?;
            let (log_superblocks, unit) = match mapping {
                1 => (
                    values.count(&mut ftl, "ftl", "log_superblocks", 1..4097)?,
                    values.size(&mut ftl, "ftl", "unit")?,
                ),
                _ => {
                    ftl.goes_with(&["log_superblocks", "unit"], "mapping `hybrid`");
                    (0, Bytes(512))
                }
            };
            FtlSpec::Hybrid(HybridSpec { width, log_superblocks, unit })
        }
    };
    ftl.finish()?;
    Ok(spec)
}

fn decode_collection(
    top: &mut Section<'_>,
    values: &mut Values,
    reserve_blocks: u32,
) -> Decoded<CollectionSpec> {
    let mut spec = CollectionSpec {
        victim: VictimSpec::Greedy,
        reserve_blocks,
        pace: Pace::Spread,
        frontiers: Frontiers::Two,
        copy: CopyPath::CopyBack,
        background: None,
    };
    let at = "collection";
    if let Some(mut s) = top.optional_section(at, at)? {
        let words = ["greedy", "fifo", "cost-benefit", "random-greedy"];
        s.goes_with(&["choices"], "victim `random-greedy`");
        spec.victim = match values.choice_or(&mut s, at, "victim", &words, 0)? {
            0 => VictimSpec::Greedy,
            1 => VictimSpec::Fifo,
            2 => VictimSpec::CostBenefit,
            _ => {
                VictimSpec::RandomGreedy { choices: values.count(&mut s, at, "choices", 1..1025)? }
            }
        };
        if values.choice_or(&mut s, at, "pace", &["spread", "whole-block"], 0)? == 1 {
            spec.pace = Pace::WholeBlock;
        }
        if values.choice_or(&mut s, at, "frontiers", &["two", "one"], 0)? == 1 {
            spec.frontiers = Frontiers::One;
        }
        if values.choice_or(&mut s, at, "copy", &["copy-back", "controller"], 0)? == 1 {
            spec.copy = CopyPath::Controller;
        }
        s.finish()?;
    }
    if let Some(mut s) = top.optional_section("background", "background")? {
        spec.background = Some(BackgroundSpec {
            after: values.time(&mut s, "background", "after")?,
            blocks: values.count(&mut s, "background", "blocks", 2..1_048_577)?,
        });
        s.finish()?;
    }
    Ok(spec)
}

fn decode_wear(top: &mut Section<'_>, values: &mut Values) -> Decoded<WearSpec> {
    let Some(mut s) = top.optional_section("wear", "wear")? else { return Ok(WearSpec::None) };
    s.goes_with(&["spread"], "levelling `static`");
    let spec = match values.choice(&mut s, "wear", "levelling", &["none", "dynamic", "static"])? {
        0 => WearSpec::None,
        1 => WearSpec::Dynamic,
        _ => WearSpec::Static { spread: values.count(&mut s, "wear", "spread", 2..1_000_001)? },
    };
    s.finish()?;
    Ok(spec)
}
