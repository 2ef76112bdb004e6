//! The tables of Polte, Simsa and Gibson, PDSW 2008.

mod money;

use super::study::Study;
use crate::report::figures::describe::{Document, Figure, Form, Part, figure};
use crate::report::figures::series::{Quantity, Series, series};

/// The study.
pub(super) struct Cmu08;

impl Study for Cmu08 {
    fn document(&self) -> &'static Document {
        &DOCUMENT
    }
}

/// The tables of the paper, as figures.
const DOCUMENT: Document = Document {
    study: "cmu08",
    note: "The measured tables of the paper, drawn; a hollow marker is a published value. Linux \
           runs on modelled drives, at a fraction of the document's size, an eighth for flash and \
           half for the disks: files, memory and partitions are smaller together, the drives are \
           not. Random accesses of a disk last two minutes. Numbers that gave what the machines \
           take are marked in the ledger, and prove nothing.",
    figures: &[
        INPUTS,
        SEQUENTIAL_READS,
        SEQUENTIAL_WRITES,
        RANDOM_READS,
        RANDOM_WRITES,
        PRICES,
        ADVERTISED,
        FOR_THE_MONEY,
    ],
};

const FOUR: &[Series] = &[RECORDS[0][0], RECORDS[1][0], RECORDS[2][0], RECORDS[3][0]];

/// Returns a figure with a table of `money`.
macro_rules! money {
    ($number:literal, $title:literal, $experiment:literal, $of:path, $series:expr) => {
        figure(
            $number,
            $title,
            $experiment,
            &[Part { title: $title, form: Form::Table { of: $of, series: $series } }],
        )
    };
}

const INPUTS: Figure =
    money!("Table I", "The drives and their prices", "iozone", money::inputs, FOUR);
const PRICES: Figure =
    money!("Table VI", "Price per what was measured", "iozone", money::measured, FOUR);
const ADVERTISED: Figure =
    money!("Table VII", "Price per what is advertised", "iozone", money::advertised, FOUR);
const FOR_THE_MONEY: Figure = money!(
    "Disks for the money",
    "One SSD, or a RAID-0 of disks",
    "disks-for-the-money",
    money::disks_for_the_money,
    &[
        series("disks-for-the-money", "seq-rd", "", 0),
        series("disks-for-the-money", "seq-wr", "", 0),
        series("disks-for-the-money", "rnd-rd", "", 0),
        series("disks-for-the-money", "rnd-rd-qd32", "", 0),
        series("disks-for-the-money", "rnd-wr", "", 0),
    ]
);

/// Returns a figure of one operation with records of 4 to 64 KiB, on SSDs and on disks, each of
/// which have their own experiment.
macro_rules! records {
    ($number:literal, $title:literal, $of:expr, $workload:literal) => {
        Figure {
            number: $number,
            title: $title,
            experiment: "iozone",
            answers: None,
            parts: &[Part {
                title: $title,
                form: Form::Bars { of: $of, among: "", log: true, series: &RECORDS[$workload] },
            }],
            told: &[],
        }
    };
}

macro_rules! sizes {
    ($operation:literal) => {
        [
            series("", concat!($operation, "-4k"), "4 KiB", 0),
            series("", concat!($operation, "-8k"), "8 KiB", 1),
            series("", concat!($operation, "-16k"), "16 KiB", 2),
            series("", concat!($operation, "-32k"), "32 KiB", 3),
            series("", concat!($operation, "-64k"), "64 KiB", 4),
        ]
    };
}

const RECORDS: [[Series; 5]; 4] =
    [sizes!("seq-rd"), sizes!("seq-wr"), sizes!("rnd-rd"), sizes!("rnd-wr")];

/// The unit in which the paper counts random accesses.
const IOPS: Quantity = Quantity { metric: "iops", per: 1.0, unit: "IOPS" };

const SEQUENTIAL_READS: Figure = records!("Table II", "Sequential read", Quantity::BANDWIDTH, 0);
const SEQUENTIAL_WRITES: Figure = records!("Table III", "Sequential write", Quantity::BANDWIDTH, 1);
const RANDOM_READS: Figure = records!("Table IV", "Random read", IOPS, 2);
const RANDOM_WRITES: Figure = records!("Table V", "Random write", IOPS, 3);
