//! Figures as data: their cells and their form. A document is a list of figures.

use super::draw::Context;
use super::series::{Quantity, Series};
use super::traced::View;
use crate::sweep::{self, Parameter, Sweep};
use assay_spec::{Bytes, Op};

/// The figures of a document, redrawn from a run of its study.
#[derive(Clone, Copy, Debug)]
pub struct Document {
    /// The name of the study.
    pub study: &'static str,
    /// A note for the reader of all figures, in a sentence or two.
    pub note: &'static str,
    /// The figures, in the document's order.
    pub figures: &'static [Figure],
}

/// One figure.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The name that the document gives it, e.g. `Figure 3`.
    pub number: &'static str,
    /// The title.
    pub title: &'static str,
    /// The experiment whose question is shown above the figure.
    pub experiment: &'static str,
    /// The beginning of the ids of the findings that answer the figure's question.
    pub answers: Option<&'static str>,
    /// The parts of the figure.
    pub parts: &'static [Part],
    /// The cells whose counters show the mechanism.
    pub told: &'static [Series],
}

/// One panel, or one panel for each target.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The title of the panel.
    pub title: &'static str,
    /// The form of the panel.
    pub form: Form,
}

/// The form of a panel.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// A number of each cell. Each target has one bar for each workload; the bars of later
    /// workloads are paler.
    Bars {
        /// The number that is shown.
        of: Quantity,
        /// The beginning of the names of the targets that are shown.
        among: &'static str,
        /// Whether the axis is logarithmic.
        log: bool,
        /// The workloads.
        series: &'static [Series],
    },
    /// Latency distributions: a panel for each target, with a line for each workload.
    ByWorkload {
        /// The kind of request that is shown; `None` for all.
        op: Option<Op>,
        /// The workloads.
        series: &'static [Series],
    },
    /// Latency distributions under one workload: a line for each target.
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
    /// A table with its own layout.
    Table {
        /// The function that makes the table; `None` if the run has no cells for it.
        of: fn(&Context<'_>) -> Option<String>,
        /// The cells that the table shows.
        series: &'static [Series],
    },
    /// The requests to the drives, from their request logs.
    Traced {
        /// The view of the log.
        view: View,
        /// The workloads.
        series: &'static [Series],
    },
    /// Mean latency against a parameter of the workload: a line for each target.
    Sweep {
        /// The experiment.
        experiment: &'static str,
        /// The parameter that varies.
        of: Parameter,
        /// The kind of requests: reads or writes.
        op: Op,
        /// The size of a request.
        size: Bytes,
    },
}

impl Form {
    /// Returns the cells that the form needs as (experiment, workload), those of a sweep only if
    /// the run's experiments have it.
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

    /// Returns the sweep that the form draws, if the run's experiments have it.
    pub fn sweep<'a>(&self, sweeps: &'a [Sweep]) -> Option<&'a Sweep> {
        let Form::Sweep { experiment, of, op, size } = *self else { return None };
        sweep::find(sweeps, experiment, of, op, size)
    }

    /// Returns `true` if the form has a panel for each target.
    pub fn per_target(&self) -> bool {
        matches!(
            self,
            Form::ByWorkload { .. }
                | Form::OneByOne { .. }
                | Form::Traced { view: View::Address, .. }
        )
    }
}

/// Returns a figure that no finding answers and no counters explain.
pub const fn figure(
    number: &'static str,
    title: &'static str,
    experiment: &'static str,
    parts: &'static [Part],
) -> Figure {
    Figure { number, title, experiment, answers: None, parts, told: &[] }
}
