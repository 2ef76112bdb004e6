//! The figures of Carlier and Muller, SARA 2010.

use super::study::Study;
use crate::report::figures::describe::{Document, Figure, Form, Part, figure};
use crate::report::figures::series::{Quantity, Series, series};

/// The study.
pub(super) struct Sara10;

impl Study for Sara10 {
    fn document(&self) -> &'static Document {
        &DOCUMENT
    }
}

/// The figures of the report.
const DOCUMENT: Document = Document {
    study: "sara10",
    note: "The figures of the report, redrawn from this run; a hollow marker is a published value. \
           Linux runs on modelled drives behind modelled cards, at a fraction of the document's \
           size: file, memory and partitions are smaller together, drives and cards are not. The \
           cards' rates are what the document measured: where a card is the bottleneck, its rate \
           is no prediction, but where the bottleneck lies is.",
    figures: &[BTRFS, LEVELS, STRIPES, EXT4, NILFS2, XFS, ZFS, CARDS, COMBINED, BLOCKS],
};

const fn part(title: &'static str, among: &'static str, series: &'static [Series]) -> Part {
    Part { title, form: Form::Bars { of: Quantity::BANDWIDTH, among, log: false, series } }
}

/// Returns a figure with the fits that show its knee.
const fn answered(prefix: &'static str, of: Figure) -> Figure {
    Figure { answers: Some(prefix), ..of }
}

const SCALING: &[Series] = &[series("scaling", "seq-rd", "", 0)];
const CARD: &[Series] = &[series("hardware-raid", "seq-rd", "", 0)];
const TITLE: &str = "one to five drives";

const BTRFS: Figure = answered(
    "scaling/scaling/seq-rd@btrfs/",
    figure("Figure 2", "RAID-0 under btrfs", "scaling", &[part(TITLE, "btrfs/", SCALING)]),
);
const EXT4: Figure = answered(
    "scaling/scaling/seq-rd@ext4/",
    figure("Figure 5", "RAID-0 under ext4", "scaling", &[part(TITLE, "ext4/", SCALING)]),
);
const NILFS2: Figure = answered(
    "scaling/scaling/seq-rd@nilfs2/",
    figure("Figure 6", "RAID-0 under nilfs2", "scaling", &[part(TITLE, "nilfs2/", SCALING)]),
);
const XFS: Figure = answered(
    "scaling/scaling/seq-rd@xfs/",
    figure("Figure 7", "RAID-0 under xfs", "scaling", &[part(TITLE, "xfs/", SCALING)]),
);
const ZFS: Figure = answered(
    "scaling/zfs/seq-rd@zfs/",
    figure(
        "Figure 8",
        "RAID-Z under ZFS",
        "zfs",
        &[part(TITLE, "zfs/", &[series("zfs", "seq-rd", "", 0)])],
    ),
);
const LEVELS: Figure = figure(
    "Figure 3",
    "RAID levels",
    "raid-levels",
    &[part("by level", "", &[series("raid-levels", "seq-rd", "", 0)])],
);
const STRIPES: Figure = figure(
    "Figure 4",
    "Stripe sizes of a card's RAID-0",
    "hardware-raid",
    &[part("by stripe", "btrfs/perc-raid0-", CARD)],
);
const BLOCKS: Figure = figure(
    "Preliminary tests",
    "Blocks of the file system",
    "block-size",
    &[part("by size of a block", "", &[series("block-size", "seq-rd", "", 0)])],
);
const CARDS: Figure = answered(
    "scaling/hardware-raid/",
    figure(
        "Figure 10",
        "Arrays of the kernel and of the cards",
        "hardware-raid",
        &[part("by who makes the array", "", CARD)],
    ),
);
const COMBINED: Figure = figure(
    "Combining controllers",
    "Two cards together",
    "combined",
    &[part("on one card, and on two", "", &[series("combined", "seq-rd", "", 0)])],
);
