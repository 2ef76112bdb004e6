//! The figures of Chen, Koufaty and Zhang, SIGMETRICS 2009, by number and section.

mod questions;

use super::study::Study;
use crate::finding::statement::Finding;
use crate::load::Run;
use crate::report::figures::describe::{Document, Figure, Form, Part};
use crate::report::figures::series::{Quantity, Series, series};
use crate::sweep::Parameter;
use assay_spec::{Bytes, Op};

/// The study.
pub(super) struct Sigmetrics09;

impl Study for Sigmetrics09 {
    fn document(&self) -> &'static Document {
        &DOCUMENT
    }

    fn answers(&self, run: &Run, target: &str) -> Vec<Finding> {
        questions::answers(run, target, DOCUMENT.study)
    }
}

/// The figures of the paper.
const DOCUMENT: Document = Document {
    study: "sigmetrics09",
    note: "Each figure of the paper, redrawn from this run. A hollow marker is a published value. \
           The paper's MB/s are read as MiB/s and given here in decimal MB/s. Below each figure \
           stands what the modelled drives count meanwhile: write amplification by cause, how \
           many planes and channels work at a time on average, and how much of the time the link \
           and the controller's processor are busy.",
    figures: &[
        BANDWIDTH,
        READS,
        WRITES,
        FIRST_WRITES,
        CACHE,
        INTERFERENCE,
        BACKGROUND,
        RANDOMNESS,
        FRAGMENTATION,
    ],
};

const fn bars(title: &'static str, log: bool, series: &'static [Series]) -> Part {
    Part { title, form: Form::Bars { of: Quantity::BANDWIDTH, among: "", log, series } }
}

const fn by_workload(title: &'static str, op: Option<Op>, series: &'static [Series]) -> Part {
    Part { title, form: Form::ByWorkload { op, series } }
}

const fn one_by_one(title: &'static str, log: bool, series: Series) -> Part {
    Part { title, form: Form::OneByOne { series, log } }
}

const fn sweep(title: &'static str, of: Parameter, op: Op, kib: u64) -> Part {
    let size = Bytes(kib * Bytes::KIB.0);
    Part { title, form: Form::Sweep { experiment: "randomness", of, op, size } }
}

/// Returns the series of sequential, random and strided requests of 4 KiB of an experiment. `$kind`
/// is `rd` or `wr`; `$before` and `$label` precede the names and the labels.
macro_rules! patterns {
    ($experiment:literal, $before:literal, $kind:literal, $label:literal) => {
        [
            series(
                $experiment,
                concat!($before, "seq-", $kind, "-4k"),
                concat!($label, "sequential"),
                0,
            ),
            series(
                $experiment,
                concat!($before, "rnd-", $kind, "-4k"),
                concat!($label, "random"),
                1,
            ),
            series(
                $experiment,
                concat!($before, "stride-", $kind, "-4k"),
                concat!($label, "stride"),
                2,
            ),
        ]
    };
}

/// Returns a part with the bandwidth of a stream before and after the striker.
macro_rules! before_after {
    ($title:literal, $stream:literal) => {
        bars(
            $title,
            false,
            &[
                series("fragmentation", concat!("before-", $stream), "before", 0),
                series("fragmentation", concat!("after-striker-", $stream), "after", 0),
            ],
        )
    };
}

/// Returns the series of one kind alone, followed by reads and writes in turn, without (`""`) or
/// with (`"-gap"`) pauses.
macro_rules! turns {
    ($alone:literal, $label:literal, $gap:literal) => {
        &[
            series("interference", $alone, $label, 0),
            series("interference", concat!("rw-n-n", $gap), "read n, write n", 1),
            series("interference", concat!("wr-n-n", $gap), "write n, read n", 2),
            series("interference", concat!("rw-n-n1", $gap), "read n, write n + 1", 3),
            series("interference", concat!("rw-n-4mb", $gap), "read n, write n + 4 MB", 4),
        ]
    };
}

const BANDWIDTH: Figure = Figure {
    number: "Figure 1",
    title: "Bandwidth of four workloads, 32 jobs",
    experiment: "general",
    answers: None,
    parts: &[
        bars("random read, 4 KiB", true, &[series("general", "rnd-rd", "", 0)]),
        bars("sequential read, 256 KiB", true, &[series("general", "seq-rd", "", 0)]),
        bars("random write, 4 KiB", true, &[series("general", "rnd-wr", "", 0)]),
        bars("sequential write, 256 KiB", true, &[series("general", "seq-wr", "", 0)]),
    ],
    told: &[
        series("general", "rnd-rd", "random read", 0),
        series("general", "rnd-wr", "random write", 0),
    ],
};

const READ_PATTERNS: [Series; 3] = patterns!("reads", "", "rd", "");
const WRITE_PATTERNS: [Series; 3] = patterns!("writes", "", "wr", "");

const READS: Figure = Figure {
    number: "Figure 2",
    title: "Read latency by pattern, 4 KiB",
    experiment: "reads",
    answers: Some("question/1-"),
    parts: &[by_workload("reads", None, &READ_PATTERNS)],
    told: &[
        series("reads", "seq-rd-4k", "sequential", 0),
        series("reads", "rnd-rd-4k", "random", 0),
    ],
};

const WRITES: Figure = Figure {
    number: "Figure 3",
    title: "Write latency by pattern, 4 KiB",
    experiment: "writes",
    answers: Some("question/2-"),
    parts: &[by_workload("writes", None, &WRITE_PATTERNS)],
    told: &[
        series("writes", "seq-wr-4k", "sequential", 0),
        series("writes", "rnd-wr-4k", "random", 0),
    ],
};

const FIRST_WRITES: Figure = Figure {
    number: "Figure 4",
    title: "The first 500 sequential writes, one by one",
    experiment: "writes",
    answers: None,
    parts: &[one_by_one(
        "sequential writes, 4 KiB",
        false,
        series("writes", "seq-wr-4k-500", "sequential write", 0),
    )],
    told: &[series("writes", "seq-wr-4k-500", "first 500 writes", 0)],
};

/// Combines series so that those with the cache off have solid lines, and those with it on dashed
/// ones.
const fn off_on(off: [Series; 3], on: [Series; 3]) -> [Series; 6] {
    let mut all = [off[0], off[1], off[2], on[0], on[1], on[2]];
    let mut i = 0;
    while i < all.len() {
        all[i].dash = if i < off.len() { 0 } else { 2 };
        i += 1;
    }
    all
}

const CACHE: Figure = Figure {
    number: "Figure 5",
    title: "The disk cache switched off and on, 4 KiB",
    experiment: "disk-cache",
    answers: Some("question/3-"),
    parts: &[
        by_workload(
            "writes",
            None,
            &off_on(
                patterns!("disk-cache", "off-", "wr", "off, "),
                patterns!("writes", "", "wr", "on, "),
            ),
        ),
        by_workload(
            "reads",
            None,
            &off_on(
                patterns!("disk-cache", "off-", "rd", "off, "),
                patterns!("reads", "", "rd", "on, "),
            ),
        ),
    ],
    told: &[
        series("disk-cache", "off-rnd-wr-4k", "random write, cache off", 0),
        series("writes", "rnd-wr-4k", "on", 0),
    ],
};

const INTERFERENCE: Figure = Figure {
    number: "Figure 6",
    title: "Reads and writes in turn, 4 KiB",
    experiment: "interference",
    answers: Some("question/4-"),
    parts: &[
        by_workload("reads, back to back", Some(Op::Read), turns!("only-read", "only reads", "")),
        by_workload(
            "reads, 10 ms apart",
            Some(Op::Read),
            turns!("only-read", "only reads", "-gap"),
        ),
        by_workload(
            "writes, back to back",
            Some(Op::Write),
            turns!("only-write", "only writes", ""),
        ),
        by_workload(
            "writes, 10 ms apart",
            Some(Op::Write),
            turns!("only-write", "only writes", "-gap"),
        ),
    ],
    told: &[
        series("interference", "rw-n-n", "read n, write n", 0),
        series("interference", "rw-n-n1", "read n, write n + 1", 0),
    ],
};

const MIX: [Series; 2] = [
    series("background", "mix-50", "back to back", 0),
    series("background", "mix-50-gap", "10 ms apart", 1),
];

const BACKGROUND: Figure = Figure {
    number: "Figure 7",
    title: "Half reads, half writes, with and without idle time, sequential, 4 KiB",
    experiment: "background",
    answers: Some("question/5-"),
    parts: &[
        by_workload("reads", Some(Op::Read), &MIX),
        by_workload("writes", Some(Op::Write), &MIX),
        one_by_one("the first requests, back to back", true, MIX[0]),
        one_by_one("the first requests, 10 ms apart", true, MIX[1]),
    ],
    told: &MIX,
};

const RANDOMNESS: Figure = Figure {
    number: "Figure 8",
    title: "Latency against range and step",
    experiment: "randomness",
    answers: Some("question/6-"),
    parts: &[
        sweep("random writes, 4 KiB", Parameter::Range, Op::Write, 4),
        sweep("strided writes, 4 KiB", Parameter::Step, Op::Write, 4),
        sweep("random writes, 256 KiB", Parameter::Range, Op::Write, 256),
        sweep("strided writes, 256 KiB", Parameter::Step, Op::Write, 256),
        sweep("random reads, 4 KiB", Parameter::Range, Op::Read, 4),
        sweep("strided reads, 4 KiB", Parameter::Step, Op::Read, 4),
        sweep("random reads, 256 KiB", Parameter::Range, Op::Read, 256),
        sweep("strided reads, 256 KiB", Parameter::Step, Op::Read, 256),
        Part {
            title: "latencies of random writes over 30 GB, 4 KiB",
            form: Form::ByTarget { series: series("randomness", "rnd-wr-range-30gb", "30 GB", 0) },
        },
    ],
    told: &[
        series("randomness", "rnd-wr-range-1gb", "random write over 1 GB", 0),
        series("randomness", "rnd-wr-range-30gb", "over 30 GB", 0),
    ],
};

const FRAGMENTATION: Figure = Figure {
    number: "Figure 9",
    title: "Bandwidth before and after 4 GB of random writes over the whole drive, 4 KiB",
    experiment: "fragmentation",
    answers: Some("question/7-"),
    parts: &[
        before_after!("sequential read", "seq-rd"),
        before_after!("random read", "rnd-rd"),
        before_after!("sequential write", "seq-wr"),
        before_after!("random write", "rnd-wr"),
    ],
    told: &[
        series("fragmentation", "before-seq-wr", "sequential write before", 0),
        series("fragmentation", "after-striker-seq-wr", "after", 0),
    ],
};
