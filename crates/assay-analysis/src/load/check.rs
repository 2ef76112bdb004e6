//! Checks that the files of a run directory agree with each other before anything uses them.
//!
//! *Invariant.* In a run that passed, names of experiments, targets and cells are unique; every
//! cell of the plan is a workload of one of its experiments on one of its targets; every measured
//! cell is in the plan; and its numbers are those of one measurement, so that any sum of them fits.

mod cells;

pub(super) use cells::check as cells;

use super::error::{LoadError, wrong};
use crate::cost::quote::Prices;
use crate::unseen::is_unseen;
use assay_spec::decode::Source;
use assay_spec::experiment::{Experiment, is_name};
use assay_spec::record::{CellPlan, ExperimentRecord, RunRecord, TargetRecord};
use cells::Experiments;
use std::collections::{BTreeMap, BTreeSet};

/// The kinds of targets, and whether their time is virtual, in which case they have a spec.
const KINDS: [(&str, bool); 7] = [
    ("null", false),
    ("model", true),
    ("array", true),
    ("linux", true),
    ("file", false),
    ("directory", false),
    ("block device", false),
];

/// The upper bound of sizes, exclusive, as in declarations.
const SIZE_END: u64 = 1 << 63;

/// The targets of a record by name.
type Targets<'r> = BTreeMap<&'r str, &'r TargetRecord>;

fn wrong_run(what: String) -> LoadError {
    wrong("run.json", what)
}

/// Checks `run.json` and returns its experiments.
pub(super) fn record(record: &RunRecord) -> Result<Experiments<'_>, LoadError> {
    if record.assay.contains(|c: char| c.is_whitespace() || is_unseen(c)) {
        return Err(wrong_run(format!("no assay has the version {:?}", record.assay)));
    }
    let mut experiments = Experiments::new();
    let is_ours = record.assay == env!("CARGO_PKG_VERSION");
    for one in &record.experiments {
        let parsed = experiment(one, is_ours)?;
        if experiments.insert(&one.name, parsed).is_some() {
            return Err(wrong_run(format!("two experiments are called `{}`", one.name)));
        }
    }
    let mut targets = Targets::new();
    for one in &record.targets {
        target(one)?;
        if targets.insert(&one.name, one).is_some() {
            return Err(wrong_run(format!("two targets are called `{}`", one.name)));
        }
    }
    if record.host.memory.0 >= SIZE_END {
        return Err(wrong_run(format!(
            "the memory of the host is impossibly large: {} bytes",
            record.host.memory.0
        )));
    }
    let mut ids = BTreeSet::new();
    for cell in &record.plan {
        planned(cell, &experiments, &targets)?;
        if !ids.insert(cell.id.as_str()) {
            return Err(wrong_run(format!("the plan has the cell `{}` twice", cell.id)));
        }
    }
    if let Some(prices) = &record.prices {
        Prices::of(prices).map_err(|e| LoadError::Prices(e.to_string()))?;
    }
    Ok(experiments)
}

/// Decodes an experiment. `None` if another version wrote it and this one cannot read it.
fn experiment(one: &ExperimentRecord, is_ours: bool) -> Result<Option<Experiment>, LoadError> {
    if !is_name(&one.name) {
        return Err(wrong_run(format!("`{}` cannot be the name of an experiment", one.name)));
    }
    match Experiment::parse(Source { file: &one.file, text: &one.text }) {
        Ok(found) if found.name == one.name => Ok(Some(found)),
        Ok(found) => Err(wrong_run(format!(
            "the experiment `{}` has the text of one called `{}`",
            one.name, found.name
        ))),
        Err(_) if !is_ours => Ok(None),
        Err(e) => {
            let line = e.place.as_ref().map_or(String::new(), |p| format!("line {}: ", p.line));
            let what = format!("the text of the experiment `{}`: {line}{}", one.name, e.message);
            Err(wrong_run(what))
        }
    }
}

fn target(one: &TargetRecord) -> Result<(), LoadError> {
    let TargetRecord { name, kind, .. } = one;
    if name.is_empty() || name.contains(char::is_control) {
        return Err(wrong_run(format!("{name:?} cannot be the name of a target")));
    }
    let Some((_, is_virtual)) = KINDS.iter().find(|(known, _)| known == kind) else {
        return Err(wrong_run(format!("the target `{name}` has an unknown kind: {kind:?}")));
    };
    if one.virtual_time != *is_virtual {
        let time = if *is_virtual { "its own" } else { "no other than ours" };
        return Err(wrong_run(format!("the target `{name}` is a {kind}, whose time is {time}")));
    }
    if one.spec.is_some() != *is_virtual {
        let spec = if *is_virtual { "is missing" } else { "has no meaning" };
        return Err(wrong_run(format!("the target `{name}` is a {kind}, but its `spec` {spec}")));
    }
    if one.capacity.0 >= SIZE_END {
        return Err(wrong_run(format!(
            "the target `{name}` has an impossible size of {} bytes",
            one.capacity.0
        )));
    }
    Ok(())
}

/// Checks that a cell of the plan is a workload of an experiment on a target.
fn planned(
    cell: &CellPlan,
    experiments: &Experiments<'_>,
    targets: &Targets<'_>,
) -> Result<(), LoadError> {
    let CellPlan { id, experiment, workload, target } = cell;
    if *id != format!("{experiment}/{workload}@{target}") {
        let what = format!("the plan calls the cell of {experiment}/{workload}@{target} `{id}`");
        return Err(wrong_run(what));
    }
    let no =
        |what: &str| wrong_run(format!("the plan has the cell `{id}`, but there is no {what}"));
    let Some(found) = experiments.get(experiment.as_str()) else {
        return Err(no(&format!("experiment `{experiment}`")));
    };
    let has = |e: &Experiment| e.workloads.iter().any(|w| w.name == *workload);
    if !is_name(workload) || !found.as_ref().is_none_or(has) {
        return Err(no(&format!("workload `{workload}` in it")));
    }
    let is_there = match (targets.get(target.as_str()), target.split_once('/')) {
        (Some(t), _) if is_behind(found.as_ref(), t, None) => true,
        (_, Some((host, name))) => {
            targets.get(name).is_some_and(|t| is_behind(found.as_ref(), t, Some(host)))
        }
        _ => false,
    };
    if is_there { Ok(()) } else { Err(no(&format!("target `{target}`"))) }
}

/// Returns `true` if an experiment measures a target behind the host of this name. A real target
/// has no such host, because its machine is its own.
fn is_behind(experiment: Option<&Experiment>, target: &TargetRecord, host: Option<&str>) -> bool {
    match experiment {
        Some(e) if target.virtual_time => e.hosts.iter().any(|h| h.name.as_deref() == host),
        Some(_) => host.is_none(),
        None => true,
    }
}
