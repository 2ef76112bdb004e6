//! Is this benchmark right? Checks for numbers of a run that cannot come from the device, or that
//! would be different a minute later.
//!
//! Each file has one check, a function of a `Case`: a cell with its target and its workload as the
//! run directory records them. A check reports only a fault that it can show; a cell whose target
//! reports too little passes. The checks exclude each other where one fault would look like
//! another: a rate that still falls is not steady; a rate that fell and then stayed comes from a
//! drive that was not preconditioned, unless the drive was throttled by heat.

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

/// A fault of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Doubt {
    /// The name of the check, one of `CHECKS`.
    pub check: &'static str,
    /// The id of the cell: `EXPERIMENT/WORKLOAD@TARGET`.
    pub cell: String,
    /// What is wrong, in a sentence.
    pub statement: String,
    /// The numbers that show it.
    pub evidence: Vec<String>,
    /// The rule that was broken.
    pub threshold: String,
    /// What to do about it.
    pub hint: String,
}

type Check = fn(&Case<'_>) -> Option<Fault>;

/// The checks: name and function.
const CHECKS: &[(&str, Check)] = &[
    ("cached", cache::check),
    ("fresh", fresh::check),
    ("not-steady", steady::check),
    ("too-short", short::check),
    ("above-link", link::check),
    ("coarse-clock", clock::check),
    ("throttled", throttled::check),
];

/// Returns everything that is wrong with the cells of a run, in the order of the cells.
pub fn doubts(run: &Run) -> Vec<Doubt> {
    let parse = |e: &assay_spec::record::ExperimentRecord| {
        Experiment::parse(Source { file: &e.file, text: &e.text }).ok()
    };
    let experiments: Vec<Experiment> = run.record.experiments.iter().filter_map(parse).collect();
    let mut all = Vec::new();
    for cell in run.cells.iter().filter(|c| c.skipped.is_none() && !c.repeats.is_empty()) {
        let case = Case::of(run, cell, &experiments);
        for (check, look) in CHECKS {
            let doubt = |f: Fault| Doubt {
                check,
                cell: cell.id.clone(),
                statement: f.statement,
                evidence: f.evidence,
                threshold: f.threshold,
                hint: f.hint.to_owned(),
            };
            all.extend(look(&case).map(doubt));
        }
    }
    all
}
