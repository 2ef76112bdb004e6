//! Is this benchmark right? What makes a number of a run one that cannot come from the device, or
//! that would come out differently a minute later.
//!
//! One check a file, each a function of a `Case`: a cell with what the run directory tells of its
//! target and of what was asked. A check speaks only of what it can show; a cell whose target tells
//! too little passes. The checks exclude each other where one fault would look like another: what
//! still falls is not steady, what fell and then stayed was not preconditioned, unless it was the
//! heat of the drive.

mod cache;
mod case;
mod clock;
mod fresh;
mod link;
mod short;
mod steady;
mod throttled;

use crate::load::Run;
use assay_spec::decode::Source;
use assay_spec::experiment::Experiment;
use case::{Case, Fault};

/// What is wrong with a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Name of the check, one of `CHECKS`.
    pub check: &'static str,
    /// `EXPERIMENT/WORKLOAD@TARGET`.
    pub cell: String,
    /// What is wrong, in a sentence.
    pub statement: String,
    /// The numbers that show it.
    pub evidence: Vec<String>,
    /// The rule that was broken.
    pub threshold: String,
    /// What to do.
    pub hint: String,
}

type Check = fn(&Case<'_>) -> Option<Fault>;

/// The checks: name, and what it looks for.
const CHECKS: &[(&str, Check)] = &[
    ("cached", cache::check),
    ("fresh", fresh::check),
    ("not-steady", steady::check),
    ("too-short", short::check),
    ("above-link", link::check),
    ("coarse-clock", clock::check),
    ("throttled", throttled::check),
];

/// Everything that is wrong with the cells of a run, in their order.
pub fn verdicts(run: &Run) -> Vec<Verdict> {
    let parse = |e: &assay_spec::record::ExperimentRecord| {
        Experiment::parse(Source { file: &e.file, text: &e.text }).ok()
    };
    let experiments: Vec<Experiment> = run.record.experiments.iter().filter_map(parse).collect();
    let mut all = Vec::new();
    for cell in run.cells.iter().filter(|c| c.skipped.is_none() && !c.repeats.is_empty()) {
        let case = Case::of(run, cell, &experiments);
        for (check, look) in CHECKS {
            let verdict = |f: Fault| Verdict {
                check,
                cell: cell.id.clone(),
                statement: f.statement,
                evidence: f.evidence,
                threshold: f.threshold,
                hint: f.hint.to_owned(),
            };
            all.extend(look(&case).map(verdict));
        }
    }
    all
}
