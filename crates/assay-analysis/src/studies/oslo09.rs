//! The figures and tables of Retvedt's thesis, Oslo 2009, by number and section.

use super::study::Study;
use crate::report::figures::describe::{Document, Figure, Form, Part, figure};
use crate::report::figures::series::{Quantity, Series, series};
use crate::report::figures::traced::View;

/// The study.
pub(super) struct Oslo09;

impl Study for Oslo09 {
    fn document(&self) -> &'static Document {
        &DOCUMENT
    }
}

/// The figures and tables of the thesis.
const DOCUMENT: Document = Document {
    study: "oslo09",
    note: "Each figure and table of measurements of the thesis, redrawn from this run; a hollow \
           marker is a published value. Linux runs on modelled drives, at a fraction of the \
           document's size, which the targets' names do not show: files, memory and partitions \
           are smaller together, the drives are not. Arms move less far then, which favours the \
           disks; and what a drive's log holds as a whole costs an SSD less. Times are given as \
           they would be at full size, if each file and byte cost the same.",
    figures: &[
        ZONING,
        SEQUENTIAL,
        WRITES,
        RANDOM,
        RANDOM_WRITES,
        CHECKOUTS,
        EACH,
        TAKEN,
        ASKED,
        QUEUE,
        SCHEDULERS,
        ORDER,
        STREAMS,
    ],
};

const FULL: Quantity = Quantity { metric: "full_time", per: 1e9, unit: "s" };
const READ_QUEUE: Quantity = Quantity { metric: "queue_read_time", per: 1e6, unit: "ms" };
const WRITE_QUEUE: Quantity = Quantity { metric: "queue_write_time", per: 1e6, unit: "ms" };
const MEAN: Quantity = Quantity { metric: "client_mean", per: 1e6, unit: "MB/s" };
const LEAST: Quantity = Quantity { metric: "client_min", per: 1e6, unit: "MB/s" };
const MOST: Quantity = Quantity { metric: "client_max", per: 1e6, unit: "MB/s" };
const EVENNESS: Quantity = Quantity { metric: "fairness", per: 1.0, unit: "of 1" };

const fn bars(title: &'static str, of: Quantity, series: &'static [Series]) -> Part {
    Part { title, form: Form::Bars { of, among: "", log: false, series } }
}

/// Returns the parts for one operation on every file system and drive.
macro_rules! operation {
    ($title:literal, $workload:literal) => {
        &[bars($title, Quantity::BANDWIDTH, &[series("filesystems", $workload, "", 0)])]
    };
}

const ZONING: Figure = figure(
    "Figure 3.7",
    "Sequential reading across the drive",
    "zoning",
    &[bars(
        "at the start, in the middle, at the end",
        Quantity::BANDWIDTH,
        &[
            series("zoning", "seq-rd-start", "start", 0),
            series("zoning", "seq-rd-middle", "middle", 1),
            series("zoning", "seq-rd-end", "end", 2),
        ],
    )],
);
const SEQUENTIAL: Figure = figure(
    "Figure 4.4",
    "Sequential read, across file systems",
    "filesystems",
    operation!("sequential read", "seq-rd"),
);
const WRITES: Figure = figure(
    "Figure 4.5",
    "Sequential write, across file systems",
    "filesystems",
    operation!("sequential write", "seq-wr"),
);
const RANDOM: Figure = figure(
    "Figure 4.6",
    "Random read, across file systems",
    "filesystems",
    operation!("random read", "rnd-rd"),
);
const RANDOM_WRITES: Figure = figure(
    "Figure 4.7",
    "Random write, across file systems",
    "filesystems",
    operation!("random write", "rnd-wr"),
);

const CHECKOUT: Series = series("file-operations", "git-checkout", "", 0);
const SYSTEM_CHECKOUT: Series = series("system-disk", "git-checkout", "beside the system", 0);
const CHECKOUTS: Figure = figure(
    "Table 4.2",
    "160 checkouts",
    "file-operations",
    &[
        bars("together", FULL, &[CHECKOUT]),
        bars("together, on the system's disk", FULL, &[SYSTEM_CHECKOUT]),
    ],
);
const EACH: Figure = figure(
    "Figure 4.8",
    "The checkouts one by one",
    "file-operations",
    &[Part { title: "each checkout", form: Form::OneByOne { series: CHECKOUT, log: true } }],
);
const LOGGED: &[Series] = &[CHECKOUT, SYSTEM_CHECKOUT];
const TAKEN: Figure = figure(
    "Figure 4.9",
    "How long requests of the checkouts took",
    "file-operations",
    &[Part {
        title: "from insertion to completion",
        form: Form::Traced { view: View::Boxes, series: LOGGED },
    }],
);
const ASKED: Figure = figure(
    "Figure 4.10",
    "The first 30 seconds of the checkouts",
    "file-operations",
    &[
        Part {
            title: "requests over time and address",
            form: Form::Traced { view: View::Address, series: LOGGED },
        },
        Part {
            title: "blocks moved since the first checkout began",
            form: Form::Traced { view: View::Moved, series: LOGGED },
        },
    ],
);
const QUEUE: Figure = figure(
    "Table 4.3",
    "Time of a request from its making to its end",
    "file-operations",
    &[
        bars("reads", READ_QUEUE, &[CHECKOUT]),
        bars("writes", WRITE_QUEUE, &[CHECKOUT]),
        bars("reads, on the system's disk", READ_QUEUE, &[SYSTEM_CHECKOUT]),
        bars("writes, on the system's disk", WRITE_QUEUE, &[SYSTEM_CHECKOUT]),
    ],
);
const SCHEDULERS: Figure = figure(
    "Figure 4.11",
    "Checkouts under each elevator",
    "schedulers",
    &[bars("28 checkouts", FULL, &[series("schedulers", "git-checkout", "", 0)])],
);
const ORDER: Figure = figure(
    "Figure 4.12",
    "A tree read in three orders",
    "file-operations",
    &[bars(
        "by directory, by inode, by place",
        FULL,
        &[
            series("file-operations", "tar-unsorted", "directory", 0),
            series("file-operations", "tar-sorted", "inode", 1),
            series("file-operations", "tar-physical", "place", 2),
        ],
    )],
);

const CLIENTS: [Series; 6] = [
    series("streaming", "stream-50", "50", 0),
    series("streaming", "stream-60", "60", 1),
    series("streaming", "stream-70", "70", 2),
    series("streaming", "stream-80", "80", 3),
    series("streaming", "stream-90", "90", 4),
    series("streaming", "stream-100", "100", 5),
];
const STREAMS: Figure = figure(
    "Figures 4.13 to 4.18",
    "50 to 100 clients that want 1 MB/s each",
    "streaming",
    &[
        bars("what a client gets on average", MEAN, &CLIENTS),
        bars("what the worst served gets", LEAST, &CLIENTS),
        bars("what the best served gets", MOST, &CLIENTS),
        bars("fairness (Jain)", EVENNESS, &CLIENTS),
    ],
);
