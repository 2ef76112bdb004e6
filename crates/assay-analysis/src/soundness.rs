//! Is this benchmark right? What makes a number of a run one that cannot come from the device, or
//! that would come out differently a minute later.
//!
//! One check a file, each a function of a `Case`: a cell with what the run directory tells of its
//! target and of what was asked. A check speaks only of what it can show; a cell whose target tells
//! too little passes. The checks exclude each other where one fault would look like another: what
//! still falls is not steady, what fell and then stayed was not preconditioned, unless it was the
//! heat of the drive.

mod cache;
mod clock;
mod fresh;
mod link;
mod short;
mod steady;
mod throttled;

use crate::load::Run;
use assay_spec::Op;
use assay_spec::decode::Source;
use assay_spec::device::{DeviceKind, DeviceSpec};
use assay_spec::experiment::{Experiment, WorkloadSpec};
use assay_spec::record::{CellRecord, RepeatRecord, TargetRecord};

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

/// What a check finds; the runner adds the cell and the name.
struct Fault {
    statement: String,
    evidence: Vec<String>,
    threshold: String,
    hint: &'static str,
}

/// A cell with what is known of it.
struct Case<'r> {
    run: &'r Run,
    cell: &'r CellRecord,
    target: Option<&'r TargetRecord>,
    workload: Option<&'r WorkloadSpec>,
    /// The specs of the modelled drives of the target.
    drives: Vec<DeviceSpec>,
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

impl<'r> Case<'r> {
    fn of(run: &'r Run, cell: &'r CellRecord, experiments: &'r [Experiment]) -> Case<'r> {
        let experiment = experiments.iter().find(|e| e.name == cell.experiment);
        let name = experiment.map_or(&*cell.target, |e| e.without_host(&cell.target));
        let target = run.record.targets.iter().find(|t| t.name == name);
        let workload =
            experiment.and_then(|e| e.workloads.iter().find(|w| w.name == cell.workload));
        Case { run, cell, target, workload, drives: target.map(drives).unwrap_or_default() }
    }

    fn is_of_kind(&self, kind: &str) -> bool {
        self.target.is_some_and(|t| t.kind == kind)
    }

    /// True if the target is made of modelled flash and nothing else.
    fn is_modelled_flash(&self) -> bool {
        let is_flash = |d: &DeviceSpec| matches!(d.kind, DeviceKind::Ssd(_));
        !self.drives.is_empty() && self.drives.iter().all(is_flash)
    }

    /// True if anything was written while it was measured.
    fn writes(&self) -> bool {
        self.cell.repeats.iter().flat_map(|r| &r.ops).any(|o| o.op == Op::Write && o.bytes.0 > 0)
    }

    /// What the drive told of this in each repeat.
    fn told<'a>(&'a self, name: &'a str) -> impl Iterator<Item = f64> + 'a {
        let all = self.cell.repeats.iter().flat_map(|r| &r.device);
        all.filter(move |(told, _)| told == name).map(|(_, value)| *value)
    }

    /// IOPS of each whole element of the series, the mean of all repeats.
    fn rates(&self) -> Vec<f64> {
        let series = self.cell.repeats.iter().map(rates);
        let all: Vec<Vec<f64>> = series.collect();
        let shortest = all.iter().map(Vec::len).min().unwrap_or(0);
        let mean = |i: usize| all.iter().map(|s| s[i]).sum::<f64>() / all.len() as f64;
        (0..shortest).map(mean).collect()
    }
}

/// IOPS of each element of the series that lies wholly in the measured phase.
fn rates(repeat: &RepeatRecord) -> Vec<f64> {
    let interval = repeat.series.interval.0;
    if interval == 0 {
        return Vec::new();
    }
    let whole = (repeat.elapsed.0 / interval) as usize;
    let seconds = interval as f64 * 1e-9;
    repeat.series.requests.iter().take(whole).map(|n| *n as f64 / seconds).collect()
}

/// The part of a series that tells how things stand at its end: the second half, but not fewer
/// elements than a test of drift needs.
fn late(series: &[f64]) -> &[f64] {
    const FEWEST: usize = 8;
    let length = (series.len() / 2).max(FEWEST).min(series.len());
    &series[series.len() - length..]
}

/// The specs saved with a target: one drive's as it is, of more each below a line with its name.
fn drives(target: &TargetRecord) -> Vec<DeviceSpec> {
    const MARK: &str = "#==== ";
    let text = target.spec.as_deref().unwrap_or_default();
    let mut pieces = vec![String::new()];
    for line in text.split_inclusive('\n') {
        if line.starts_with(MARK) {
            pieces.push(String::new());
        }
        pieces.last_mut().into_iter().for_each(|piece| piece.push_str(line));
    }
    let parse = |text: &String| DeviceSpec::parse(Source { file: "spec", text }).ok();
    pieces.iter().filter_map(parse).collect()
}
