//! What a figure is, as data: which cells, in which form. A document is a list of figures.

use super::draw::Context;
use super::traced::View;
use crate::sweep::{self, Parameter, Sweep};
use assay_spec::{Bytes, Op};

/// The figures of a document, redrawn from a run of its study.
#[derive(Clone, Copy, Debug)]
pub struct Document {
    /// Name of the study.
    pub study: &'static str,
    /// What the reader of all its figures should know, in a sentence or two.
    pub note: &'static str,
    /// In the document's order.
    pub figures: &'static [Figure],
}

/// One figure.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// What the document calls it, e.g. `Figure 3`.
    pub number: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The experiment whose question stands above it.
    pub experiment: &'static str,
    /// The findings that answer it: their identifiers begin with this.
    pub answers: Option<&'static str>,
    /// What it is made of.
    pub parts: &'static [Part],
    /// The cells whose counters tell the mechanism.
    pub told: &'static [Series],
}

/// One panel, or one for each target.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// What the panel shows.
    pub title: &'static str,
    /// How.
    pub form: Form,
}

/// A workload of an experiment under a name for people.
#[derive(Clone, Copy, Debug)]
pub struct Series {
    /// The experiment; empty: any.
    pub experiment: &'static str,
    /// The workload.
    pub workload: &'static str,
    /// The name.
    pub label: &'static str,
    /// Colour of its line.
    pub tint: usize,
    /// Dash of its line.
    pub dash: usize,
}

/// A metric in the unit of an axis.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// The metric.
    pub metric: &'static str,
    /// Its base units in the axis's.
    pub per: f64,
    /// The axis's unit.
    pub unit: &'static str,
}

impl Quantity {
    /// Bandwidth in MB/s.
    pub const BANDWIDTH: Quantity = Quantity { metric: "bandwidth", per: 1e6, unit: "MB/s" };
}

/// How a panel is drawn.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// A number of each cell: for each target a bar for each workload, the later ones paler.
    Bars {
        /// Which number.
        of: Quantity,
        /// Only targets whose names begin with this.
        among: &'static str,
        /// Whether the axis is logarithmic.
        log: bool,
        /// The workloads.
        series: &'static [Series],
    },
    /// Latency distribution: a panel for each target, a line for each workload.
    ByWorkload {
        /// Only these requests.
        op: Option<Op>,
        /// The workloads.
        series: &'static [Series],
    },
    /// Latency distribution under one workload: a line for each target.
    ByTarget {
        /// The workload.
        series: Series,
    },
    /// The first requests one by one: a panel for each target.
    OneByOne {
        /// The workload, which keeps its first requests.
        series: Series,
        /// Whether the axis of latencies is logarithmic.
        log: bool,
    },
    /// A table of its own.
    Table {
        /// Makes it; `None` if the run has nothing for it.
        of: fn(&Context<'_>) -> Option<String>,
        /// The cells it is made of.
        series: &'static [Series],
    },
    /// What drives were asked, from their request logs.
    Traced {
        /// What is shown of it.
        view: View,
        /// The workloads.
        series: &'static [Series],
    },
    /// Mean latency against a parameter of the workload: a line for each target.
    Sweep {
        /// The experiment.
        experiment: &'static str,
        /// What varies.
        of: Parameter,
        /// Reads or writes.
        op: Op,
        /// Size of a request.
        size: Bytes,
    },
}

impl Form {
    /// The cells it needs, (experiment, workload), where the run's experiments have these sweeps.
    pub fn cells<'a>(&self, sweeps: &'a [Sweep]) -> Vec<(&'a str, &'a str)> {
        let of = |s: &Series| (s.experiment, s.workload);
        match self {
            Form::Bars { series, .. }
            | Form::ByWorkload { series, .. }
            | Form::Traced { series, .. }
            | Form::Table { series, .. } => series.iter().map(of).collect(),
            Form::ByTarget { series } | Form::OneByOne { series, .. } => vec![of(series)],
            Form::Sweep { .. } => {
                let points = self.sweep(sweeps).map_or(&[][..], |s| &s.points);
                let experiment = self.sweep(sweeps).map_or("", |s| &s.experiment);
                points.iter().map(|p| (experiment, p.workload.as_str())).collect()
            }
        }
    }

    /// The sweep it draws, if the run's experiments have it.
    pub fn sweep<'a>(&self, sweeps: &'a [Sweep]) -> Option<&'a Sweep> {
        let Form::Sweep { experiment, of, op, size } = *self else { return None };
        sweep::find(sweeps, experiment, of, op, size)
    }

    /// Whether it has a panel for each target.
    pub fn per_target(&self) -> bool {
        matches!(
            self,
            Form::ByWorkload { .. }
                | Form::OneByOne { .. }
                | Form::Traced { view: View::Address, .. }
        )
    }
}

/// A series in a colour of its own.
pub const fn series(
    experiment: &'static str,
    workload: &'static str,
    label: &'static str,
    tint: usize,
) -> Series {
    Series { experiment, workload, label, tint, dash: if tint == 0 { 0 } else { (tint - 1) % 4 } }
}

/// A figure that no finding answers and no counters explain.
pub const fn figure(
    number: &'static str,
    title: &'static str,
    experiment: &'static str,
    parts: &'static [Part],
) -> Figure {
    Figure { number, title, experiment, answers: None, parts, told: &[] }
}
