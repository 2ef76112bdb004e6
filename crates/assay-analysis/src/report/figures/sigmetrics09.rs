//! The figures of Chen, Koufaty and Zhang, SIGMETRICS 2009, by number and section.

use super::describe::{Document, Figure, Form, Parameter, Part, Series, series};
use super::sweeps;
use assay_spec::Op;

/// The document.
pub const DOCUMENT: Document = Document {
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
    Part { title, form: Form::Bars { log, series } }
}

const fn by_workload(title: &'static str, op: Option<Op>, series: &'static [Series]) -> Part {
    Part { title, form: Form::ByWorkload { op, series } }
}

const fn one_by_one(title: &'static str, log: bool, series: Series) -> Part {
    Part { title, form: Form::OneByOne { series, log } }
}

const fn sweep(title: &'static str, of: Parameter, points: &'static [(f64, &'static str)]) -> Part {
    Part { title, form: Form::Sweep { experiment: "randomness", points, of } }
}

const BANDWIDTH: Figure = Figure {
    number: 1,
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

const READS: Figure = Figure {
    number: 2,
    title: "Read latency by pattern, 4 KiB",
    experiment: "reads",
    answers: Some("question/1-"),
    parts: &[by_workload(
        "reads",
        None,
        &[
            series("reads", "seq-rd-4k", "sequential", 0),
            series("reads", "rnd-rd-4k", "random", 1),
            series("reads", "stride-rd-4k", "stride", 2),
        ],
    )],
    told: &[
        series("reads", "seq-rd-4k", "sequential", 0),
        series("reads", "rnd-rd-4k", "random", 0),
    ],
};

const WRITES: Figure = Figure {
    number: 3,
    title: "Write latency by pattern, 4 KiB",
    experiment: "writes",
    answers: Some("question/2-"),
    parts: &[by_workload(
        "writes",
        None,
        &[
            series("writes", "seq-wr-4k", "sequential", 0),
            series("writes", "rnd-wr-4k", "random", 1),
            series("writes", "stride-wr-4k", "stride", 2),
        ],
    )],
    told: &[
        series("writes", "seq-wr-4k", "sequential", 0),
        series("writes", "rnd-wr-4k", "random", 0),
    ],
};

const FIRST_WRITES: Figure = Figure {
    number: 4,
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

const fn dashed(mut s: Series, dash: usize) -> Series {
    s.dash = dash;
    s
}

const CACHE: Figure = Figure {
    number: 5,
    title: "The disk cache switched off and on, 4 KiB",
    experiment: "disk-cache",
    answers: Some("question/3-"),
    parts: &[
        by_workload(
            "writes",
            None,
            &[
                dashed(series("disk-cache", "off-seq-wr-4k", "off, sequential", 0), 0),
                dashed(series("disk-cache", "off-rnd-wr-4k", "off, random", 1), 0),
                dashed(series("disk-cache", "off-stride-wr-4k", "off, stride", 2), 0),
                dashed(series("writes", "seq-wr-4k", "on, sequential", 0), 2),
                dashed(series("writes", "rnd-wr-4k", "on, random", 1), 2),
                dashed(series("writes", "stride-wr-4k", "on, stride", 2), 2),
            ],
        ),
        by_workload(
            "reads",
            None,
            &[
                dashed(series("disk-cache", "off-seq-rd-4k", "off, sequential", 0), 0),
                dashed(series("disk-cache", "off-rnd-rd-4k", "off, random", 1), 0),
                dashed(series("disk-cache", "off-stride-rd-4k", "off, stride", 2), 0),
                dashed(series("reads", "seq-rd-4k", "on, sequential", 0), 2),
                dashed(series("reads", "rnd-rd-4k", "on, random", 1), 2),
                dashed(series("reads", "stride-rd-4k", "on, stride", 2), 2),
            ],
        ),
    ],
    told: &[
        series("disk-cache", "off-rnd-wr-4k", "random write, cache off", 0),
        series("writes", "rnd-wr-4k", "on", 0),
    ],
};

const ONLY_READ: Series = series("interference", "only-read", "only reads", 0);
const ONLY_WRITE: Series = series("interference", "only-write", "only writes", 0);

const MIXES: [Series; 4] = [
    series("interference", "rw-n-n", "read n, write n", 1),
    series("interference", "wr-n-n", "write n, read n", 2),
    series("interference", "rw-n-n1", "read n, write n + 1", 3),
    series("interference", "rw-n-4mb", "read n, write n + 4 MB", 4),
];

const MIXES_GAP: [Series; 4] = [
    series("interference", "rw-n-n-gap", "read n, write n", 1),
    series("interference", "wr-n-n-gap", "write n, read n", 2),
    series("interference", "rw-n-n1-gap", "read n, write n + 1", 3),
    series("interference", "rw-n-4mb-gap", "read n, write n + 4 MB", 4),
];

const fn with(first: Series, [a, b, c, d]: [Series; 4]) -> [Series; 5] {
    [first, a, b, c, d]
}

const INTERFERENCE: Figure = Figure {
    number: 6,
    title: "Reads and writes in turn, 4 KiB",
    experiment: "interference",
    answers: Some("question/4-"),
    parts: &[
        by_workload("reads, back to back", Some(Op::Read), &with(ONLY_READ, MIXES)),
        by_workload("reads, 10 ms apart", Some(Op::Read), &with(ONLY_READ, MIXES_GAP)),
        by_workload("writes, back to back", Some(Op::Write), &with(ONLY_WRITE, MIXES)),
        by_workload("writes, 10 ms apart", Some(Op::Write), &with(ONLY_WRITE, MIXES_GAP)),
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
    number: 7,
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
    number: 8,
    title: "Latency against range and step",
    experiment: "randomness",
    answers: Some("question/6-"),
    parts: &[
        sweep("random writes, 4 KiB", Parameter::Range, sweeps::WRITE_RANGES),
        sweep("strided writes, 4 KiB", Parameter::Step, sweeps::WRITE_STEPS),
        sweep("random writes, 256 KiB", Parameter::Range, sweeps::WRITE_RANGES_256K),
        sweep("strided writes, 256 KiB", Parameter::Step, sweeps::WRITE_STEPS_256K),
        sweep("random reads, 4 KiB", Parameter::Range, sweeps::READ_RANGES),
        sweep("strided reads, 4 KiB", Parameter::Step, sweeps::READ_STEPS),
        sweep("random reads, 256 KiB", Parameter::Range, sweeps::READ_RANGES_256K),
        sweep("strided reads, 256 KiB", Parameter::Step, sweeps::READ_STEPS_256K),
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
    number: 9,
    title: "Bandwidth before and after 4 GB of random writes over the whole drive, 4 KiB",
    experiment: "fragmentation",
    answers: Some("question/7-"),
    parts: &[
        bars(
            "sequential read",
            false,
            &[
                series("fragmentation", "before-seq-rd", "before", 0),
                series("fragmentation", "after-striker-seq-rd", "after", 0),
            ],
        ),
        bars(
            "random read",
            false,
            &[
                series("fragmentation", "before-rnd-rd", "before", 0),
                series("fragmentation", "after-striker-rnd-rd", "after", 0),
            ],
        ),
        bars(
            "sequential write",
            false,
            &[
                series("fragmentation", "before-seq-wr", "before", 0),
                series("fragmentation", "after-striker-seq-wr", "after", 0),
            ],
        ),
        bars(
            "random write",
            false,
            &[
                series("fragmentation", "before-rnd-wr", "before", 0),
                series("fragmentation", "after-striker-rnd-wr", "after", 0),
            ],
        ),
    ],
    told: &[
        series("fragmentation", "before-seq-wr", "sequential write before", 0),
        series("fragmentation", "after-striker-seq-wr", "after", 0),
    ],
};
