//! A cell with its run, its target and its workload, for the checks.

use crate::load::Run;
use assay_spec::Op;
use assay_spec::decode::Source;
use assay_spec::device::{DeviceKind, DeviceSpec};
use assay_spec::experiment::{Experiment, WorkloadSpec};
use assay_spec::record::{CellRecord, RepeatRecord, TargetRecord};

/// A fault that a check found. The caller adds the cell and the name of the check.
pub(super) struct Fault {
    pub(super) statement: String,
    pub(super) evidence: Vec<String>,
    pub(super) threshold: String,
    pub(super) hint: &'static str,
}

/// A cell with its run, its target and its workload.
pub(super) struct Case<'r> {
    pub(super) run: &'r Run,
    pub(super) cell: &'r CellRecord,
    pub(super) target: Option<&'r TargetRecord>,
    pub(super) workload: Option<&'r WorkloadSpec>,
    /// The specs of the modelled drives of the target.
    pub(super) drives: Vec<DeviceSpec>,
}

impl<'r> Case<'r> {
    pub(super) fn of(
        run: &'r Run,
        cell: &'r CellRecord,
        experiments: &'r [Experiment],
    ) -> Case<'r> {
        let experiment = experiments.iter().find(|e| e.name == cell.experiment);
        let name = experiment.map_or(&*cell.target, |e| e.without_host(&cell.target));
        let target = run.record.targets.iter().find(|t| t.name == name);
        let workload =
            experiment.and_then(|e| e.workloads.iter().find(|w| w.name == cell.workload));
        Case { run, cell, target, workload, drives: target.map(drives).unwrap_or_default() }
    }

    pub(super) fn is_of_kind(&self, kind: &str) -> bool {
        self.target.is_some_and(|t| t.kind == kind)
    }

    /// Returns `true` if the target consists of modelled flash and nothing else.
    pub(super) fn is_modelled_flash(&self) -> bool {
        let is_flash = |d: &DeviceSpec| matches!(d.kind, DeviceKind::Ssd(_));
        !self.drives.is_empty() && self.drives.iter().all(is_flash)
    }

    /// Returns `true` if anything was written in the measured phase.
    pub(super) fn writes(&self) -> bool {
        self.cell.repeats.iter().flat_map(|r| &r.ops).any(|o| o.op == Op::Write && o.bytes.0 > 0)
    }

    /// Returns the values that the target reported under a name, one for each repeat.
    pub(super) fn told<'a>(&'a self, name: &'a str) -> impl Iterator<Item = f64> + 'a {
        let all = self.cell.repeats.iter().flat_map(|r| &r.device);
        all.filter(move |(told, _)| told == name).map(|(_, value)| *value)
    }

    /// Returns the IOPS of each whole element of the series, as the mean over all repeats.
    pub(super) fn rates(&self) -> Vec<f64> {
        let series = self.cell.repeats.iter().map(rates);
        let all: Vec<Vec<f64>> = series.collect();
        let shortest = all.iter().map(Vec::len).min().unwrap_or(0);
        let mean = |i: usize| all.iter().map(|s| s[i]).sum::<f64>() / all.len() as f64;
        (0..shortest).map(mean).collect()
    }
}

/// Returns the IOPS of each element of the series that lies wholly in the measured phase.
pub(super) fn rates(repeat: &RepeatRecord) -> Vec<f64> {
    let interval = repeat.series.interval.0;
    if interval == 0 {
        return Vec::new();
    }
    let whole = (repeat.elapsed.0 / interval) as usize;
    let seconds = interval as f64 * 1e-9;
    repeat.series.requests.iter().take(whole).map(|n| *n as f64 / seconds).collect()
}

/// Returns the part of a series that shows the state at its end: the second half, but at least as
/// many elements as a test of drift needs.
pub(super) fn late(series: &[f64]) -> &[f64] {
    const FEWEST: usize = 8;
    let length = (series.len() / 2).max(FEWEST).min(series.len());
    &series[series.len() - length..]
}

/// Returns the specs saved with a target. The spec of a single drive is the whole text; several
/// specs each follow a line with their name.
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
